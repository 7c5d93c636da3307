"""Slope, intercept, ICI and two tests: exact values, scipy's optimiser row by row, and simulated coverage."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, gammaincc, logit
from scipy.stats import chi2, norm

import trustcal as tc
from trustcal.inference import clinical_calibration
from trustcal.inference.clinical import _chi_square_tail
from trustcal.report.clinical import what_they_miss


def test_exact_values() -> None:
    """One prediction of 1/2, and three of four outcomes are 1."""
    found = clinical_calibration(tc.Predictor.from_samples([0, 1, 1, 1], [0.5] * 4))
    assert found.observed_to_expected == 1.5
    assert found.in_the_large is not None
    assert found.in_the_large.value == pytest.approx(log(3), abs=1e-12)
    half = norm.ppf(0.975) / sqrt(4 * 0.75 * 0.25)
    assert found.in_the_large.upper - found.in_the_large.value == pytest.approx(half, abs=1e-9)
    assert (found.slope, found.intercept, found.spiegelhalter, found.groups) == (None, None, None, 1)
    assert (found.ici, found.e50, found.e90) == pytest.approx((0.25, 0.25, 0.25))
    assert found.hosmer_lemeshow == pytest.approx(chi2.sf((3 - 2) ** 2 / (4 * 0.25), 1))


def test_two_values_are_fitted_exactly() -> None:
    """Four rows at 1/4 with frequency 1/2, four at 3/4 with frequency 3/4: a line through two points."""
    q = tc.Predictor.from_samples([0, 0, 1, 1, 0, 1, 1, 1], [0.25] * 4 + [0.75] * 4)
    found = clinical_calibration(q)
    assert found.slope is not None
    assert found.intercept is not None
    assert found.slope.value == pytest.approx(log(3) / (2 * log(3)), abs=1e-9)
    assert found.intercept.value == pytest.approx(log(3) / 2, abs=1e-9)
    assert found.ici == pytest.approx(0.125, abs=1e-9)
    assert found.e90 == pytest.approx(0.25, abs=1e-9)


@pytest.mark.parametrize("rows", [([0, 0], [0.2, 0.7]), ([1, 1], [0.2, 0.7]), ([0, 1], [0.0, 1.0]), ([1], [0.5])])
def test_what_cannot_be_estimated_is_none(rows: tuple[list[int], list[float]]) -> None:
    found = clinical_calibration(tc.Predictor.from_samples(*rows))
    assert found.slope is None
    assert found.intercept is None


def test_the_fit_is_the_maximum_of_the_likelihood_row_by_row() -> None:
    rng = np.random.default_rng(0)
    p = np.round(rng.beta(1, 2, 600), 2).clip(0.01, 0.99)
    y = (rng.random(600) < p**1.5).astype(float)
    w = rng.integers(1, 4, 600).astype(float)
    x = logit(p)

    def fitted(design: np.ndarray, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        def loss(b: np.ndarray) -> float:
            s = design @ b + offset
            return float(w @ (np.logaddexp(0, s) - y * s))

        b = minimize(loss, np.zeros(design.shape[1]), method="BFGS", options={"gtol": 1e-8}).x
        pi = expit(design @ b + offset)
        bread = np.linalg.inv(design.T @ ((w * pi * (1 - pi))[:, None] * design))
        meat = design.T @ ((w**2 * (y - pi) ** 2)[:, None] * design)
        return b, np.sqrt(np.diag(bread @ meat @ bread))

    found = clinical_calibration(tc.Predictor.from_samples(y, p, w))
    (large,), (error,) = fitted(np.ones((600, 1)), x)
    assert found.in_the_large is not None
    assert found.in_the_large.value == pytest.approx(large, abs=1e-4)
    assert (found.in_the_large.upper - large) / norm.ppf(0.975) == pytest.approx(error, rel=0.05)
    (a, b), errors = fitted(np.stack([np.ones(600), x], axis=1), np.zeros(600))
    assert found.intercept is not None
    assert found.slope is not None
    assert (found.intercept.value, found.slope.value) == pytest.approx((a, b), abs=1e-4)
    assert (found.slope.upper - b) / norm.ppf(0.975) == pytest.approx(errors[1], rel=0.05)


def test_the_tests_are_the_published_ones() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(1000)
    y = rng.random(1000) < p
    found = clinical_calibration(tc.Predictor.from_samples(y, p))
    parts = np.array_split(np.argsort(p), 10)
    score = sum((y[part].sum() - p[part].sum()) ** 2 / (100 * p[part].mean() * (1 - p[part].mean())) for part in parts)
    assert found.hosmer_lemeshow == pytest.approx(chi2.sf(score, 10), abs=1e-9)
    z = ((y - p) * (1 - 2 * p)).sum() / sqrt(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    assert found.spiegelhalter == pytest.approx(2 * norm.sf(abs(z)), abs=1e-9)


def test_the_note_speaks_of_the_numbers_that_are_shown() -> None:
    tests, neither = ([0, 1] * 50, [0.3, 0.7] * 50), ([0, 1], [0.0, 1.0])
    for rows, shown in ((tests, True), (neither, False)):
        note = what_they_miss(clinical_calibration(tc.Predictor.from_samples(*rows)))
        assert ("Hosmer–Lemeshow" in note, "Spiegelhalter" in note) == (shown, shown)
        assert note.endswith("None of them says who loses what: the verdict does.")


@given(st.floats(0, 80), st.integers(1, 12))
def test_the_tail_of_chi_square_is_that_of_scipy(x: float, freedom: int) -> None:
    assert _chi_square_tail(x, freedom) == pytest.approx(float(gammaincc(freedom / 2, x / 2)), rel=1e-9, abs=1e-300)


def test_a_known_distribution_has_no_intervals() -> None:
    with pytest.raises(ValueError, match="intervals and tests need rows"):
        clinical_calibration(tc.Predictor([0.5], [1.0], [0.5]))


@pytest.mark.slow
def test_intervals_cover_and_tests_keep_their_level() -> None:
    """Of 400 calibrated samples: coverage of 95 % and levels of 5 %, within 4 standard errors."""
    rng = np.random.default_rng(2)
    slope = large = lemeshow = spiegelhalter = 0
    for _ in range(400):
        p = rng.beta(2, 3, 500)
        found = clinical_calibration(tc.Predictor.from_samples(rng.random(500) < p, p))
        assert found.slope is not None
        assert found.in_the_large is not None
        slope += found.slope.lower <= 1 <= found.slope.upper
        large += found.in_the_large.lower <= 0 <= found.in_the_large.upper
        lemeshow += (found.hosmer_lemeshow or 0) <= 0.05
        spiegelhalter += (found.spiegelhalter or 0) <= 0.05
    assert min(slope, large) >= 400 * 0.95 - 18
    assert max(lemeshow, spiegelhalter) <= 400 * 0.05 + 18
