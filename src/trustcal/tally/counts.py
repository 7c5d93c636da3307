"""Counts: how often each prediction occurs, and how often with outcome 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.rows import run_starts

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Counts:
    """Rows counted by prediction: the distinct values, sorted, with their weight and the part of it with y = 1."""

    p: FloatArray
    weight: FloatArray
    positive: FloatArray
    squares: FloatArray | None = field(default=None, repr=False)
    """The sum of the squared weights of each value's rows; None where every row counts 1."""

    def arrays(self) -> list[FloatArray]:
        """Weight, positive and, where there are weights, their squares."""
        return [self.weight, self.positive, *([] if self.squares is None else [self.squares])]


def counted(p: FloatArray, weight: FloatArray, positive: FloatArray, squares: FloatArray | None = None) -> Counts:
    """Sort counts by prediction and merge ties; -0.0 becomes 0.0.

    >>> counted(np.array([0.5, -0.0, 0.0]), np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 3.0]))
    Counts(p=array([0. , 0.5]), weight=array([5., 1.]), positive=array([3., 1.]))

    O(n log n).
    """
    order = np.argsort(p)
    p = p[order] + 0.0
    starts = run_starts(p)
    sums = [x[order] for x in Counts(p, weight, positive, squares).arrays()]
    if len(starts) == len(p):
        return Counts(p, *sums)
    return Counts(p[starts], *(np.add.reduceat(x, starts) for x in sums))


def merged(parts: Sequence[Counts]) -> Counts:
    """Add up several counts.

    >>> merged([Counts(*np.array([[0.5], [2.0], [1.0]])), Counts(*np.array([[0.0, 0.5], [1.0, 3.0], [1.0, 0.0]]))])
    Counts(p=array([0. , 0.5]), weight=array([1., 5.]), positive=array([1., 1.]))

    O(n log n).
    """
    if len(parts) == 1:
        return parts[0]
    columns = zip(*([part.p, *part.arrays()] for part in parts), strict=True)
    return counted(*(np.concatenate(column) for column in columns))


def weighted_counts(p: FloatArray, y: NDArray[np.uint8], weight: FloatArray) -> Counts:
    """Count rows with weights; each sum is correctly rounded, so the order of the rows cannot matter.  O(n log n)."""
    order = np.argsort(p)
    p, weight = p[order] + 0.0, weight[order]
    starts = run_starts(p)
    return Counts(p[starts], *(exact_sums(x, starts) for x in (weight, weight * y[order], weight * weight)))


def exact_sums(values: FloatArray, starts: NDArray[np.intp]) -> FloatArray:
    """The correctly rounded sum of each run values[starts[k]:starts[k + 1]]; one addition is correctly rounded."""
    sums: FloatArray = np.add.reduceat(values, starts)
    ends = np.append(starts[1:], len(values))
    for run in np.flatnonzero(ends - starts > 2):
        sums[run] = fsum(values[starts[run] : ends[run]].tolist())
    return sums
