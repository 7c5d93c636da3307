"""Bootstrap intervals: tighter than what can be proved, and only approximately right."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np

from trustcal.inference.rows import Design, worth
from trustcal.inference.simulation import (
    Statistic,
    checked_confidence,
    checked_draws,
    checked_statistics,
    drawn_values,
    values,
)
from trustcal.predictor import Predictor


@final
@dataclass(frozen=True)
class ConfidenceInterval:
    """The statistic of the world lies in [lower, upper], with about this confidence."""

    statistic: Statistic
    estimate: float
    """The statistic of the rows."""
    lower: float
    upper: float
    confidence: float
    method: str
    rigorous: bool
    note: str


def bootstrap_interval(
    q: Predictor,
    statistic: Statistic,
    confidence: float = 0.95,
    *,
    draws: int = 200,
    rng: np.random.Generator | int,
) -> ConfidenceInterval:
    """An approximate confidence interval: m-out-of-n bootstrap, with m = n^(2/3).

    Calibration measures are never negative, and rows show more than there is: the more so, the less there is.  Rows
    drawn from rows show more again, so the usual intervals of resampled values lie too high.  With T the measure of
    the n rows and T* that of m rows drawn from them, √m·(T* − T) has nearly the law of √n·(T − truth): the interval
    is T minus its quantiles over √n, at least 0.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> interval = bootstrap_interval(Predictor.from_samples(rng.random(2000) < p**1.5, p), "smcal", rng=0)
    >>> interval.lower < 0.1 < interval.upper                                     # the truth
    True

    O(draws · n log n).
    """
    (statistic,), confidence, draws = (
        checked_statistics([statistic]),
        checked_confidence(confidence),
        checked_draws(draws),
    )
    design = Design.of(q)
    n = max(1, round(worth(q)))
    m = max(1, round(n ** (2 / 3)))
    law = np.concatenate([design.observed.mass - design.observed.positive, design.observed.positive])
    law /= law.sum()

    def draw(generator: np.random.Generator) -> Predictor:
        counts = generator.multinomial(m, law).reshape(2, -1)
        return Predictor(design.observed.p, counts.sum(axis=0) / m, counts[1] / m, rows=m, effective_rows=float(m))

    shown = drawn_values(design, draw, (statistic,), draws, rng)[:, 0]
    (estimate,) = values(design, design.observed, (statistic,))
    tail = (1 - confidence) / 2
    low, high = np.quantile((shown - estimate) * sqrt(m / n), [tail, 1 - tail])
    return ConfidenceInterval(
        statistic,
        estimate,
        float(np.clip(estimate - high, 0.0, 1.0)),
        float(np.clip(estimate - low, 0.0, 1.0)),
        confidence,
        f"bootstrap of {m} out of {n} rows",
        False,
        design.note,
    )
