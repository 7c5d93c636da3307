"""Recalibrators: maps of predictions, fitted to a predictor.

    temperature          logit p' = a·logit p,  a ≥ 0                       one number    (Guo et al. 2017, T = 1/a)
    platt                logit p' = a·logit p + c                           two           (Platt 1999, on logits)
    beta                 logit p' = a·ln p − b·ln(1 − p) + c,  a, b ≥ 0     three         (Kull et al. 2017)
    spline               logit p' = a nondecreasing spline of logit p       about ten     (Eilers and Marx 1996)
    isotonic             the nondecreasing p' nearest to the outcomes       many          (Zadrozny and Elkan 2002)
    centred_isotonic     the same, with lines between the middles of its steps            (Oron and Flournoy 2017)
    venn_abers           isotonic with the row itself, as a 0 and as a 1    many          (Vovk et al. 2015)
    histogram            the frequency in each of about n^(1/3) bins        many          (Zadrozny and Elkan 2001)

The first four maximise the likelihood of Platt's targets, (N₁ + 1)/(N₁ + 2) for a positive outcome and 1/(N₀ + 2) for
a negative one, so that they are finite even if a threshold separates the outcomes.  Predictions inside (0, 1) are used
as they are.  Exact 0 and exact 1 have no logarithm: each gets the mean target of its own rows, or that of its
neighbours where the order would be lost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trustcal.decisions import DecisionProblem
from trustcal.kernels.venn_abers import raised
from trustcal.predictor import Predictor
from trustcal.remedies.likelihood import binned, increasing_coefficients, logistic_coefficients
from trustcal.remedies.maps import LogisticMap, Map, PiecewiseLinear, SplineMap, StepMap, VennAbersMap
from trustcal.rows import run_starts

FloatArray = NDArray[np.float64]

_KNOWN = 2.0**53
"""The sample size of a known distribution: as good as infinite."""
_SPLINE_PIECES = 8


def temperature(train: Predictor) -> LogisticMap:
    """One slope on logits.  A slope below 0 would reverse the predictions; it becomes 0, which always predicts 1/2.

    >>> q = Predictor.from_samples([0, 0, 0, 1, 1, 1, 0, 1], [0.01, 0.01, 0.01, 0.01, 0.99, 0.99, 0.99, 0.99])
    >>> temperature(q)(np.array([0.01, 0.5, 0.99])).round(2)
    array([0.33, 0.5 , 0.67])

    O(n) per Newton step, of which there are a few.
    """
    inside = _inside(train)
    (slope,) = logistic_coefficients([_logit(inside.p)], *_targets(train, inside))
    slope = max(float(slope), 0.0)
    return _with_ends(train, slope, slope, 0.0)


def platt(train: Predictor) -> LogisticMap:
    """A slope and an intercept on logits; a slope below 0 reverses the predictions.

    O(n) per Newton step, of which there are a few.
    """
    inside = _inside(train)
    columns = [_logit(inside.p), np.ones(len(inside.p))]
    slope, intercept = logistic_coefficients(columns, *_targets(train, inside)).tolist()
    return _with_ends(train, slope, slope, intercept)


def beta(train: Predictor) -> LogisticMap:
    """Two slopes and an intercept; as in Kull et al., a negative slope is dropped and the rest fitted again.

    O(n) per Newton step, of which there are a few.
    """
    inside = _inside(train)
    columns = [np.log(inside.p), -np.log1p(-inside.p), np.ones(len(inside.p))]
    kept, target = [0, 1, 2], _targets(train, inside)
    while True:
        found = np.zeros(3)
        found[kept] = logistic_coefficients([columns[i] for i in kept], *target)
        if found[:2].min() >= 0:
            return _with_ends(train, *found.tolist())
        kept.remove(int(np.argmin(found[:2])))


def spline(train: Predictor) -> Map:
    """A quadratic spline on logits, with nondecreasing coefficients and a penalty on changes of slope.

    Knots are quantiles.  The penalty is that of a normal prior with variance 1 for the change of slope at each knot, so
    that few rows give nearly Platt's line.

    O(n), then a few Newton steps on at most 1,024 bins of equal mass.
    """
    from scipy.interpolate import BSpline  # slow to import

    inside = _inside(train)
    if len(inside.p) < 3:
        return beta(train)
    target, mass = _targets(train, inside)
    mass, (x, target) = binned(mass, [_logit(inside.p), target])
    place = np.cumsum(mass) - mass / 2
    knots = np.unique(np.interp(np.linspace(0, 1, _SPLINE_PIECES + 1) * mass.sum(), place, x))
    if len(knots) < 3 or np.diff(knots).min() <= 1e-9 * (knots[-1] - knots[0]):
        return beta(train)
    padded = np.concatenate([knots[:1], knots[:1], knots, knots[-1:], knots[-1:]])
    table = BSpline.design_matrix(np.clip(x, knots[0], knots[-1]), padded, 2).toarray()
    greville = (padded[1:-2] + padded[2:-1]) / 2  # with these coefficients the spline is the identity
    coefficients = increasing_coefficients(table, target, mass * _rows(train), greville)
    curve = SplineMap(tuple(padded.tolist()), tuple(coefficients.tolist()), 0.0, 1.0)
    low, high = _ends(train, curve)
    return SplineMap(curve.knots, curve.coefficients, low, high)


def isotonic(train: Predictor) -> PiecewiseLinear:
    """Least squares among nondecreasing functions, with linear interpolation between the values.

    >>> q = Predictor([0.2, 0.4, 0.6], [0.25, 0.25, 0.5], [0.25, 0.0, 0.5])
    >>> isotonic(q)(np.array([0.0, 0.3, 0.5, 1.0]))
    array([0.5 , 0.5 , 0.75, 1.  ])

    O(n).
    """
    starts = run_starts(train.fitted)
    ends = np.append(starts[1:], len(train)) - 1
    corners = np.unique(np.concatenate([starts, ends]))  # the inner points of a step change nothing
    return PiecewiseLinear(tuple(train.p[corners].tolist()), tuple(train.fitted[corners].tolist()))


def centred_isotonic(train: Predictor) -> PiecewiseLinear:
    """Isotonic regression made continuous: lines between the mean predictions of its steps.

    >>> q = Predictor([0.2, 0.4, 0.6], [0.25, 0.25, 0.5], [0.25, 0.0, 0.5])
    >>> centred_isotonic(q)(np.array([0.0, 0.3, 0.45, 1.0]))
    array([0.5 , 0.5 , 0.75, 1.  ])

    O(n).
    """
    starts = run_starts(train.fitted)
    centre = np.add.reduceat(train.p * train.mass, starts) / np.add.reduceat(train.mass, starts)
    centre = np.clip(centre, train.p[starts], train.p[np.append(starts[1:], len(train)) - 1])
    return PiecewiseLinear(tuple(centre.tolist()), tuple(train.fitted[starts].tolist()))


def histogram(train: Predictor) -> StepMap:
    """The frequency in each of `suggested_cells` bins of equal mass, cut half-way between neighbours.  O(n)."""
    cells = train.suggested_cells
    middle = np.cumsum(train.mass) - train.mass / 2
    starts = run_starts(np.minimum(np.floor(middle * cells), cells - 1))
    frequency = np.add.reduceat(train.positive, starts) / np.add.reduceat(train.mass, starts)
    cuts = (train.p[starts[1:] - 1] + train.p[starts[1:]]) / 2
    return StepMap(tuple(cuts.tolist()), tuple(np.clip(frequency, 0, 1).tolist()))


def venn_abers(train: Predictor) -> VennAbersMap:
    """Isotonic regression including the row itself, once as a 0 and once as a 1; p0 ≤ p1 are merged into one.

        p' = p1 / (1 − p0 + p1)

    Unlike isotonic regression it never predicts 0 or 1, and it is cautious where rows are few.

    >>> q = Predictor.from_samples([0, 0, 1, 1], [0.2, 0.2, 0.9, 0.9])
    >>> venn_abers(q)(np.array([0.2, 0.5, 0.9]))
    array([0.25, 0.5 , 0.75])

    O(n).
    """
    rows, positive = train.mass * _rows(train), train.positive * _rows(train)
    sweep = raised.on(len(train))
    # Swapping the outcomes and reversing the values swaps p1 and 1 − p0; beyond the last value p1 is 1.
    p1 = np.append(sweep(rows, positive), 1.0)
    p0 = (1 - np.append(sweep(rows[::-1], (rows - positive)[::-1]), 1.0))[::-1]
    above, below = run_starts(p1), run_starts(p0)
    return VennAbersMap(
        upper_ends=tuple(train.p[above[1:] - 1].tolist()),
        upper=tuple(p1[above].tolist()),
        lower_starts=tuple(train.p[below[1:] - 1].tolist()),
        lower=tuple(p0[below].tolist()),
    )


def moved_thresholds(train: Predictor, problem: DecisionProblem) -> PiecewiseLinear:
    """Predictions stretched so that acting on them with the problem's thresholds is acting with better ones.

    The better threshold for μ is where the isotonic regression passes μ.  The map is a line between these places, so
    the order of predictions stays.

    >>> q = Predictor([0.25, 0.5, 0.75], [0.25, 0.5, 0.25], [0.0, 0.125, 0.25])
    >>> moved_thresholds(q, DecisionProblem([[1, 0], [0, 1]]))(np.array([0.0, 0.5, 0.625, 0.75, 1.0])).round(3)
    array([0.   , 0.4  , 0.5  , 0.667, 1.   ])

    O(n + k) for k actions.
    """
    mu = np.unique(problem.thresholds[(problem.thresholds > 0) & (problem.thresholds < 1)])
    first = np.searchsorted(train.fitted, mu, side="right")
    x, y = [0.0], [0.0]
    always, never = mu[first == 0], mu[first == len(train)]
    if len(always):
        y[0] = float(always[-1] + np.append(mu[first > 0], 1.0)[0]) / 2
    for gap in np.unique(first[(first > 0) & (first < len(train))]).tolist():
        there = mu[first == gap]
        share = np.arange(1, len(there) + 1) / (len(there) + 1)
        x += (train.p[gap - 1] + share * (train.p[gap] - train.p[gap - 1])).tolist()
        y += there.tolist()
    x.append(1.0)
    y.append(float(np.append(0.0, mu[first < len(train)])[-1] + never[0]) / 2 if len(never) else 1.0)
    kept = run_starts(np.array(x))
    return PiecewiseLinear(tuple(np.array(x)[kept].tolist()), tuple(np.maximum.accumulate(np.array(y)[kept]).tolist()))


class _Part(NamedTuple):
    """Some of the values of a predictor, with their masses."""

    p: FloatArray
    mass: FloatArray
    positive: FloatArray


def _inside(train: Predictor) -> _Part:
    """The values inside (0, 1)."""
    kept = slice(int(train.p[0] == 0), len(train) - int(train.p[-1] == 1))
    return _Part(train.p[kept], train.mass[kept], train.positive[kept])


def _rows(train: Predictor) -> float:
    """The effective sample size."""
    return _KNOWN if train.effective_rows is None else train.effective_rows


def _logit(p: FloatArray) -> FloatArray:
    return np.asarray(np.log(p) - np.log1p(-p))


def _targets(train: Predictor, part: Predictor | _Part) -> tuple[FloatArray, FloatArray]:
    """The mean of Platt's targets at each value of a part of the rows, and the masses."""
    n, came = _rows(train), _rows(train) * train.base_rate
    negative = part.mass - part.positive
    target = (part.positive * ((came + 1) / (came + 2)) + negative * (1 / (n - came + 2))) / part.mass
    return target, part.mass


def _with_ends(train: Predictor, a: float, b: float, c: float) -> LogisticMap:
    low, high = _ends(train, LogisticMap(a, b, c, 0.0, 1.0))
    return LogisticMap(a, b, c, low, high)


def _ends(train: Predictor, curve: Map) -> tuple[float, float]:
    """The least and the largest new prediction: what exact 0 and exact 1 mean, without a change of order.

    Where no row is at 0, it is taken for half of the smallest prediction or a quarter of a row, whichever is less.
    """
    inside, target = _inside(train), _targets(train, train)[0]
    if not len(inside.p):
        low, high = target[0], target[-1]
        return (float(low), float(high)) if low <= high else (train.base_rate, train.base_rate)
    near = min(0.25 / _rows(train), float(inside.p[0]) / 2), min(0.25 / _rows(train), float(1 - inside.p[-1]) / 2)
    first, last, at_0, at_1 = curve(np.array([inside.p[0], inside.p[-1], near[0], 1 - near[1]])).tolist()
    at_0 = float(target[0]) if train.p[0] == 0 else at_0
    at_1 = float(target[-1]) if train.p[-1] == 1 else at_1
    if first <= last:
        low, high = min(at_0, first), max(at_1, last)
    else:
        low, high = min(at_1, last), max(at_0, first)
    return max(low, 5e-324), min(high, 1 - 2.0**-53)
