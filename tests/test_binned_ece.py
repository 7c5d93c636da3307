"""binned_ece: what other packages give, and what they leave open."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trustcal as tc
from tests.strategies import samples

# 60 rows, many on the edges of bins, some at exactly 0 and 1.
P = [
    *([0.0] * 4), 0.015, *([0.05] * 5), 0.086, 0.149, 0.2, 0.236, 0.236, 0.25, 0.25, 0.25, 0.3, 0.316, 0.32, 0.325,
    0.368, 0.399, 0.4, 0.4, 0.4, 0.449, 0.45, 0.45, 0.5, 0.5, 0.5, 0.506, 0.507, 0.55, 0.65, 0.699, 0.7, 0.7, 0.7,
    0.799, 0.8, 0.8, 0.8, 0.806, 0.845, 0.85, 0.85, 0.85, 0.9, 0.9, 0.9, 0.933, 0.95, 0.951, *([1.0] * 4),
]  # fmt: skip
Y = [int(one) for one in "000000000100101101000000100000000100001011111111111111111100"]


@pytest.mark.parametrize(
    ("package", "bins", "strategy", "closed", "expected"),
    [
        # scikit-learn 1.9.1: calibration_curve, its gaps weighted with the rows in each bin
        ("scikit-learn", 4, "uniform", "right", 0.17055000000000006),
        ("scikit-learn", 5, "uniform", "right", 0.10908333333333338),
        ("scikit-learn", 10, "uniform", "right", 0.22168333333333337),
        ("scikit-learn", 15, "uniform", "right", 0.23678333333333335),
        ("scikit-learn", 4, "quantile", "right", 0.12668333333333343),
        ("scikit-learn", 5, "quantile", "right", 0.10578333333333335),
        ("scikit-learn", 10, "quantile", "right", 0.23505000000000004),
        ("scikit-learn", 15, "quantile", "right", 0.24505000000000002),
        # uncertainty-calibration 0.1.4: get_ece(num_bins=bins)
        ("uncertainty-calibration", 5, "uniform", "right", 0.10908333333333332),
        ("uncertainty-calibration", 10, "uniform", "right", 0.22168333333333337),
        ("uncertainty-calibration", 15, "uniform", "right", 0.23678333333333335),
        # MAPIE 1.6.0: expected_calibration_error(num_bins=bins + 1)
        ("MAPIE", 4, "uniform", "right", 0.17055),
        ("MAPIE", 4, "quantile", "right", 0.12668333333333334),
        # netcal 1.4.0: ECE(bins, equal_intervals=strategy == "uniform").measure
        ("netcal", 4, "uniform", "left", 0.12888333333333335),
        ("netcal", 5, "uniform", "left", 0.10074999999999999),
        ("netcal", 10, "uniform", "left", 0.21665),
        ("netcal", 15, "uniform", "left", 0.24175),
        ("netcal", 4, "quantile", "left", 0.12668333333333343),
        ("netcal", 5, "quantile", "left", 0.10074999999999998),
        ("netcal", 10, "quantile", "left", 0.22771666666666673),
        ("netcal", 15, "quantile", "left", 0.21385000000000004),
        # probcal 0.4.0: ece(n_bins=bins, strategy="mass")
        ("probcal", 10, "quantile", "left", 0.2277166666666667),
        ("probcal", 15, "quantile", "left", 0.21385000000000004),
    ],
)
def test_other_packages(package: str, bins: int, strategy: str, closed: str, expected: float) -> None:
    options = {"bins": bins, "strategy": strategy, "closed": closed}
    assert tc.binned_ece(Y, P, **options) == pytest.approx(expected, abs=1e-15), package  # type: ignore[arg-type]
    q = tc.Predictor.from_samples(Y[::-1], P[::-1])
    assert tc.binned_ece(q, **options) == tc.binned_ece(Y, P, **options)  # type: ignore[arg-type]


def test_torchmetrics_gives_certain_predictions_a_bin_of_their_own() -> None:
    p, y = np.array(P), np.array(Y)
    below = abs((p - y)[p < 1][p[p < 1] >= 0.8].sum()) + abs((p - y)[p == 1].sum())
    together = abs((p - y)[p >= 0.8].sum())
    ours = tc.binned_ece(y, p, bins=5, closed="left")
    assert ours + (below - together) / 60 == pytest.approx(0.1629166666666667, abs=1e-15)  # torchmetrics 1.9.0


def test_probcal_with_weights() -> None:
    weight = np.tile([1.0, 2.0, 0.5], 20)
    found = tc.binned_ece(Y, P, weight, bins=10, closed="left")
    assert found == pytest.approx(0.20035714285702147, abs=1e-12)  # probcal 0.4.0, which moves 0 and 1 by 1e-12


def test_debiased_is_the_mean_of_random_debiasing() -> None:
    # uncertainty-calibration 0.1.4, get_ece(debias=True), the mean of 200 runs of 1,000 draws each
    assert tc.binned_ece(Y, P, bins=4, debias=True) == pytest.approx(0.1510146973654641, abs=4e-4)
    assert tc.binned_ece(Y, P, bins=5, debias=True) == pytest.approx(0.07192267781258994, abs=4e-4)


def test_debiased_by_simulation() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(1000)
    y = rng.random(1000) < p
    cell = np.minimum((p * 15).astype(int), 14)
    size = np.bincount(cell)
    mean, rate = np.bincount(cell, p) / size, np.bincount(cell, y) / size
    drawn = rate + rng.standard_normal((20_000, 15)) * np.sqrt(rate * (1 - rate) / size)
    again = (size / 1000 * np.abs(drawn - mean)).sum(axis=1)
    expected = 2 * tc.binned_ece(y, p) - again.mean()
    assert tc.binned_ece(y, p, debias=True) == pytest.approx(expected, abs=5 * again.std() / 20_000**0.5)
    repeated = tc.binned_ece(np.repeat(y, 2), np.repeat(p, 2), np.tile([2.0, 2.0], 1000), debias=True)
    assert repeated == pytest.approx(tc.binned_ece(np.repeat(y, 2), np.repeat(p, 2), debias=True), abs=1e-12)


def test_degenerate_rows() -> None:
    assert tc.binned_ece([1], [1.0]) == 0.0
    assert tc.binned_ece([0], [0.0], strategy="quantile", closed="left") == 0.0
    assert tc.binned_ece([0, 1], [0.5, 0.5], strategy="quantile") == 0.0  # one value: all edges coincide
    assert tc.binned_ece([0, 1, 1, 1], [0.5] * 4, bins=1, debias=True) < tc.binned_ece([0, 1, 1, 1], [0.5] * 4, bins=1)
    assert tc.binned_ece([0, 0, 1], [0.1, 0.5, 0.9], debias=True) == tc.binned_ece([0, 0, 1], [0.1, 0.5, 0.9])
    assert tc.binned_ece([0, 1], [0.2, 0.2], [0, 3], bins=2) == pytest.approx(0.8)  # a row of weight zero
    rain = tc.Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])
    assert tc.binned_ece(rain, bins=2) == pytest.approx(0.5001)
    assert tc.binned_ece(rain, bins=2, strategy="quantile") == pytest.approx(0.5001)
    assert tc.binned_ece(rain, bins=1) == pytest.approx(0.0, abs=1e-15)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="strategy must be one of"):
        tc.binned_ece(Y, P, strategy="mass")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="closed must be one of"):
        tc.binned_ece(Y, P, closed="both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="bins"):
        tc.binned_ece(Y, P, bins=0)
    with pytest.raises(ValueError, match="no sampling bias"):
        tc.binned_ece(tc.Predictor([0.5], [1.0], [0.5]), debias=True)


def slow_ece(y: list[int], p: list[float], w: list[float], edges: list[float], closed: str) -> float:
    """Row by row."""
    gaps: dict[int, float] = {}
    for one, prediction, weight in zip(y, p, w, strict=True):
        at = sum(edge < prediction if closed == "right" else edge <= prediction for edge in edges)
        gaps[at] = gaps.get(at, 0.0) + weight * (prediction - one)
    return sum(map(abs, gaps.values())) / sum(w)


@given(samples(), st.integers(1, 20), st.sampled_from(["right", "left"]))
def test_uniform_bins_row_by_row(rows: tuple[list[int], list[float], list[float]], bins: int, closed: str) -> None:
    y, p, w = rows
    edges = np.linspace(0, 1, bins + 1)[1:-1].tolist()
    found = tc.binned_ece(y, p, w, bins=bins, closed=closed)  # type: ignore[arg-type]
    assert found == pytest.approx(slow_ece(y, p, w, edges, closed), abs=1e-12)
    assert found <= tc.ece(tc.Predictor.from_samples(y, p, w)) + 1e-12  # pooling only cancels
    assert found >= abs(tc.Predictor.from_samples(y, p, w).bias.sum()) - 1e-12


@given(samples(), st.integers(1, 20), st.sampled_from(["right", "left"]))
def test_quantile_bins_row_by_row(rows: tuple[list[int], list[float], list[float]], bins: int, closed: str) -> None:
    y, p, w = rows
    levels = np.linspace(0, 1, bins + 1)
    edges = np.percentile(p, levels * 100) if closed == "right" else np.quantile(p, levels)
    found = tc.binned_ece(y, p, bins=bins, strategy="quantile", closed=closed)  # type: ignore[arg-type]
    assert found == pytest.approx(slow_ece(y, p, [1.0] * len(p), edges[1:-1].tolist(), closed), abs=1e-12)
    # weights: the smallest prediction with at least this share of the mass at or below it
    q = tc.Predictor.from_samples(y, p, w)
    if q.effective_rows != q.rows:
        reached = [min(v for v in q.p.tolist() if q.mass[q.p <= v].sum() >= level - 1e-12) for level in levels[1:-1]]
        gap = tc.binned_ece(y, p, w, bins=bins, strategy="quantile", closed=closed)  # type: ignore[arg-type]
        assert gap == pytest.approx(slow_ece(y, p, w, reached, closed), abs=1e-12)
