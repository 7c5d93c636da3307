"""What a picture needs of a curve with many points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.predictor import Predictor
from trustcal.rows import run_starts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

COLUMNS = 256
"""Points of a curve are kept by columns of [0, 1], this many: each is about as wide as a drawn line."""


def levels(q: Predictor) -> FloatArray:
    """The levels of the isotonic curve."""
    return q.fitted[run_starts(q.fitted)]


def shown_points(x: FloatArray, *curves: FloatArray) -> IntArray:
    """The points of increasing x that a picture of the curves needs: in each column the two ends and the extremes.

    Without a curve, those of curves that do not decrease.  O(n).
    """
    if len(x) <= 2 * (1 + len(curves)) * COLUMNS:
        return np.arange(len(x))
    column = np.minimum((x * COLUMNS).astype(np.intp), COLUMNS - 1)
    starts = run_starts(column)
    sizes = np.diff(starts, append=len(x))
    kept = [starts, starts + sizes - 1]
    for curve in curves:
        for extreme in (np.minimum, np.maximum):
            hits = np.flatnonzero(curve == np.repeat(extreme.reduceat(curve, starts), sizes))
            kept.append(hits[run_starts(column[hits])])
    return np.unique(np.concatenate(kept))


def kept_points(column: ArrayLike, kept: IntArray) -> tuple[float, ...]:
    """The numbers at these points."""
    return tuple(np.asarray(column, dtype=np.float64)[kept].tolist())
