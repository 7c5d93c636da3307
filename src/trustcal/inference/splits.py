"""Rows split at random: some choose, the others judge."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trustcal.inference.deviations import ROUNDING, deviation
from trustcal.measures.counts import row_counts
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_TO_LEARN = 1 / 3
"""The share of the rows that choose."""
JUDGED = "a third of the rows chooses the function, the others judge it, by Bennett's inequality"


def learn_and_judge(q: Predictor, random: np.random.Generator) -> tuple[IntArray, IntArray]:
    """How many rows of each value learn and how many judge, for the outcomes 0 and 1."""
    counts = _counts(q)
    learn = random.binomial(counts, _TO_LEARN)
    return learn, counts - learn


def folds_of(q: Predictor, folds: int, random: np.random.Generator) -> list[IntArray]:
    """How many rows of each value are in each fold, for the outcomes 0 and 1; each row is in one fold at random."""
    rest, parts = _counts(q), []
    for left in range(folds, 0, -1):
        part = random.binomial(rest, 1 / left)
        parts.append(part)
        rest = rest - part
    return parts


def judged(judge: IntArray, change: FloatArray, error: float) -> float:
    """What rows that had no part in the choice of a function prove about its expectation, from below (Theorem 28)."""
    rows = int(judge.sum())
    if rows == 0:
        return 0.0
    mean, moment = (float((judge * x).sum()) / rows for x in (change, change**2))
    return max(0.0, mean - deviation(min(1.0, moment), rows, error) - ROUNDING)


def usable_rows(q: Predictor) -> Predictor:
    """The predictor, if it was counted from rows whose predictions were not moved."""
    q = as_predictor(q)
    if q.rows is None:
        raise ValueError(
            "a confidence bound needs rows, but this predictor is a known law. Use Predictor.from_samples."
        )
    if q.moved > 0:
        raise ValueError(
            f"this bound needs the predictions as they were, but they were moved by {q.moved:.2g} on average. "
            "Use the predictor before it was rounded or pooled, or read it with resolution=0."
        )
    return q


def equal_rows(q: Predictor) -> Predictor:
    """The predictor, if it was counted from rows of equal weight whose predictions were not moved."""
    q = usable_rows(q)
    if row_counts(q) is None:
        raise ValueError("this bound needs rows of equal weight, but these have different weights. Leave them out.")
    return q


def _counts(q: Predictor) -> IntArray:
    counts = row_counts(q)
    if counts is None:
        raise ValueError("rows can be split only if they have equal weights, but these do not. Leave the weights out.")
    return np.stack(counts)
