"""read and reading: predictions and outcomes of any size and from any engine, as predictors."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, final, overload

from trustcal.checking import checked_resolution
from trustcal.predictor import Predictor
from trustcal.reading.clusters import clustered
from trustcal.reading.columns import chosen_columns
from trustcal.reading.dependence import repeated_ids
from trustcal.reading.duckdb import Run, connected, counted_by_duckdb
from trustcal.reading.files import Table, open_files, refusals, with_folders
from trustcal.reading.outcomes import Label
from trustcal.reading.provenance import Provenance
from trustcal.reading.request import Counted, Group, Request

Found = TypeVar("Found")
ByTable: TypeAlias = Callable[[Table, Run, Request], Found]
"""Does something with a table of DuckDB."""
ByFrame: TypeAlias = Callable[[Any, Request], Found]
"""Does something with a frame of narwhals."""


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
    cluster: str | None = None,
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
    cluster: str | None = None,
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
    cluster: str | None = None,
) -> Predictor | dict[Any, Predictor]:
    """Read predictions and outcomes of any size into a predictor, or into one per group.

    Rows are counted as they stream by, or by the engine that holds them.  Without weights, the same rows give the same
    bits from every engine as from `Predictor.from_samples`.  With weights the sums are the engine's own and may differ
    in the last digits (and from run to run where an engine adds in parallel).

    Parameters
    ----------
    source : path, pattern, list of paths, frame or relation
        CSV, TSV, JSON lines or Parquet files, compressed or not; a frame of pandas, Polars (eager or lazy), PySpark,
        Dask or Ibis; a DuckDB relation; a PyArrow table or dataset.  Files in folders such as year=2026 have a column
        year too.
    prediction, outcome : str, optional
        Columns, by their exact names.  They may be omitted where one column has an obvious name (prediction,
        predicted, probability, prob, score, y_prob, p; outcome, label, target, y_true, y).
    weight : str, optional
        Column of weights, finite and not negative.
    by : str or list of str, optional
        Columns that make groups.
    resolution : float, optional
        Round predictions to multiples of this power of two, such as 2**-20; `Predictor.moved` and `rounding_effect`
        bound the cost.  0 keeps every value.  None keeps up to 10^7 distinct values and rounds to 2^-22 above.
    positive : str or number, optional
        The label that counts as 1, if outcomes are not 0/1, true/false, yes/no, t/f or y/n.
    drop_invalid : bool
        Leave out rows without a prediction in [0, 1], an outcome or a valid weight, instead of raising an error.
    cluster : str, optional
        Column that says which rows belong together, such as forecasts of one event: then clusters, not rows, are
        independent in every test, interval and bound.  All rows are kept in memory.

    Returns
    -------
    Predictor or dict
        The predictor of all rows; with `by`, one predictor per group.

    Examples
    --------
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
        cluster=cluster,
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
    cluster: str | None = None,
) -> Reading:
    """Read like `read`, and keep the facts: the columns, the number of rows, what was dropped or rounded.

    Parameters
    ----------
    source, prediction, outcome, weight, by, resolution, positive, drop_invalid, cluster
        As in `read`.

    Returns
    -------
    Reading
        The predictor of all rows, those of the groups, and their provenance.

    Examples
    --------
    >>> from importlib.resources import files
    >>> found = reading(files("trustcal") / "examples" / "census_income.csv")
    >>> found.predictor, found.provenance.rows, found.provenance.dropped.total
    (Predictor(10685 values, 16281 rows, base rate 0.236226), 16281, 0)
    >>> print(*found.provenance.sentences, sep="\\n")
    The prediction is column 'prediction', by its name.
    The outcome is column 'outcome', by its name.

    O(n), and O(d log d) for d distinct predictions.
    """
    names = _names(by)
    finely = checked_resolution(resolution)

    def request(columns: Sequence[str], title: str, folders: Sequence[str] = ()) -> Request:
        chosen = chosen_columns(
            columns,
            title,
            folders,
            prediction=prediction,
            outcome=outcome,
            weight=weight,
            by=names,
            cluster=cluster,
        )
        return Request(chosen, positive, finely, drop_invalid)

    title, asked, counted = _counted(source, request)
    made = counted.clustered or {
        group: Predictor.from_tally(tally) for group, tally in [((), counted.whole), *counted.groups.items()]
    }
    named = {_named(group, by): made[group] for group in sorted(counted.groups, key=_order)}
    moved = max(q.moved for q in made.values())
    facts = Provenance(
        title,
        asked.columns,
        counted.rows,
        counted.faults,
        counted.whole.resolution,
        finely is not None,
        moved,
        counted.hints,
    )
    return Reading(facts, made[()], named)


def _counted(source: Any, request: Callable[..., Request]) -> tuple[str, Request, Counted]:
    """Count the rows of a source by its engine."""
    return at_source(source, request, _counted_table, _counted_frame)


def at_source(
    source: Any, request: Callable[..., Request], by_table: ByTable[Found], by_frame: ByFrame[Found]
) -> tuple[str, Request, Found]:
    """Open a source and do something with it by its engine: the name of the source, the request and what was found."""
    named = source if isinstance(source, list | tuple) else [source]
    if all(isinstance(path, str | os.PathLike) for path in named):
        with connected() as connection:
            own = open_files(connection, [Path(path) for path in named])
            table = with_folders(connection, own)
            asked = request(own.names, own.title, table.names[len(own.names) :])
            if asked.columns.weight is not None:
                connection.execute("SET threads = 1")  # or sums of weights would depend on the order of the threads
            with refusals(table.title):
                return table.title, asked, by_table(table, connection.sql, asked)
    module = type(source).__module__.split(".")[0]
    if module == "pyarrow" and hasattr(source, "schema"):
        title = "the PyArrow data"
        with connected() as connection:
            with refusals(title):
                relation = connection.from_arrow(source)
            return _at_relation(relation, source.schema.names, title, request, by_table)
    if module in ("duckdb", "_duckdb") and hasattr(type(source), "columns"):
        title = "the DuckDB relation"
        with refusals(title):
            names = source.columns
        return _at_relation(source, names, title, request, by_table)
    from trustcal.reading.narwhals import names_of, opened_frame, titled  # loads narwhals

    frame = opened_frame(source)
    asked = request(names_of(frame), titled(frame))
    return titled(frame), asked, by_frame(frame, asked)


def _at_relation(
    relation: Any, names: Sequence[str], title: str, request: Callable[..., Request], by_table: ByTable[Found]
) -> tuple[str, Request, Found]:
    """Do something with a relation, with columns named by their place: DuckDB ignores capitals."""
    called = tuple(f"c{index}" for index in range(len(names)))
    rows = f"trustcal_source AS source({', '.join(called)})"
    with refusals(title):
        table = Table(title, (), rows, tuple(names), called, tuple(map(str, relation.types)))
        asked = request(names, title)
        return title, asked, by_table(table, partial(relation.query, "trustcal_source"), asked)


def _counted_table(table: Table, run: Run, asked: Request) -> Counted:
    """Count the rows of a table of DuckDB; rows with clusters also one by one."""
    counted = counted_by_duckdb(table, run, asked)
    known = None if asked.columns.cluster is None else clustered(table, run, asked, counted.whole.resolution)

    def distinct(places: Sequence[int]) -> list[int]:
        counts = ", ".join(f"count(DISTINCT {table.expressions[place]})" for place in places)
        return list(run(f"SELECT {counts} FROM {table.sql}").fetchall()[0])

    hints = repeated_ids(table.names, asked.columns, counted.rows, distinct)
    return replace(counted, clustered=known, hints=hints)


def _counted_frame(frame: Any, asked: Request) -> Counted:
    """Count the rows of a frame; rows with clusters in memory, by DuckDB."""
    from trustcal.reading.narwhals import counted_by_frame, distinct_values, in_memory, is_here, names_of, titled

    if asked.columns.cluster is None:
        counted = counted_by_frame(frame, asked)
        if not is_here(frame):
            return counted  # another pass would cost a job
        names = names_of(frame)
        return replace(
            counted, hints=repeated_ids(names, asked.columns, counted.rows, partial(distinct_values, frame, names))
        )
    rows = in_memory(frame, asked.columns.names)
    with connected() as connection:
        relation = connection.from_arrow(rows)
        return _at_relation(relation, rows.column_names, titled(frame), lambda *_: asked, _counted_table)[2]


def _names(by: str | Sequence[str] | None) -> tuple[str, ...]:
    names = (by,) if isinstance(by, str) else () if by is None else by
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"by must be the name of a column, or a list of names, not {by!r}.")
    return tuple(names)


def _named(group: Group, by: str | Sequence[str] | None) -> Any:
    """A group as its value, if `by` is one column, or as a tuple of values."""
    return None if not group else group[0] if isinstance(by, str) else group


def _order(group: Group) -> tuple[tuple[int, Any], ...]:
    """Sort key: numbers first, then other values by their text, then missing values."""
    numbers = (int, float, Decimal)
    return tuple(
        (2, "") if value is None else (0, value) if isinstance(value, numbers) else (1, str(value)) for value in group
    )
