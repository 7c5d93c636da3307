"""Rows with their clusters: these are kept one by one, since clusters, not rows, are independent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from trustcal.predictor import Predictor
from trustcal.reading.duckdb import Run, as_numpy, group_codes, group_values
from trustcal.reading.expressions import rows_of
from trustcal.reading.files import Table
from trustcal.reading.request import Group, Request


def clustered(table: Table, run: Run, request: Request, resolution: float) -> Mapping[Group, Predictor]:
    """The predictors of all rows, called (), and of each group, with the cluster of each row.

    Predictions are rounded to the resolution if there is one.  All rows are in memory: O(n log n).
    """
    columns = request.columns
    assert columns.cluster is not None
    rows = rows_of(table, replace(request, columns=replace(columns, by=(*columns.by, columns.cluster))))
    names = [f"g{index}" for index in range(len(columns.by) + 1)]
    texts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in names)
    weight = "CAST(w AS DOUBLE) AS w"
    found = run(f"SELECT CAST(y AS TINYINT) AS y, CAST(p AS DOUBLE) AS p, {weight}, {texts} FROM {rows.valid}")
    fetched = found.to_arrow_table()
    label = fetched.column(names[-1])
    if label.null_count:
        raise ValueError(
            f"{table.title}: every row must have a cluster, but column {columns.cluster!r} is missing in "
            f"{label.null_count:,} of {len(label):,} rows. Give a row without one a label of its own."
        )
    y, p, w = (as_numpy(fetched.column(name).combine_chunks()) for name in ("y", "p", "w"))
    moved = np.zeros(len(p))
    if resolution:
        near = np.floor(p / resolution + 0.5) * resolution  # half a step goes up, as in every engine
        p, moved = near, np.abs(near - p)
    heavy = None if columns.weight is None else w
    cluster = np.asarray(label.to_pylist())

    def predictor(here: np.ndarray) -> Predictor:
        part = None if heavy is None else heavy[here]
        q = Predictor.from_samples(y[here], p[here], part, cluster=cluster[here])
        return replace(q, moved=float(np.average(moved[here], weights=part)))

    every = {(): predictor(np.ones(len(p), dtype=bool))}
    if not columns.by:
        return every
    groups, code = group_codes([fetched.column(name).combine_chunks() for name in names[:-1]], len(p))
    values = group_values(table, run, columns.by, groups)
    return every | {values[group]: predictor(code == number) for number, group in enumerate(groups)}
