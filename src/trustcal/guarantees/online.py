"""Upper bounds for post-processing in the online setting: the paper's Section 4.

After T rounds the outputs, one of m cells each, are judged by what happened.  The outcome of a round must be fixed
before the output is drawn; otherwise the adversary may adapt.  eps bounds the distance to calibration of the T rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from trustcal.cells import ENDS, End, announcing_error, cells_for
from trustcal.checking import checked_cells, checked_choice, checked_count, checked_eps
from trustcal.guarantees.batch_paper import total_variation_paper
from trustcal.guarantees.bound import Bound
from trustcal.noise import Noise
from trustcal.noise.mechanism import as_noise

FloatArray = NDArray[np.float64]

_DRIFTS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8)
_BEYOND = (0.0, 1e-4, 1e-3, 1e-2, 0.05)
"""The c and the τ of Theorem 46 that are tried."""


def online_ece(noise: Noise, eps: float, horizon: int, *, cells: int | None = None, end: End = "left") -> Bound:
    """Expected ECE after T rounds, sharpening Theorem 4.1: E|X| + 2·L·eps + 1/m + √(m/T).

    Cells answer with their left end, as in the paper, or with their middle, which halves 1/m; m = ⌈T^(1/3)⌉ unless
    given.  Random rounding needs no cells: E|X| + 2·L·eps + √((N + 1)/(2T)).

    Parameters
    ----------
    noise : Noise
        E|X| and L are its displacement and its slope.
    eps : float
        Distance to calibration of the T rounds, in (0, 1].
    horizon : int
        T, the number of rounds.
    cells : int, optional
        m; default ⌈T^(1/3)⌉.  Not for noise on a grid of its own.
    end : str
        What is announced for a cell: "left" or "middle".

    Returns
    -------
    Bound
        On average over the noise.

    >>> from trustcal.noise import UniformNoise
    >>> noise = UniformNoise.for_distance(0.0002, "ece")
    >>> print(online_ece(noise, 0.0002, 10**6))
    ECE ≤ 0.04 (Theorem 19, sharpening Theorem 4.1)
    >>> print(online_ece(noise, 0.0002, 10**6, end="middle"))
    ECE ≤ 0.035 (Theorem 19, sharpening Theorem 4.1)
    """
    moved, variance = _discretisation(noise, checked_count("horizon", horizon), cells, end)
    value = noise.displacement().value + 2 * noise.proved_tv_slope() * checked_eps(eps) + moved + sqrt(variance)
    return Bound("ECE", value, "Theorem 19, sharpening Theorem 4.1", True)


def online_cdl(
    noise: Noise, eps: float, horizon: int, *, cells: int | None = None, end: End = "left", on_average: bool = False
) -> Bound:
    """Expected CDL after T rounds, correcting Corollary 4.2: K + 2·L·eps + 2/m + √(2m/T).

    For Laplace, Gaussian and plateau noise, clamped, less than 2·L·eps (`noise.cdl_shift_on_cells`, Theorems 44 and
    47).  For many rounds √(2m/T) is replaced by a term of the order √(width·m/T), since only cells near a threshold can
    be on its wrong side by chance (Theorem 46).
    With middles 1/m in place of 2/m; for random rounding K + 2·L·eps + √((N + 1)/T).  For truncated noise, whose K is
    not proved, 2·E|X| stands for K, or 2s/e for Laplace noise of scale s.

    Parameters
    ----------
    noise, eps, horizon, cells, end
        As in `online_ece`; K is the decision displacement of the noise.
    on_average : bool, default False
        Whether eps bounds only the mean distance to calibration, over the coins of a randomised forecaster.  Then
        2·L·eps stays: what would replace it is convex in the distance, so its mean may be larger than its value at eps.

    Returns
    -------
    Bound
        On average over the noise.

    >>> from trustcal.noise import UniformNoise
    >>> print(online_cdl(UniformNoise.for_distance(0.0001, "cdl"), 0.0001, 10**6))
    CDL ≤ 0.0409316 (Theorem 46, correcting Corollary 4.2)
    """
    terms = _CdlTerms.of(noise, eps)
    if on_average:
        terms = replace(terms, shift=2 * terms.slope * eps)
    return terms.bound(noise, checked_count("horizon", horizon), cells, end)


def best_online_cdl(noise: Noise, eps: float, horizon: int) -> tuple[Bound, int]:
    """The least `online_cdl` over numbers of cells, announced by their middles, and that number.

    Near (2T)^(1/3) by Theorem 19, and more by Theorem 46, where chance costs less.
    """
    terms = _CdlTerms.of(noise, eps)
    cells = terms.best_cells(horizon, cells_for(2 * horizon))
    return terms.bound(noise, horizon, cells, "middle"), cells


def online_ece_paper(noise: Noise, eps: float, horizon: int, delta: float = 0.0) -> Bound:
    """Theorem 4.1 as stated: E|X| + 4(1 − exp(−γ·eps) + δ) + 2·T^(−1/3).  It holds with m = ⌈T^(1/3)⌉ cells.

    Parameters
    ----------
    noise : Noise
        Must be (γ, δ)-differentially private for some γ.
    eps : float
        Distance to calibration, in (0, 1].
    horizon : int
        T.
    delta : float
        δ; with any other than 0 the bound is not proved.

    Returns
    -------
    Bound

    >>> from trustcal.noise import TruncatedLaplace
    >>> print(online_ece_paper(TruncatedLaplace.paper(0.001), 0.001, 10**6))
    ECE ≤ 0.239666 (Theorem 4.1, with ⌈T^(1/3)⌉ cells)
    """
    tv = total_variation_paper(as_noise(noise).privacy(delta), delta, eps).value
    value = noise.displacement().value + 4 * tv + 2 * checked_count("horizon", horizon) ** (-1 / 3)
    return Bound("ECE", value, "Theorem 4.1, with ⌈T^(1/3)⌉ cells", delta == 0)


def online_cdl_paper(noise: Noise, eps: float, horizon: int, delta: float = 0.0) -> Bound:
    """Corollary 4.2 as stated: 2·E|X| + 8(1 − exp(−γ·eps) + δ) + 2·T^(−1/3).

    False with ⌊T^(1/3)⌋ cells (`paper.floor_cells`) and with ⌈T^(1/3)⌉ (`paper.ceiling_cells`), for additive noise too
    (`paper.additive_cells`); `online_cdl` replaces it.

    Parameters
    ----------
    noise, eps, horizon, delta
        As in `online_ece_paper`.

    Returns
    -------
    Bound
        Marked as not proved.

    >>> from trustcal.noise import TruncatedLaplace
    >>> online_cdl_paper(TruncatedLaplace.paper(0.001), 0.001, 10**6).proved
    False
    """
    tv = total_variation_paper(as_noise(noise).privacy(delta), delta, eps).value
    value = 2 * noise.displacement().value + 8 * tv + 2 * checked_count("horizon", horizon) ** (-1 / 3)
    return Bound("CDL", value, "Corollary 4.2, false as stated", False)


@final
@dataclass(frozen=True)
class _CdlTerms:
    """What `online_cdl` takes from a noise and eps, however many the rounds and the cells."""

    displacement: float
    shift: float
    slope: float
    eps: float
    reaches: tuple[tuple[float, float], ...]
    """Shares of the noise that may be beyond its reach, and the reach, where it is known to be less than 1."""

    @classmethod
    def of(cls, noise: Noise, eps: float) -> Self:
        as_noise(noise)
        shift, reaches = noise.cdl_shift_on_cells(checked_eps(eps)), [(share, noise.reach(share)) for share in _BEYOND]
        known = () if noise.grid_size() is not None else tuple(pair for pair in reaches if pair[1] < 1)
        return cls(noise.proved_decision_displacement(), shift, noise.proved_tv_slope(), eps, known)

    def bound(self, noise: Noise, horizon: int, cells: int | None, end: End) -> Bound:
        moved, variance = _discretisation(noise, horizon, cells, end)
        plain, local = (float(value) for value in self._values(np.asarray(moved), np.asarray(variance), horizon))
        source = f"Theorem {19 if plain <= local else 46}, correcting Corollary 4.2"
        return Bound("CDL", min(plain, local), source, True)

    def best_cells(self, horizon: int, near: int) -> int:
        """From an eighth to eight times a number, at steps of a fifth, then between neighbours of the best."""
        tried = np.unique(np.maximum(1, np.rint(near * 2.0 ** (np.arange(-12, 13) / 4))))
        while True:
            error = announcing_error(1, "middle") / tried
            best = int(np.argmin(np.minimum(*self._values(error, tried / horizon, horizon))))
            low, high = tried[max(0, best - 1)], tried[min(best + 1, len(tried) - 1)]
            finer = np.unique(np.rint(np.linspace(low, high, 33)))
            if np.isin(finer, tried).all():
                return int(tried[best])
            tried = finer

    def _values(self, moved: FloatArray, variance: FloatArray, horizon: int) -> tuple[FloatArray, FloatArray]:
        """By Theorem 19, and by Theorem 46, where cells farther than r from a threshold pay c·r for each row: the least
        over c, and over shares."""
        fixed = self.displacement + 2 * moved
        plain = fixed + self.shift + np.sqrt(2 * variance)
        if not self.reaches:
            return plain, np.full_like(plain, inf)
        share, reach = (np.reshape(column, (-1, 1) + (1,) * moved.ndim) for column in zip(*self.reaches, strict=True))
        c = np.reshape(_DRIFTS, (-1,) + (1,) * moved.ndim)
        r = (reach + moved) / (1 - c)
        drift = np.minimum(c * r, 0.7)
        chance = 2 * np.sqrt((2 * r * (variance * horizon) + 2) / horizon) + 1.06 * variance / drift
        local = 2 * (1 + drift) * self.slope * self.eps + 2 * drift * share + chance
        return plain, fixed + local.min(axis=(0, 1))


def _discretisation(noise: Noise, horizon: int, cells: int | None, end: End) -> tuple[float, float]:
    """How far discretising moves an output, and the sum over values of the variances of their frequencies, times the
    number of values."""
    checked_choice("end", end, ENDS)
    as_noise(noise)
    values = noise.grid_size()
    if values is not None:
        if cells is not None:
            raise ValueError(f"{noise} rounds to a grid of its own: leave cells out, or use another noise.")
        atoms = noise.atoms(0.5).mass.shape[-1]  # the variances of their indicators add up to at most 1 − 1/atoms
        return 0.0, values * (1 - 1 / atoms) / horizon
    m = cells_for(horizon) if cells is None else checked_cells(cells)
    return announcing_error(m, end), m / horizon
