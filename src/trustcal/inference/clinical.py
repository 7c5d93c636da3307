"""What clinical readers report of a model: calibration in the large, slope and intercept, ICI, and two tests.

With logit p the log odds of the prediction, three logistic regressions of the outcome (Cox 1958; Van Calster et al.
2019):

    calibration in the large     logit Pr[y = 1] = a + logit p          a = 0 if predictions are right on average
    intercept and slope          logit Pr[y = 1] = a + b·logit p        b < 1: too extreme, b > 1: too timid
    calibration curve c          logit Pr[y = 1] = a natural cubic spline of logit p with four knots (Harrell)

ICI, E50 and E90 are the mean, the median and the 90th percentile of |c(p) − p| (Austin and Steyerberg 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, exp, lgamma, log, sqrt
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from trustcal.inference.combined import log_odds
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]

_NORMAL: Final = 1.959963984540054
"""The quantile of the normal distribution for this level."""
_GROUPS: Final = 10
_KNOTS: Final = (0.05, 0.35, 0.65, 0.95)
_STEPS: Final = 50
_SMALL: Final = 1e-9


@final
@dataclass(frozen=True)
class Coefficient:
    """A coefficient of a logistic regression with its 95 % confidence interval (Wald, robust standard error)."""

    value: float
    lower: float
    upper: float


@final
@dataclass(frozen=True)
class ClinicalCalibration:
    """The numbers that reporting guidelines for clinical models ask for."""

    observed_to_expected: float
    """The frequency of outcome 1, divided by the mean prediction; infinite if all predictions are 0."""
    in_the_large: Coefficient | None
    """The intercept if the slope is 1: positive where predictions are too low on average; None if there is no fit."""
    intercept: Coefficient | None
    """The intercept of the fit with a slope."""
    slope: Coefficient | None
    """The slope: below 1 if predictions are too extreme, above if they are too timid."""
    ici: float | None
    """Integrated calibration index: the mean distance between the calibration curve and the prediction."""
    e50: float | None
    """The median of that distance."""
    e90: float | None
    """Its 90th percentile."""
    hosmer_lemeshow: float | None
    """The p-value of the Hosmer–Lemeshow test in tenths of the rows, by as many degrees of freedom as there are
    groups, because the predictions were not fitted to these rows; None where an expected count is 0."""
    groups: int
    """The number of groups in it; fewer than ten where values are tied."""
    spiegelhalter: float | None
    """The p-value of Spiegelhalter's test, two-sided, by the normal distribution; None if all predictions are 0, 1/2
    or 1."""


def clinical_calibration(q: Predictor) -> ClinicalCalibration:
    """Calibration in the large, slope, ICI and two tests, as clinical guidelines report them.

    Parameters
    ----------
    q : Predictor
        Counted from rows.  Predictions of 0 and 1 have log odds cut off at 1 in 10^7.

    Returns
    -------
    ClinicalCalibration
        What cannot be estimated, with one outcome only for instance, is None.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression.  Hosmer and Lemeshow (1980), Goodness of fit
    tests for the multiple logistic regression model.  Spiegelhalter (1986), Probabilistic prediction in patient
    management and clinical trials.  Austin and Steyerberg (2019), The Integrated Calibration Index (ICI) and related
    metrics.  Van Calster et al. (2019), Calibration: the Achilles heel of predictive analytics.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> too_extreme = Predictor.from_samples(rng.random(4000) < p, p**2 / (p**2 + (1 - p) ** 2))
    >>> found = clinical_calibration(too_extreme)
    >>> found.slope.lower < 0.5 < found.slope.upper, found.in_the_large.lower < 0 < found.in_the_large.upper
    (True, True)

    O(n) for each step of Newton's method.
    """
    q = as_predictor(q)
    if q.effective_rows is None:
        raise ValueError("intervals and tests need rows: make the predictor by Predictor.from_samples or read.")
    odds, one = log_odds(q.p), np.ones(len(q))
    large = _fit(q, one[:, None], odds)
    line = _fit(q, np.stack([one, odds], axis=1), 0.0) if len(q) > 1 else None
    ici = e50 = e90 = None
    curve = _curve(q, odds)
    if curve is not None:
        gap = np.abs(curve - q.p)
        ici, (e50, e90) = float(gap @ q.mass), _quantiles(gap, q.mass, (0.5, 0.9))
    test, groups = _hosmer_lemeshow(q)
    mean = float(q.p @ q.mass)
    return ClinicalCalibration(
        observed_to_expected=q.base_rate / mean if mean else float("inf"),
        in_the_large=None if large is None else large[0],
        intercept=None if line is None else line[0],
        slope=None if line is None else line[1],
        ici=ici,
        e50=e50,
        e90=e90,
        hosmer_lemeshow=test,
        groups=groups,
        spiegelhalter=_spiegelhalter(q),
    )


def _squares(q: Predictor) -> FloatArray:
    """The sum of squared shares of the rows at each value; with clusters scaled to their effective number."""
    found = q.mass**2 / np.maximum(q.rows_at, 1.0)
    return found if q.clusters is None else found / (found.sum() * q.clusters.effective)


def _logistic(x: FloatArray) -> FloatArray:
    return np.asarray(0.5 + 0.5 * np.tanh(x / 2))


def _newton(q: Predictor, design: FloatArray, offset: FloatArray | float) -> tuple[FloatArray, FloatArray] | None:
    """The coefficients of a logistic regression and its fitted probabilities; None if the likelihood has no maximum."""
    beta = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        fitted = _logistic(design @ beta + offset)
        score = design.T @ (q.positive - q.mass * fitted)
        weight = q.mass * fitted * (1 - fitted)
        hessian = design.T @ (weight[:, None] * design)
        try:
            step = np.linalg.solve(hessian, score)
        except np.linalg.LinAlgError:
            return None
        largest = float(np.abs(step).max())
        if not np.isfinite(largest) or np.abs(beta).max() > 1e3:
            return None
        beta = beta + step * min(1.0, 2.0 / max(largest, _SMALL))
        if largest < _SMALL:
            return beta, _logistic(design @ beta + offset)
    return None


def _fit(q: Predictor, design: FloatArray, offset: FloatArray | float) -> tuple[Coefficient, ...] | None:
    """The coefficients with intervals by the sandwich variance, which allows for a wrong model and for weights."""
    found = _newton(q, design, offset)
    if found is None or not 0 < q.base_rate < 1:
        return None
    beta, fitted = found
    bread = np.linalg.inv(design.T @ ((q.mass * fitted * (1 - fitted))[:, None] * design))
    spread = q.p_hat * (1 - fitted) ** 2 + (1 - q.p_hat) * fitted**2
    meat = design.T @ ((_squares(q) * spread)[:, None] * design)
    error = _NORMAL * np.sqrt(np.maximum(np.diag(bread @ meat @ bread), 0.0))
    return tuple(Coefficient(float(b), float(b - e), float(b + e)) for b, e in zip(beta, error, strict=True))


def _curve(q: Predictor, odds: FloatArray) -> FloatArray | None:
    """The calibration curve at each value: a natural spline; a straight line, or a level, where values are few."""
    if not 0 < q.base_rate < 1:
        return None
    knots = np.unique(_quantiles(odds, q.mass, _KNOTS))
    columns = [np.ones(len(q)), odds][: min(2, len(q))]
    if len(knots) == len(_KNOTS) and len(q) > len(knots):
        first, *middle, before, last = knots
        for knot in (first, *middle):
            bend = np.maximum(odds - knot, 0) ** 3
            bend -= np.maximum(odds - before, 0) ** 3 * (last - knot) / (last - before)
            bend += np.maximum(odds - last, 0) ** 3 * (before - knot) / (last - before)
            columns.append(bend / (last - first) ** 2)
    found = _newton(q, np.stack(columns, axis=1), 0.0)
    if found is None and len(columns) > 2:
        found = _newton(q, np.stack(columns[:2], axis=1), 0.0)
    return None if found is None else found[1]


def _quantiles(values: FloatArray, mass: FloatArray, levels: tuple[float, ...]) -> list[float]:
    """Weighted quantiles: the least value with at least this share at or below it."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(mass[order])
    places = np.searchsorted(below, np.array(levels) * below[-1] * (1 - 1e-12))
    return [float(values[order[place]]) for place in places]


def _hosmer_lemeshow(q: Predictor) -> tuple[float | None, int]:
    """χ² = Σ (observed − expected)²/(variance of observed if calibrated), by tenths of the rows; ties stay together."""
    middle = np.cumsum(q.mass) - q.mass / 2
    group = np.minimum(np.floor(middle * _GROUPS), _GROUPS - 1).astype(np.intp)
    _, group = np.unique(group, return_inverse=True)
    count = int(group.max()) + 1
    bias = np.bincount(group, q.positive - q.p * q.mass, count)
    mean = np.bincount(group, q.p * q.mass, count) / np.bincount(group, q.mass, count)
    variance = np.bincount(group, _squares(q), count) * mean * (1 - mean)
    if not variance.all():
        return None, count
    return _chi_square_tail(float((bias**2 / variance).sum()), count), count


def _spiegelhalter(q: Predictor) -> float | None:
    turned = 1 - 2 * q.p
    variance = float((_squares(q) * turned**2 * q.p * (1 - q.p)).sum())
    if variance <= 0:
        return None
    return erfc(abs(float((q.positive - q.p * q.mass) @ turned)) / sqrt(2 * variance))


def _chi_square_tail(x: float, freedom: int) -> float:
    """Pr[χ² > x] for few degrees of freedom, by Q(a + 1, t) = Q(a, t) + tᵃ·e^(−t)/Γ(a + 1)."""
    t, a = x / 2, 0.5 if freedom % 2 else 1.0
    tail = erfc(sqrt(t)) if freedom % 2 else exp(-t)
    while 2 * a < freedom:
        tail += exp(a * log(t) - t - lgamma(a + 1)) if t > 0 else 0.0
        a += 1
    return min(1.0, tail)
