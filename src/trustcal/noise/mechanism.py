"""What every noise has: its law, its sampler, the distribution of predictions after it, and its proved constants."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from math import sqrt
from typing import TYPE_CHECKING, ClassVar, Final, Literal, NamedTuple, Self, final, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import (
    Role,
    as_number,
    checked_choice,
    checked_eps,
    checked_places,
    checked_predictions,
    generator,
    refuse_other,
    unit_numbers,
)

if TYPE_CHECKING:
    from trustcal.noise.density import Density

FloatArray = NDArray[np.float64]
Target = Literal["ece", "cdl", "decision_loss"]
TARGETS: Final = get_args(Target)

_BLOCK = 16384
"""Values drawn, or pairs of a value and an edge, at a time: the temporaries stay in cache."""


@final
@dataclass(frozen=True)
class Displacement:
    """The largest mean distance E|M(q) − q| that a noise moves a prediction, and a prediction where it is reached."""

    value: float
    at: float


class Atoms(NamedTuple):
    """The values that M(q) takes with positive probability; the last axis runs over them."""

    at: FloatArray
    mass: FloatArray


class PerTarget(NamedTuple):
    """A number for each target."""

    ece: float | None = None
    cdl: float | None = None
    decision_loss: float | None = None


@dataclass(frozen=True)
class Noise(ABC):
    """A random map M of predictions to predictions (the paper's mechanism, Section 2).

    Notation: M(q) is the noised prediction, X = M(q) − q. Predictions and places are numbers or arrays, which broadcast
    as in numpy; answers have the broadcast shape.

    A new noise is a frozen dataclass in a file of its own, whose fields are positive parameters, and an entry in
    `trustcal.noise.NOISES`. It defines the abstract methods, and overrides the others where it knows better.
    """

    kind: ClassVar[str | None]
    """Its name on the command line and in `noise_of_kind`; None for noise that is chosen by its class only."""
    title: ClassVar[str]
    """Its name in tables."""
    per_root: ClassVar[PerTarget] = PerTarget()
    """The c in its guarantee c·√eps at the best parameter, for every eps (Theorem 17); None where it is not known."""
    caveat: ClassVar[str] = ""
    """What `decision_displacement` assumes without a proof; empty if it is proved."""
    cdl_source: ClassVar[str] = "Theorem 44"
    """Where `cdl_shift` comes from, if it is less than 2·L·eps."""
    largest: ClassVar[float] = 1e100
    """The largest value of its parameters."""

    def __post_init__(self) -> None:
        # The limits leave room for squares and for arithmetic in two doubles.
        for parameter in fields(self):
            value = getattr(self, parameter.name)
            if not 1e-100 <= as_number(value) <= self.largest:
                raise ValueError(
                    f"{parameter.name} must be a positive, finite number (between 1e-100 and {self.largest:.3g}), "
                    f"not {value!r}. For noise that suits a distance to calibration use for_distance(eps)."
                )
            object.__setattr__(self, parameter.name, float(value))

    def density(self, x: ArrayLike, q: ArrayLike) -> FloatArray:
        """The density of the continuous part of M(q) at x; 0 outside [0, 1].  O(1) per value."""
        place, prediction = checked_places(x), checked_predictions(q)
        inside = (place >= 0) & (place <= 1)
        return _number(np.where(inside, self._density(np.clip(place, 0, 1), prediction), 0.0))

    def cdf(self, x: ArrayLike, q: ArrayLike) -> FloatArray:
        """Pr[M(q) ≤ x].  O(1) per value."""
        place, prediction = checked_places(x), checked_predictions(q)
        below, above = place < 0, place >= 1
        return _number(np.where(below, 0.0, np.where(above, 1.0, self._cdf(np.clip(place, 0, 1), prediction))))

    def atoms(self, q: ArrayLike) -> Atoms:
        """The atoms of M(q), if there are any.  O(1) per value."""
        return self._atoms(checked_predictions(q))

    def quantile(self, u: ArrayLike, q: ArrayLike) -> FloatArray:
        """The least x with Pr[M(q) ≤ x] ≥ u: the inverse of `cdf`.  O(1) per value."""
        return _number(self._quantile(unit_numbers(u, "quantile levels"), checked_predictions(q)))

    def sample(self, q: ArrayLike, rng: np.random.Generator | int | None = None) -> FloatArray:
        """One draw of M(q) for each q, by inverting the distribution function at one uniform number each.

        The same generator state gives the same draws, however many are drawn at a time.  O(1) per value.
        """
        prediction = checked_predictions(q)
        random = generator(rng, Role.NOISE)
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
        """The largest E|M(q) − q| over predictions, and where it is reached.

        The ECE of a calibrated predictor is at most this after noise (Lemma 3.2), with equality for the constant
        predictor there.  O(1).
        """

    @abstractmethod
    def tv_slope(self) -> float:
        """The least L with TV(M(b), M(q)) ≤ L·|b − q| for all b and q.  O(1)."""

    def proved_tv_slope(self) -> float:
        """L, or a proved upper bound on it where `tv_slope` is known numerically only."""
        return self.tv_slope()

    @abstractmethod
    def decision_displacement(self) -> float:
        """K: the most that noise on a calibrated predictor costs any decision maker with payoffs in [0, 1].

            K = sup_b 2·cav(D_b)(1/2),   D_b(μ) = |b − μ|·Pr[M(b) and b lie on different sides of μ]

        cav is the least concave majorant on [0, 1].  At most twice the displacement (Lemma 3.2), usually far less.
        """

    def proved_decision_displacement(self) -> float:
        """K, or a proved upper bound on it, also for the noise on cells, where K is known numerically only."""
        return 2 * self.displacement().value if self.caveat else self.decision_displacement()

    def cdl_shift(self, eps: float) -> float:
        """What a distance of eps to calibration adds to K in the CDL after noise: 2·L·eps (Theorem 15).

        Less for some noises (Theorems 44 and 47).
        """
        return 2 * self.proved_tv_slope() * eps

    def cdl_shift_on_cells(self, eps: float) -> float:
        """The same where noised predictions are announced as one of finitely many cells."""
        return self.cdl_shift(eps)

    def reach(self, share: float = 0.0) -> float:  # noqa: ARG002 - by those that know more
        """How far draws move a prediction at most, except for this share of them; 1 unless less is known."""
        return 1.0

    @abstractmethod
    def privacy(self, delta: float = 0.0) -> float:
        """The least γ for which the noise is (γ, δ)-differentially private (Definition 2.1):

            Pr[M(q) ∈ I] ≤ exp(γ|q − q'|)·Pr[M(q') ∈ I] + δ   for all q, q' and I

        Raises a ValueError where no γ is large enough.
        """

    @classmethod
    @abstractmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The noise with the smallest guarantee for predictors within eps of calibration.  What it minimises:

            ECE ≤ displacement + 2·slope·eps,   CDL ≤ K + cdl_shift(eps),   decision loss ≤ K + slope·eps

        or, where that is simpler and the same for small eps, these for the noise on the whole line.
        """

    def grid_size(self) -> int | None:
        """The number of values of M over all predictions; None if there is no finite grid."""
        return None

    def density_after(self, p: FloatArray, weights: FloatArray) -> Density:
        """The densities of noised predictions, for sorted predictions p and rows of weights: mass, and mass with y = 1.

        Raises a ValueError for noise whose law after noise is known on a grid only.
        """
        del p, weights
        raise ValueError(f"the law after {self!r} is known on a grid only: use smooth(q, noise, cells=…).")

    def bin_masses(self, p: FloatArray, weights: FloatArray, edges: FloatArray) -> FloatArray:
        """The mass of noised predictions between neighbouring edges, for sorted p and each row of weights.

        The edges run from 0 to 1; any atoms of the noise must be at 0 and 1.  O(n·edges) unless overridden.
        """
        return masses_by_cdf(self, p, weights, edges, 1.0)

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


def masses_by_cdf(noise: Noise, p: FloatArray, weights: FloatArray, edges: FloatArray, reach: float) -> FloatArray:
    """The masses between edges, by differences of the distribution function, which is 0 or 1 beyond `reach`."""
    below = np.zeros((2, len(edges)))
    below[:, -1] = weights.sum(axis=1)
    step = max(32, _BLOCK // max(1, len(p)))  # few values take many edges at a time
    for low in range(1, len(edges) - 1, step):
        inner = edges[low : min(low + step, len(edges) - 1)]
        near, far = np.searchsorted(p, inner[0] - reach), np.searchsorted(p, inner[-1] + reach, side="right")
        here = below[:, low : low + len(inner)]
        here += weights[:, :near].sum(axis=1)[:, None]
        for first in range(near, far, 1024):
            some = slice(first, min(first + 1024, far))
            here += weights[:, some] @ noise.cdf(inner, p[some, None])
    return np.diff(below, axis=1)


def optimal(eps: float, target: Target, *, ece: float, cdl: float, decision_loss: float) -> float:
    """The optimal parameter for a target, given it for each target in units of √eps."""
    per_root = {"ece": ece, "cdl": cdl, "decision_loss": decision_loss}
    return per_root[checked_choice("target", target, TARGETS)] * sqrt(checked_eps(eps))


def as_noise(noise: Noise) -> Noise:
    """The noise; anything else raises an error."""
    refuse_other("noise", noise, Noise, "a trustcal noise, such as UniformNoise(0.1)")
    return noise


def _number(values: FloatArray) -> FloatArray:
    """Numbers for numbers: an array without dimensions becomes its entry."""
    return values[()]
