"""Laplace noise, clamped to [0, 1] or truncated (conditioned on [0, 1]): the paper's choice, with pure privacy."""

from __future__ import annotations

from dataclasses import dataclass
from math import e, log, sqrt
from typing import Self, final

import numpy as np
import scipy  # loads scipy.special, which is slow to import, when it is first named

from trustcal.checking import checked_eps
from trustcal.noise.clamped import ClampedNoise
from trustcal.noise.decays import Exponentials, sweeps
from trustcal.noise.density import Density, FloatArray
from trustcal.noise.exact import exponential
from trustcal.noise.mechanism import Noise, PerTarget, Target, optimal
from trustcal.noise.truncated import TruncatedNoise, optimal_scale

_OMEGA = 0.27846454276107379510935873902299
"""W(1/e), Lambert's function: for truncated Laplace noise K ≤ 2·W(1/e)·scale (worst prediction 0)."""


class LaplaceNoise(Noise):
    """What clamped and truncated Laplace noise share."""

    scale: float

    def tv_slope(self) -> float:
        """1/(2·scale); for truncated noise reached at q = 1/2."""
        return 0.5 / self.scale

    def density_after(self, p: FloatArray, weights: FloatArray) -> Density:
        """Two exponentials between neighbouring values."""
        return Exponentials(p, weights, self, self.scale)

    def bin_masses(self, p: FloatArray, weights: FloatArray, edges: FloatArray) -> FloatArray:
        """Between neighbouring values and edges the density is two exponentials, found by a sweep from either side.

        O(n + bins), after a merge.
        """
        places = np.union1d(edges, p)
        first, atoms = np.searchsorted(places, edges[:-1]), self.atoms(p).mass
        share = -np.expm1(-np.diff(places) / self.scale) * self.scale
        left, right = sweeps(places, p, weights * self.density(p, p), self.scale)
        law = np.empty((2, len(edges) - 1))
        for y in (0, 1):
            law[y] = np.add.reduceat(share * (left[:, y] + right[:, y]), first)
            if atoms.shape[1]:
                law[y, 0] += weights[y] @ atoms[:, 0]
                law[y, -1] += weights[y] @ atoms[:, 1]
        return law


@final
@dataclass(frozen=True)
class ClampedLaplace(LaplaceNoise, ClampedNoise):
    """Laplace noise clamped to [0, 1]: M(q) = clip(q + Y, 0, 1), Y of density exp(−|y|/scale)/(2·scale).

    Parameters
    ----------
    scale : float
        The mean of |Y|.

    >>> noise = ClampedLaplace(0.25)
    >>> float(noise.cdf(0, 0)), noise.tv_slope(), noise.privacy()
    (0.5, 2.0, 4.0)
    """

    scale: float

    kind = "laplace"
    title = "Laplace noise, clamped"
    per_root = PerTarget(ece=2.0, cdl=1.5 / sqrt(e), decision_loss=sqrt(2 / e))

    @classmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The scale that minimises s + eps/s (ECE), the larger of s/e + eps/(2s) and s/(2e) + eps/s (CDL), or s/e +
        eps/(2s) (decision loss).
        """
        return cls(optimal(eps, target, ece=1.0, cdl=sqrt(e), decision_loss=sqrt(e / 2)))

    def cdl_shift(self, eps: float) -> float:
        """max(2k + L·eps, k + 2·L·eps) − K, at most 2·L·eps; k = scale/(2e) is K/2 for scale ≤ 1/2 (Theorem 44)."""
        half, shift = self.scale / (2 * e), self.tv_slope() * eps
        return min(2 * shift, max(2 * half + shift, half + 2 * shift) - self.decision_displacement())

    def _tv(self, b: FloatArray, q: FloatArray) -> FloatArray:
        return np.asarray(-np.expm1((b - q) / (2 * self.scale)))

    def _tail(self, y: FloatArray) -> FloatArray:
        half = 0.5 * np.exp(-np.abs(y) / self.scale)
        return np.where(y < 0, 1 - half, half)

    def _log_tail(self, y: FloatArray) -> FloatArray:
        return np.where(y < 0, np.log1p(-0.5 * np.exp(-np.abs(y) / self.scale)), -y / self.scale - log(2))

    def _hazard_at_1(self) -> float:
        return 1 / self.scale

    def _density(self, x: FloatArray, q: FloatArray) -> FloatArray:
        return exponential(x, q, self.scale) / (2 * self.scale)

    def _line_quantile(self, u: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):  # u = 0 and u = 1 are infinitely far out
            return np.asarray(np.copysign(self.scale * np.log(2 * np.minimum(u, 1 - u)), u - 0.5))

    def _mean_excess(self, a: FloatArray) -> FloatArray:
        return np.asarray(-0.5 * self.scale * np.expm1(-a / self.scale))

    def _tipping_point(self) -> float:
        return self.scale


@final
@dataclass(frozen=True)
class TruncatedLaplace(LaplaceNoise, TruncatedNoise):
    """Laplace noise conditioned on [0, 1] (Lemma 3.4), with scale = −1/ln τ for the paper's rate τ.

        density of M(q) at x = exp(−|x − q|/s) / (s·(2 − exp(−q/s) − exp(−(1 − q)/s)))

    Parameters
    ----------
    scale : float
        s, the mean of |Y| on the whole line.

    >>> noise = TruncatedLaplace(0.1)
    >>> round(float(noise.density(0.2, 0.3)), 6), round(float(noise.tv(0.1, 0.2)), 6), noise.tv_slope(), noise.privacy()
    (1.887238, 0.377224, 5.0, 20.0)
    >>> noise.displacement().at, round(noise.displacement().value, 6)
    (0.0, 0.099955)
    """

    scale: float

    kind = None
    title = "Laplace noise, truncated"
    per_root = PerTarget(ece=2.0, cdl=2 * sqrt(2 * _OMEGA), decision_loss=2 * sqrt(_OMEGA))

    @classmethod
    def paper(cls, eps: float) -> Self:
        """The paper's choice τ = exp(−√(1/(2eps))) (Lemma 3.4), that is scale √(2eps).

        >>> TruncatedLaplace.paper(0.02)
        TruncatedLaplace(scale=0.2)
        """
        return cls(sqrt(2 * checked_eps(eps)))

    @classmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The scale that minimises s + eps/s (ECE), K(s) + eps/s (CDL) or K(s) + eps/(2s) (decision loss).

        For CDL and decision loss, among scales from √eps/4 to 4√eps: beyond, noise leaves next to nothing.

        >>> noise = TruncatedLaplace.for_distance(1e-4)
        >>> round(noise.decision_displacement() + noise.tv_slope() * 1e-4, 5)        # tends to √(2/e)·√eps
        0.00863
        """
        return cls(optimal_scale(cls, eps, target))

    def proved_decision_displacement(self) -> float:
        """2s/e, or twice the displacement if that is less: M(b) is beyond b + x with probability at most exp(−x/s)."""
        return min(2 * self.scale / e, 2 * self.displacement().value)

    def _normaliser(self, q: FloatArray) -> FloatArray:
        """2 − exp(−q/s) − exp(−(1 − q)/s) = 2·Pr[0 ≤ q + Y ≤ 1]."""
        return np.asarray(-(np.expm1(-q / self.scale) + np.expm1((q - 1) / self.scale)))

    def _density(self, x: FloatArray, q: FloatArray) -> FloatArray:
        return exponential(x, q, self.scale) / (self.scale * self._normaliser(q))

    def _cdf(self, x: FloatArray, q: FloatArray) -> FloatArray:
        away = -np.abs(x - q) / self.scale
        before = -np.exp(away) * np.expm1(-x / self.scale)
        past = -(np.expm1(-q / self.scale) + np.expm1(away))
        return np.where(x < q, before, past) / self._normaliser(q)

    def _log_cdf(self, x: FloatArray, q: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):  # Pr[M(q) ≤ 0] = 0
            before = np.log(-np.expm1(-x / self.scale)) - np.abs(q - x) / self.scale - np.log(self._normaliser(q))
            return np.where(x < q, before, np.log(self._cdf(x, q)))

    def _quantile(self, u: FloatArray, q: FloatArray) -> FloatArray:
        below, above = np.expm1(-q / self.scale), np.expm1((q - 1) / self.scale)
        whole = -(below + above)
        d = below + u * whole
        beyond = np.where(d < 0, np.exp(-q / self.scale) + u * whole, np.exp((q - 1) / self.scale) + (1 - u) * whole)
        with np.errstate(divide="ignore"):  # for q ≫ scale, u = 0 asks for a place infinitely far out
            far = np.where(np.abs(d) < 0.5, np.log1p(-np.minimum(np.abs(d), 0.5)), np.minimum(np.log(beyond), -log(2)))
        return np.asarray(np.clip(q + np.copysign(self.scale * far, d), 0, 1))

    def _mean_displacement(self, q: FloatArray) -> FloatArray:
        # gammainc(2, a) = 1 − (1 + a)·exp(−a), without its cancellation
        left, right = (scipy.special.gammainc(2, side / self.scale) for side in (q, 1 - q))
        return np.asarray(self.scale * (left + right) / self._normaliser(q))

    def _above(self, mu: float) -> float:
        tail = np.exp(-mu / self.scale) * np.expm1((mu - 1) / self.scale)
        return float(tail / np.expm1(-1 / self.scale))

    def _crossing(self, b: FloatArray, q: FloatArray) -> FloatArray:
        return np.asarray((b + q) / 2 + self.scale / 2 * np.log(self._normaliser(q) / self._normaliser(b)))

    def _steepest_log_density(self) -> float:
        return 2 / self.scale  # at q = 0, for x < q
