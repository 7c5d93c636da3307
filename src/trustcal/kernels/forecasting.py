"""The rounds of each forecaster: the same functions serve Python lists and, compiled, arrays.

Only + − × ÷ √ and comparisons of floats, and exact integers, so that both give the same bits.
"""

from __future__ import annotations

from math import ldexp, sqrt
from typing import Any, TypeAlias

from trustcal.kernels import kernel

Ints: TypeAlias = Any
Floats: TypeAlias = Any
"""Lists, or compiled arrays: no type covers both."""


@kernel
def crossing(balance: Floats, at: int) -> int:
    """An i near `at` with balance[i] ≥ 0 ≥ balance[i + 1], where balance[0] ≥ 0 ≥ balance[-1].  O(log m)."""
    last, step = len(balance) - 1, 1
    if balance[at] >= 0:
        low, high = at, at + 1
        while balance[high] > 0:
            low, high, step = high, min(high + step, last), 2 * step
    else:
        low, high = at - 1, at
        while balance[low] < 0:
            low, high, step = max(low - step, 0), low, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if balance[middle] >= 0:
            low = middle
        else:
            high = middle
    return low


@kernel
def play_elementary(balance: Ints, at: int, outcomes: Ints, cell: Ints) -> int:
    """Rounds of the elementary predictor; the cell of each announcement is written to `cell`.  O(log m) per round."""
    m = len(balance) - 1
    for t in range(len(outcomes)):
        at = crossing(balance, at)
        cell[t] = at
        if outcomes[t] == 1:
            balance[at + 1] += m - (at + 1)
        else:
            balance[at] -= at
    return at


@kernel
def side(n: Ints, s: Ints, i: int) -> int:
    """+1 if bucket i has more ones than its upper end allows, −1 if fewer than its lower end, else 0."""
    m = len(n)
    if s[i] * m > n[i] * (i + 1):
        return 1
    if s[i] * m < n[i] * i:
        return -1
    return 0


@kernel
def bucket_pair(n: Ints, s: Ints, at: int) -> tuple[int, int]:
    """A bucket near `at` with side 0, twice; or two neighbours, the lower one with side + and the upper one with −.

    The first bucket is never −, the last never +, so one of the two exists between any + and a − above it.  O(log m).
    """
    step, here = 1, side(n, s, at)
    low, high = at, at
    if here > 0:
        high = at + 1
        while side(n, s, high) > 0:
            low, high, step = high, min(high + step, len(n) - 1), 2 * step
    elif here < 0:
        low = at - 1
        while side(n, s, low) < 0:
            low, high, step = max(low - step, 0), low, 2 * step
    else:
        return at, at
    if side(n, s, low) == 0:
        return low, low
    if side(n, s, high) == 0:
        return high, high
    while high - low > 1:
        middle = (low + high) // 2
        here = side(n, s, middle)
        if here == 0:
            return middle, middle
        if here > 0:
            low = middle
        else:
            high = middle
    return low, high


@kernel
def square_up(n: Ints, s: Ints, low: int, high: int) -> float:
    """Foster's probability of the upper of two neighbours: proportional to the surplus of the lower one."""
    m = len(n)
    excess, deficit = s[low] * m - n[low] * high, n[high] * high - s[high] * m
    up: float = excess / (excess + deficit)
    return up


@kernel
def exponential_up(n: Ints, s: Ints, low: int, high: int) -> float:
    """The same for F_n(x) = √(4/(n + 4))·exp(2·max(x, 0)²/(n + 4)): proportional to the step of F of the lower one.

    A step is exp(up)·(1 − exp(−gap))/√(n + 5), up to a common factor that is chosen to avoid overflow.
    """
    m = len(n)
    h = high / m
    excess, deficit = s[low] - n[low] * h, n[high] * h - s[high]
    a, b = n[low] + 5.0, n[high] + 5.0
    up_low, gap_low = 2 * (excess + 1 - h) * (excess + 1 - h) / a, 2 * (2 * excess + 1 - 2 * h) / a
    up_high, gap_high = 2 * (deficit + h) * (deficit + h) / b, 2 * (2 * deficit + 2 * h - 1) / b
    if excess <= h:
        gap_low = up_low
    if deficit <= 1 - h:
        gap_high = up_high
    top = max(up_low, up_high)
    step_low = fall(top - up_low) * drop(gap_low) / sqrt(a)
    step_high = fall(top - up_high) * drop(gap_high) / sqrt(b)
    up: float = step_low / (step_low + step_high)
    return up


@kernel
def play_buckets(n: Ints, s: Ints, at: int, outcomes: Ints, coins: Floats, exponential: bool, bucket: Ints) -> int:
    """Rounds of Foster's forecaster; the bucket of each announcement is written to `bucket`.  O(log m) per round."""
    for t in range(len(outcomes)):
        low, high = bucket_pair(n, s, at)
        at = low
        if low != high:
            up = exponential_up(n, s, low, high) if exponential else square_up(n, s, low, high)
            if coins[t] < up:
                at = high
        n[at] += 1
        s[at] += outcomes[t]
        bucket[t] = at
    return at


@kernel
def hedge(value: Floats, at: int) -> tuple[int, float]:
    """Where the interpolated values cross zero: the node below, and the fraction towards the next.  O(log m)."""
    last = len(value) - 1
    if value[0] < 0:
        return 0, 0.0
    if value[last] > 0:
        return last - 1, 1.0
    i = crossing(value, at)
    if value[i] == 0:
        return i, 0.0
    return i, value[i] / (value[i] - value[i + 1])


@kernel
def play_hedging(value: Floats, at: int, outcomes: Ints, announced: Floats) -> int:
    """Rounds of forecast hedging; announcements are written to `announced`.  O(log m) per round."""
    m = len(value) - 1
    for t in range(len(outcomes)):
        at, right = hedge(value, at)
        p = (at + right) / m
        announced[t] = p
        value[at] += (1 - right) * (outcomes[t] - p)
        value[at + 1] += right * (outcomes[t] - p)
    return at


@kernel
def fall(z: float) -> float:
    """exp(−z) for z ≥ 0, by arithmetic only, to a few units in the last place."""
    if z > 700.0:
        return 0.0
    k = int(z * 1.4426950408889634 + 0.5)
    r = (k * 0.6931471803691238 - z) + k * 1.9082149292705877e-10  # ln 2 in two parts: the first product is exact
    total = 1.0
    for i in range(14, 0, -1):
        total = 1.0 + total * r / i
    return ldexp(total, -k)


@kernel
def drop(z: float) -> float:
    """1 − exp(−z) for z ≥ 0, without cancellation."""
    if z > 0.5:
        return 1.0 - fall(z)
    total = 1.0
    for i in range(16, 1, -1):
        total = 1.0 - total * z / i
    return total * z
