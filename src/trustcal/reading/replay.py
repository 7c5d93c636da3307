"""Rows of files and frames read again one by one, for those to whom a predictor is not enough."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trustcal.reading.columns import place_of
from trustcal.reading.duckdb import Run, connected
from trustcal.reading.expressions import rows_of
from trustcal.reading.files import Table, open_files, refusals, with_folders
from trustcal.reading.outcomes import Label
from trustcal.reading.provenance import Provenance
from trustcal.reading.request import Request
from trustcal.reading.sources import Reading, at_source
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


def rows_in_order(source: Any, found: Reading, positive: Label | None = None) -> tuple[FloatArray, FloatArray]:
    """Read the valid rows of files or of a frame in memory again, in their order: a stream to replay.

    Parameters
    ----------
    source : path, pattern or list of paths; or a frame of pandas, Polars or PyArrow
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
    asked = Request(replace(found.provenance.columns, by=(), cluster=None), positive, 0.0, True)
    y, p = at_source(source, lambda *_: asked, _table_in_order, _frame_in_order)[2]
    return y, _rounded(p, found.provenance)


def _table_in_order(table: Table, run: Run, asked: Request) -> tuple[FloatArray, FloatArray]:
    fetched = run(f"SELECT y, p FROM {rows_of(table, asked).valid}").fetchnumpy()
    y, p = (np.asarray(fetched[name], dtype=np.float64) for name in "yp")
    return y, p


def _frame_in_order(frame: Any, asked: Request) -> tuple[FloatArray, FloatArray]:
    from trustcal.reading.narwhals import rows_here

    return rows_here(frame, asked)


def replayed_rows(
    source: Any, facts: Provenance, positive: Label | None = None, order: str | None = None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray | None, NDArray[Any] | None, NDArray[Any] | None]:
    """Read the valid rows of files again, with their rank in the order of a column, their group and their cluster.

    Parameters
    ----------
    source : path, pattern or list of paths
    facts : Provenance
        The provenance of the same source.
    positive : str or number, optional
        The label that counts as 1.
    order : str, optional
        The column to sort by: numbers by size, other values as text, missing ones last.

    Returns
    -------
    y_true, y_prob, sample_weight : arrays
        Sorted by these, and before that by rank, group and cluster.
    rank : array, or None without an order
    group : array of text, or None without groups
    cluster : array of text, or None without clusters

    O(n log n), all in memory.
    """
    by, cluster = facts.columns.by, facts.columns.cluster
    columns = replace(facts.columns, by=(*by, *(name for name in (order, cluster) if name is not None)))
    with connected() as connection:
        table = with_folders(connection, open_files(connection, source))
        if order is not None:
            place_of(order, table.names, table.title)
        rows = rows_of(table, Request(columns, positive, 0.0, True))
        last = f"g{len(by)}"
        rank = f"dense_rank() OVER (ORDER BY TRY_CAST(CAST({last} AS VARCHAR) AS DOUBLE), CAST({last} AS VARCHAR))"
        texts = [f"coalesce(CAST(g{index} AS VARCHAR), 'None')" for index in range(len(by))]
        group = " || ', ' || ".join(texts) or "0"
        label = "0" if cluster is None else f"CAST(g{len(columns.by) - 1} AS VARCHAR)"
        asked = ["y", "p", "w", f"{rank if order else 0} AS t", f"{group} AS g", f"{label} AS c"]
        with refusals(table.title):
            found = connection.execute(f"SELECT {', '.join(asked)} FROM {rows.valid} ORDER BY t, g, c, p, y, w")
            fetched = found.fetchnumpy()
    y, p, w, t = (np.asarray(fetched[name], dtype=np.float64) for name in "ypwt")
    p = _rounded(p, facts)
    groups, clusters = (
        np.asarray(fetched[name]).astype(str) if known else None for name, known in (("g", by), ("c", cluster))
    )
    return y, p, w, t if order is not None else None, groups, clusters


def _rounded(p: FloatArray, facts: Provenance) -> FloatArray:
    """Predictions on the grid that they were read on: half a step goes up, as in every engine."""
    step = facts.resolution
    return np.floor(p / step + 0.5) * step if step else p
