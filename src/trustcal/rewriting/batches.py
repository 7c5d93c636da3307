"""Parquet rewritten with its types, and one format turned into another: streams of Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trustcal.reading.files import Table, open_files, pointer, quoted, refusals
from trustcal.rewriting.delimited import identity, numbers
from trustcal.rewriting.drawing import arrow_ids, arrow_numbers
from trustcal.rewriting.passage import Passage

if TYPE_CHECKING:
    import duckdb

FloatArray = NDArray[np.float64]

_ROWS = 1 << 17


def rewrite_batches(source: Path, target: Path, kinds: tuple[str, str], passage: Passage) -> None:
    """Copy the rows of a file to another, each of a kind, with the safe prediction right after the prediction."""
    arrow = _pyarrow()
    untyped = kinds[0] in (".csv", ".tsv")
    with ExitStack() as stack:
        with _reading(source):
            schema, total, batches = (_parquet if kinds[0] == ".parquet" else _text)(source, stack)
        p, i = passage.places(schema.names)
        wide = schema.insert(p + 1, arrow.field(passage.into, arrow.float64()))

        def drawn() -> Iterator[Any]:
            for batch in _guarded(source, batches):
                safe = _drawn(passage, batch.column(p), None if i is None else batch.column(i), untyped)
                if safe is not None:
                    columns = [*batch.columns[: p + 1], arrow.array(safe), *batch.columns[p + 1 :]]
                    yield arrow.RecordBatch.from_arrays(columns, schema=wide)
                passage.report(total)

        if kinds[1] == ".parquet":
            _to_parquet(target, wide, drawn())
        else:
            _to_text(target, kinds[1], wide, drawn())


def _drawn(passage: Passage, prediction: Any, ids: Any, untyped: bool) -> FloatArray | None:
    """The draws of the next batch."""
    types = _pyarrow().types
    if types.is_string(prediction.type) or types.is_large_string(prediction.type):
        values = numbers([("" if text is None else text).encode() for text in prediction.to_pylist()])
    else:
        values = arrow_numbers(prediction, passage.prediction)
    names = None
    if ids is not None:
        if ids.null_count:
            raise passage.missing_id(ids.is_null().index(True).as_py())
        names = arrow_ids(ids, str(passage.row_id))
        if untyped:
            names = np.array([identity(name.encode()) for name in names], dtype=object)

    def shown(row: int) -> str:
        value = prediction[row].as_py()
        return "" if value is None else str(value)

    return passage.drawn(values, names, shown)


@contextmanager
def _reading(source: Path) -> Iterator[None]:
    """What DuckDB or pyarrow cannot read is refused in one line."""
    with refusals(str(source)):
        try:
            yield
        except _pyarrow().ArrowException as error:
            raise ValueError(f"{source} cannot be read: {str(error).rstrip('.')}.") from None


def _guarded(source: Path, batches: Iterator[Any]) -> Iterator[Any]:
    while True:
        with _reading(source):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _parquet(source: Path, stack: ExitStack) -> tuple[Any, int, Iterator[Any]]:
    """The schema of a Parquet file, how many rows it has, and its batches."""
    parquet = import_module("pyarrow.parquet")
    # A buffered reader holds some pages of each column, where another would hold a whole row group.
    file = stack.enter_context(parquet.ParquetFile(source, buffer_size=1 << 20, pre_buffer=False))
    return file.schema_arrow, file.metadata.num_rows, iter(file.iter_batches(_ROWS))


def _text(source: Path, stack: ExitStack) -> tuple[Any, int, Iterator[Any]]:
    """The same of a text file, through DuckDB.  A CSV has no types, so its columns are text; JSON has some."""
    import duckdb

    connection = stack.enter_context(duckdb.connect())
    table = open_files(connection, source)
    names, expressions = table.names, table.expressions
    if table.sql.startswith("read_ndjson"):
        names, expressions = _members(connection, table)
    (total,) = connection.execute(f"SELECT count(*) FROM {table.sql}").fetchall()[0]
    rows: Any = connection.sql(f"SELECT {', '.join(expressions)} FROM {table.sql}")
    reader = rows.to_arrow_reader(_ROWS) if hasattr(rows, "to_arrow_reader") else rows.fetch_record_batch(_ROWS)
    schema = _pyarrow().schema([field.with_name(name) for field, name in zip(reader.schema, names, strict=True)])
    return schema, total, iter(reader)


def _members(connection: duckdb.DuckDBPyConnection, table: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All keys of JSON lines, and SQL for their values: numbers and truth values as such where a key has no others.

    Everything else is text, as it is written: DuckDB would find dates, times and UUIDs in it, and write these its own
    way, and of an integer beyond 64 bits it would make a float.
    """
    keys = connection.execute(
        f"SELECT DISTINCT unnest(json_keys(json)) AS key FROM {table.sql} ORDER BY key"
    ).fetchall()
    names = tuple(dict.fromkeys([*table.names, *(key for (key,) in keys)]))
    asked = ", ".join(test for name in names for test in _tests(name).values())
    (found,) = connection.execute(f"SELECT {asked} FROM {table.sql}").fetchall()
    answers = iter(found)
    types = [[type_ for type_ in _tests(name) if next(answers)] for name in names]
    chosen = (next(iter(possible), "VARCHAR") for possible in types)
    return names, tuple(f"CAST(json ->> {pointer(name)} AS {type_})" for name, type_ in zip(names, chosen, strict=True))


def _tests(name: str) -> dict[str, str]:
    """Types that the values of a key may all have, best first, and SQL that says whether they do."""
    value, kind = f"(json ->> {pointer(name)})", f"json_type(json, {pointer(name)})"
    whole, is_whole = f"TRY_CAST({value} AS BIGINT)", f"{kind} IN ('BIGINT', 'UBIGINT')"
    is_float = f"{kind} = 'DOUBLE' AND NOT regexp_full_match({value}, '-?[0-9]+')"
    tests = {
        "BIGINT": f"{is_whole} AND {whole} IS NOT NULL",
        "UBIGINT": f"{kind} = 'UBIGINT'",
        "DOUBLE": f"({is_float}) OR ({is_whole} AND {whole} BETWEEN -{2**53} AND {2**53})",
        "BOOLEAN": f"{kind} = 'BOOLEAN'",
    }
    return {type_: f"bool_and({test}) FILTER ({value} IS NOT NULL)" for type_, test in tests.items()}


def _to_parquet(target: Path, schema: Any, batches: Iterator[Any]) -> None:
    # With a small dictionary, columns of many values find out early that they want none: five times as fast.
    options = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 16}
    with import_module("pyarrow.parquet").ParquetWriter(target, schema, **options) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _to_text(target: Path, kind: str, schema: Any, batches: Iterator[Any]) -> None:
    """Write CSV, TSV or JSON lines by DuckDB, which wraps what goes wrong in a batch: it is kept, and raised itself."""
    import duckdb

    folded = [name.lower() for name in schema.names]
    for name in schema.names:
        if folded.count(name.lower()) > 1:
            raise ValueError(
                f"columns that differ from {name!r} only in capitals would lose their names in another format. Rename "
                "them, or write the format of the source."
            )
    wrong: list[BaseException] = []

    def watched() -> Iterator[Any]:
        try:
            yield from batches
        except BaseException as error:
            wrong.append(error)
            raise

    delimiter = "\t" if kind == ".tsv" else ","
    layout = f"FORMAT csv, HEADER, DELIMITER '{delimiter}'" if kind in (".csv", ".tsv") else "FORMAT json"
    packed = {".gz": "gzip", ".zst": "zstd"}.get(target.suffix.lower(), "none")
    with duckdb.connect() as connection:
        connection.register("rows", _pyarrow().RecordBatchReader.from_batches(schema, watched()))
        try:
            connection.execute(f"COPY (FROM rows) TO {quoted(str(target))} ({layout}, COMPRESSION {packed})")
        except duckdb.Error as error:
            raise (wrong[0] if wrong else OSError(str(error))) from None


def _pyarrow() -> Any:
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError:
        raise ValueError(
            "rewriting Parquet, or one format as another, needs the package pyarrow, which is not installed."
        ) from None
