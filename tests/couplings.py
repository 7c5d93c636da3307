"""Random couplings of a predictor with a calibrated one, and the exact law of a predictor after noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import exp

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.strategies import examples, probabilities
from trustcal.noise import NOISES, Noise, RandomRounding, Target
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]

theorem = examples(500)
"""For the statements of the paper."""

FAMILIES: list[type[Noise]] = list(NOISES.values())


@dataclass(frozen=True)
class Joint:
    """Rows (b, q, y, mass): what the calibrated reference says, what the predictor says, what happens, how often."""

    b: FloatArray
    q: FloatArray
    y: FloatArray
    mass: FloatArray

    @property
    def eps(self) -> float:
        return float(self.mass @ np.abs(self.q - self.b))

    @property
    def reference(self) -> Predictor:
        return known_law(self.b, self.y, self.mass)

    @property
    def predictor(self) -> Predictor:
        return known_law(self.q, self.y, self.mass)

    def after(self, noise: Noise, edges: FloatArray) -> Predictor:
        """The law of the noised predictor: exact for random rounding, else on cells, each at its middle."""
        return self._noised(self.q, noise, edges)

    def reference_after(self, noise: Noise, edges: FloatArray) -> Predictor:
        """The law of the noised reference, likewise."""
        return self._noised(self.b, noise, edges)

    def _noised(self, p: FloatArray, noise: Noise, edges: FloatArray) -> Predictor:
        if isinstance(noise, RandomRounding):
            at, share = noise.atoms(p)
            mass = self.mass[:, None] * share
            return known_law(at.ravel(), np.repeat(self.y, 2), mass.ravel())
        share = np.diff(noise.cdf(edges, p[:, None]), axis=1)
        share[:, 0] += noise.cdf(0.0, p)
        return grid_law((edges[:-1] + edges[1:]) / 2, self.mass[:, None] * np.maximum(share, 0), self.y)


def known_law(p: FloatArray, y: FloatArray, mass: FloatArray) -> Predictor:
    values, where = np.unique(p, return_inverse=True)
    total = np.bincount(where, mass)
    positive = np.minimum(np.bincount(where, mass * y), total)
    kept = total > 0
    return Predictor(values[kept], total[kept] / total.sum(), positive[kept] / total.sum())


def grid_law(p: FloatArray, mass: FloatArray, y: FloatArray) -> Predictor:
    """From mass[row, place] and the outcome of each row."""
    total, positive = mass.sum(axis=0), (mass * y[:, None]).sum(axis=0)
    kept = total > 0
    return Predictor(p[kept], total[kept] / total.sum(), np.minimum(positive, total)[kept] / total.sum())


SPREADS = st.sampled_from([1.0, 0.1, 0.01, 0.001])
WEIGHTS = st.integers(1, 8)
EITHER, LOGARITHMS = st.booleans(), st.floats(-6, 1)


@cache
def references_of(most: int) -> st.SearchStrategy[list[float]]:
    return st.lists(probabilities, min_size=1, max_size=most, unique=True)


@cache
def parts_of(most: int) -> st.SearchStrategy[list[tuple[int, float]]]:
    """Up to this many parts of the rows of one outcome: a weight, and how far they are from the reference."""
    return st.lists(st.tuples(WEIGHTS, st.floats(-1, 1)), min_size=1, max_size=most)


@st.composite
def joints(draw: st.DrawFn, references: int = 4, parts_each: int = 3) -> Joint:
    """A calibrated reference b, and for each outcome of each b a few predictions q: near it, or anywhere."""
    rows: list[tuple[float, float, float, float]] = []
    spread = draw(SPREADS)
    for b in draw(references_of(references)):
        weight = draw(WEIGHTS)
        for y, share in ((0.0, 1 - b), (1.0, b)):
            parts = draw(parts_of(parts_each))
            whole = sum(part for part, _ in parts)
            rows += [(b, min(1.0, max(0.0, b + spread * d)), y, weight * share * part / whole) for part, d in parts]
    b_, q, y_, mass = (np.array(column) for column in zip(*rows, strict=True))
    return Joint(b_, q, y_, mass / mass.sum())


@st.composite
def noises(draw: st.DrawFn, eps: float, target: Target, families: list[type[Noise]] = FAMILIES) -> Noise:
    """Of any family, the best noise for the distance, or any."""
    family = draw(st.sampled_from(families))
    if draw(EITHER):
        return family.for_distance(eps, target)
    parameter = exp(draw(LOGARITHMS))
    return family(1 / parameter if family is RandomRounding else parameter)  # type: ignore[call-arg]
