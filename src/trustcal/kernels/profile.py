"""The loss at every prediction, by merging two sorted lists of predictions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trustcal.kernels import FloatArray, kernel


class Upper(NamedTuple):
    """A predictor with its sums from each value upwards, as the kernel takes it."""

    p: FloatArray
    mass: FloatArray
    positive: FloatArray
    mass_above: FloatArray
    positive_above: FloatArray


@kernel
def own_profile(q: Upper, reference: Upper) -> FloatArray:
    """D at the predictions of q, the worse of the two conventions for predictions that equal a threshold.  O(n)."""
    loss = np.empty(len(q.p))
    j, size = 0, len(reference.p)
    for i in range(len(q.p)):
        mu = q.p[i]
        while j < size and reference.p[j] < mu:
            j += 1
        on, start = 0.0, j
        if j < size and reference.p[j] == mu:
            on, start = reference.positive[j] - mu * reference.mass[j], j + 1
        above = reference.positive_above[start] - mu * reference.mass_above[start]
        above_q = q.positive_above[i + 1] - mu * q.mass_above[i + 1]
        on_q = q.positive[i] - mu * q.mass[i]
        loss[i] = above - above_q + max(on - on_q, 0.0)
    return loss
