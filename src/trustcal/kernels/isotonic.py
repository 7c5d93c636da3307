"""The smooth calibration error as a bounded isotonic regression, with both certificates.

For predictions p_1 < … < p_n with biases c_i = E[(p − y); p = p_i], cumulative biases S_i = c_1 + … + c_i and gaps
d_i = p_{i+1} − p_i, linear programming duality and Σ d_i ≤ 1 give (theory.md, Theorem 3)

    max { Σ c_i σ_i : σ 1-Lipschitz, |σ| ≤ 1 }  =  |S_n| + min { Σ d_i |S_i − U_i| : U monotone from 0 to S_n }.

The right side is a weighted L1 isotonic regression with bounds; the left side's σ is read off its solution.
"""

from __future__ import annotations

import numpy as np

from trustcal.kernels import FloatArray, kernel
from trustcal.kernels.sums import plus, running_total


@kernel
def smooth_error(p: FloatArray, bias: FloatArray) -> tuple[float, float, FloatArray, FloatArray]:
    """The values of both certificates, and the certificates: lower, upper, σ at each p, U at each gap."""
    curve, sign = turned_curve(bias)
    fit = bounded_isotonic(p, curve)
    upper = upper_value(p, curve, fit)
    sigma = lipschitz_witness(p, curve, fit)
    lower, error = 0.0, 0.0
    for i in range(len(p)):
        sigma[i] *= sign
        lower, error = plus(lower, error, bias[i] * sigma[i])
    for i in range(len(fit)):
        fit[i] *= sign
    return lower, upper, sigma, fit


@kernel
def smooth_error_value(p: FloatArray, bias: FloatArray) -> float:
    """The value of the upper certificate alone, for half the work."""
    curve, _ = turned_curve(bias)
    return upper_value(p, curve, bounded_isotonic(p, curve))


@kernel
def turned_curve(bias: FloatArray) -> tuple[FloatArray, float]:
    """The cumulative biases, with the sign that makes them end at or above 0, and that sign."""
    curve = running_total(bias)
    sign = -1.0 if curve[len(curve) - 1] < 0.0 else 1.0
    for i in range(len(curve)):
        curve[i] *= sign
    return curve, sign


@kernel
def upper_value(p: FloatArray, curve: FloatArray, fit: FloatArray) -> float:
    """|S_n| + Σ d |S − U|, with corrected sums."""
    upper: float = curve[len(curve) - 1]
    error = 0.0
    for i in range(len(fit)):
        upper, error = plus(upper, error, (p[i + 1] - p[i]) * abs(curve[i] - fit[i]))
    return upper


@kernel
def bounded_isotonic(p: FloatArray, curve: FloatArray) -> FloatArray:
    """The U with 0 ≤ U_1 ≤ U_2 ≤ … ≤ S_n that minimises Σ d·|S − U|.

    Forward, f_i(u) = the least cost of the first i terms with U_i ≤ u is convex, falls and then stays: it is kept as
    its breakpoints, each with the change of slope there.  A new term adds a breakpoint of twice its weight, and the
    part that would rise again, its weight's worth of the highest breakpoints, is cut.  Breakpoints that come in order
    go on a stack, the others into a heap; a breakpoint at 0 of infinite weight is the lower bound.  Backward, U_i is
    the highest breakpoint at that step, or U_{i+1} if that is lower.  O(n log n), near n if few come out of order.
    """
    n = len(p) - 1
    top = curve[n]
    fit = np.empty(n)
    stack, load = np.empty(n + 1), np.empty(n + 1)
    stack[0], load[0], height = 0.0, np.inf, 0
    key, worth, size = np.empty(n + 1), np.empty(n + 1), 1  # the heap, largest key first
    key[0], worth[0] = -1.0, 0.0  # its last entry, below every breakpoint
    for i in range(n):
        weight = p[i + 1] - p[i]
        value = min(max(curve[i], 0.0), top)
        if value >= max(stack[height], key[0]):
            height += 1
            stack[height], load[height] = value, weight
        else:
            push(key, worth, size, value, 2.0 * weight)
            size += 1
            cut = weight
            while cut > 0.0:
                if stack[height] >= key[0]:
                    if load[height] > cut:
                        load[height] -= cut
                        cut = 0.0
                    else:
                        cut -= load[height]
                        height -= 1
                elif worth[0] > cut:
                    worth[0] -= cut
                    cut = 0.0
                else:
                    cut -= worth[0]
                    size -= 1
                    drop_largest(key, worth, size)
        fit[i] = max(stack[height], key[0])
    ceiling = top
    for i in range(n - 1, -1, -1):
        ceiling = min(ceiling, fit[i])
        fit[i] = ceiling
    return fit


@kernel
def push(key: FloatArray, worth: FloatArray, size: int, new: float, new_worth: float) -> None:
    """Put an entry into the heap of `size` entries."""
    i = size
    while i > 0 and key[(i - 1) >> 1] < new:
        parent = (i - 1) >> 1
        key[i], worth[i] = key[parent], worth[parent]
        i = parent
    key[i], worth[i] = new, new_worth


@kernel
def drop_largest(key: FloatArray, worth: FloatArray, size: int) -> None:
    """Take the first entry out of the heap, leaving `size`: the last one sinks from the top to its place."""
    last, last_worth = key[size], worth[size]
    i = 0
    while True:
        child = 2 * i + 1
        if child + 1 < size and key[child + 1] > key[child]:
            child += 1
        if child >= size or key[child] <= last:
            break
        key[i], worth[i] = key[child], worth[child]
        i = child
    key[i], worth[i] = last, last_worth


@kernel
def lipschitz_witness(p: FloatArray, curve: FloatArray, fit: FloatArray) -> FloatArray:
    """The σ that attains the maximum, by complementary slackness with the isotonic fit.

    σ falls at full speed where the curve is above the fit, rises where it is below, and is 1 wherever the fit jumps;
    where curve and fit touch it is free.  Between two jumps the free stretches fall first and rise later, just as much
    as needed to return to 1, so that σ never exceeds 1; since all gaps together are at most 1 it stays above −1.
    Heights are compensated sums: every value is within a rounding or two of a function that is 1-Lipschitz exactly.
    """
    n = len(p) - 1
    top = curve[n]
    sigma = np.empty(n + 1)
    sigma[0] = 1.0 if top > 0.0 else 0.0
    first = 0
    while first < n:
        level, last = fit[first], first
        forced, free, forced_error, free_error = 0.0, 0.0, 0.0, 0.0  # the rise that is forced, and the free length
        while last < n and fit[last] == level:
            gap = p[last + 1] - p[last]
            if curve[last] == level:
                free, free_error = plus(free, free_error, gap)
            else:
                forced, forced_error = plus(forced, forced_error, gap if curve[last] < level else -gap)
            last += 1
        jump_before = first > 0 or level > 0.0
        jump_after = last < n or level < top
        falling = free  # how much of the free length falls
        if jump_before and jump_after:
            falling = 0.5 * (free + forced)
        elif jump_after:
            falling = 0.0
            sigma[first] = min(1.0, 1.0 - forced - free)
        height, error = sigma[first], 0.0
        for i in range(first, last):
            step = p[i + 1] - p[i]
            if curve[i] > level:
                step = -step
            elif curve[i] == level:
                down = min(max(falling, 0.0), step)
                falling -= down
                step -= 2.0 * down
            height, error = plus(height, error, step)
            sigma[i + 1] = min(1.0, max(-1.0, height))
        if last < n:
            sigma[last] = 1.0
        first = last
    return sigma
