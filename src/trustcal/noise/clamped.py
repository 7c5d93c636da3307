"""Clamped noise: M(q) = clip(q + Y, 0, 1), for a symmetric Y on the line whose density falls away from 0.

What leaves [0, 1] is put on its end, so that M(q) has atoms at 0 and 1.  Clamping costs nothing: for 0 < μ ≤ 1 the
events M(q) ≥ μ and q + Y ≥ μ are the same, so that everything reads as on the line.  With h(x) = x·Pr[Y > x],

    TV(M(b), M(q)) = Pr[|Y| < |b − q| / 2],   steepest at 0, where it is the density of Y at 0
    E|M(q) − q|    = G(q) + G(1 − q),         G(a) = E min(max(Y, 0), a); concave, so largest at q = 1/2
    K              = 2·max over x ≤ 1/2 of h(x)

The last: D_b(μ) = h(|μ − b|), and cav(D_b)(1/2) = sup E h(|μ − b|) over random μ in [0, 1] of mean 1/2.  Let H be h up
to its maximum and constant from there: H ≥ h, increasing and, for the three laws here, concave.  By Jensen E h is at
most H(E|μ − b|), and E|μ − b| ≤ 1/2, since |μ − b| ≤ (1 − μ)·b + μ·(1 − b).  So K ≤ 2H(1/2), attained by μ = 1/2.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import e, erfc, inf, log, pi, sqrt
from typing import Self, final

import numpy as np
import scipy  # loads scipy.special, which is slow to import, when it is first named

from trustcal.noise.exact import bell, exponential
from trustcal.noise.mechanism import Atoms, Displacement, FloatArray, Noise, Target, optimal, positive
from trustcal.noise.privacy import best_gamma

_ROOT_2 = sqrt(2)
_ROOT_2PI = sqrt(2 * pi)
_GAUSSIAN_TIPPING_POINT = 0.75179152469356446
"""Where x·Φ(−x) is largest."""


class ClampedNoise(Noise):
    """Y is given by its law on the line; the rest follows."""

    def displacement(self) -> Displacement:
        """Largest at 1/2."""
        return Displacement(2 * float(self._mean_excess(np.asarray(0.5))), 0.5)

    def decision_displacement(self) -> float:
        """K, in closed form (see the head of this file)."""
        x = min(self._tipping_point(), 0.5)
        return 2 * x * float(self._tail(np.asarray(x)))

    def privacy(self, delta: float = 0.0) -> float:
        """The least γ; at δ = 0 the hazard rate of Y at 1, reached by the atom at 0 as q and q' approach 1."""
        return best_gamma(self, delta, pure=self._hazard_at_1(), log_cdf=lambda x, q: self._log_tail(q - x))

    def _density(self, x: FloatArray, q: FloatArray) -> FloatArray:
        return self._line_density(x, q)

    def _atoms(self, q: FloatArray) -> Atoms:
        mass = np.stack([self._tail(q), self._tail(1 - q)], axis=-1)
        return Atoms(np.broadcast_to([0.0, 1.0], mass.shape), mass)

    def _cdf(self, x: FloatArray, q: FloatArray) -> FloatArray:
        return np.asarray(self._tail(q - x))

    def _quantile(self, u: FloatArray, q: FloatArray) -> FloatArray:
        return np.clip(q + self._line_quantile(u), 0, 1)

    def _mean_displacement(self, q: FloatArray) -> FloatArray:
        return self._mean_excess(q) + self._mean_excess(1 - q)

    @abstractmethod
    def _tail(self, y: FloatArray) -> FloatArray:
        """Pr[Y ≥ y] = Pr[Y ≤ −y]."""

    @abstractmethod
    def _log_tail(self, y: FloatArray) -> FloatArray:
        """ln Pr[Y ≥ y], also where the probability underflows."""

    @abstractmethod
    def _hazard_at_1(self) -> float:
        """The density of Y at 1 over Pr[Y > 1]."""

    @abstractmethod
    def _line_density(self, x: FloatArray, q: FloatArray) -> FloatArray:
        """The density of q + Y at x."""

    @abstractmethod
    def _line_quantile(self, u: FloatArray) -> FloatArray:
        """The inverse distribution function of Y."""

    @abstractmethod
    def _mean_excess(self, a: FloatArray) -> FloatArray:
        """G(a) = E min(max(Y, 0), a), the integral of the tail from 0 to a."""

    @abstractmethod
    def _tipping_point(self) -> float:
        """The x at which x·Pr[Y > x] is largest."""


@final
@dataclass(frozen=True)
class UniformNoise(ClampedNoise):
    """Uniform noise clamped to [0, 1]: M(q) = clip(q + U, 0, 1), U uniform on [−width, width].

    Minimax optimal for decision loss up to eps/2: it guarantees √(eps/2), and nobody can beat (√(eps² + 2eps) − eps)/2.

    >>> noise = UniformNoise(0.25)
    >>> float(noise.cdf(0, 0.125)), float(noise.tv(0.4, 0.5)), noise.decision_displacement()
    (0.25, 0.19999999999999996, 0.0625)
    """

    width: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", positive("width", self.width))

    @classmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The width that minimises w/2 + eps/w (ECE), w/4 + eps/w (CDL) or w/4 + eps/(2w) (decision loss).

        >>> UniformNoise.for_distance(0.02).width                     # the guarantee: √(eps/2) = 0.1
        0.2
        """
        return cls(optimal(eps, target, ece=_ROOT_2, cdl=2.0, decision_loss=_ROOT_2))

    def tv_slope(self) -> float:
        """1/(2·width)."""
        return 0.5 / self.width

    def _tv(self, b: FloatArray, q: FloatArray) -> FloatArray:
        return np.minimum(1.0, (q - b) / (2 * self.width))

    def _tail(self, y: FloatArray) -> FloatArray:
        return np.clip((self.width - y) / (2 * self.width), 0, 1)

    def _log_tail(self, y: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._tail(y)))

    def _hazard_at_1(self) -> float:
        return 1 / (self.width - 1) if self.width > 1 else inf

    def _line_density(self, x: FloatArray, q: FloatArray) -> FloatArray:
        return np.where(np.abs(x - q) <= self.width, 0.5 / self.width, 0.0)

    def _line_quantile(self, u: FloatArray) -> FloatArray:
        return np.asarray((2 * u - 1) * self.width)

    def _mean_excess(self, a: FloatArray) -> FloatArray:
        reach = np.minimum(a, self.width)
        return np.asarray(reach * (2 * self.width - reach) / (4 * self.width))

    def _tipping_point(self) -> float:
        return self.width / 2


@final
@dataclass(frozen=True)
class ClampedLaplace(ClampedNoise):
    """Laplace noise clamped to [0, 1]: M(q) = clip(q + Y, 0, 1), Y of density exp(−|y|/scale)/(2·scale).

    >>> noise = ClampedLaplace(0.25)
    >>> float(noise.cdf(0, 0)), noise.tv_slope(), noise.privacy()
    (0.5, 2.0, 4.0)
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @classmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The scale that minimises s + eps/s (ECE), s/e + eps/s (CDL) or s/e + eps/(2s) (decision loss)."""
        return cls(optimal(eps, target, ece=1.0, cdl=sqrt(e), decision_loss=sqrt(e / 2)))

    def tv_slope(self) -> float:
        """1/(2·scale)."""
        return 0.5 / self.scale

    def _tv(self, b: FloatArray, q: FloatArray) -> FloatArray:
        return np.asarray(-np.expm1((b - q) / (2 * self.scale)))

    def _tail(self, y: FloatArray) -> FloatArray:
        half = 0.5 * np.exp(-np.abs(y) / self.scale)
        return np.where(y < 0, 1 - half, half)

    def _log_tail(self, y: FloatArray) -> FloatArray:
        return np.where(y < 0, np.log1p(-0.5 * np.exp(-np.abs(y) / self.scale)), -y / self.scale - log(2))

    def _hazard_at_1(self) -> float:
        return 1 / self.scale

    def _line_density(self, x: FloatArray, q: FloatArray) -> FloatArray:
        return exponential(x, q, self.scale) / (2 * self.scale)

    def _line_quantile(self, u: FloatArray) -> FloatArray:
        d = 2 * u - 1
        with np.errstate(divide="ignore"):  # u = 0 and u = 1 are infinitely far out
            return np.copysign(self.scale * np.log1p(-np.abs(d)), d)

    def _mean_excess(self, a: FloatArray) -> FloatArray:
        return np.asarray(-0.5 * self.scale * np.expm1(-a / self.scale))

    def _tipping_point(self) -> float:
        return self.scale


@final
@dataclass(frozen=True)
class ClampedGaussian(ClampedNoise):
    """Gaussian noise clamped to [0, 1]: M(q) = clip(q + Y, 0, 1), Y normal of standard deviation `scale`.

    >>> noise = ClampedGaussian.for_distance(1e-4)
    >>> round(noise.decision_displacement() + noise.tv_slope() * 1e-4, 7)       # its guarantee, 0.737·√eps
    0.0073653
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @classmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The scale that minimises √(2/π)·(s + eps/s) (ECE), and κs + 2eps/(√(2π)s) (CDL) or half the second term
        (decision loss), where κ = 2·max x·Φ(−x) = 0.33994…
        """
        kappa = _GAUSSIAN_TIPPING_POINT * erfc(_GAUSSIAN_TIPPING_POINT / _ROOT_2)
        ratio = 1 / sqrt(_ROOT_2PI * kappa)
        return cls(optimal(eps, target, ece=1.0, cdl=_ROOT_2 * ratio, decision_loss=ratio))

    def decision_displacement(self) -> float:
        """K = 2·max over x ≤ 1/2 of x·Φ(−x/scale)."""
        x = min(self._tipping_point(), 0.5)
        return x * erfc(x / (_ROOT_2 * self.scale))

    def tv_slope(self) -> float:
        """1/(√(2π)·scale)."""
        return 1 / (_ROOT_2PI * self.scale)

    def _tv(self, b: FloatArray, q: FloatArray) -> FloatArray:
        return np.asarray(scipy.special.erf((q - b) / (2 * _ROOT_2 * self.scale)))

    def _tail(self, y: FloatArray) -> FloatArray:
        return np.asarray(scipy.special.ndtr(-y / self.scale))

    def _log_tail(self, y: FloatArray) -> FloatArray:
        return np.asarray(scipy.special.log_ndtr(-y / self.scale))

    def _hazard_at_1(self) -> float:
        return sqrt(2 / pi) / (self.scale * float(scipy.special.erfcx(1 / (_ROOT_2 * self.scale))))

    def _line_density(self, x: FloatArray, q: FloatArray) -> FloatArray:
        return bell(x, q, self.scale) / (_ROOT_2PI * self.scale)

    def _line_quantile(self, u: FloatArray) -> FloatArray:
        return np.asarray(self.scale * scipy.special.ndtri(u))

    def _mean_excess(self, a: FloatArray) -> FloatArray:
        z = a / self.scale
        return np.asarray(a * scipy.special.ndtr(-z) - self.scale / _ROOT_2PI * np.expm1(-z * z / 2))

    def _tipping_point(self) -> float:
        return _GAUSSIAN_TIPPING_POINT * self.scale
