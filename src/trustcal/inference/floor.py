"""The sampling floor: what a measure shows of a perfectly calibrated predictor, just because rows are finite."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import checked_count, checked_names
from trustcal.inference.sampler import RowSampler
from trustcal.measures.atb import atb_floor
from trustcal.measures.table import MEASURES
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Floor:
    """What a statistic would show if the predictions were calibrated: a value below the quantile is not evidence."""

    statistic: str
    """The key of a measure."""
    mean: float
    """Its mean over calibrated outcomes."""
    quantile_95: float
    """A calibrated predictor shows more with probability at most 1/20; with fewer than 19 draws, 1/(draws + 1)."""
    draws: int
    """The number of simulated data sets."""
    cells: int | None
    """ECE and CDL: taken on this many bins of equal mass; None: on the values as they are."""
    note: str
    """What was pooled or approximated; empty if nothing was."""


def sampling_floor(
    q: Predictor,
    statistic: str,
    *,
    draws: int = 200,
    cells: int | None = None,
    rng: np.random.Generator | int,
) -> Floor:
    """What a measure would show of a perfectly calibrated predictor with q's predictions and sample size.

    Outcomes are simulated, y ~ Bernoulli(p) for every row, and measured.  The mean of ECE on single values is in closed
    form, and so is that of ATB.  The same seed gives the same bits.

    Parameters
    ----------
    q : a predictor made from rows.
    statistic : the key of a measure, such as monotone_cdl or smcal.
    draws : the number of simulated data sets.
    cells : the number of bins for ECE and CDL; unless given, as in `calibration_tests`.
    rng : a numpy Generator or a seed.

    Returns
    -------
    Floor : mean and 95 % quantile.

    >>> q = Predictor.from_samples([0, 1, 1, 1] * 10, [0.5, 0.5, 0.75, 0.75] * 10)
    >>> floor = sampling_floor(q, "ece", rng=0)
    >>> round(floor.mean, 6), round(floor.quantile_95, 6)
    (0.081986, 0.175)

    O(draws · n log n).
    """
    (statistic,) = checked_names("statistics", [statistic], MEASURES)
    sampler = RowSampler.of(q, cells)
    shown = sampler.simulated(sampler.calibrated_draw, (statistic,), checked_count("draws", draws), rng)[:, 0]
    return floor_of(sampler, statistic, shown)


def floor_of(sampler: RowSampler, statistic: str, shown: FloatArray) -> Floor:
    """The floor, from what calibrated draws showed."""
    mean = float(shown.mean())
    if statistic == "ece" and sampler.bins is None and sampler.binomial:
        mean = ece_floor(sampler)
    elif statistic == "atb" and sampler.fine.clusters is None:
        mean = atb_floor(sampler.fine).mean
    return Floor(
        statistic,
        mean,
        rarely_exceeded(shown, 0.95),
        len(shown),
        sampler.occupied if MEASURES[statistic].conditional else None,
        sampler.note,
    )


def rarely_exceeded(shown: FloatArray, confidence: float) -> float:
    """The ⌈c·(D + 1)⌉-th smallest of D draws, c the confidence, or the largest.

    One more draw is equally likely to have any rank among the D + 1, so it is larger with probability at most 1 − c; if
    D is too small, at most 1/(D + 1).

    >>> rarely_exceeded(np.arange(39.0), 0.95), rarely_exceeded(np.arange(9.0), 0.95)
    (37.0, 8.0)
    """
    place = min(rank(len(shown), confidence), len(shown)) - 1
    return float(np.partition(shown, place)[place])


def rank(draws: int, confidence: float) -> int:
    """⌈c·(D + 1)⌉, which exceeds D if D draws are too few for this confidence.

    >>> rank(39, 0.95), rank(19, 0.95), rank(18, 0.95)
    (38, 19, 19)
    """
    return ceil(confidence * (draws + 1) * (1 - 1e-12))  # 0.95·20 is 19, however it is rounded


def ece_floor(sampler: RowSampler) -> float:
    """The mean ECE of a calibrated predictor, in closed form.

    A value of mass w with k rows adds w·E|K/k − p|, K binomial, and by De Moivre, with m = ⌊kp⌋ + 1,

        E|K − kp| = 2m·(1 − p)·Pr[K = m] = 2·kp·(1 − p)·Pr[K' = m − 1],   K' binomial with k − 1 rows.

    O(n).
    """
    from scipy.stats import binom

    p, k = sampler.observed.p, sampler.counts
    deviation = 2 * p * (1 - p) * binom.pmf(np.floor(k * p), k - 1, p)
    return float((sampler.observed.mass * deviation).sum())
