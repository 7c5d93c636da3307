"""Is it chance?  One test of calibration for everyone: the smallest of four p-values, calibrated by the same draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import checked_count, generator
from trustcal.inference.sampler import RowSampler
from trustcal.kernels.isotonic import smooth_error_value
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]

_FARTHEST = 16.0
"""Log odds are cut off here, beyond 1 in 10^7: certain predictions have infinite ones."""
_SAME = 1e-12
"""Statistics this close, relatively, are equal up to rounding, and a tie counts against the finding."""
_LEAST = 1e-250
"""No variance is less: the score test divides by it."""
_STEPS = 0.15
"""Per value and draw: plain Python is used up to 133,000 of them, which take less time than loading numba."""
_AT_ONCE = 1 << 20
"""How many numbers are drawn before statistics are taken of them."""


@final
@dataclass(frozen=True)
class CombinedTest:
    """Whether the predictions may be calibrated, by four statistics together."""

    p_value: float
    """At most this share of calibrated predictors with these predictions would stand out as much; never 0."""
    single: Mapping[str, float]
    """The p-value of each statistic alone: cutoff, smcal, slope_and_intercept, spiegelhalter."""
    draws: int
    """The number of simulated data sets."""
    note: str
    """What was pooled or approximated; empty if nothing was."""


def combined_test(q: Predictor, *, draws: int = 999, rng: np.random.Generator | int) -> CombinedTest:
    """Test the hypothesis that the predictions are calibrated: Pr[y = 1 | p] = p (Theorem 26, for a minimum).

    Four statistics of the bias E[(p − y); p] each see other faults well: `cutoff`, over- or underprediction on a range;
    `smcal`, smooth deviations; the score test of slope 1 and intercept 0 of a logistic recalibration (Cox), a shift and
    a wrong spread; and Spiegelhalter's, overconfidence.  Each data set, drawn or observed, gets the share of all data
    sets that show at least as much of a statistic; the smallest of its four shares is its score (ties by their
    product), and the p-value is the share of data sets with at most the score observed.  Data sets are exchangeable if
    the predictor is calibrated, so Pr[p-value ≤ a] ≤ a exactly, as for a single statistic.

    With clusters there are two ways to draw, and the larger p-value counts: outcomes with the correlation found within
    clusters; and the biases of whole clusters with random signs, which allows any dependence within them.

    Parameters
    ----------
    q : Predictor
        Counted from rows.
    draws : int
        The number of simulated data sets.
    rng : Generator or int
        Source of the draws.

    Returns
    -------
    CombinedTest
        The p-value, those of the four statistics, and what was approximated.

    References
    ----------
    Spiegelhalter (1986), Probabilistic prediction in patient management and clinical trials.  Cox (1958), Two further
    applications of a model for binary regression.  Westfall and Young (1993), Resampling-based multiple testing.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> honest, confident = (Predictor.from_samples(rng.random(1000) < x, p) for x in (p, p**1.2))
    >>> combined_test(honest, draws=199, rng=0).p_value > 0.2, combined_test(confident, draws=199, rng=0).p_value
    (True, 0.005)

    O(draws · n); more than 2^14 values are pooled first, at their means.
    """
    sampler, draws, random = RowSampler.of(q), checked_count("draws", draws), generator(rng)
    size = len(sampler.observed)
    smooth_error_value.on(round(_STEPS * draws * size))
    block = max(1, _AT_ONCE // size)
    found = []
    for drawn in (sampler.drawn_bias, *([sampler.flipped_bias] if sampler.fine.clusters is not None else [])):
        table = [_statistics(sampler.observed, sampler.observed.bias[None, :])]
        for first in range(0, draws, block):
            here = min(block, draws - first)
            table.append(_statistics(sampler.observed, np.array([drawn(random) for _ in range(here)])))
        found.append(_shares(np.concatenate(table)))
    p_values, single = zip(*found, strict=True)
    alone = np.max(single, axis=0)
    return CombinedTest(max(p_values), dict(zip(STATISTICS, alone.tolist(), strict=True)), draws, sampler.note)


def _shares(table: FloatArray) -> tuple[float, FloatArray]:
    """The p-value of the first line of the table by the smallest share, and its share for each statistic."""
    table = table / np.maximum(np.abs(table).max(axis=0), np.finfo(float).tiny)
    ranks = np.sort(table, axis=0)
    shares = np.stack(
        [1 - np.searchsorted(ranks[:, j], table[:, j] - _SAME) / len(table) for j in range(table.shape[1])], axis=1
    )
    smallest, product = shares.min(axis=1), np.log(shares).sum(axis=1)
    below = (smallest < smallest[0]) | ((smallest == smallest[0]) & (product <= product[0] + _SAME))
    return float(below.mean()), shares[0]


def _cutoff(_: Predictor, bias: FloatArray) -> FloatArray:
    sums = np.cumsum(bias, axis=1)
    return np.asarray(np.maximum(sums.max(axis=1), 0.0) - np.minimum(sums.min(axis=1), 0.0))


def _smcal(q: Predictor, bias: FloatArray) -> FloatArray:
    value = smooth_error_value.on(round(_STEPS * bias.size))
    lines = bias.view()
    lines.flags.writeable = False  # as the biases of a predictor are: numba compiles a version for each kind
    return np.array([value(q.p, line) for line in lines])


def log_odds(p: FloatArray) -> FloatArray:
    """ln(p/(1 − p)), cut off beyond 1 in 10^7."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log(p) - np.log1p(-p), -_FARTHEST, _FARTHEST))


def _slope_and_intercept(q: Predictor, bias: FloatArray) -> FloatArray:
    """The score test: Uᵀ V⁻¹ U for U = Σ bias·(1, log odds), with V its covariance if the rows are independent."""
    design = np.stack([np.ones(len(q)), log_odds(q.p)], axis=1)
    spread = np.linalg.pinv(design.T @ (bias_variance(q)[:, None] * design))
    score = bias @ design
    return np.asarray(np.einsum("di,ij,dj->d", score, spread, score))


def _spiegelhalter(q: Predictor, bias: FloatArray) -> FloatArray:
    return np.abs(bias @ (1 - 2 * q.p))


def bias_variance(q: Predictor) -> FloatArray:
    """The variance of each value's bias if the predictions are calibrated and the rows independent; never 0."""
    return np.maximum(q.mass**2 / np.maximum(q.rows_at, 1.0) * q.p * (1 - q.p), _LEAST)


STATISTICS: Final[Mapping[str, Callable[[Predictor, FloatArray], FloatArray]]] = {
    "cutoff": _cutoff,
    "smcal": _smcal,
    "slope_and_intercept": _slope_and_intercept,
    "spiegelhalter": _spiegelhalter,
}
"""What is combined: functions of the predictions and of biases E[(p − y); p], a data set a line."""


def _statistics(q: Predictor, bias: FloatArray) -> FloatArray:
    return np.stack([statistic(q, bias) for statistic in STATISTICS.values()], axis=1)
