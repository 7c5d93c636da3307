"""A weighted mean of fitted maps: what `Recalibrated` learns where several recalibrators are about equally good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from trustcal.remedies.maps import FloatArray, Map, NoiseMap, Points, described_map, finite_numbers, revived_map


@final
@dataclass(frozen=True)
class MeanMap(Map):
    """The weighted mean of other maps."""

    parts: tuple[Map, ...]
    weights: Points
    """Not negative, with sum 1."""

    def __call__(self, p: FloatArray) -> FloatArray:
        """The new predictions."""
        said = sum(weight * part(p) for weight, part in zip(self.weights, self.parts, strict=True))
        return np.asarray(np.clip(said, 0.0, 1.0))  # a mean of ones may be rounded up

    def describe(self) -> str:
        """In words."""
        return f"replaced by the weighted mean of {len(self.parts)} recalibrated ones"

    def to_fields(self) -> dict[str, Any]:
        """The maps and their weights, for JSON."""
        return {"parts": [described_map(part) for part in self.parts], "weights": list(self.weights)}

    @classmethod
    def from_fields(cls, given: dict[str, Any]) -> Self:
        """The map of these numbers."""
        weights = finite_numbers(given["weights"])
        if not isinstance(weights, tuple) or min(weights, default=-1) < 0 or abs(sum(weights) - 1) > 1e-9:
            raise ValueError("the weights of MeanMap must not be negative, and their sum must be 1.")
        parts = tuple(map(revived_map, given["parts"]))
        if len(parts) != len(weights):
            raise ValueError(f"MeanMap must have a weight for each of its {len(parts)} maps, not {len(weights)}.")
        if any(isinstance(part, NoiseMap) for part in parts):
            raise ValueError("MeanMap must not average noise, which depends on the row.")
        return cls(parts, weights)
