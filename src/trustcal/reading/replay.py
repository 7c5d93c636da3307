"""Rows of files read again one by one, for those to whom a predictor is not enough."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trustcal.reading.duckdb import connected
from trustcal.reading.expressions import rows_of
from trustcal.reading.files import open_files, refusals, with_folders
from trustcal.reading.outcomes import Label
from trustcal.reading.request import Request
from trustcal.reading.sources import Reading
from trustcal.rows import FloatArray


def count_rows(source: str | Path) -> int:
    """Count the rows of a file.

    Parameters
    ----------
    source : str or Path

    Returns
    -------
    int

    Examples
    --------
    >>> from importlib.resources import files
    >>> count_rows(files("trustcal") / "examples" / "census_income.csv")
    16281

    O(n).
    """
    with connected() as connection:
        table = open_files(connection, Path(source))
        with refusals(table.title):
            found = connection.execute(f"SELECT count(*) FROM {table.sql}").fetchall()
    return int(found[0][0])


def weighted_rows(
    source: str | Path | Sequence[str | Path], found: Reading, positive: Label | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Read the valid rows of files again, one by one: a predictor does not know the rows behind its weights.

    Parameters
    ----------
    source : path, pattern or list of paths
    found : Reading
        What `reading` returned for the same source.
    positive : str or number, optional
        The label that counts as 1.

    Returns
    -------
    y_true, y_prob, sample_weight : arrays
        Sorted by prediction, outcome and weight.

    O(n log n), all in memory.
    """
    y, p, w = _fetched_rows(source, found, positive)
    order = np.lexsort((w, y, p))
    return y[order], p[order], w[order]


def rows_in_order(
    source: str | Path | Sequence[str | Path], found: Reading, positive: Label | None = None
) -> tuple[FloatArray, FloatArray]:
    """Read the valid rows of files again, in the order of the files: a stream to replay.

    Parameters
    ----------
    source : path, pattern or list of paths
    found : Reading
        What `reading` returned for the same source.
    positive : str or number, optional
        The label that counts as 1.

    Returns
    -------
    y_true, y_prob : arrays

    Examples
    --------
    >>> from importlib.resources import files
    >>> from trustcal.reading import reading
    >>> census = files("trustcal") / "examples" / "census_income.csv"
    >>> y, p = rows_in_order(census, reading(census))
    >>> y[:3], p[:3].round(3)
    (array([0., 0., 1.]), array([0.   , 0.71 , 0.731]))

    O(n), all in memory.
    """
    y, p, _ = _fetched_rows(source, found, positive)
    return y, p


def _fetched_rows(
    source: str | Path | Sequence[str | Path], found: Reading, positive: Label | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    with connected() as connection:
        table = with_folders(connection, open_files(connection, source))
        rows = rows_of(table, Request(found.provenance.columns, positive, 0.0, True))
        with refusals(table.title):
            fetched = connection.execute(f"SELECT y, p, w FROM {rows.valid}").fetchnumpy()
    y, p, w = (np.asarray(fetched[name], dtype=np.float64) for name in "ypw")
    if step := found.provenance.resolution:
        p = np.floor(p / step + 0.5) * step  # half a step goes up, as in every engine
    return y, p, w
