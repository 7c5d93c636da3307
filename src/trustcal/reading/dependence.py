"""Signs that rows belong together: a column of ids that repeat, or outcomes that come in runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from trustcal.predictor import Predictor
from trustcal.reading.columns import Columns
from trustcal.rows import checked_rows

LARGEST = 10**6
"""Signs are looked for among at most this many rows."""
_IDS = re.compile(r"(^|[\W_]|(?<=[a-z])(?=[A-Z]))(?i:id|key|event|question|match|game|patient|user|cluster)$")
"""The last word of the name of a column that may say which rows belong together, as in user, game_id and eventId."""
_STRONG = 5.0
"""How many standard deviations of similarity between neighbours are called a sign."""
_SORTED = 10
"""Fewer runs of equal outcomes than this mean that rows are sorted by outcome."""
_ORDERED = 0.98
"""Rows with this share of neighbours in the order of their predictions are sorted, and perhaps by outcome too."""


def repeated_ids(
    names: Sequence[str], columns: Columns, rows: int, distinct: Callable[[Sequence[int]], Sequence[int]]
) -> tuple[str, ...]:
    """A sentence for the column of ids that repeats most, if there is one.  One pass over these columns.

    `distinct` counts the different values, missing ones left out, of the columns at some places among the names.

    >>> repeated_ids(["p", "y", "game_id"], Columns("p", "y"), 2000, lambda places: [100])[0][:49]
    "Column 'game_id' has 100 different values in 2,00"
    """
    places = [place for place, name in enumerate(names) if name not in columns.names and _IDS.search(str(name))]
    if columns.cluster is not None or rows > LARGEST or not places:
        return ()
    counts = zip(distinct(places), places, strict=True)
    repeats = [(n, names[place]) for n, place in counts if rows / 200 <= n <= 0.9 * rows]
    if not repeats:
        return ()
    most, name = max(repeats)
    return (
        f"Column {name!r} has {most:,} different values in {rows:,} rows. If rows with the same value share an event, "
        f"name it as the cluster (cluster={name!r}, --cluster {shlex.quote(name)}): without it p-values and intervals "
        "are too optimistic.",
    )


def outcomes_in_runs(y_true: ArrayLike, y_prob: ArrayLike) -> tuple[str, ...]:
    """A sentence if the outcomes of neighbouring rows are more alike than their predictions explain.

        z = Σ r_i·r_{i+1} / √(Σ v_i·v_{i+1}),   r = y − b,   v = b(1 − b),   b the isotonic fit at the prediction,

    is about normal if rows are independent.  Sorted rows do not count.

    >>> rng = np.random.default_rng(0)
    >>> event, p = np.repeat(rng.random(200) < 0.5, 10), rng.random(2000)
    >>> outcomes_in_runs(event, p)[0][:43]
    'Neighbouring rows have similar outcomes. If'
    >>> outcomes_in_runs(rng.random(2000) < p, p)
    ()

    O(n log n).
    """
    y, p, _ = checked_rows(y_true, y_prob, None, ("y_true", "y_prob"))
    ordered = max(float((p[1:] >= p[:-1]).mean()), float((p[1:] <= p[:-1]).mean())) if len(p) > 1 else 1.0
    if ordered > _ORDERED or len(y) > LARGEST or np.count_nonzero(y[1:] != y[:-1]) < _SORTED:
        return ()
    q = Predictor.from_samples(y, p)
    b = q.fitted[np.searchsorted(q.p, p)]
    r, v = y - b, b * (1 - b)
    spread = float((v[1:] * v[:-1]).sum())
    if spread == 0 or float((r[1:] * r[:-1]).sum()) <= _STRONG * spread**0.5:
        return ()
    return (
        "Neighbouring rows have similar outcomes. If that is because they share events, name the column of the event "
        "as the cluster (cluster=…, --cluster COLUMN): without it p-values and intervals are too optimistic.",
    )
