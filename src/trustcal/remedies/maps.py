"""Fitted maps from predictions to predictions: numbers that JSON can hold, and how to apply them.

    Unchanged          p
    LogisticMap        1/(1 + exp(−s)),  s = a·ln p − b·ln(1 − p) + c      temperature, Platt (a = b), beta
    SplineMap          the same with s a nondecreasing spline of ln p − ln(1 − p)
    PiecewiseLinear    straight lines between points                       isotonic, centred isotonic, moved thresholds
    StepMap            a constant on each bin                              histogram
    VennAbersMap       two step functions, merged into one number
    NoiseMap           a draw of noise, the same for the same row id and prediction

Applying a map costs O(log k) per prediction for k points.  Logarithms are scipy's: numpy's differ in the last bit from
one processor to another, and a remedy must give the same bits on every machine of a cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, xlog1py, xlogy

from trustcal.noise import Noise
from trustcal.noise.table import described, revived
from trustcal.smoothing.draws import perturb

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

FloatArray = NDArray[np.float64]
Points = tuple[float, ...]


@dataclass(frozen=True)
class Map(ABC):
    """A fitted map of predictions."""

    @abstractmethod
    def __call__(self, p: FloatArray) -> FloatArray:
        """The new predictions."""

    @abstractmethod
    def describe(self) -> str:
        """What it does, as the end of a sentence that starts with "Predictions are"."""

    def to_fields(self) -> dict[str, Any]:
        """The numbers, for JSON."""
        return asdict(self)

    @classmethod
    def from_fields(cls, given: dict[str, Any]) -> Self:
        """The map of these numbers; anything that is not finite numbers raises an error."""
        names = {field.name for field in fields(cls)}
        if set(given) != names:
            raise ValueError(f"{cls.__name__} must have the numbers {sorted(names)}, not {sorted(given)}.")
        found = {name: finite_numbers(value) for name, value in given.items()}
        for field in fields(cls):
            if isinstance(found[field.name], tuple) != (field.type == "Points"):
                raise ValueError(f"{field.name} of {cls.__name__} must be of type {field.type}.")
        return cls(**found)


@final
@dataclass(frozen=True)
class Unchanged(Map):
    """Predictions as they are."""

    def __call__(self, p: FloatArray) -> FloatArray:
        """The predictions themselves."""
        return p

    def describe(self) -> str:
        """In words."""
        return "left as they are"


@final
@dataclass(frozen=True)
class LogisticMap(Map):
    """1/(1 + exp(−s)) with s = a·ln p − b·ln(1 − p) + c, kept between what exact 0 and exact 1 were found to mean."""

    a: float
    b: float
    c: float
    low: float
    high: float

    def __call__(self, p: FloatArray) -> FloatArray:
        """The new predictions."""
        score = self.c + xlogy(self.a, p) - xlog1py(self.b, -p)
        return np.asarray(np.clip(expit(score), self.low, self.high))

    def describe(self) -> str:
        """In words."""
        if self.a == self.b:
            shift = f" and shifted by {self.c:.3g}" if self.c else ""
            return f"multiplied by {self.a:.3g} on the logit scale{shift}"
        return f"mapped to 1/(1 + exp(−s)) with s = {self.a:.3g}·ln p − {self.b:.3g}·ln(1 − p) + {self.c:.3g}"


@final
@dataclass(frozen=True)
class SplineMap(Map):
    """1/(1 + exp(−s)) with s a nondecreasing quadratic spline of logit p, straight beyond its knots."""

    knots: Points
    coefficients: Points
    low: float
    high: float

    def __call__(self, p: FloatArray) -> FloatArray:
        """The new predictions."""
        x = logit(p)
        first, last = self.knots[2], self.knots[-3]
        score = np.asarray(self._spline(np.clip(x, first, last)))
        for slope, beyond in zip(self._slopes, (np.minimum(x - first, 0.0), np.maximum(x - last, 0.0)), strict=True):
            if slope > 0:
                score += slope * beyond
        return np.asarray(np.clip(expit(score), self.low, self.high))

    @cached_property
    def _spline(self) -> BSpline:
        from scipy.interpolate import BSpline  # slow to import

        return BSpline(np.array(self.knots), np.array(self.coefficients), 2)

    @cached_property
    def _slopes(self) -> list[float]:
        """The slopes at the two ends."""
        return [float(slope) for slope in self._spline.derivative()([self.knots[2], self.knots[-3]])]

    def describe(self) -> str:
        """In words."""
        return f"mapped on the logit scale by a nondecreasing spline with {len(self.coefficients)} coefficients"


@final
@dataclass(frozen=True)
class PiecewiseLinear(Map):
    """Straight lines between points (x, y), y not decreasing, constant before the first and after the last."""

    x: Points
    y: Points

    def __call__(self, p: FloatArray) -> FloatArray:
        """The new predictions."""
        x, y = self._points
        if len(x) == 1:
            return np.full_like(p, y[0])
        p = np.clip(p, x[0], x[-1])
        right = np.clip(np.searchsorted(x, p), 1, len(x) - 1)
        left = right - 1
        share = (p - x[left]) / (x[right] - x[left])  # np.interp computes slopes, which overflow between tiny numbers
        return np.asarray(np.minimum(y[left] + (y[right] - y[left]) * share, y[right]))

    @cached_property
    def _points(self) -> tuple[FloatArray, FloatArray]:
        return np.array(self.x), np.array(self.y)

    def describe(self) -> str:
        """In words."""
        return f"mapped by straight lines between {len(self.x)} points"


@final
@dataclass(frozen=True)
class StepMap(Map):
    """values[i] between cuts i − 1 and i; a prediction on a cut belongs to the bin below."""

    cuts: Points
    values: Points

    def __call__(self, p: FloatArray) -> FloatArray:
        """The new predictions."""
        cuts, values = self._steps
        return np.asarray(values[np.searchsorted(cuts, p)])

    @cached_property
    def _steps(self) -> tuple[FloatArray, FloatArray]:
        return np.array(self.cuts, dtype=np.float64), np.array(self.values)

    def describe(self) -> str:
        """In words."""
        return f"replaced by the frequency in their bin, one of {len(self.values)}"


@final
@dataclass(frozen=True)
class VennAbersMap(Map):
    """p1/(1 − p0 + p1), where p0 and p1 are step functions of the prediction.

    p1 is upper[i] for predictions up to upper_ends[i]; p0 is lower[i] for predictions from lower_starts[i − 1].
    """

    upper_ends: Points
    upper: Points
    lower_starts: Points
    lower: Points

    def __call__(self, p: FloatArray) -> FloatArray:
        """The new predictions."""
        places, said = self._merged
        before = np.searchsorted(places, p)  # one search instead of two
        return np.asarray(said[2 * before + (places[before] == p)])

    @cached_property
    def _merged(self) -> tuple[FloatArray, FloatArray]:
        """The places where p0 or p1 changes, and infinity; the new predictions before the first, at it, after it, …"""
        ends, upper, starts, lower = (np.array(part, dtype=np.float64) for part in asdict(self).values())
        places = np.append(np.union1d(ends, starts), np.inf)
        p1, p0 = upper[np.searchsorted(ends, places)], lower[np.searchsorted(starts, places, side="right")]
        before = np.append(lower[0], p0[:-1])  # p1 is the same before a place and at it
        return places, np.stack([p1 / (1 - before + p1), p1 / (1 - p0 + p1)], axis=1).ravel()

    def describe(self) -> str:
        """In words."""
        return f"mapped by two step functions with {len(self.upper)} and {len(self.lower)} values"


@final
@dataclass(frozen=True)
class NoiseMap(Map):
    """A draw of noise for each row, the same for the same seed, row id and prediction."""

    noise: Noise
    seed: int

    def __call__(self, p: FloatArray) -> FloatArray:
        """One draw per prediction; the row id is the position."""
        return self.draw(p, np.arange(len(p)))

    def draw(self, p: FloatArray, ids: NDArray[Any]) -> FloatArray:
        """One draw per row.  O(n)."""
        return perturb(p, self.noise, ids=ids, seed=self.seed)

    def describe(self) -> str:
        """In words."""
        return f"noised by {self.noise}"

    def to_fields(self) -> dict[str, Any]:
        """The noise and the seed, for JSON."""
        return {"noise": described(self.noise), "seed": self.seed}

    @classmethod
    def from_fields(cls, given: dict[str, Any]) -> Self:
        """The map of these numbers."""
        return cls(revived(given["noise"]), int(given["seed"]))


MAPS: Final[dict[str, type[Map]]] = {
    kind.__name__: kind
    for kind in (Unchanged, LogisticMap, SplineMap, PiecewiseLinear, StepMap, VennAbersMap, NoiseMap)
}
"""Every map by the name of its class, as saved remedies name it."""


def described_map(fitted: Map) -> dict[str, Any]:
    """The name of the class of a map and its numbers, for JSON."""
    return {"kind": type(fitted).__name__, **fitted.to_fields()}


def revived_map(given: dict[str, Any]) -> Map:
    """The map that `described_map` saved."""
    numbers = dict(given)
    return MAPS[numbers.pop("kind")].from_fields(numbers)


def finite_numbers(value: object) -> float | Points:
    """A finite number, or a tuple of them."""
    if isinstance(value, list):
        return tuple(float(finite_numbers(one)) for one in value)  # type: ignore[arg-type]
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"a map holds finite numbers, not {value!r}.")
    return float(value)
