"""Isotonic regression by pooling adjacent violators, on sums rather than means, so that nothing is divided."""

from __future__ import annotations

import numpy as np

from trustcal.kernels import FloatArray, IntArray, kernel


@kernel
def pooled_blocks(mass: FloatArray, positive: FloatArray, starts: IntArray, sums: FloatArray, ones: FloatArray) -> int:
    """Where the blocks of the isotonic regression of positive/mass start; returns how many there are.

    A block is merged into the one before it while that one has at least its mean.  `starts`, `sums` and `ones` are
    working space of the length of `mass`; the first entries of `starts` hold the answer.  O(n).
    """
    blocks = 0
    for i in range(len(mass)):
        start, total, one = i, mass[i], positive[i]
        while blocks > 0:
            before, here = ones[blocks - 1] * total, one * sums[blocks - 1]
            if here < 1e-280 and one > 0.0:  # it may have lost its digits: masses of 1e-200 are allowed
                before, here = (ones[blocks - 1] * 2.0**1000) * total, (one * 2.0**1000) * sums[blocks - 1]
            if before < here:
                break
            blocks -= 1
            start = starts[blocks]
            total += sums[blocks]
            one += ones[blocks]
        starts[blocks], sums[blocks], ones[blocks] = start, total, one
        blocks += 1
    return blocks


def isotonic_fit(mass: FloatArray, positive: FloatArray) -> FloatArray:
    """The isotonic regression of positive/mass with weights mass, value by value; read-only.

    >>> isotonic_fit(np.array([0.25, 0.25, 0.5]), np.array([0.25, 0.0, 0.5]))
    array([0.5, 0.5, 1. ])

    O(n).
    """
    size = len(mass)
    starts, sums, ones = np.empty(size, dtype=np.int64), np.empty(size), np.empty(size)
    starts = starts[: pooled_blocks.on(size)(mass, positive, starts, sums, ones)]
    level = np.add.reduceat(positive, starts) / np.add.reduceat(mass, starts)
    # The means of blocks increase; rounded ones might not.
    fit: FloatArray = np.repeat(np.maximum.accumulate(level), np.diff(starts, append=size))
    fit.flags.writeable = False
    return fit


@kernel
def largest_excursion(
    mass: FloatArray,
    positive: FloatArray,
    squares: FloatArray,
    starts: IntArray,
    sums: FloatArray,
    ones: FloatArray,
) -> tuple[float, int, int, int]:
    """The largest excursion of the sums of `positive` above their greatest convex minorant, in standard deviations.

    In a block of the isotonic regression with level m the excursion is max_k Σ_{i ≤ k} (positive_i − m·mass_i), and its
    variance under a constant level is about m(1 − m)·Σ squares_i.  Returns it with the first value of its block, the
    last one before the fall, and the last one of its block; -1 where every block is pure.  The rest is working space,
    as in `pooled_blocks`.  O(n).
    """
    blocks = pooled_blocks(mass, positive, starts, sums, ones)
    largest, first, split, last = 0.0, -1, -1, -1
    for block in range(blocks):
        start = starts[block]
        end = starts[block + 1] if block + 1 < blocks else len(mass)
        level = ones[block] / sums[block]
        above, top, at, variance = 0.0, 0.0, start, 0.0
        for i in range(start, end):
            above += positive[i] - level * mass[i]
            variance += squares[i]
            if above > top:
                top, at = above, i
        variance *= level * (1.0 - level)
        if end - start > 1 and variance > 0 and top > largest * variance**0.5:
            largest, first, split, last = top / variance**0.5, start, at, end - 1
    return largest, first, split, last
