"""The rows of a file as a stream of Arrow batches, and such a stream written to a file.

Each format has one parser and one writer: DuckDB for CSV, TSV and JSON lines, PyArrow for Parquet.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from trustcal.reading.columns import place_of
from trustcal.reading.duckdb import BATCH, arrow_reader
from trustcal.reading.files import DELIMITERS, JSON_LINES, Table, identifier, open_files, pointer, quoted, refusals

if TYPE_CHECKING:
    import duckdb


@final
@dataclass(frozen=True)
class Roles:
    """The columns that rewriting a file reads, and those that it adds after the last prediction."""

    predictions: tuple[str, ...]
    outcome: str | None
    row_id: str | None
    into: tuple[str, ...]

    @property
    def read(self) -> dict[str, str]:
        """The columns that are read, by role."""
        named = {"outcome": self.outcome, "row_id": self.row_id}
        predictions = {prediction(index): name for index, name in enumerate(self.predictions)}
        return predictions | {role: name for role, name in named.items() if name is not None}

    def places(self, names: Sequence[str], title: str) -> dict[str, int]:
        """The position of each column that is read, by role."""
        for name in self.into:
            if name in names:
                raise ValueError(f"{title} already has a column {name!r}: choose another name for the new one.")
        return {role: place_of(name, names, title) for role, name in self.read.items()}

    def after(self, places: dict[str, int]) -> int:
        """The place after the last prediction."""
        return max(places[prediction(index)] for index in range(len(self.predictions))) + 1


def prediction(index: int) -> str:
    """The role of a column of predictions: the first, the second, and so on."""
    return f"prediction {index}"


ONLY: Final = prediction(0)
"""The role of the predictions of two outcomes."""


@final
@dataclass(frozen=True)
class RowStream:
    """The rows of a file in order, batch by batch."""

    schema: Any
    """The Arrow schema of the columns to copy; of JSON objects that are copied whole, one column of text."""
    places: dict[str, int]
    """The position in a batch of each column that is read.  It may come after the columns to copy."""
    new_place: int
    """The position of the first new column among those to copy."""
    delimiter: str
    """The delimiter of a CSV that stays CSV, or a TSV that stays TSV."""
    whole: bool
    """Whether JSON objects are copied whole."""
    batches: Iterator[Any]
    total: Callable[[int], int]
    """The number of rows in the file, or an estimate from the number read so far."""


def open_rows(
    connection: duckdb.DuckDBPyConnection, stack: ExitStack, source: Path, kinds: tuple[str, str], roles: Roles
) -> RowStream:
    """Open a file of the first kind to be rewritten as the second; the stack closes it."""
    with _named_errors(source):
        if kinds[0] == ".parquet":
            return _parquet(stack, source, roles)
        table = open_files(connection, source)
        places = roles.places(table.names, table.title)
        if kinds[0] in DELIMITERS:
            delimiter, new_place = table.delimiter if kinds[0] == kinds[1] else "", roles.after(places)
            return _queried(connection, table, table.names, table.expressions, places, new_place, delimiter)
        return _objects(connection, table, kinds[1], roles)


def _parquet(stack: ExitStack, source: Path, roles: Roles) -> RowStream:
    import pyarrow.parquet as pq

    # A buffered reader holds some pages of each column, an unbuffered one whole row groups.
    file = stack.enter_context(pq.ParquetFile(source, buffer_size=1 << 20, pre_buffer=False))
    schema, rows = file.schema_arrow, file.metadata.num_rows
    places = roles.places(schema.names, str(source))
    batches = _guarded(source, file.iter_batches(BATCH))
    return RowStream(schema, places, roles.after(places), "", False, batches, lambda _: rows)


def _queried(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    names: Sequence[str],
    expressions: Sequence[str],
    places: dict[str, int],
    new_place: int,
    delimiter: str = "",
    whole: bool = False,
) -> RowStream:
    """The rows of a text file through DuckDB; expressions without a name are read but not copied."""
    import pyarrow as pa

    connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    reader = arrow_reader(connection.sql, f"SELECT {', '.join(expressions)} FROM {table.sql}", BATCH)
    schema = pa.schema([field.with_name(name) for field, name in zip(reader.schema, names, strict=False)])

    def total(rows: int) -> int:
        percent = connection.query_progress()
        return int(100 * rows / percent) if percent > 0 else rows

    return RowStream(schema, places, new_place, delimiter, whole, _guarded(table.files[0], reader), total)


def _objects(connection: duckdb.DuckDBPyConnection, table: Table, target: str, roles: Roles) -> RowStream:
    """JSON lines.  Columns that are read follow those to copy, and after them the objects that are not valid."""
    whole = target in JSON_LINES
    names, copied = (("json",), ("CAST(json AS VARCHAR)",)) if whole else _keys(connection, table, target)
    arrow = {"row_id": "->"}  # an id that is text keeps its quotes
    read = [f"json {arrow.get(role, '->>')} {pointer(name)}" for role, name in roles.read.items()]
    places = {role: len(copied) + index for index, role in enumerate(roles.read)}
    keys = "json_keys(json)"
    fresh = " AND ".join(f"NOT json_exists(json, {pointer(name)})" for name in roles.into)
    valid = f"len({keys}) = len(list_distinct({keys})) AND {fresh}"
    invalid = f"CASE WHEN {valid} THEN NULL ELSE left(CAST(json AS VARCHAR), 80) END"
    new_place = 1 if whole else max(map(names.index, roles.predictions)) + 1
    rows = _queried(connection, table, names, [*copied, *read, invalid], places, new_place, whole=whole)
    return replace(rows, batches=_valid(rows.batches, table.title, roles.into))


def _valid(batches: Iterator[Any], title: str, into: Sequence[str]) -> Iterator[Any]:
    """Batches whose last column is empty: the beginning of each object that repeats a key or has the new one."""
    done = 0
    for batch in batches:
        invalid = batch.columns[-1]
        if invalid.null_count < len(invalid):
            row, new = invalid.is_valid().index(True).as_py(), " or ".join(map(repr, into))
            raise ValueError(
                f"{title}: every line must be a JSON object with each key once and none called {new}, but row "
                f"{done + row} (from 0) is not: {invalid[row]}"
            )
        done += len(invalid)
        yield batch


def _keys(connection: duckdb.DuckDBPyConnection, table: Table, target: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All keys of JSON lines, and SQL for their values.

    Values are text, as written.  For Parquet, a key whose values are all numbers or all truth values has their type, if
    no value changes by it: DuckDB's own guess would make floats of large integers, and dates and UUIDs of text.
    """
    tests = _TYPES if target == ".parquet" else {}
    asked = ", ".join(["key", *(f"bool_and({test}) FILTER (value IS NOT NULL)" for test in tests.values())])
    place = "'/' || replace(replace(key, '~', '~0'), '/', '~1')"
    keys = f"SELECT json, key, {place} AS place FROM (SELECT json, unnest(json_keys(json)) AS key FROM {table.sql})"
    values = f"SELECT key, json ->> place AS value, json_type(json, place) AS kind FROM ({keys})"
    found = connection.execute(f"SELECT {asked} FROM ({values}) GROUP BY key ORDER BY key").fetchall()
    types = {
        key: next((type_ for type_, test in zip(tests, passed, strict=True) if test), "VARCHAR")
        for key, *passed in found
    }
    names = tuple(dict.fromkeys([*table.names, *types]))
    return names, tuple(f"CAST(json ->> {pointer(name)} AS {types[name]})" for name in names)


_WHOLE, _FLOAT = "kind IN ('BIGINT', 'UBIGINT')", "TRY_CAST(value AS DOUBLE)"
_TYPES = {
    "BIGINT": f"{_WHOLE} AND TRY_CAST(value AS BIGINT) IS NOT NULL",
    "UBIGINT": "kind = 'UBIGINT'",
    "DOUBLE": f"({_WHOLE} AND TRY_CAST(value AS BIGINT) BETWEEN -{2**53} AND {2**53}) OR (kind = 'DOUBLE' AND "
    f"NOT regexp_full_match(value, '-?[0-9]+') AND NOT (isinf({_FLOAT}) AND regexp_matches(value, '[0-9]')))",
    "BOOLEAN": "kind = 'BOOLEAN'",
}
"""Types for the values of a JSON key, best first, and SQL that tests whether a value has it without loss."""


def write_rows(target: Path, kind: str, rows: RowStream, into: Sequence[str], batches: Iterator[list[Any]]) -> None:
    """Write lists of columns, one list per batch, as a file of this kind."""
    import pyarrow as pa

    schema = rows.schema
    for index, name in enumerate(into):
        schema = schema.insert(rows.new_place + index, pa.field(name, pa.float64()))
    if kind == ".parquet":
        import pyarrow.parquet as pq

        # With a low limit, columns of many distinct values give up their dictionary early: five times as fast.
        options = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 16}
        with pq.ParquetWriter(target, schema, **options) as writer:
            for columns in batches:
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    else:
        # DuckDB ignores capitals in names, so columns are called by their position.
        numbered = pa.schema([field.with_name(f"c{index}") for index, field in enumerate(schema)])
        query, layout = _layout(kind, rows, schema.names)
        _copy(target, query, layout, numbered, batches)


def _layout(kind: str, rows: RowStream, names: Sequence[str]) -> tuple[str, str]:
    """The query and the options with which DuckDB writes text of this kind."""
    if kind in DELIMITERS:
        delimiter = "\t" if kind == ".tsv" else rows.delimiter or ","
        header = ", ".join(map(quoted, names))
        query = f"VALUES ({header}) UNION ALL SELECT CAST(COLUMNS(*) AS VARCHAR) FROM rows"
        return query, f"FORMAT csv, HEADER false, DELIMITER '{delimiter}'"
    if rows.whole:  # the text of an object ends with its brace
        keys = [quoted(f",{json.dumps(name, ensure_ascii=False)}:") for name in names[1:]]
        new = " || ".join(f"{key} || c{index}" for index, key in enumerate(keys, start=1))
        query = f"SELECT left(c0, -1) || {new} || '}}' FROM rows"
        return query, "FORMAT csv, HEADER false, DELIMITER '', QUOTE ''"
    lower = [name.lower() for name in names]
    for name in names:
        if lower.count(name.lower()) > 1:
            raise ValueError(
                f"columns that differ from {name!r} only in capitals would lose their names in JSON lines. Rename "
                "them, or write another format."
            )
    return f"SELECT {', '.join(f'c{i} AS {identifier(name)}' for i, name in enumerate(names))} FROM rows", "FORMAT json"


def _copy(target: Path, query: str, layout: str, schema: Any, batches: Iterator[list[Any]]) -> None:
    import duckdb
    import pyarrow as pa

    failed: list[BaseException] = []

    def records() -> Iterator[Any]:
        try:
            for columns in batches:
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
        except BaseException as error:
            failed.append(error)  # DuckDB raises an error of its own instead
            raise

    packed = {".gz": "gzip", ".zst": "zstd"}.get(target.suffix.lower(), "none")
    with duckdb.connect() as connection:
        connection.register("rows", pa.RecordBatchReader.from_batches(schema, records()))
        try:
            connection.execute(f"COPY ({query}) TO {quoted(str(target))} ({layout}, COMPRESSION {packed})")
        except duckdb.Error as error:
            raise (failed[0] if failed else OSError(str(error))) from None


def _guarded(source: Path, batches: Any) -> Iterator[Any]:
    """The batches, with errors that name the file."""
    left = iter(batches)
    while True:
        with _named_errors(source):
            batch = next(left, None)
        if batch is None:
            return
        yield batch


@contextmanager
def _named_errors(source: Path) -> Iterator[None]:
    """Turn the errors of DuckDB and PyArrow into one line that names the file."""
    import pyarrow as pa

    with refusals(str(source)):
        try:
            yield
        except pa.ArrowException as error:
            raise ValueError(f"{source} cannot be read: {str(error).rstrip('.')}.") from None
