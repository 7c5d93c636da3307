"""Rows with the predictions of several models, read from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from trustcal.reading.copies import as_files
from trustcal.reading.duckdb import connected
from trustcal.reading.expressions import rows_of
from trustcal.reading.files import open_files, refusals, with_folders
from trustcal.reading.outcomes import Label
from trustcal.reading.provenance import Provenance
from trustcal.reading.request import Request
from trustcal.reading.sources import reading
from trustcal.rows import FloatArray


@final
@dataclass(frozen=True, eq=False)
class ModelRows:
    """Outcomes, weights, clusters and the predictions of each model, row by row."""

    y_true: FloatArray
    models: dict[str, FloatArray]
    sample_weight: FloatArray | None
    cluster: NDArray[Any] | None
    dropped: int
    """How many rows were left out, because some model has no valid prediction there."""
    provenance: Provenance
    """What was read for the first model."""


def model_rows(
    source: str | Path | Sequence[str | Path],
    predictions: Sequence[str],
    outcome: str | None = None,
    weight: str | None = None,
    positive: Label | None = None,
    drop_invalid: bool = False,
    table: str | None = None,
    cluster: str | None = None,
) -> ModelRows:
    """Read the rows of files that are valid for every model.

    Parameters
    ----------
    source : path, pattern or list of paths
    predictions : the columns of the models.
    outcome, weight, positive, cluster : as in `read`.
    drop_invalid : leave out rows that are invalid for some model, instead of raising an error.
    table : the table of a database, or the sheet of an Excel file.

    Returns
    -------
    ModelRows

    O(n) for each model, all in memory.
    """
    if len(set(predictions)) < len(predictions):
        raise ValueError(f"every model must be a different column, but they are {', '.join(predictions)}.")
    with as_files(source, table) as (files, title):
        rows = _model_rows(files, predictions, outcome, weight, positive, drop_invalid, cluster)
    return rows if title is None else replace(rows, provenance=replace(rows.provenance, source=title))


def _model_rows(
    source: str | Path | Sequence[str | Path],
    predictions: Sequence[str],
    outcome: str | None,
    weight: str | None,
    positive: Label | None,
    drop_invalid: bool,
    cluster: str | None,
) -> ModelRows:
    facts = [
        reading(
            source,
            prediction=name,
            outcome=outcome,
            weight=weight,
            positive=positive,
            drop_invalid=drop_invalid,
            cluster=cluster if name == predictions[0] else None,
        )
        for name in predictions
    ]  # refuses rows at fault or without a cluster, and counts them
    columns: dict[str, FloatArray] = {}
    sound = []
    with connected() as connection:
        table = with_folders(connection, open_files(connection, source))
        for name, found in zip(predictions, facts, strict=True):
            by = () if cluster is None else (cluster,)
            rows = rows_of(table, Request(replace(found.provenance.columns, by=by), positive, 0.0, True))
            with refusals(table.title):
                label = "" if cluster is None else ", CAST(g0 AS VARCHAR) AS label"
                query = f"SELECT y, p, w, ({rows.sound}) IS TRUE AS ok{label} FROM ({rows.every})"
                fetched = connection.execute(query).fetchnumpy()
            columns[name] = np.ma.filled(np.ma.asarray(fetched["p"], dtype=np.float64), np.nan)
            sound.append(np.asarray(fetched["ok"], dtype=bool))
    valid = np.all(sound, axis=0)
    y, w = (np.ma.filled(np.ma.asarray(fetched[name], dtype=np.float64), np.nan)[valid] for name in "yw")
    if not len(y):
        raise ValueError(f"{table.title}: no row is valid for every model.")
    models = {name: p[valid] for name, p in columns.items()}
    dropped = len(valid) - len(y)
    labels = None if cluster is None else np.asarray(fetched["label"])[valid]
    return ModelRows(y, models, w if weight is not None else None, labels, dropped, facts[0].provenance)
