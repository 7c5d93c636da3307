"""A claim of the paper with its verdict, and the random examples that claims are tested on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from trustcal.paper.instance import Instance, coupled
from trustcal.predictor import Predictor

ROUNDING = 1e-9
"""Tolerance of every inequality."""


@final
@dataclass(frozen=True)
class Claim:
    """A statement of the paper and our version of it, each judged by the numbers in `evidence`."""

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
        """The verdict on the statement: "holds", or its flaw."""
        return "holds" if self.stated_holds else self.flaw


def couplings(rng: np.random.Generator, count: int) -> Iterator[Instance]:
    """Random calibrated predictors, each with a predictor nearby or far: every b splits, per outcome, into two p."""
    for _ in range(count):
        spread = 10.0 ** rng.uniform(-3, 0)
        b = rng.random(rng.integers(1, 5))
        weight = rng.dirichlet(np.ones(len(b)))
        rows = np.repeat(np.arange(len(b)), 4)
        y = np.tile([0.0, 0.0, 1.0, 1.0], len(b))
        share = np.repeat(rng.random(2 * len(b)), 2)
        share[1::2] = 1 - share[1::2]
        mass = weight[rows] * np.where(y == 1, b[rows], 1 - b[rows]) * share
        p = np.clip(b[rows] + spread * rng.uniform(-1, 1, len(rows)), 0, 1)
        yield coupled(p, y, b[rows], mass / mass.sum())


def predictors(rng: np.random.Generator, count: int) -> Iterator[Predictor]:
    """Random predictors with up to eight values."""
    for _ in range(count):
        n = int(rng.integers(1, 9))
        mass = rng.dirichlet(np.ones(n))
        yield Predictor(np.sort(rng.random(n)), mass, mass * rng.random(n))
