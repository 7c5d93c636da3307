"""Rows split at random: some choose, the others judge."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trustcal.measures.counts import row_counts
from trustcal.predictor import Predictor

IntArray = NDArray[np.int64]

_TO_LEARN = 1 / 3
"""The share of the rows that choose."""


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


def _counts(q: Predictor) -> IntArray:
    counts = row_counts(q)
    if counts is None:
        raise ValueError("rows can be split only if they have equal weights, but these do not. Leave the weights out.")
    return np.stack(counts)
