"""Clamped noise: M(q) = clip(q + Y, 0, 1), for a symmetric Y on the line whose density falls away from 0.

What leaves [0, 1] is put on its end, so that M(q) has atoms at 0 and 1.  Clamping costs nothing: for 0 < μ ≤ 1 the
events M(q) ≥ μ and q + Y ≥ μ are the same, so that everything reads as on the line.  With h(x) = x·Pr[Y > x],

    TV(M(b), M(q)) = Pr[|Y| < |b − q| / 2],   steepest at 0, where it is the density of Y at 0
    E|M(q) − q|    = G(q) + G(1 − q),         G(a) = E min(max(Y, 0), a); concave, so largest at q = 1/2
    K              = 2·max over x ≤ 1/2 of h(x)

The last: D_b(μ) = h(|μ − b|), and cav(D_b)(1/2) = sup E h(|μ − b|) over random μ in [0, 1] of mean 1/2.  Let H be h up
to its maximum and constant from there: H ≥ h, increasing and, for the laws here, concave.  By Jensen E h is at
most H(E|μ − b|), and E|μ − b| ≤ 1/2, since |μ − b| ≤ (1 − μ)·b + μ·(1 − b).  So K ≤ 2H(1/2), attained by μ = 1/2.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from trustcal.noise.mechanism import Atoms, Displacement, FloatArray, Noise
from trustcal.noise.privacy import best_gamma


class ClampedNoise(Noise):
    """Y is given by its law on the line; the rest follows."""

    def displacement(self) -> Displacement:
        """Largest at 1/2."""
        return Displacement(2 * float(self._mean_excess(np.asarray(0.5))), 0.5)

    def decision_displacement(self) -> float:
        """K, in closed form (see the head of this file)."""
        x = min(self._tipping_point(), 0.5)
        return 2 * x * float(self._tail(np.asarray(x)))

    def reach(self, share: float = 0.0) -> float:
        """Beyond this |Y| has the given share; clamping moves no draw farther away."""
        return min(float(self._line_quantile(np.asarray(1 - share / 2))), 1.0)

    def privacy(self, delta: float = 0.0) -> float:
        """The least γ; at δ = 0 the hazard rate of Y at 1, reached by the atom at 0 as q and q' approach 1."""
        return best_gamma(self, delta, pure=self._hazard_at_1(), log_cdf=lambda x, q: self._log_tail(q - x))

    def _atoms(self, q: FloatArray) -> Atoms:
        mass = np.stack([self._tail(q), self._tail(1 - q)], axis=-1)
        return Atoms(np.broadcast_to([0.0, 1.0], mass.shape), mass)

    def _cdf(self, x: FloatArray, q: FloatArray) -> FloatArray:
        return np.asarray(self._tail(q - x))

    def _quantile(self, u: FloatArray, q: FloatArray) -> FloatArray:
        return np.clip(q + self._line_quantile(u), 0, 1)

    def _mean_displacement(self, q: FloatArray) -> FloatArray:
        return self._mean_excess(q) + self._mean_excess(1 - q)

    def _log_tail(self, y: FloatArray) -> FloatArray:
        """ln Pr[Y ≥ y], to be overridden where the probability may underflow."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._tail(y)))

    @abstractmethod
    def _tail(self, y: FloatArray) -> FloatArray:
        """Pr[Y ≥ y] = Pr[Y ≤ −y]."""

    @abstractmethod
    def _hazard_at_1(self) -> float:
        """The density of Y at 1 over Pr[Y > 1]."""

    @abstractmethod
    def _line_quantile(self, u: FloatArray) -> FloatArray:
        """The inverse distribution function of Y."""

    @abstractmethod
    def _mean_excess(self, a: FloatArray) -> FloatArray:
        """G(a) = E min(max(Y, 0), a), the integral of the tail from 0 to a."""

    @abstractmethod
    def _tipping_point(self) -> float:
        """The x at which x·Pr[Y > x] is largest."""
