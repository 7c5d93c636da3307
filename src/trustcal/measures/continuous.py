"""The smooth calibration error, and its mean over random subsets of the rows.

They forgive what a decision maker cannot: predictions of 49.99 % and 50.01 % count as nearly the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import checked_count, generator
from trustcal.kernels.isotonic import smooth_error, smooth_error_value
from trustcal.measures.counts import row_counts
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class SmcalWitness:
    """Both certificates of a smooth calibration error: nobody has to believe the algorithm.

    `sigma` is 1-Lipschitz (up to the rounding of its values) within [−1, 1], so E[σ(p)(p − y)] = `lower` is a lower
    bound.  `fit` is monotone from 0 to S_n, where S is the cumulative bias curve, so
    |S_n| + Σ (p[i+1] − p[i]) |S[i] − fit[i]| = `upper` is an upper bound.  The two agree to about 1e-15.
    """

    lower: float
    upper: float
    p: FloatArray
    sigma: FloatArray
    """Where the bias is: positive weights where predictions are too high, negative where they are too low."""
    fit: FloatArray

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

    >>> rain = Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])
    >>> round(smcal(rain), 12)
    5.001e-05

    O(n log n), in practice a few sorts.
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    return float(smooth_error_value.on(len(q))(q.p, q.bias))


def smcal_witness(q: Predictor) -> SmcalWitness:
    """The smooth weighting behind `smcal`, and the proof that none finds more.

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
    """A mean over random subsets of the rows, and how far chance may have moved it."""

    value: float
    standard_error: float
    samples: int


def ssce(
    y_true: Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    *,
    samples: int = 100,
    rng: np.random.Generator | int,
) -> float:
    """Subsampled smooth calibration error (Haghtalab et al. 2024), which honest forecasts nearly minimise.

        SSCE = (1/T) E_S[ max over σ of Σ_{t in S} σ(p_t)(p_t − y_t) ],   S keeps each of the T rows by a fair coin

    The authors do not divide by T; here every error is per row, of all rows and not of the kept ones, so that
    SSCE ≥ smCal/2.  The expectation is a mean over `samples` subsets; `ssce_estimate` tells its standard error.

    >>> ssce([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5], samples=1000, rng=0)             # in truth 0.140625
    0.137875

    O(samples · n log n).
    """
    return ssce_estimate(as_predictor(y_true, y_prob), samples=samples, rng=rng).value


def ssce_estimate(q: Predictor, *, samples: int = 100, rng: np.random.Generator | int) -> SsceEstimate:
    """`ssce` with its Monte Carlo error; the same seed gives the same bits.

    Rows of one value and outcome are alike, so how many of them are kept is one binomial draw: the cost is per distinct
    value, not per row.

    >>> estimate = ssce_estimate(Predictor.from_samples([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5]), samples=1000, rng=0)
    >>> abs(estimate.value - 0.140625) < 2 * estimate.standard_error
    True

    O(samples · n log n).
    """
    checked_count("samples", samples, least=2)  # the error of one is not known
    q = as_predictor(q)
    if q.rows is None:
        raise ValueError("subsets need rows, but this predictor is a known law. Use Predictor.from_samples.")
    counts = row_counts(q)
    if counts is None:
        raise ValueError("subsets need rows that count alike, but these have different weights. Leave the weights out.")
    zeros, ones = counts
    random = generator(rng)
    measured = smooth_error_value.on(samples * len(q))
    errors = np.empty(samples)
    for i in range(samples):
        kept_zeros, kept_ones = random.binomial(zeros, 0.5), random.binomial(ones, 0.5)
        errors[i] = measured(q.p, (q.p * (kept_zeros + kept_ones) - kept_ones) / q.rows)
    return SsceEstimate(float(errors.mean()), float(errors.std(ddof=1)) / sqrt(samples), samples)
