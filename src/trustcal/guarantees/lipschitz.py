"""The discussion's question: when is a small distance to calibration enough, without post-processing?

If the bias p_hat − p is a 1-Lipschitz function of the prediction, that is, if nearby predictions are wrong by nearly
the same amount, ECE ≤ √DTC: less than any noise guarantees.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np

from trustcal.checking import checked_fraction
from trustcal.guarantees.bound import Bound
from trustcal.predictor import Predictor, as_predictor

_ROUNDING = 1e-15
"""A change of the bias as small as this is rounding."""


@final
@dataclass(frozen=True)
class LipschitzVerdict:
    """How fast the bias changes from one prediction to the next, at the steepest pair."""

    steepest: float
    """The largest |change of p_hat − p| / |change of p| over neighbouring predictions; 0 for a single one."""
    between: tuple[float, float]
    """The neighbours where it is reached."""

    @property
    def holds(self) -> bool:
        """Whether the bias is 1-Lipschitz, up to rounding."""
        return self.steepest <= 1 + 1e-9

    def __str__(self) -> str:
        a, b = self.between
        if self.holds:
            return "The bias is 1-Lipschitz: ECE ≤ √DTC as it stands, and no post-processing is needed."
        return (
            f"The bias changes {self.steepest:.3g} times as fast as the prediction between {a:.6g} and {b:.6g}: a "
            "small distance to calibration alone does not make these predictions safe; post-process them."
        )


def lipschitz_ece(dtc: float) -> Bound:
    """The discussion's case: ECE ≤ √DTC where the bias is 1-Lipschitz.  No constant below 1 can stand before √DTC.

    Parameters
    ----------
    dtc : float
        Distance to calibration, in [0, 1].

    Returns
    -------
    Bound

    >>> print(lipschitz_ece(0.01))
    ECE ≤ 0.1 (Theorem 23, for 1-Lipschitz bias)
    """
    return Bound("ECE", sqrt(checked_fraction("dtc", dtc)), "Theorem 23, for 1-Lipschitz bias", True)


def lipschitz_ece_smcal(smcal: float) -> Bound:
    """The same from the smooth calibration error: ECE ≤ √smCal where the bias is 1-Lipschitz.

    Parameters
    ----------
    smcal : float
        Smooth calibration error, in [0, 1].

    Returns
    -------
    Bound

    >>> print(lipschitz_ece_smcal(0.01))
    ECE ≤ 0.1 (Theorem 23, for 1-Lipschitz bias)
    """
    return Bound("ECE", sqrt(checked_fraction("smcal", smcal)), "Theorem 23, for 1-Lipschitz bias", True)


def bias_is_lipschitz(q: Predictor) -> LipschitzVerdict:
    """Is the bias p_hat − p of a predictor 1-Lipschitz in p?  Neighbours decide, since slopes average.

    Frequencies of rows fluctuate: pool them first, as in `bias_is_lipschitz(q.coarsen(30))`.

    Parameters
    ----------
    q : Predictor

    Returns
    -------
    LipschitzVerdict

    >>> print(bias_is_lipschitz(Predictor([0.2, 0.5, 0.8], [0.25, 0.5, 0.25], [0.075, 0.25, 0.175])))
    The bias is 1-Lipschitz: ECE ≤ √DTC as it stands, and no post-processing is needed.
    >>> bias_is_lipschitz(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])).holds
    False

    O(n).
    """
    q = as_predictor(q)
    if len(q) == 1:
        only = float(q.p[0])
        return LipschitzVerdict(0.0, (only, only))
    change = np.maximum(np.abs(np.diff(q.p_hat - q.p)) - _ROUNDING, 0.0)
    with np.errstate(over="ignore"):
        steepness = change / np.diff(q.p)
    k = int(np.argmax(steepness))
    return LipschitzVerdict(float(steepness[k]), (float(q.p[k]), float(q.p[k + 1])))
