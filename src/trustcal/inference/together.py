"""Tests and intervals of several measures from the same draws: what an audit shows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from trustcal.checking import checked_count, generator
from trustcal.inference.bootstrap import ConfidenceInterval, interval_of
from trustcal.inference.rows import Design
from trustcal.inference.significance import CalibrationTest, calibration_test_of
from trustcal.inference.simulation import (
    checked_confidence,
    checked_statistics,
    drawn_values,
    values,
)
from trustcal.predictor import Predictor


def inferences(
    q: Predictor,
    statistics: Iterable[str],
    confidence: float = 0.95,
    *,
    draws: int,
    cells: int | None = None,
    rng: np.random.Generator | int,
) -> tuple[tuple[CalibrationTest, ConfidenceInterval], ...]:
    """`calibration_tests` and `bootstrap_interval` of each statistic; calibrated outcomes are drawn once for both.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> q = Predictor.from_samples(rng.random(1000) < p**1.5, p)
    >>> ((test, interval),) = inferences(q, ["smcal"], draws=99, rng=0)
    >>> test.p_value, interval.lower < interval.estimate < interval.upper
    (0.01, True)

    O(draws · n log n); more than 2^14 values are pooled first, at their means.
    """
    names, draws = checked_statistics(statistics), checked_count("draws", draws)
    confidence = checked_confidence(confidence)
    design, random = Design.of(q, cells), generator(rng)
    calibrated = drawn_values(design, design.calibrated_draw, names, draws, random)
    again = drawn_values(design, design.resampled, names, draws, random)
    observed = values(design, design.observed, names)
    return tuple(
        (calibration_test_of(design, name, value, null), interval_of(design, name, value, other, null, confidence))
        for name, value, null, other in zip(names, observed, calibrated.T, again.T, strict=True)
    )
