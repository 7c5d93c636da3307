"""The same measures on many draws: one loop for every test, floor and interval of this room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import as_number, generator
from trustcal.inference.rows import Design
from trustcal.measures.table import MEASURES, audited, values_of
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]

_STEPS = 0.6
"""Of one value in one draw: so plain Python has 33,000 of them, which take about as long as loading numba."""


def values(design: Design, q: Predictor, statistics: Sequence[str]) -> list[float]:
    """The statistics of a predictor with the design's predictions, each on what it is taken on."""
    binned = design.measured(q) if any(MEASURES[name].conditional for name in statistics) else q
    found = values_of(statistics, q, binned)
    return [found[name] for name in statistics]


def drawn_values(
    design: Design,
    draw: Callable[[np.random.Generator], Predictor],
    statistics: Sequence[str],
    draws: int,
    rng: np.random.Generator | int,
) -> FloatArray:
    """The statistics of so many draws: a row each.  O(draws · n log n)."""
    for name in statistics:
        MEASURES[name].compile_for(round(_STEPS * draws * len(design.observed)))
    random = generator(rng)
    return np.array([values(design, draw(random), statistics) for _ in range(draws)])


def checked_statistics(statistics: Iterable[str]) -> tuple[str, ...]:
    """The names of statistics, or a refusal."""
    names = tuple(statistics)
    known = audited()
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        raise ValueError(
            f"statistics must be among {', '.join(known)}, but got {', '.join(map(repr, wrong)) or 'none'}."
        )
    return names


def checked_confidence(confidence: float) -> float:
    """A confidence strictly between 0 and 1, or a refusal."""
    if not 0 < as_number(confidence) < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, such as 0.95, not {confidence!r}.")
    return float(confidence)
