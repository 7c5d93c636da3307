"""Rows counted as they stream by, in one pass and in bounded memory, whatever their predictions prove to be.

Rows are packed and sorted to begin with.  If few values come, they are counted in a table of values from then on; if
more than 10^7 come, and nobody asked for every one, on the default grid.
"""

from __future__ import annotations

from typing import final

import numpy as np

from trustcal.kernels.counting import LINE, count_cells, count_values
from trustcal.predictor import Predictor
from trustcal.reading.counting import DEFAULT, Counted, too_many
from trustcal.reading.faults import Faults
from trustcal.reading.packing import BLOCK, OutcomeArray, Words
from trustcal.reading.tallies import FloatArray, Pile, Tally, merged, most_moved, tallied

FEW = 1 << 16
"""Up to so many distinct predictions a table of them stays in a processor's cache."""
START, FULL, ROOM = 4 * FEW, 1 << 24, 1 << 27
"""So many words are looked at first.  Then they are counted whenever there are so many, or, where every value is kept,
a gigabyte of them, which may be in memory whatever comes of them."""
MOST = 2**31 - 1
"""An int32 counts so far."""
_ONE = np.uint64(1)


@final
class Values:
    """Rows counted in a table of distinct predictions, as long as these are few; for many rows, so by compiled code.

    >>> values = Values()
    >>> values.add(np.array([0.0, 0.5, 0.5]), np.array([1, 1, 0], dtype=np.uint8))
    3
    >>> values.tally()
    Tally(p=array([0. , 0.5]), weight=array([1., 2.]), positive=array([1., 1.]))
    """

    def __init__(self) -> None:
        self._table = np.zeros(4 * FEW * LINE, dtype=np.uint64)
        self._used = 0

    def add(self, p: FloatArray, y: OutcomeArray) -> int:
        """Count these rows, up to the first that is not sound or has a value too many, and say how many.  O(n)."""
        taken, self._used = count_values.compiled(p, y, self._table, self._used, FEW)
        return taken

    def tally(self) -> Tally:
        """The rows counted by prediction.  O(d log d) for d distinct ones."""
        lines = self._table.reshape(-1, LINE)
        key, zero, one, _ = lines[lines[:, 0] > 0].T
        return tallied((key >> _ONE).view(np.float64), (zero + one).astype(np.float64), one.astype(np.float64))


@final
class Grid:
    """Rows counted on the multiples of a resolution, with how far they move in sum; by compiled code too.

    >>> grid = Grid(0.25)
    >>> grid.add(np.array([0.125, 1.0]), np.array([1, 0], dtype=np.uint8))
    2
    >>> grid.tally(), grid.moved
    (Tally(p=array([0.25, 1.  ]), weight=array([1., 1.]), positive=array([1., 0.])), [0.125])
    """

    def __init__(self, resolution: float) -> None:
        self.resolution = resolution
        self.moved: list[float] = []
        cells = 2 * (round(1 / resolution) + 1)
        self._lately, self._rows = np.zeros(cells, dtype=np.int32), 0  # in half the memory it is half as long
        self._before = np.zeros(cells, dtype=np.int64)

    def add(self, p: FloatArray, y: OutcomeArray) -> int:
        """Count these rows, up to the first that is not sound, and say how many.  O(n)."""
        if self._rows + len(p) > MOST:
            self._before += self._lately
            self._lately[:], self._rows = 0, 0
        taken, steps = count_cells.compiled(p, y, self._lately, 1 / self.resolution)
        self._rows += taken
        self.moved.append(steps * self.resolution)
        return taken

    def take(self, part: Tally) -> None:
        """Count rows that were counted by prediction before.  O(d)."""
        for begin in range(0, len(part.p), BLOCK):
            here = slice(begin, begin + BLOCK)
            near = np.floor(part.p[here] / self.resolution + 0.5)
            cell = 2 * near.astype(np.intp)
            np.add.at(self._before, cell, (part.weight[here] - part.positive[here]).astype(np.int64))
            np.add.at(self._before, cell + 1, part.positive[here].astype(np.int64))
            self.moved.append(float(np.sum(part.weight[here] * np.abs(near * self.resolution - part.p[here]))))

    def tally(self) -> Tally:
        """The rows counted by cell.  O(1/resolution)."""
        zero, one = (self._before + self._lately).reshape(-1, 2).T
        cell = np.flatnonzero(zero + one)
        ones = one[cell].astype(np.float64)
        return Tally(cell.astype(np.float64) * self.resolution, zero[cell] + ones, ones)


@final
class Counter:
    """Rows, block by block, on their way to a predictor: of every value, on a grid, or (None) as their number asks.

    >>> counter = Counter(None)
    >>> counter.add(np.array([0.5, 0.25, 0.5]), np.array([1, 0, 0], dtype=np.uint8))
    True
    >>> counter.predictor(), counter.resolution
    (Predictor(2 values, 3 rows, base rate 0.333333), 0.0)

    O(n) where predictions are few or rounded to 2^-22 or coarser, otherwise O(n log n).
    """

    def __init__(self, resolution: float | None) -> None:
        self.rows = 0
        self.resolution = resolution or 0.0
        """The grid that predictions are rounded to; 0 as long as every value is kept."""
        self._free = resolution is None
        self._moved: list[float] = []
        self._heap: Tally | None = None  # what was counted in other ways before
        self._way: Words | Values | Grid = Words(START)

    def add(self, p: FloatArray, y: OutcomeArray) -> bool:
        """Count these rows, and say whether all are sound; if one is not, counting has come to its end."""
        exact = p = np.ascontiguousarray(p)  # a column of a pandas frame may lie across its rows
        if self.resolution and not isinstance(self._way, Grid):
            if not ((p >= 0) & (p <= 1)).all():
                return False
            p = np.floor(p / self.resolution + 0.5) * self.resolution
            self._moved.append(float(np.sum(np.abs(p - exact))))
        done = 0
        while (done := done + self._way.add(p[done:], y[done:])) < len(p):
            if not (0 <= p[done] <= 1 and y[done] <= 1):
                return False
            self._turn()
        self.rows += done
        return True

    def predictor(self) -> Predictor:
        """The predictor of the rows, of which there must be one; counting has come to its end."""
        if isinstance(self._way, Words):
            self._way.sort()
            many = self._free and too_many(self.rows) and too_many(self._way.distinct())
            if self._heap is None and not many:
                return self._way.predictor(most_moved(self._moved, self.rows, self.rows, self.resolution))
        if not isinstance(self._way, Grid):
            self._count(self._way)
        if isinstance(self._way, Grid):
            self._heap = self._way.tally()
            self._moved += self._way.moved
        assert self._heap is not None
        return Pile([self._heap], [self.rows], moved=self._moved).predictor(self.resolution)

    def counted(self, rows: int, faults: Faults) -> Counted:
        """The same as an engine hands it back, being what is sound of so many rows."""
        predictor = self.predictor()
        return Counted(rows, faults, {(): predictor}, self.resolution)

    def _turn(self) -> None:
        """Go on in another way, now that the present one has no room left."""
        way = self._way
        assert not isinstance(way, Grid)  # which always has room
        if isinstance(way, Words):
            way.sort()
            distinct = way.distinct()
            if distinct > FEW and not self._needs_grid(distinct):
                if way.limit < FULL:
                    return way.allow(FULL if self._free else ROOM)
                if not self._free and 3 * distinct >= way.rows:  # words take less memory than what they make
                    return way.allow(max(ROOM, 3 * way.rows))
        return self._count(way)

    def _needs_grid(self, distinct: int) -> bool:
        return too_many(distinct) if self._free else self.resolution >= DEFAULT

    def _count(self, way: Words | Values) -> None:
        """Count sorted words or a table of values, and choose how to go on."""
        if isinstance(way, Words) and self._needs_grid(way.distinct()):
            self._turn_to_grid()
            for p, y in way.unpacked():
                self._way.add(p, y)
            return
        part = way.tally()
        self._heap = part if self._heap is None else merged(self._heap, part)
        if self._needs_grid(len(self._heap.p)):
            self._turn_to_grid()
        else:
            self._way = Values() if len(self._heap.p) <= FEW else Words(FULL)

    def _turn_to_grid(self) -> None:
        self.resolution = self.resolution or DEFAULT
        self._way = Grid(self.resolution)
        if self._heap is not None:
            self._way.take(self._heap)
            self._heap = None
