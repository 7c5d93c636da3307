"""Bootstrap intervals: tighter than what can be proved, and only approximately right."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import checked_confidence, checked_count, checked_names, generator
from trustcal.inference.floor import Floor, floor_of, rank, rarely_exceeded
from trustcal.inference.sampler import RowSampler
from trustcal.inference.significance import TIE
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
    """An approximate confidence interval: tests turned into an interval below, the bootstrap above.

    Measures are never negative, and rows show more than there is: the more so, the less there is.  Rows drawn from rows
    show more again, so the usual percentile interval always misses a calibrated truth, 0.  Let T be the measure of the
    rows, T° that of calibrated outcomes (`sampling_floor`), where the truth is 0, and T* that of as many rows drawn
    from the rows.  Let h be the quantile at (1 + confidence)/2 and h° the one at `confidence`, and Q(t) what rows
    rarely exceed if the truth is t.  `lower` is the t with Q(t) = T, or 0 if T ≤ Q(0):

        Q(0) = h°(T°),    Q(T) = h(T*),    Q(t) linear between;          upper = h(T*), at least T.

    So `lower` is positive only if the p-value of the measure (`calibration_tests`) is at most 1 − confidence; with
    fewer than confidence/(1 − confidence) draws no p-value is, and it is 0.  Where the truth is 0 all of the error is
    below, as nothing can be missed above.  `lower` is at most the estimate T − mean(T°), and at most the quantile of T*
    at (1 − confidence)/2, which matters next to the largest possible value.

    ECE and CDL add up what chance shows at every value, and rows drawn again add less than half of it once more: for
    these Q(T) is at least T + h°(T°).

    The monotone decision loss of continuous predictions is nearly normal, rows overstate it by about the mean floor
    wherever the truth is, and near 0 it varies with the square root of the truth.  With s = z·sd(T*), z the normal
    quantile at (1 + confidence)/2, its Q(t) is t + h°(T°) + (mean(T°) + s − h°(T°))·√(t/T), and upper = T + s, which is
    steadier with few draws than their quantiles.

    U-calibration and two-action regret are 0 for many predictors that are not calibrated, whose rows show more than
    calibrated ones; for these Q(0) is at least h°(T*) − T.

    theory.md says what is argued, for many rows, and what is only measured; `benchmarks/coverage.py` measures the
    coverage.

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
    again = sampler.simulated(sampler.resampled, (statistic,), draws, random)[:, 0]
    calibrated = sampler.simulated(sampler.calibrated_draw, (statistic,), draws, random)[:, 0]
    (estimate,) = sampler.values(sampler.observed, (statistic,))
    return interval_of(sampler, floor_of(sampler, statistic, calibrated), estimate, again, calibrated, confidence)


def interval_of(
    sampler: RowSampler,
    floor: Floor,
    estimate: float,
    again: FloatArray,
    calibrated: FloatArray,
    confidence: float,
) -> ConfidenceInterval:
    """The interval from what was drawn: rows again, and calibrated outcomes, of which the floor was made."""
    measure, pooling = MEASURES[floor.statistic], sampler.pooling_effect(floor.statistic)
    # Where values repeat, few rules compete, and rare events make the law of the loss skew.
    normal = measure.debiased and sparse(sampler.fine)
    if normal:
        spread = NormalDist().inv_cdf((1 + confidence) / 2) * float(again.std())
        high, upper = estimate + floor.mean + spread, estimate + spread
    else:
        high = _high(again, confidence)
        upper = max(estimate, high)
    if rank(len(calibrated), confidence) > len(calibrated):
        lower = 0.0
    else:
        limit = rarely_exceeded(calibrated, confidence)
        if not measure.strict:
            limit = max(limit, rarely_exceeded(again, confidence) - estimate)
        if measure.conditional:  # rows drawn again show too little of what chance adds at many values without bias
            high = max(high, estimate + limit)
        lower = inverted(estimate, limit, high, root=normal)
    if not normal:
        lower = min(lower, float(np.quantile(again, (1 - confidence) / 2, method="lower")))
    return ConfidenceInterval(
        floor.statistic,
        estimate,
        max(0.0, min(lower, estimate - floor.mean) - pooling),
        min(1.0, upper + pooling),
        confidence,
        floor.cells,
        sampler.note,
    )


def inverted(estimate: float, floor: float, high: float, *, root: bool) -> float:
    """The truth t ≥ 0 with Q(t) = estimate, where Q(0) = floor and Q(estimate) = high; 0 if the estimate is not higher.

    Between them Q is linear; with `root`, Q(t) − t is linear in √t.

    >>> inverted(0.5, 0.25, 0.75, root=False), inverted(0.5, 0.5, 0.75, root=False)
    (0.25, 0.0)
    """
    above = estimate - floor
    if above <= TIE:
        return 0.0
    if high <= estimate:
        return estimate
    if not root:
        return estimate * (above / (high - floor))
    less = floor - (high - estimate)  # u = √(t/T) solves T·u² − less·u = above; of two formulas, the one that adds
    both = abs(less) + sqrt(less**2 + 4 * estimate * above)
    return estimate * float(both / (2 * estimate) if less > 0 else 2 * above / both) ** 2


def maximum_interval(
    estimate: float, again: FloatArray, calibrated: FloatArray, confidence: float
) -> tuple[float, float]:
    """For what rows overstate by its floor, wherever the truth is: the loss of the best of a few rules."""
    spread = NormalDist().inv_cdf((1 + confidence) / 2) * float(again.std())
    upper = max(estimate, float(again.mean()) + spread)  # a loss of 0 varies less than its rules do
    return max(0.0, estimate - float(calibrated.mean()) - spread), upper


def _high(shown: FloatArray, confidence: float) -> float:
    return float(np.quantile(shown, (1 + confidence) / 2, method="higher"))
