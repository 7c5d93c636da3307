"""Conjunctions of conditions: all segments of at most a few features, found by counting.

A family holds the segments of one set of features: they have no row in common.  A segment is left out if it has too few
rows, or exactly the rows of a segment with fewer conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.reading.crosstab import Crosstab, IntArray
from trustcal.reading.features import RARE

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Family:
    """The segments that conditions on one set of features make."""

    features: tuple[int, ...]
    """Places of the features in the table; () for all rows together."""
    codes: IntArray
    """The code of each feature (a column) in each segment (a line)."""
    lookup: IntArray
    """The segment of each combination of codes, numbered by mixed radix; the number of segments: none."""

    def __len__(self) -> int:
        return len(self.codes)

    def segment(self, table: Crosstab) -> IntArray:
        """The segment to which each entry of the table belongs; len(self) for none.  O(m) for m entries."""
        return self.lookup[_mixed(table, self.features)]

    def sums(self, table: Crosstab, columns: NDArray[np.floating]) -> NDArray[np.floating]:
        """The sums of columns over the entries of each segment and range of predictions: (segments, ranges, columns).

        O(m·c) for m entries and c columns.
        """
        from scipy.sparse import csc_array  # slow to import

        ranges, size = len(table.edges) + 1, len(table.ranges)
        key = self.segment(table) * ranges + table.ranges
        ones = np.ones(size, dtype=columns.dtype)
        member = csc_array((ones, key, np.arange(size + 1)), shape=((len(self) + 1) * ranges, size))
        return np.asarray(member @ columns).reshape(len(self) + 1, ranges, -1)[:-1]


def families(table: Crosstab, depth: int, least: int) -> list[Family]:
    """All segments of at most `depth` conditions and at least `least` rows.  O(m) for m entries and set of features."""
    counts: dict[tuple[int, ...], IntArray] = {(): np.array(table.rows.sum(), dtype=np.int64)}
    found = [Family((), np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64))]
    for size in range(1, depth + 1):
        for chosen in combinations(range(len(table.features)), size):
            shape = [table.features[place].codes for place in chosen]
            flat = np.bincount(_mixed(table, chosen), weights=table.rows, minlength=int(np.prod(shape)))
            count = flat.astype(np.int64).reshape(shape)
            counts[chosen] = count
            kept = count >= least
            for axis, place in enumerate(chosen):
                kept[(slice(None),) * axis + (RARE,)] = False
                parent = counts[tuple(other for other in chosen if other != place)]
                kept &= count < np.expand_dims(parent, axis)
            if kept.any():
                lookup = np.where(kept.ravel(), np.cumsum(kept.ravel()) - 1, kept.sum()).astype(np.int64)
                found.append(Family(chosen, np.argwhere(kept).astype(np.int64), lookup))
    return found


def _mixed(table: Crosstab, chosen: Sequence[int]) -> IntArray:
    """The codes of some features as one number by mixed radix."""
    flat = np.zeros(len(table.ranges), dtype=np.int64)
    for place in chosen:
        flat *= table.features[place].codes
        flat += table.codes[place]
    return flat
