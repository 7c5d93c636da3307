"""The chord over 1/2, against all chords in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import trustcal as tc
from tests.strategies import probabilities
from trustcal.decisions.envelope import bridge, over_half

Points = list[tuple[float, float]]
NEAR = 0.5 + 2**-53


def highest(points: Points) -> Fraction:
    """The best of all chords from a point below 1/2 to one above."""
    exact = [(Fraction(x), Fraction(y)) for x, y in points]
    half = Fraction(1, 2)
    return max(
        (a[1] * (b[0] - half) + b[1] * (half - a[0])) / (b[0] - a[0])
        for a in exact
        for b in exact
        if a[0] < half < b[0]
    )


@given(st.dictionaries(probabilities, st.floats(0, 1), max_size=12), st.tuples(st.floats(0, 1), st.floats(0, 1)))
@example({0.125: 0.875, NEAR: 0.5}, (0.0, 0.0))
@example({5e-324: 0.999994, 0.125: 0.874996, NEAR: 0.499997}, (0.0, 0.0))
def test_no_chord_is_higher(heights: dict[float, float], ends: tuple[float, float]) -> None:
    points = sorted(heights.items())
    x, y = (np.array(column) for column in zip(*points, strict=True)) if points else (np.array([]), np.array([]))
    start, end = (0.0, ends[0]), (1.0, ends[1])
    a, b = bridge(x, y, (start, end))
    assert {a, b} <= {*points, start, end}
    assert over_half(a, b) == pytest.approx(float(highest([*points, start, end])), abs=1e-15)


def test_a_prediction_next_to_one_half_hides_nobody() -> None:
    """A chord that ends 2^-53 above 1/2 gains less than a rounding error by a better end, and is not the highest."""
    q = tc.Predictor([0.0, 0.0625, NEAR, 1.0], [0.25] * 4, [0.0, 0.0, 0.125, 0.0])
    assert tc.cdl(q) == pytest.approx(4 / 15, abs=1e-15)
