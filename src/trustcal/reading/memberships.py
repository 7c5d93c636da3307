"""Which rows of a source meet which conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trustcal.reading.columns import Columns, place_of
from trustcal.reading.duckdb import Run, arrow_reader, as_numpy
from trustcal.reading.expressions import group_sql
from trustcal.reading.features import Condition
from trustcal.reading.files import Table, quoted
from trustcal.reading.request import Request
from trustcal.reading.sources import at_source

Conjunction = Sequence[Condition]
BoolArray = NDArray[np.bool_]


def memberships(source: Any, segments: Sequence[Conjunction]) -> BoolArray:
    """A line for each row of a source, valid or not, and a column for each segment: whether it meets all conditions.

    Parameters
    ----------
    source : a file, a pattern, a list of files, a frame or a relation, as for `read`
    segments : sequence of sequences of Condition

    Returns
    -------
    ndarray of bool, of shape (rows, segments)

    O(rows·segments), all in memory.
    """
    used = tuple(dict.fromkeys(condition.feature for segment in segments for condition in segment))

    def request(names: Sequence[str], title: str, folders: Sequence[str] = ()) -> Request:
        for name in used:
            place_of(name, [*names, *folders], title)
        return Request(Columns("", "", by=used), None, 0.0, True)

    def by_table(table: Table, run: Run, _: Request) -> BoolArray:
        met = [" AND ".join(["true", *(_sql(group_sql(table, one.feature), one) for one in part)]) for part in segments]
        columns = ", ".join(f"CAST({one} AS UTINYINT) AS m{index}" for index, one in enumerate([*met, "true"]))
        parts = [
            [as_numpy(column) for column in batch.columns]
            for batch in arrow_reader(run, f"SELECT {columns} FROM {table.sql}")
        ]
        return np.concatenate([np.array(part, dtype=bool).T for part in parts])[:, :-1]

    def by_frame(frame: Any, _: Request) -> BoolArray:
        from trustcal.reading.frame_crosstab import memberships_of_frame  # loads narwhals

        return memberships_of_frame(frame, segments, used)

    return at_source(source, request, by_table, by_frame)[2]


def _sql(value: str, condition: Condition) -> str:
    """A condition as SQL, never NULL."""
    if condition.missing:
        return f"{value} IS NULL"
    if condition.level is not None:
        return f"coalesce(CAST({value} AS VARCHAR) = {quoted(condition.level)}, false)"
    number = f"TRY_CAST({value} AS DOUBLE)"
    above = "" if condition.above is None else f"{number} > CAST({condition.above!r} AS DOUBLE)"
    most = "" if condition.most is None else f"{number} <= CAST({condition.most!r} AS DOUBLE)"
    return f"coalesce({' AND '.join(filter(None, (above, most)))}, false)"
