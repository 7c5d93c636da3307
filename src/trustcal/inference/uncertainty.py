"""Uncertainty: the test and the interval of each measure, from the same draws, as an audit shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from trustcal.checking import checked_confidence, checked_count, checked_names, generator
from trustcal.inference.bootstrap import ConfidenceInterval, interval_of
from trustcal.inference.sampler import RowSampler
from trustcal.inference.significance import CalibrationTest, calibration_test_of
from trustcal.measures.table import MEASURES
from trustcal.predictor import Predictor, as_predictor


@final
@dataclass(frozen=True)
class Uncertainty:
    """What rows tell about one measure: whether it may be chance, and how large it may be in the population."""

    value: float
    """The measure of the rows; `test.value` is that of the rows pooled, where there are very many values."""
    test: CalibrationTest
    """Could chance alone have shown as much?"""
    interval: ConfidenceInterval
    """For the measure of the population."""

    @property
    def measure(self) -> str:
        """The key of the measure."""
        return self.test.statistic

    @property
    def lower(self) -> float:
        """The lower end of the interval."""
        return self.interval.lower

    @property
    def upper(self) -> float:
        """The upper end of the interval."""
        return self.interval.upper

    @property
    def floor(self) -> float:
        """The mean of the measure if the predictions were calibrated."""
        return self.test.floor.mean

    @property
    def floor_upper(self) -> float:
        """What calibrated predictions exceed with probability at most 1/20."""
        return self.test.floor.quantile_95

    @property
    def p_value(self) -> float:
        """The probability that chance alone shows at least as much."""
        return self.test.p_value

    @property
    def excess(self) -> float:
        """The part above the floor: value − floor, or 0."""
        return max(0.0, self.value - self.floor)


def uncertainties(
    q: Predictor,
    statistics: Iterable[str],
    confidence: float = 0.95,
    *,
    draws: int,
    cells: int | None = None,
    known: Mapping[str, float] | None = None,
    rng: np.random.Generator | int,
) -> tuple[Uncertainty, ...]:
    """`calibration_tests` and `bootstrap_interval` of several statistics; calibrated outcomes are drawn once for both.

    Parameters
    ----------
    q : a predictor made from rows.
    statistics : keys of measures, such as monotone_cdl and smcal.
    confidence : the nominal coverage of the intervals, strictly between 0 and 1.
    draws : the number of data sets of each kind.
    cells : the number of bins for ECE and CDL; unless given, as in `calibration_tests`.
    known : what some of these measures are, on these bins, so that they are not computed again.
    rng : a numpy Generator or a seed.

    Returns
    -------
    tuple of Uncertainty : one per statistic, in the order given.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> q = Predictor.from_samples(rng.random(1000) < p**1.5, p)
    >>> (smooth,) = uncertainties(q, ["smcal"], draws=99, rng=0)
    >>> smooth.p_value, smooth.lower < smooth.value < smooth.upper
    (0.01, True)

    O(draws · n log n); more than 2^14 values are pooled first, at their means.
    """
    names, draws = checked_names("statistics", statistics, MEASURES), checked_count("draws", draws)
    confidence, random = checked_confidence(confidence), generator(rng)
    q = as_predictor(q)
    sampler, measured = RowSampler.of(q, cells), dict(known or {})
    calibrated = sampler.simulated(sampler.calibrated_draw, names, draws, random)
    again = sampler.simulated(sampler.resampled, names, draws, random)
    missing = [name for name in names if name not in measured]
    if missing:
        measured |= zip(missing, sampler.values(q, missing), strict=True)
    observed = sampler.values(sampler.observed, names) if sampler.pooled else [measured[name] for name in names]
    found = []
    for name, value, null, other in zip(names, observed, calibrated.T, again.T, strict=True):
        test = calibration_test_of(sampler, name, value, null)
        interval = interval_of(sampler, test.floor, value, other, null, confidence)
        found.append(Uncertainty(measured[name], test, interval))
    return tuple(found)
