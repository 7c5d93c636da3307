"""Predictors made from rows that count alike, as the numbers of zeros and ones at each value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trustcal.predictor import Predictor

IntArray = NDArray[np.int64]


def row_counts(q: Predictor) -> tuple[IntArray, IntArray] | None:
    """The number of rows of outcome 0 and of outcome 1 at each value; None for a known law and for unequal rows.

    >>> row_counts(Predictor.from_samples([0, 1, 1], [0.2, 0.2, 0.7]))
    (array([1, 0]), array([1, 1]))

    O(n).
    """
    if q.rows is None:
        return None
    both, ones = q.mass * q.rows, q.positive * q.rows
    equal_weights = q.effective_rows is None or abs(q.effective_rows - q.rows) <= 1e-9 * q.rows
    if not equal_weights or max(float(np.abs(x - np.rint(x)).max()) for x in (both, ones)) > 1e-6:
        return None
    positive = np.rint(ones).astype(np.int64)
    return np.rint(both).astype(np.int64) - positive, positive


def law_of_counts(p: NDArray[np.float64], counts: IntArray, moved: float = 0.0) -> Predictor:
    """The predictor of counts[0] zeros and counts[1] ones at each value of p.

    >>> law_of_counts(np.array([0.2, 0.7]), np.array([[1, 0], [1, 2]]))
    Predictor(2 values, 4 rows, base rate 0.75)

    O(n).
    """
    rows = int(counts.sum())
    return Predictor(p, counts.sum(axis=0) / rows, counts[1] / rows, rows=rows, effective_rows=float(rows), moved=moved)
