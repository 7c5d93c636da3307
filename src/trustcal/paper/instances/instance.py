"""What an instance is: a predictor, a calibrated reference, how the two go together, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trustcal.checking import as_number
from trustcal.measures.transport import Coupling
from trustcal.predictor import Predictor


@final
@dataclass(frozen=True, kw_only=True)
class Answers:
    """What is known in closed form; None where it is not."""

    dtc: float | None = None
    smcal: float | None = None
    ece: float | None = None
    cdl: float | None = None
    decision_loss: float | None = None
    """Of the best post-processing of the predictor against the reference, over all scores in [0, 1]."""
    umbrella_loss: float | None = None
    """The same for the umbrella alone: no post-processing that sees no outcomes can lose less."""


@final
@dataclass(frozen=True, eq=False)
class Instance:
    """A predictor, a calibrated reference, how the two go together, and what is known of them."""

    predictor: Predictor
    reference: Predictor
    coupling: Coupling
    """Who is predicted p by the predictor and b by the reference, per outcome."""
    answers: Answers


def instance_of(rows: list[tuple[float, int, float, float]], answers: Answers) -> Instance:
    """From rows (p, y, b, mass)."""
    p, y, b, mass = (np.array(column) for column in zip(*sorted(rows, key=lambda row: (row[1], row[0])), strict=True))
    coupling = Coupling(p, y.astype(np.int8), b, mass)
    return Instance(law_of(p, y, mass), law_of(b, y, mass), coupling, answers)


def law_of(p: ArrayLike, y: ArrayLike, mass: ArrayLike) -> Predictor:
    """The known law, not a sample, of rows with masses."""
    merged = Predictor.from_samples(y, p, mass)
    return Predictor(merged.p, merged.mass, merged.positive)


def refuse_outside(value: float, name: str, most: float) -> None:
    """A parameter must lie in (0, most]."""
    if not 0 < as_number(value) <= most:
        raise ValueError(f"{name} must lie in (0, {most:g}], not {value!r}.")
