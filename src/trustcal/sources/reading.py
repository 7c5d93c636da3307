"""Rows of a file to a predictor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trustcal.predictor import Predictor
from trustcal.rows import counted_rows
from trustcal.sources.files import Table, open_files, place, refusals

if TYPE_CHECKING:
    import duckdb


def read(path: str | Path, *, prediction: str, outcome: str, weight: str | None = None) -> Predictor:
    """The predictor in a CSV, TSV or Parquet file (CSV and TSV also as .gz or .zst): one row per prediction.

    The first line of a CSV names the columns, and every further line is a row.  `prediction`, `outcome` and `weight`
    name columns exactly, capitals included.  Outcomes may be 0/1, true/false or yes/no.

    >>> from importlib.resources import files
    >>> read(files("trustcal") / "examples" / "census_income.csv", prediction="prediction", outcome="outcome")
    Predictor(10685 values, 16281 rows, base rate 0.236226)
    """
    import duckdb

    if prediction == outcome:
        raise ValueError(f"prediction and outcome must be different columns, but both are {prediction!r}.")
    names = [outcome, prediction] if weight is None else [outcome, prediction, weight]
    with duckdb.connect() as connection:
        table = open_files(connection, path)
        with refusals(table.files):
            columns = [_numbers(connection, table, name, truth=name == outcome) for name in names]
    try:
        weights = columns[2] if weight is not None else None
        counts = counted_rows(columns[0], columns[1], weights, names=[f"column {name!r}" for name in names])
    except ValueError as error:
        raise ValueError(f"{table.title}: {error}") from None
    return Predictor(counts.p, counts.mass, counts.positive, rows=counts.rows, effective_rows=counts.effective_rows)


def _numbers(connection: duckdb.DuckDBPyConnection, table: Table, name: str, truth: bool) -> NDArray[np.float64]:
    """A column as float64 with NaN for what is missing; text that is no number (or truth value) is refused."""
    index = place(table, name)
    column = table.expressions[index]
    number = f"CAST({column} AS DOUBLE)"
    if table.types[index] == "VARCHAR":
        number = f"TRY_{number}"
        if truth:
            number = f"coalesce({number}, CAST(TRY_CAST({column} AS BOOLEAN) AS DOUBLE))"
        _refuse_text(connection, table, name, column, number)
    fetched = connection.execute(f"SELECT {number} AS number FROM {table.sql}").fetchnumpy()
    return np.ma.filled(fetched["number"].astype(np.float64), np.nan)


def _refuse_text(connection: duckdb.DuckDBPyConnection, table: Table, name: str, column: str, number: str) -> None:
    culprits = connection.execute(
        f"""SELECT count(*), min(row), arg_min(text, row) FROM (
            SELECT {column} AS text, row_number() OVER () - 1 AS row FROM {table.sql}
            QUALIFY {column} IS NOT NULL AND {number} IS NULL)"""
    ).fetchall()
    count, row, text = culprits[0]
    if count:
        raise ValueError(
            f"{table.title}: column {name!r} must hold numbers, but {count} of its entries are text, the first in row "
            f"{row} (from 0): {text!r}. Recode them, or name another column."
        )
