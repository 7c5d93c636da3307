"""An instance: a predictor, a calibrated reference, the coupling of the two, and the measures known in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.measures.transport import Coupling
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]
Row = tuple[float, int, float, float]
"""The predictor's p, the outcome y, the reference's b, and the mass of these."""


@final
@dataclass(frozen=True, kw_only=True)
class Answers:
    """Measures known in closed form; None where no closed form is known."""

    dtc: float | None = None
    smcal: float | None = None
    ece: float | None = None
    cdl: float | None = None
    decision_loss: float | None = None
    """Of the best post-processing of the predictor against the reference, over all scores in [0, 1]."""
    umbrella_loss: float | None = None
    """The same for the umbrella problem alone: no post-processing that sees no outcomes can lose less."""


@final
@dataclass(frozen=True, eq=False)
class Instance:
    """A predictor, a calibrated reference, the coupling of the two, and the measures known in closed form."""

    predictor: Predictor
    reference: Predictor
    coupling: Coupling
    """The joint distribution of p (predictor), y (outcome) and b (reference)."""
    answers: Answers

    @property
    def eps(self) -> float:
        """E|p − b|, an upper bound on the predictor's distance to calibration."""
        return float(self.coupling.mass @ np.abs(self.coupling.b - self.coupling.p))


def instance_of(rows: list[Row], answers: Answers | None = None) -> Instance:
    """The instance with rows (p, y, b, mass), sorted by y and p."""
    p, y, b, mass = (np.array(column) for column in zip(*sorted(rows, key=lambda row: (row[1], row[0])), strict=True))
    return coupled(p, y, b, mass, answers)


def coupled(p: FloatArray, y: FloatArray, b: FloatArray, mass: FloatArray, answers: Answers | None = None) -> Instance:
    """The instance in which each (p, y, b) has this mass."""
    coupling = Coupling(p, y.astype(np.int8), b, mass)
    return Instance(law_of(p, y, mass), law_of(b, y, mass), coupling, answers or Answers())


def law_of(p: ArrayLike, y: ArrayLike, mass: ArrayLike) -> Predictor:
    """The known distribution, not a sample, of rows with masses."""
    merged = Predictor.from_samples(y, p, mass)
    return Predictor(merged.p, merged.mass, merged.positive)
