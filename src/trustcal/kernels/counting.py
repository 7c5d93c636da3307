"""Rows counted by prediction and outcome: in a table of values, on a grid, or along sorted words.

Each takes rows as long as they are valid (a prediction in [0, 1], an outcome 0 or 1) and there is room, and returns how
many it took.
"""

from __future__ import annotations

from math import floor

import numpy as np
from numpy.typing import NDArray

from trustcal.kernels import FloatArray, kernel

WordArray = NDArray[np.uint64]
CountArray = NDArray[np.int32]
OutcomeArray = NDArray[np.uint8]

LINE = 4
"""Words in a line of a table of values: a key, rows with y = 0, rows with y = 1, and one to fit the cache."""
_ZERO, _ONE, _LINE, _HALF, _LOW = np.uint64(0), np.uint64(1), np.uint64(LINE), np.uint64(32), np.uint64(0xFFFF_FFFF)
CERTAIN = np.float64(1.0).view(np.uint64)
"""The bits of 1: those of numbers from 0 to 1 are no greater, those of all others are, and those of -0.0."""
_EVEN, _ODD, _SPREAD = np.uint64(0x9E37_79B1), np.uint64(0x85EB_CA77), np.uint64(30)


@kernel
def count_values(p: FloatArray, y: OutcomeArray, table: WordArray, used: int, most: int) -> tuple[int, int]:
    """Count rows in a table of 2^k lines, of which `used` have a value, `most` at most.

    The key is the bits of the prediction but its sign, which -0.0 has, and last a 1, so that none is 0.  Its line is
    the first from where a hash of both its halves points that has this key or none.
    """
    bits = p.view(np.uint64)
    last = np.uint64(len(table) // LINE - 1)
    for i in range(len(p)):
        if (bits[i] > CERTAIN or y[i] > 1) and not (p[i] == 0 and y[i] <= 1):
            return i, used
        key = (bits[i] << _ONE) | _ONE
        line = ((((key & _LOW) * _EVEN) ^ ((key >> _HALF) * _ODD)) >> _SPREAD) & last
        while table[line * _LINE] != key:
            if table[line * _LINE] == _ZERO:
                if used == most:
                    return i, used
                table[line * _LINE] = key
                used += 1
            else:
                line = (line + _ONE) & last
        table[line * _LINE + _ONE + np.uint64(y[i])] += _ONE
    return len(p), used


@kernel
def count_cells(p: FloatArray, y: OutcomeArray, counts: CountArray, steps: float) -> tuple[int, float]:
    """Count rows on the grid 0, 1/steps, …, 1, half a step going up, and add up how far they move, in steps."""
    moved, bits = 0.0, p.view(np.uint64)
    for i in range(len(p)):
        if (bits[i] > CERTAIN or y[i] > 1) and not (p[i] == 0 and y[i] <= 1):
            return i, moved
        exact = p[i] * steps
        cell = floor(exact + 0.5)
        moved += abs(cell - exact)
        counts[2 * int(cell) + int(y[i])] += 1
    return len(p), moved


@kernel
def count_words(words: WordArray, p: FloatArray, weight: FloatArray, positive: FloatArray, total: float) -> int:
    """Sorted words (bits of a prediction, then the outcome) as values with their counts / total; says how many values.

    p may be the memory of the words: no value is written before its words are read.
    """
    bits = p.view(np.uint64)
    values, first, ones = 0, 0, 0
    for i in range(len(words)):
        key = words[i] >> _ONE
        ones += int(words[i] & _ONE)
        if i + 1 == len(words) or words[i + 1] >> _ONE != key:
            bits[values] = key
            weight[values] = (i + 1 - first) / total
            positive[values] = ones / total
            values, first, ones = values + 1, i + 1, 0
    return values
