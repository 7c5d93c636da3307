"""The smooth calibration error: the calibration measure for machine learning that is a maximum over smooth weights.

It forgives what a decision maker cannot: predictions of 49.99 % and 50.01 % count as nearly the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.kernels.isotonic import smooth_error
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True)
class SmcalWitness:
    """Both certificates of a smooth calibration error: nobody has to believe the algorithm.

    `sigma` is 1-Lipschitz with values in [−1, 1], so E[σ(p)(p − y)] = `lower` is a lower bound.  `fit` is monotone from
    0 to S_n, where S is the cumulative bias curve, so |S_n| + Σ (p[i+1] − p[i]) |S[i] − fit[i]| = `upper` is an upper
    bound.  The two agree up to rounding, about 1e-16.
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
    return smcal_witness(as_predictor(y_true, y_prob, sample_weight)).value


def smcal_witness(q: Predictor) -> SmcalWitness:
    """The smooth weighting behind `smcal`, and the proof that none finds more.

    >>> witness = smcal_witness(Predictor([0.25, 0.75], [0.5, 0.5], [0.5, 0.0]))
    >>> witness.lower, witness.upper, witness.sigma
    (0.1875, 0.1875, array([0. , 0.5]))

    O(n log n).
    """
    lower, upper, sigma, fit = smooth_error.on(len(q))(q.p, q.p * q.mass - q.positive)
    for array in (sigma, fit):
        array.flags.writeable = False
    return SmcalWitness(float(lower), float(upper), q.p, sigma, fit)
