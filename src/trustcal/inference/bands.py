"""Bands around curves, and the held-out value of moving thresholds.

profile_band      the loss profile at all thresholds at once (Dvoretzky, Kiefer, Wolfowitz and Massart)
isotonic_band     the calibration curve at all predictions at once, if it does not decrease
held_out          thresholds moved as some rows say, judged on others
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import Role, checked_confidence, checked_count, generator
from trustcal.inference.monotone_bounds import change_of
from trustcal.inference.splits import equal_rows, folds_of, others, usable_rows
from trustcal.measures.counts import row_counts
from trustcal.measures.monotone import monotone_cdl_witness
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]

_BINS = 60


@final
@dataclass(frozen=True, eq=False)
class IsotonicBand:
    """Between `lower` and `upper` lies Pr[y = 1 | p] at every prediction value p, with this confidence."""

    p: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float


def profile_band(q: Predictor, confidence: float = 0.95) -> float:
    """How far the loss profile D of the rows is from the population's, at all thresholds at once (Theorem 41).

        |D_n(μ) − D(μ)| ≤ 2·√(ln(4/a)/(2n)) for all μ, with probability at least 1 − a

    Parameters
    ----------
    q : Predictor
        Counted from independent rows of equal weight.
    confidence : float
        Between 0 and 1; a = 1 − confidence.

    Returns
    -------
    float
        The half-width of the band around `monotone_cdl_witness(q).profile`; twice it bounds |M_n − M|.

    Examples
    --------
    >>> round(profile_band(Predictor.from_samples([0, 1] * 5000, [0.25, 0.75] * 5000)), 4)
    0.0296

    O(1).
    """
    q, error = equal_rows(q), 1 - checked_confidence(confidence)
    return 2 * sqrt(log(4 / error) / (2 * (q.rows or 1)))


def isotonic_band(q: Predictor, confidence: float = 0.95) -> IsotonicBand:
    """A simultaneous confidence band for the calibration curve Pr[y = 1 | p], if it does not decrease with p.

    Predictions are cut into at most 60 bins of equal mass.  Every run of bins J with N rows and K ones gets a
    Clopper–Pearson interval; what bounds J from below bounds everything to its right, and from above everything to its
    left.  All m(m + 1)/2 runs hold together.

    Parameters
    ----------
    q : Predictor
        Counted from independent rows of equal weight.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    IsotonicBand
        The band at each prediction value.

    Examples
    --------
    >>> band = isotonic_band(Predictor.from_samples([0, 1] * 500, [0.25, 0.75] * 500))
    >>> band.upper[0].round(3), band.lower[1].round(3)
    (np.float64(0.01), np.float64(0.99))

    O(n + m²) for m bins.
    """
    from scipy.stats import beta  # slow to import, and needed here only

    q, confidence = equal_rows(q), checked_confidence(confidence)
    counts = row_counts(q)
    assert counts is not None
    zeros, ones = counts
    middle = np.cumsum(q.mass) - q.mass / 2
    first = np.unique(np.floor(middle * _BINS), return_index=True)[1]  # chosen from predictions, not outcomes
    bins = len(first)
    rows, hits = (np.append(0, np.cumsum(np.add.reduceat(x, first))) for x in (zeros + ones, ones))
    i, j = np.triu_indices(bins)
    trials, successes = rows[j + 1] - rows[i], hits[j + 1] - hits[i]
    each = (1 - confidence) / (bins * (bins + 1))
    low = np.where(successes > 0, beta.ppf(each, successes, trials - successes + 1), 0.0)
    high = np.where(successes < trials, beta.ppf(1 - each, successes + 1, trials - successes), 1.0)
    lower, upper = np.zeros(bins + 1), np.ones(bins + 1)
    np.maximum.at(lower, j + 1, low)
    np.minimum.at(upper, i, high)
    lower, upper = np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]
    # A run bounds the curve from below at and beyond its last value; inside the last bin only earlier runs do.
    value = np.arange(len(q))
    bin_of = np.searchsorted(first, value, side="right") - 1
    last = np.append(first[1:], len(q)) - 1
    below, above = lower[bin_of + (value == last[bin_of])], upper[bin_of + (value != first[bin_of])]
    return IsotonicBand(q.p, below, above, confidence)


def held_out(q: Predictor, folds: int = 5, *, rng: np.random.Generator | int) -> float:
    """What moving thresholds gains when found on some rows and judged on the others, averaged over folds.

    Its mean is at most the population's monotone calibration decision loss, and that of `monotone_cdl` on the same rows
    is at least as much: on average the truth lies between the two (Theorem 37).

    Parameters
    ----------
    q : Predictor
        Counted from rows; those with the same prediction have the same weight, unless rows have clusters.
    folds : int
        At least 2.
    rng : Generator or int
        Chooses the folds.

    Returns
    -------
    float
        May be negative.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> 0.03 < held_out(Predictor.from_samples(rng.random(5000) < p**2, p), rng=0) < 0.08
    True

    O(folds · n).
    """
    q, folds = usable_rows(q), checked_count("folds", folds, least=2)
    parts = folds_of(q, folds, generator(rng, Role.SPLITS))
    total = 0.0
    for part in parts:
        rest = others(parts, part)
        if part and rest:
            total += float((part.weight * change_of(monotone_cdl_witness(rest.law(q.p)), q.p)).sum())
    return total / float(sum(part.weight.sum() for part in parts))
