"""The measures without bins against their definitions, by enumeration, on 2,000 random laws with ties.

Nothing here uses the theorems behind the algorithms: every nondecreasing map into a set of candidates, every score with
at most two thresholds, every interval, and every swap of actions with every assignment of ties is tried.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from numpy.typing import NDArray

from trustcal import DecisionProblem, Predictor, cutoff, decision_loss, monotone_cdl

FloatArray = NDArray[np.float64]
TINY = 1e-12
GRID = np.array([0.0, 0.125, 0.25, 0.4999, 0.5, 0.5001, 0.75, 1.0])


def random_rows(rng: np.random.Generator) -> Predictor:
    """Rows of at most four values, many of them equal, some with weights."""
    size = int(rng.integers(1, 12))
    p = rng.choice(rng.choice(GRID if rng.random() < 0.7 else rng.random(8), 4), size)
    y = rng.random(size) < rng.choice([0.0, 0.3, 0.5, 1.0, -1.0], size)
    weight = rng.integers(1, 5, size).astype(float) if rng.random() < 0.5 else None
    return Predictor.from_samples(y, p, weight)


def frequencies_of_runs(q: Predictor) -> FloatArray:
    """The frequency of y = 1 in every run of neighbouring values: all that a best nondecreasing map can say."""
    n = len(q)
    return np.array([q.positive[i:j].sum() / q.mass[i:j].sum() for i in range(n) for j in range(i + 1, n + 1)])


def most_saved(q: Predictor) -> float:
    """The largest E[S(h(p), y) − S(p, y)] over nondecreasing h and scores with at most two thresholds."""
    said = np.unique(np.concatenate([[0.0, 1.0], frequencies_of_runs(q)]))
    maps = said[np.array(list(combinations_with_replacement(range(len(said)), len(q))))]
    mu = np.unique(np.concatenate([[0.0, 0.5, 1.0], q.p, said]))
    worth = q.positive - mu[:, None] * q.mass
    saved = np.full((len(maps), len(mu)), -np.inf)
    for acts in (np.greater, np.greater_equal):
        own, other = acts(q.p, mu[:, None]), acts(maps[:, None, :], mu[None, :, None])
        saved = np.maximum(saved, ((other.astype(float) - own) * worth).sum(axis=-1))
    half = int(np.searchsorted(mu, 0.5))
    a, b = mu[:half, None], mu[None, half + 1 :]
    # A score with thresholds a < 1/2 < b and payoffs in [0, 1] has weights m with Σ mμ = Σ m(1 − μ) = 1.
    m_a, m_b = 2 * (b - 0.5) / (b - a), 2 * (0.5 - a) / (b - a)
    pairs = m_a * saved[:, :half, None] + m_b * saved[:, None, half + 1 :]
    return float(max(2 * saved[:, half].max(), pairs.max()))


def largest_bias(q: Predictor) -> float:
    ends = range(len(q) + 1)
    return max(abs(float(q.bias[i:j].sum())) for i in ends for j in ends if i <= j)


def largest_swap(d: DecisionProblem, q: Predictor) -> float:
    """Σ_a max_a' E[U(a', y) − U(a, y); a], for the worst assignment of the values on thresholds."""
    earned = np.stack([d.payoff @ [w - v, v] for w, v in zip(q.mass, q.positive, strict=True)])
    below, above = (np.searchsorted(d.thresholds, q.p, side=side) for side in ("left", "right"))
    tied = [set(d.responses[[low, high]].tolist()) for low, high in zip(below, above, strict=True)]
    most = 0.0
    for taken in product(*tied):
        regret = 0.0
        for action in set(taken):
            rows = earned[[index for index, one in enumerate(taken) if one == action]].sum(axis=0)
            regret += float(rows.max() - rows[action])
        most = max(most, regret)
    return most


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(100 if seed == 0 else 1900):
        q = random_rows(rng)
        value = monotone_cdl(q)
        assert value == pytest.approx(most_saved(q), abs=TINY)
        assert value == pytest.approx(decision_loss(q, q.isotonic()), abs=TINY)
        assert cutoff(q) == pytest.approx(largest_bias(q), abs=TINY)
        d = DecisionProblem(rng.integers(0, 9, (int(rng.integers(1, 5)), 2)) / 8)
        assert d.action_regret(q) == pytest.approx(largest_swap(d, q), abs=TINY)
