"""Rows packed into words, one each: where most predictions differ, to sort words is far quicker than to group rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from trustcal.predictor import Predictor
from trustcal.rows import run_starts
from trustcal.sources.tallies import FloatArray, Tally, most_moved

WordArray = NDArray[np.uint64]

_ONE = np.uint64(1)


def pack(p: FloatArray, y: NDArray[Any], out: FloatArray) -> None:
    """Sound rows as words in `out`: the bits of the prediction, the two highest being free, and last the outcome.

    >>> out = np.empty(2)
    >>> pack(np.array([0.5, -0.0]), np.array([False, True]), out)
    >>> out.view(np.uint64).tolist() == [0x3FE0_0000_0000_0000 << 1, 1]
    True
    """
    np.add(p, 0.0, out=out)  # -0.0 is 0.0
    words = out.view(np.uint64)
    words <<= _ONE
    words |= y


@final
@dataclass(frozen=True)
class Words:
    """The rows of one group as words, in the memory of an array of floats that will hold the distinct predictions."""

    memory: FloatArray

    def sort(self) -> None:
        """By prediction, then by outcome, in place.  O(n log n)."""
        self.memory.view(np.uint64).sort()

    def distinct(self, block: int = 1 << 16) -> int:
        """How many predictions differ, once sorted.  O(n)."""
        words = self.memory.view(np.uint64)
        pairs = (words[first : first + block + 1] for first in range(0, len(words), block))
        return 1 + sum(int(np.count_nonzero(pair[1:] ^ pair[:-1] > _ONE)) for pair in pairs)

    def predictor(self, resolution: float, block: int = 1 << 16) -> Predictor:
        """The predictor of these rows, once sorted, rounded to multiples of `resolution` (0: not at all).

        Words are counted block by block and overwritten by what they make, so that the result is all that is in memory
        at the end.  O(n).
        """
        rows, values, moved = len(self.memory), 0, []
        p, mass, positive = arrays = self.memory, np.empty(rows), np.empty(rows)
        for first in range(0, rows, block):
            part, way = _tally(p[first : first + block].view(np.uint64), resolution)
            moved.append(way)
            again = int(values > 0 and p[values - 1] == part.p[0])  # the last value of the block before goes on
            if again:
                mass[values - 1] += part.weight[0]
                positive[values - 1] += part.positive[0]
            here = slice(values, values + len(part.p) - again)
            p[here], mass[here], positive[here] = part.p[again:], part.weight[again:], part.positive[again:]
            values = here.stop
        for counts in (mass, positive):
            counts[:values] /= rows
        for array in arrays:
            array.resize(values, refcheck=False)  # in place: memory that was never written to costs nothing
            array.flags.writeable = False  # and so the predictor takes it as it is
        return Predictor(
            p, mass, positive, rows=rows, effective_rows=float(rows), moved=most_moved(moved, rows, rows, resolution)
        )


def _tally(words: WordArray, resolution: float) -> tuple[Tally, float]:
    """Sorted words counted by prediction, and how far rounding moves these, in sum."""
    p, y = (words >> _ONE).view(np.float64), (words & _ONE).astype(np.float64)
    moved = 0.0
    if resolution:
        exact, p = p, np.floor(p / resolution + 0.5) * resolution  # exact, since the resolution is a power of two
        moved = float(np.abs(exact - p).sum())
    starts = run_starts(p)
    if len(starts) == len(p):
        return Tally(p, np.ones(len(p)), y), moved
    return Tally(p[starts], np.diff(starts, append=len(p)).astype(np.float64), np.add.reduceat(y, starts)), moved
