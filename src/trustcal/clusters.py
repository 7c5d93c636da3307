"""Clusters: rows that belong together, such as many forecasts of one event.  Clusters are independent, rows are not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class Clusters:
    """The rows of a predictor, with the cluster of each: sorted, so that the order of the rows does not matter."""

    value: IntArray
    """The prediction value of each row, as its index."""
    cluster: IntArray
    """The cluster of each row: 0, 1, 2, …"""
    weight: FloatArray
    """The weight of each row, as a share of the total."""
    outcome: NDArray[np.bool_]
    """The outcome of each row."""

    @classmethod
    def of(cls, value: IntArray, cluster: IntArray, weight: FloatArray | None, outcome: NDArray[np.bool_]) -> Clusters:
        """Sort rows by value, cluster, outcome and weight.  O(n log n)."""
        weight = np.ones(len(value)) if weight is None else weight
        order = np.lexsort((weight, outcome, cluster, value))
        weight = weight[order]
        return cls(value[order], cluster[order], weight / weight.sum(), outcome[order])

    @cached_property
    def count(self) -> int:
        """The number of clusters."""
        return int(self.cluster.max()) + 1

    @cached_property
    def shares(self) -> FloatArray:
        """The weight of each cluster, as a share of the total."""
        return added(self.cluster, self.weight, self.count)

    @cached_property
    def effective(self) -> float:
        """The effective number of clusters, (ΣW)²/ΣW² for the weights W of clusters: at most `count`."""
        return float(self.shares.sum() ** 2 / (self.shares**2).sum())

    def moved(self, place: IntArray) -> Clusters:
        """The same rows where the value with index i becomes the one with index place[i]."""
        return Clusters.of(place[self.value], self.cluster, self.weight, self.outcome)

    def correlation(self, p: FloatArray) -> float:
        """The correlation of outcomes within clusters at equal predictions p, beyond them; between 0 and 1.

            Σ_c Σ_{i ≠ j in c} w_i·w_j·(y_i − p_i)·(y_j − p_j)  /  Σ_c Σ_{i ≠ j in c} w_i·w_j·(min(p_i, p_j) − p_i·p_j)

        The lower sum is what `shared_outcomes` have if all rows use the uniform of their cluster, so that outcomes
        drawn with this correlation vary together as much as the rows do.  It is 1 where no cluster has both outcomes:
        then its rows share one.  p does not decrease from value to value.  O(n log n).
        """
        ones, rows = np.bincount(self.cluster, self.outcome), np.bincount(self.cluster)
        if ((ones == 0) | (ones == rows)).all():
            return 1.0
        order = np.lexsort((self.value, self.cluster))
        cluster, weight, here = self.cluster[order], self.weight[order], p[self.value[order]]
        residual = weight * (self.outcome[order] - here)
        together = float((added(cluster, residual, self.count) ** 2).sum() - (residual**2).sum())
        zero = weight * (1 - here)
        later = np.cumsum(added(cluster, zero, self.count))[cluster] - np.cumsum(zero)  # in the same cluster
        later[np.flatnonzero(np.diff(cluster, append=-1))] = 0.0  # after its last row there is none, but for rounding
        most = 2 * float((weight * here * later).sum())
        return float(np.clip(together / most, 0.0, 1.0)) if most > 0 else 0.0


def by_content(cluster: IntArray, value: IntArray, weight: FloatArray, outcome: NDArray[np.bool_]) -> IntArray:
    """The cluster of each row, where clusters are numbered by what their rows hold: their names do not matter.

    Each kind of row has a number of 64 bits that looks random, and clusters are sorted by the sum over their rows. Sums
    are equal for clusters with the same rows, and for others by an accident of one in 10^19 for each pair.  O(n log n).

    >>> one, rows = np.array([0, 0, 1]), (np.array([3, 5, 3]), np.ones(3), np.array([True, False, True]))
    >>> bool((by_content(one, *rows) == by_content(1 - one, *rows)).all())
    True
    """
    order = np.lexsort((weight, outcome, value))
    new = [np.diff(part[order], prepend=part[order][:1]) != 0 for part in (value, weight, outcome.astype(np.int8))]
    kind = np.empty(len(order), dtype=np.uint64)
    kind[order] = np.cumsum(np.logical_or.reduce(new)) + 1
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64, which uses these
        kind = (kind ^ (kind >> np.uint64(shift))) * np.uint64(factor)
    total = np.zeros(int(cluster.max(initial=-1)) + 1, dtype=np.uint64)
    np.add.at(total, cluster, kind ^ (kind >> np.uint64(31)))
    return np.argsort(np.argsort(total, kind="stable"))[cluster].astype(np.int64)


def added(place: IntArray, weight: FloatArray, size: int) -> FloatArray:
    """The sum of the weights at each of the places 0, …, size − 1."""
    return np.bincount(place, weight, size).astype(np.float64, copy=False)


def shared_outcomes(
    clusters: Clusters, chance: FloatArray, correlation: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """An outcome for each row, 1 with the chance of its value, correlated within clusters.

    Each row uses its cluster's uniform with probability √ρ, and one of its own otherwise, and has y = 1 where its
    uniform is below its chance: correlation ρ.  O(n).
    """
    shared = rng.random(clusters.count)[clusters.cluster]
    own = rng.random(len(shared))
    drawn = np.where(rng.random(len(shared)) < sqrt(correlation), shared, own)
    return np.asarray(drawn < chance[clusters.value])
