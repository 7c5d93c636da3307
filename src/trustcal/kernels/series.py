"""Chebyshev series on many small pieces: where a combination of two of them changes sign, and its positive area."""

from __future__ import annotations

import numpy as np

from trustcal.kernels import FloatArray, IntArray, kernel


@kernel
def clenshaw(series: FloatArray, terms: int, t: float) -> float:
    """The sum of the first terms of a Chebyshev series at t.

    >>> clenshaw([1.0, 2.0, 3.0], 3, 0.5)           # 1 + 2·t + 3·(2t² − 1)
    0.5
    """
    last, before = 0.0, 0.0
    for k in range(terms - 1, 0, -1):
        last, before = series[k] + 2 * t * last - before, last
    total: float = series[0] + t * last - before
    return total


@kernel
def positive_areas(
    w: FloatArray,
    v: FloatArray,
    terms: int,
    row: IntArray,
    mu: FloatArray,
    falling: IntArray,
    enough: FloatArray,
) -> FloatArray:
    """∫ (V − μW)⁺ over [−1, 1] for each pair of a row and a threshold, where V − μW has one root.

    w and v are tables of series with as many terms in each row, flattened.  `falling` is 1 where V − μW is positive
    left of the root, which is found by false position (Illinois) to within 2·enough.  O(terms) for each step.
    """
    found, gain, whole = np.zeros(len(row)), np.zeros(terms + 2), np.zeros(terms + 1)
    for i in range(len(row)):
        for k in range(terms):
            gain[k] = v[row[i] * terms + k] - mu[i] * w[row[i] * terms + k]
        low, high, x = -1.0, 1.0, -1.0
        at_low, at_high = clenshaw(gain, terms, low), clenshaw(gain, terms, high)
        rising = at_low < at_high
        for _ in range(60):
            new = (low + high) / 2
            if at_low != at_high:
                new = low + (high - low) * (at_low / (at_low - at_high))
            if not (low < new < high):
                new = (low + high) / 2
            near = abs(new - x) <= 2 * enough[i]
            x = new
            if near:
                break
            value = clenshaw(gain, terms, x)
            if (value < 0) == rising:
                low, at_low, at_high = x, value, at_high / 2
            else:
                high, at_low, at_high = x, at_low / 2, value
        # ∫ T_k = T_(k+1)/(2k + 2) − T_(k−1)/(2k − 2)
        whole[1] = gain[0] - gain[2] / 2
        for k in range(2, terms + 1):
            whole[k] = (gain[k - 1] - gain[k + 1]) / (2 * k)
        end = -1.0 if falling[i] == 1 else 1.0
        inside = clenshaw(whole, terms + 1, x) - clenshaw(whole, terms + 1, end)
        found[i] = max(inside if falling[i] == 1 else -inside, 0.0)
    return found
