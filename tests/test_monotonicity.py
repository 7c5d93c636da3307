"""The test of monotonicity: its statistic, level and power."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import samples
from trustcal import Predictor
from trustcal.inference import monotonicity_test

RNG = np.random.default_rng


def excursion(y: list[int], p: list[float]) -> float:
    """By definition: the sums above their greatest convex minorant, in standard deviations, vertex to vertex."""
    values = sorted(set(p))
    w = np.cumsum([0] + [p.count(value) for value in values])
    v = np.cumsum([0] + [sum(one for one, x in zip(y, p, strict=True) if x == value) for value in values])
    last = len(values)

    def chord(i: int, j: int, k: int) -> float:
        return float(v[i] + (v[j] - v[i]) * (w[k] - w[i]) / (w[j] - w[i]))

    vertices = [
        k for k in range(1, last) if all(v[k] < chord(i, j, k) - 1e-9 for i in range(k) for j in range(k + 1, last + 1))
    ]
    largest = 0.0
    for start, end in pairwise([0, *vertices, last]):
        n, ones = int(w[end] - w[start]), int(v[end] - v[start])
        if 0 < ones < n:
            above = max(v[k] - chord(start, end, k) for k in range(start, end + 1))
            largest = max(largest, above / np.sqrt(ones * (n - ones) / n))
    return largest


def test_exact_values() -> None:
    found = monotonicity_test(Predictor.from_samples([1, 0], [0.2, 0.7]), draws=9, rng=0)
    assert found.value == pytest.approx(0.25 / np.sqrt(0.25 * 0.5))  # sums 1/2, 1/2 above the chord from 0 to 1/2
    assert (found.low, found.split, found.high, found.before, found.after) == (0.2, 0.2, 0.7, 1.0, 0.0)
    many = Predictor.from_samples([1] * 50 + [0] * 50, np.arange(100) / 100)
    fall = monotonicity_test(many, draws=99, rng=0)
    assert fall.value == pytest.approx(5.0)
    assert (fall.split, fall.p_value) == (0.49, 0.01)
    assert fall.note == ""


@pytest.mark.parametrize(
    ("y", "p"),
    [([1], [0.5]), ([0, 0], [0.2, 0.7]), ([1, 1], [0.2, 0.7]), ([0, 1], [0.0, 1.0]), ([0, 1, 0, 1], [0.5] * 4)],
)
def test_nothing_falls(y: list[int], p: list[float]) -> None:
    found = monotonicity_test(Predictor.from_samples(y, p), draws=9, rng=0)
    assert (found.value, found.p_value) == (0.0, 1.0)
    assert np.isnan(found.low)


@given(samples())
def test_the_statistic_by_its_definition(rows: tuple[list[int], list[float], list[float]]) -> None:
    y, p, _ = rows
    p = [value + 0.0 for value in p]
    found = monotonicity_test(Predictor.from_samples(y, p), draws=1, rng=0)
    assert found.value == pytest.approx(excursion(y, p), rel=1e-12, abs=1e-12)
    if found.value > 1e-9:
        assert found.low <= found.split < found.high
        assert found.before > found.after
    rising = monotonicity_test(Predictor.from_samples(np.sort(y), np.sort(p)), draws=1, rng=0)
    assert rising.value == pytest.approx(0.0, abs=1e-12)


@given(samples(), st.integers(0, 2**32))
def test_only_the_ranking_and_the_order_of_rows_matter(
    rows: tuple[list[int], list[float], list[float]], seed: int
) -> None:
    y, p, w = (np.array(x) for x in rows)
    q = Predictor.from_samples(y, p, w)
    order = RNG(seed).permutation(len(y))
    a, b = (
        monotonicity_test(one, draws=5, rng=seed) for one in (q, Predictor.from_samples(y[order], p[order], w[order]))
    )
    assert (a.value, a.p_value) == (b.value, b.p_value)


def test_a_known_distribution_is_refused() -> None:
    with pytest.raises(ValueError, match="needs rows"):
        monotonicity_test(Predictor([0.5], [1.0], [0.5]), rng=0)
    with pytest.raises(ValueError, match="draws"):
        monotonicity_test(Predictor.from_samples([0, 1], [0.2, 0.7]), draws=0, rng=0)


Curve = Callable[[np.ndarray], np.ndarray]
RISING: dict[str, Curve] = {
    "constant": lambda p: 0 * p + 0.5,
    "identity": lambda p: p,
    "square": lambda p: p**2,
    "step": lambda p: np.where(p < 0.5, 0.3, 0.7),
    "rare": lambda p: p / 20,
}


def wiggle(p: np.ndarray) -> np.ndarray:
    return p + 0.15 * np.sin(6 * np.pi * p)


def rejections(
    curve: Curve,
    n: int,
    trials: int,
    seed: int,
    weight: Callable[[np.ndarray], np.ndarray] | None = None,
    grid: int = 0,
) -> float:
    rng, count = RNG(seed), 0
    for _ in range(trials):
        p = rng.random(n) if not grid else rng.integers(grid + 1, size=n) / grid
        q = Predictor.from_samples(rng.random(n) < curve(p), p, None if weight is None else weight(p))
        count += monotonicity_test(q, draws=99, rng=rng).p_value <= 0.05
    return count / trials


@pytest.mark.slow
@pytest.mark.parametrize("name", RISING)
def test_level(name: str) -> None:
    # nominal 5 %; three standard deviations of 600 trials are 2.7 %
    assert rejections(RISING[name], 300, 600, 1) <= 0.05 + 0.027


@pytest.mark.slow
def test_level_with_repeated_values_and_with_weights() -> None:
    assert rejections(RISING["identity"], 400, 300, 2, grid=10) <= 0.05 + 0.038
    assert rejections(RISING["constant"], 400, 300, 3, grid=10) <= 0.05 + 0.038
    heavy = rejections(RISING["constant"], 300, 300, 4, weight=lambda p: np.where(p > 0.8, 10.0, 1.0))
    assert heavy <= 0.05 + 0.038


@pytest.mark.slow
def test_power_on_the_wiggle() -> None:
    few, many = rejections(wiggle, 1000, 100, 5), rejections(wiggle, 3000, 60, 6)
    assert few >= 0.4
    assert many >= 0.9


@pytest.mark.slow
def test_clusters_are_drawn_together() -> None:
    rng, plain, by_cluster = RNG(7), 0, 0
    for _ in range(60):
        event = np.repeat(np.arange(60), 10)
        p = np.clip(rng.random(60)[event] + rng.normal(0, 0.05, 600), 0, 1)
        y = (rng.random(60) < 0.5)[event]
        plain += monotonicity_test(Predictor.from_samples(y, p), draws=99, rng=rng).p_value <= 0.05
        clustered = Predictor.from_samples(y, p, cluster=event)
        by_cluster += monotonicity_test(clustered, draws=99, rng=rng).p_value <= 0.05
    assert plain >= 30
    assert by_cluster <= 9
