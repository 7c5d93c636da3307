"""The numbers behind the pictures: the reliability curve, the spread of predictions, their way to calibration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trustcal.auditing.curves import Curve, Fix, Histogram, Movement
from trustcal.measures.decision import cdl_witness, decision_loss_witness, ece
from trustcal.measures.transport import DtcWitness
from trustcal.noise import Noise
from trustcal.predictor import Predictor
from trustcal.smoothing import smooth

FloatArray = NDArray[np.float64]

POINTS = 1024
"""A curve has at most so many points."""
BINS = 50
"""Of the histogram."""
STEPS = 100
"""Of [0, 1], to which moving mass is pooled: 4·STEPS streams at most, as each outcome keeps its order."""
THRESHOLDS = 400
"""Steps of [0, 1] at whose ends the losses after noise are given."""
LARGE = 20_000
"""Of more values than these the losses after noise are those of as many cells of equal mass."""
WILSON = 1.959963984540054
"""The 97.5 % quantile of the normal law."""


def curve(measured: Predictor) -> Curve:
    """The reliability curve of what ECE and CDL were measured on, with Wilson's interval for each frequency.

        (f + z²/2n ± z·√(f(1 − f)/n + z²/4n²)) / (1 + z²/n),   n = the (effective) rows there, f = p_hat

    >>> one = curve(Predictor.from_samples([0, 0, 1, 1], [0.5] * 4))
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
    """How the predictions are spread.  O(n)."""
    into = np.minimum(np.floor(q.p * BINS), BINS - 1).astype(np.intp)
    return Histogram(*(_numbers(_summed(into, mass, BINS)) for mass in (q.mass, q.positive)))


def movement(witness: DtcWitness) -> Movement:
    """The cheapest way to a calibrated predictor, pooled: who starts and ends in the same hundredths moves as one.

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


def fixed(q: Predictor, measured: Predictor, noise: Noise) -> Fix:
    """The predictor after noise, and what those who act above a threshold lose then.

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
    return Fix(
        noise=repr(noise),
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
