"""Tally: rows counted by prediction and outcome, in one pass and in bounded memory."""

from __future__ import annotations

from math import fsum, isfinite
from typing import final

import numpy as np

from trustcal.tally.counts import Counts, FloatArray, counted, merged, weighted_counts
from trustcal.tally.tables import FEW, Grid, OutcomeArray, Values
from trustcal.tally.words import Words

MANY = 10**7
"""Above this many distinct predictions they are rounded to multiples of DEFAULT, unless a resolution is given."""
DEFAULT = 2.0**-22
START, FULL, ROOM = 4 * FEW, 1 << 24, 1 << 27
"""How many rows are packed before their distinct predictions are counted for the first time; how many between two
later counts; and how many where every value is kept (a gigabyte)."""


@final
class Tally:
    """Rows, batch by batch, on their way to a predictor.

    Rows are packed into words and sorted to begin with.  If few predictions are distinct, a hash table counts the rest;
    if more than 10^7 are, and every value need not be kept, a grid does.

    Parameters
    ----------
    resolution : float, optional
        Round predictions to multiples of this power of two; 0 keeps every value; None keeps up to 10^7 distinct values
        and rounds to 2^-22 above.
    expected : int
        How many rows are known to follow in one batch; they are then sorted at once.

    Examples
    --------
    >>> tally = Tally()
    >>> tally.add(np.array([0.5, 0.25, 0.5]), np.array([1, 0, 0], dtype=np.uint8))
    True
    >>> other = Tally()
    >>> other.add(np.array([0.5]), np.array([0], dtype=np.uint8))
    True
    >>> tally.merge(other)
    >>> tally.rows, tally.law()
    (4, Counts(p=array([0.25, 0.5 ]), weight=array([0.25, 0.75]), positive=array([0.  , 0.25])))

    O(n) where predictions are few or rounded to 2^-22 or coarser, otherwise O(n log n).
    """

    def __init__(self, resolution: float | None = 0.0, expected: int = 0) -> None:
        self.rows = 0
        self.resolution = resolution or 0.0
        """The grid that predictions are rounded to; 0 as long as every value is kept."""
        self._free = resolution is None
        self._parts: list[Counts] = []
        self._totals: list[float] = []
        self._squares: list[float] = []
        self._moved: list[float] = []
        self._way: Words | Values | Grid = Words(max(START, expected))

    @property
    def weighted(self) -> bool:
        """Whether rows have weights; otherwise each counts 1."""
        return bool(self._squares)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return fsum(self._totals) if self.weighted else float(self.rows)

    @property
    def effective_rows(self) -> float:
        """Kish's effective sample size, (Σw)²/Σw²."""
        return self.total * self.total / fsum(self._squares) if self.weighted else self.total

    @property
    def moved(self) -> float:
        """An upper bound on how far rounding moved a prediction on average.

        Sums are off by their rounding at most, and no prediction moves by more than half a step.
        """
        return min(fsum(self._moved) / self.total * (1 + self.rows * 2.0**-52), self.resolution / 2)

    def add(self, p: FloatArray, y: OutcomeArray, weight: FloatArray | None = None) -> bool:
        """Count a batch of rows.

        Parameters
        ----------
        p : array of float64
            Predictions.
        y : array of uint8
            Outcomes.
        weight : array of float64, optional
            Positive weights.  Every batch's sums are correctly rounded.

        Returns
        -------
        bool
            Whether all rows are valid, with p in [0, 1] and y in {0, 1}.  Otherwise the tally must not be used.
        """
        exact = p = np.ascontiguousarray(p)  # a column of a pandas frame may be strided
        if self.resolution and not isinstance(self._way, Grid):
            if not ((p >= 0) & (p <= 1)).all():
                return False
            p = np.floor(p / self.resolution + 0.5) * self.resolution
            way = np.abs(p - exact)
            self._moved.append(float(np.sum(way if weight is None else way * weight)))
        if weight is not None:
            self._parts.append(weighted_counts(p, y, weight))
            self._totals.append(fsum(weight.tolist()))
            self._squares.append(fsum((weight * weight).tolist()))
            self.rows += len(p)
            return True
        done = 0
        while (done := done + self._way.add(p[done:], y[done:])) < len(p):
            if not (0 <= p[done] <= 1 and y[done] <= 1):
                return False
            self._make_room()
        self.rows += done
        return True

    def add_counts(
        self,
        p: FloatArray,
        weight: FloatArray,
        positive: FloatArray,
        rows: int,
        squares: FloatArray | None = None,
        moved: FloatArray | None = None,
    ) -> None:
        """Count rows that an engine has grouped by prediction, and rounded to the resolution if there is one.

        Parameters
        ----------
        p, weight, positive : arrays of float64
            Predictions in any order and with ties, the sum of weights of each, and the part of it with y = 1.
        rows : int
            How many rows these are.
        squares, moved : arrays of float64, optional
            Sums of w² where rows have weights, and of w·|movement| where predictions were rounded.
        """
        part = counted(p, weight, positive, squares)
        self._parts.append(part)
        self.rows += rows
        if squares is not None:
            self._totals.append(fsum(part.weight.tolist()))
            self._squares.append(float(squares.sum()))
        if moved is not None:
            self._moved.append(float(moved.sum()))

    def merge(self, other: Tally) -> None:
        """Add the rows of a tally of the same resolution, which keeps them too."""
        other._settle()
        self._parts += [Counts(part.p, *(array.copy() for array in part.arrays())) for part in other._parts]
        self.rows += other.rows
        self._totals += other._totals
        self._squares += other._squares
        self._moved += other._moved

    def law(self) -> Counts:
        """The distinct predictions with their masses, which sum to 1 up to rounding; at least one row is needed.  O(n).

        The counts are overwritten: this ends the tally.
        """
        if self.weighted and not (fsum(self._squares) > 0 and isfinite(self.effective_rows)):
            raise ValueError(
                f"weights must be of ordinary size, but they sum to {self.total!r}. Multiply by a constant."
            )
        if isinstance(self._way, Words) and not self._parts:
            self._way.sort()
            if not (self._free and too_many(self.rows) and too_many(self._way.distinct())):
                return self._way.counts(self.total)
        self._settle()
        part = self._parts.pop()
        for array, divisor in zip(part.arrays(), (self.total, self.total, self.total**2), strict=False):
            np.divide(array, divisor, out=array)
        return part

    def _settle(self) -> None:
        """Make one part of everything that was counted."""
        if isinstance(self._way, Words):
            self._way.sort()
        if isinstance(self._way, Values) or (isinstance(self._way, Words) and self._way.rows):
            self._count(self._way)
        if isinstance(self._way, Grid):
            self._parts.append(self._way.counts())
            self._moved += self._way.moved
        self._way = Words(START)
        self._parts = [merged(self._parts)]

    def _make_room(self) -> None:
        """Continue in another way, now that the present one is full."""
        way = self._way
        assert not isinstance(way, Grid)  # which is never full
        if isinstance(way, Words):
            way.sort()
            distinct = way.distinct()
            if distinct > FEW and not self._needs_grid(distinct):
                if way.limit < FULL:
                    return way.allow(FULL if self._free else ROOM)
                if not self._free and 3 * distinct >= way.rows:  # words take less memory than their counts
                    return way.allow(max(ROOM, 3 * way.rows))
        return self._count(way)

    def _needs_grid(self, distinct: int) -> bool:
        return too_many(distinct) if self._free else self.resolution >= DEFAULT

    def _count(self, way: Words | Values) -> None:
        """Count sorted words or a table of values, and choose how to continue."""
        if isinstance(way, Words) and self._needs_grid(way.distinct()):
            self._turn_to_grid()
            for p, y in way.unpacked():
                self._way.add(p, y)
            return
        self._parts = [merged([*self._parts, way.counts()])]
        distinct = len(self._parts[0].p)
        if self._needs_grid(distinct):
            self._turn_to_grid()
        else:
            self._way = Values() if distinct <= FEW else Words(FULL)

    def _turn_to_grid(self) -> None:
        self.resolution = self.resolution or DEFAULT
        self._way = Grid(self.resolution)
        for part in self._parts:
            self._way.take(part)
        self._parts = []


def too_many(distinct: int) -> bool:
    """Whether this many distinct predictions are rounded by default."""
    return distinct > MANY
