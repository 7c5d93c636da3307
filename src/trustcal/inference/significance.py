"""Tests of calibration: could chance alone have shown this much?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from trustcal.checking import checked_count
from trustcal.inference.floor import Floor, floor_of
from trustcal.inference.rows import Design
from trustcal.inference.simulation import FloatArray, checked_statistics, drawn_values, values
from trustcal.predictor import Predictor

TIE = 1e-12
"""Statistics this close are equal up to rounding, and a tie counts against the finding."""


@final
@dataclass(frozen=True)
class CalibrationTest:
    """Whether a statistic is larger than a calibrated predictor would show by chance."""

    statistic: str
    value: float
    """The statistic as tested: see `floor.cells` and `note` for what it was taken on."""
    p_value: float
    """Of calibrated predictors with these predictions, at most this share would show as much; never 0."""
    floor: Floor
    draws: int
    note: str
    """What was pooled or approximated; empty where nothing was."""


def calibration_tests(
    q: Predictor,
    statistics: Iterable[str] = ("smcal", "dtc", "ece", "cdl"),
    *,
    draws: int = 999,
    cells: int | None = None,
    rng: np.random.Generator | int,
) -> tuple[CalibrationTest, ...]:
    """Test whether the predictions could be calibrated: Pr[y = 1 | p] = p for rows drawn independently (Theorem 26).

        p-value = (1 + number of draws that show at least as much) / (1 + draws)

    A draw has the same predictions, and outcomes y ~ Bernoulli(p).  If the predictor is calibrated, the observed
    statistic and the drawn ones are exchangeable, so Pr[p-value ≤ a] ≤ a exactly, for every number of rows and draws:
    statistics depend on outcomes as they do on drawn ones, pooled or not, since cells depend on predictions only.  One
    simulation serves all statistics.  ECE and CDL are taken on the values as they are, on `suggested_cells` where these
    are too rare to have a frequency, or on `cells`.  Weights must not depend on outcomes.  Where weights differ among
    the rows of a value, or predictions were moved before (`q.moved`), draws are approximate, and the note says so.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> honest, confident = (Predictor.from_samples(rng.random(1000) < x, p) for x in (p, p**1.2))
    >>> [test.p_value for q in (honest, confident) for test in calibration_tests(q, ["smcal"], draws=99, rng=0)]
    [0.72, 0.01]

    O(draws · n log n); more than 2^14 values are pooled first, at their means.
    """
    names, draws = checked_statistics(statistics), checked_count("draws", draws)
    design = Design.of(q, cells)
    shown = drawn_values(design, design.calibrated_draw, names, draws, rng)
    observed = values(design, design.observed, names)
    return tuple(
        calibration_test_of(design, name, value, column)
        for name, value, column in zip(names, observed, shown.T, strict=True)
    )


def calibration_test_of(design: Design, statistic: str, value: float, shown: FloatArray) -> CalibrationTest:
    """The test, from what calibrated draws showed."""
    as_much = int((shown >= value - TIE).sum())
    floor = floor_of(design, statistic, shown)
    return CalibrationTest(statistic, value, (1 + as_much) / (1 + len(shown)), floor, len(shown), design.note)
