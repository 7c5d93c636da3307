"""Sums of decaying exponentials, Σ weight·exp(−|x − q|/scale): what Laplace and plateau noise make of a predictor."""

from __future__ import annotations

from math import exp

import numpy as np

from trustcal.kernels import BoolArray, FloatArray, kernel


@kernel
def decayed(x: FloatArray, weight: FloatArray, scale: float) -> FloatArray:
    """S[i] = Σ over j ≤ i of weight[j]·exp(−|x[i] − x[j]|/scale), for x in increasing or in decreasing order.

    As long as x stays within one scale of an anchor, the sum is kept as seen from there, with the rounding errors of
    its additions: a plain recursion would multiply a million rounded factors.  O(n).
    """
    sums = np.empty(len(x))
    anchor, total, rest = x[0], 0.0, 0.0
    for i in range(len(x)):
        away = abs(x[i] - anchor) / scale
        if away > 1.0:
            total, rest, anchor, away = (total + rest) * exp(-away), 0.0, x[i], 0.0
        term = weight[i] * exp(away)
        new = total + term
        rest += (total - new) + term if total >= term else (term - new) + total
        total = new
        sums[i] = (total + rest) * exp(-away)
    return sums


@kernel
def running_pairs(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The sums of the first 0, 1, 2, … values, each as hi + lo, so that their differences are exact too.  O(n)."""
    hi, lo = np.zeros(len(values) + 1), np.zeros(len(values) + 1)
    total, rest = 0.0, 0.0
    for i in range(len(values)):
        new = total + values[i]
        rest += (total - new) + values[i] if total >= values[i] else (values[i] - new) + total
        total = new
        hi[i + 1], lo[i + 1] = total, rest
    return hi, lo


@kernel
def first_moment(z: float) -> float:
    """∫ u·exp(−u) du from 0 to z, = 1 − (1 + z)·exp(−z) without its cancellation."""
    if z > 0.5:
        return 1.0 - (1.0 + z) * exp(-z)
    term, total = z * z, 0.0
    for k in range(2, 20):  # Σ (−1)^k z^k / ((k − 2)!·k)
        total += term / k
        term *= -z / (k - 1)
    return total


@kernel
def signed_area(x: float, y: float, a: float, h: float, s: float, left: FloatArray, right: FloatArray) -> float:
    """∫ (p·W(p) − V(p)) dp for p = a + t, t from x to y, where

        W = left[0]·exp(−t/s) + right[0]·exp(−(h − t)/s),   V = left[1]·exp(−t/s) + right[1]·exp(−(h − t)/s)

    With the integrals of exp(−u) and u·exp(−u) no digits cancel on short pieces.
    """
    z = (y - x) / s
    moment = first_moment(z)
    gone = moment + z * exp(-z)
    rising = s * exp(-x / s) * (((a + x) * left[0] - left[1]) * gone + left[0] * s * moment)
    falling = s * exp(-(h - y) / s) * (((a + y) * right[0] - right[1]) * gone - right[0] * s * moment)
    return float(rising + falling)


@kernel
def tilted(c: FloatArray, k: int, t: float, h: float) -> float:
    """(c[k] + c[k + 1]·t) + (c[k + 2] + c[k + 3]·t)·exp(−t) + (c[k + 4] + c[k + 5]·t)·exp(−(h − t)).

    Where the first two are 0, it is divided by the larger exponential, or by the only one that counts: both may be too
    small for a float.
    """
    near, far = -t, t - h
    if c[k] == 0.0 and c[k + 1] == 0.0:
        top = max(near, far)
        if c[k + 2] == 0.0 and c[k + 3] == 0.0:
            top = far
        elif c[k + 4] == 0.0 and c[k + 5] == 0.0:
            top = near
        near, far = min(near - top, 0.0), min(far - top, 0.0)
    plain = c[k] + c[k + 1] * t
    return float(plain + (c[k + 2] + c[k + 3] * t) * exp(near) + (c[k + 4] + c[k + 5] * t) * exp(far))


@kernel
def tilted_roots(c: FloatArray, k: int, h: float, cuts: FloatArray, count: int) -> int:
    """Replaces cuts, the ends 0 and h and what is between, by 0, the roots of `tilted` between cuts, and h.

    Between neighbouring cuts `tilted` is monotone, so that a change of sign is a root.
    """
    found = 1
    begin, at_begin = 0.0, tilted(c, k, 0.0, h)
    for j in range(1, count):
        end = cuts[j]
        at_end = tilted(c, k, end, h)
        if at_end == 0.0:  # a root at a cut: the signs on either side tell
            continue
        if (at_begin < 0.0 < at_end) or (at_end < 0.0 < at_begin):
            x, fx, y, fy, rising = begin, at_begin, end, at_end, at_begin < 0.0
            for step in range(200):  # regula falsi (Illinois); bisection too, as values may differ by a factor of 1e300
                t = x + (y - x) * (fx / (fx - fy))
                if step % 3 == 2 or not x < t < y:
                    t = 0.5 * (x + y)
                if t in (x, y):
                    break
                ft = tilted(c, k, t, h)
                if ft == 0.0:
                    x = y = t
                    break
                if (ft < 0.0) == rising:
                    x, fx, fy = t, ft, 0.5 * fy
                else:
                    y, fy, fx = t, ft, 0.5 * fx
                if y - x <= 1e-16 * h:
                    break
            cuts[found] = 0.5 * (x + y)
            found += 1
        begin, at_begin = end, at_end
    cuts[found] = h
    return found + 1


@kernel
def absolute_area(
    edges: FloatArray, s: float, level: FloatArray, left: FloatArray, right: FloatArray, apart: BoolArray
) -> float:
    """∫ |p·W(p) − V(p)| dp over all pieces, where W and V have constant parts beside two exponentials each.

    Row i of level, left and right belongs to piece i.  On pieces that are `apart` there is no root.  On others, with t
    counted in scales, f = p·W − V is a linear function, plus one times exp(−t), plus one times exp(t − h).  By Rolle's
    theorem there is at most one root between neighbouring roots of the derivative.  f'' has no constant part, and
    f''·exp(t) is linear, plus a linear function times exp(2t − h); its second derivative has the sign of a linear
    function.  So roots are found from there upwards: at most 1, 2, 3, 4 and 5.  O(n).
    """
    total, rest = 0.0, 0.0
    cuts, c = np.empty(8), np.empty(30)
    for i in range(len(edges) - 1):
        a, width = edges[i], edges[i + 1] - edges[i]
        count, h = 2, width / s
        cuts[0], cuts[1] = 0.0, h
        if not apart[i]:
            c[0], c[1] = a * level[i][0] - level[i][1], s * level[i][0]
            c[2], c[3] = a * left[i][0] - left[i][1], s * left[i][0]
            c[4], c[5] = a * right[i][0] - right[i][1], s * right[i][0]
            for k in (0, 6):  # the first and the second derivative
                c[k + 6], c[k + 7] = c[k + 1], 0.0
                c[k + 8], c[k + 9] = c[k + 3] - c[k + 2], -c[k + 3]
                c[k + 10], c[k + 11] = c[k + 5] + c[k + 4], c[k + 5]
            c[18], c[19], c[20], c[21], c[22], c[23] = 0.0, 0.0, c[15], 0.0, c[17] + 2.0 * c[16], 2.0 * c[17]
            c[24], c[25], c[26], c[27], c[28], c[29] = 0.0, 0.0, 0.0, 0.0, c[17] + c[16], c[17]
            for k in (24, 18, 12, 6, 0):
                count = tilted_roots(c, k, h, cuts, count)
        area, x = 0.0, 0.0
        for j in range(1, count):
            y = width if j == count - 1 else min(s * cuts[j], width)  # s·h may round to less than width, or to more
            flat = (y - x) * ((a + 0.5 * (x + y)) * level[i][0] - level[i][1])
            area += abs(flat + signed_area(x, y, a, width, s, left[i], right[i]))
            x = y
        new = total + area
        rest += (total - new) + area if total >= area else (area - new) + total
        total = new
    return total + rest
