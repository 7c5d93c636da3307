"""The same measures on many draws: one loop for every test, floor and interval of this room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import as_number, generator
from trustcal.inference.rows import Design
from trustcal.kernels.certificates import lower_certificate, upper_certificate
from trustcal.kernels.curve import law_left, potentials_along
from trustcal.kernels.isotonic import smooth_error_value
from trustcal.kernels.nodes import nodes_of
from trustcal.kernels.transport import shot_without_shortfall
from trustcal.measures.continuous import smcal
from trustcal.measures.decision import cdl, ece
from trustcal.measures.kernel_smoothing import smece
from trustcal.measures.transport import dtc
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]
Statistic = Literal["smcal", "dtc", "ece", "cdl", "smece"]

_MEASURES: dict[Statistic, Callable[[Predictor], float]] = {
    "smcal": smcal, "dtc": dtc, "ece": ece, "cdl": cdl, "smece": smece,
}  # fmt: skip
_STEPS = 0.6
"""Of one value in one draw: so plain Python has 33,000 of them, which take about as long as loading numba."""
CONDITIONAL: tuple[Statistic, ...] = ("ece", "cdl")
"""Measures that condition on single values, and so need cells where values are rare."""


def values(design: Design, q: Predictor, statistics: Sequence[Statistic]) -> list[float]:
    """The statistics of a predictor with the design's predictions, each on what it is taken on."""
    pooled = design.measured(q) if any(name in CONDITIONAL for name in statistics) else q
    return [float(_MEASURES[name](pooled if name in CONDITIONAL else q)) for name in statistics]


def drawn_values(
    design: Design,
    draw: Callable[[np.random.Generator], Predictor],
    statistics: Sequence[Statistic],
    draws: int,
    rng: np.random.Generator | int,
) -> FloatArray:
    """The statistics of so many draws: a row each.  O(draws · n log n)."""
    compile_for(statistics, round(_STEPS * draws * len(design.observed)))
    random = generator(rng)
    return np.array([values(design, draw(random), statistics) for _ in range(draws)])


def compile_for(statistics: Sequence[Statistic], steps: int) -> None:
    """Ask for compiled kernels where many draws of few values are worth it, though one draw would not be."""
    if "smcal" in statistics:
        smooth_error_value.on(steps)
    if "dtc" in statistics:
        for part in (nodes_of, shot_without_shortfall, law_left, potentials_along):
            part.on(steps)
        for certificate in (lower_certificate, upper_certificate):
            certificate.on(steps)


def checked_statistics(statistics: Iterable[Statistic]) -> tuple[Statistic, ...]:
    """The names of statistics, or a refusal."""
    names = tuple(statistics)
    known = get_args(Statistic)
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        raise ValueError(
            f"statistics must be among {', '.join(known)}, but came {', '.join(map(repr, wrong)) or 'none'}."
        )
    return names


def checked_confidence(confidence: float) -> float:
    """A confidence strictly between 0 and 1, or a refusal."""
    if not 0 < as_number(confidence) < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, such as 0.95, not {confidence!r}.")
    return float(confidence)
