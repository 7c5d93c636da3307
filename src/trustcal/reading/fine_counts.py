"""The predictions of a few parts of a population on a fine grid: what the decision loss of each part needs.

A part is said by the codes of its features, as a cross-tabulation has them.  The engine that holds the rows groups them
once more, by the parts to which they belong, by the range of the prediction, and by its cell on a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

import numpy as np

from trustcal.reading.columns import Columns
from trustcal.reading.crosstab import STEPS, Crosstab, IntArray, code_sql, place_sql
from trustcal.reading.duckdb import Run, arrow_reader, as_numpy
from trustcal.reading.expressions import rows_of
from trustcal.reading.files import Table
from trustcal.reading.request import Request
from trustcal.reading.sources import at_source
from trustcal.rows import FloatArray

CELLS: Final = 4096
"""Predictions of a part that lie in the same range and in the same one of so many cells stand at their mean."""


@final
@dataclass(frozen=True)
class CodedPart:
    """A part of a population: the places of its features, and the first and the last code of each."""

    features: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]


@final
@dataclass(frozen=True, eq=False)
class FineCounts:
    """The rows of parts, counted by the parts they belong to and by range and cell of the prediction."""

    member: IntArray
    """The parts to which the rows belong: bit k for part k."""
    ranges: IntArray
    """The range of the prediction."""
    p: FloatArray
    """The mean prediction."""
    rows: IntArray
    """The number of rows."""
    positive: IntArray
    """The number of rows with outcome 1."""


def fine_counts(
    source: Any, columns: Columns, table: Crosstab, parts: Sequence[CodedPart], positive: Any = None
) -> FineCounts:
    """Count the predictions of parts on a fine grid.

    Parameters
    ----------
    source, columns, positive
        As for `crosstab`.
    table : Crosstab
        The cross-tabulation of the same source, which says what codes and ranges mean.
    parts : sequence of CodedPart
        At most 62.

    Returns
    -------
    FineCounts
        In increasing order of parts, ranges and cells.

    One pass in the engine over the rows of all parts.
    """
    used = sorted({place for part in parts for place in part.features})
    names = tuple(table.features[place].name for place in used)
    asked = Request(replace(columns, by=names, weight=None, cluster=None), positive, 0.0, True)

    def by_frame(frame: Any, _: Request) -> IntArray:
        from trustcal.reading.frame_crosstab import fine_counts_of_frame  # loads narwhals

        return fine_counts_of_frame(frame, asked, table, parts, used)

    def by_table(source_table: Table, run: Run, _: Request) -> IntArray:
        return _counted(run, rows_of(source_table, asked).valid, table, parts, used)

    counts = at_source(source, lambda *_: asked, by_table, by_frame)[2]
    (member, ranges, _), place = np.unique(counts[:3], axis=1, return_inverse=True)
    sums = np.zeros((3, len(member)), dtype=np.int64)
    for total, line in zip(sums, counts[3:], strict=True):
        np.add.at(total, place.ravel(), line)
    return FineCounts(member, ranges, np.clip(sums[1] / STEPS / sums[0], 0.0, 1.0), sums[0], sums[2])


def _counted(run: Run, valid: str, table: Crosstab, parts: Sequence[CodedPart], used: Sequence[int]) -> IntArray:
    codes = [f"{code_sql(f'g{index}', table.features[place])} AS f{place}" for index, place in enumerate(used)]
    keys = ", ".join([*codes, f"{place_sql('p', table.edges)} AS b", f"CAST(floor(p * {CELLS}) AS SMALLINT) AS c"])
    member = " + ".join(f"CAST({_met(part)} AS BIGINT) * {1 << index}" for index, part in enumerate(parts))
    sums = f"count(*) AS n, CAST(sum(CAST(round(p * {STEPS}) AS BIGINT)) AS BIGINT) AS s, count_if(y = 1) AS one"
    batches = [
        [as_numpy(column) for column in batch.columns]
        for batch in arrow_reader(
            run,
            f"SELECT m, b, c, n, s, CAST(one AS BIGINT) AS one FROM (SELECT {member} AS m, b, c, {sums} "
            f"FROM (SELECT p, y, {keys} FROM {valid}) GROUP BY m, b, c) WHERE m > 0",
        )
    ]
    return np.array([np.concatenate(column) for column in zip(*batches, strict=True)], dtype=np.int64)


def _met(part: CodedPart) -> str:
    """Whether a row belongs to a part, as SQL."""
    codes = zip(part.features, part.first, part.last, strict=True)
    return " AND ".join(["true", *(f"f{place} BETWEEN {first} AND {last}" for place, first, last in codes)])
