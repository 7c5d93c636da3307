"""Counting by DuckDB: files, relations and Arrow data, of any size, in bounded memory.

Rows that count alike are fetched as they are scanned and counted here.  With weights or groups DuckDB counts them, by
fault and group first, and then by prediction, a range of these at a time.
"""

from __future__ import annotations

import tempfile
from collections import Counter as Multiset
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from trustcal.reading.counter import Counter
from trustcal.reading.counting import (
    DEFAULT,
    GROUPS,
    Counted,
    Group,
    Request,
    refuse_many_groups,
    too_many,
)
from trustcal.reading.expressions import KINDS, plain_sql, rows_sql
from trustcal.reading.faults import Faults, refusal, swapped
from trustcal.reading.files import Table, literal, quoted
from trustcal.reading.outcomes import refuse_third_label
from trustcal.reading.packing import THREADS
from trustcal.reading.tallies import FloatArray, Pile, tallied

if TYPE_CHECKING:
    import duckdb

SLICE = 5_000_000
"""So many rows are counted at a time: a hash table of as many predictions takes about half a gigabyte."""

BATCH = 1 << 17
"""So many rows are fetched at a time."""
SMALL = 1 << 22
"""A file of fewer bytes is small."""
_SHOWN = 3
"""So many of the rows at fault are named."""

Run = Callable[[str], Any]
"""Executes SQL; the result has fetchall and fetchnumpy."""


@contextmanager
def connected() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of our own that keeps to a gigabyte and puts the rest on disk, in a folder that goes with it."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": "1GB",
            "temp_directory": folder,
            "threads": str(THREADS),
        }
        with duckdb.connect(config=config) as connection:
            yield connection


def counted_by_query(table: Table, run: Run, request: Request, keep: bool) -> Counted:
    """The rows of a table, counted.

    Rows that count alike stream by once, if none is at fault.  Otherwise they are counted by fault and group first;
    with `keep` they are then parsed once, into a table of the database.  Sums of weights are Kahan sums: with one
    thread the same at every run, and to the last digits those of `Predictor.from_samples`.  One scan, or two and about
    one per 5·10^6 distinct predictions where there are weights or groups.
    """
    rows = rows_sql(table, request)
    streaming = _streaming(table, request)
    if streaming:
        if request.positive is not None:
            found = run(f"SELECT {', '.join(_labels(request))} FROM ({rows})").fetchall()
            _refuse_third_label(table, request, set(found[0]))
        counter = _streamed(run, plain_sql(table, request), request)
        if counter is not None and counter.rows:
            return counter.counted(counter.rows, Faults())
    if keep:
        run(f"CREATE TEMP TABLE trustcal_rows AS SELECT * EXCLUDE (none, said_p, said_y, said_w) FROM ({rows})")
        rows = "FROM trustcal_rows"
    counts, texts, distinct = _by_group(table, run, request, rows)
    kinds = np.sum([[0] * len(KINDS), *counts.values()], axis=0).tolist()
    total, faults = sum(kinds), Faults(**dict(zip(KINDS[1:], kinds[1:], strict=True)))
    if total == 0:
        raise ValueError(f"{table.title}: there must be at least one row, but there is none.")
    if faults.outcome and request.positive is None and _swapped(run, rows):
        raise swapped(table.title, request.columns)
    if faults.total and not request.drop_invalid:
        raise refusal(table.title, total, faults, _first_offenders(table, run, request))
    if not kinds[0]:
        raise ValueError(f"{table.title}: no row of {total:,} is left: {faults}.")
    sound = _sound(rows, list(texts.values()), request, faults)
    if streaming:
        counter = _streamed(run, sound, request)
        if counter is None or counter.rows != kinds[0]:
            raise ValueError(f"{table.title}: rows must not change while they are read. Read them again.")
        return counter.counted(total, faults)
    resolution = request.resolution or 0.0
    slices = 1 if resolution >= DEFAULT else ceil(distinct / SLICE)
    piles = _piles(run, sound, list(texts), request, resolution, slices)
    if piles is None:
        resolution = DEFAULT
        piles = _piles(run, sound, list(texts), request, resolution, 1)
    if not piles:
        raise ValueError(f"{table.title}: some weight must be positive, but all are 0.")
    return Counted(total, faults, {group: pile.predictor(resolution) for group, pile in piles.items()}, resolution)


def _streaming(table: Table, request: Request) -> bool:
    """Whether rows are fetched and counted here: if they count alike, PyArrow is there, and they are not a small file.

    To load PyArrow takes longer than to group the rows of a small file.
    """
    plain = not (request.columns.weight or request.columns.by)
    small = bool(table.files) and sum(file.stat().st_size for file in table.files) < SMALL
    return plain and not small and find_spec("pyarrow") is not None


def _streamed(run: Run, rows: str, request: Request) -> Counter | None:
    """Rows streamed out of DuckDB and counted as they come; None where one is at fault."""
    found = run(f"SELECT p, CAST(y AS UTINYINT) AS y FROM ({rows})")
    reader = found.to_arrow_reader(BATCH) if hasattr(found, "to_arrow_reader") else found.fetch_record_batch(BATCH)
    counter = Counter(request.resolution)
    for batch in reader:
        if any(column.null_count for column in batch.columns):
            return None
        # Not by to_numpy, which imports pandas where it is installed, and there loses a Ctrl-C.
        p, y = map(cast("Callable[[Any], Any]", np.from_dlpack), batch.columns)
        if not counter.add(p, y):
            return None
    return counter


_Groups = tuple[dict[Group, list[int]], dict[Group, tuple[str | None, ...]], int]
"""How many rows every group has of each kind, what SQL says for the values that make the group, and about how many
predictions are distinct."""


def _by_group(table: Table, run: Run, request: Request, rows: str) -> _Groups:
    """Rows counted by group and kind, in one pass."""
    columns = request.columns
    names = [f"g{index}" for index in range(len(columns.by))]
    asked = ["kind", "count(*)", "approx_count_distinct(p)", *_labels(request), *names]
    asked += [f"CAST({name} AS VARCHAR)" for name in names]
    sql = f"SELECT {', '.join(asked)} FROM ({rows}) GROUP BY {', '.join(['kind', *names])} LIMIT {GROUPS * len(KINDS)}"
    found = run(sql).fetchall()
    values = {tuple(row[5 + len(names) :]): tuple(row[5 : 5 + len(names)]) for row in found}
    shared = {group for group, times in Multiset(values.values()).items() if times > 1}
    # Python has no nanoseconds, for instance: values that it cannot tell apart go by their texts.
    groups = {text: text if group in shared else group for text, group in values.items()}
    counts: dict[Group, list[int]] = {group: [0] * len(KINDS) for group in groups.values()}
    for kind, count, _, _, _, *said in found:
        counts[groups[tuple(said[len(names) :])]][kind] += count
    refuse_many_groups(len(counts), columns, table.title)
    _refuse_third_label(table, request, {label for row in found for label in row[3:5]})
    texts = {group: text for text, group in groups.items()}
    return counts, texts, max(1, sum(row[2] for row in found))


def _labels(request: Request) -> list[str]:
    """SQL for the least and the greatest label that counts as 0, where one is named positive."""
    return ["NULL"] * 2 if request.positive is None else [f"{end}(label) FILTER (y = 0)" for end in ("min", "max")]


def _refuse_third_label(table: Table, request: Request, others: set[Any]) -> None:
    if request.positive is not None:
        refuse_third_label(others - {None}, request.positive, request.columns.outcome, table.title)


def _sound(rows: str, texts: list[tuple[str | None, ...]], request: Request, faults: Faults) -> str:
    """SQL for the rows without fault and of positive weight, with the number of their group as `code`."""
    sound = "kind = 0" if faults.total else "true"  # where none is at fault, to ask costs more than to count
    where = sound if request.columns.weight is None else f"{sound} AND w > 0"
    if not request.columns.by:
        return f"SELECT p, y, w FROM ({rows}) WHERE {where}"
    names = [f"g{index}" for index in range(len(request.columns.by))]
    lines = [", ".join("NULL" if text is None else quoted(text) for text in group) for group in texts]
    values = ", ".join(f"({number}, {line})" for number, line in enumerate(lines))
    listed = f"(VALUES {values}) AS groups(code, {', '.join('said_' + name for name in names)})"
    same = " AND ".join(f"CAST({name} AS VARCHAR) IS NOT DISTINCT FROM said_{name}" for name in names)
    return f"SELECT p, y, w, code FROM ({rows}) JOIN {listed} ON {same} WHERE {where}"


def _piles(
    run: Run, sound: str, groups: list[Group], request: Request, resolution: float, slices: int
) -> dict[Group, Pile] | None:
    """Predictions counted range by range; None where there prove to be too many distinct ones."""
    heavy = request.columns.weight is not None
    sums = "count(*) AS n, count_if(y = 1) AS one"
    if heavy:  # the two outcomes are added up apart, so that rounding cannot make a part larger than the whole
        sums = "count(*) AS n, fsum(w) FILTER (y = 0) AS zero, fsum(w) FILTER (y = 1) AS one, fsum(w * w) AS squares"
    if resolution:
        steps = f"CAST({round(1 / resolution)} AS DOUBLE)"
        sound = f"SELECT * REPLACE (floor(p * {steps} + 0.5) / {steps} AS p), p AS exact FROM ({sound})"
        sums += ", sum(w * abs(exact - p)) AS moved"
    keys = "code, p" if request.columns.by else "p"
    piles: dict[Group, Pile] = {}
    distinct = 0
    for where in _ranges(run, sound, slices):
        fetched = run(f"SELECT {keys}, {sums} FROM ({sound}) {where} GROUP BY {keys}").fetchnumpy()
        found = {name: _filled(fetched.pop(name)) for name in list(fetched)}
        distinct += len(found["p"])
        if request.resolution is None and not resolution and too_many(distinct):
            return None
        for number, group in enumerate(groups):
            part = {name: a[found["code"] == number] for name, a in found.items()} if "code" in found else found
            if len(part["p"]):
                pile = piles.setdefault(group, Pile())
                weight = part["zero"] + part["one"] if heavy else part["n"]
                pile.parts.append(tallied(part["p"], weight, part["one"]))
                pile.rows.append(int(part["n"].sum()))
                pile.squares.extend([float(part["squares"].sum())] if heavy else [])
                pile.moved.extend([float(part["moved"].sum())] if resolution else [])
    return piles


def _ranges(run: Run, sound: str, slices: int) -> Iterator[str]:
    """Conditions that cut the predictions into ranges with about as many rows in each, from below."""
    if slices == 1:
        yield ""
        return
    shares = [share / slices for share in range(1, slices)]
    cuts = np.unique(run(f"SELECT approx_quantile(p, {shares}) FROM ({sound})").fetchall()[0][0]).tolist()
    ends = [f"CAST({quoted(repr(cut))} AS DOUBLE)" for cut in cuts]
    yield f"WHERE p < {ends[0]}"
    for low, high in pairwise(ends):
        yield f"WHERE p >= {low} AND p < {high}"
    yield f"WHERE p >= {ends[-1]}"


def _filled(fetched: Any) -> FloatArray:
    """What DuckDB fetched as float64; the sum over no rows is 0."""
    return np.asarray(np.ma.filled(fetched, 0), dtype=np.float64)


def _swapped(run: Run, rows: str) -> bool:
    """Whether, where there is something, predictions are 0 or 1 and outcomes numbers from 0 to 1, some between."""
    x = "TRY_CAST(label AS DOUBLE)"
    certain = "bool_and(p = 0 OR p = 1) FILTER (NOT isnan(p))"
    within = f"bool_and(coalesce(isnan({x}) OR {x} BETWEEN 0 AND 1, label IS NULL))"
    found = run(f"SELECT {certain} AND {within} AND bool_or({x} > 0 AND {x} < 1) FROM ({rows})").fetchall()
    return bool(found[0][0])


def _first_offenders(table: Table, run: Run, request: Request) -> list[str]:
    """The first rows at fault, file by file; of data without files, whose rows have no order, some of them."""
    rows = rows_sql(table, request)
    found: list[str] = []
    numbered = "SELECT *, row_number() OVER () - 1 AS row"
    for file in table.files or (None,):
        here = rows if file is None else rows.replace(literal(table.files), literal([file]))
        order = "" if file is None else " ORDER BY row"
        asked = f"SELECT row, said_p, said_y, said_w FROM ({numbered} FROM ({here})) WHERE kind > 0{order}"
        where = f"{file} " if len(table.files) > 1 else ""
        for row, *said in run(f"{asked} LIMIT {_SHOWN - len(found)}").fetchall():
            names = (request.columns.prediction, request.columns.outcome, request.columns.weight)
            values = [
                f"{name} {'missing' if text is None else repr(text)}"
                for name, text in zip(names, said, strict=True)
                if name is not None
            ]
            found.append(f"{where}{'' if file is None else f'row {row} (from 0) with '}{', '.join(values)}")
        if len(found) == _SHOWN:
            break
    return found
