"""Upper bounds for post-processing in the online setting: the paper's Section 4.

After T rounds the outputs, one of m cells each, are judged by what happened.  The outcome of a round must be fixed
before the output is drawn; otherwise the adversary may adapt.  eps bounds the distance to calibration of the T rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal, Self, final

from trustcal.cells import ENDS, End, announcing_error, cells_for
from trustcal.checking import checked_cells, checked_choice, checked_count, checked_eps
from trustcal.guarantees.batch_paper import total_variation_paper
from trustcal.guarantees.bound import Bound
from trustcal.noise import Noise
from trustcal.noise.mechanism import as_noise

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


def online_cdl(noise: Noise, eps: float, horizon: int, *, cells: int | None = None, end: End = "left") -> Bound:
    """Expected CDL after T rounds, correcting Corollary 4.2: K + 2·L·eps + 2/m + √(2m/T).

    For Laplace and Gaussian noise, clamped, less than 2·L·eps (`noise.cdl_shift`, Theorem 44).  For many rounds
    √(2m/T) is replaced by a term of the order √(width·m/T), since only cells near a threshold can be on its wrong side
    by chance (Theorem 46).
    With middles 1/m in place of 2/m; for random rounding K + 2·L·eps + √((N + 1)/T).  For truncated noise, whose K is
    not proved, 2·E|X| stands for K, or 2s/e for Laplace noise of scale s.

    Parameters
    ----------
    noise, eps, horizon, cells, end
        As in `online_ece`; K is the decision displacement of the noise.

    Returns
    -------
    Bound
        On average over the noise.

    >>> from trustcal.noise import UniformNoise
    >>> print(online_cdl(UniformNoise.for_distance(0.0001, "cdl"), 0.0001, 10**6))
    CDL ≤ 0.0409316 (Theorem 46, correcting Corollary 4.2)
    """
    return _CdlTerms.of(noise, eps).bound(noise, checked_count("horizon", horizon), cells, end)


def online_bounds(target: Literal["ece", "cdl"], noise: Noise, eps: float, horizon: int, cells: range) -> list[Bound]:
    """`online_ece` or `online_cdl` on several numbers of cells, announced by their middles."""
    if target == "ece":
        return [online_ece(noise, eps, horizon, cells=m, end="middle") for m in cells]
    terms = _CdlTerms.of(noise, eps)
    return [terms.bound(noise, horizon, m, "middle") for m in cells]


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
        shift, reaches = noise.cdl_shift(checked_eps(eps)), [(share, noise.reach(share)) for share in _BEYOND]
        known = () if noise.grid_size() is not None else tuple(pair for pair in reaches if pair[1] < 1)
        return cls(noise.proved_decision_displacement(), shift, noise.proved_tv_slope(), eps, known)

    def bound(self, noise: Noise, horizon: int, cells: int | None, end: End) -> Bound:
        moved, variance = _discretisation(noise, horizon, cells, end)
        fixed = self.displacement + 2 * moved
        value = fixed + self.shift + sqrt(2 * variance)
        local = fixed + self._near(moved, variance, horizon)
        source = f"Theorem {19 if value <= local else 46}, correcting Corollary 4.2"
        return Bound("CDL", min(value, local), source, True)

    def _near(self, moved: float, variance: float, horizon: int) -> float:
        """What moving predictions by eps and chance cost, if cells farther than r from a threshold pay c·r for each row
        (Theorem 46): the least over c, and over shares."""
        least, cells = inf, variance * horizon
        for share, reach in self.reaches:
            for c in _DRIFTS:
                r = (reach + moved) / (1 - c)
                drift = min(c * r, 0.7)
                chance = 2 * sqrt((2 * r * cells + 2) / horizon) + 1.06 * variance / drift
                least = min(least, 2 * (1 + drift) * self.slope * self.eps + 2 * drift * share + chance)
        return least


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
