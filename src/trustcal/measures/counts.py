"""Predictors made from rows that count alike, as the numbers of zeros and ones at each value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trustcal.kernels.blocks import blocks
from trustcal.predictor import Predictor

IntArray = NDArray[np.int64]

WHOLE = 1e-6
"""Effective numbers of rows this close to a whole number, relatively, are one."""


def row_counts(q: Predictor) -> tuple[IntArray, IntArray] | None:
    """The number of rows of outcome 0 and of outcome 1 at each value; None unless rows are independent and count alike.

    >>> row_counts(Predictor.from_samples([0, 1, 1], [0.2, 0.2, 0.7]))
    (array([1, 0]), array([1, 1]))

    O(n).
    """
    if q.rows is None or q.clusters is not None:
        return None
    if q.effective_rows is not None and abs(q.effective_rows - q.rows) > 1e-9 * q.rows:
        return None
    counts = np.empty((2, len(q)), dtype=np.int64)
    for block in blocks(len(q)):
        both, ones = q.mass[block] * q.rows, q.positive[block] * q.rows
        rows, positive = np.rint(both), np.rint(ones)
        if max(np.abs(both - rows).max(), np.abs(ones - positive).max()) > 1e-6:
            return None
        counts[0, block], counts[1, block] = rows - positive, positive
    return counts[0], counts[1]


def constant_weights(q: Predictor) -> bool:
    """Whether the rows of a value may all have the same weight: their number and that of the ones are as for such rows.

    >>> constant_weights(Predictor.from_samples([0, 1, 1], [0.2, 0.2, 0.7], [2, 2, 1]))
    True

    O(n).
    """
    if q.squares is None:
        return row_counts(q) is not None
    if q.rows is not None and abs(float(q.rows_at.sum()) - q.rows) > WHOLE * q.rows:
        return False
    numbers = np.concatenate([q.rows_at, q.rows_at * q.p_hat])
    return bool((np.abs(numbers - np.rint(numbers)) <= WHOLE * np.maximum(numbers, 1.0)).all())


def law_of_counts(p: NDArray[np.float64], counts: IntArray, moved: float = 0.0) -> Predictor:
    """The predictor of counts[0] zeros and counts[1] ones at each value of p.

    >>> law_of_counts(np.array([0.2, 0.7]), np.array([[1, 0], [1, 2]]))
    Predictor(2 values, 4 rows, base rate 0.75)

    O(n).
    """
    rows = int(counts.sum())
    return Predictor(p, counts.sum(axis=0) / rows, counts[1] / rows, rows=rows, effective_rows=float(rows), moved=moved)
