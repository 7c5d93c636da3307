"""Confidence bounds on the bin-free measures: oracles for what they maximise, coverage by simulation."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import trustcal as tc
from tests.strategies import bounded_problems
from trustcal import DecisionProblem, Predictor
from trustcal.inference.bands import held_out, isotonic_band, profile_band
from trustcal.inference.confidence import ConfidenceBound
from trustcal.inference.decision_bounds import (
    action_regret_bounds,
    atb_bounds,
    cutoff_lower_bound,
    cutoff_upper_bound,
)
from trustcal.inference.deviations import deviation, tangent
from trustcal.inference.monotone_bounds import (
    _tilted,
    change_of,
    monotone_cdl_lower_bound,
    monotone_cdl_upper_bound,
)
from trustcal.inference.splits import learn_and_judge
from trustcal.measures.atb import atb
from trustcal.measures.interval_bias import cutoff
from trustcal.measures.monotone import monotone_cdl, monotone_cdl_witness

RAIN = Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])
BIASED_COIN = Predictor([0.5], [1.0], [0.6])
GRID = Predictor([0.1, 0.3, 0.5, 0.7, 0.9], [0.2] * 5, [0.01, 0.05, 0.1, 0.15, 0.19])


@st.composite
def rows(draw: st.DrawFn) -> Predictor:
    p = draw(st.lists(st.integers(0, 8).map(lambda i: i / 8), min_size=1, max_size=12))
    y = draw(st.lists(st.integers(0, 1), min_size=len(p), max_size=len(p)))
    return Predictor.from_samples(y, p)


@given(rows(), st.floats(0, 1), st.floats(0, 0.5))
def test_theorem_39_the_best_upper_set_is_found_at_a_shifted_threshold(q: Predictor, mu: float, slope: float) -> None:
    best = 0.0
    for acts, first in product((q.p > mu, q.p >= mu), range(len(q) + 1)):
        change = (np.arange(len(q)) >= first).astype(float) - acts
        one, zero = (1 - mu) * change, -mu * change
        gain = q.positive @ one + (q.mass - q.positive) @ zero
        moment = q.positive @ one**2 + (q.mass - q.positive) @ zero**2
        best = max(best, float(gain + 2 * slope * moment))
    assert _tilted(q, np.array([mu]), slope)[0] == pytest.approx(best, abs=1e-13)


@given(st.floats(0, 1), st.floats(0.001, 0.99), st.integers(1, 10**6), st.sampled_from([0.2, 0.05, 0.001]))
def test_theorem_39_tangents_lie_above_the_deviation(x: float, at: float, n: int, error: float) -> None:
    line = tangent(at, n, error)
    assert deviation(x, n, error) <= line.height + line.slope * x + 1e-12


@given(rows(), st.sampled_from([0.8, 0.95]))
def test_bounds_hold_the_estimate_between_them(q: Predictor, confidence: float) -> None:
    for bound in (
        cutoff_upper_bound(q, confidence),
        cutoff_lower_bound(q, confidence, rng=0),
        monotone_cdl_upper_bound(q, confidence),
        monotone_cdl_lower_bound(q, confidence, rng=0),
        atb_bounds(q, confidence),
    ):
        assert 0 <= bound.lower <= bound.estimate + 1e-15
        assert bound.estimate <= bound.upper <= 1
        assert bound.rigorous


@given(bounded_problems(), rows())
@example(DecisionProblem([(1e-15, 0.0), (1e-15, 5e-324)]), Predictor.from_samples([0], [0.0]))  # stakes of 5e-324
def test_action_regret_bounds_hold_the_estimate_between_them(d: DecisionProblem, q: Predictor) -> None:
    bound = action_regret_bounds(d, q)
    assert bound.lower <= bound.estimate + 1e-12
    assert bound.estimate <= bound.upper + 1e-12


@pytest.mark.parametrize("unit", [1.0, 2.0**-30, 2.0**-1000, 2.0**60])
@pytest.mark.parametrize("least", [0.0, 1.0, -3.0])
def test_action_regret_bounds_do_not_depend_on_units(unit: float, least: float) -> None:
    """What is paid whatever one does counts for nothing, and what is paid in other units counts in these."""
    payoffs = np.array([[3.0, 0.0], [2.0, 2.0], [0.0, 3.0]])
    q = Predictor.from_samples([1] * 40 + [0] * 60, [0.1] * 50 + [0.9] * 50)
    plain = action_regret_bounds(DecisionProblem(payoffs), q)
    other = action_regret_bounds(DecisionProblem((payoffs + least) * unit), q)
    assert (other.lower, other.upper) == pytest.approx((plain.lower * unit, plain.upper * unit), rel=1e-14, abs=0)


@given(rows())
def test_the_change_of_a_witness_is_its_gain(q: Predictor) -> None:
    witness = monotone_cdl_witness(q)
    zero, one = change_of(witness, q.p)
    assert q.positive @ one + (q.mass - q.positive) @ zero == pytest.approx(witness.value, abs=1e-13)


def test_held_out_by_hand() -> None:
    """All outcomes are 1 and all predictions 0.1: whoever is held out, acting always gains what the witness says."""
    q = Predictor.from_samples([1] * 10, [0.1] * 10)
    assert held_out(q, folds=5, rng=0) == pytest.approx(monotone_cdl(q), abs=1e-15)


@pytest.mark.parametrize("half", [100, 127, 128, 32768])
def test_rows_of_one_value_are_split_one_by_one(half: int) -> None:
    q = Predictor.from_samples([0, 1] * half, [0.5] * (2 * half))
    for part, share in zip(learn_and_judge(q, np.random.default_rng(0)), (1 / 3, 2 / 3), strict=True):
        assert abs(part.size - 2 * half * share) <= 4 * np.sqrt(half)
        assert part.law(q.p).mass.tolist() == [1.0]


def test_what_bounds_refuse() -> None:
    weighted = Predictor.from_samples([0, 1, 1], [0.2, 0.5, 0.5], [1, 2, 3])
    for make in (cutoff_upper_bound, monotone_cdl_upper_bound, atb_bounds):
        with pytest.raises(ValueError, match="known law"):
            make(RAIN)
        with pytest.raises(ValueError, match="moved by"):
            make(Predictor.from_samples([0, 1], [0.2, 0.6]).coarsen(1))
    with pytest.raises(ValueError, match="equal weight"):
        isotonic_band(weighted)
    assert not atb_bounds(weighted).rigorous
    assert not monotone_cdl_upper_bound(weighted).rigorous
    assert not cutoff_upper_bound(weighted).rigorous


# --- Coverage, on the populations of theory.md: 95 % bounds must hold in at least 95 % of samples


def sampled(law: Predictor, n: int, rng: np.random.Generator) -> Predictor:
    counts = rng.multinomial(n, np.concatenate([law.mass - law.positive, law.positive])).reshape(2, -1)
    p, y = np.repeat(np.tile(law.p, 2), counts.ravel()), np.repeat([0, 1], counts.sum(axis=1))
    return Predictor.from_samples(y, p)


def continuous(curve: Callable[[np.ndarray], np.ndarray], n: int, rng: np.random.Generator) -> Predictor:
    p = rng.random(n)
    return Predictor.from_samples(rng.random(n) < curve(p), p)


POPULATIONS: dict[str, tuple[Callable[[int, np.random.Generator], Predictor], float, float]] = {
    "square": (lambda n, rng: continuous(np.square, n, rng), np.sqrt(2) / 3 - 5 / 12, 1 / 6),
    "calibrated": (lambda n, rng: continuous(lambda p: p, n, rng), 0.0, 0.0),
    "rain": (lambda n, rng: sampled(RAIN, n, rng), 0.5001, 0.25005),
    "biased coin": (lambda n, rng: sampled(BIASED_COIN, n, rng), 0.2, 0.1),
    "grid": (lambda n, rng: sampled(GRID, n, rng), monotone_cdl(GRID), cutoff(GRID)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("n", [50, 500])
def test_bounds_cover(name: str, n: int) -> None:
    draw, loss, bias = POPULATIONS[name]
    rng, samples, missed = np.random.default_rng(0), 200, np.zeros(4, dtype=int)
    for _ in range(samples):
        q = draw(n, rng)
        bounds: list[tuple[ConfidenceBound, float]] = [
            (monotone_cdl_upper_bound(q), loss),
            (monotone_cdl_lower_bound(q, rng=rng), loss),
            (cutoff_upper_bound(q), bias),
            (cutoff_lower_bound(q, rng=rng), bias),
        ]
        missed += [not bound.lower - 1e-12 <= truth <= bound.upper + 1e-12 for bound, truth in bounds]
    assert missed.max() <= 0.05 * samples


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 500])
def test_atb_action_regret_and_bands_cover(n: int) -> None:
    rng, samples, missed = np.random.default_rng(0), 200, np.zeros(4, dtype=int)
    problem = tc.umbrella()
    truth, regret, profile = atb(GRID), problem.action_regret(GRID, "lower"), monotone_cdl_witness(GRID).profile(GRID.p)
    for _ in range(samples):
        q = sampled(GRID, n, rng)
        squared, actions, band = atb_bounds(q), action_regret_bounds(problem, q), isotonic_band(q)
        at = np.searchsorted(GRID.p, q.p)
        missed += [
            not squared.lower <= truth <= squared.upper,
            not actions.lower - 1e-12 <= regret <= actions.upper + 1e-12,
            not ((band.lower <= GRID.p_hat[at]) & (GRID.p_hat[at] <= band.upper)).all(),
            np.abs(monotone_cdl_witness(q).profile(GRID.p) - profile).max() > profile_band(q),
        ]
    assert missed.max() <= 0.05 * samples


@pytest.mark.slow
@pytest.mark.parametrize("law", [RAIN, GRID, Predictor([0.0, 0.4, 0.6, 1.0], [0.25] * 4, [0.2, 0.0, 0.25, 0.1])])
def test_theorem_41_cutoff_and_the_fit_of_the_rows(law: Predictor) -> None:
    rng, n, samples, missed = np.random.default_rng(0), 200, 200, np.zeros(3, dtype=int)
    deviation, fit = (4 + np.sqrt(2 * np.log(20))) / np.sqrt(n), 4 * np.sqrt(np.log(80) / (2 * n))
    for _ in range(samples):
        q = sampled(law, n, rng)
        level = q.fitted[np.maximum(np.searchsorted(q.p, law.p, side="right") - 1, 0)]
        values, at = np.unique(level, return_inverse=True)
        used = Predictor(values, np.bincount(at, law.mass), np.bincount(at, law.positive))
        missed += [abs(cutoff(q) - cutoff(law)) > deviation, cutoff(used) > fit, monotone_cdl(used) > fit]
    assert missed.max() <= 0.05 * samples


@pytest.mark.parametrize("heavy", [1e160, 1e200, 1e300])
@pytest.mark.parametrize("cluster", [None, np.append(0, 1 + np.arange(198) // 3)])
def test_parts_of_rows_beside_a_very_heavy_one(heavy: float, cluster: NDArray[np.int64] | None) -> None:
    """The part without it has the size of its own rows, or clusters of three, though their squared shares underflow."""
    rng = np.random.default_rng(0)
    p = rng.random(199)
    q = Predictor.from_samples(rng.random(199) < p, p, np.append(heavy, np.ones(198)), cluster=cluster)
    with_it, without = sorted(learn_and_judge(q, rng), key=lambda part: part.size)
    assert with_it.size == pytest.approx(1)
    rows = np.count_nonzero(without.weight)
    assert rows > 30
    assert without.size == pytest.approx(rows if cluster is None else rows / 3)
