"""Files rewritten with one more column: a new prediction for each row, right after the old one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from trustcal.predictor import Predictor
from trustcal.reading.columns import Columns
from trustcal.reading.duckdb import connected
from trustcal.reading.expressions import rows_of
from trustcal.reading.files import DELIMITERS, KINDS, Table, kind
from trustcal.reading.request import Request
from trustcal.reading.streams import packing
from trustcal.rewriting.arrow import ONLY, Roles, RowStream, open_rows, write_rows
from trustcal.rewriting.engine_columns import REMEDY, arrow_ids, arrow_numbers, new_column
from trustcal.tally import Tally
from trustcal.writing import atomically

FloatArray = NDArray[np.float64]
Draw = Callable[[FloatArray, NDArray[Any]], FloatArray]
"""Maps the next predictions and their row ids to new predictions."""
Progress = Callable[[int, int], None]
"""Called with the number of rows done and the number of all rows, or an estimate of it."""

_SMALL_INTEGERS = r"^(0|-?[1-9][0-9]{0,17})$"
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,19}")


@final
@dataclass(frozen=True)
class Rewritten:
    """What was written: the number of rows and, where outcomes are named, the predictor of the new column."""

    rows: int
    predictor: Predictor | None


def rewrite(
    source: str | Path,
    target: str | Path,
    *,
    prediction: str,
    draw: Draw,
    into: str | None = None,
    row_id: str | None = None,
    outcome: str | None = None,
    progress: Progress | None = None,
) -> Rewritten:
    """Copy a file with a column of new predictions right after the old ones.

    CSV, TSV and JSON lines (also with .gz or .zst) and Parquet, each to each, chosen by the names of the files.  Rows
    keep their order.  In CSV and TSV the other fields keep their text: 007 stays 007, 1e400 stays 1e400, and a field
    that is empty, quoted or not, is empty.  Quotes are written only where they are needed, lines end with a line feed,
    and a CSV keeps its delimiter.  A line of JSON keeps every byte and gets the new key last.  Parquet keeps its types.

    The target is written whole or not at all: on an error or an interrupt the old file is still there.

    Parameters
    ----------
    source, target : str or Path
        The file to read and the file to write.  They may be the same.
    prediction : str
        The column of predictions in [0, 1].
    draw : callable
        Maps an array of predictions and one of row ids to an array of new predictions, batch by batch, in order.
    into : str, optional
        The name of the new column.  Default: the prediction's name with `_noised`.
    row_id : str, optional
        The column of row ids, integers or text.  In a CSV, an id written as an integer is one.  Default: the positions
        of the rows, from 0.
    outcome : str, optional
        The column of outcomes, to measure what is written.
    progress : callable, optional
        Called with the number of rows done and the (estimated) number of all rows.

    Returns
    -------
    Rewritten
        The number of rows and, with outcomes, the predictor of the new column.

    Raises
    ------
    ValueError
        If a file cannot be read or written, or a row has no prediction in [0, 1].

    Examples
    --------
    >>> import tempfile
    >>> from trustcal.noise import UniformNoise
    >>> from trustcal.smoothing import perturb
    >>> noise = UniformNoise(0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "p.csv"
    ...     _ = file.write_text("p,y\\n0.25,1\\n0.5,0\\n")
    ...     done = rewrite(file, file, prediction="p", draw=lambda q, ids: perturb(q, noise, ids=ids, seed=1).round(2))
    ...     file.read_text()
    'p,p_noised,y\\n0.25,0.17,1\\n0.5,0.48,0\\n'

    Notes
    -----
    O(n) time in one pass (two from JSON lines to another format); O(1) memory without outcomes.
    """
    old, new = Path(source), Path(target)
    kinds = kind(old), target_kind(new)
    roles = Roles((prediction,), outcome, row_id, (new_column(prediction, into),))
    with atomically(new) as fresh, connected() as connection, ExitStack() as stack:
        rows = open_rows(connection, stack, old, kinds, roles)
        copying = _Copying(old, kinds[0], roles, rows, draw, progress, connection.cursor())
        try:
            write_rows(fresh, kinds[1], rows, roles.into, copying.columns())
        except OSError as error:  # errors of reading are ValueErrors by now
            raise ValueError(f"{new} cannot be written: {error.strerror or error}.") from None
    return Rewritten(copying.rows, Predictor.from_tally(copying.tally) if copying.tally.rows else None)


@final
class _Copying:
    """Rows on their way from one file to another.  After the first bad prediction, bad rows are only counted."""

    def __init__(
        self, file: Path, kind: str, roles: Roles, rows: RowStream, draw: Draw, progress: Progress | None, cursor: Any
    ) -> None:
        self.file, self.kind, self.roles, self.stream = file, kind, roles, rows
        self.draw, self.progress, self.cursor = draw, progress, cursor
        self.rows = 0
        self.tally = Tally(None)

    def columns(self) -> Iterator[list[Any]]:
        """The columns to write, batch by batch.  O(n)."""
        import pyarrow as pa

        bad, first_bad, copied = 0, "", len(self.stream.schema)
        for batch in self.stream.batches:
            column = batch.column(self.stream.places[ONLY])
            p, y = self._numbers(batch)
            wrong = ~((p >= 0) & (p <= 1))
            if wrong.any():
                row = int(np.argmax(wrong))
                value = column[row].as_py()
                said = "missing" if value is None else value
                first_bad = first_bad or f"row {self.rows + row} (from 0), where it is {said}"
                bad += int(wrong.sum())
            if not bad:
                safe = self._drawn(p, self._ids(batch))
                if y is not None and not self.tally.add(safe, y):
                    raise self._no_outcome(batch, y)
                columns = batch.columns[:copied]
                yield [*columns[: self.stream.new_place], pa.array(safe), *columns[self.stream.new_place :]]
            self.rows += len(p)
            self._report(self.stream.total(self.rows))
        if bad:
            raise ValueError(
                f"{self.file}: column {self.roles.predictions[0]!r} must hold probabilities in [0, 1]: {bad} of "
                f"{self.rows} rows break this, the first is {first_bad}. {REMEDY}"
            )
        self._report(self.rows)

    def _numbers(self, batch: Any) -> tuple[FloatArray, NDArray[np.uint8] | None]:
        """Predictions, NaN where there is none, and outcomes, 2 where there is none: by the SQL that reads files."""
        import pyarrow as pa

        column = batch.column(self.stream.places[ONLY])
        if self.roles.outcome is None and pa.types.is_floating(column.type):
            return arrow_numbers(column, self.roles.predictions[0]), None  # floats need no parsing
        names = self.roles.predictions[0], self.roles.outcome or self.roles.predictions[0]
        places = [self.stream.places[role] for role in (ONLY, "outcome") if role in self.stream.places]
        called = tuple(f"c{index}" for index in range(len(places)))
        held = self.cursor.from_arrow(pa.table([batch.column(place) for place in places], names=called))
        rows = f"held AS source({', '.join(called)})"
        table = Table(str(self.file), (), rows, names[: len(places)], called, tuple(map(str, held.types)))
        asked = "p" if self.roles.outcome is None else "p, CAST(y AS UTINYINT) AS y"
        sql = rows_of(table, Request(Columns(*names), None, 0.0, False)).every
        found = held.query("held", f"SELECT {asked} FROM ({sql})").fetchnumpy()
        p = np.ma.filled(found["p"], np.nan).astype(np.float64, copy=False)
        return p, np.ma.filled(found["y"], 2).astype(np.uint8, copy=False) if "y" in found else None

    def _ids(self, batch: Any) -> NDArray[Any]:
        """Row ids: integers, or an array of integers and texts."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.roles.row_id is None:
            return np.arange(self.rows, self.rows + len(batch))
        column = batch.column(self.stream.places["row_id"])
        if column.null_count:
            raise self._no_id(column.is_null().index(True).as_py())
        if self.kind == ".parquet":
            return arrow_ids(column, self.roles.row_id)
        if pc.all(pc.match_substring_regex(column, _SMALL_INTEGERS)).as_py():
            return np.asarray(column.cast(pa.int64()))
        parse = _csv_id if self.kind in DELIMITERS else json.loads
        ids = np.empty(len(column), dtype=object)
        for row, text in enumerate(column.to_pylist()):
            ids[row] = value = parse(text)
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise self._no_id(row)
        return ids

    def _drawn(self, p: FloatArray, ids: NDArray[Any]) -> FloatArray:
        safe = np.asarray(self.draw(p, ids), dtype=np.float64)
        if safe.shape != p.shape:
            raise ValueError(f"draw must give one value per row, but gave shape {safe.shape} for {p.shape}.")
        return safe

    def _no_id(self, row: int) -> ValueError:
        return ValueError(
            f"{self.file}: column {self.roles.row_id!r} must hold a row id, an integer or text, in every row, but row "
            f"{self.rows + row} (from 0) has none. Fill them in, or leave out the row id to use positions."
        )

    def _no_outcome(self, batch: Any, y: NDArray[np.uint8]) -> ValueError:
        row = int(np.argmax(y > 1))
        value = batch.column(self.stream.places["outcome"])[row].as_py()
        return ValueError(
            f"{self.file}: column {self.roles.outcome!r} must hold an outcome, 0 or 1, in every row, but in row "
            f"{self.rows + row} (from 0) it is {'missing' if value is None else value}."
        )

    def _report(self, total: int) -> None:
        if self.progress is not None:
            self.progress(self.rows, max(total, self.rows))


def _csv_id(text: str) -> int | str:
    """An id in a file without types: an integer of 64 bits where it is written as one."""
    if _INTEGER.fullmatch(text) and -(2**63) <= int(text) < 2**64:
        return int(text)
    return text


def target_kind(file: Path) -> str:
    """The format that the name of a new file says."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if packing(file) and suffixes[-2:-1] != [".parquet"]:
        suffixes.pop()
    if not suffixes or suffixes[-1] not in KINDS:
        raise ValueError(
            f"{file} cannot be written: its name must say CSV, TSV, JSON lines or Parquet, by one of "
            f"{', '.join(KINDS)}; the first four may be followed by .gz or .zst."
        )
    return suffixes[-1]
