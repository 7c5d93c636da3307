"""The best γ for a given δ (Definition 2.1), found by the sets that tell two predictions apart best.

For log-concave noise the likelihood ratio of M(q) to M(q') falls with x where q < q' (clamping keeps this order), so by
Neyman and Pearson the worst sets are I = [0, t], and their mirror images for q > q'.  Hence

    γ(δ) = sup over q < q' and t of ln((Pr[M(q) ≤ t] − δ) / Pr[M(q') ≤ t]) / (q' − q)

It is 0 from δ = TV(M(0), M(1)) on.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from trustcal.checking import checked_number
from trustcal.noise.mechanism import FloatArray, Noise

LogCdf = Callable[[FloatArray, FloatArray], FloatArray]

_PLACES = 24
"""Places on each logarithmic arm of the grid, and on its even part."""


def best_gamma(noise: Noise, delta: float, *, pure: float, log_cdf: LogCdf) -> float:
    """γ(δ), given γ(0) = `pure` (infinite where none exists) and ln Pr[M(q) ≤ x].

    Exact at δ = 0 and from δ = TV(M(0), M(1)) on; between them a grid search over (q, q', t), polished by Nelder–Mead,
    finds the supremum to 1e-6 of γ (for δ ≥ 1e-9 to about 1e-9): a tenth of a second.
    """
    if pure == inf:
        return zero_or_none(noise, delta)
    if _probability(delta) >= noise.tv(0.0, 1.0):
        return 0.0
    if delta == 0:
        return pure
    found = _largest_exponent(log_cdf, delta, min(1.0, 1 / noise.tv_slope()))
    return min(pure, max(0.0, found))  # rounding aside, it lies between them


def zero_or_none(noise: Noise, delta: float) -> float:
    """γ(δ) where some prediction reaches values that another never takes: 0; an error where no γ is large enough."""
    furthest = float(noise.tv(0.0, 1.0))
    if _probability(delta) < furthest:
        raise ValueError(
            f"{noise} is (γ, δ)-differentially private for no γ unless δ ≥ {furthest:.6g}, but delta is {delta!r}: one "
            "prediction reaches values that another never takes. Use Laplace or Gaussian noise, or tv and tv_slope, "
            "which give sharper guarantees than (γ, δ)."
        )
    return 0.0


def _probability(delta: float) -> float:
    remedy = "It is the probability with which the bound by γ may fail."
    return checked_number("delta", delta, 0, 1, remedy=remedy, rule="be a probability in [0, 1]")


def _largest_exponent(log_cdf: LogCdf, delta: float, reach: float) -> float:
    """The supremum over (q, q', t); `reach` is the distance at which predictions become distinguishable."""
    from scipy.optimize import minimize  # slow to import, and seldom needed

    def exponent(q: FloatArray, other: FloatArray, t: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):  # impossible triples become −∞ below
            value = (np.log(np.exp(log_cdf(t, q)) - delta) - log_cdf(t, other)) / (other - q)
        return np.where(np.isfinite(value) & (q < other), value, -np.inf)

    grid = _places(reach, 0.1 * delta**0.5 * reach)
    q, other, t = np.meshgrid(grid, grid, grid, indexing="ij", sparse=True)
    values = exponent(q, other, t)
    i, j, k = np.unravel_index(np.argmax(values), values.shape)
    best, x = float(values[i, j, k]), np.array([grid[i], grid[j], grid[k]])
    cell = np.diff(grid, prepend=-grid[1])
    step = np.array([cell[i], -cell[j], cell[k]])
    # Whether Pr[M(q) ≤ t] > δ depends on t near 0 and on t − q elsewhere: Nelder–Mead takes turns with both as its
    # third coordinate, and a fresh simplex sets it going where it stalls on an edge.
    for shear in (1, 0, 1, 0):
        x[2] -= shear * x[0]
        found = minimize(
            lambda x, shear=shear: -float(exponent(x[0], x[1], np.clip(x[2] + shear * x[0], 0, 1))),
            x,
            method="Nelder-Mead",
            bounds=[(0, 1), (0, 1), (-1, 1)],
            options={
                "initial_simplex": np.clip(x + np.vstack([np.zeros(3), np.diag(step)]), [0, 0, -1], 1),
                "xatol": 1e-9 * reach,
                "fatol": 1e-13 * abs(best),
                "maxiter": 2000,
            },
        )
        best, x, step = -float(found.fun), found.x, step / 3
        x[2] = np.clip(x[2] + shear * x[0], 0, 1)
    return best


def _places(reach: float, finest: float) -> FloatArray:
    """Predictions at which to look: dense at both ends, as fine as `finest`, and even at two scales."""
    arm = np.geomspace(finest, 1, _PLACES)
    even = np.linspace(0, 1, _PLACES)
    return np.unique(np.concatenate([even, even * min(1.0, 8 * reach), arm, 1 - arm]))
