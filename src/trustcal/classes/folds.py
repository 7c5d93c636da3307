"""Rows of a class predictor, one by one, and split into folds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import Role, checked_count, generator
from trustcal.class_predictor import ClassPredictor
from trustcal.classes.worst_payoff import score_view, worst_score
from trustcal.inference.monotone_bounds import change_of
from trustcal.measures.monotone import monotone_cdl_witness
from trustcal.rows.classes import ClassRows


class ClassFold(NamedTuple):
    """Rows to learn from, and the others to judge by."""

    train: ClassPredictor
    held_out: ClassPredictor


def class_rows(q: ClassPredictor) -> ClassRows:
    """The rows behind a class predictor, in its own order; those of one vector and class share their weight equally.

    O(n·K).
    """
    if q.counts is None:
        raise ValueError("this needs rows, but the predictor is a known distribution. Use ClassPredictor.from_samples.")
    pair = np.repeat(np.arange(len(q.value)), q.counts)
    weight = None if q.squares is None else (q.weight / q.counts)[pair]
    return ClassRows(q.classes, q.p[q.value[pair]], q.outcome[pair], weight)


def class_folds(q: ClassPredictor, folds: int, rng: np.random.Generator | int) -> list[ClassFold]:
    """The rows split at random into folds of nearly equal size, each class by itself; each fold is held out once.

    O(folds·n·K log n).
    """
    rows = class_rows(q)
    folds = min(checked_count("folds", folds, least=2), len(rows.p))
    if folds < 2:
        raise ValueError("rows must be at least two to hold some out, but there is one.")
    random = generator(rng, Role.SPLITS)
    order = random.permutation(len(rows.p))
    order = order[np.argsort(rows.outcome[order], kind="stable")]
    fold = np.empty(len(order), dtype=np.intp)
    fold[order] = np.arange(len(order)) % folds
    return [ClassFold(_part(rows, fold != k), _part(rows, fold == k)) for k in range(folds)]


def held_out_worst(q: ClassPredictor, rng: np.random.Generator | int) -> float:
    """What the worst decision maker of one half of the rows gains on the other half, by the thresholds found there.

    The score, its thresholds and the better ones are found on one half and judged on the other, both ways.  The mean is
    an estimate of what somebody loses in the population that no search can have inflated.  O(n·K log n) per score.
    """
    found = []
    for train, held_out in class_folds(q, 2, rng):
        score = worst_score(train)
        view = score_view(held_out, score)
        zero, one = change_of(monotone_cdl_witness(score_view(train, score)), view.p)
        found.append(float(((view.mass - view.positive) * zero + view.positive * one).sum()))
    return max(0.0, float(np.mean(found)))


def _part(rows: ClassRows, kept: NDArray[np.bool_]) -> ClassPredictor:
    weight = None if rows.weight is None else rows.weight[kept]
    return ClassPredictor.from_rows(ClassRows(rows.classes, rows.p[kept], rows.outcome[kept], weight))
