"""Lines to rows: CSV with a header, or a JSON object per line.  What is no row is a fault, and the stream goes on."""

from __future__ import annotations

import csv
import difflib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self, final

from trustcal.reading.files import DELIMITERS
from trustcal.reading.outcomes import FALSE, TRUE

Kind = Literal[
    "unreadable line",
    "bad prediction",
    "bad outcome",
    "no id",
    "repeated prediction",
    "outcome without prediction",
    "outcome given up",
]
POLICY: dict[Kind, str] = {
    "unreadable line": "left out",
    "bad prediction": "row left out",
    "bad outcome": "row left out",
    "no id": "row left out",
    "repeated prediction": "the first counts",
    "outcome without prediction": "left out: unknown, early, repeated, or too late",
    "outcome given up": "prediction left out",
}
"""What is done about each kind of fault."""
SHOWN = 3
"""So many faults of each kind are kept to be shown."""

_TRUTH = dict.fromkeys(TRUE, 1.0) | dict.fromkeys(FALSE, 0.0)


@final
@dataclass(frozen=True)
class Fault:
    """What is wrong with a line (from 1)."""

    kind: Kind
    line: int
    reason: str


@final
@dataclass(frozen=True)
class Faults:
    """How often each kind of fault was met, and the first few of each."""

    counts: dict[Kind, int]
    first: tuple[Fault, ...]

    def with_more(self, faults: Iterable[Fault]) -> Faults:
        """These and more."""
        counts, first = dict(self.counts), list(self.first)
        for fault in faults:
            counts[fault.kind] = counts.get(fault.kind, 0) + 1
            if counts[fault.kind] <= SHOWN:
                first.append(fault)
        return Faults(counts, tuple(first))

    def policy(self, kind: Kind) -> str:
        """What is done about a kind of fault."""
        return POLICY[kind]

    @property
    def total(self) -> int:
        """How many faults there were."""
        return sum(self.counts.values())


@final
@dataclass(frozen=True)
class Row:
    """What a line says: without ids both numbers are there, with ids one of them may be missing."""

    line: int
    row_id: str
    prediction: float | None
    outcome: bool | None


@final
@dataclass(frozen=True)
class Columns:
    """What the columns are called."""

    prediction: str
    outcome: str
    row_id: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """All names."""
        return (self.prediction, self.outcome) if self.row_id is None else (self.prediction, self.outcome, self.row_id)


@final
@dataclass(frozen=True)
class Format:
    """How lines are read, as the first line of the stream tells.

    >>> columns = Columns("p", "y", None)
    >>> Format.of("id,p,y", columns).row("7,0.25,1", 2)
    Row(line=2, row_id='', prediction=0.25, outcome=True)
    >>> Format.of('{"p": 0.5, "y": 0}', columns).row('{"p": 1.2, "y": 0}', 2)
    Fault(kind='bad prediction', line=2, reason='1.2 is not in [0, 1]')
    """

    columns: Columns
    header: tuple[str, ...] | None
    """The names of a CSV's columns; None for JSON lines."""
    delimiter: str

    @classmethod
    def of(cls, first: str, columns: Columns) -> Self:
        """Nothing is guessed but whether it is JSON and, from the header, the delimiter."""
        if first.lstrip().startswith("{"):
            try:
                found = tuple(json.loads(first))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"the first line begins like JSON but is none ({error}): {first[:80]!r}.") from None
            if columns.prediction not in found and (columns.row_id is None or columns.outcome not in found):
                raise ValueError(f"the first line has no {columns.prediction!r}: its names are {', '.join(found)}.")
            return cls(columns, None, "")
        try:
            read = {letter: next(csv.reader([first], delimiter=letter, strict=True)) for letter in DELIMITERS[".csv"]}
        except (csv.Error, StopIteration):
            raise ValueError(f"the first line must name the columns, but is {first[:80]!r}.") from None
        delimiter = max(read, key=lambda letter: len(read[letter]))
        header = [name.strip() for name in read[delimiter]]
        for name in columns.names:
            if header.count(name) != 1:
                lower = {other.lower(): other for other in header if other != name}
                close = difflib.get_close_matches(name.lower(), list(lower), n=1)
                hint = f" Did you mean {lower[close[0]]!r}?" if close else ""
                raise ValueError(
                    f"the first line must name a column {name!r} once, but names it {header.count(name)} times.{hint} "
                    f"It is: {first[:200]!r}."
                )
        return cls(columns, tuple(header), delimiter)

    def plain_pair(self, text: str) -> tuple[float, bool] | None:
        """The pair on a line like most, CSV without quotes and an outcome of 0 or 1; None where `row` must look."""
        if self.header is None or '"' in text or "_" in text:
            return None
        cells = text.split(self.delimiter)
        if len(cells) != len(self.header):
            return None
        outcome = cells[self.header.index(self.columns.outcome)]
        try:
            prediction = float(cells[self.header.index(self.columns.prediction)])
        except ValueError:
            return None
        return (prediction, outcome == "1") if 0 <= prediction <= 1 and outcome in ("0", "1") else None

    def row(self, text: str, line: int) -> Row | Fault:
        """What the line says, or what is wrong with it.  O(length)."""
        try:
            cells = self._object(text) if self.header is None else self._fields(text)
        except ValueError as error:
            return Fault("unreadable line", line, str(error))
        row_id = ""
        if self.columns.row_id is not None:
            found = cells.get(self.columns.row_id)
            if not isinstance(found, str | int) or not str(found).strip():
                return Fault("no id", line, "missing" if not found else f"{found!r:.40} is no id")
            row_id = str(found).strip()
        prediction = self._number(cells.get(self.columns.prediction), truth=False)
        outcome = self._number(cells.get(self.columns.outcome), truth=True)
        if isinstance(prediction, float) and not 0 <= prediction <= 1:
            return Fault("bad prediction", line, f"{prediction!r} is not in [0, 1]")
        if isinstance(outcome, float) and outcome not in (0.0, 1.0):
            return Fault("bad outcome", line, f"{outcome!r} is not 0 or 1")
        if isinstance(prediction, str) or (prediction is None and (not row_id or outcome is None)):
            return Fault("bad prediction", line, "missing" if prediction is None else f"{prediction} is no number")
        if isinstance(outcome, str) or (outcome is None and not row_id):
            return Fault("bad outcome", line, "missing" if outcome is None else f"{outcome} is not 0 or 1")
        return Row(line, row_id, prediction, None if outcome is None else outcome == 1)

    def _fields(self, text: str) -> dict[str, Any]:
        assert self.header is not None
        if '"' in text:
            try:
                cells = next(csv.reader([text], delimiter=self.delimiter, strict=True))
            except (csv.Error, StopIteration) as error:
                raise ValueError(f"{error} (a row must stand on one line)") from None
        else:
            cells = text.split(self.delimiter)
        if len(cells) != len(self.header):
            raise ValueError(f"{len(cells)} fields instead of {len(self.header)}")
        return dict(zip(self.header, cells, strict=True))

    def _object(self, text: str) -> dict[str, Any]:
        try:
            found = json.loads(text)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        if not isinstance(found, dict):
            raise ValueError("not a JSON object")
        return found

    def _number(self, cell: object, truth: bool) -> float | str | None:
        """A number, None where it is missing, or, where it is neither, its text."""
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            return None
        if isinstance(cell, bool):
            return float(cell) if truth else repr(cell)
        if isinstance(cell, str) and truth and cell.strip().lower() in _TRUTH:
            return _TRUTH[cell.strip().lower()]
        try:
            if isinstance(cell, int | float) or (isinstance(cell, str) and "_" not in cell):
                return float(cell)
        except (ValueError, OverflowError):
            pass
        return repr(cell)[:40]
