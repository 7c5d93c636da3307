"""SmoothECE against closed forms, against the definition, and its properties."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, exp, pi, sin, sqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from tests.strategies import predictors
from trustcal.kernels.gauss import Cells, absolute_integral, level_for, polynomial_values, smoothed
from trustcal.measures.decision import ece
from trustcal.measures.kernel_smoothing import _fixed_point, smece, smece_curve
from trustcal.measures.rounding import rounding_effect
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]
RAIN = Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])


def bias(q: Predictor) -> tuple[FloatArray, FloatArray]:
    c = q.bias
    return q.p[c != 0], c[c != 0]


def smece_at(x: FloatArray, c: FloatArray, sigma: float) -> float:
    """smECE_σ as the package computes it."""
    cells = Cells.of(x, c, level_for(sigma))
    return sum(absolute_integral(density).value for _, density in smoothed(cells, sigma))


def direct(x: FloatArray, c: FloatArray, sigma: float, per_sigma: int = 12) -> float:
    """smECE_σ by its definition: mirror images, zeros by bisection between the extrema, and Φ between the zeros."""
    turns = 2.0 * np.arange(-int(6 * sigma) - 2, int(6 * sigma) + 3)
    image = np.concatenate([x[:, None] + turns, turns - x[:, None]], axis=1).ravel()
    weight = np.repeat(c, 2 * len(turns))
    near = (image > -12 * sigma) & (image < 1 + 12 * sigma)
    image, weight = image[near], weight[near]
    rows = max(1, 2_000_000 // len(image))

    def total(function: Callable[[FloatArray], FloatArray], t: FloatArray) -> FloatArray:
        parts = [function((t[i : i + rows, None] - image) / sigma) @ weight for i in range(0, len(t), rows)]
        return np.concatenate([np.empty(0), *parts])

    def zeros(function: Callable[[FloatArray], FloatArray], t: FloatArray) -> FloatArray:
        sign = np.sign(total(function, t))
        t, sign = t[sign != 0], sign[sign != 0]
        (k,) = np.nonzero(sign[1:] != sign[:-1])
        a, b = t[k], t[k + 1]
        for _ in range(35):
            middle = (a + b) / 2
            left = np.sign(total(function, middle)) == sign[k]
            a, b = np.where(left, middle, a), np.where(left, b, middle)
        return (a + b) / 2

    spread = sigma * np.linspace(-9, 9, 18 * per_sigma + 1)
    t = (x[:, None] + spread).ravel() if len(x) * sigma < 1 else np.linspace(0, 1, int(per_sigma / sigma) + 1)
    t = np.unique(np.clip(np.append(t, [0.0, 1.0]), 0, 1))
    t = np.unique(np.append(t, zeros(lambda z: -z * np.exp(-z * z / 2), t)))
    ends = np.concatenate([[0.0], zeros(lambda z: np.exp(-z * z / 2), t), [1.0]])
    return float(np.abs(np.diff(total(ndtr, ends))).sum())


def fixed_point(x: FloatArray, c: FloatArray) -> float:
    top = float(np.abs(c).sum())
    if top < 1e-10 or direct(x, c, top) >= top * (1 - 1e-14):
        return top
    return float(brentq(lambda sigma: direct(x, c, sigma) - sigma, 1e-11, top, xtol=1e-15, rtol=1e-13))


def law(x: FloatArray, rng: np.random.Generator, off: float) -> Predictor:
    mass = rng.dirichlet(np.ones(len(x)))
    return Predictor(x, mass, np.clip(mass * (x + off * rng.normal(size=len(x))), 0, mass))


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        (Predictor([0.25], [1.0], [0.5]), 0.25),
        (Predictor([0.0], [1.0], [1.0]), 1.0),
        (Predictor([1.0], [1.0], [0.0]), 1.0),
        (Predictor([0.5], [1.0], [0.5]), 0.0),
        (Predictor([0.25, 0.75], [0.5, 0.5], [0.125, 0.375]), 0.0),
        (Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.5]), 0.25),  # one sign: smoothing changes nothing
        (Predictor([0.2, 0.8], [0.5, 0.5], [0.1 + 1e-7, 0.4 - 1e-7]), 2e-7),  # nothing meets: ECE
    ],
)
def test_exact_values(q: Predictor, expected: float) -> None:
    assert smece(q) == pytest.approx(expected, rel=0, abs=1e-15)


def test_rain_table() -> None:
    """The paper's p = 0.4999 and 0.5001: σ = 0.5001 · erf(1e-4 / (σ√2))."""
    value = smece(RAIN)
    assert value == pytest.approx(0.5001 * erf(1e-4 / (value * sqrt(2))), rel=0, abs=1e-9)


@pytest.mark.parametrize("a", [1e-12, 1e-9, 1e-5, 0.01, 0.1, 0.3, 0.45, 0.5])
def test_two_opposite_biases(a: float) -> None:
    """Biases ∓c at 1/2 ∓ a, by the cosine series of the reflected kernel or, where nothing is reflected, by erf."""
    q = Predictor([0.5 - a, 0.5 + a], [0.5, 0.5], [0.5, 0.0])
    c = float(np.abs(q.bias)[0])
    a = float(q.p[1] - q.p[0]) / 2
    value = smece(q)

    def closed(sigma: float) -> float:
        if sigma < 0.02:
            return 2 * c * erf(a / (sigma * sqrt(2)))
        odd = range(1, 200, 2)
        return 8 * c * sum(exp(-((pi * k * sigma) ** 2) / 2) * sin(pi * k * a) / (pi * k) for k in odd)

    assert value == pytest.approx(brentq(lambda s: closed(s) - s, 1e-10, 1.0, xtol=1e-15), rel=0, abs=1e-9)


SHAPES: dict[str, Callable[[np.random.Generator], FloatArray]] = {
    "spread": lambda rng: rng.random(9),
    "tenths": lambda rng: rng.integers(0, 11, 12) / 10,
    "ends": lambda rng: np.append(rng.random(4), [0.0, 1.0]),
    "clusters": lambda rng: np.clip(
        rng.choice([0.0, 0.5, 1.0], 8) + rng.normal(size=8) * 10.0 ** -rng.integers(1, 7), 0, 1
    ),
    "close": lambda rng: 0.3 + 10.0 ** -rng.uniform(2, 9) * np.arange(6),
}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("shape", SHAPES)
def test_against_the_definition(shape: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, c = bias(law(np.unique(SHAPES[shape](rng)), rng, 10.0 ** -rng.integers(0, 7)))
    if seed % 3 == 0:  # without bias in the mean the answer is far below ECE
        c = c - c.mean()
    value = _fixed_point(x, c)
    assert value == pytest.approx(fixed_point(x, c), rel=0, abs=1e-9)
    for sigma in (2 * value, 0.03, 0.6, 1.0):
        # Rounding of 2 − x in the plain formula costs up to 1e-16 / σ.
        slack = 2e-11 + 1e-16 / sigma
        assert smece_at(x, c, sigma) == pytest.approx(direct(x, c, sigma), rel=0, abs=slack * np.abs(c).sum())


def test_against_40_digits() -> None:
    """The smoothing alone: the density at many places, with mpmath."""
    rng = np.random.default_rng(3)
    x, c = np.sort(np.append(rng.random(5), [0.0, 1.0])), rng.normal(size=7)
    with mpmath.workdps(40):
        for sigma in (1e-3, 0.07, 1.0):
            level = level_for(sigma)
            for ids, density in smoothed(Cells.of(x, c, level), sigma):
                for cell in range(0, len(ids), max(1, len(ids) // 20)):
                    t = (mpmath.mpf(int(ids[cell])) + mpmath.mpf(0.5)) / 2**level
                    images = (sign * mpmath.mpf(float(v)) + 2 * j for v in x for j in range(-6, 7) for sign in (1, -1))
                    weights = np.repeat(c, 26)
                    exact = mpmath.fsum(
                        mpmath.mpf(float(w)) * mpmath.npdf(t, i, sigma) for w, i in zip(weights, images, strict=True)
                    )
                    assert density[cell, 0] == pytest.approx(float(exact) / 2**level, rel=0, abs=1e-11)


@pytest.mark.slow
def test_large_sample_against_the_definition() -> None:
    rng = np.random.default_rng(5)
    p = rng.random(100_000)
    q = Predictor.from_samples(rng.random(len(p)) < p, p)
    value = smece(q)
    assert value == pytest.approx(direct(*bias(q), value, per_sigma=8), rel=0, abs=1e-9)


@pytest.mark.parametrize(
    "off", [1e-2, pytest.param(1e-3, marks=pytest.mark.slow), pytest.param(1e-4, marks=pytest.mark.slow), 1e-6]
)
def test_bandwidths_about_the_spacing_of_values(off: float) -> None:
    rng = np.random.default_rng(6)
    x, c = bias(law(np.sort(rng.random(300)), rng, off))
    value = _fixed_point(x, c)
    assert value == pytest.approx(direct(x, c, value), rel=0, abs=1e-9)


@given(predictors())
def test_between_mean_bias_and_ece(q: Predictor) -> None:
    value = smece(q)
    assert abs(float((q.bias).sum())) - 1e-9 <= value <= ece(q) + 1e-9


@given(predictors(), st.floats(1e-4, 1), st.floats(1, 4))
def test_smoothing_more_leaves_less(q: Predictor, sigma: float, factor: float) -> None:
    x, c = bias(q)
    if len(x):
        more, less = smece_at(x, c, sigma), smece_at(x, c, min(1.0, sigma * factor))
        assert abs(c.sum()) - 2e-11 <= less <= more + 2e-11 <= ece(q) + 4e-11


@given(predictors())
def test_outcomes_may_be_renamed(q: Predictor) -> None:
    mirrored = 1 - q.p
    if len(np.unique(mirrored)) == len(q):
        renamed = Predictor(mirrored[::-1], q.mass[::-1], (q.mass - q.positive)[::-1])
        assert smece(renamed) == pytest.approx(smece(q), rel=0, abs=2e-9)


@given(predictors())
def test_the_answer_is_a_fixed_point(q: Predictor) -> None:
    value = smece(q)
    if value > 1e-9:
        below, above = smece_at(*bias(q), value - 1e-9), smece_at(*bias(q), min(1.0, value + 1e-9))
        assert below >= value - 1e-9 - 2e-11
        assert above <= value + 1e-9 + 2e-11


def test_calibrated_predictors_have_none() -> None:
    rng = np.random.default_rng(0)
    p = np.sort(rng.random(1000))
    mass = rng.dirichlet(np.ones(1000))
    assert smece(Predictor(p, mass, mass * p)) <= 1e-15


def test_weights_and_rows_agree() -> None:
    y, p = [0, 1, 1, 0, 1], [0.2, 0.2, 0.7, 0.9, 0.9]
    assert smece(y, p, [1, 2, 1, 1, 3]) == smece(np.repeat(y, [1, 2, 1, 1, 3]), np.repeat(p, [1, 2, 1, 1, 3]))


def test_polynomials_at_their_own_places() -> None:
    rng = np.random.default_rng(0)
    for rows, degree in ((0, 15), (1, 0), (7, 14), (300, 15)):
        coefficients, u = rng.normal(size=(rows, degree + 1)), rng.uniform(-0.5, 0.5, rows)
        expected = [np.polynomial.polynomial.polyval(x, row) for x, row in zip(u, coefficients, strict=True)]
        np.testing.assert_allclose(polynomial_values(coefficients, u), expected, rtol=0, atol=1e-14)


def test_curve() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(5_000)
    q = Predictor.from_samples(rng.random(5_000) < p**2, p)
    curve = smece_curve(q)
    assert curve.value == curve.bandwidth == smece(q)
    assert np.trapezoid(curve.density, curve.t) == pytest.approx(1.0, abs=1e-4)
    images = np.concatenate([q.p, -q.p, 2 - q.p, q.p - 2, q.p + 2])
    kernel = np.exp(-(((curve.t[::100, None] - images) / curve.bandwidth) ** 2) / 2) / (curve.bandwidth * sqrt(2 * pi))
    np.testing.assert_allclose(curve.density[::100], kernel @ np.tile(q.mass, 5), atol=1e-9)
    np.testing.assert_allclose(
        curve.p_hat[::100], (kernel @ np.tile(q.positive, 5)) / (kernel @ np.tile(q.mass, 5)), atol=1e-9
    )


def test_curve_says_where_there_are_no_predictions() -> None:
    curve = smece_curve(Predictor([0.5], [1.0], [0.5]), points=101)
    assert np.isnan(curve.p_hat[0])
    assert curve.density[0] == 0
    assert curve.p_hat[50] == pytest.approx(0.5)


@given(predictors(), st.integers(1, 60))
def test_rounding_moves_it_by_no_more_than_certified(q: Predictor, cells: int) -> None:
    coarse = q.on_grid(cells, "middle")
    assert abs(smece(coarse) - smece(q)) <= rounding_effect(coarse).smece + 2e-9
