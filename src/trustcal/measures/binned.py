"""ECE on fixed bins, as other packages compute it.  For comparison with them; trustcal's own measures need no bins."""

from __future__ import annotations

from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from trustcal.checking import checked_choice, checked_count
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]


def binned_ece(
    y_true: Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    bins: int = 15,
    strategy: Literal["uniform", "quantile"] = "uniform",
    closed: Literal["right", "left"] = "right",
    debias: bool = False,
) -> float:
    """ECE on fixed bins (Guo et al. 2017): the mean over bins of |mean prediction − frequency of y = 1|.

        Σ_b |E[(p − y); p in bin b]|

    It depends on the bins and on the sample size, so use it only to compare with results of other packages.  A bin
    holds its right edge (`closed="right"`) or its left edge (`"left"`); 0 is always in the first bin and 1 in the last.
    Empty bins count nothing.  These packages give the same number on rows of equal weight:

    ============================================  ==========  =======  ==========================================
    package                                       strategy    closed   differences
    ============================================  ==========  =======  ==========================================
    scikit-learn, `calibration_curve`             both        right    gives the curve, not its mean
    uncertainty-calibration, `get_ece`            uniform     right    edges i/bins, which may differ in the last
                                                                       bit; `get_ece_em` cuts half-way between rows
    MAPIE                                         both        right    its `num_bins` counts edges: bins + 1
    netcal, `ECE`                                 both        left
    probcal, `ece`                                both        left     moves 0 and 1 by 1e-12
    torchmetrics, relplot                         uniform     left     1 has a bin of its own
    ============================================  ==========  =======  ==========================================

    Quantiles are those of the rows, interpolated linearly (numpy's default), and equal edges give empty bins.  With
    weights that differ, or for a known distribution, the edges are the smallest predictions with mass i/bins at or
    below them; packages that take weights ignore them there.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        A `Predictor`, or outcomes, predictions and weights.
    bins : int
        The number of bins.
    strategy : "uniform" or "quantile"
        Bins of equal width, or of equal mass.
    closed : "right" or "left"
        The edge that belongs to a bin.
    debias : bool
        Subtract the bias: 2·ECE − E[ECE*], where ECE* has normal errors of the frequencies, with their estimated
        variance, added to them.  This is the mean of what `get_ece(debias=True)` of uncertainty-calibration draws
        at random.  It may be negative.  A bin with a single row has no estimated variance and is left as it is.

    Returns
    -------
    float

    References
    ----------
    Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks", ICML 2017.
    Kumar, Liang, Ma, "Verified uncertainty calibration", NeurIPS 2019.

    Examples
    --------
    >>> y, p = [0, 1, 1, 0], [0.1, 0.2, 0.25, 1.0]
    >>> round(binned_ece(y, p, bins=5), 12), round(binned_ece(y, p, bins=5, closed="left"), 12)
    (0.6125, 0.6625)

    O(n + bins·log n), after one sort for rows.
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    bins = checked_count("bins", bins, most=10**6)
    right = checked_choice("closed", closed, ("right", "left")) == "right"
    edges = np.linspace(0.0, 1.0, bins + 1)[1:-1]
    if checked_choice("strategy", strategy, ("uniform", "quantile")) == "quantile":
        edges = _quantiles(q, edges * 100 / 100 if right else edges)  # scikit-learn asks for percentiles
    place = np.searchsorted(edges, q.p, side="left" if right else "right")
    gap = np.abs(np.bincount(place, q.p * q.mass, bins) - np.bincount(place, q.positive, bins))
    found = float(gap.sum())
    if not debias:
        return found
    if q.effective_rows is None:
        raise ValueError("a known distribution has no sampling bias to subtract. Use rows, or debias=False.")
    mass, positive, squares = (np.bincount(place, sums, bins) for sums in (q.mass, q.positive, q.mass**2 / q.rows_at))
    rate = positive / np.where(mass > 0, mass, 1.0)
    spread = np.sqrt(np.maximum(rate * (1 - rate), 0.0) * squares)
    return 2 * found - float(_mean_absolute(gap, spread).sum())


def _quantiles(q: Predictor, levels: FloatArray) -> FloatArray:
    """Quantiles of the rows as `numpy.quantile` gives them; weighted ones where rows do not count alike."""
    if q.rows is None or q.effective_rows != q.rows:
        reached = np.cumsum(q.mass)
        return np.asarray(q.p[np.minimum(np.searchsorted(reached, levels * reached[-1]), len(q) - 1)])
    row = (q.rows - 1) * levels
    last = np.cumsum(np.rint(q.mass * q.rows)).astype(np.intp)
    before = np.floor(row)
    low, high = (q.p[np.searchsorted(last, np.minimum(at, q.rows - 1), side="right")] for at in (before, before + 1))
    share = row - before
    return np.where(share < 0.5, low + (high - low) * share, high - (high - low) * (1 - share))


def _mean_absolute(mean: FloatArray, spread: FloatArray) -> FloatArray:
    """E|X| for normal X."""
    ratio = mean / np.where(spread > 0, spread, 1.0)
    folded = mean * (2 * ndtr(ratio) - 1) + spread * sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2)
    return np.where(spread > 0, folded, np.abs(mean))
