"""The smooth calibration error, and its mean over random subsets of the rows.

Both are continuous in the predictions: 49.99 % and 50.01 % count as nearly the same, which they are not to someone who
acts above 50 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import Role, checked_count, generator
from trustcal.kernels.isotonic import smooth_error, smooth_error_value
from trustcal.measures.counts import row_counts
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class SmcalWitness:
    """Both certificates of a smooth calibration error, which prove it without reference to the algorithm.

    `sigma` is 1-Lipschitz (up to the rounding of its values) within [−1, 1], so E[σ(p)(p − y)] = `lower` is a lower
    bound.  `fit` is monotone from 0 to S_n, where S is the cumulative bias curve, so
    |S_n| + Σ (p[i+1] − p[i]) |S[i] − fit[i]| = `upper` is an upper bound.  The two agree to about 1e-15.
    """

    lower: float
    """What `sigma` proves."""
    upper: float
    """What `fit` proves."""
    p: FloatArray
    """Prediction values."""
    sigma: FloatArray
    """The best weighting: positive where predictions are too high, negative where they are too low."""
    fit: FloatArray
    """The best monotone fit to the cumulative bias."""

    @property
    def value(self) -> float:
        """The smooth calibration error."""
        return self.upper


def smcal(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Smooth calibration error (Definition 2.14): the most bias that a smooth weighting of the predictions finds.

        smCal = max { E[σ(p)(p − y)] : σ: [0, 1] → [−1, 1], |σ(p) − σ(p')| ≤ |p − p'| }

    The paper's definition bounds only the slope of σ; then the maximum is infinite unless E[p] = E[y], since constants
    may be added.  The bound |σ| ≤ 1, which the literature has and the paper's own remark needs (without the slope bound
    smCal is ECE), is part of the definition here.  DTC/2 ≤ smCal ≤ 2·DTC; the paper's smCal ≤ DTC is false.

    Parameters
    ----------
    y_true, y_prob, sample_weight : Predictor, or array-likes
        A predictor alone, or rows in scikit-learn's order.

    Returns
    -------
    float

    >>> rain = Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])
    >>> round(smcal(rain), 12)
    5.001e-05

    O(n log n), in practice a few sorts.
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    return float(smooth_error_value.on(len(q))(q.p, q.bias))


def smcal_witness(q: Predictor) -> SmcalWitness:
    """The smooth weighting behind `smcal`, and the proof that none finds more bias.

    Parameters
    ----------
    q : Predictor

    Returns
    -------
    SmcalWitness

    >>> witness = smcal_witness(Predictor([0.25, 0.75], [0.5, 0.5], [0.5, 0.0]))
    >>> witness.lower, witness.upper, witness.sigma
    (0.1875, 0.1875, array([0. , 0.5]))

    O(n log n).
    """
    q = as_predictor(q)
    lower, upper, sigma, fit = smooth_error.on(len(q))(q.p, q.bias)
    for array in (sigma, fit):
        array.flags.writeable = False
    return SmcalWitness(float(lower), float(upper), q.p, sigma, fit)


@final
@dataclass(frozen=True)
class SsceEstimate:
    """A mean over random subsets of the rows, with its Monte Carlo error."""

    value: float
    """The mean."""
    standard_error: float
    """Its standard error."""
    samples: int
    """The number of subsets."""


def ssce(
    y_true: Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    *,
    samples: int = 100,
    rng: np.random.Generator | int,
) -> float:
    """Subsampled smooth calibration error (Haghtalab et al. 2024), which honest forecasts nearly minimise.

        SSCE = (1/T) E_S[ max over σ of Σ_{t in S} σ(p_t)(p_t − y_t) ],  S keeps each row with probability 1/2

    The authors do not divide by T.  Here every error is per row, counting all rows and not only those kept, so that
    SSCE ≥ smCal/2.  The expectation is a mean over random subsets; `ssce_estimate` gives its standard error.

    Parameters
    ----------
    y_true, y_prob : Predictor, or array-likes
        A predictor made from rows of equal weight, or rows in scikit-learn's order.
    samples : int
        The number of subsets, at least 2.
    rng : numpy Generator or int
        The source of randomness, or a seed.

    Returns
    -------
    float

    References
    ----------
    Haghtalab, Qiao, Yang, Zhao, "Truthfulness of calibration measures", NeurIPS 2024.

    >>> ssce([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5], samples=1000, rng=0)             # in truth 0.140625
    0.1365

    O(samples · n log n).
    """
    return ssce_estimate(as_predictor(y_true, y_prob), samples=samples, rng=rng).value


def ssce_estimate(q: Predictor, *, samples: int = 100, rng: np.random.Generator | int) -> SsceEstimate:
    """`ssce` with its Monte Carlo error; the same seed gives the same bits.

    Rows with the same value and outcome are interchangeable, so the number of them that is kept is one binomial draw:
    the cost is per distinct value, not per row.

    Parameters
    ----------
    q : Predictor
        Made from rows of equal weight.
    samples : int
        The number of subsets, at least 2.
    rng : numpy Generator or int
        The source of randomness, or a seed.

    Returns
    -------
    SsceEstimate

    >>> estimate = ssce_estimate(Predictor.from_samples([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5]), samples=1000, rng=0)
    >>> abs(estimate.value - 0.140625) < 2 * estimate.standard_error
    True

    O(samples · n log n).
    """
    checked_count("samples", samples, least=2)  # one sample has no standard error
    q = as_predictor(q)
    if q.rows is None:
        raise ValueError("subsets need rows, but this predictor is a known law. Use Predictor.from_samples.")
    counts = row_counts(q)
    if counts is None:
        raise ValueError("subsets need rows of equal weight, but these have different weights. Leave the weights out.")
    zeros, ones = counts
    random = generator(rng, Role.SPLITS)
    measured = smooth_error_value.on(samples * len(q))
    errors = np.empty(samples)
    for i in range(samples):
        kept_zeros, kept_ones = random.binomial(zeros, 0.5), random.binomial(ones, 0.5)
        errors[i] = measured(q.p, (q.p * (kept_zeros + kept_ones) - kept_ones) / q.rows)
    return SsceEstimate(float(errors.mean()), float(errors.std(ddof=1)) / sqrt(samples), samples)
