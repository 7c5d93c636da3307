"""SmoothedPredictor: the exact law of a predictor after noise, without a grid, and its ECE, loss profile and CDL.

The noised prediction p has, on [0, 1], the densities W of p and V of p together with y = 1, and for clamped noise atoms
at 0 and 1.  [0, 1] is cut into pieces on which the posterior p_hat = V/W is monotone:

    uniform     W and V are constant between the points q ± width
    Laplace     W and V are two exponentials each between neighbouring q, so p_hat is a logistic curve there
    Gaussian    pieces end where V'W − VW' changes sign, found on a grid of an eighth of the scale

    ECE    = ∫ |p·W − V| dp                             by the roots of p·W − V
    R(μ)   = ∫ (V − μW)⁺ dp − ∫_{p > μ} (V − μW) dp     whole pieces by running sums, those that cross μ by a root
    CDL    = 2·cav R(1/2)                               by a chord search with a certificate

(atoms come on top).  The search: the first integral is convex in μ and the second has a second derivative of at most
2W + μW' − V' ≤ K, so that between two thresholds at distance h, R exceeds its chord by at most K·h²/8.  Thresholds are
added in the middle of every gap where R might exceed the line over 1/2 by more than 1e-13.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import unit_numbers
from trustcal.decisions.envelope import bridge, over_half
from trustcal.noise import (
    ClampedGaussian,
    ClampedLaplace,
    Noise,
    TruncatedGaussian,
    TruncatedLaplace,
    UniformNoise,
)
from trustcal.predictor import Predictor
from trustcal.smoothing.bells import Bells
from trustcal.smoothing.density import Density, Exponentials, Steps

FloatArray = NDArray[np.float64]

_TOLERANCE = 1e-13
_MOST_THRESHOLDS = 100_000


@final
@dataclass(frozen=True, eq=False)
class SmoothedPredictor:
    """A predictor after noise (the output of Section 3's algorithm), known exactly rather than sampled.

    >>> from trustcal.noise import UniformNoise
    >>> q = Predictor([0.4, 0.6], [0.5, 0.5], [0.25, 0.25])
    >>> smoothed = SmoothedPredictor(q, UniformNoise(0.1))
    >>> round(smoothed.ece(), 12), round(smoothed.cdl(), 12), smoothed.profile([0.5, 0.6]).round(12)
    (0.1, 0.05, array([0.   , 0.025]))
    """

    q: Predictor
    """The predictor before noise."""
    noise: Noise

    @property
    def base_rate(self) -> float:
        """Pr[y = 1], which noise does not change."""
        return self.q.base_rate

    def ece(self) -> float:
        """Expected calibration error (Definition 2.8), E|p − p_hat| = ∫ |p·W − V| dp and the same for atoms.

        O(n), after a sort; for Gaussian noise O(n + 1/scale).
        """
        (_, zero), (mass, one) = self._density.atoms
        return float(self._density.absolute_bias() + zero + abs(mass - one))

    def profile(self, mu: ArrayLike) -> FloatArray:
        """The swap regret R(μ) = E[|p_hat − μ|; μ between p and p_hat] at any thresholds.  O(n) for each."""
        thresholds = unit_numbers(mu, "thresholds")
        return self._density.regret(thresholds.ravel()).reshape(thresholds.shape)[()]

    def cdl(self) -> float:
        """Calibration decision loss (Definition 2.12), 2·cav R(1/2), to 1e-12 (from below).

        A few hundred profiles of O(n), for Gaussian noise O(1/scale), each; should R run along its envelope, the search
        ends at 10^5 thresholds.
        """
        return self._worst[0]

    @property
    def cdl_thresholds(self) -> tuple[float, float]:
        """Where the worst decision maker changes action; equal if there is one threshold, 1/2."""
        return self._worst[1]

    @cached_property
    def _density(self) -> Density:
        return density_after(self.q, self.noise)

    @cached_property
    def _worst(self) -> tuple[float, tuple[float, float]]:
        return _bridge(self._density)


def density_after(q: Predictor, noise: Noise) -> Density:
    """W and V of a predictor after noise, or a refusal where the noise has no density."""
    if isinstance(noise, UniformNoise):
        return Steps(q, noise)
    if isinstance(noise, (TruncatedLaplace, ClampedLaplace)):
        return Exponentials(q, noise)
    if isinstance(noise, (TruncatedGaussian, ClampedGaussian)):
        return Bells(q, noise)
    raise ValueError(f"the law after {noise!r} is known on a grid only: use smooth(q, noise, cells=…).")


def _bridge(density: Density) -> tuple[float, tuple[float, float]]:
    """2·cav R(1/2) and the thresholds that attain it (see the head of this file)."""
    x = density.thresholds()
    r = density.regret(x)
    curvature = density.curvature(x[:-1], x[1:])
    while True:
        height, slope, ends = _highest_chord(x, r)
        short = np.maximum(height + slope * (x - 0.5) - r, 0.0)
        rise = curvature * np.diff(x) ** 2 / 2  # a parabola of height rise/4 on the chord
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            at = np.clip(0.5 + (short[:-1] - short[1:]) / (2 * rise), 0.0, 1.0)
        at = np.where(rise > 0, at, 0.5)
        over = rise * at * (1 - at) - short[:-1] * (1 - at) - short[1:] * at
        middle = (x[1:] + x[:-1]) / 2
        split = np.flatnonzero((over > _TOLERANCE) & (middle > x[:-1]) & (middle < x[1:]))
        if len(split) == 0 or len(x) > _MOST_THRESHOLDS + 4 * len(density.edges):
            return min(1.0, 2 * height), ends
        added = middle[split]
        new = density.regret(added)
        halves = density.curvature(np.stack([x[split], added]).ravel(), np.stack([added, x[split + 1]]).ravel())
        curvature[split] = halves[: len(split)]
        curvature = np.insert(curvature, split + 1, halves[len(split) :])
        x, r = np.insert(x, split + 1, added), np.insert(r, split + 1, new)


def _highest_chord(x: FloatArray, r: FloatArray) -> tuple[float, float, tuple[float, float]]:
    """The highest chord over 1/2, its slope and its ends; no point lies above its line."""
    a, b = bridge(x, r, ((float(x[0]), float(r[0])), (float(x[-1]), float(r[-1]))))
    height, middle = over_half(a, b), int(np.searchsorted(x, 0.5))
    if r[middle] < height:
        return height, (b[1] - a[1]) / (b[0] - a[0]), (a[0], b[0])
    left, right = slice(0, middle), slice(middle + 1, None)
    steepest = float(((r[middle] - r[left]) / (0.5 - x[left])).min())
    flattest = float(((r[right] - r[middle]) / (x[right] - 0.5)).max())
    return float(r[middle]), (steepest + flattest) / 2, (0.5, 0.5)
