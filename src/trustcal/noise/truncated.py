"""Truncated noise, in the paper's sense: M(q) is q + Y *conditioned* on [0, 1], for a log-concave, symmetric Y.

    density of M(q) at x = f(x − q) / Z(q),   Z(q) = Pr[0 ≤ q + Y ≤ 1]

(Some privacy libraries call clamped noise truncated; clamped noise has atoms at 0 and 1, truncated noise has none.)

    E|M(q) − q|      is largest at q = 0 and q = 1: it is a mixture of m(q) and m(1 − q), m(a) = E[Y | 0 < Y < a]
    TV(M(b), M(q))   the densities of M(b) and M(q) cross once, at t; their distance is Pr[M(b) ≤ t] − Pr[M(q) ≤ t]
    K                = max over μ ≤ 1/2 of μ·Pr[M(0) > μ]/(1 − μ); that the worst prediction is 0 is checked numerically
                     only (tests/test_noise.py); given that, the maximum is exact: the logarithm is concave in μ
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import erf, erfc, exp, log, pi, sqrt
from typing import Self, final

import numpy as np
import scipy  # loads scipy.special, which is slow to import, when it is first named

from trustcal.noise.exact import bell, exponential
from trustcal.noise.mechanism import (
    Atoms,
    Displacement,
    FloatArray,
    Noise,
    Target,
    distance_to_calibration,
    optimal,
    positive,
)
from trustcal.noise.privacy import best_gamma

_ROOT_2 = sqrt(2)
_ROOT_2PI = sqrt(2 * pi)


class TruncatedNoise(Noise):
    """Y is given by its density and normaliser; the rest follows."""

    scale: float

    def displacement(self) -> Displacement:
        """Largest at 0 (and at 1)."""
        return Displacement(float(self.mean_displacement(0.0)), 0.0)

    def decision_displacement(self) -> float:
        """K, with the worst prediction taken to be 0 (checked numerically only; the head of this file)."""
        from scipy.optimize import brentq  # slow to import, and seldom needed

        zero = np.asarray(0.0)

        def rising(mu: float) -> float:
            """Positive while μ·Pr[M(0) > μ]/(1 − μ) grows."""
            return float(self._above(mu) - mu * (1 - mu) * self._density(np.asarray(mu), zero))

        last = min(0.5, 2 * self.scale)  # it falls from 2·scale on, where the hazard rate is at least 1/scale
        mu = last if rising(last) >= 0 else float(brentq(rising, 0.0, last, xtol=1e-110, maxiter=1000))
        return mu * self._above(mu) / (1 - mu)

    def privacy(self, delta: float = 0.0) -> float:
        """The least γ; at δ = 0 the steepest log-likelihood, sup |∂ ln f_q(x)/∂q|."""
        return best_gamma(self, delta, pure=self._steepest_log_density(), log_cdf=self._log_cdf)

    def _atoms(self, q: FloatArray) -> Atoms:
        none = np.empty((*q.shape, 0))  # what would leave [0, 1] is drawn again
        return Atoms(none, none)

    def _tv(self, b: FloatArray, q: FloatArray) -> FloatArray:
        t = np.clip(self._crossing(b, q), 0, 1)
        return np.maximum(0.0, self._cdf(t, b) - self._cdf(t, q))

    @abstractmethod
    def _above(self, mu: float) -> float:
        """Pr[M(0) > μ]."""

    @abstractmethod
    def _log_cdf(self, x: FloatArray, q: FloatArray) -> FloatArray:
        """ln Pr[M(q) ≤ x], also where the probability underflows."""

    @abstractmethod
    def _crossing(self, b: FloatArray, q: FloatArray) -> FloatArray:
        """Where the densities of M(b) and M(q) are equal, for b ≤ q."""

    @abstractmethod
    def _steepest_log_density(self) -> float:
        """sup |∂ ln f_q(x)/∂q| over q and x in [0, 1]."""


@final
@dataclass(frozen=True)
class TruncatedLaplace(TruncatedNoise):
    """Laplace noise conditioned on [0, 1] (Lemma 3.4), with scale = −1/ln τ for the paper's rate τ.

        density of M(q) at x = exp(−|x − q|/s) / (s·(2 − exp(−q/s) − exp(−(1 − q)/s)))

    >>> noise = TruncatedLaplace(0.1)
    >>> round(float(noise.density(0.2, 0.3)), 6), round(float(noise.tv(0.1, 0.2)), 6), noise.tv_slope(), noise.privacy()
    (1.887238, 0.377224, 5.0, 20.0)
    >>> noise.displacement().at, round(noise.displacement().value, 6)
    (0.0, 0.099955)
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @classmethod
    def paper(cls, eps: float) -> Self:
        """The paper's choice τ = exp(−√(1/(2eps))) (Lemma 3.4), that is scale √(2eps).

        >>> TruncatedLaplace.paper(0.02)
        TruncatedLaplace(scale=0.2)
        """
        return cls(sqrt(2 * distance_to_calibration(eps)))

    @classmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The scale that minimises s + eps/s (ECE), K(s) + eps/s (CDL) or K(s) + eps/(2s) (decision loss).

        For CDL and decision loss, among scales from √eps/4 to 4√eps: beyond, noise leaves next to nothing.

        >>> noise = TruncatedLaplace.for_distance(1e-4)
        >>> round(noise.decision_displacement() + noise.tv_slope() * 1e-4, 5)        # tends to √(2/e)·√eps
        0.00863
        """
        return cls(_optimal_scale(cls, eps, target))

    def tv_slope(self) -> float:
        """1/(2·scale), reached at q = 1/2."""
        return 0.5 / self.scale

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
        below = np.expm1(-q / self.scale)
        d = below - u * (below + np.expm1((q - 1) / self.scale))
        with np.errstate(divide="ignore"):  # for q ≫ scale, u = 0 asks for a place infinitely far out
            return np.asarray(np.clip(q + np.copysign(self.scale * np.log1p(-np.abs(d)), d), 0, 1))

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


@final
@dataclass(frozen=True)
class TruncatedGaussian(TruncatedNoise):
    """Gaussian noise of standard deviation `scale`, conditioned on [0, 1] (Lemmas 3.4 and A.4).

        density of M(q) at x = φ((x − q)/σ) / (σ·(Φ((1 − q)/σ) − Φ(−q/σ)))

    >>> noise = TruncatedGaussian(0.05)
    >>> round(float(noise.tv(0.1, 0.2)), 6), round(noise.tv_slope(), 6), round(noise.displacement().value, 6)
    (0.679055, 7.978846, 0.039894)
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @classmethod
    def paper(cls, eps: float) -> Self:
        """The variance 2·eps·ln(1.25/√eps) of Lemma 3.4.

        The lemma says (γ, √eps)-differentially private with 1 − exp(−γ·eps) ≤ 2√eps.  This is false for eps below
        about 0.00134 and needs no privacy to be repaired: the bounds hold by `tv_slope`.

        >>> gamma = TruncatedGaussian.paper(1e-4).privacy(delta=0.01)
        >>> round(1 - exp(-gamma * 1e-4), 3)                                        # the lemma says: at most 0.02
        0.053
        """
        return cls(sqrt(2 * distance_to_calibration(eps) * log(1.25 / sqrt(eps))))

    @classmethod
    def paper_improved(cls, eps: float) -> Self:
        """Standard deviation √eps (Lemma A.4, which misprints it as the variance).

        >>> TruncatedGaussian.paper_improved(0.01)
        TruncatedGaussian(scale=0.1)
        """
        return cls(sqrt(distance_to_calibration(eps)))

    @classmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The scale that minimises √(2/π)·(s + eps/s) (ECE), K(s) + 2·slope(s)·eps (CDL) or K(s) + slope(s)·eps.

        For CDL and decision loss, among scales from √eps/4 to 4√eps: beyond, noise leaves next to nothing.
        """
        return cls(_optimal_scale(cls, eps, target))

    def tv_slope(self) -> float:
        """E|M(q) − E M(q)|/(2σ²) at q = 1/2, where it is largest (checked numerically; at most 1/(√(2π)σ), proved)."""
        return float(self.mean_displacement(0.5)) / (2 * self.scale**2)

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


def _optimal_scale(noise: Callable[[float], TruncatedNoise], eps: float, target: Target) -> float:
    """√eps for ECE; for the others the guarantee is minimised between √eps/4 and 4√eps, to 1e-6 of the scale."""
    root = optimal(eps, target, ece=1.0, cdl=1.0, decision_loss=1.0)
    if target == "ece":
        return root
    from scipy.optimize import minimize_scalar

    weight = eps if target == "decision_loss" else 2 * eps

    def guarantee(log_scale: float) -> float:
        candidate = noise(root * exp(log_scale))
        return candidate.decision_displacement() + weight * candidate.tv_slope()

    return root * exp(float(minimize_scalar(guarantee, bounds=(-log(4), log(4)), method="bounded").x))
