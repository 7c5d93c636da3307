"""A test of the mean bias in closed form: its p-value may be as small as the number of tests asks for."""

from __future__ import annotations

from math import exp

import numpy as np
from numpy.typing import NDArray

from trustcal.measures.counts import row_counts
from trustcal.predictor import Predictor

_STEEPEST = 64.0
_HALVINGS = 50


def mean_bias_p_value(q: Predictor) -> float:
    """The p-value of calibration by the number of events alone, by Chernoff's inequality, for either direction.

    If the predictions are calibrated, the logarithm of E[exp(t·events)] is K(t) = Σ ln(1 − p + p·eᵗ) over the rows, and
    so many events or more have probability at most exp(K(t) − t·events) for every t ≥ 0; so few or fewer for every
    t ≤ 0.  The best t solves K'(t) = events.  1 where rows do not count alike, or belong together.

    >>> p_value = mean_bias_p_value(Predictor.from_samples([1] * 20, [0.5] * 20))
    >>> round(p_value * 2**20, 6)                                                  # twice the chance of 20 heads
    2.0

    O(n).
    """
    counts = row_counts(q)
    if counts is None:
        return 1.0
    rows, events = counts[0] + counts[1], float(counts[1].sum())
    sign = 1.0 if events >= float(rows @ q.p) else -1.0
    low, high = 0.0, _STEEPEST
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if sign * (_mean(q.p, rows, sign * middle) - events) < 0:
            low = middle
        else:
            high = middle
    exponent = float(rows @ np.log(_moment(q.p, sign * low))) - sign * low * events
    return min(1.0, 2 * exp(min(0.0, exponent)))


def _moment(p: NDArray[np.float64], t: float) -> NDArray[np.float64]:
    """E[exp(t·y)] for each prediction."""
    return np.asarray(1 - p + p * exp(t))


def _mean(p: NDArray[np.float64], rows: NDArray[np.int64], t: float) -> float:
    """K'(t): the mean number of events when each event weighs eᵗ."""
    return float(rows @ (p * exp(t) / _moment(p, t)))
