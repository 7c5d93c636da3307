"""The numbers behind the pictures: the histogram, the way to calibration, the loss after noise.

histogram(q)            how predictions are spread
movement(witness)       where mass must move to make the predictor calibrated
after_noise(q, …)       what those who act above a threshold lose after noise
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.kernels import FloatArray
from trustcal.measures.decision import cdl_witness, decision_loss_witness, ece
from trustcal.measures.transport import DtcWitness
from trustcal.noise import Noise
from trustcal.predictor import Predictor
from trustcal.smoothing import smooth

BINS = 50
"""The number of bins of the histogram."""
STEPS = 100
"""Moving mass is pooled to hundredths of [0, 1]: at most 4·STEPS streams, since each outcome keeps its order."""
THRESHOLDS = 400
"""The losses after noise are given on a grid of [0, 1] with this many steps."""
LARGE = 20_000
"""With more values than this, the losses after noise are those of this many bins of equal mass."""


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
    with np.errstate(invalid="ignore"):
        p, b = ((_summed(of, place * way.mass, len(streams)) / mass)[kept] for place in (way.p, way.b))
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


def _summed(into: NDArray[np.intp], mass: FloatArray, bins: int) -> FloatArray:
    return np.asarray(np.bincount(into, mass, bins), dtype=np.float64)


def _numbers(array: FloatArray) -> tuple[float, ...]:
    return tuple(array.tolist())
