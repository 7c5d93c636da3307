"""Rows split at random: some choose, the others judge.  Clusters are never split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.inference.deviations import ROUNDING, deviation, hoeffding
from trustcal.measures.counts import constant_weights, row_counts
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]

_TO_LEARN = 1 / 3
"""The share of the rows that choose."""
JUDGED = "a third of the rows chooses the function, the others judge it, by Bennett's inequality"
JUDGED_WEIGHTED = (
    "a third of the rows chooses the function, the others judge it, by Hoeffding's inequality with the effective "
    "sample size: for weights, or the sizes of clusters, fixed in advance"
)


@final
@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows."""

    weight: NDArray[np.number]
    """The weight of the rows of outcome 0 and of outcome 1 (lines) at each value (columns); or their numbers."""
    size: float
    """Their effective number."""
    alike: bool
    """Whether they are independent and of equal weight."""

    def __bool__(self) -> bool:
        return self.size > 0

    def law(self, p: FloatArray) -> Predictor:
        """The predictor of these rows."""
        both = self.weight[0] + self.weight[1]
        here = np.flatnonzero(both)
        total, rows = float(both.sum()), max(1, round(self.size))
        mass, positive = both[here] / total, self.weight[1][here] / total
        return Predictor(p[here], mass, positive, rows=rows, effective_rows=self.size)

    def mean(self, change: FloatArray) -> float:
        """The mean of a function with values change[y] at each prediction value; 0 without rows."""
        return float(np.einsum("ij,ij->", self.weight, change) / self.weight.sum()) if self else 0.0

    def second_moment(self, change: FloatArray) -> float:
        """The mean of its square."""
        return float(np.einsum("ij,ij,ij->", self.weight, change, change) / self.weight.sum()) if self else 0.0


def learn_and_judge(q: Predictor, random: np.random.Generator) -> tuple[Part, Part]:
    """A third of the rows (or of the clusters), to choose a function; and the others, to judge it."""
    learn, judge = _parts(q, [_TO_LEARN, 1.0], random)
    return learn, judge


def folds_of(q: Predictor, folds: int, random: np.random.Generator) -> list[Part]:
    """The rows (or clusters), each in one fold at random."""
    return _parts(q, [1 / left for left in range(folds, 0, -1)], random)


def others(parts: Sequence[Part], part: Part) -> Part:
    """The rows of all parts but one."""
    rest = [other for other in parts if other is not part]
    return Part(np.sum([other.weight for other in rest], axis=0), sum(other.size for other in rest), part.alike)


def judged(judge: Part, change: FloatArray, error: float) -> float:
    """What rows that had no part in the choice of a function prove about its expectation, from below (Theorem 28)."""
    if not judge:
        return 0.0
    moment = min(1.0, judge.second_moment(change))
    far = deviation(moment, judge.size, error) if judge.alike else hoeffding(judge.size, error)
    return max(0.0, judge.mean(change) - far - ROUNDING)


def judged_by(judge: Part) -> str:
    """The inequality behind `judged` for these rows."""
    return JUDGED if judge.alike else JUDGED_WEIGHTED


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
    """The predictor, if it was counted from independent rows of equal weight whose predictions were not moved."""
    q = usable_rows(q)
    if row_counts(q) is None:
        given = "these have different weights" if q.clusters is None else "these belong to clusters"
        raise ValueError(f"this needs independent rows of equal weight, but {given}. Leave them out to ignore them.")
    return q


def _parts(q: Predictor, chances: Sequence[float], random: np.random.Generator) -> list[Part]:
    """Parts of the rows: each row that is left goes to the next part with the next chance; the last one is 1."""
    if q.clusters is not None:
        return _parts_of_clusters(q, chances, random)
    counts, weight = row_counts(q), np.ones(1)
    alike = counts is not None
    if counts is None:
        if not constant_weights(q):
            raise ValueError(
                "rows can be split only if those with the same prediction have the same weight, but here they differ. "
                "Give each row as its own cluster (cluster=range(n)), or leave the weights out."
            )
        ones = np.rint(q.rows_at * q.p_hat).astype(np.int64)
        counts, weight = (np.rint(q.rows_at).astype(np.int64) - ones, ones), q.mass / np.rint(q.rows_at)
    small = np.min_scalar_type(int((counts[0] + counts[1]).max()))  # and so is the sum of both outcomes
    rest, parts = np.stack([one.astype(small) for one in counts]), []
    for chance in chances:
        taken = _taken(rest, chance, random)
        rest = rest - taken
        heavy = taken if alike else taken * weight
        total = float(heavy.sum())
        mean = 1.0 if alike or not total else float((heavy / total * weight).sum())  # of the weights, by weight
        parts.append(Part(heavy, total / mean, alike))
    return parts


def _taken(rest: NDArray[np.unsignedinteger], chance: float, random: np.random.Generator) -> NDArray[np.integer]:
    """How many rows are taken of those that are left, each with this chance."""
    if chance == 1:
        return rest
    if (rest[0] + rest[1]).max() <= 1:  # a row for each value
        return rest * (random.random(rest.shape[1]) < chance)
    return random.binomial(rest, chance)


def _parts_of_clusters(q: Predictor, chances: Sequence[float], random: np.random.Generator) -> list[Part]:
    rows = q.clusters
    assert rows is not None
    free, parts = np.ones(rows.count, dtype=bool), []
    for chance in chances:
        taken = free & (random.random(rows.count) < chance)
        free &= ~taken
        here = taken[rows.cluster]
        weight = [
            np.bincount(rows.value[here & side], rows.weight[here & side], len(q))
            for side in (~rows.outcome, rows.outcome)
        ]
        shares = rows.shares[taken]
        size = 1 / float(((shares / shares.sum()) ** 2).sum()) if taken.any() else 0.0
        parts.append(Part(np.stack(weight), size, False))
    return parts
