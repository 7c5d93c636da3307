"""Where predictions live: files to predictors, through DuckDB; payoff tables to decision problems."""

from __future__ import annotations

import csv
import difflib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trustcal.decisions import DecisionProblem
from trustcal.predictor import Predictor

if TYPE_CHECKING:
    import duckdb

_READERS = {
    ".csv": "read_csv(?, header = true, all_varchar = true)",
    ".tsv": "read_csv(?, header = true, all_varchar = true, delim = '\t')",
    ".parquet": "read_parquet(?)",
}
_COMPRESSED = (".gz", ".zst")


def read(path: str | Path, *, prediction: str, outcome: str, weight: str | None = None) -> Predictor:
    """The predictor in a CSV, TSV or Parquet file (CSV and TSV also as .gz or .zst): one row per prediction.

    `prediction`, `outcome` and `weight` name columns exactly, capitals included.  Outcomes may be 0/1, true/false or
    yes/no.

    >>> from importlib.resources import files
    >>> read(files("trustcal") / "examples" / "census_income.csv", prediction="prediction", outcome="outcome")
    Predictor(10685 values, 16281 rows, base rate 0.236226)
    """
    import duckdb

    file = Path(path)
    source = _source(file)
    names = [name for name in (prediction, outcome, weight) if name is not None]
    try:
        with duckdb.connect() as connection:
            types = _types(connection, source, file)
            for name in names:
                _require(name, list(types), file)
            columns = [_numbers(connection, source, file, name, types[name], name == outcome) for name in names]
    except duckdb.Error as error:
        raise ValueError(f"{file} cannot be read: {str(error).splitlines()[0]}") from None
    try:
        return Predictor.from_samples(columns[1], columns[0], *columns[2:])
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def read_payoff(path: str | Path) -> DecisionProblem:
    """The decision problem in a CSV file with the header action,0,1: its name, its payoff if y = 0, if y = 1."""
    file = Path(path)
    rule = "a payoff file is a CSV with the header action,0,1 and a row per action, such as treat,-1,3"
    try:
        with file.open(newline="", encoding="utf-8") as lines:
            header, *rows = [row for row in csv.reader(lines) if row] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{file} cannot be read: {error}. {rule}.") from None
    if [name.strip() for name in header] != ["action", "0", "1"]:
        raise ValueError(f"{file}: {rule}, but its header is {','.join(header)!r}.")
    for number, row in enumerate(rows, start=2):
        if len(row) != 3 or not all(_is_number(cell) for cell in row[1:]):
            raise ValueError(f"{file}: {rule}, but line {number} is {','.join(row)!r}.")
    if not rows:
        raise ValueError(f"{file}: {rule}, but it has no actions.")
    return DecisionProblem([[float(row[1]), float(row[2])] for row in rows], [row[0].strip() for row in rows])


def _source(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    if not suffixes or suffixes[-1] not in _READERS:
        raise ValueError(f"{file} must be a CSV, TSV or Parquet file, by its name: one of {', '.join(_READERS)}.")
    if not file.is_file():
        raise ValueError(f"{file} {'is a folder, not a file' if file.is_dir() else 'does not exist'}.")
    return _READERS[suffixes[-1]]


def _literal(file: Path) -> str:
    """The path with the characters that DuckDB would read as a pattern taken literally."""
    return "".join(f"[{letter}]" if letter in "[*?" else letter for letter in str(file))


def _types(connection: duckdb.DuckDBPyConnection, source: str, file: Path) -> dict[str, str]:
    described = connection.execute(f"DESCRIBE FROM {source}", [_literal(file)]).fetchall()
    return {name: kind for name, kind, *_ in described}


def _require(name: str, available: list[str], file: Path) -> None:
    if name not in available:
        close = difflib.get_close_matches(name, available, n=1) or [
            other for other in available if other.lower() == name.lower()
        ]
        hint = f"; did you mean {close[0]!r}" if close else ""
        raise ValueError(f"{file} has no column {name!r}{hint}? Its columns are: {', '.join(available)}.")


def _numbers(
    connection: duckdb.DuckDBPyConnection, source: str, file: Path, name: str, kind: str, truth: bool
) -> NDArray[np.float64]:
    """A column as float64 with NaN for what is missing; text that is no number (or truth value) is refused."""
    column = '"' + name.replace('"', '""') + '"'
    if kind == "VARCHAR":
        number = f"TRY_CAST({column} AS DOUBLE)"
        if truth:
            number = f"coalesce({number}, CAST(TRY_CAST({column} AS BOOLEAN) AS DOUBLE))"
        culprits = connection.execute(
            f"""SELECT count(*), min(row), arg_min(text, row) FROM (
                SELECT {column} AS text, row_number() OVER () - 1 AS row FROM {source}
                QUALIFY {column} IS NOT NULL AND {number} IS NULL)""",
            [_literal(file)],
        ).fetchall()
        count, row, text = culprits[0]
        if count:
            raise ValueError(
                f"{file}: column {name!r} must hold numbers: {count} rows hold text, the first is row {row} (from 0) "
                f"with {text!r}. Recode them, or name another column."
            )
    else:
        number = f"CAST({column} AS DOUBLE)"
    fetched = connection.execute(f"SELECT {number} AS number FROM {source}", [_literal(file)]).fetchnumpy()
    return np.ma.filled(fetched["number"].astype(np.float64), np.nan)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
