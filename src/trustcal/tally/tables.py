"""Tables of counts in bounded memory: of few distinct predictions, or of the points of a grid.  By compiled code."""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.kernels.counting import LINE, count_cells, count_values
from trustcal.tally.counts import Counts, FloatArray, counted

OutcomeArray = NDArray[np.uint8]

FEW = 1 << 16
"""Up to this many distinct predictions, a table of them fits into a processor's cache."""
MOST = 2**31 - 1
"""The largest count of an int32."""
BLOCK = 1 << 16


@final
class Values:
    """Rows counted in a hash table of at most `FEW` distinct predictions.

    >>> values = Values()
    >>> values.add(np.array([0.0, 0.5, 0.5]), np.array([1, 1, 0], dtype=np.uint8))
    3
    >>> values.counts()
    Counts(p=array([0. , 0.5]), weight=array([1., 2.]), positive=array([1., 1.]))
    """

    def __init__(self) -> None:
        self._table = np.zeros(4 * FEW * LINE, dtype=np.uint64)
        self._used = 0

    def add(self, p: FloatArray, y: OutcomeArray) -> int:
        """Count rows up to the first that is invalid or does not fit; return how many.  O(n)."""
        taken, self._used = count_values.compiled(p, y, self._table, self._used, FEW)
        return taken

    def counts(self) -> Counts:
        """The counts so far.  O(d log d) for d distinct predictions."""
        lines = self._table.reshape(-1, LINE)
        key, zero, one, _ = lines[lines[:, 0] > 0].T
        p = (key >> np.uint64(1)).view(np.float64)
        return counted(p, (zero + one).astype(np.float64), one.astype(np.float64))


@final
class Grid:
    """Rows counted on the multiples of a resolution, with the sum of their movements.

    >>> grid = Grid(0.25)
    >>> grid.add(np.array([0.125, 1.0]), np.array([1, 0], dtype=np.uint8))
    2
    >>> grid.counts(), grid.moved
    (Counts(p=array([0.25, 1.  ]), weight=array([1., 1.]), positive=array([1., 0.])), [0.125])
    """

    def __init__(self, resolution: float) -> None:
        self.resolution = resolution
        self.moved: list[float] = []
        size = 2 * (round(1 / resolution) + 1)
        self._lately, self._rows = np.zeros(size, dtype=np.int32), 0  # half the memory takes half the time
        self._before = np.zeros(size, dtype=np.int64)

    def add(self, p: FloatArray, y: OutcomeArray) -> int:
        """Count rows up to the first that is invalid; return how many.  O(n)."""
        if self._rows + len(p) > MOST:
            self._before += self._lately
            self._lately[:], self._rows = 0, 0
        taken, steps = count_cells.compiled(p, y, self._lately, 1 / self.resolution)
        self._rows += taken
        self.moved.append(steps * self.resolution)
        return taken

    def take(self, part: Counts) -> None:
        """Count rows that were counted by prediction before.  O(d)."""
        for begin in range(0, len(part.p), BLOCK):
            here = slice(begin, begin + BLOCK)
            near = np.floor(part.p[here] / self.resolution + 0.5)
            place = 2 * near.astype(np.intp)
            np.add.at(self._before, place, (part.weight[here] - part.positive[here]).astype(np.int64))
            np.add.at(self._before, place + 1, part.positive[here].astype(np.int64))
            self.moved.append(float(np.sum(part.weight[here] * np.abs(near * self.resolution - part.p[here]))))

    def counts(self) -> Counts:
        """The counts so far.  O(1/resolution)."""
        zero, one = (self._before + self._lately).reshape(-1, 2).T
        place = np.flatnonzero(zero + one)
        ones = one[place].astype(np.float64)
        return Counts(place.astype(np.float64) * self.resolution, zero[place] + ones, ones)
