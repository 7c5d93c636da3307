"""The numbers behind the pictures: the reliability curve, the histogram, the way to calibration, the loss after noise.

reliability_curve(q)    predictions against the frequency of the outcome, with intervals
histogram(q)            how predictions are spread
movement(witness)       where mass must move to make the predictor calibrated
after_noise(q, …)       what those who act above a threshold lose after noise
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.measures.decision import cdl_witness, decision_loss_witness, ece
from trustcal.measures.transport import DtcWitness
from trustcal.noise import Noise
from trustcal.predictor import Predictor
from trustcal.smoothing import smooth

FloatArray = NDArray[np.float64]

POINTS = 1024
"""The largest number of points of a curve."""
BINS = 50
"""The number of bins of the histogram."""
STEPS = 100
"""Moving mass is pooled to hundredths of [0, 1]: at most 4·STEPS streams, since each outcome keeps its order."""
THRESHOLDS = 400
"""The losses after noise are given on a grid of [0, 1] with this many steps."""
LARGE = 20_000
"""With more values than this, the losses after noise are those of this many bins of equal mass."""
WILSON = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""


@final
@dataclass(frozen=True)
class Curve:
    """The reliability curve: predictions against the frequency of the outcome.

    >>> curve = Curve(p=(0.25, 0.75), p_hat=(0.5, 0.5), mass=(0.5, 0.5), lower=None, upper=None, exact=True)
    >>> curve.loss([0.25, 0.5, 0.75]), curve.reversed(0.3)
    (array([0.16666667, 0.        , 0.16666667]), array(0.5))
    """

    p: tuple[float, ...]
    """Predictions, increasing: the values themselves, or the mean prediction of each bin."""
    p_hat: tuple[float, ...]
    """The frequency of outcome 1 there."""
    mass: tuple[float, ...]
    """The share of rows there."""
    lower: tuple[float, ...] | None
    """Wilson's 95 % interval for the frequency p_hat, lower ends; None for a known distribution."""
    upper: tuple[float, ...] | None
    """Upper ends."""
    exact: bool
    """Whether these are the values that ECE and CDL were measured on; otherwise they are pooled into 1,024 bins."""

    def regret(self, mu: ArrayLike) -> FloatArray:
        """The swap regret R(μ) = E[|p_hat − μ|; μ between p and p_hat] at thresholds.  O(len(mu)·len(p))."""
        return self._sums(mu)[0]

    def reversed(self, mu: ArrayLike) -> FloatArray:
        """The share of decisions above μ that would change if p_hat were known.  O(len(mu)·len(p))."""
        return self._sums(mu)[1]

    def loss(self, mu: ArrayLike) -> FloatArray:
        """The loss of those who act above μ, as a share of the payoff range: R(μ) / max(μ, 1 − μ)."""
        thresholds = np.asarray(mu, dtype=np.float64)
        return np.asarray(self.regret(thresholds) / np.maximum(thresholds, 1 - thresholds))

    @property
    def breaks(self) -> FloatArray:
        """0, 1, p and p_hat, sorted: between neighbours the regret is linear."""
        return np.unique([0.0, *self.p, *self.p_hat, 1.0])

    def _sums(self, mu: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """The regret, and the mass where it exceeds rounding, a block of thresholds at a time."""
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
    """Where mass must move to make the predictor calibrated: an optimal coupling, in at most a few hundred streams."""

    p: tuple[float, ...]
    """Predictions."""
    b: tuple[float, ...]
    """What they would say in the nearest calibrated predictor."""
    y: tuple[int, ...]
    """The outcome of the rows in each stream."""
    mass: tuple[float, ...]
    """The share of rows in each stream.  The sum of mass · |p − b| is the distance to calibration, up to pooling."""


@final
@dataclass(frozen=True)
class AfterNoise:
    """The predictor after noise, computed exactly rather than sampled."""

    noise: Noise
    """The noise."""
    moved: float
    """The mean distance that the noise moves a prediction."""
    ece: float
    """Expected calibration error after the noise."""
    cdl: float
    """Calibration decision loss after the noise."""
    thresholds: tuple[float, ...]
    """The grid of the two losses below, from 0 to 1."""
    regret: tuple[float, ...]
    """The swap regret R after the noise: what remains to be gained by knowing what the noised predictions mean."""
    total: tuple[float, ...]
    """The loss against the best use of the predictions before the noise: regret plus lost sharpness."""

    def loss(self, mu: ArrayLike, total: bool = False) -> FloatArray:
        """Regret, or total, at thresholds (linear on the grid), as a share of the payoff range."""
        thresholds = np.asarray(mu, dtype=np.float64)
        lost = np.interp(thresholds, self.thresholds, self.total if total else self.regret)
        return np.asarray(lost / np.maximum(thresholds, 1 - thresholds))


def reliability_curve(measured: Predictor) -> Curve:
    """The reliability curve of what ECE and CDL were measured on, with Wilson's interval for each frequency.

        (f + z²/2n ± z·√(f(1 − f)/n + z²/4n²)) / (1 + z²/n),   n = the (effective) rows there, f = p_hat

    >>> one = reliability_curve(Predictor.from_samples([0, 0, 1, 1], [0.5] * 4))
    >>> one.p_hat, [round(end[0], 4) for end in (one.lower, one.upper)]
    ((0.5,), [0.15, 0.85])

    O(n).
    """
    exact = len(measured) <= POINTS
    q = measured if exact else measured.coarsen(POINTS)
    lower = upper = None
    if q.effective_rows is not None:
        n, f, z = q.mass * q.effective_rows, q.p_hat, WILSON
        centre = f + z * z / (2 * n)
        half = z * np.sqrt(f * (1 - f) / n + (z / (2 * n)) ** 2)
        lower, upper = (_numbers(np.clip((centre + s * half) / (1 + z * z / n), 0, 1)) for s in (-1, 1))
    return Curve(_numbers(q.p), _numbers(q.p_hat), _numbers(q.mass), lower, upper, exact)


def histogram(q: Predictor) -> Histogram:
    """The histogram of a predictor.  O(n)."""
    into = np.minimum(np.floor(q.p * BINS), BINS - 1).astype(np.intp)
    return Histogram(*(_numbers(_summed(into, mass, BINS)) for mass in (q.mass, q.positive)))


def movement(witness: DtcWitness) -> Movement:
    """An optimal coupling with a calibrated predictor, pooled by the hundredths where mass starts and ends.

    >>> from trustcal.measures.transport import dtc_witness
    >>> movement(dtc_witness(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])))
    Movement(p=(0.5001, 0.4999), b=(0.5, 0.5), y=(0, 1), mass=(0.5, 0.5))

    O(n).
    """
    way = witness.coupling
    start, end = (np.minimum(np.floor(place * STEPS), STEPS - 1).astype(np.intp) for place in (way.p, way.b))
    key = (way.y.astype(np.intp) * STEPS + start) * STEPS + end
    streams, of = np.unique(key, return_inverse=True)
    mass = _summed(of, way.mass, len(streams))
    kept = mass > 0
    p, b = (_mean(place, way.mass, of, mass)[kept] for place in (way.p, way.b))
    return Movement(_numbers(p), _numbers(b), tuple((streams[kept] // STEPS**2).tolist()), _numbers(mass[kept]))


def after_noise(q: Predictor, measured: Predictor, noise: Noise) -> AfterNoise:
    """The predictor after noise, and what those who act above a threshold then lose.

        regret(μ) = E[|p_hat − μ|; μ between p and p_hat],  p the noised prediction and p_hat what it means
        total(μ)  = E[(y − μ)·1{b > μ}] − E[(y − μ)·1{p > μ}],  b what the predictions before the noise mean

    O(n) for each of 401 thresholds, and a few hundred times that for the CDL.
    """
    law = q if len(q) <= LARGE else q.coarsen(LARGE)
    mu = np.arange(THRESHOLDS + 1) / THRESHOLDS
    after = smooth(law, noise)
    if isinstance(after, Predictor):
        witness = cdl_witness(after)
        error, loss, regret = ece(after), witness.value, witness.profile(mu)
        total = decision_loss_witness(after, measured.calibrated()).profile(mu)
    else:
        error, loss, regret = after.ece(), after.cdl(), after.profile(mu)
        best = [np.maximum(measured.positive - t * measured.mass, 0.0).sum() for t in mu]
        total = np.array(best) - _earned(law, noise, mu)
    return AfterNoise(
        noise=noise,
        moved=float(noise.mean_displacement(law.p) @ law.mass),
        ece=error,
        cdl=loss,
        thresholds=_numbers(mu),
        regret=_numbers(np.maximum(regret, 0)),
        total=_numbers(total),
    )


def _earned(law: Predictor, noise: Noise, mu: FloatArray) -> FloatArray:
    """E[(y − μ)·1{p > μ}] of the noised prediction p; at 1, where clamped noise has an atom, with ≥: it earns less."""
    earned, size = np.empty(len(mu)), max(1, (1 << 20) // len(law))
    for first in range(0, len(mu), size):
        t = mu[first : first + size, None]
        above = 1 - noise.cdf(np.minimum(t, np.nextafter(1.0, 0.0)), law.p)
        earned[first : first + size] = above @ law.positive - t[:, 0] * (above @ law.mass)
    return earned


def _mean(place: FloatArray, mass: FloatArray, of: NDArray[np.intp], total: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.asarray(_summed(of, place * mass, len(total)) / total)


def _summed(into: NDArray[np.intp], mass: FloatArray, bins: int) -> FloatArray:
    return np.asarray(np.bincount(into, mass, bins), dtype=np.float64)


def _numbers(array: FloatArray) -> tuple[float, ...]:
    return tuple(np.asarray(array, dtype=np.float64).tolist())
