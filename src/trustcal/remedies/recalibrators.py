"""Recalibrators: maps from predictions to predictions, fitted to a predictor made from rows.

    temperature     logit p' = a·logit p,  a ≥ 0                       one number    (Guo et al. 2017, T = 1/a)
    platt           logit p' = a·logit p + c                           two           (Platt 1999, on logits)
    beta            logit p' = a·ln p − b·ln(1 − p) + c,  a, b ≥ 0     three         (Kull et al. 2017)
    isotonic        the nondecreasing p' nearest to the outcomes       many          (Zadrozny and Elkan 2002)
    histogram       the frequency in each of about n^(1/3) bins        many          (Zadrozny and Elkan 2001)
    venn_abers      isotonic with the row itself, as a 0 and as a 1    many          (Vovk et al. 2015)
    constant        the base rate: calibrated and useless

The first three maximise the likelihood of Platt's targets, (N₁ + 1)/(N₁ + 2) for a positive outcome and 1/(N₀ + 2) for
a negative one, so that they are finite even if a threshold separates the outcomes.  Logarithms need predictions
inside (0, 1): those closer to an end than half a row, 1/(2n), are moved to that distance, since n rows cannot
distinguish such predictions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import expit

from trustcal.kernels.venn_abers import raised
from trustcal.predictor import Predictor
from trustcal.rows import run_starts

FloatArray = NDArray[np.float64]
Map = Callable[[FloatArray], FloatArray]


def temperature(train: Predictor) -> Map:
    """One slope on logits.  A slope below 0 would reverse the predictions; it becomes 0, which always predicts 1/2.

    >>> q = Predictor.from_samples([0, 0, 0, 1, 1, 1, 0, 1], [0.01, 0.01, 0.01, 0.01, 0.99, 0.99, 0.99, 0.99])
    >>> temperature(q)(np.array([0.01, 0.5, 0.99])).round(2)
    array([0.33, 0.5 , 0.67])

    O(n) per Newton step, of which there are a few.
    """
    logits = _logit(train)
    (slope,) = _logistic(logits(train.p)[:, None], train, np.array([1.0]))
    slope = max(slope, 0.0)
    return lambda p: np.asarray(expit(slope * logits(p)))


def platt(train: Predictor) -> Map:
    """A slope and an intercept on logits.  O(n) per Newton step, of which there are a few."""
    logits = _logit(train)
    features = np.column_stack([logits(train.p), np.ones(len(train))])
    slope, intercept = _logistic(features, train, np.array([1.0, 0.0]))
    return lambda p: np.asarray(expit(slope * logits(p) + intercept))


def beta(train: Predictor) -> Map:
    """Two slopes and an intercept; as in Kull et al., a negative slope is dropped and the rest fitted again.

    O(n) per Newton step, of which there are a few.
    """
    inside = _inside(train)

    def features(p: FloatArray) -> FloatArray:
        p = inside(p)
        return np.column_stack([np.log(p), -np.log1p(-p), np.ones(len(p))])

    table, kept = features(train.p), np.array([True, True, True])
    while True:
        found = np.zeros(3)
        found[kept] = _logistic(table[:, kept], train, np.array([1.0, 1.0, 0.0])[kept])
        if found[:2].min() >= 0:
            return lambda p: np.asarray(expit(features(p) @ found))
        kept[int(np.argmin(found[:2]))] = False


def isotonic(train: Predictor) -> Map:
    """Least squares among nondecreasing functions, with linear interpolation between the values.

    >>> q = Predictor([0.2, 0.4, 0.6], [0.25, 0.25, 0.5], [0.25, 0.0, 0.5])
    >>> isotonic(q)(np.array([0.0, 0.3, 0.5, 1.0]))
    array([0.5 , 0.5 , 0.75, 1.  ])

    O(n).
    """
    fitted = isotonic_regression(train.p_hat, weights=train.mass).x
    return lambda p: np.interp(p, train.p, fitted)


def histogram(train: Predictor) -> Map:
    """The frequency in each of `suggested_cells` bins of equal mass, cut half-way between neighbours.  O(n)."""
    cells = train.suggested_cells
    middle = np.cumsum(train.mass) - train.mass / 2
    starts = run_starts(np.minimum(np.floor(middle * cells), cells - 1))
    frequency = np.add.reduceat(train.positive, starts) / np.add.reduceat(train.mass, starts)
    cuts = (train.p[starts[1:] - 1] + train.p[starts[1:]]) / 2
    return lambda p: frequency[np.searchsorted(cuts, p)]


def venn_abers(train: Predictor) -> Map:
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
    p0 = 1 - np.append(sweep(rows[::-1], (rows - positive)[::-1]), 1.0)

    def merged(p: FloatArray) -> FloatArray:
        above = p1[np.searchsorted(train.p, p)]
        below = p0[len(train) - np.searchsorted(train.p, p, side="right")]
        return np.asarray(above / (1 - below + above))

    return merged


def constant(train: Predictor) -> Map:
    """The base rate, whatever the prediction.  O(n)."""
    return lambda p: np.full_like(p, train.base_rate)


def _rows(train: Predictor) -> float:
    """The effective sample size."""
    assert train.effective_rows is not None, "recalibrators are fitted to rows"
    return train.effective_rows


def _inside(train: Predictor) -> Map:
    """Predictions kept away from 0 and 1, by half a row."""
    least = 0.5 / _rows(train)
    return lambda p: np.clip(p, least, 1 - least)


def _logit(train: Predictor) -> Map:
    inside = _inside(train)

    def logits(p: FloatArray) -> FloatArray:
        p = inside(p)
        return np.asarray(np.log(p) - np.log1p(-p))

    return logits


def _logistic(features: FloatArray, train: Predictor, start: FloatArray) -> FloatArray:
    """The maximum-likelihood coefficients, by Newton's method with step halving."""
    n, negative = _rows(train), train.mass - train.positive
    came, stayed = n * train.positive.sum(), n * negative.sum()
    target = (train.positive * (came + 1) / (came + 2) + negative / (stayed + 2)) / train.mass

    def loss(found: FloatArray) -> float:
        score = features @ found
        return float(train.mass @ (np.logaddexp(0, score) - target * score))

    found, least = start, loss(start)
    for _ in range(100):
        p = expit(features @ found)
        slope = features.T @ (train.mass * (p - target))
        curvature = features.T @ (features * (train.mass * p * (1 - p))[:, None])
        step = np.linalg.lstsq(curvature, slope, rcond=1e-12)[0]
        while slope @ step > 1e-16:  # twice the gain that the step predicts; below this it is rounding
            new = loss(found - step)
            if new < least:
                break
            step = step / 2
        else:
            break
        found, least = found - step, new
    return found
