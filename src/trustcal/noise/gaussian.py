"""Gaussian noise, clamped to [0, 1] or truncated (conditioned on [0, 1])."""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, erfc, log, pi, sqrt
from typing import Self, final

import numpy as np
import scipy  # loads scipy.special, which is slow to import, when it is first named

from trustcal.checking import checked_eps
from trustcal.noise.bells import Bells, condensed
from trustcal.noise.clamped import ClampedNoise
from trustcal.noise.density import Density, FloatArray
from trustcal.noise.exact import bell
from trustcal.noise.mechanism import Noise, PerTarget, Target, masses_by_cdf, optimal
from trustcal.noise.truncated import TruncatedNoise, optimal_scale

_ROOT_2 = sqrt(2)
_ROOT_2PI = sqrt(2 * pi)
_TIPPING_POINT = 0.75179152469356446
"""Where x·Φ(−x) is largest."""
_KAPPA = _TIPPING_POINT * erfc(_TIPPING_POINT / _ROOT_2)
"""2·max x·Φ(−x) = 0.33994…: for clamped Gaussian noise K ≤ κ·scale."""

_CDL_SCALE = 1.55
_CDL_TILT = 0.34
"""At this scale and eps = 1, Q ≤ _CDL_TILT·scale (Theorem 44): a number certified by branch and bound."""


class GaussianNoise(Noise):
    """What clamped and truncated Gaussian noise share."""

    scale: float

    def density_after(self, p: FloatArray, weights: FloatArray) -> Density:
        """Sums of bells."""
        return Bells(p, weights, self)

    def bin_masses(self, p: FloatArray, weights: FloatArray, edges: FloatArray) -> FloatArray:
        """By the distribution function, at the few places that stand for all values.  O(n + bins/scale) at most."""
        return masses_by_cdf(self, *condensed(p, weights, self.scale), edges, 9 * self.scale)  # beyond: 1e-19


@final
@dataclass(frozen=True)
class ClampedGaussian(GaussianNoise, ClampedNoise):
    """Gaussian noise clamped to [0, 1]: M(q) = clip(q + Y, 0, 1), Y normal of standard deviation `scale`.

    Parameters
    ----------
    scale : float
        The standard deviation of Y.

    >>> noise = ClampedGaussian.for_distance(1e-4)
    >>> round(noise.decision_displacement() + noise.tv_slope() * 1e-4, 7)       # its guarantee, 0.737·√eps
    0.0073653
    """

    scale: float

    kind = "gaussian"
    title = "Gaussian noise, clamped"
    per_root = PerTarget(
        ece=2 * sqrt(2 / pi), cdl=_CDL_SCALE * (_KAPPA / 2 + _CDL_TILT), decision_loss=2 * sqrt(_KAPPA / _ROOT_2PI)
    )

    @classmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The scale that minimises √(2/π)·(s + eps/s) (ECE) or κs + eps/(√(2π)s) (decision loss), where κ =
        2·max x·Φ(−x) = 0.33994…; for CDL 1.55·√eps, which is the best to three digits.
        """
        return cls(optimal(eps, target, ece=1.0, cdl=_CDL_SCALE, decision_loss=1 / sqrt(_ROOT_2PI * _KAPPA)))

    def decision_displacement(self) -> float:
        """K = 2·max over x ≤ 1/2 of x·Φ(−x/scale)."""
        x = min(self._tipping_point(), 0.5)
        return x * erfc(x / (_ROOT_2 * self.scale))

    def tv_slope(self) -> float:
        """1/(√(2π)·scale)."""
        return 1 / (_ROOT_2PI * self.scale)

    def cdl_shift(self, eps: float) -> float:
        """k + Q − K, at most 2·L·eps, with Q bounded by its convexity in eps and one certified value (Theorem 44)."""
        half, known = _KAPPA / 2 * self.scale, (self.scale / _CDL_SCALE) ** 2
        tilt = half + (_CDL_TILT * self.scale - half) * min(eps / known, 1)
        tilt += 2 * self.tv_slope() * max(eps - known, 0)
        return min(2 * self.tv_slope() * eps, half + tilt - self.decision_displacement())

    def _tv(self, b: FloatArray, q: FloatArray) -> FloatArray:
        return np.asarray(scipy.special.erf((q - b) / (2 * _ROOT_2 * self.scale)))

    def _tail(self, y: FloatArray) -> FloatArray:
        return np.asarray(scipy.special.ndtr(-y / self.scale))

    def _log_tail(self, y: FloatArray) -> FloatArray:
        return np.asarray(scipy.special.log_ndtr(-y / self.scale))

    def _hazard_at_1(self) -> float:
        return sqrt(2 / pi) / (self.scale * float(scipy.special.erfcx(1 / (_ROOT_2 * self.scale))))

    def _density(self, x: FloatArray, q: FloatArray) -> FloatArray:
        return bell(x, q, self.scale) / (_ROOT_2PI * self.scale)

    def _line_quantile(self, u: FloatArray) -> FloatArray:
        return np.asarray(self.scale * scipy.special.ndtri(u))

    def _mean_excess(self, a: FloatArray) -> FloatArray:
        z = a / self.scale
        return np.asarray(a * scipy.special.ndtr(-z) - self.scale / _ROOT_2PI * np.expm1(-z * z / 2))

    def _tipping_point(self) -> float:
        return _TIPPING_POINT * self.scale


@final
@dataclass(frozen=True)
class TruncatedGaussian(GaussianNoise, TruncatedNoise):
    """Gaussian noise of standard deviation `scale`, conditioned on [0, 1] (Lemmas 3.4 and A.4).

        density of M(q) at x = φ((x − q)/σ) / (σ·(Φ((1 − q)/σ) − Φ(−q/σ)))

    Parameters
    ----------
    scale : float
        σ, the standard deviation on the whole line.

    >>> noise = TruncatedGaussian(0.05)
    >>> round(float(noise.tv(0.1, 0.2)), 6), round(noise.tv_slope(), 6), round(noise.displacement().value, 6)
    (0.679055, 7.978846, 0.039894)
    """

    scale: float

    kind = None
    title = "Gaussian noise, truncated"
    per_root = PerTarget(ece=2 * sqrt(2 / pi))

    @classmethod
    def paper(cls, eps: float) -> Self:
        """The variance 2·eps·ln(1.25/√eps) of Lemma 3.4.

        The lemma says (γ, √eps)-differentially private with 1 − exp(−γ·eps) ≤ 2√eps.  This is false for eps below
        about 0.00134 and needs no privacy to be repaired: the bounds hold by `tv_slope`.

        >>> from math import exp
        >>> gamma = TruncatedGaussian.paper(1e-4).privacy(delta=0.01)
        >>> round(1 - exp(-gamma * 1e-4), 3)                                        # the lemma says: at most 0.02
        0.053
        """
        return cls(sqrt(2 * checked_eps(eps) * log(1.25 / sqrt(eps))))

    @classmethod
    def paper_improved(cls, eps: float) -> Self:
        """Standard deviation √eps (Lemma A.4, which misprints it as the variance).

        >>> TruncatedGaussian.paper_improved(0.01)
        TruncatedGaussian(scale=0.1)
        """
        return cls(sqrt(checked_eps(eps)))

    @classmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The scale that minimises √(2/π)·(s + eps/s) (ECE), K(s) + 2·slope(s)·eps (CDL) or K(s) + slope(s)·eps.

        For CDL and decision loss, among scales from √eps/4 to 4√eps: beyond, noise leaves next to nothing.
        """
        return cls(optimal_scale(cls, eps, target))

    def tv_slope(self) -> float:
        """E|M(q) − E M(q)|/(2σ²) at q = 1/2, where it is largest (checked numerically; at most 1/(√(2π)σ), proved)."""
        return float(self.mean_displacement(0.5)) / (2 * self.scale**2)

    def proved_tv_slope(self) -> float:
        """1/(√(2π)·scale)."""
        return 1 / (_ROOT_2PI * self.scale)

    def _normaliser(self, q: FloatArray) -> FloatArray:
        """2·Pr[0 ≤ q + Y ≤ 1]."""
        below, above = self._sides(q)
        return np.asarray(below + above)

    def _sides(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """2·Pr[0 ≤ q + Y ≤ q] and 2·Pr[q ≤ q + Y ≤ 1]."""
        width = _ROOT_2 * self.scale
        return scipy.special.erf(q / width), scipy.special.erf((1 - q) / width)

    def _density(self, x: FloatArray, q: FloatArray) -> FloatArray:
        return 2 * bell(x, q, self.scale) / (_ROOT_2PI * self.scale * self._normaliser(q))

    def _cdf(self, x: FloatArray, q: FloatArray) -> FloatArray:
        reached = scipy.special.erf(q / (_ROOT_2 * self.scale)) + scipy.special.erf((x - q) / (_ROOT_2 * self.scale))
        return np.asarray(reached / self._normaliser(q))

    def _log_cdf(self, x: FloatArray, q: FloatArray) -> FloatArray:
        # Far out the difference of two tails is taken of their logarithms, near the mode that of error functions.
        with np.errstate(divide="ignore", invalid="ignore"):
            end, tail = scipy.special.log_ndtr(-q / self.scale), scipy.special.log_ndtr((x - q) / self.scale)
            far = tail + np.log(-np.expm1(end - tail)) + log(2) - np.log(self._normaliser(q))
            return np.where(q - x > self.scale, far, np.log(self._cdf(x, q)))

    def _quantile(self, u: FloatArray, q: FloatArray) -> FloatArray:
        below, above = self._sides(q)
        d = u * (below + above) - below  # = 2·Pr[q + Y ≤ x] − 1
        # Where |d| is large, the mass beyond x keeps the digits that 1 − |d| would lose.
        far, left = np.abs(d) > 0.5, d < 0
        outside = scipy.special.ndtr(-np.where(left, q, 1 - q) / self.scale)
        beyond = outside + np.where(left, u, 1 - u) * (below + above) / 2
        near = _ROOT_2 * scipy.special.erfinv(np.where(far, 0.0, np.abs(d)))
        size = np.where(far, -scipy.special.ndtri(beyond), near)
        return np.asarray(np.clip(q + np.copysign(self.scale * size, d), 0, 1))

    def _mean_displacement(self, q: FloatArray) -> FloatArray:
        left, right = (-np.expm1(-((side / self.scale) ** 2) / 2) for side in (q, 1 - q))
        return np.asarray(2 * self.scale / _ROOT_2PI * (left + right) / self._normaliser(q))

    def _above(self, mu: float) -> float:
        z, end = mu / (_ROOT_2 * self.scale), 1 / (_ROOT_2 * self.scale)
        return (erf(end) - erf(z)) / erf(end) if z < 1 else (erfc(z) - erfc(end)) / erf(end)

    def _crossing(self, b: FloatArray, q: FloatArray) -> FloatArray:
        shift = np.zeros(np.broadcast_shapes(b.shape, q.shape))
        np.divide(np.log(self._normaliser(q) / self._normaliser(b)), q - b, out=shift, where=q > b)
        return (b + q) / 2 + self.scale**2 * shift

    def _steepest_log_density(self) -> float:
        # ∂ ln f_q(x)/∂q = (x − E M(q))/σ², steepest at q = 1, x = 0
        return (1 - float(self.mean_displacement(1.0))) / self.scale**2
