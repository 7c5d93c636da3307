"""The two certificates of the distance to calibration, O(n) each, whatever proposed the answer.

Both live on nodes z that begin with 0, end with 1 and include every prediction; w0 and w1 are the masses there.

**Lower.**  Any 1-Lipschitz r0, r1 on [0, 1] with g(b) = (1 − b)·r0(b) + b·r1(b) ≤ 0 for all b prove
DTC ≥ Σ w0·r0 + w1·r1.  Given only values at the nodes, each r is first replaced by its largest 1-Lipschitz minorant,
which costs at most its worst excess e = max |r(z) − r(z')| − |z − z'|, and then extended by max_i r(z_i) − |b − z_i|,
the smallest extension.  Inside a gap (z, z') the only piece of g that can exceed its values at both ends is the concave
one, r0 rising to z' and r1 falling from z: with A = r0(z') − z' and C = r1(z) + z it is A(1 − b) + b(1 + C) − 2b²,
largest at b* = (1 − A + C)/4, clipped to the gap.  Subtracting the worst violation from both makes them feasible.

**Upper.**  Any law λ ≥ 0 of b with Σ (1 − b)·λ = Σ w0 and Σ b·λ = Σ w1 proves DTC ≤ W1(μ0, (1 − b)λ) + W1(μ1, bλ), and
on a line W1 is the area between two distribution functions.  A law with other totals is scaled down until neither is
exceeded, and completed by atoms at 0, which only zeros can join, and at 1.

**Rounding.**  Let u = 2⁻⁵³.  Long sums are compensated (error 2u + O(n·u²) of the sum of absolute values), potentials
are clipped to |r0| ≤ b and |r1| ≤ 1 − b, and masses sum to 1, so with n ≤ 2⁴⁰ rounding costs less than 32u:

    lower   5u for Σ w·r, 15u for g, 4u for the excess, 3u to put them together
    upper   16u because each total of the law is only right to 8u, and repairing one can cost the other as much again,
            8u for the distribution functions, 5u for the area
    both    u because w0 was mass − positive, rounded

`ROUNDING` = 32u is subtracted from one and added to the other.  It does not grow with n.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trustcal.kernels import FloatArray, kernel
from trustcal.kernels.sums import compensated_total, plus

ROUNDING = 2.0**-48


@kernel
def lower_certificate(z: FloatArray, w0: FloatArray, w1: FloatArray, r0: FloatArray, r1: FloatArray) -> float:
    """A lower bound of the distance to calibration.  Clips r0 to ±z and r1 to ±(1 − z), in place."""
    value = error = violation = before = falling = 0.0
    for i in range(len(z)):
        x = z[i]
        a = min(max(r0[i], -x), x)
        c = min(max(r1[i], x - 1.0), 1.0 - x)
        r0[i], r1[i] = a, c
        value, error = plus(value, error, w0[i] * a + w1[i] * c)
        violation = max(violation, (1.0 - x) * a + x * c)
        if i > 0:
            rising = a - x
            b = min(max(0.25 * (1.0 - rising + falling), before), x)
            violation = max(violation, (1.0 - b) * (rising + b) + b * (falling - b))
        before, falling = x, c + x
    total0, total1 = compensated_total(w0), compensated_total(w1)
    excess0, excess1 = slope_excess(z, r0), slope_excess(z, r1)
    return value - violation * (total0 + total1) - excess0 * total0 - excess1 * total1 - ROUNDING


@kernel
def slope_excess(z: FloatArray, r: FloatArray) -> float:
    """How much r exceeds the slope 1: the largest |r(z) − r(z')| − |z − z'| of all pairs, in one pass."""
    lowest, highest, worst = 2.0, -2.0, 0.0  # of r − z and r + z so far
    for i in range(len(z)):
        low, high = r[i] - z[i], r[i] + z[i]
        if low < lowest:
            lowest = low
        elif low - lowest > worst:
            worst = low - lowest
        if high > highest:
            highest = high
        elif highest - high > worst:
            worst = highest - high
    return worst


@kernel
def upper_certificate(z: FloatArray, w0: FloatArray, w1: FloatArray, law: FloatArray) -> float:
    """An upper bound of the distance to calibration.  Completes the law, in place."""
    n = len(z)
    law0 = law1 = error0 = error1 = 0.0
    for i in range(n):
        law[i] = max(law[i], 0.0)
        law0, error0 = plus(law0, error0, law[i] * (1.0 - z[i]))
        law1, error1 = plus(law1, error1, law[i] * z[i])
    total0, total1 = compensated_total(w0), compensated_total(w1)
    scale = 1.0
    if law0 > total0:
        scale = total0 / law0
    if law1 * scale > total1:
        scale = total1 / law1
    if scale < 1.0:
        for i in range(n):
            law[i] *= scale
    rest0, rest1 = max(total0 - scale * law0, 0.0), max(total1 - scale * law1, 0.0)
    law[0] += rest0
    law[n - 1] += rest1
    area = error = ahead0 = ahead1 = error0 = error1 = 0.0
    for i in range(n - 1):
        ahead0, error0 = plus(ahead0, error0, w0[i] - law[i] * (1.0 - z[i]))
        ahead1, error1 = plus(ahead1, error1, w1[i] - law[i] * z[i])
        area, error = plus(area, error, (z[i + 1] - z[i]) * (abs(ahead0) + abs(ahead1)))
    return area + ROUNDING


@kernel
def monotone_coupling(
    p: FloatArray, w0: FloatArray, w1: FloatArray, b: FloatArray, law: FloatArray
) -> tuple[FloatArray, NDArray[np.int8], FloatArray, FloatArray]:
    """The optimal transports of both outcomes: from p, outcome, to b, mass.

    Either way the order is kept: the next mass goes where there is room next.  Totals differ in rounding only; what
    finds no room is sent where the last mass went.
    """
    n, m = len(p), len(b)
    start, end, moved = np.empty(2 * (n + m)), np.empty(2 * (n + m)), np.empty(2 * (n + m))
    k = zeros = 0
    for y in range(2):
        j, room = -1, 0.0
        zeros = k if y == 1 else 0
        for i in range(n):
            left = w1[i] if y == 1 else w0[i]
            while left > 0.0:
                while room <= 0.0 and j < m - 1:
                    j += 1
                    room = law[j] * (b[j] if y == 1 else 1.0 - b[j])
                mass = min(left, room) if room > 0.0 else left
                start[k], end[k], moved[k] = p[i], b[j] if room > 0.0 or k == zeros else end[k - 1], mass
                left -= mass
                room -= mass
                k += 1
    outcome = np.zeros(k, dtype=np.int8)
    for i in range(zeros, k):
        outcome[i] = 1
    return start[:k], outcome, end[:k], moved[:k]
