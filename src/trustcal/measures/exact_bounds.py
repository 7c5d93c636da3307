"""The two bounds on the distance to calibration, evaluated without rounding: floats are whole numbers times 2^−k."""

from __future__ import annotations

from fractions import Fraction
from math import nextafter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trustcal.predictor import Predictor

if TYPE_CHECKING:
    from trustcal.measures.transport import Potentials

FloatArray = NDArray[np.float64]


def exact_lower(q: Predictor, potentials: Potentials) -> Fraction:
    """What the potentials prove, exactly: see `kernels.certificates`."""
    unit, (z, r0, r1, *law) = _whole(potentials.nodes, potentials.r0, potentials.r1, q.p, q.mass, q.positive)
    one, masses = 1 << unit, _exact_masses(z, *law)
    if z[0] != 0 or z[-1] != one or not set(law[0]) <= set(z):
        return Fraction(-1)
    total0, total1 = (sum(column) for column in zip(*masses, strict=True))
    value = sum(w0 * a + w1 * c for (w0, w1), a, c in zip(masses, r0, r1, strict=True))
    excess = []
    for r in (r0, r1):
        lowest, highest, worst = r[0] - z[0], r[0] + z[0], 0
        for x, y in zip(z, r, strict=True):
            lowest, highest = min(lowest, y - x), max(highest, y + x)
            worst = max(worst, y - x - lowest, highest - y - x)
        excess.append(worst)
    violation = max(0, *((one - x) * a + x * c for x, a, c in zip(z, r0, r1, strict=True))) * 8
    for left, right, a, c in zip(z[:-1], z[1:], r0[1:], r1[:-1], strict=True):
        rising, falling = a - right, c + left
        b = min(max(one - rising + falling, 4 * left), 4 * right)  # 4·b*, clipped to the gap
        violation = max(violation, 2 * (4 * one - b) * rising + 2 * b * (one + falling) - b * b)
    lost = excess[0] * total0 + excess[1] * total1
    return Fraction(8 * (value - lost) * one - violation * (total0 + total1), 8 << 3 * unit)


def exact_upper(q: Predictor, nearest: Predictor) -> Fraction:
    """The cost of the law of `nearest`, completed by atoms at 0 and 1, exactly: see `kernels.certificates`."""
    unit, (b, mass, *given) = _whole(nearest.p, nearest.mass, q.p, q.mass, q.positive)
    law, one = dict(zip(b, mass, strict=True)), 1 << unit
    z = sorted({0, one, *b, *given[0]})
    masses = _exact_masses(z, *given)
    total0, total1 = (sum(column) * one for column in zip(*masses, strict=True))
    law0, law1 = sum(m * (one - x) for x, m in law.items()), sum(m * x for x, m in law.items())
    scale = min([Fraction(1)] + [Fraction(t, s) for t, s in ((total0, law0), (total1, law1)) if s > 0])
    k, share = scale.denominator, scale.numerator
    area, ahead0, ahead1 = 0, share * law0 - k * total0, 0
    for (w0, w1), left, right in zip(masses, z[:-1], z[1:], strict=False):
        stay = share * law.get(left, 0)
        ahead0 += k * w0 * one - stay * (one - left)
        ahead1 += k * w1 * one - stay * left
        area += (right - left) * (abs(ahead0) + abs(ahead1))
    return Fraction(area, k << 3 * unit)


def rounded(value: Fraction, towards: float) -> float:
    """The float next to the value in that direction, or the value where it is one."""
    near = float(value)
    wrong = Fraction(near) < value if towards > 0 else Fraction(near) > value
    return nextafter(near, towards) if wrong else near


def _whole(*arrays: FloatArray) -> tuple[int, list[list[int]]]:
    """Rational arithmetic with whole numbers: k, and the arrays times 2**k, exactly.  Floats allow it."""
    ratios = [[value.as_integer_ratio() for value in array.tolist()] for array in arrays]
    length = max(denominator.bit_length() for column in ratios for _, denominator in column)
    return length - 1, [[a << (length - b.bit_length()) for a, b in column] for column in ratios]


def _exact_masses(nodes: list[int], p: list[int], mass: list[int], positive: list[int]) -> list[tuple[int, int]]:
    """Zeros and ones at each node."""
    law = {x: (both - one, one) for x, both, one in zip(p, mass, positive, strict=True)}
    return [law.get(node, (0, 0)) for node in nodes]
