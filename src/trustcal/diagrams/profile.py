"""The loss at every threshold, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import unit_numbers
from trustcal.diagrams.thinning import kept_points, levels, shown_points
from trustcal.inference.bands import profile_band
from trustcal.measures.decision import cdl_witness
from trustcal.measures.monotone import MonotoneWitness, monotone_cdl_witness
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]
Column = tuple[float, ...]

ROUNDING = 8 * float(np.finfo(float).eps)
"""A regret, or a gap between a threshold and p_hat, of no more than this is rounding."""
HEAVY = 2.0**-12
"""On either side of a prediction with more mass than this the profile may jump visibly."""
STEPS = 20
"""A loss profile keeps this many equally spaced thresholds whatever the rows, and 1."""


@final
@dataclass(frozen=True)
class LossProfile:
    """What those who act above a threshold lose, and the better threshold."""

    swaps: bool
    """Whether the loss is against knowing the meaning of every value; otherwise, against the better threshold."""
    thresholds: tuple[float, ...]
    """The thresholds, from 0 to 1.  The regret is linear between neighbours."""
    regret: tuple[float, ...]
    """What is lost at each, payoff y − threshold for acting: swap regret, or what the better threshold gains."""
    instead: tuple[float, ...]
    """Act above this instead; −1: always, 1: never.  The threshold itself where another gains nothing."""
    reversed: tuple[float, ...]
    """The share of decisions that change without the loss."""
    half_width: float | None
    """The regret of the population is within this of `regret` at all thresholds, with `confidence`; None: not asked."""
    confidence: float | None
    """The confidence level of the band."""

    def regret_at(self, mu: ArrayLike) -> FloatArray:
        """The regret at thresholds, linear in between.  O(log n) for each."""
        return np.asarray(np.interp(np.asarray(mu, dtype=np.float64), self.thresholds, self.regret))

    def loss(self, mu: ArrayLike) -> FloatArray:
        """The regret at thresholds as a share of the payoff range: divided by max(μ, 1 − μ).  O(log n) for each."""
        thresholds = np.asarray(mu, dtype=np.float64)
        return np.asarray(self.regret_at(thresholds) / np.maximum(thresholds, 1 - thresholds))

    def better(self, mu: float) -> float:
        """The threshold to use instead of μ: that of the last threshold shown at or below μ.  O(log n)."""
        return self.instead[self._before(mu)]

    def changed(self, mu: float) -> float:
        """The share of decisions that change, likewise.  O(log n)."""
        return self.reversed[self._before(mu)]

    def _before(self, mu: float) -> int:
        return int(np.searchsorted(self.thresholds, mu, side="right")) - 1

    @property
    def worst(self) -> float:
        """The threshold whose decision makers lose the largest share of their payoff range."""
        return self.thresholds[int(np.argmax(self.loss(self.thresholds)))]


def loss_profile(q: Predictor, *, thresholds: ArrayLike = (), confidence: float | None = None) -> LossProfile:
    """The loss of those who act above a threshold, for every threshold, and which threshold to use instead.

    Parameters
    ----------
    q : the predictor.
    thresholds : thresholds that must be among those shown.
    confidence : the confidence level of a band for all thresholds at once, from equal rows; None: no band.

    Returns
    -------
    LossProfile : D(μ) of `monotone_cdl_witness`, its better threshold ν(μ), and the share of decisions that change.

    >>> profile = loss_profile(Predictor([0.25, 0.5, 0.75], [0.25, 0.5, 0.25], [0.0, 0.125, 0.25]))
    >>> profile.worst, float(profile.loss(0.5)), profile.better(0.45)
    (0.5, 0.25, 0.5)

    O(n log n).
    """
    half_width = None if confidence is None else profile_band(q, confidence)
    witness = monotone_cdl_witness(q)
    mu, asked = _thresholds(q, thresholds, witness.profile(q.p), levels(q))
    columns = _profile(witness, mu, asked, witness.profile(mu), _moved(q, mu))
    return LossProfile(False, *columns, half_width=half_width, confidence=confidence)


def swap_profile(q: Predictor, *, thresholds: ArrayLike = ()) -> LossProfile:
    """The loss of those who act above a threshold against knowing what every prediction value means.

        R(μ) = E[|p_hat − μ|; μ between p and p_hat]

    Parameters
    ----------
    q : the predictor; its values must be common enough to have a frequency.
    thresholds : thresholds that must be among those shown.

    Returns
    -------
    LossProfile : R(μ), the better threshold ν(μ), and the share of decisions that change if values are known.

    >>> rain = swap_profile(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0]))
    >>> float(rain.loss(0.5)), rain.changed(0.5)
    (1.0, 1.0)

    O(n log n).
    """
    known = cdl_witness(q)
    mu, asked = _thresholds(q, thresholds, known.profile(q.p), q.p_hat)
    up, down = q.p_hat - q.p > ROUNDING, q.p - q.p_hat > ROUNDING
    changed = _mass_below(q.p[up], q.mass[up], mu, "right")
    changed -= _mass_below(q.p_hat[up] - ROUNDING, q.mass[up], mu, "right")
    changed += _mass_below(q.p_hat[down] + ROUNDING, q.mass[down], mu, "left")
    changed -= _mass_below(q.p[down], q.mass[down], mu, "left")
    regret, changed = np.maximum(known.profile(mu), 0.0), np.maximum(changed, 0.0)
    columns = _profile(monotone_cdl_witness(q), mu, asked, regret, changed)
    return LossProfile(True, *columns, half_width=None, confidence=None)


def _thresholds(q: Predictor, asked: ArrayLike, regret: FloatArray, kinks: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where the profile of this regret at q.p may bend or jump, sorted; and of these, those that are always shown."""
    always = np.concatenate([np.arange(STEPS + 1) / STEPS, unit_numbers(asked, "thresholds").ravel()])
    heavy = np.flatnonzero(q.mass > HEAVY)
    p = q.p[np.union1d(shown_points(q.p, regret / np.maximum(q.p, 1 - q.p)), heavy)]
    kinks = np.sort(kinks)
    kinks = kinks[shown_points(kinks)]
    return np.unique(np.concatenate([always, np.nextafter(p, 0), p, np.nextafter(p, 1), kinks])), always


def _profile(
    witness: MonotoneWitness, mu: FloatArray, always: FloatArray, regret: FloatArray, changed: FloatArray
) -> tuple[Column, Column, Column, Column]:
    """Thresholds, regret, better thresholds and the share of decisions that change, as far as a picture shows them."""
    idle, last = regret <= ROUNDING, witness.predictor.p[-1]
    instead = witness.reread(mu)
    instead = np.where(instead >= last, 1.0, np.maximum(instead, -1.0))
    instead = np.where(witness.profile(mu) <= ROUNDING, mu, instead)
    kept = np.union1d(shown_points(mu, regret / np.maximum(mu, 1 - mu)), np.searchsorted(mu, always))
    regret, changed = np.where(idle, 0.0, regret), np.where(idle, 0.0, changed)
    shown, lost, better, reverse = (kept_points(column, kept) for column in (mu, regret, instead, changed))
    return shown, lost, better, reverse


def _moved(q: Predictor, mu: FloatArray) -> FloatArray:
    """The share of rows on which deciding by the fit differs from deciding by p, on mu itself the worse way."""
    mass, _ = q.upper_sums
    own = np.searchsorted(q.p, mu, side="right")
    before = np.maximum(own - 1, 0)
    on = (q.p[before] == mu) & (q.positive[before] < mu * q.mass[before])
    return np.asarray(np.abs(mass[own - on] - mass[np.searchsorted(q.fitted, mu, side="right")]))


def _mass_below(place: FloatArray, mass: FloatArray, mu: FloatArray, side: Literal["left", "right"]) -> FloatArray:
    """The mass at places below mu ("left"), or at or below it ("right")."""
    order = np.argsort(place, kind="stable")
    return np.asarray(np.append(0.0, np.cumsum(mass[order]))[np.searchsorted(place[order], mu, side=side)])
