"""What every noise has: the interface, the checks of what callers pass, and the sampler."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import sqrt
from typing import Literal, NamedTuple, Self, final, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import as_number, as_numbers, generator, refuse, refuse_other, unit_numbers

FloatArray = NDArray[np.float64]
Target = Literal["ece", "cdl", "decision_loss"]

_BLOCK = 16384
"""Values drawn at a time: the temporaries stay in cache."""


@final
@dataclass(frozen=True)
class Displacement:
    """The largest mean distance E|M(q) − q| that a noise moves a prediction, and a prediction that it moves so far."""

    value: float
    at: float


class Atoms(NamedTuple):
    """The values that M(q) takes with positive probability; the last axis runs over them."""

    at: FloatArray
    mass: FloatArray


class Noise(ABC):
    """A random map M of predictions to predictions (the paper's mechanism, Section 2).

    Notation, used throughout: M(q) is the noised prediction, X = M(q) − q.  Predictions and places are numbers or
    arrays, which broadcast as in numpy; answers have the broadcast shape.
    """

    def density(self, x: ArrayLike, q: ArrayLike) -> FloatArray:
        """The density of the continuous part of M(q) at x; 0 outside [0, 1].  O(1) per value."""
        place, prediction = _places(x), checked_predictions(q)
        inside = (place >= 0) & (place <= 1)
        return _number(np.where(inside, self._density(np.clip(place, 0, 1), prediction), 0.0))

    def cdf(self, x: ArrayLike, q: ArrayLike) -> FloatArray:
        """Pr[M(q) ≤ x].  O(1) per value."""
        place, prediction = _places(x), checked_predictions(q)
        below, above = place < 0, place >= 1
        return _number(np.where(below, 0.0, np.where(above, 1.0, self._cdf(np.clip(place, 0, 1), prediction))))

    def atoms(self, q: ArrayLike) -> Atoms:
        """The atoms of M(q), where there are any.  O(1) per value."""
        return self._atoms(checked_predictions(q))

    def quantile(self, u: ArrayLike, q: ArrayLike) -> FloatArray:
        """The least x with Pr[M(q) ≤ x] ≥ u: the inverse of `cdf`.  O(1) per value."""
        return _number(self._quantile(unit_numbers(u, "quantile levels"), checked_predictions(q)))

    def sample(self, q: ArrayLike, rng: np.random.Generator | int | None = None) -> FloatArray:
        """One draw of M(q) for each q, by inverting the distribution function at one uniform number each.

        The same generator state gives the same draws, however many are asked for at a time.  O(1) per value.
        """
        prediction = checked_predictions(q)
        random = generator(rng)
        flat, drawn = prediction.ravel(), np.empty(prediction.size)
        for first in range(0, len(flat), _BLOCK):
            block = flat[first : first + _BLOCK]
            drawn[first : first + _BLOCK] = self._quantile(random.random(len(block)), block)
        return _number(drawn.reshape(prediction.shape))

    def mean_displacement(self, q: ArrayLike) -> FloatArray:
        """E|M(q) − q|.  O(1) per value."""
        return _number(self._mean_displacement(checked_predictions(q)))

    def tv(self, b: ArrayLike, q: ArrayLike) -> FloatArray:
        """The total variation distance of M(b) and M(q): the largest Pr[M(b) ∈ I] − Pr[M(q) ∈ I].  O(1) per value."""
        one, other = checked_predictions(b), checked_predictions(q)
        return _number(self._tv(np.minimum(one, other), np.maximum(one, other)))

    @abstractmethod
    def displacement(self) -> Displacement:
        """The largest E|M(q) − q| over predictions, and where: the ECE of a calibrated predictor is at most this
        after noise (Lemma 3.2), with equality for the constant predictor there.  O(1)."""

    @abstractmethod
    def tv_slope(self) -> float:
        """The least L with TV(M(b), M(q)) ≤ L·|b − q| for all b and q.  O(1)."""

    @abstractmethod
    def decision_displacement(self) -> float:
        """K: the most that noise on a calibrated predictor costs any decision maker with payoffs in [0, 1].

            K = sup_b 2·cav(D_b)(1/2),   D_b(μ) = |b − μ|·Pr[M(b) and b lie on different sides of μ]

        cav is the least concave majorant on [0, 1].  At most twice the displacement (Lemma 3.2), usually far less.
        """

    @abstractmethod
    def privacy(self, delta: float = 0.0) -> float:
        """The least γ for which the noise is (γ, δ)-differentially private (Definition 2.1):

            Pr[M(q) ∈ I] ≤ exp(γ|q − q'|)·Pr[M(q') ∈ I] + δ   for all q, q' and I

        A ValueError says where no γ is large enough.
        """

    @classmethod
    @abstractmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The noise that guarantees most for predictors within eps of calibration.  What it minimises:

            ECE ≤ displacement + 2·slope·eps,   CDL ≤ K + 2·slope·eps,   decision loss ≤ K + slope·eps

        or, where that is simpler and for small eps the same, these with the noise's law on the whole line.
        """

    @abstractmethod
    def _density(self, x: FloatArray, q: FloatArray) -> FloatArray:
        """The density at x in [0, 1]."""

    @abstractmethod
    def _atoms(self, q: FloatArray) -> Atoms: ...

    @abstractmethod
    def _cdf(self, x: FloatArray, q: FloatArray) -> FloatArray:
        """The distribution function at x in [0, 1)."""

    @abstractmethod
    def _quantile(self, u: FloatArray, q: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _mean_displacement(self, q: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _tv(self, b: FloatArray, q: FloatArray) -> FloatArray:
        """The total variation distance where b ≤ q."""


def positive(name: str, value: float, most: float = 1e100) -> float:
    """The parameter of a noise as a float, or a refusal.

    The limits leave room for squares and for arithmetic in two doubles.
    """
    if not 1e-100 <= as_number(value) <= most:
        raise ValueError(
            f"{name} must be a positive, finite number (between 1e-100 and {most:.3g}), not {value!r}. "
            "For noise that suits a distance to calibration use for_distance(eps)."
        )
    return float(value)


def distance_to_calibration(eps: float) -> float:
    """eps as a float in (0, 1], or a refusal."""
    if not 0 < as_number(eps) <= 1:
        raise ValueError(
            f"eps must be a distance to calibration in (0, 1], not {eps!r}. "
            "A predictor at distance 0 is calibrated and needs no noise; trustcal.dtc measures the distance."
        )
    return float(eps)


def checked_target(target: Target) -> Target:
    """The target, or a refusal."""
    if target not in get_args(Target):
        raise ValueError(
            f"target must be one of {', '.join(map(repr, get_args(Target)))}, not {target!r}. "
            "It names the error whose guarantee the noise should minimise."
        )
    return target


def optimal(eps: float, target: Target, *, ece: float, cdl: float, decision_loss: float) -> float:
    """The optimal parameter for a target, given it for each target in units of √eps."""
    per_root = {"ece": ece, "cdl": cdl, "decision_loss": decision_loss}
    return per_root[checked_target(target)] * sqrt(distance_to_calibration(eps))


def checked_noise(noise: Noise) -> Noise:
    """The noise, or a refusal."""
    refuse_other("noise", noise, Noise, "a trustcal noise, such as UniformNoise(0.1)")
    return noise


def checked_predictions(q: ArrayLike) -> FloatArray:
    """Predictions as float64, or a refusal."""
    prediction = as_numbers(q, "predictions")
    if not (prediction.min(initial=1) >= 0 and prediction.max(initial=0) <= 1):  # NaN compares false
        refuse(
            ~((prediction >= 0) & (prediction <= 1)).ravel(),
            prediction.ravel(),
            "predictions must be probabilities in [0, 1]",
            "divide percentages by 100; turn scores or logits into probabilities first",
        )
    return prediction


def _places(x: ArrayLike) -> FloatArray:
    """Where a law is asked about, infinities included, or a refusal."""
    place = as_numbers(x, "places")
    refuse(np.isnan(place).ravel(), place.ravel(), "places must not be NaN")
    return place


def _number(values: FloatArray) -> FloatArray:
    """Numbers for numbers: an array without dimensions becomes its entry."""
    return values[()]
