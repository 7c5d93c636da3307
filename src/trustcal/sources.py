"""Where predictions live: files to predictors, through DuckDB; payoff tables to decision problems."""

from __future__ import annotations

import csv
import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from trustcal.decisions import DecisionProblem
from trustcal.predictor import Predictor
from trustcal.rows import counted_rows

if TYPE_CHECKING:
    import duckdb

_DELIMITERS = {".csv": ",;|\t", ".tsv": "\t"}
_COMPRESSED = (".gz", ".zst")


def read(path: str | Path, *, prediction: str, outcome: str, weight: str | None = None) -> Predictor:
    """The predictor in a CSV, TSV or Parquet file (CSV and TSV also as .gz or .zst): one row per prediction.

    The first line of a CSV names the columns, and every further line is a row.  `prediction`, `outcome` and `weight`
    name columns exactly, capitals included.  Outcomes may be 0/1, true/false or yes/no.

    >>> from importlib.resources import files
    >>> read(files("trustcal") / "examples" / "census_income.csv", prediction="prediction", outcome="outcome")
    Predictor(10685 values, 16281 rows, base rate 0.236226)
    """
    import duckdb

    file = Path(path)
    kind = _kind(file)
    if prediction == outcome:
        raise ValueError(f"prediction and outcome must be different columns, but both are {prediction!r}.")
    names = [outcome, prediction] if weight is None else [outcome, prediction, weight]
    try:
        with duckdb.connect() as connection:
            table = _parquet(connection, file) if kind == ".parquet" else _delimited(connection, file, kind)
            columns = [_numbers(connection, table, name, truth=name == outcome) for name in names]
    except duckdb.Error as error:
        raise ValueError(f"{file} cannot be read: {_cause(error)}.") from None
    try:
        weights = columns[2] if weight is not None else None
        counts = counted_rows(columns[0], columns[1], weights, names=[f"column {name!r}" for name in names])
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return Predictor(counts.p, counts.mass, counts.positive, rows=counts.rows, effective_rows=counts.effective_rows)


def read_payoff(path: str | Path) -> DecisionProblem:
    """The decision problem in a CSV file with the header action,0,1: its name, its payoff if y = 0, if y = 1."""
    file = Path(path)
    rule = "a payoff file is a CSV with the header action,0,1 and a row per action, such as treat,-1,3"
    try:
        with file.open(newline="", encoding="utf-8-sig") as text:
            reader = csv.reader(text)
            lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{file} cannot be read: {error}. {rule}.") from None
    header, rows = (lines[0][1], lines[1:]) if lines else ([], [])
    if header != ["action", "0", "1"]:
        raise ValueError(f"{file}: {rule}, but its header is {','.join(header)!r}.")
    for number, row in rows:
        if len(row) != 3 or not all(_is_number(cell) for cell in row[1:]):
            raise ValueError(f"{file}: {rule}, but line {number} is {','.join(row)!r}.")
    if not rows:
        raise ValueError(f"{file}: {rule}, but it has no actions.")
    try:
        return DecisionProblem([[float(row[1]), float(row[2])] for _, row in rows], [row[0] for _, row in rows])
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


@final
@dataclass(frozen=True)
class _Table:
    """How DuckDB reads a file, and what it calls the columns that the file calls by its own names."""

    file: Path
    sql: str
    names: list[str]
    called: list[str]
    types: list[str]


def _kind(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    kinds = [*_DELIMITERS, ".parquet"]
    if not suffixes or suffixes[-1] not in kinds:
        raise ValueError(f"{file} must be a CSV, TSV or Parquet file, by its name: one of {', '.join(kinds)}.")
    try:
        exists = file.exists()
    except OSError as error:  # a name too long, a folder that may not be entered
        raise ValueError(f"{file} cannot be read: {error.strerror}.") from None
    if not file.is_file():
        what = "is a folder, not a file" if file.is_dir() else "is not a regular file" if exists else "does not exist"
        raise ValueError(f"{file} {what}.")
    return suffixes[-1]


def _delimited(connection: duckdb.DuckDBPyConnection, file: Path, kind: str) -> _Table:
    """A CSV or TSV.  Nothing is guessed but the delimiter, from the first line: guesses can lose rows silently."""
    plain = "auto_detect = false, comment = '', header = "
    line = f"read_csv(?, {plain} false, delim = '', quote = '', escape = '', columns = {{'line': 'VARCHAR'}})"
    first = connection.execute(f"SELECT line FROM {line} LIMIT 1", [_literal(file)]).fetchall()
    if not first:
        raise ValueError(f"{file} is empty: it must begin with a line that names the columns.")
    delimiter = max(_DELIMITERS[kind], key=lambda letter: len(next(csv.reader(first[0], delimiter=letter))))
    names = next(csv.reader(first[0], delimiter=delimiter))
    called = [f"c{index}" for index in range(len(names))]
    columns = ", ".join(f"{name}: 'VARCHAR'" for name in called)
    sql = f"read_csv(?, {plain} true, delim = '{delimiter}', quote = '\"', escape = '\"', columns = {{{columns}}})"
    return _Table(file, sql, names, called, ["VARCHAR"] * len(names))


def _parquet(connection: duckdb.DuckDBPyConnection, file: Path) -> _Table:
    described = connection.execute("DESCRIBE FROM read_parquet(?)", [_literal(file)]).fetchall()
    # DESCRIBE renames columns that differ only in capitals; the schema lists the true names, depth first.
    schema = connection.execute("SELECT name, num_children FROM parquet_schema(?)", [_literal(file)]).fetchall()
    names, inside = [], 0
    for name, children in schema[1:]:
        if inside:
            inside += (children or 0) - 1
        else:
            names.append(name)
            inside = children or 0
    return _Table(file, "read_parquet(?)", names, [row[0] for row in described], [row[1] for row in described])


def _literal(file: Path) -> str:
    """The path with the characters that DuckDB would read as a pattern taken literally."""
    return "".join(f"[{letter}]" if letter in "[*?" else letter for letter in str(file))


def _numbers(connection: duckdb.DuckDBPyConnection, table: _Table, name: str, truth: bool) -> NDArray[np.float64]:
    """A column as float64 with NaN for what is missing; text that is no number (or truth value) is refused."""
    index = _index(table, name)
    column = f'"{table.called[index].replace(chr(34), chr(34) * 2)}"'
    number = f"CAST({column} AS DOUBLE)"
    if table.types[index] == "VARCHAR":
        number = f"TRY_{number}"
        if truth:
            number = f"coalesce({number}, CAST(TRY_CAST({column} AS BOOLEAN) AS DOUBLE))"
        _refuse_text(connection, table, name, column, number)
    fetched = connection.execute(f"SELECT {number} AS number FROM {table.sql}", [_literal(table.file)]).fetchnumpy()
    return np.ma.filled(fetched["number"].astype(np.float64), np.nan)


def _refuse_text(connection: duckdb.DuckDBPyConnection, table: _Table, name: str, column: str, number: str) -> None:
    culprits = connection.execute(
        f"""SELECT count(*), min(row), arg_min(text, row) FROM (
            SELECT {column} AS text, row_number() OVER () - 1 AS row FROM {table.sql}
            QUALIFY {column} IS NOT NULL AND {number} IS NULL)""",
        [_literal(table.file)],
    ).fetchall()
    count, row, text = culprits[0]
    if count:
        raise ValueError(
            f"{table.file}: column {name!r} must hold numbers, but {count} of its entries are text, the first in row "
            f"{row} (from 0): {text!r}. Recode them, or name another column."
        )


def _index(table: _Table, name: str) -> int:
    found = [index for index, other in enumerate(table.names) if other == name]
    if len(found) > 1:
        raise ValueError(f"{table.file} has {len(found)} columns called {name!r}: rename all but one.")
    if not found:
        lower = {other.lower(): other for other in table.names}
        close = difflib.get_close_matches(name.lower(), list(lower), n=1)
        hint = f" Did you mean {lower[close[0]]!r}?" if close else ""
        raise ValueError(f"{table.file} has no column {name!r}.{hint} Its columns are: {', '.join(table.names)}.")
    return found[0]


def _cause(error: duckdb.Error) -> str:
    """What DuckDB says, without its advice to Python programmers."""
    lines = [line.strip().rstrip(".") for line in str(error).splitlines()]
    advice = next((index for index, line in enumerate(lines) if not line or line.startswith("Possible")), len(lines))
    return "; ".join(lines[: max(1, advice)])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
