"""The floor of ATB in closed form."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import costly, probabilities
from trustcal import Predictor, atb, atb_floor
from trustcal.inference import sampling_floor


def enumerated(p: list[float], w: list[float]) -> tuple[float, float]:
    """Mean and standard deviation over all outcomes."""
    chances, values = [], []
    for y in product([0, 1], repeat=len(p)):
        chances.append(np.prod([x if one else 1 - x for one, x in zip(y, p, strict=True)]))
        values.append(atb(list(y), p, w))
    mean = float(np.dot(chances, values))
    return mean, float(np.sqrt(np.dot(chances, (np.array(values) - mean) ** 2)))


@costly(40)
@given(st.lists(st.tuples(probabilities, st.sampled_from([1.0, 2.0, 10.0])), min_size=1, max_size=6))
def test_all_outcomes(rows: list[tuple[float, float]]) -> None:
    weights: dict[float, float] = {}
    p = [x for x, _ in rows]
    w = [weights.setdefault(x, weight) for x, weight in rows]  # the same for rows with the same prediction
    for weight in ([1.0] * len(p), w):
        floor = atb_floor(np.zeros(len(p)), p, weight)
        mean, sd = enumerated(p, weight)
        assert floor.mean == pytest.approx(mean, abs=1e-14)
        assert floor.sd == pytest.approx(sd, abs=1e-8)  # its square is a difference


def test_outcomes_do_not_matter_but_predictions_and_weights_do() -> None:
    rng = np.random.default_rng(0)
    p, w = rng.random(500), rng.random(500)
    floors = {(floor.mean, floor.sd) for floor in (atb_floor(rng.random(500) < p, p, w) for _ in range(3))}
    assert len(floors) == 1
    assert atb_floor([0, 1], [0.0, 1.0]).sd == 0.0
    assert atb_floor([1], [0.25]).mean == 0.25 * 0.75
    assert atb_floor([1], [0.25]).sd == pytest.approx(np.sqrt(0.25 * 0.75) / 2)
    known = atb_floor(Predictor([0.25, 0.75], [0.5, 0.5], [0.1, 0.3]))
    assert (known.mean, known.sd) == (0.0, 0.0)


def test_weights_that_differ_among_equal_predictions() -> None:
    p, w = [0.25, 0.25, 0.75], [1.0, 5.0, 2.0]
    mean, sd = enumerated(p, w)
    floor, kept = atb_floor([0, 0, 0], p, w), atb_floor(Predictor.from_samples([0, 0, 0], p, w))
    assert floor.mean == kept.mean == pytest.approx(mean, abs=1e-15)
    assert floor.sd == pytest.approx(sd, abs=1e-15)
    assert kept.sd == pytest.approx(sd, rel=0.2)  # a predictor keeps the squares of weights only
    assert floor == atb_floor([0, 0, 0], p[::-1], w[::-1])


@pytest.mark.parametrize("weighted", [False, True])
def test_simulation(weighted: bool) -> None:
    rng = np.random.default_rng(1)
    p = np.round(rng.beta(0.5, 2, 400), 2)
    w = np.where(p < 0.1, 5.0, 1.0) if weighted else None
    floor = atb_floor(p < 0, p, w)
    shown = np.array([atb(rng.random(400) < p, p, w) for _ in range(2000)])
    assert floor.mean == pytest.approx(shown.mean(), abs=5 * floor.sd / 2000**0.5)
    assert floor.sd == pytest.approx(shown.std(), rel=0.15)
    simulated = sampling_floor(Predictor.from_samples(p > 0.5, p, w), "atb", draws=50, rng=0)
    assert simulated.mean == floor.mean


def test_clusters_are_refused() -> None:
    q = Predictor.from_samples([0, 1, 1, 0], [0.2, 0.2, 0.7, 0.7], cluster=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="independent rows"):
        atb_floor(q)
    assert sampling_floor(q, "atb", draws=5, rng=0).mean > 0
