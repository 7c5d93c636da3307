"""`compared`: every remedy on held-out rows, and the one to recommend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trustcal.checking import Role, checked_count, generator
from trustcal.decisions import DecisionProblem
from trustcal.measures.counts import row_counts
from trustcal.measures.table import MEASURES
from trustcal.predictor import Predictor
from trustcal.reading import Evidence
from trustcal.remedies.comparison import Comparison
from trustcal.remedies.folds import SingleRows
from trustcal.remedies.grouping import group_result
from trustcal.remedies.noising import noise_results
from trustcal.remedies.splitting import more_splits, row_splits
from trustcal.remedies.trials import joined, results, settled, tried

_MOST_GROUPS = 100
"""A map for each of more groups than this is not tried: it would take long."""


def compared(
    found: Evidence,
    problem: DecisionProblem | None,
    folds: int = 5,
    rng: np.random.Generator | int = 0,
    single: SingleRows | None = None,
) -> Comparison:
    """The comparison on evidence that was opened before.

    Parameters
    ----------
    found : Evidence
    problem : DecisionProblem or None
    folds : int, at least 2
    rng : Generator or seed
    single : the rows one by one, where they have weights, times, groups or clusters

    Returns
    -------
    Comparison

    O(folds·n log n).
    """
    checked_count("folds", folds, least=2)
    q = found.predictor
    random = generator(rng, Role.SPLITS)
    MEASURES["dtc"].compile_for(len(q))
    trials = tried(row_splits(found, single, folds, random), problem)
    if not settled(trials):
        more = more_splits(found, single, folds, random, len(trials[0].splits))
        trials = joined(trials, tried(more, problem))
    splits, (methods, recommended) = trials[0].splits, results(trials)
    advised = recommended.method.name
    best = methods[0].brier - methods[0].excess
    if problem is not None:
        best = -(methods[0].value or 0.0) / (problem.stakes or 1.0) - methods[0].excess
    by_group = None
    if _can_group(found, single):
        row = next(one for one in methods if one.name == advised)
        by_group = group_result(recommended, row, splits[0], problem)
    if by_group is not None:
        methods = (*methods, by_group)
        advised = by_group.name if by_group.eligible else advised
    return Comparison(
        methods=(*methods, *noise_results(q, problem, best)),
        recommended=advised,
        criterion="Brier score" if problem is None else "payoff",
        rows=q.rows or 0,
        folds=len(splits[0]),
        repeats=len(splits),
        ordered=single is not None and single.times is not None,
        clusters=None if q.clusters is None else q.clusters.count,
    )


def laws_of_groups(found: Evidence, single: SingleRows | None) -> Mapping[Any, Predictor]:
    """The predictor of each group."""
    return found.groups if single is None else single.laws


def _can_group(found: Evidence, single: SingleRows | None) -> bool:
    """Whether a map for each group can be learned: by one column, from rows of equal weight, from few groups."""
    columns = None if found.provenance is None else found.provenance.columns
    laws = laws_of_groups(found, single)
    return (
        1 < len(laws) <= _MOST_GROUPS
        and (columns is None or len(columns.by) == 1)
        and all(row_counts(q) is not None for q in laws.values())
    )
