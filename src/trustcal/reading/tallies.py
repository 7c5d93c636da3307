"""Rows that an engine has counted by prediction, added up to a predictor with the same bits as counting them here."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum, isfinite
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.predictor import Predictor
from trustcal.rows import run_starts

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Tally:
    """Rows counted by prediction: each value once, in increasing order, its weight and the part with y = 1."""

    p: FloatArray
    weight: FloatArray
    positive: FloatArray


def tallied(p: FloatArray, weight: FloatArray, positive: FloatArray) -> Tally:
    """Counts by prediction, in any order and with ties (-0.0 is 0.0), as a tally.

    >>> tallied(np.array([0.5, -0.0, 0.0]), np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 3.0]))
    Tally(p=array([0. , 0.5]), weight=array([5., 1.]), positive=array([3., 1.]))

    O(n log n).
    """
    order = np.argsort(p)
    p = p[order] + 0.0
    starts = run_starts(p)
    if len(starts) == len(p):
        return Tally(p, weight[order], positive[order])
    return Tally(p[starts], np.add.reduceat(weight[order], starts), np.add.reduceat(positive[order], starts))


def merged(one: Tally, other: Tally) -> Tally:
    """Two tallies as one.

    >>> merged(Tally(*np.array([[0.5], [2.0], [1.0]])), Tally(*np.array([[0.0, 0.5], [1.0, 3.0], [1.0, 0.0]])))
    Tally(p=array([0. , 0.5]), weight=array([1., 5.]), positive=array([1., 1.]))

    O(n log n).
    """
    p, weight, positive = (
        np.concatenate([getattr(one, name), getattr(other, name)]) for name in ("p", "weight", "positive")
    )
    return tallied(p, weight, positive)


def most_moved(moved: list[float], total: float, rows: int, resolution: float) -> float:
    """How far rounding moves a prediction on average, from sums over parts: no less than the truth.

    The sums are off by their rounding at most, and no prediction moves by more than half a step.
    """
    return min(fsum(moved) / total * (1 + rows * 2.0**-52), resolution / 2)


@final
@dataclass(frozen=True)
class Pile:
    """The rows of one group, in tallies that lie one above the other."""

    parts: list[Tally] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    squares: list[float] = field(default_factory=list)
    """Σw² of each part; empty where every row counts 1."""
    moved: list[float] = field(default_factory=list)
    """Σw·|movement| of each part; empty where nothing was rounded."""

    def predictor(self, resolution: float) -> Predictor:
        """The predictor of these rows, rounded to multiples of `resolution` (0: not at all).

        The parts are given up on the way, so that they and the whole are never in memory together.  O(n).
        """
        rows, squares = sum(self.rows), fsum(self.squares)
        total = fsum(fsum(part.weight.tolist()) for part in self.parts) if self.squares else float(rows)
        if self.squares and not (squares > 0 and isfinite(total * total / squares)):
            raise ValueError(f"weights must be of ordinary size, but they sum to {total!r}. Multiply by a constant.")
        ends = np.cumsum([len(part.p) for part in self.parts]).tolist()
        p, mass, positive = (np.empty(ends[-1]) for _ in range(3))
        for end in reversed(ends):
            part = self.parts.pop()
            here = slice(end - len(part.p), end)
            p[here] = part.p
            np.divide(part.weight, total, out=mass[here])
            np.divide(part.positive, total, out=positive[here])
        for array in (p, mass, positive):
            array.flags.writeable = False  # and so the predictor takes it as it is
        moved = most_moved(self.moved, total, rows, resolution)
        effective = total * total / squares if self.squares else total
        return Predictor(p, mass, positive, rows=rows, effective_rows=effective, moved=moved)
