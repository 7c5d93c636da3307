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
from math import exp, log

import numpy as np

from trustcal.noise.mechanism import Atoms, Displacement, FloatArray, Noise, Target, optimal
from trustcal.noise.privacy import best_gamma


class TruncatedNoise(Noise):
    """Y is given by its density and normaliser; the rest follows."""

    scale: float

    caveat = "with K at the prediction 0, the worst one in every numerical check"

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


def optimal_scale(noise: Callable[[float], TruncatedNoise], eps: float, target: Target) -> float:
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
