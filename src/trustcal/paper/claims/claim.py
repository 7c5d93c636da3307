"""What a claim is: a statement of the paper, whether it holds as stated, what we say instead, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray

from trustcal.paper.instances.instance import law_of
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]

ROUNDING = 1e-9
"""Inequalities are judged up to this."""


@final
@dataclass(frozen=True)
class Claim:
    """A statement of the paper and ours, each judged by the numbers in `evidence`, computed when the claim was made."""

    item: str
    stated: str
    stated_holds: bool
    ours: str
    ours_hold: bool
    evidence: str
    flaw: Literal["false", "incomplete", "a typo"] = "false"
    """What is wrong with the statement, where it does not hold."""

    @property
    def verdict(self) -> str:
        """The statement in a word."""
        return "holds" if self.stated_holds else self.flaw


@final
@dataclass(frozen=True, eq=False)
class Coupled:
    """Rows (b, q, y, mass): what a calibrated predictor says, what a nearby one says, what happens, how often."""

    b: FloatArray
    q: FloatArray
    y: FloatArray
    mass: FloatArray

    @property
    def eps(self) -> float:
        """E|b − q|: at least the predictor's distance to calibration."""
        return float(self.mass @ np.abs(self.b - self.q))

    @property
    def predictor(self) -> Predictor:
        """The law of (q, y)."""
        return law_of(self.q, self.y, self.mass)

    @property
    def reference(self) -> Predictor:
        """The law of (b, y), which is calibrated."""
        return law_of(self.b, self.y, self.mass)


def couplings(rng: np.random.Generator, count: int) -> Iterator[Coupled]:
    """Random calibrated predictors, each with a predictor nearby or far: every b splits, per outcome, into two q."""
    for _ in range(count):
        spread = 10.0 ** rng.uniform(-3, 0)
        b = rng.random(rng.integers(1, 5))
        weight = rng.dirichlet(np.ones(len(b)))
        rows = np.repeat(np.arange(len(b)), 4)
        y = np.tile([0.0, 0.0, 1.0, 1.0], len(b))
        share = np.repeat(rng.random(2 * len(b)), 2)
        share[1::2] = 1 - share[1::2]
        mass = weight[rows] * np.where(y == 1, b[rows], 1 - b[rows]) * share
        yield Coupled(b[rows], np.clip(b[rows] + spread * rng.uniform(-1, 1, len(rows)), 0, 1), y, mass / mass.sum())


def predictors(rng: np.random.Generator, count: int) -> Iterator[Predictor]:
    """Random predictors of up to eight values."""
    for _ in range(count):
        n = int(rng.integers(1, 9))
        mass = rng.dirichlet(np.ones(n))
        yield Predictor(np.sort(rng.random(n)), mass, mass * rng.random(n))
