"""read: whatever holds predictions and outcomes, of any size, becomes a predictor, or one per group."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, final, overload

import numpy as np

from trustcal.checking import checked_resolution
from trustcal.predictor import Predictor
from trustcal.reading.columns import chosen_columns
from trustcal.reading.duckdb import connected, counted_by_duckdb
from trustcal.reading.expressions import rows_of
from trustcal.reading.files import Table, open_files, refusals, with_folders
from trustcal.reading.narwhals import counted_by_frame, names_of, opened_frame, titled
from trustcal.reading.outcomes import Label
from trustcal.reading.provenance import Provenance
from trustcal.reading.request import Counted, Group, Request
from trustcal.rows import FloatArray


@final
@dataclass(frozen=True)
class Reading:
    """What was read: the predictors and where they come from."""

    provenance: Provenance
    """Source, columns, rows read and dropped, rounding."""
    predictor: Predictor
    """The predictor of all rows."""
    groups: Mapping[Any, Predictor]
    """The predictor of each group, sorted by group; empty without `by`."""


@overload
def read(
    source: Any,
    prediction: str | None = None,
    outcome: str | None = None,
    weight: str | None = None,
    by: None = None,
    resolution: float | None = None,
    positive: Label | None = None,
    drop_invalid: bool = False,
) -> Predictor: ...


@overload
def read(
    source: Any,
    prediction: str | None = None,
    outcome: str | None = None,
    weight: str | None = None,
    *,
    by: str | Sequence[str],
    resolution: float | None = None,
    positive: Label | None = None,
    drop_invalid: bool = False,
) -> dict[Any, Predictor]: ...


def read(
    source: Any,
    prediction: str | None = None,
    outcome: str | None = None,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    resolution: float | None = None,
    positive: Label | None = None,
    drop_invalid: bool = False,
) -> Predictor | dict[Any, Predictor]:
    """The predictor in a file or a frame, one row per prediction; with `by`, a dict of one predictor per group.

    `source` is a CSV, TSV, JSON lines or Parquet file (compressed or not), a pattern such as "*.parquet" or a list of
    files; a frame of pandas, Polars (eager or lazy), PySpark, Dask or Ibis; a DuckDB relation; a PyArrow table or
    dataset.  Rows are counted by prediction and outcome as they stream by, or by the engine that holds them: from every
    engine the same rows give the same bits as `Predictor.from_samples`.  With weights the engine's own sums come, which
    may differ from engine to engine in the last digits (and, where an engine adds in parallel, from run to run).

    Columns are named exactly, capitals included.  `prediction` and `outcome` may be left out where one column has an
    obvious name (prediction, predicted, probability, prob, score, y_prob, p; outcome, label, target, y_true, y).  Where
    files lie in folders such as year=2026, year is a column too, for `by` above all.
    Outcomes are 0/1, true/false or yes/no; of other labels, `positive` names the one that counts as 1.

    Rows without a prediction in [0, 1], an outcome or a finite weight are refused, or left out with drop_invalid=True.

    Predictions are rounded to multiples of `resolution`, a power of two such as 2**-20, inside the engine, so that at
    most 2^20 + 1 come back; `Predictor.moved` and `rounding_effect` say what that costs.  0 keeps every value.  None
    keeps every value up to 10^7 distinct ones, and rounds to 2^-22 above.  `reading` tells what was done.

    >>> from importlib.resources import files
    >>> read(files("trustcal") / "examples" / "census_income.csv")
    Predictor(10685 values, 16281 rows, base rate 0.236226)
    >>> read(files("trustcal") / "examples" / "census_income.csv", resolution=2**-4)
    Predictor(17 values, 16281 rows, base rate 0.236226)

    O(n), and O(d log d) for d distinct predictions.
    """
    found = reading(
        source,
        prediction=prediction,
        outcome=outcome,
        weight=weight,
        by=by,
        resolution=resolution,
        positive=positive,
        drop_invalid=drop_invalid,
    )
    return dict(found.groups) if found.provenance.columns.by else found.predictor


def reading(
    source: Any,
    *,
    prediction: str | None = None,
    outcome: str | None = None,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    resolution: float | None = None,
    positive: Label | None = None,
    drop_invalid: bool = False,
) -> Reading:
    """What `read` reads, with the facts: which columns, how many rows, what was dropped or rounded.

    >>> from importlib.resources import files
    >>> found = reading(files("trustcal") / "examples" / "census_income.csv")
    >>> found.predictor, found.provenance.rows, found.provenance.dropped.total
    (Predictor(10685 values, 16281 rows, base rate 0.236226), 16281, 0)
    >>> print(*found.provenance.sentences, sep="\\n")
    The prediction is column 'prediction', by its name.
    The outcome is column 'outcome', by its name.
    """
    names = _names(by)
    finely = checked_resolution(resolution)

    def request(columns: Sequence[str], title: str, folders: Sequence[str] = ()) -> Request:
        chosen = chosen_columns(
            columns, title, folders, prediction=prediction, outcome=outcome, weight=weight, by=names
        )
        return Request(chosen, positive, finely, drop_invalid)

    title, asked, counted = _counted(source, request)
    whole = Predictor.from_tally(counted.whole)
    groups = sorted(counted.groups.items(), key=lambda item: _order(item[0]))
    named = {_named(group, by): Predictor.from_tally(tally) for group, tally in groups}
    moved = max(q.moved for q in (whole, *named.values()))
    facts = Provenance(
        title, asked.columns, counted.rows, counted.faults, counted.whole.resolution, finely is not None, moved
    )
    return Reading(facts, whole, named)


def count_rows(source: str | Path) -> int:
    """How many rows a file has.

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
    """The sound rows of files that were read with weights, as y_true, y_prob and sample_weight, in a fixed order.

    A predictor does not know which rows its weights came from; whoever holds out rows needs the rows themselves.
    O(n log n), all in memory.
    """
    y, p, w = _fetched_rows(source, found, positive)
    order = np.lexsort((w, y, p))
    return y[order], p[order], w[order]


def rows_in_order(
    source: str | Path | Sequence[str | Path], found: Reading, positive: Label | None = None
) -> tuple[FloatArray, FloatArray]:
    """The sound rows of files that were read, as y_true and y_prob, in the order of the files: a stream to replay.

    >>> from importlib.resources import files
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


def _counted(source: Any, request: Callable[..., Request]) -> tuple[str, Request, Counted]:
    """The rows of the source, counted by the engine that suits it."""
    named = source if isinstance(source, list | tuple) else [source]
    if all(isinstance(path, str | os.PathLike) for path in named):
        paths = [Path(path) for path in source] if isinstance(source, list | tuple) else Path(source)
        with connected() as connection:
            own = open_files(connection, paths)
            table = with_folders(connection, own)
            asked = request(own.names, own.title, table.names[len(own.names) :])
            if asked.columns.weight is not None:
                connection.execute("SET threads = 1")  # or sums of weights would depend on the order of the threads
            with refusals(table.title):
                return table.title, asked, counted_by_duckdb(table, connection.sql, asked)
    module = type(source).__module__.split(".")[0]
    if module == "pyarrow" and hasattr(source, "schema"):
        title = "the PyArrow data"
        with connected() as connection:
            with refusals(title):
                relation = connection.from_arrow(source)
            return _counted_relation(relation, source.schema.names, title, request)
    if module in ("duckdb", "_duckdb") and hasattr(type(source), "columns"):
        title = "the DuckDB relation"
        with refusals(title):
            names = source.columns
        return _counted_relation(source, names, title, request)
    frame = opened_frame(source)
    asked = request(names_of(frame), titled(frame))
    return titled(frame), asked, counted_by_frame(frame, asked)


def _counted_relation(
    relation: Any, names: Sequence[str], title: str, request: Callable[[Sequence[str], str], Request]
) -> tuple[str, Request, Counted]:
    """Columns are called by their place, because DuckDB ignores capitals."""
    called = tuple(f"c{index}" for index in range(len(names)))
    rows = f"trustcal_source AS source({', '.join(called)})"
    with refusals(title):
        table = Table(title, (), rows, tuple(names), called, tuple(map(str, relation.types)))
        asked = request(names, title)
        run = partial(relation.query, "trustcal_source")
        return title, asked, counted_by_duckdb(table, run, asked)


def _names(by: str | Sequence[str] | None) -> tuple[str, ...]:
    names = (by,) if isinstance(by, str) else () if by is None else by
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"by must be the name of a column, or a list of names, not {by!r}.")
    return tuple(names)


def _named(group: Group, by: str | Sequence[str] | None) -> Any:
    """A group as its value, where one column makes it, or as a tuple of values."""
    return None if not group else group[0] if isinstance(by, str) else group


def _order(group: Group) -> tuple[tuple[int, Any], ...]:
    """Numbers in their order, then everything else in the order of its text, then what is missing."""
    numbers = (int, float, Decimal)
    return tuple(
        (2, "") if value is None else (0, value) if isinstance(value, numbers) else (1, str(value)) for value in group
    )
