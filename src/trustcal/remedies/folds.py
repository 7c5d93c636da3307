"""Folds: rows split at random into a part to fit on and a part to measure on, each as a predictor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.measures.counts import law_of_counts
from trustcal.measures.transport import dtc_witness
from trustcal.predictor import Predictor
from trustcal.rows import real_vector, run_starts

FloatArray = NDArray[np.float64]

_MOST_ROWS = 10**9
"""numpy draws hypergeometric numbers exactly up to this size."""


@final
@dataclass(frozen=True, eq=False)
class Fold:
    """The rows held out, and all others."""

    train: Predictor
    """The rows to fit on."""
    held_out: Predictor
    """The rows to measure on."""
    share: float
    """Their share of the total weight."""

    @cached_property
    def eps(self) -> float:
        """The distance to calibration of the rows to fit on; at least 1e-9, its accuracy."""
        return max(dtc_witness(self.train).upper, 1e-9)


def split_law(q: Predictor, folds: int, rng: np.random.Generator) -> list[Fold]:
    """Folds of equal size, with equal numbers of each outcome, from the counts of rows of equal weight.

    If the rows of one outcome are shuffled and cut into folds, the number of rows with each prediction value in a fold
    is (multivariate) hypergeometric.  That number is drawn, so the rows themselves are not needed.  O(folds·n).
    """
    if q.rows is None or q.effective_rows is None:
        raise ValueError(
            "compare holds out rows, but a known law has none. Make the predictor from data: "
            "Predictor.from_samples(y_true, y_prob), or trustcal.read."
        )
    if round(q.effective_rows) != q.rows:
        raise ValueError(
            "compare holds out single rows, but a predictor with weights does not hold them. "
            "Pass the rows themselves: compare(y_true, y_prob, sample_weight)."
        )
    if q.rows >= _MOST_ROWS:
        raise ValueError(f"compare takes fewer than 10^9 rows, but there are {q.rows}. Use a random sample of them.")
    positive = np.rint(q.positive * q.rows).astype(np.int64)
    left = np.stack([np.rint(q.mass * q.rows).astype(np.int64) - positive, positive])
    _check_sizes(left.sum(axis=1), folds)
    parts = []
    for fold in range(folds):
        part = np.empty_like(left)
        for y in (0, 1):
            part[y] = rng.multivariate_hypergeometric(left[y], _size(left[y].sum(), folds - fold), method="marginals")
        left -= part
        parts.append(part)
    whole = np.sum(parts, axis=0)
    return [
        Fold(law_of_counts(q.p, whole - part), law_of_counts(q.p, part), float(part.sum() / whole.sum()))
        for part in parts
    ]


def split_rows(
    y_true: ArrayLike, y_prob: ArrayLike, sample_weight: ArrayLike, folds: int, rng: np.random.Generator
) -> list[Fold]:
    """Folds of rows with weights: the rows of each outcome are shuffled and dealt out.  O(folds·n log n)."""
    y, p, w = real_vector(y_true, "y_true"), real_vector(y_prob, "y_prob"), real_vector(sample_weight, "sample_weight")
    y, p, w = y[w > 0], p[w > 0], w[w > 0]
    _check_sizes(np.array([(y == 0).sum(), (y == 1).sum()]), folds)
    fold_of = np.empty(len(y), dtype=np.intp)
    for outcome in (0, 1):
        rows = rng.permutation(np.flatnonzero(y == outcome))
        fold_of[rows] = np.arange(len(rows)) % folds
    made = []
    for fold in range(folds):
        held, others = fold_of == fold, fold_of != fold
        train, held_out = (Predictor.from_samples(y[part], p[part], w[part]) for part in (others, held))
        made.append(Fold(train, held_out, float(w[held].sum() / w.sum())))
    return made


def merged(parts: Sequence[Predictor], shares: Sequence[float], effective_rows: float | None) -> Predictor:
    """All parts together, each with its share of the weight.  O(n log n)."""
    p = np.concatenate([part.p for part in parts])
    mass = np.concatenate([part.mass * share for part, share in zip(parts, shares, strict=True)])
    positive = np.concatenate([part.positive * share for part, share in zip(parts, shares, strict=True)])
    order = np.argsort(p, kind="stable")
    p, mass, positive = p[order], mass[order], positive[order]
    starts = run_starts(p)
    return Predictor(
        p[starts],
        np.add.reduceat(mass, starts),
        np.add.reduceat(positive, starts),
        rows=sum(part.rows or 0 for part in parts),
        effective_rows=effective_rows,
        moved=sum(part.moved * share for part, share in zip(parts, shares, strict=True)),
    )


def _size(rows: int, folds: int) -> int:
    return -(-rows // folds)


def _check_sizes(outcomes: NDArray[np.int64], folds: int) -> None:
    if outcomes.min() < folds:
        raise ValueError(
            f"every fold needs rows of both outcomes, but with {folds} folds there are {int(outcomes[0])} rows of "
            f"outcome 0 and {int(outcomes[1])} of outcome 1. Use fewer folds (at least 2), or more rows."
        )
