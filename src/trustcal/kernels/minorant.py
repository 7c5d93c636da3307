"""Isotonic regression by pooling adjacent violators, on sums rather than means, so that nothing is divided."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trustcal.kernels import kernel

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@kernel
def pooled_blocks(mass: FloatArray, positive: FloatArray, starts: IntArray, sums: FloatArray, ones: FloatArray) -> int:
    """Where the blocks of the isotonic regression of positive/mass start; returns how many there are.

    A block is merged into the one before it while that one has at least its mean.  `starts`, `sums` and `ones` are
    working space of the length of `mass`; the first entries of `starts` hold the answer.  O(n).
    """
    blocks = 0
    for i in range(len(mass)):
        start, total, one = i, mass[i], positive[i]
        while blocks > 0 and ones[blocks - 1] * total >= one * sums[blocks - 1]:
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
