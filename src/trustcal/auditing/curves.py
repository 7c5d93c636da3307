"""What an audit holds for its pictures: curves, spreads and streams, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Curve:
    """The reliability curve: what predictions say, and what they turn out to mean.

    >>> curve = Curve(p=(0.25, 0.75), p_hat=(0.5, 0.5), mass=(0.5, 0.5), lower=None, upper=None, exact=True)
    >>> curve.loss([0.25, 0.5, 0.75]), curve.reversed(0.3)
    (array([0.16666667, 0.        , 0.16666667]), array(0.5))
    """

    p: tuple[float, ...]
    """Predictions, increasing: the values themselves, or the mean prediction of each cell."""
    p_hat: tuple[float, ...]
    """How often the outcome was 1 there."""
    mass: tuple[float, ...]
    """The share of rows there."""
    lower: tuple[float, ...] | None
    """Wilson's 95 % interval for the frequency p_hat, lower ends; None for a known law."""
    upper: tuple[float, ...] | None
    """Upper ends."""
    exact: bool
    """Whether these are the values that ECE and CDL were measured on; else those, pooled into 1,024 cells."""

    def regret(self, mu: ArrayLike) -> FloatArray:
        """The swap regret R(μ) = E[|p_hat − μ|; μ between p and p_hat] at thresholds.  O(len(mu)·len(p))."""
        return self._sums(mu)[0]

    def reversed(self, mu: ArrayLike) -> FloatArray:
        """The share of rows on which one who acts above μ would have decided otherwise.  O(len(mu)·len(p))."""
        return self._sums(mu)[1]

    def loss(self, mu: ArrayLike) -> FloatArray:
        """What those who act above μ lose, as a share of the payoff range: R(μ) / max(μ, 1 − μ)."""
        thresholds = np.asarray(mu, dtype=np.float64)
        return np.asarray(self.regret(thresholds) / np.maximum(thresholds, 1 - thresholds))

    @property
    def breaks(self) -> FloatArray:
        """0, 1, the predictions and what they mean: between neighbours of these the regret is linear."""
        return np.unique([0.0, *self.p, *self.p_hat, 1.0])

    def _sums(self, mu: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """The regret, and the mass where it is more than rounding, a block of thresholds at a time."""
        p, p_hat, mass = np.array(self.p), np.array(self.p_hat), np.array(self.mass)
        lower, upper = np.minimum(p, p_hat), np.maximum(p, p_hat)
        thresholds = np.asarray(mu, dtype=np.float64)
        sums = np.empty((2, thresholds.size))
        for first in range(0, thresholds.size, 256):
            t = thresholds.ravel()[first : first + 256, None]
            gap = np.abs(p_hat - t) * ((lower <= t) & (t <= upper))
            gap *= gap > 8 * np.finfo(float).eps * np.maximum(t, 1 - t)
            sums[:, first : first + 256] = gap @ mass, (gap > 0) @ mass
        return sums[0].reshape(thresholds.shape), sums[1].reshape(thresholds.shape)


@final
@dataclass(frozen=True)
class Histogram:
    """How predictions are spread over equal bins of [0, 1], the last one closed."""

    mass: tuple[float, ...]
    """The share of rows in each bin."""
    positive: tuple[float, ...]
    """The share of rows in each bin with outcome 1."""


@final
@dataclass(frozen=True)
class Movement:
    """Where mass must move to make the predictor calibrated: the cheapest way, in at most a few hundred streams."""

    p: tuple[float, ...]
    """Predictions."""
    b: tuple[float, ...]
    """What they would say in the nearest calibrated predictor."""
    y: tuple[int, ...]
    """The outcome of the rows that move so."""
    mass: tuple[float, ...]
    """The share of rows that move so.  The sum of mass · |p − b| is the distance to calibration, up to pooling."""


@final
@dataclass(frozen=True)
class Fix:
    """The predictor after noise, known exactly rather than sampled."""

    noise: str
    """The noise, as Python would write it."""
    moved: float
    """How far the noise moves a prediction, on average."""
    ece: float
    """Expected calibration error after the noise."""
    cdl: float
    """Calibration decision loss after the noise."""
    thresholds: tuple[float, ...]
    """Where the two losses below are given, from 0 to 1."""
    regret: tuple[float, ...]
    """The swap regret R after the noise: what is left to gain by knowing what the noised predictions mean."""
    total: tuple[float, ...]
    """What believing the noised predictions loses against the best use of those before: regret and sharpness."""

    def loss(self, mu: ArrayLike, total: bool = False) -> FloatArray:
        """Regret, or total, at thresholds (linear between the given ones), as a share of the payoff range."""
        thresholds = np.asarray(mu, dtype=np.float64)
        lost = np.interp(thresholds, self.thresholds, self.total if total else self.regret)
        return np.asarray(lost / np.maximum(thresholds, 1 - thresholds))
