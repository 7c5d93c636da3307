"""Files of rows (CSV, TSV, JSON lines, Parquet; one, several or a pattern) as tables for DuckDB."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, final

from trustcal.reading.addresses import refuse_remote
from trustcal.reading.streams import first_line, not_json, packing, refuse_damaged

if TYPE_CHECKING:
    import duckdb

DELIMITERS = {".csv": ",;|\t", ".tsv": "\t"}
"""Text formats, and their possible delimiters."""
JSON_LINES = (".jsonl", ".ndjson")
KINDS = (*DELIMITERS, *JSON_LINES, ".parquet")
DATABASES = (".duckdb", ".db", ".sqlite", ".sqlite3")
SHEETS = (".xlsx", ".xlsm")
COPIED = (".json", *SHEETS, *DATABASES)
"""Formats that `trustcal.reading.copies` copies into one of `KINDS`."""
_LOOKED_AT = 1000
"""Number of JSON objects whose keys are the columns."""
PLAIN = "hive_partitioning = false)"
"""How every call of a reader ends: columns are those in the files, not in the names of their folders."""


@final
@dataclass(frozen=True)
class Table:
    """How DuckDB reads files: `SELECT {expressions[0]} FROM {sql}` is the column with the name names[0].

    Rows are in the order of the files and of their lines.  Columns of CSV, TSV and JSON lines are text (VARCHAR);
    Parquet has its own types.
    """

    title: str
    files: tuple[Path, ...]
    sql: str
    names: tuple[str, ...]
    expressions: tuple[str, ...]
    types: tuple[str, ...]
    delimiter: str = ""
    """The delimiter of CSV or TSV."""


def header(line: str, kind: str = ".csv") -> tuple[str, tuple[str, ...]]:
    """Split the first line of a CSV or TSV file into its delimiter and the names of its columns.

    The delimiter is the one that gives the most names; the first of `DELIMITERS` wins a tie.  A line that is empty, or
    whose quotes are not balanced, raises a ValueError.

    >>> header('id;"p; raw";y\\n')
    (';', ('id', 'p; raw', 'y'))
    """
    text = line.removeprefix("\ufeff").rstrip("\r\n")
    allow_fields_of(len(text))
    found: dict[str, tuple[str, ...]] = {}
    for delimiter in DELIMITERS[kind]:
        with suppress(csv.Error, StopIteration):  # a quote that closes before another delimiter
            found[delimiter] = tuple(next(csv.reader([text], delimiter=delimiter, strict=True)))
    if not found:
        raise ValueError(f"the first line must name the columns, but is {text[:80]!r}.")
    best = max(found, key=lambda delimiter: len(found[delimiter]))
    return best, found[best]


def allow_fields_of(size: int) -> None:
    """Let Python's csv read fields of this many characters; its limit, 131,072, is one for the whole process."""
    if size > csv.field_size_limit():
        csv.field_size_limit(size)


def open_files(connection: duckdb.DuckDBPyConnection, source: str | Path | Sequence[str | Path]) -> Table:
    """The table in a file, in the files that a pattern matches (in the order of their names), or in a list of these."""
    files = found_files(source)
    kinds = {kind(file) for file in files}
    if len(kinds) > 1:
        raise ValueError(f"files read together must be of one format, but these are {' and '.join(sorted(kinds))}.")
    for file in files:
        refuse_damaged(file)
    with refusals(titled(files)):
        if kinds == {".parquet"}:
            return _parquet(connection, files)
        return _lines(connection, files) if kinds <= set(JSON_LINES) else open_delimited(files, *kinds)


def with_folders(connection: duckdb.DuckDBPyConnection, table: Table) -> Table:
    """The table with one more column for each key in the names of its folders, as in year=2026/part-0.parquet.

    All files must have the same keys.  If a file has such a column itself, whatever its capitals, the folders are
    ignored; DuckDB would ignore the column.
    """
    import duckdb

    paths = {tuple(part.split("=")[0] for part in file.parent.parts if "=" in part) for file in table.files}
    keys = min(paths)
    if not keys or len(paths) > 1:
        return table
    sql = table.sql.removesuffix(PLAIN) + "hive_partitioning = true)"
    try:
        own, both = (connection.execute(f"DESCRIBE FROM {source}").fetchall() for source in (table.sql, sql))
    except duckdb.Error:  # it sees other keys, in a folder called a=b=c for instance
        return table
    names, types = (tuple(row[place] for row in both[len(own) :]) for place in (0, 1))
    if {*names} != {*keys} or {name.lower() for name in keys} & {name.lower() for name in table.names}:
        return table
    return replace(
        table,
        sql=sql,
        names=table.names + names,
        expressions=table.expressions + tuple(map(identifier, names)),
        types=table.types + types,
    )


def found_files(source: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    """The files of a path, a pattern or a list of these; a file whose name looks like a pattern is itself."""
    paths = [source] if isinstance(source, str | Path) else list(source)
    if not paths:
        raise ValueError("there must be at least one file, but the list is empty.")
    files: list[Path] = []
    for path in paths:
        refuse_remote(str(path))
        if has_magic(str(path)) and not Path(path).exists():
            matches = sorted(glob(str(path), recursive=True))
            if not matches:
                raise ValueError(f"no file matches the pattern {path}.")
            found = [Path(match) for match in matches]
            files += [path for path in found if not path.is_dir()] or found  # engines write folders called x.parquet
        else:
            files.append(Path(path))
    for file in files:
        if str(file).encode(errors="replace") != str(file).encode(errors="surrogateescape"):
            raise ValueError(f"{file} cannot be read: its name is not UTF-8 text. Rename it.")
    return tuple(files)


def kind(file: Path) -> str:
    """The format of a readable file, by its name: .csv, .tsv, .jsonl, .ndjson or .parquet."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if packing(file):
        suffixes.pop()
    try:
        exists = file.exists()
    except OSError as error:  # a name too long, a folder that may not be entered
        raise ValueError(f"{file} cannot be read: {error.strerror}.") from None
    if file.is_dir():
        raise ValueError(f"{file} is a folder, not a file: name the files in it, as in {file / '*.parquet'}.")
    if not suffixes or suffixes[-1] not in KINDS:
        raise ValueError(
            f"{file} must be a CSV, TSV, JSON lines or Parquet file, by its name: one of {', '.join(KINDS)}. To audit, "
            f"to fix and to compare predictions of two classes, also {', '.join(COPIED)}."
        )
    if not file.is_file():
        raise ValueError(f"{file} {'is not a regular file' if exists else 'does not exist'}.")
    return suffixes[-1]


@contextmanager
def refusals(title: str) -> Iterator[None]:
    """Turn errors of DuckDB into a ValueError of one line, and what it makes of an interrupt into an interrupt."""
    import duckdb

    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.Error, OSError) as error:
        raise ValueError(f"{title} cannot be read: {_cause(error)}.") from None
    except RuntimeError as error:
        if "interrupted" not in str(error):
            raise
        raise KeyboardInterrupt from None


def titled(files: Sequence[Path]) -> str:
    """The name of the files in messages."""
    return str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"


def literal(files: Sequence[Path]) -> str:
    """The files as DuckDB's list of names, without patterns."""
    return f"[{', '.join(quoted(_escaped(file)) for file in files)}]"


def open_delimited(files: tuple[Path, ...], suffix: str = ".csv") -> Table:
    """The table in CSV or TSV files.  Only the delimiter is guessed, from the header: guesses can lose rows."""
    heads = []
    for file in files:
        line = first_line(file)
        if not line:
            what = "begins with an empty line" if file.stat().st_size else "is empty"
            raise ValueError(f"{file} {what}: it must begin with a line that names the columns.")
        try:
            delimiter, names = header(line, suffix)
        except ValueError as error:
            raise ValueError(f"{file} cannot be read: {error}") from None
        _refuse_data(file, names, line)
        heads.append((delimiter, *names))
    _refuse_difference(files, heads)
    called = [f"c{index}" for index in range(len(names))]
    columns = ", ".join(f"{name}: 'VARCHAR'" for name in called)
    plain = "auto_detect = false, comment = '', header = true"
    layout = f"{plain}, delim = '{delimiter}', quote = '\"', escape = '\"', columns = {{{columns}}}"
    sql = f"read_csv({literal(files)}, {layout}, {PLAIN}"
    return Table(titled(files), files, sql, names, tuple(called), ("VARCHAR",) * len(names), delimiter)


def _refuse_data(file: Path, names: tuple[str, ...], line: str) -> None:
    """Refuse a first line of numbers, some of them not whole: it is a row, and would be lost."""
    numbers = all(re.fullmatch(r"\s*[-+]?[\d.]+([eE][-+]?\d+)?\s*", name) for name in names)
    if numbers and any("." in name for name in names):
        raise ValueError(
            f"{file} must begin with a line that names the columns, but begins with {line.strip()[:80]!r}. Add one, "
            "such as prediction,outcome."
        )


def _lines(connection: duckdb.DuckDBPyConnection, files: tuple[Path, ...]) -> Table:
    """JSON lines: the columns are the keys of the first thousand objects; a key that is left out is missing.

    Columns are taken out of whole objects by key, because DuckDB's own columns ignore capitals.
    """
    sql = f"read_ndjson_objects({literal(files)}, {PLAIN}"
    names: dict[str, None] = {}
    rows = connection.execute(f"SELECT json_type(json), json_keys(json) FROM {sql} LIMIT {_LOOKED_AT}").fetchall()
    if not rows:
        raise ValueError(f"{files[0]} is empty: every line must be a JSON object.")
    for number, (type_, keys) in enumerate(rows):
        if type_ != "OBJECT" or len(set(keys)) < len(keys):
            raise ValueError(
                f"{files[0]}: every line must be a JSON object with each key once, but row {number} (from 0) is not."
            )
        names.update(dict.fromkeys(keys))
    if len(rows) == _LOOKED_AT:
        _refuse_repeated_keys(connection, files, sql)
    expressions = tuple(f"(json ->> {pointer(name)})" for name in names)
    return Table(titled(files), files, sql, tuple(names), expressions, ("VARCHAR",) * len(names))


def _refuse_repeated_keys(connection: duckdb.DuckDBPyConnection, files: tuple[Path, ...], sql: str) -> None:
    """Refuse an object that repeats a key: parsers disagree about which value counts."""
    keys = "json_keys(json)"
    repeated = f"FROM {sql} WHERE len({keys}) > len(list_distinct({keys}))"
    count, first = connection.execute(f"SELECT count(*), min(left(CAST(json AS VARCHAR), 80)) {repeated}").fetchall()[0]
    if count:
        raise ValueError(f"{titled(files)}: every key must occur once in an object, but {count:,} repeat one: {first}")


def pointer(key: str) -> str:
    """Where the value of a key is in a JSON object, as SQL writes it."""
    return quoted("/" + key.replace("~", "~0").replace("/", "~1"))


def _parquet(connection: duckdb.DuckDBPyConnection, files: tuple[Path, ...]) -> Table:
    sql = f"read_parquet({literal(files)}, {PLAIN}"
    shapes = [_parquet_columns(connection, file) for file in files]
    _refuse_difference(files, shapes)
    described = connection.execute(f"DESCRIBE FROM {sql}").fetchall()
    expressions = tuple(identifier(row[0]) for row in described)
    names, types = tuple(name for name, _ in shapes[0]), tuple(row[1] for row in described)
    return Table(titled(files), files, sql, names, expressions, types)


def _parquet_columns(connection: duckdb.DuckDBPyConnection, file: Path) -> tuple[tuple[str, str], ...]:
    """The true names of the columns, and their types: DESCRIBE renames columns that differ only in capitals."""
    schema = connection.execute(f"SELECT name, num_children FROM parquet_schema({literal([file])})").fetchall()
    types = connection.execute(f"DESCRIBE FROM read_parquet({literal([file])}, {PLAIN}").fetchall()
    names, inside = [], 0
    for name, children in schema[1:]:  # depth first
        if inside:
            inside += (children or 0) - 1
        else:
            names.append(name)
            inside = children or 0
    return tuple((name, row[1]) for name, row in zip(names, types, strict=True))


def _refuse_difference(files: Sequence[Path], columns: Sequence[tuple[object, ...]]) -> None:
    """Refuse files with different columns: DuckDB would match them by place, or convert silently."""
    for file, other in zip(files, columns, strict=True):
        if other != columns[0]:
            ours, theirs = set(columns[0]), set(other)
            difference = sorted(map(_shown, ours ^ theirs)) or ["their order"]
            raise ValueError(
                f"files read together must have the same columns, but {files[0]} and {file} differ in "
                f"{', '.join(difference)}. Read them one by one."
            )


def _shown(column: object) -> str:
    return " ".join(map(str, column)) if isinstance(column, tuple) else repr(column)


def _escaped(file: Path) -> str:
    # A folder called ~ is not the user's home.
    path = str(file.absolute() if str(file).startswith("~") else file)
    return "".join(f"[{letter}]" if letter in "[*?" else letter for letter in path)


def identifier(name: str) -> str:
    """The name of a column as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def quoted(value: str) -> str:
    """The text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def _cause(error: Exception) -> str:
    """What DuckDB says, without the names of its errors and its advice to Python programmers."""
    said = re.sub(r"^[A-Z][\w ]* Error: ", "", str(error))
    # DuckDB does not count empty lines, and is one too far.
    said = re.sub(r'file "(.*)", at byte \d+ in line \d+(?=:)', lambda at: f"{at[1]}{not_json(Path(at[1]))}", said)
    if "state machine reached an invalid state" in said:
        return "its lines end in different ways, or a quote is never closed"
    lines = [line.strip().rstrip(".") for line in said.splitlines()] or [type(error).__name__]
    advice = next((index for index, line in enumerate(lines) if not line or line.startswith("Possible")), len(lines))
    return shorten("; ".join(lines[: max(1, advice)]), 400, placeholder=" …")
