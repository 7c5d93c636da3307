"""Rows split into a part to fit on and a part to measure on, each as a predictor: at random, or by time.

Rows of one cluster are never split.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import checked_clusters
from trustcal.clusters import by_content
from trustcal.measures.counts import law_of_counts, row_counts
from trustcal.predictor import Predictor
from trustcal.rows import real_vector
from trustcal.tally.counts import counted

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_MOST_ROWS = 10**9
"""numpy draws hypergeometric numbers exactly up to this size."""


@final
@dataclass(frozen=True, eq=False)
class Fold:
    """The rows held out, and those to fit on."""

    train: Predictor
    """The rows to fit on."""
    held_out: Predictor
    """The rows to measure on."""
    share: float
    """Their share of the weight of all rows that are held out once."""
    groups: Mapping[Hashable, tuple[Predictor, float]]
    """The rows held out of each group, and their share of the weight of the group."""
    others: Mapping[Hashable, Predictor]
    """The rows to fit on of each group."""


def split_laws(laws: Mapping[Any, Predictor], folds: int, rng: np.random.Generator) -> list[Fold]:
    """Folds of equal size, with equal numbers of each outcome, from the counts of rows of equal weight, by group.

    If the rows of one outcome are shuffled and cut into folds, the number of rows with each prediction value in a fold
    is (multivariate) hypergeometric.  That number is drawn, so the rows themselves are not needed.  O(folds·n log n).
    """
    counts = {name: exact_counts(q) for name, q in laws.items()}
    whole = np.sum([of.sum(axis=1) for of in counts.values()], axis=0)
    if whole.sum() >= _MOST_ROWS:
        raise ValueError(
            f"remedies are compared on fewer than 10^9 rows, but there are {whole.sum()}. Use a random sample of them."
        )
    _check_sizes(whole, folds)
    parts = {name: _dealt(of, folds, rng) for name, of in counts.items()}
    made = []
    for fold in range(folds):
        held = {name: (laws[name].p, parts[name][fold]) for name in laws}
        others = {name: (laws[name].p, counts[name] - parts[name][fold]) for name in laws}
        groups, left = {}, {}
        if len(laws) > 1:
            groups = {
                name: (law_of_counts(*held[name]), int(part.sum()) / int(counts[name].sum()))
                for name, (_, part) in held.items()
                if part.any()
            }
            left = {name: law_of_counts(*part) for name, part in others.items() if part[1].any()}
        share = float(sum(part.sum() for _, part in held.values()) / whole.sum())
        made.append(Fold(together(others.values()), together(held.values()), share, groups, left))
    return made


def exact_counts(q: Predictor) -> IntArray:
    """The number of rows of each outcome at each value."""
    counts = row_counts(q)
    if q.rows is None:
        raise ValueError(
            "remedies are judged on rows held out, but a known law has none. Make the predictor from data: "
            "Predictor.from_samples(y_true, y_prob), or trustcal.read."
        )
    if counts is None:
        raise ValueError(
            "remedies are judged on single rows held out, but a predictor with weights does not hold them. "
            "Pass the rows themselves: y_true, y_prob, sample_weight, or a file without groups."
        )
    return np.stack(counts)


def _dealt(counts: IntArray, folds: int, rng: np.random.Generator) -> list[IntArray]:
    """How many rows of each outcome and value are in each fold."""
    left, parts = counts.copy(), []
    for fold in range(folds):
        part = np.empty_like(left)
        for y in (0, 1):
            size = int(left[y].sum())
            share, more = divmod(size, folds - fold)
            share += int(more > 0 and rng.integers(folds - fold) < more)  # small groups do not all fill the first fold
            part[y] = rng.multivariate_hypergeometric(left[y], share, method="marginals")
        left -= part
        parts.append(part)
    return parts


def together(parts: Iterable[tuple[FloatArray, IntArray]]) -> Predictor:
    """The predictor of the counts of several groups."""
    values, counts = zip(*parts, strict=True)
    if len(values) == 1:
        return law_of_counts(values[0], counts[0])
    p, place = np.unique(np.concatenate(values), return_inverse=True)
    zeros, ones = (np.bincount(place, row, len(p)) for row in np.concatenate(counts, axis=1))
    return law_of_counts(p, np.stack([zeros, ones]).astype(np.int64))


@final
@dataclass(frozen=True, eq=False)
class SingleRows:
    """Rows one by one, for those to whom counts are not enough: with weights, times, groups or clusters."""

    y_true: FloatArray
    y_prob: FloatArray
    sample_weight: FloatArray
    times: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    clusters: IntArray | None = None

    @classmethod
    def from_columns(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        weight: ArrayLike | None,
        times: Any = None,
        groups: Any = None,
        clusters: Any = None,
    ) -> SingleRows:
        """The rows of positive weight, sorted, so that the order of the rows does not matter.

        The time of a row is that of the last row of its cluster: before that its outcome is not used.
        """
        y, p = real_vector(y_true, "y_true"), real_vector(y_prob, "y_prob")
        w = np.ones(len(y)) if weight is None else real_vector(weight, "sample_weight")
        labels = {"order": times, "by": groups}
        found = {name: None if values is None else np.asarray(values) for name, values in labels.items()}
        for name, column in found.items():
            if column is not None and column.shape != y.shape:
                raise ValueError(f"{name} must have one entry for each of the {len(y)} rows, but has {column.shape}.")
        together = None
        if clusters is not None:
            together = np.unique(checked_clusters(clusters, len(y)), return_inverse=True)[1].astype(np.int64)
            if found["order"] is not None:
                found["order"] = _last_times(found["order"], together)
            heavy = w > 0
            value = np.unique(p[heavy], return_inverse=True)[1].astype(np.int64)
            together[heavy] = by_content(together[heavy], value, w[heavy], y[heavy] > 0)
            found["cluster"] = together
        rank = (np.unique(column, return_inverse=True)[1] for column in found.values() if column is not None)
        order = np.lexsort((w, y, p, *rank))
        return cls(y, p, w, found["order"], found["by"], together).where(order[w[order] > 0])

    @classmethod
    def of_clusters(cls, q: Predictor) -> SingleRows:
        """The rows of a predictor with clusters, which holds them all."""
        rows = q.clusters
        assert rows is not None
        weight = rows.weight / rows.weight.max()  # equal weights are exactly 1, as those of rows that were read
        return cls.from_columns(rows.outcome, q.p[rows.value], weight, clusters=rows.cluster)

    def where(self, kept: BoolArray | IntArray) -> SingleRows:
        """Some of the rows, by a mask or by their numbers."""
        columns = (self.y_true, self.y_prob, self.sample_weight, self.times, self.groups, self.clusters)
        return SingleRows(*(None if column is None else column[kept] for column in columns))  # type: ignore[arg-type]

    @property
    def law(self) -> Predictor:
        """The predictor of the rows."""
        return Predictor.from_samples(self.y_true, self.y_prob, self.sample_weight, cluster=self.clusters)

    @property
    def laws(self) -> dict[Hashable, Predictor]:
        """The predictor of each group."""
        if self.groups is None:
            return {}
        return {name: self.where(self.groups == name).law for name in np.unique(self.groups).tolist()}


def split_rows(rows: SingleRows, folds: int, rng: np.random.Generator) -> list[Fold]:
    """Folds of rows with weights: the rows of each outcome are shuffled and dealt out.  O(folds·n log n).

    Clusters are dealt out whole.
    """
    y = rows.y_true
    if rows.clusters is not None:
        fold_of = _dealt_clusters(y, rows.clusters, folds, rng)
        return [_fold(rows, fold_of != fold, fold_of == fold, np.full(len(y), True)) for fold in range(folds)]
    _check_sizes(np.array([(y == 0).sum(), (y == 1).sum()]), folds)
    fold_of = np.empty(len(y), dtype=np.intp)
    for outcome in (0, 1):
        dealt = rng.permutation(np.flatnonzero(y == outcome))
        fold_of[dealt] = np.arange(len(dealt)) % folds
    return [_fold(rows, fold_of != fold, fold_of == fold, np.full(len(y), True)) for fold in range(folds)]


def _dealt_clusters(y: FloatArray, clusters: IntArray, folds: int, rng: np.random.Generator) -> IntArray:
    """The fold of each row: clusters, sorted by their share of ones, are dealt out in random order, `folds` at a time.

    Then every fold has clusters with each outcome, if there are 2·folds of them.
    """
    names, at = np.unique(clusters, return_inverse=True)
    sizes, ones = np.bincount(at), np.bincount(at, y)
    _check_clusters(int((ones < sizes).sum()), int((ones > 0).sum()), folds)
    order = rng.permutation(len(names))
    order = order[np.argsort((ones / sizes)[order], kind="stable")]
    hands = np.argsort(rng.random((-(-len(names) // folds), folds)), axis=1)
    fold_of = np.empty(len(names), dtype=np.int64)
    fold_of[order] = hands.ravel()[: len(names)]
    return fold_of[at]


def _last_times(times: NDArray[Any], clusters: IntArray) -> NDArray[Any]:
    """The last time of each row's cluster."""
    known, rank = np.unique(times, return_inverse=True)
    last = np.zeros(int(clusters.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(last, clusters, rank)
    return np.asarray(known[last[clusters]])


def split_in_order(rows: SingleRows, folds: int) -> list[Fold]:
    """Rows in time order, cut into folds + 1 blocks: each block but the first is judged by what came before it.

    Rows with the same time stay in one block.  O(folds·n log n).
    """
    y = rows.y_true
    assert rows.times is not None
    place = np.unique(rows.times, return_inverse=True)[1]
    sizes = np.bincount(place)
    middle = (np.cumsum(sizes) - sizes / 2) / len(y)
    block = np.minimum((middle * (folds + 1)).astype(np.intp), folds)[place]
    judged = [fold for fold in range(1, folds + 1) if _judges(y, block, fold)]
    if len(judged) < 2:
        raise ValueError(
            f"in time order, {folds} blocks of rows are judged by what came before, but fewer than 2 of them follow "
            "rows of both outcomes. Use more rows, or leave out order."
        )
    return [_fold(rows, block < fold, block == fold, np.isin(block, judged)) for fold in judged]


def merged(parts: Sequence[Predictor], shares: Sequence[float], effective_rows: float | None) -> Predictor:
    """All parts together, each with its share of the weight.  O(n log n)."""
    p = np.concatenate([part.p for part in parts])
    mass, positive = (
        np.concatenate([getattr(part, name) * share for part, share in zip(parts, shares, strict=True)])
        for name in ("mass", "positive")
    )
    law = counted(p, mass, positive)
    rows = sum(part.rows or 0 for part in parts)
    return Predictor(law.p, law.weight, law.positive, rows=rows, effective_rows=effective_rows)


def _fold(rows: SingleRows, train: BoolArray, held_out: BoolArray, judged: BoolArray) -> Fold:
    """The fold that holds some rows out, of all that are judged."""
    learn, judge, every = rows.where(train), rows.where(held_out), rows.where(judged)
    groups: dict[Hashable, tuple[Predictor, float]] = {}
    if rows.groups is not None and every.groups is not None and judge.groups is not None:
        for name, law in judge.laws.items():
            here = float(judge.sample_weight[judge.groups == name].sum())
            groups[name] = law, here / float(every.sample_weight[every.groups == name].sum())
    share = float(judge.sample_weight.sum() / every.sample_weight.sum())
    return Fold(learn.law, judge.law, share, groups, learn.laws)


def _judges(y: FloatArray, block: NDArray[np.intp], fold: int) -> bool:
    """Whether a block has rows, and rows of both outcomes come before it."""
    before = y[block < fold]
    return bool((block == fold).any()) and 0 < before.sum() < len(before)


def _check_clusters(zeros: int, ones: int, folds: int) -> None:
    _check_both(zeros, ones)
    if min(zeros, ones) < 2 * folds:
        raise ValueError(
            f"{folds} folds of whole clusters need at least {2 * folds} clusters with each outcome, but {zeros} have "
            f"rows of outcome 0 and {ones} of outcome 1, without those kept back. Use more clusters, keep none back "
            "(keep_back=0, --keep-back 0), or in Python take fewer folds (folds=2)."
        )


def _check_both(zeros: int, ones: int) -> None:
    if not zeros or not ones:
        raise ValueError(
            f"a remedy is learned from rows of both outcomes, but all are {int(not zeros)}. Add rows of the other "
            "outcome."
        )


def _check_sizes(outcomes: NDArray[np.int64], folds: int) -> None:
    _check_both(int(outcomes[0]), int(outcomes[1]))
    if outcomes.min() < folds:
        raise ValueError(
            f"every fold needs rows of both outcomes, but with {folds} folds there are {int(outcomes[0])} rows of "
            f"outcome 0 and {int(outcomes[1])} of outcome 1, without those kept back. Use more rows, keep none back "
            "(keep_back=0, --keep-back 0), or in Python take fewer folds (folds=2)."
        )
