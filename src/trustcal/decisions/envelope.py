"""Upper envelopes over [0, 1]: of finitely many lines, in rational arithmetic, and of points, at 1/2."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from trustcal.kernels.blocks import blocks

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Point = tuple[float, float]


def upper_envelope(payoff: FloatArray) -> tuple[FloatArray, IntArray]:
    """Thresholds and best actions: the upper envelope of the lines U(a, 0) + p·(U(a, 1) − U(a, 0)) over [0, 1].

    In rational arithmetic, so that rounding decides neither nearly parallel lines nor ties.  A line that only touches
    the envelope at 0 or 1 is part of it: at a forecast of exactly 0 the decision maker is indifferent.
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


def bridge(x: FloatArray, y: FloatArray, ends: tuple[Point, Point]) -> tuple[Point, Point]:
    """The end points of the chord that is highest at 1/2, among points with x increasing and the two ends, at 0 and 1.

    >>> bridge(np.array([0.25, 0.375, 0.75]), np.array([0.5, 0.5, 0.25]), ((0.0, 0.0), (1.0, 0.0)))
    ((0.375, 0.5), (0.75, 0.25))

    A few passes of O(n).
    """
    below, above = int(np.searchsorted(x, 0.5, side="left")), int(np.searchsorted(x, 0.5, side="right"))
    a, b = ends
    for stride in (64, 1):  # first on a subsample, which nearly finds it
        left, right = slice(0, below, stride), slice(above, None, stride)
        tried = set()
        # A point above the line through a and b is a better end and raises the chord at 1/2, possibly by less than a
        # rounding error if one end is close to 1/2.  So stop when a chord repeats, not when the height stays the same.
        while (a, b) not in tried:
            tried.add((a, b))
            slope = (b[1] - a[1]) / (b[0] - a[0])
            a = _touched(x[left], y[left], slope, [a, ends[0]])
            b = _touched(x[right], y[right], slope, [b, ends[1]])
    return a, b


def over_half(a: Point, b: Point) -> float:
    """The height at 1/2 of the chord from a to b.

    >>> over_half((0.25, 1.0), (1.0, 0.25))
    0.75
    """
    return (a[1] * (b[0] - 0.5) + b[1] * (0.5 - a[0])) / (b[0] - a[0])


def _touched(mu: FloatArray, loss: FloatArray, slope: float, others: list[Point]) -> Point:
    """The point that a line of this slope touches from above: the first of the others, unless a point is higher."""
    points = list(others)
    for block in blocks(len(mu)):
        highest = block.start + int(np.argmax(loss[block] - slope * mu[block]))
        points.append((float(mu[highest]), float(loss[highest])))
    return max(points, key=lambda point: point[1] - slope * point[0])
