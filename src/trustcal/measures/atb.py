"""ATB: the squared bias on the two sides of a random cut, averaged over the cut (Hartline, Hu and Wu 2026).

With S(t) = E[(p − y); p < t] and B = E[p − y] the total bias,

    ATB = ∫ S(t)² + (B − S(t))² dt,        ℓ1-ATB = ∫ |S(t)| + |B − S(t)| dt,        t from 0 to 1.

It is a kernel calibration error with the triangle kernel, Σ c_i c_j (1 − |p_i − p_j|), and truthful: for given
predictions the true probabilities minimise its mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.measures.interval_bias import bias_sums
from trustcal.measures.scores import brier
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]


def atb(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """ATB, averaged two-bin calibration error (Hartline, Hu and Wu 2026, Definition 1).

        ATB = Σ_k d_k·(S_k² + (B − S_k)²),   d_k the gap between predictions k and k + 1 (0 and 1 included)

    It is comparable with the square of the smooth measures: DTC² ≤ 2·ATB and smCal² ≤ (5/2)·ATB.

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
    Hartline, Hu and Wu (2026), A perfectly truthful calibration measure.

    Examples
    --------
    >>> atb(Predictor([0.5], [1.0], [0.75]))
    0.0625

    O(n), after one sort for rows.
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    below, above, gaps = _cuts(q)
    return min(1.0, float((gaps * (below**2 + above**2)).sum()))


def atb_l1(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """ℓ1-ATB: the absolute bias on the two sides of a random cut (Hartline, Hu and Wu 2026, Definition 28).

        ℓ1-ATB = Σ_k d_k·(|S_k| + |B − S_k|),   and DTC ≤ ℓ1-ATB ≤ 3·DTC

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
    Hartline, Hu and Wu (2026), A perfectly truthful calibration measure.

    Examples
    --------
    >>> atb_l1(Predictor([0.5], [1.0], [0.75]))
    0.25

    O(n), after one sort for rows.
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    below, above, gaps = _cuts(q)
    return min(1.0, float((gaps * (np.abs(below) + np.abs(above))).sum()))


def atb_unbiased(y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None) -> float:
    """An unbiased estimate of the population's ATB, from n independent rows of equal weight.

        (n·ATB − Brier)/(n − 1)

    Parameters
    ----------
    y_true, y_prob
        A `Predictor` counted from rows of equal weight, or outcomes and predictions.

    Returns
    -------
    float
        May be negative.

    Examples
    --------
    >>> round(atb_unbiased([0, 1, 1], [0.5, 0.5, 0.5]), 12)
    -0.083333333333

    O(n), after one sort for rows.
    """
    q = as_predictor(y_true, y_prob)
    if q.rows is None or q.effective_rows != q.rows or q.rows < 2:
        given = "is a known law" if q.rows is None else f"has {q.rows} rows, effective sample size {q.effective_rows}"
        raise ValueError(f"an unbiased estimate of ATB needs two or more rows of equal weight, but this {given}.")
    return float((q.rows * atb(q) - brier(q)) / (q.rows - 1))


def _cuts(q: Predictor) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The bias below and above a cut in each gap between neighbouring predictions, and the length of the gap."""
    below = bias_sums(q)
    return below, below[-1] - below, np.diff(q.p, prepend=0.0, append=1.0)
