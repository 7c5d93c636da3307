"""Counting by DuckDB: files, relations and Arrow data, of any size, in bounded memory.

Rows without weights and groups are streamed out as Arrow batches and counted here.  With weights or groups DuckDB adds
them up by prediction.  Rows at fault are streamed out and classified here in either case.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from trustcal.reading.causes import likely_cause
from trustcal.reading.expressions import Rows, group_type, rows_of
from trustcal.reading.faults import Faults, refusal, swapped
from trustcal.reading.files import Table, literal, quoted
from trustcal.reading.outcomes import refuse_third_label
from trustcal.reading.request import Counted, Group, Request, by_group, refuse_many_groups
from trustcal.reading.streams import packing
from trustcal.rows import FloatArray, fault_masks, looks_swapped
from trustcal.tally import Tally
from trustcal.tally.tally import DEFAULT, too_many
from trustcal.tally.words import THREADS

if TYPE_CHECKING:
    import duckdb

BATCH = 1 << 17
"""Rows per Arrow batch."""
_SHOWN = 3
"""How many rows at fault a message shows."""

Run = Callable[[str], Any]
"""Executes SQL and returns a DuckDB relation."""


@contextmanager
def connected() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of our own, with a gigabyte of memory and a temporary folder for the rest."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        limits = {"memory_limit": "1GB", "temp_directory": folder, "threads": str(THREADS)}
        with duckdb.connect(config={**limits}) as connection:
            yield connection


def counted_by_duckdb(table: Table, run: Run, request: Request) -> Counted:
    """Count the rows of a table.

    Rows without weights and groups are read once if none is at fault, and three times otherwise; rows with weights or
    groups twice, or three times if more than 10^7 predictions are distinct.  Sums of weights are Kahan sums: with one
    thread the same at every run, and to the last digits those of `Predictor.from_samples`.
    """
    rows = rows_of(table, request)
    if request.positive is not None:
        ends = ", ".join(f"{end}(label) FILTER (y = 0)" for end in ("min", "max"))
        others = set(run(f"SELECT {ends} FROM ({rows.every})").fetchall()[0])
        refuse_third_label(others - {None}, request.positive, request.columns.outcome, table.title)
    if request.plain:
        tally = Tally(request.resolution)
        if _stream(run, rows.plain, tally) and tally.rows:
            return Counted(tally.rows, Faults(), tally, {})
    aside, faults = _set_aside(table, run, request, rows)
    if request.plain:
        tallies = {(): Tally(request.resolution)}
        if not _stream(run, f"SELECT p, y FROM {rows.valid}", tallies[()]):
            raise ValueError(f"{table.title}: rows must not change while they are read. Read them again.")
    else:
        by = request.columns.by
        tallies = _grouped(table, run, request, rows, by, request.resolution)
        if by and request.columns.weight is not None and tallies:  # sums of the groups' sums would round differently
            resolution = next(iter(tallies.values())).resolution
            tallies |= _grouped(table, run, request, rows, (), resolution)
    return by_group(request, table.title, aside, faults, tallies)


def arrow_reader(run: Run, sql: str, rows: int = BATCH) -> Any:
    """The result of a query as a stream of Arrow batches."""
    found = run(sql)
    return found.to_arrow_reader(rows) if hasattr(found, "to_arrow_reader") else found.fetch_record_batch(rows)


def as_numpy(column: Any) -> NDArray[Any]:
    """An Arrow column without nulls.  Arrow's own to_numpy imports pandas if installed, and then loses a Ctrl-C."""
    return cast("Callable[[Any], NDArray[Any]]", np.from_dlpack)(column)


def _stream(run: Run, sql: str, tally: Tally) -> bool:
    """Count the rows (p, y) of a query; return whether all are valid."""
    for batch in arrow_reader(run, f"SELECT p, CAST(y AS UTINYINT) AS y FROM ({sql})"):
        if any(column.null_count for column in batch.columns):
            return False
        if not tally.add(*map(as_numpy, batch.columns)):
            return False
    return True


def _set_aside(table: Table, run: Run, request: Request, rows: Rows) -> tuple[int, Faults]:
    """Classify the rows that are at fault or have weight 0; return their number and their faults."""
    number, faults = 0, Faults()
    ends: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    for batch in arrow_reader(run, rows.aside):
        p, y, lack, weight = map(as_numpy, batch.columns)
        number += len(p)
        found, _ = Faults.counted(fault_masks(p, y, missing=lack == 1, text=lack == 2, weight=weight == 1))
        faults += found
        for kept, values in zip(ends, (p, y), strict=True):
            kept.append(_ends(values))
    if faults.outcome and request.positive is None:
        p, y = map(np.concatenate, ends)
        if looks_swapped(p, y):
            others = run(f"SELECT DISTINCT p FROM {rows.valid} LIMIT 3").fetchall()
            if looks_swapped(np.append(p, [value for (value,) in others]), y):
                raise swapped(table.title, request.columns)
    if faults.total and not request.drop_invalid:
        total = int(run(f"SELECT count(*) FROM {table.sql}").fetchall()[0][0])
        first, texts = _first_at_fault(table, run, request, rows)
        sound = np.array(run(f"SELECT DISTINCT CAST(y AS DOUBLE) FROM {rows.valid}").fetchall()).ravel()
        p, y = (np.concatenate([np.empty(0), *kept]) for kept in ends)
        cause = likely_cause(faults, total, p, np.append(y, sound), texts)
        raise refusal(table.title, total, faults, first, cause)
    return number, faults


def _ends(values: FloatArray) -> FloatArray:
    """The two least values and the greatest, which tell whether all are 0 or 1, and whether all are in [0, 1]."""
    values = values[~np.isnan(values)]
    if not len(values):
        return values
    above = values[values > values.min()]
    return np.array([values.min(), values.max(), above.min() if len(above) else values.max()])


def _grouped(
    table: Table, run: Run, request: Request, rows: Rows, by: tuple[str, ...], resolution: float | None
) -> dict[Group, Tally]:
    """Valid rows of positive weight, added up by group and prediction in DuckDB, as a tally for each group."""
    names = [f"g{index}" for index in range(len(by))]
    heavy = request.columns.weight is not None
    sums = "count(*) AS n, count_if(y = 1) AS one"
    if heavy:  # each outcome by itself, so that rounding cannot make a part larger than the whole
        sums = "count(*) AS n, fsum(w) FILTER (y = 1) AS one, fsum(w) FILTER (y = 0) AS zero, fsum(w * w) AS squares"
    valid = rows.valid
    if resolution:
        steps = f"CAST({round(1 / resolution)} AS DOUBLE)"
        valid = f"(SELECT * REPLACE (floor(p * {steps} + 0.5) / {steps} AS p), p AS exact FROM {valid})"
        sums += ", sum(w * abs(exact - p)) AS moved"
    fields = ["n", "one", *(["zero", "squares"] if heavy else []), *(["moved"] if resolution else [])]
    numbers = ", ".join(f"coalesce(CAST({name} AS DOUBLE), 0) AS {name}" for name in fields)
    texts = "".join(f", CAST({name} AS VARCHAR) AS {name}" for name in names)
    keys = ", ".join(["p", *names])
    sql = f"SELECT p, {numbers}{texts} FROM (SELECT {keys}, {sums} FROM {valid} GROUP BY {keys})"
    tallies: dict[Group, Tally] = {}
    distinct = 0
    for batch in arrow_reader(run, sql):
        found = {name: as_numpy(batch.column(name)) for name in ("p", *fields)}
        distinct += len(found["p"])
        if resolution is None and too_many(distinct):
            return _grouped(table, run, request, rows, by, DEFAULT)
        groups, code = group_codes([batch.column(name) for name in names], len(found["p"]))
        order = np.argsort(code, kind="stable")
        for here in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
            part = {name: values[here] for name, values in found.items()}
            tally = tallies.setdefault(groups[code[here[0]]], Tally(resolution or 0.0))
            weight = part["zero"] + part["one"] if heavy else part["n"]
            count = int(part["n"].sum())
            tally.add_counts(part["p"], weight, part["one"], count, part.get("squares"), part.get("moved"))
        refuse_many_groups(len(tallies), request.columns, table.title)
    values = group_values(table, run, by, list(tallies))
    return {values[group]: tally for group, tally in tallies.items()}


def group_codes(columns: list[Any], size: int) -> tuple[list[Group], NDArray[np.intp]]:
    """Groups as the texts of their values, and the number of each key's group."""
    if not columns:
        return [()], np.zeros(size, dtype=np.intp)
    encoded = [column.dictionary_encode(null_encoding="encode") for column in columns]
    texts = [column.dictionary.to_pylist() for column in encoded]
    combinations, code = np.unique([as_numpy(column.indices) for column in encoded], axis=1, return_inverse=True)
    groups = [tuple(text[index] for text, index in zip(texts, line, strict=True)) for line in combinations.T.tolist()]
    return groups, np.asarray(code).ravel()


def group_values(table: Table, run: Run, by: tuple[str, ...], groups: list[Group]) -> dict[Group, Group]:
    """The values of groups, by their texts; values that Python cannot tell apart (nanoseconds) stay texts."""
    if not by or not groups:
        return {(): ()}
    types = [group_type(table, name) for name in by]
    lines = [
        ", ".join(["NULL" if text is None else quoted(text) for text in group] + [str(number)])
        for number, group in enumerate(groups)
    ]
    names = [f"c{index}" for index in range(len(types))]
    casts = ", ".join(f"CAST({name} AS {type_})" for name, type_ in zip(names, types, strict=True))
    listed = f"(VALUES {', '.join(f'({line})' for line in lines)}) AS groups({', '.join([*names, 'number'])})"
    found = run(f"SELECT {casts}, number FROM {listed}").fetchall()
    values = {groups[row[-1]]: tuple(row[:-1]) for row in found}
    times = Counter(values.values())
    return {text: value if times[value] == 1 else text for text, value in values.items()}


def _first_at_fault(table: Table, run: Run, request: Request, rows: Rows) -> tuple[list[str], list[str | None]]:
    """The first rows at fault, file by file, and their predictions; of data without files, any of them."""
    found: list[str] = []
    predictions: list[str | None] = []
    numbered = "SELECT *, row_number() OVER () - 1 AS row"
    for file in table.files or (None,):
        here = rows.said if file is None else rows.said.replace(literal(table.files), literal([file]))
        order = "" if file is None else " ORDER BY row"
        asked = f"SELECT row, said_p, said_y, said_w FROM ({numbered} FROM ({here})) WHERE ({rows.sound}) IS NOT TRUE"
        where = f"{file} " if len(table.files) > 1 else ""
        named = _row_namer(table, run, file)
        for row, *said in run(f"{asked}{order} LIMIT {_SHOWN - len(found)}").fetchall():
            predictions.append(said[0])
            names = (request.columns.prediction, request.columns.outcome, request.columns.weight)
            values = [
                f"{name} {'missing' if text is None else repr(text)}"
                for name, text in zip(names, said, strict=True)
                if name is not None
            ]
            found.append(f"{where}{named(row)}{', '.join(values)}")
        if len(found) == _SHOWN:
            break
    return found, predictions


def _row_namer(table: Table, run: Run, file: Path | None) -> Callable[[int], str]:
    """How to name a row of a file: by its line where every row is one line, otherwise by its number."""
    if file is None:
        return lambda _: ""
    if packing(file) or file.suffix.lower() == ".parquet":
        return lambda row: f"row {row} (from 0) with "
    head = 1 if table.delimiter else 0
    with file.open("rb") as stream:
        lines = sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))
        stream.seek(-1, os.SEEK_END)
        lines += stream.read(1) != b"\n"
    sql = table.sql.replace(literal(table.files), literal([file]))
    count = int(run(f"SELECT count(*) FROM {sql}").fetchall()[0][0])
    if lines == head + count:
        return lambda row: f"line {row + head + 1} with "
    return lambda row: f"row {row} (from 0) with "
