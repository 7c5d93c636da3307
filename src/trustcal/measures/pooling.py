"""Pooling: the bins that conditional measures are taken on where single prediction values are rare.

ECE and CDL condition on single values.  Where these are seen too rarely to have a frequency, as continuous predictions
are, they are pooled into bins of equal mass, each at its mean prediction.  This is the only place that decides so.
"""

from __future__ import annotations

from trustcal.checking import checked_cells
from trustcal.predictor import Predictor


def bins_for(q: Predictor, cells: int | None = None) -> int | None:
    """The number of bins to pool into: as given, or `suggested_cells` if values are rare; None: the values as they are.

    >>> bins_for(Predictor.from_samples([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8]))
    2

    O(n log n) for rows, to see how rare the values are.
    """
    if cells is not None:
        return checked_cells(cells)
    return q.suggested_cells if q.sparse else None


def on_bins(q: Predictor, bins: int | None) -> Predictor:
    """The predictor on at most that many bins of equal mass; with None, the predictor as it is.  O(n)."""
    return q if bins is None else q.coarsen(bins)


def pooled(q: Predictor, cells: int | None = None) -> tuple[Predictor, int | None]:
    """What conditional measures are taken on, and its number of bins; None: on the values as they are.

    >>> pooled(Predictor.from_samples([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8]))
    (Predictor(2 values, 4 rows, base rate 0.5), 2)
    >>> pooled(Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25]))
    (Predictor(2 values, base rate 0.5), None)

    O(n log n).
    """
    bins = bins_for(q, cells)
    binned = on_bins(q, bins)
    return binned, None if bins is None else len(binned)
