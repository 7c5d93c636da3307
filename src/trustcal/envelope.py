"""The upper envelope of finitely many lines over [0, 1], without rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


def upper_envelope(payoff: FloatArray) -> tuple[FloatArray, IntArray]:
    """Thresholds and best actions: the upper envelope of the lines U(a, 0) + p·(U(a, 1) − U(a, 0)) over [0, 1].

    In rational arithmetic, so that neither nearly parallel lines nor ties are decided by rounding.  A line that only
    touches the envelope at 0 or at 1 is part of it: a forecast of exactly 0 leaves its owner indifferent there.
    """
    lines = sorted(
        (Fraction(at_1) - Fraction(at_0), Fraction(at_0), -action)
        for action, (at_0, at_1) in enumerate(payoff.tolist())
    )
    hull: list[tuple[Fraction, Fraction, int]] = []
    changes: list[Fraction] = []
    for line in lines:
        if hull and hull[-1][0] == line[0]:  # parallel: the later one is higher, or equal with a lower index
            hull.pop()
            if hull:
                changes.pop()
        while hull:
            crossing = (hull[-1][1] - line[1]) / (line[0] - hull[-1][0])
            if changes and crossing <= changes[-1]:
                hull.pop()
                changes.pop()
            else:
                changes.append(crossing)
                break
        hull.append(line)
    first = sum(change < 0 for change in changes)
    last = sum(change <= 1 for change in changes)
    responses = np.array([-line[2] for line in hull[first : last + 1]], dtype=np.intp)
    return np.array([float(change) for change in changes[first:last]]), responses
