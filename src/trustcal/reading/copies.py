"""Sources that are copied to a file first: standard input, JSON arrays, Excel sheets, tables of DuckDB and SQLite."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trustcal.reading.files import COPIED, SHEETS, identifier, quoted, refusals

STANDARD_INPUT = "-"
_OTHER_SHEETS = (".xls", ".xlsb", ".ods", ".numbers")


@contextmanager
def as_files(source: Any, table: str | None = None) -> Iterator[tuple[Any, str | None]]:
    """The source, or files in its place that exist as long as the block; and its title if it was copied.

    Parameters
    ----------
    source : anything; "-", and paths whose names end in one of `COPIED`, are copied to a temporary folder.
    table : the table of a database, or the sheet of an Excel file; needed where there are several.
    """
    many = isinstance(source, list | tuple)
    paths = list(source) if many else [source]
    if not _named(paths) or not any(map(_copied, paths)):
        if table is not None:
            told = " and ".join(map(str, paths)) if _named(paths) else f"a {type(source).__qualname__}"
            raise ValueError(
                f"table is for databases and Excel files, but {told} is neither. Leave out table={table!r} (--table)."
            )
        yield source, None
        return
    with tempfile.TemporaryDirectory() as folder:
        places = {
            str(path): _copy(path, table, Path(folder) / str(place)) if _copied(path) else Path(path)
            for place, path in enumerate(paths)
        }
        title = "standard input" if str(paths[0]) == STANDARD_INPUT else str(paths[0])
        title = title if len(paths) == 1 else f"{title} and {len(paths) - 1} more"
        try:
            yield [*places.values()] if many else places[str(source)], title
        except ValueError as error:
            said = str(error)
            for path, place in places.items():
                said = said.replace(str(place), "standard input" if path == STANDARD_INPUT else path)
            raise ValueError(said) from None


def _named(paths: list[Any]) -> bool:
    return all(isinstance(path, str | Path) for path in paths)


def _copied(path: str | Path) -> bool:
    return str(path) == STANDARD_INPUT or Path(path).suffix.lower() in (*COPIED, *_OTHER_SHEETS)


def _copy(path: str | Path, table: str | None, place: Path) -> Path:
    """A copy of the source in a folder of its own, by a name that says its format."""
    place.mkdir()
    if str(path) == STANDARD_INPUT:
        return _standard_input(table, place)
    file, suffix = Path(path), Path(path).suffix.lower()
    if suffix in _OTHER_SHEETS:
        raise ValueError(f"{file} cannot be read: save the sheet as CSV or .xlsx, and read that.")
    if not file.is_file():
        raise ValueError(f"{file} {'is not a regular file' if file.exists() else 'does not exist'}.")
    if suffix == ".json":
        return _json(file, place)
    if suffix in SHEETS:
        return _sheet(file, table, place)
    with file.open("rb") as stream:
        lite = stream.read(16).startswith(b"SQLite format 3")
    return _sqlite(file, table, place) if lite else _duckdb(file, table, place)


def _standard_input(table: str | None, place: Path) -> Path:
    """Standard input, whose first bytes tell Parquet and JSON from CSV."""
    whole = place / "input"
    with whole.open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    with whole.open("rb") as stream:
        first = stream.read(1024).lstrip(b"\xef\xbb\xbf \t\r\n")
    starts = {b"PAR1": ".parquet", b"{": ".jsonl", b"[": ".json", b"PK\x03\x04": ".xlsx", b"SQLite format 3": ".sqlite"}
    suffix = next((suffix for start, suffix in starts.items() if first.startswith(start)), ".csv")
    file = whole.rename(place / f"input{suffix}")
    return _copy(file, table, place / "copy") if suffix in COPIED else file


def _json(file: Path, place: Path) -> Path:
    """A JSON array of objects as JSON lines."""
    rule = f"{file} must hold a JSON array of objects, as pandas writes by orient='records', or be JSON lines (.jsonl)"

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError(f"{rule}, with each key once.")
        return found

    try:
        rows = json.loads(file.read_bytes(), object_pairs_hook=once)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{rule}, but it cannot be parsed: {error}.") from None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{rule}.")
    copy = place / "rows.jsonl"
    with copy.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    return copy


def _sheet(file: Path, table: str | None, place: Path) -> Path:
    """A sheet of an Excel file as CSV: its first line names the columns."""
    try:
        import openpyxl  # type: ignore[import-untyped]
    except ImportError:
        raise ValueError(
            f"{file} is an Excel file, which needs openpyxl: pip install 'trustcal[excel]'. Or save the sheet as CSV."
        ) from None
    try:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    except Exception as error:
        raise ValueError(f"{file} cannot be read as an Excel file: {str(error) or type(error).__name__}.") from None
    with closing(book):
        name = _chosen(file, table, book.sheetnames, "sheet", book.sheetnames[:1])
        return _written(book[name].iter_rows(values_only=True), place)


def _duckdb(file: Path, table: str | None, place: Path) -> Path:
    """A table of a DuckDB file as Parquet."""
    import duckdb

    copy = place / "rows.parquet"
    with refusals(str(file)), duckdb.connect(str(file), read_only=True) as connection:
        names = [row[0] for row in connection.execute("SHOW TABLES").fetchall()]
        name = _chosen(file, table, names, "table", names)
        connection.execute(f"COPY (FROM {identifier(name)}) TO {quoted(str(copy))} (FORMAT parquet)")
    return copy


def _sqlite(file: Path, table: str | None, place: Path) -> Path:
    """A table of an SQLite file as CSV."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file.absolute()))}?mode=ro", uri=True)) as connection:
            found = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
            names = [name for (name,) in found if not name.startswith("sqlite_")]
            name = _chosen(file, table, names, "table", names)
            rows = connection.execute(f"SELECT * FROM {identifier(name)}")
            return _written([[column[0] for column in rows.description]], place, rows)
    except sqlite3.Error as error:
        raise ValueError(f"{file} cannot be read: {error}.") from None


def _chosen(file: Path, asked: str | None, names: Sequence[str], what: str, default: Sequence[str]) -> str:
    """The table asked for; without, the only one."""
    listed = ", ".join(names) or "none"
    if asked is not None and asked not in names:
        raise ValueError(f"{file} has no {what} {asked!r}. It has: {listed}.")
    if asked is None and len(default) != 1:
        raise ValueError(f"{file}: say which {what} to read, by table='…' (--table). It has: {listed}.")
    return default[0] if asked is None else asked


def _written(head: Iterable[Sequence[Any]], place: Path, rows: Iterable[Sequence[Any]] = ()) -> Path:
    """Rows as CSV; None is an empty field."""
    copy = place / "rows.csv"
    with copy.open("w", newline="", encoding="utf-8") as stream:
        lines = csv.writer(stream)
        for part in (head, rows):
            lines.writerows(part)
    return copy
