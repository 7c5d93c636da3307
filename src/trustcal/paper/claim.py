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
    flaw: Literal["false", "incomplete", "a typo"] | None = None
    """What is wrong with the statement: "false" unless said otherwise, and None where nothing had to be corrected."""
    sharper: bool = False
    """Whether ours is stronger, where the statement holds."""
    known: str = ""
    """The best known interval, where the statement is a question or neither proved nor refuted."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "flaw", self.flaw or "false" if self.status == "corrected" else None)

    @property
    def status(self) -> Literal["as stated", "corrected", "sharpened", "open"]:
        """What became of the statement."""
        if self.known:
            return "open"
        if not self.stated_holds:
            return "corrected"
        return "sharpened" if self.sharper else "as stated"

    @property
    def verdict(self) -> str:
        """The status, with the flaw of what had to be corrected or the interval of what is open.

        >>> Claim("Lemma 2.13", "CDL ≤ ECE", False, "CDL ≤ 2·ECE", True, "").verdict
        'corrected: false'
        """
        return {"corrected": f"corrected: {self.flaw}", "open": f"open: {self.known}"}.get(self.status, self.status)


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
