"""Fitted maps from vectors of probabilities to vectors of probabilities.

SameVectors        p
ScaledVectors      softmax(W·ln p + b)                                 temperature, vector, matrix, Dirichlet
IsotonicVectors    a nondecreasing map for each class, then divided by the sum
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import NDArray

from trustcal.classes.scaling import Scaling
from trustcal.remedies.maps import PiecewiseLinear

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class VectorMap(ABC):
    """A fitted map of vectors."""

    @abstractmethod
    def __call__(self, p: FloatArray) -> FloatArray:
        """The new vectors."""

    @abstractmethod
    def describe(self) -> str:
        """What it does, as the end of a sentence that starts with "Vectors are"."""

    @abstractmethod
    def fits(self, classes: int) -> bool:
        """Whether it maps vectors of so many probabilities, by numbers that are finite."""

    @classmethod
    def from_fields(cls, given: dict[str, Any]) -> Self:
        """The map of numbers from JSON."""
        return cls(**{name: _tuples(value) for name, value in given.items()})

    def to_fields(self) -> dict[str, Any]:
        """The numbers, for JSON."""
        return asdict(self)


@final
@dataclass(frozen=True)
class SameVectors(VectorMap):
    """Vectors as they are."""

    def __call__(self, p: FloatArray) -> FloatArray:
        """The vectors themselves."""
        return p

    def describe(self) -> str:
        """In words."""
        return "left as they are"

    def fits(self, classes: int) -> bool:
        """Always."""
        return classes > 1


@final
@dataclass(frozen=True)
class ScaledVectors(VectorMap):
    """softmax(W·ln p + b), with W a diagonal or a matrix."""

    weights: tuple[Any, ...]
    shift: tuple[float, ...]

    @classmethod
    def of(cls, scaling: Scaling) -> ScaledVectors:
        """The map of a fitted scaling."""
        return cls(_tuples(scaling.weights.tolist()), _tuples(scaling.shift.tolist()))

    def __call__(self, p: FloatArray) -> FloatArray:
        """O(K), or O(K²), for each vector."""
        return Scaling(np.array(self.weights), np.array(self.shift))(p)

    def describe(self) -> str:
        """In words."""
        weights = np.array(self.weights)
        if weights.ndim == 2:
            return "mixed on the log scale by a matrix, and shifted"
        if not any(self.shift) and np.ptp(weights) == 0:
            return f"multiplied by {weights[0]:.3g} on the log scale"
        return f"multiplied by {weights.min():.3g} to {weights.max():.3g} on the log scale, class by class, and shifted"

    def fits(self, classes: int) -> bool:
        """Whether the shapes are right and the numbers finite."""
        weights, shift = np.array(self.weights, dtype=np.float64), np.array(self.shift, dtype=np.float64)
        shapes = shift.shape == (classes,) and weights.shape in ((classes,), (classes, classes))
        return shapes and bool(np.isfinite(weights).all() and np.isfinite(shift).all())


@final
@dataclass(frozen=True)
class IsotonicVectors(VectorMap):
    """Each class by its own nondecreasing map, then divided by the sum; where all are 0, the vector stays."""

    x: tuple[tuple[float, ...], ...]
    y: tuple[tuple[float, ...], ...]

    def __call__(self, p: FloatArray) -> FloatArray:
        """O(log k) for each probability and k points."""
        new = np.stack(
            [PiecewiseLinear(x, y)(column) for x, y, column in zip(self.x, self.y, p.T, strict=True)], axis=1
        )
        total = new.sum(axis=1, keepdims=True)
        return np.where(total > 0, new / np.where(total > 0, total, 1.0), p)

    def describe(self) -> str:
        """In words."""
        return "mapped class by class, each by isotonic regression, and divided by their sum"

    def fits(self, classes: int) -> bool:
        """Whether there is a map for each class, of finite numbers that do not decrease."""
        if not len(self.x) == len(self.y) == classes:
            return False
        pairs = [(np.array(x, float), np.array(y, float)) for x, y in zip(self.x, self.y, strict=True)]
        return all(
            len(x) == len(y) > 0
            and bool((np.diff(x) > 0).all() and (np.diff(y) >= 0).all())
            and bool(((y >= 0) & (y <= 1)).all() and np.isfinite(x).all())
            for x, y in pairs
        )


VECTOR_MAPS: Final = {kind.__name__: kind for kind in (SameVectors, ScaledVectors, IsotonicVectors)}


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value
