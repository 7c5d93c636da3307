"""Bootstrap intervals: tighter than what can be proved, and only approximately right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from trustcal.checking import checked_count, generator
from trustcal.inference.rows import Design
from trustcal.inference.simulation import (
    FloatArray,
    checked_confidence,
    checked_statistics,
    drawn_values,
    values,
)
from trustcal.measures.table import MEASURES
from trustcal.predictor import Predictor


@final
@dataclass(frozen=True)
class ConfidenceInterval:
    """The statistic of the world lies in [lower, upper], with about this confidence: measured, never proved."""

    statistic: str
    estimate: float
    """The statistic of the rows."""
    lower: float
    upper: float
    confidence: float
    cells: int | None
    """ECE and CDL: taken on so many cells of equal mass; None: on values as they are."""
    note: str
    """What was pooled or approximated; empty where nothing was."""


def bootstrap_interval(
    q: Predictor,
    statistic: str,
    confidence: float = 0.95,
    *,
    draws: int = 200,
    cells: int | None = None,
    rng: np.random.Generator | int,
) -> ConfidenceInterval:
    """An approximate confidence interval by the bootstrap, with the sampling floor taken off below.

    Measures are never negative, and rows show more than there is: the more so, the less there is.  Rows drawn from rows
    show more again, so the usual percentile interval misses a calibrated truth, 0, always.  With T the measure of the
    rows, T* that of as many rows drawn from them, T° that of calibrated outcomes (`sampling_floor`), and h(…) the
    quantile at (1 + confidence)/2,

        lower = T − max(h(T*) − T, h(T°)), at least 0,          upper = h(T*), at least T.

    That h(T*) is rather too high than too low above, and h(T°) below, is argued in docs/theory.md, for many rows;
    `benchmarks/inference.py` measures how often the truth is covered.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> interval = bootstrap_interval(Predictor.from_samples(rng.random(2000) < p**1.5, p), "smcal", rng=0)
    >>> interval.lower < 0.1 < interval.upper                                     # the truth
    True

    Cells are as in `calibration_tests`.  More than 2^14 values are pooled first, at their means; the most that this can
    have moved a smooth measure is added on both sides.  O(draws · n log n).
    """
    (statistic,), draws = checked_statistics([statistic]), checked_count("draws", draws)
    confidence = checked_confidence(confidence)
    design, random = Design.of(q, cells), generator(rng)
    again = drawn_values(design, design.resampled, (statistic,), draws, random)
    calibrated = drawn_values(design, design.calibrated_draw, (statistic,), draws, random)
    (estimate,) = values(design, design.observed, (statistic,))
    return interval_of(design, statistic, estimate, again, calibrated, confidence)


def interval_of(
    design: Design,
    statistic: str,
    estimate: float,
    again: FloatArray,
    calibrated: FloatArray,
    confidence: float,
) -> ConfidenceInterval:
    """The interval from what was drawn: rows again, and calibrated outcomes."""
    high, floor = (float(np.quantile(shown, (1 + confidence) / 2, method="higher")) for shown in (again, calibrated))
    pooling = design.pooling(statistic)
    return ConfidenceInterval(
        statistic,
        estimate,
        max(0.0, estimate - max(high - estimate, floor) - pooling),
        max(estimate, high) + pooling,
        confidence,
        design.occupied if MEASURES[statistic].conditional else None,
        design.note,
    )
