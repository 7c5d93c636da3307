"""SmoothECE (Błasiok and Nakkiran, ICLR 2024): the calibration error that is left after smoothing by itself.

With c[i] = mass[i] p[i] − positive[i], the bias at each prediction, and K the Gaussian kernel reflected at 0 and 1,

    smECE_σ = ∫ |r(t)| dt,   r(t) = Σ_i c[i] K_σ(t, p[i]),          smECE = the σ with smECE_σ = σ.

More smoothing cannot add bias: smECE_σ falls from ECE = Σ |c[i]| to |Σ c[i]|, so there is exactly one such σ, and

    smECE lies between σ and smECE_σ, whatever σ:

one evaluation to an error e certifies the answer to |σ − smECE_σ| + e.  By the heat equation dr/dσ = σ r'' the slope
of smECE_σ is σ ∫ sign(r) r'' dt, which comes with the value: Newton's method finds the σ.  The error is derived in
theory.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from math import cbrt, exp, fsum, log, nan, sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import checked_count
from trustcal.kernels.gauss import (
    REACH,
    SMOOTHING_ERROR,
    Cells,
    absolute_integral,
    level_for,
    polynomial_values,
    smoothed,
)
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]

_ERROR = SMOOTHING_ERROR + 1e-11
"""The error of smECE_σ per unit of ECE: smoothing, isolated groups (4Φ(−7) < 5.2e-12), and rounding."""
_WIDTH = 2e-10
"""The width at which an enclosure of the answer is narrow enough."""
_VISIBLE = 1e-8
"""Mass per bandwidth below which a curve has no frequency: the error of such masses is up to 1e-11."""
_SPARE_LEVELS = 2
"""Cells are made this much finer than needed: merging cells is cheap, another pass over all rows is not."""


@final
@dataclass(frozen=True, eq=False)
class SmoothedCurve:
    """A reliability diagram with the kernel of SmoothECE."""

    value: float
    """SmoothECE."""
    bandwidth: float
    """The standard deviation of the kernel: SmoothECE, but at least the distance between two points t."""
    t: FloatArray
    """Equally spaced points from 0 to 1."""
    density: FloatArray
    """The smoothed density of the predictions at t; it integrates to 1."""
    p_hat: FloatArray
    """The frequency of outcome 1 among predictions near t, to 1e-3 or better; NaN where there are none."""


def smece(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """SmoothECE (Błasiok and Nakkiran 2024), to an absolute accuracy of 1e-9.

        smECE = the σ with ∫ |Σ_i mass[i]·(p[i] − p_hat[i])·K_σ(t, p[i])| dt = σ,   K the reflected Gaussian kernel

    Parameters
    ----------
    y_true, y_prob, sample_weight : Predictor, or array-likes
        A predictor alone, or rows in scikit-learn's order.

    Returns
    -------
    float

    References
    ----------
    Błasiok, Nakkiran, "Smooth ECE: principled reliability diagrams via kernel smoothing", ICLR 2024.

    >>> smece(Predictor([0.25], [1.0], [0.5]))                          # one value: its bias
    0.25
    >>> round(smece(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])), 9)
    0.006316687

    O(n) after sorting the rows.  The constant is large for known laws with very many values that are almost calibrated,
    where the answer is as small as the distance between neighbouring values.
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    biased = q.bias != 0
    return _fixed_point(q.p, q.bias) if biased.all() else _fixed_point(q.p[biased], q.bias[biased])


def smece_curve(q: Predictor, *, points: int = 1025) -> SmoothedCurve:
    """The smoothed reliability diagram of `smece`: the density of predictions and the frequency of 1 around each.

    Parameters
    ----------
    q : Predictor
    points : int
        The number of points t, at least 2.

    Returns
    -------
    SmoothedCurve

    >>> curve = smece_curve(Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25]), points=5)
    >>> curve.t, curve.p_hat.round(2)
    (array([0.  , 0.25, 0.5 , 0.75, 1.  ]), array([0.5, 0.5, 0.5, 0.5, 0.5]))

    O(n + points).
    """
    checked_count("points", points, least=2)
    value = smece(q)
    t = np.linspace(0.0, 1.0, points)
    bandwidth = max(value, float(t[1]))
    density, positive = (_smoothed_at(t, q.p, weight, bandwidth) for weight in (q.mass, q.positive))
    p_hat = np.divide(positive, density, out=np.full_like(t, np.nan), where=density * bandwidth > _VISIBLE)
    np.clip(p_hat, 0.0, 1.0, out=p_hat)
    for array in (t, density, p_hat):
        array.flags.writeable = False
    return SmoothedCurve(value, bandwidth, t, density, p_hat)


def _smoothed_at(t: FloatArray, x: FloatArray, weight: FloatArray, sigma: float) -> FloatArray:
    """The density at t of weights at x, smoothed."""
    level = level_for(sigma)
    width = 0.5**level
    cell = np.minimum((t / width).astype(np.int64), 2**level - 1)
    value = np.zeros_like(t)
    for ids, density in smoothed(Cells.of(x, weight, level), sigma):
        place = np.minimum(np.searchsorted(ids, cell), len(ids) - 1)
        hit = ids[place] == cell
        value[hit] = polynomial_values(density[place[hit]], (t / width - cell - 0.5)[hit]) / width
    return np.maximum(value, 0.0)


def _fixed_point(x: FloatArray, c: FloatArray) -> float:
    """The σ that equals smECE_σ, enclosed between `low` and `high` until these are _WIDTH apart."""
    ece = float(np.abs(c).sum())
    low, high = min(abs(float(c.sum())), ece), ece
    # Were the signs of c random, smECE_σ would be √(Σc² / σ) · 0.42: a good start where sampling noise rules.
    sigma = min(high, max(low, cbrt(0.18 * float((c * c).sum()))))  # c @ c would wake up BLAS's threads
    settled, cells = 0.0, None
    for step in count(1):
        if high - low <= _WIDTH:
            break
        level = level_for(sigma)
        if cells is None or cells.level < level:
            x, c, isolated = _without_isolated(x, c, high)
            settled += isolated
            cells = Cells.of(x, c, level + _SPARE_LEVELS if 2**level < len(x) / 64 else level)
        mixed = _smoothed_error(cells.coarser(level), sigma)
        value, error = settled + mixed.value, _ERROR * ece + mixed.error
        low = max(low, min(sigma, value - error))
        high = min(high, max(sigma, value + error))
        # Where Newton's step is lost in the error, leaves the enclosure or is slow, the enclosure is halved instead.
        newton = _newton(sigma, value, mixed.derivative) if value > 10 * error and step % 4 else nan
        halving = max(sigma / 8, sqrt(max(low, _WIDTH / 2) * high))
        sigma = newton if low - error <= newton <= high + error else halving
        sigma = min(max(sigma, low), high)
    return sigma


def _newton(sigma: float, value: float, derivative: float) -> float:
    """Newton's step for log smECE_σ = log σ, from a value and its derivative."""
    return sigma * exp((log(value) - log(sigma)) / (1 - sigma * min(derivative, 0.0) / value))


@final
@dataclass(frozen=True)
class _SmoothedError:
    """∫ |r| for one sigma, the most by which it may be too small, and its derivative with respect to sigma."""

    value: float
    error: float
    derivative: float


def _smoothed_error(cells: Cells, sigma: float) -> _SmoothedError:
    parts = [absolute_integral(density) for _, density in smoothed(cells, sigma)]
    value, error = fsum(part.value for part in parts), fsum(part.error for part in parts)
    # dr/dσ = σ r'', and r'' is in units of a cell's width squared.
    return _SmoothedError(value, error, sigma * 4.0**cells.level * fsum(part.bend for part in parts))


def _without_isolated(x: FloatArray, c: FloatArray, sigma: float) -> tuple[FloatArray, FloatArray, float]:
    """(x, c) without the groups of one sign that are too far from all others to overlap them, and the groups' ∫ |r|.

    Smoothing does not change that integral.  It is the whole answer where predictions are few or nearly right.
    """
    if len(x) == 0 or 2 * REACH * sigma >= 1:
        return x, c, 0.0
    starts = np.append(0, 1 + np.flatnonzero(np.diff(x) > 2 * REACH * sigma))
    one_sign = (np.minimum.reduceat(c, starts) > 0) | (np.maximum.reduceat(c, starts) < 0)
    alone = np.repeat(one_sign, np.diff(starts, append=len(x)))
    return x[~alone], c[~alone], float(np.abs(c[alone]).sum())
