"""How rows are split to try remedies: by time, or at random several times; and the rows one by one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trustcal.measures.counts import row_counts
from trustcal.predictor import Predictor
from trustcal.reading import Evidence, replayed_rows
from trustcal.remedies.folds import Fold, SingleRows, split_in_order, split_laws, split_rows

_WORK = 10_000
"""Rows are split as often as it takes to hold out this many, at most ten times, and at least `_LEAST` times."""
_LEAST = 3
_MORE = 40
"""Where single splits disagree on what to recommend, rows are split this often in all."""
_HELD_OUT = 200_000
"""More rows than this, over all splits, are held out only if one split has them."""


def row_splits(
    found: Evidence, single: SingleRows | None, folds: int, random: np.random.Generator, most: int = 10
) -> list[list[Fold]]:
    """The rows split by time, or at random, several times if they are few."""
    single = single or _known_rows(found)
    if single is not None and single.times is not None:
        return [split_in_order(single, folds)]
    repeats = max(-(-_WORK // max(1, found.predictor.rows or 1)), _LEAST)
    return _drawn(found, single, folds, random, _repeats(found.predictor, repeats, most))


def more_splits(
    found: Evidence, single: SingleRows | None, folds: int, random: np.random.Generator, done: int
) -> list[list[Fold]]:
    """As many more random splits as a close choice needs, after so many; none if that takes long, or by time."""
    if single is not None and single.times is not None:
        return []
    return _drawn(found, single, folds, random, _repeats(found.predictor, _MORE, _MORE) - done)


def _repeats(q: Predictor, wanted: int, most: int) -> int:
    """How often to split the rows: as often as wanted, unless that takes long."""
    return min(most, wanted, max(1, _HELD_OUT // max(1, q.rows or 1)))


def _drawn(
    found: Evidence, single: SingleRows | None, folds: int, random: np.random.Generator, repeats: int
) -> list[list[Fold]]:
    """Rows split at random so many times."""
    single = single or _known_rows(found)
    if single is not None:
        return [split_rows(single, folds, random) for _ in range(repeats)]
    laws: Mapping[Any, Predictor] = found.groups or {"all": found.predictor}
    return [split_laws(laws, folds, random) for _ in range(repeats)]


def single_rows(
    source: Any,
    found: Evidence,
    order: Any = None,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
    positive: Any = None,
    cluster: Any = None,
) -> SingleRows | None:
    """The rows of a source one by one, where the counts in a predictor are not enough.

    Parameters
    ----------
    source, y_prob, sample_weight, positive, order, cluster : as for `choose`
    found : Evidence
        The evidence from the same source.
    groups : array-like, optional
        The group of each row, where `source` is y_true.

    Returns
    -------
    SingleRows, or None
        None for independent rows of equal weight without an order, unless `groups` is given.

    O(n log n).
    """
    if y_prob is not None and (order is not None or groups is not None):
        return SingleRows.from_columns(source, y_prob, sample_weight, order, groups, cluster)
    if order is None:
        return _known_rows(found)
    if found.provenance is None or not isinstance(source, str | os.PathLike | list | tuple):
        raise ValueError("order needs single rows: pass y_true and y_prob with an array of times, or a file.")
    return SingleRows.from_columns(*replayed_rows(source, found.provenance, positive, order))


def _known_rows(found: Evidence) -> SingleRows | None:
    """Rows of unequal weight or in clusters one by one, if they are known; O(n log n)."""
    if row_counts(found.predictor) is not None:
        return None
    if found.rows is not None:
        return SingleRows.from_columns(*found.rows())
    if found.predictor.clusters is None:
        return None
    if found.groups:
        raise ValueError(
            "by and cluster together need single rows, but this source is neither a file nor arrays. Pass y_true and "
            "y_prob with by=… and cluster=…, or leave out by."
        )
    return SingleRows.of_clusters(found.predictor)
