"""Bias over ranges of predictions: cutoff and step calibration error.

Both look at the running sum of the bias, S_k = E[(p − y); p ≤ p_k] with S_0 = 0.  They need no bins: every range of
predictions is one of the candidates, and n rows estimate the maximum at the rate 1/√n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.predictor import Predictor, as_predictor
from trustcal.rows import running_sum

FloatArray = NDArray[np.float64]

_ROUNDING = 4 * np.finfo(np.float64).eps
"""Sums of biases that differ by this share of all that is added up may differ by rounding only."""


@final
@dataclass(frozen=True)
class CutoffWitness:
    """The range of predictions with the largest bias.

    Attributes
    ----------
    value : float
        The cutoff calibration error: |E[(p − y); low ≤ p ≤ high]|.
    low, high : float
        The ends of the range, both among the predictions; NaN where the range is empty.
    sign : int
        1 where predictions are too high in the range, −1 where they are too low, 0 where the range is empty.
    mass : float
        The share of rows in the range; value/mass is the mean error there.
    """

    value: float
    low: float
    high: float
    sign: int
    mass: float


def cutoff(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Cutoff calibration error (Rossellini et al. 2025): the largest bias over any range of predictions.

        cutoff = max over intervals I of |E[(p − y); p ∈ I]| = max_k S_k − min_k S_k

    No decision maker loses more than twice as much by keeping their thresholds, and somebody loses at least its square:
    cutoff² ≤ monotone_cdl ≤ 2·cutoff (Theorem 29).

    Parameters
    ----------
    y_true, y_prob, sample_weight
        A `Predictor`, or outcomes, predictions and weights.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Rossellini, Soloff, Barber, Ren and Willett (2025), Can a calibration metric be both testable and actionable?

    Examples
    --------
    >>> cutoff([0, 0, 1, 1], [0.25, 0.5, 0.5, 0.75])
    0.0625

    O(n), after one sort for rows.
    """
    return cutoff_witness(y_true, y_prob, sample_weight).value


def cutoff_witness(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> CutoffWitness:
    """The range of predictions that attains `cutoff`.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        A `Predictor`, or outcomes, predictions and weights.

    Returns
    -------
    CutoffWitness
        The narrowest range, where several attain it up to rounding; the first of these.

    Examples
    --------
    >>> cutoff_witness(Predictor([0.25, 0.5, 0.75], [0.25, 0.5, 0.25], [0.0, 0.25, 0.0]))
    CutoffWitness(value=0.25, low=0.25, high=0.75, sign=1, mass=1.0)

    O(n), after one sort for rows.
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    top, bottom = _narrowest(bias_sums(q), _ROUNDING * float(np.maximum(q.p * q.mass, q.positive).sum()))
    if top == bottom:
        return CutoffWitness(0.0, np.nan, np.nan, 0, 0.0)
    inside = slice(min(top, bottom), max(top, bottom))
    value = abs(float(q.bias[inside].sum()))  # summed again: differences of running sums lose digits
    low, high = float(q.p[inside.start]), float(q.p[inside.stop - 1])
    return CutoffWitness(min(1.0, value), low, high, 1 if top > bottom else -1, min(1.0, float(q.mass[inside].sum())))


def stepcal(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Step calibration error (Qiao and Zhao 2025): the largest bias of the predictions up to a threshold.

        stepcal = max_k |S_k|,   and stepcal ≤ cutoff ≤ 2·stepcal

    Parameters
    ----------
    y_true, y_prob, sample_weight
        A `Predictor`, or outcomes, predictions and weights.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Qiao and Zhao (2025), Truthfulness of decision-theoretic calibration measures.

    Examples
    --------
    >>> stepcal(Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25]))
    0.125

    O(n), after one sort for rows.
    """
    return min(1.0, float(np.abs(bias_sums(as_predictor(y_true, y_prob, sample_weight))).max()))


def _narrowest(sums: FloatArray, rounding: float) -> tuple[int, int]:
    """A greatest and a least entry next to each other, of those that are so up to rounding."""
    high, low = np.flatnonzero(sums >= sums.max() - rounding), np.flatnonzero(sums <= sums.min() + rounding)
    after = np.searchsorted(low, high)
    near = low[np.stack([np.maximum(after - 1, 0), np.minimum(after, len(low) - 1)])]
    width = np.abs(near - high)
    first = np.where(width == width.min(), np.minimum(near, high), len(sums)).argmin()
    return int(np.tile(high, 2)[first]), int(near.ravel()[first])


def bias_sums(q: Predictor) -> FloatArray:
    """S_0 = 0, S_1, …, S_n.  O(n)."""
    sums = np.zeros(len(q) + 1)
    running_sum(q.bias, out=sums[1:])
    return sums
