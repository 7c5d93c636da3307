"""ATB: the squared bias on the two sides of a random cut, averaged over the cut (Hartline, Hu and Wu 2026).

With S(t) = E[(p − y); p < t] and B = E[p − y] the total bias,

    ATB = ∫ S(t)² + (B − S(t))² dt,        ℓ1-ATB = ∫ |S(t)| + |B − S(t)| dt,        t from 0 to 1.

It is a kernel calibration error with the triangle kernel, Σ c_i c_j (1 − |p_i − p_j|), and truthful: for given
predictions the true probabilities minimise its mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.clusters import added
from trustcal.kernels.blocks import blocks
from trustcal.measures.interval_bias import bias_sums
from trustcal.measures.scores import brier
from trustcal.predictor import Predictor, as_predictor
from trustcal.rows import real_vector

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True)
class AtbFloor:
    """What ATB shows of a calibrated predictor, by chance.

    Attributes
    ----------
    mean : float
        Its mean over the outcomes.
    sd : float
        Its standard deviation.
    """

    mean: float
    sd: float


def atb(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """ATB, averaged two-bin calibration error (Hartline, Hu and Wu 2026, Definition 1).

        ATB = Σ_k d_k·(S_k² + (B − S_k)²),   d_k the gap between predictions k and k + 1 (0 and 1 included)

    It lies between the distance to calibration and its square, DTC²/2 ≤ ATB ≤ DTC, and smCal² ≤ (5/2)·ATB (Theorem 35).

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
    return min(1.0, _over_cuts(q, np.square))


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
    return min(1.0, _over_cuts(q, np.abs))


def atb_unbiased(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """An unbiased estimate of the population's ATB, from n independent rows of equal weight.

        (n·ATB − Brier)/(n − 1)

    Parameters
    ----------
    y_true, y_prob, sample_weight
        A `Predictor`, or outcomes, predictions and weights; rows must have equal weights.

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
    q = as_predictor(y_true, y_prob, sample_weight)
    if q.rows is None or q.effective_rows != q.rows or q.rows < 2:
        given = "is a known law" if q.rows is None else f"has {q.rows} rows, effective sample size {q.effective_rows}"
        raise ValueError(f"an unbiased estimate of ATB needs two or more rows of equal weight, but this {given}.")
    return float((q.rows * atb(q) - brier(q)) / (q.rows - 1))


def atb_floor(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> AtbFloor:
    """The mean and the standard deviation of ATB if the predictions are calibrated, in closed form (Theorem 36).

    For independent rows with weights ω (sum 1), variances s = p(1 − p) and the triangle kernel K = 1 − |p − p'|,

        mean = Σ ω_t²·s_t,    sd² = 2·Σ_{t ≠ u} ω_t²·ω_u²·s_t·s_u·K_tu² + Σ ω_t⁴·s_t·(1 − 2p_t)²

    Only predictions and weights matter.  Both are exact for rows.  A `Predictor` keeps Σ ω² of each value, not Σ ω⁴:
    where rows with the same prediction have different weights, its sd is that of their effective number of rows with
    equal weights.  0 for a known distribution.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        A `Predictor`, or outcomes, predictions and weights.

    Returns
    -------
    AtbFloor

    References
    ----------
    Hartline, Hu and Wu (2026), A perfectly truthful calibration measure, Lemma 25 (the mean).

    Examples
    --------
    >>> atb_floor([0, 1, 1, 0], [0.5, 0.5, 0.5, 0.5])              # (share of ones − 1/2)², for four tosses of a coin
    AtbFloor(mean=0.0625, sd=0.07654655446197431)

    O(n), after one sort for rows.
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    if q.clusters is not None:
        raise ValueError("the floor of ATB in closed form needs independent rows. Use inference.sampling_floor.")
    spread, k = q.p * (1 - q.p), q.rows_at
    squares = q.mass * (q.mass / k)
    fourth = squares * (squares / k) if sample_weight is None else _fourth_powers(q, y_prob, sample_weight)
    a = squares * spread
    total, below = float(a.sum()), np.cumsum(a)
    if total == 0:
        return AtbFloor(0.0, 0.0)
    # Σ_ij a_i·a_j·(1 − |p_i − p_j|)², from Σ a_i·a_j·|p_i − p_j| over the gaps and Σ a_i·a_j·(p_i − p_j)².
    apart = 2 * float((np.diff(q.p) * below[:-1] * (total - below[:-1])).sum())
    squared = 2 * total * float((a * (q.p - (a * q.p).sum() / total) ** 2).sum())
    pairs = total**2 - 2 * apart + squared - float((fourth * spread**2).sum())
    variance = 2 * pairs + float((fourth * spread * (1 - 2 * q.p) ** 2).sum())
    return AtbFloor(total, sqrt(max(0.0, variance)))


def _fourth_powers(q: Predictor, y_prob: ArrayLike | None, sample_weight: ArrayLike) -> FloatArray:
    """Σ ω⁴ over the rows of each value of q, their predictor; the same bits in any order of rows."""
    p, weight = real_vector([] if y_prob is None else y_prob, "y_prob"), real_vector(sample_weight, "sample_weight")
    p, weight = p[weight > 0], weight[weight > 0] / weight.max()
    order = np.lexsort((weight, p))
    value = np.minimum(np.searchsorted(q.p, p[order]), len(q) - 1)  # a value whose share underflows is left out of q
    share = weight[order] / weight[order].sum()
    return added(value, share**4, len(q))


def _over_cuts(q: Predictor, size: np.ufunc) -> float:
    """The mean, over cuts of [0, 1], of the size of the bias below the cut plus that of the bias above it."""
    below = bias_sums(q)
    total = below[-1]
    found = float((q.p[0] + 1 - q.p[-1]) * size(total))
    for block in blocks(len(q) - 1):
        after = slice(block.start + 1, block.stop + 1)
        gap = q.p[after] - q.p[block]
        found += float((gap * (size(below[after]) + size(total - below[after]))).sum())
    return found
