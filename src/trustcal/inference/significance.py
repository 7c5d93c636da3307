"""Tests of calibration: could chance alone have shown this much?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import checked_count, checked_names
from trustcal.inference.floor import Floor, floor_of
from trustcal.inference.sampler import RowSampler
from trustcal.measures.table import MEASURES
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]

TIE = 1e-12
"""Statistics this close are equal up to rounding, and a tie counts against the finding."""


@final
@dataclass(frozen=True)
class CalibrationTest:
    """Whether a statistic is larger than a calibrated predictor would show by chance."""

    statistic: str
    """The key of a measure."""
    value: float
    """The statistic as tested: `floor.cells` and `note` say what it was taken on."""
    p_value: float
    """At most this share of calibrated predictors with these predictions would show as much; never 0."""
    floor: Floor
    """What calibrated predictors show."""

    @property
    def draws(self) -> int:
        """The number of simulated data sets."""
        return self.floor.draws

    @property
    def note(self) -> str:
        """What was pooled or approximated; empty if nothing was."""
        return self.floor.note


def calibration_tests(
    q: Predictor,
    statistics: Iterable[str] = ("smcal", "dtc", "ece", "cdl"),
    *,
    draws: int = 999,
    cells: int | None = None,
    rng: np.random.Generator | int,
) -> tuple[CalibrationTest, ...]:
    """Test the hypothesis that the predictions are calibrated: Pr[y = 1 | p] = p for independent rows (Theorem 26).

        p-value = (1 + number of draws that show at least as much) / (1 + draws)

    A draw has the same predictions, and outcomes y ~ Bernoulli(p).  If the predictor is calibrated, the observed
    statistic and the drawn ones are exchangeable, so Pr[p-value ≤ a] ≤ a exactly, for every number of rows and draws,
    pooled or not, since bins depend on predictions only.  One simulation serves all statistics.  Weights must not
    depend on outcomes.  Where weights differ among the rows of a value, or predictions had been moved (`q.moved`),
    draws are approximate, and the note says so.

    Parameters
    ----------
    q : a predictor made from rows.
    statistics : keys of measures, such as monotone_cdl and smcal.
    draws : the number of simulated data sets.
    cells : the number of bins for ECE and CDL; unless given, the values as they are, or `suggested_cells` bins where
        these are too rare to have a frequency.
    rng : a numpy Generator or a seed.

    Returns
    -------
    tuple of CalibrationTest : one per statistic, in the order given.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> honest, confident = (Predictor.from_samples(rng.random(1000) < x, p) for x in (p, p**1.2))
    >>> [test.p_value for q in (honest, confident) for test in calibration_tests(q, ["smcal"], draws=99, rng=0)]
    [0.69, 0.01]

    O(draws · n log n); more than 2^14 values are pooled first, at their means.
    """
    names, draws = checked_names("statistics", statistics, MEASURES), checked_count("draws", draws)
    sampler = RowSampler.of(q, cells)
    shown = sampler.simulated(sampler.calibrated_draw, names, draws, rng)
    observed = sampler.values(sampler.observed, names)
    return tuple(
        calibration_test_of(sampler, name, value, column)
        for name, value, column in zip(names, observed, shown.T, strict=True)
    )


def calibration_test_of(sampler: RowSampler, statistic: str, value: float, shown: FloatArray) -> CalibrationTest:
    """The test, from what calibrated draws showed."""
    as_much = int((shown >= value - TIE).sum())
    return CalibrationTest(statistic, value, (1 + as_much) / (1 + len(shown)), floor_of(sampler, statistic, shown))
