"""Bootstrap intervals: tighter than what can be proved, and only approximately right."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import checked_confidence, checked_count, checked_names, generator
from trustcal.inference.sampler import RowSampler
from trustcal.measures.pooling import sparse
from trustcal.measures.table import MEASURES
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True)
class ConfidenceInterval:
    """The statistic of the population lies in [lower, upper], with about this confidence: measured, not proved."""

    statistic: str
    """The key of a measure."""
    estimate: float
    """The statistic of the rows."""
    lower: float
    """The lower end."""
    upper: float
    """The upper end."""
    confidence: float
    """The nominal coverage."""
    cells: int | None
    """ECE and CDL: taken on this many bins of equal mass; None: on the values as they are."""
    note: str
    """What was pooled or approximated; empty if nothing was."""


def bootstrap_interval(
    q: Predictor,
    statistic: str,
    confidence: float = 0.95,
    *,
    draws: int = 200,
    cells: int | None = None,
    rng: np.random.Generator | int,
) -> ConfidenceInterval:
    """An approximate confidence interval by the bootstrap, with the sampling floor subtracted below.

    Measures are never negative, and rows show more than there is: the more so, the less there is.  Rows drawn from rows
    show more again, so the usual percentile interval always misses a calibrated truth, 0.  With T the measure of the
    rows, T* that of as many rows drawn from them, T° that of calibrated outcomes (`sampling_floor`), and h(…) the
    quantile at (1 + confidence)/2,

        lower = T − max(h(T*) − T, h(T°)), at least 0,          upper = h(T*), at least T,

    and `lower` is at most the quantile of T* at (1 − confidence)/2, which matters next to the largest possible value.

    The monotone decision loss of continuous predictions is nearly normal, and rows overstate it by about the mean
    floor, wherever the truth is.  With z the normal quantile at (1 + confidence)/2 its interval goes from T −
    mean(T°) − z·sd(T*) to T + z·sd(T*), which is steadier with few draws than their quantiles.

    theory.md argues, for many rows, that h(T*) is rather too high than too low above, and h(T°) below;
    `benchmarks/coverage.py` measures the coverage.

    Parameters
    ----------
    q : a predictor made from rows.
    statistic : the key of a measure, such as monotone_cdl or smcal.
    confidence : the nominal coverage, strictly between 0 and 1.
    draws : the number of data sets of each kind.
    cells : the number of bins for ECE and CDL; unless given, as in `calibration_tests`.
    rng : a numpy Generator or a seed.

    Returns
    -------
    ConfidenceInterval : the interval.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> interval = bootstrap_interval(Predictor.from_samples(rng.random(2000) < p**1.5, p), "smcal", rng=0)
    >>> interval.lower < 0.1 < interval.upper                                     # the truth
    True

    O(draws · n log n).  More than 2^14 values are pooled first, at their means; the most that this can have moved a
    smooth measure is added on both sides.
    """
    (statistic,) = checked_names("statistics", [statistic], MEASURES)
    draws, confidence = checked_count("draws", draws), checked_confidence(confidence)
    sampler, random = RowSampler.of(q, cells), generator(rng)
    again = sampler.simulated(sampler.resampled, (statistic,), draws, random)
    calibrated = sampler.simulated(sampler.calibrated_draw, (statistic,), draws, random)
    (estimate,) = sampler.values(sampler.observed, (statistic,))
    return interval_of(sampler, statistic, estimate, again, calibrated, confidence)


def interval_of(
    sampler: RowSampler,
    statistic: str,
    estimate: float,
    again: FloatArray,
    calibrated: FloatArray,
    confidence: float,
) -> ConfidenceInterval:
    """The interval from what was drawn: rows again, and calibrated outcomes."""
    pooling = sampler.pooling_effect(statistic)
    # Where values repeat, few rules compete, and rare events make the law of the loss skew.
    ends = _monotone_interval if MEASURES[statistic].debiased and sparse(sampler.fine) else _interval
    lower, upper = ends(estimate, again, calibrated, confidence)
    return ConfidenceInterval(
        statistic,
        estimate,
        max(0.0, lower - pooling),
        min(1.0, upper + pooling),
        confidence,
        sampler.occupied if MEASURES[statistic].conditional else None,
        sampler.note,
    )


def maximum_interval(
    estimate: float, again: FloatArray, calibrated: FloatArray, confidence: float
) -> tuple[float, float]:
    """For what rows overstate by its floor, wherever the truth is: the loss of the best of a few rules."""
    lower, upper = _monotone_interval(estimate, again, calibrated, confidence)
    return lower, max(estimate, upper + float(again.mean()) - estimate)  # a loss of 0 varies less than its rules do


def _monotone_interval(
    estimate: float, again: FloatArray, calibrated: FloatArray, confidence: float
) -> tuple[float, float]:
    """For the loss of the best of very many rules: it is above that of the rule that is best in the population."""
    spread = NormalDist().inv_cdf((1 + confidence) / 2) * float(again.std())
    return max(0.0, estimate - float(calibrated.mean()) - spread), estimate + spread


def _interval(estimate: float, again: FloatArray, calibrated: FloatArray, confidence: float) -> tuple[float, float]:
    high, floor = _high(again, confidence), _high(calibrated, confidence)
    low = float(np.quantile(again, (1 - confidence) / 2, method="lower"))
    return max(0.0, min(low, estimate - max(high - estimate, floor))), max(estimate, high)


def _high(shown: FloatArray, confidence: float) -> float:
    return float(np.quantile(shown, (1 + confidence) / 2, method="higher"))
