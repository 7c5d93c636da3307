"""Isotonic regression with one more row, at each of the values in turn (Vovk, Petej and Fedorova 2015)."""

from __future__ import annotations

import numpy as np

from trustcal.kernels import FloatArray, kernel


@kernel
def raised(rows: FloatArray, positive: FloatArray) -> FloatArray:
    """The isotonic regression at each value if there were one more row of outcome 1 at that value.

    Isotonic regression is the slope of the greatest convex minorant of the points (rows, positive rows) summed from the
    left.  One more row at value i moves the points before it by (−1, −1) against the others.  The slope sought is that
    of the bridge from a moved point to one that is not: `x`, `y` hold, from the top down, its left end and the corners
    to its right.  At the next value one more point has moved; the bridge changes only if that point lies below it.
    Points hidden by a moved one stay hidden, because no slope exceeds 1.  O(n).
    """
    n = len(rows)
    sum_x, sum_y = np.zeros(n + 1), np.zeros(n + 1)
    for i in range(n):
        sum_x[i + 1] = sum_x[i] + rows[i]
        sum_y[i + 1] = sum_y[i] + positive[i]
    x, y, size = np.empty(n + 2), np.empty(n + 2), 0
    slope = np.empty(n)
    for step in range(2 * n):
        if step < n:  # the points that have not moved, from the last to the first
            new_x, new_y = sum_x[n - step], sum_y[n - step]
        else:
            i = step - n
            new_x, new_y = sum_x[i] - 1, sum_y[i] - 1
            if i > 0:
                across = (x[size - 2] - x[size - 1]) * (new_y - y[size - 1])
                if across >= (y[size - 2] - y[size - 1]) * (new_x - x[size - 1]):
                    slope[i] = slope[i - 1]
                    continue
                size -= 1
        while size > 1:
            across = (x[size - 1] - new_x) * (y[size - 2] - new_y)
            if across > (x[size - 2] - new_x) * (y[size - 1] - new_y):
                break
            size -= 1
        x[size], y[size] = new_x, new_y
        size += 1
        if step >= n:
            slope[step - n] = (y[size - 2] - new_y) / (x[size - 2] - new_x)
    return slope
