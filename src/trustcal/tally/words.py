"""Words: rows packed into 64 bits each.  Where most predictions differ, sorting words beats grouping rows by far."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.kernels.counting import CERTAIN, count_words
from trustcal.rows import run_starts
from trustcal.tally.counts import Counts, FloatArray
from trustcal.tally.tables import BLOCK, OutcomeArray

WordArray = NDArray[np.uint64]

_ONE = np.uint64(1)
_QUICK = 1 << 19
"""Up to this many words, numpy counts faster than compiled code is loaded."""
THREADS = min(8, os.cpu_count() or 1)
"""Maximum number of threads, ours or an engine's."""
_SHARE = 1 << 20
"""Words per thread from which a thread pays."""


@final
class Words:
    """At most `limit` rows as words: the bits of the prediction, whose two highest are free, then the outcome.

    >>> words = Words(3)
    >>> words.add(np.array([0.5, -0.0]), np.array([0, 1], dtype=np.uint8))
    2
    >>> words.packed.tolist() == [0x3FE0_0000_0000_0000 << 1, 1]
    True
    >>> words.sort()
    >>> words.counts()
    Counts(p=array([0. , 0.5]), weight=array([1., 1.]), positive=array([1., 0.]))
    """

    def __init__(self, limit: int) -> None:
        self.memory = np.empty(0)  # floats, because the distinct predictions will take it over
        self.limit = limit
        self.rows = 0

    @property
    def packed(self) -> WordArray:
        """The words so far."""
        return self.memory[: self.rows].view(np.uint64)

    def add(self, p: FloatArray, y: OutcomeArray) -> int:
        """Pack rows up to the limit or the first that is invalid; return how many.  O(n)."""
        if len(self.memory) < self.limit:
            self.allow(self.limit)
        p, y = p[: self.limit - self.rows], y[: self.limit - self.rows]
        bits, taken = p.view(np.uint64), len(p)
        if not taken or bits.max() > CERTAIN or y.max() > 1:  # or a -0.0, whose sign the shift drops
            valid = (p >= 0) & (p <= 1) & (y <= 1)
            taken = len(p) if valid.all() else int(np.argmin(valid))
        words = self.memory[self.rows : self.rows + taken].view(np.uint64)
        np.left_shift(bits[:taken], _ONE, out=words)
        words |= y[:taken]
        self.rows += taken
        return taken

    def allow(self, limit: int) -> None:
        """Raise the limit.  Memory that was never written to costs nothing."""
        memory = np.empty(limit)
        memory[: self.rows] = self.memory[: self.rows]
        self.memory, self.limit = memory, limit

    def sort(self) -> None:
        """Sort by prediction, then by outcome, in place.  O(n log n)."""
        _sort(self.packed, _threads(self.rows))

    def distinct(self) -> int:
        """How many predictions differ, once sorted.  O(n)."""
        words = self.packed
        pairs = (words[first : first + BLOCK + 1] for first in range(0, len(words), BLOCK))
        return 1 + sum(int(np.count_nonzero(pair[1:] ^ pair[:-1] > _ONE)) for pair in pairs)

    def unpacked(self) -> Iterator[tuple[FloatArray, OutcomeArray]]:
        """The rows again, block by block."""
        words = self.packed
        for begin in range(0, len(words), BLOCK):
            block = words[begin : begin + BLOCK]
            yield (block >> _ONE).view(np.float64), (block & _ONE).astype(np.uint8)

    def counts(self, total: float = 1.0) -> Counts:
        """The rows counted by prediction, once sorted, and divided by a total.  O(n).

        Counts overwrite the words, so only the result is in memory at the end.
        """
        if self.rows <= _QUICK:
            p, y = (self.packed >> _ONE).view(np.float64), (self.packed & _ONE).astype(np.float64)
            starts = run_starts(p)
            weight, positive = np.diff(starts, append=len(p)).astype(np.float64), np.add.reduceat(y, starts)
            return Counts(p[starts], weight / total, positive / total)
        p, weight, positive = arrays = self.memory, np.empty(self.rows), np.empty(self.rows)
        words, cuts = self.packed, _cuts(self.packed, _threads(self.rows))

        def count(begin: int, end: int) -> int:
            here = slice(begin, end)
            return count_words.compiled(words[here], p[here], weight[here], positive[here], total)

        with ThreadPoolExecutor(len(cuts) - 1) as threads:
            found = list(threads.map(count, cuts[:-1], cuts[1:]))
        values = 0
        for begin, more in zip(cuts[:-1], found, strict=True):
            for array in arrays:
                if begin > values:
                    array[values : values + more] = array[begin : begin + more]
            values += more
        for array in arrays:
            array.resize(values, refcheck=False)  # in place
        return Counts(*arrays)


def _threads(rows: int) -> int:
    return max(1, min(THREADS, rows // _SHARE))


def _sort(words: WordArray, threads: int) -> None:
    """Sort words in place: the lower and the upper half in two threads, and so on."""
    middle = len(words) // 2
    if threads == 1 or _tied(words):
        words.sort()
        return
    words.partition(middle)
    with ThreadPoolExecutor(1) as other:
        above = other.submit(_sort, words[middle:], threads // 2)
        _sort(words[:middle], threads - threads // 2)
        above.result()


def _tied(words: WordArray) -> bool:
    """Whether an eighth or more of the words, around the median, seem equal: slow to partition, and fast to sort."""
    some = np.sort(words[:: max(1, len(words) // 64)])
    return bool(some[len(some) * 7 // 16] == some[len(some) * 9 // 16])


def _cuts(words: WordArray, shares: int) -> list[int]:
    """Where to cut sorted words into about equal shares, with equal predictions together; includes both ends."""
    middles = [len(words) * share // shares for share in range(1, shares)]
    cuts = [int(np.searchsorted(words, words[middle] | _ONE, side="right")) for middle in middles]
    return sorted({0, *cuts, len(words)})
