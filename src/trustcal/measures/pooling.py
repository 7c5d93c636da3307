"""Pooling: which prediction values are too rare to have a frequency, and the bins that they are pooled into.

ECE and CDL condition on single values.  A value repeats if at least 5 rows have it.  Repeated values are measured as
they are.  Rare ones, as continuous predictions are, are pooled into bins of equal mass, each at its mean prediction.
This is the only place that decides so, value by value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import checked_cells
from trustcal.predictor import Predictor
from trustcal.rows import run_starts

FloatArray = NDArray[np.float64]

REPEATS: Final = 5
"""A value with at least this many (effective) rows repeats."""
FEW: Final = 0.05
"""Up to this share of rows on rare values is ignored.

Taken as they are, rare values among uniform calibrated predictions add a quarter of their share to CDL: at most 1.25 %.
"""


@final
@dataclass(frozen=True, eq=False)
class Bins:
    """Where conditional measures are taken: on values that repeat as they are, and on bins of all others."""

    count: int
    """The largest number of bins."""
    repeated: FloatArray
    """The values that stay as they are, sorted."""

    def of(self, q: Predictor) -> Predictor:
        """The predictor with all values but the repeated ones pooled into bins of equal mass.

        >>> q = Predictor([0.1, 0.2, 0.25, 0.3, 0.4], [0.2] * 5, [0.0, 0.1, 0.0, 0.1, 0.2])
        >>> Bins(2, np.array([0.25])).of(q).p.round(2)
        array([0.15, 0.25, 0.35])

        O(n log n).
        """
        rare = ~np.isin(q.p, self.repeated, assume_unique=True)
        if rare.all():
            return q.coarsen(self.count)
        if not rare.any():
            return q
        p, mass = q.p[rare], q.mass[rare]
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        starts = run_starts(np.minimum(np.floor(middle * self.count), self.count - 1))
        sizes = np.diff(starts, append=len(p))
        mean = np.add.reduceat(p * mass, starts) / np.add.reduceat(mass, starts)
        pooled = q.p.copy()
        pooled[rare] = np.repeat(np.clip(mean, p[starts], p[starts + sizes - 1]), sizes)
        return q.map(lambda _: pooled)

    def along(self, q: Predictor, place: NDArray[np.intp], moved: Predictor) -> Bins:
        """The same bins where value i of q went to value place[i] of `moved`: what holds mostly repeated rows stays."""
        kept = np.bincount(place, q.mass * np.isin(q.p, self.repeated)) > 0.5 * np.bincount(place, q.mass)
        return Bins(self.count, moved.p[kept])


def repeated(q: Predictor) -> NDArray[np.bool_]:
    """Which values have at least 5 rows; all values of a known distribution have a frequency.  O(n).

    >>> repeated(Predictor.from_samples([0, 1, 0, 1, 0, 1], [0.2, 0.2, 0.2, 0.2, 0.2, 0.7]))
    array([ True, False])
    """
    return q.rows_at >= REPEATS * (1 - 1e-9)


def rare_share(q: Predictor) -> float:
    """The share of rows on values with fewer than 5 rows.  O(n).

    >>> rare_share(Predictor.from_samples([0, 1, 0, 1, 0, 1], [0.2, 0.2, 0.2, 0.2, 0.2, 0.7])).__round__(4)
    0.1667
    """
    return float(q.mass[~repeated(q)].sum())


def sparse(q: Predictor) -> bool:
    """Whether more than 5 % of the rows are on values too rare to have a frequency, as with continuous predictions.

    >>> sparse(Predictor.from_samples([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8]))
    True

    O(n).
    """
    return rare_share(q) > FEW


def suggested_bins(q: Predictor) -> int:
    """A number of bins for the rare values: about n^(1/3) for n (effective) rows on them; without rows, one per value.

    >>> suggested_bins(Predictor.from_samples([0, 1] * 500, [i / 1000 for i in range(1000)]))
    10

    O(n).
    """
    return len(q) if q.effective_rows is None else max(1, round((q.effective_rows * rare_share(q)) ** (1 / 3)))


def bins_for(q: Predictor, cells: int | None = None) -> Bins | None:
    """The bins to take conditional measures on; None: the values as they are.

    Parameters
    ----------
    q : the predictor.
    cells : the number of bins for its rare values, or for all values where all of them repeat; unless given,
        `suggested_bins` where more than 5 % of the rows are on rare values, and none otherwise.

    Returns
    -------
    Bins or None

    >>> bins_for(Predictor.from_samples([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8])).count
    2

    O(n).
    """
    if cells is None and not sparse(q):
        return None
    kept = repeated(q)
    count = suggested_bins(q) if cells is None else checked_cells(cells)
    return Bins(count, q.p[kept] if not kept.all() else np.empty(0))


def on_bins(q: Predictor, bins: Bins | None) -> Predictor:
    """The predictor on bins; with None, the predictor as it is.  O(n log n)."""
    return q if bins is None else bins.of(q)


def pooled(q: Predictor, cells: int | None = None) -> tuple[Predictor, int | None]:
    """What conditional measures are taken on, and its number of values; None: on the values as they are.

    >>> pooled(Predictor.from_samples([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8]))
    (Predictor(2 values, 4 rows, base rate 0.5), 2)
    >>> pooled(Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25]))
    (Predictor(2 values, base rate 0.5), None)

    O(n log n).
    """
    bins = bins_for(q, cells)
    binned = on_bins(q, bins)
    return binned, None if bins is None else len(binned)
