"""Lines to rows: CSV with a header, or one JSON object per line.  An invalid line is a fault and is skipped."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, Self, final

from trustcal.checking import checked_choice, checked_count, refuse_other
from trustcal.reading.columns import place_of
from trustcal.reading.files import DELIMITERS, allow_fields_of, header
from trustcal.reading.numbers import number
from trustcal.reading.outcomes import decoded

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
    "unreadable line": "line skipped",
    "bad prediction": "row skipped",
    "bad outcome": "row skipped",
    "no id": "row skipped",
    "repeated prediction": "the first one counts",
    "outcome without prediction": "row skipped: id unknown, early, repeated or too late",
    "outcome given up": "prediction dropped",
}
"""How each kind of fault is handled."""
SHOWN = 3
"""Number of faults of each kind that are kept to be shown."""


@final
@dataclass(frozen=True)
class LineFault:
    """What is wrong with a line; lines count from 1."""

    kind: Kind
    line: int
    reason: str

    def __str__(self) -> str:
        """The fault and how it is handled.

        >>> print(LineFault("bad prediction", 3, "1.2 is not in [0, 1]"))
        line 3: bad prediction: 1.2 is not in [0, 1] (row skipped)
        """
        return f"line {self.line}: {self.kind}: {self.reason} ({POLICY[self.kind]})"


@final
@dataclass(frozen=True)
class FaultLog:
    """The number of faults of each kind, and the first few of each."""

    counts: dict[Kind, int]
    first: tuple[LineFault, ...]

    def with_more(self, faults: Iterable[LineFault]) -> FaultLog:
        """The log with these faults added."""
        counts, first = dict(self.counts), list(self.first)
        for fault in faults:
            counts[fault.kind] = counts.get(fault.kind, 0) + 1
            if counts[fault.kind] <= SHOWN:
                first.append(fault)
        return FaultLog(counts, tuple(first))

    @classmethod
    def restored(cls, counts: dict[Any, Any], first: list[dict[str, Any]]) -> Self:
        """The log with these fields, as they were saved, if they are possible."""
        shown = tuple(LineFault(**fault) for fault in first)
        for kind, count in counts.items():
            checked_choice("a fault", kind, POLICY)
            checked_count("the number of faults", count)
        for fault in shown:
            checked_choice("a fault", fault.kind, counts)
            checked_count("the line of a fault", fault.line)
            refuse_other("the reason of a fault", fault.reason, str, "text")
        return cls(counts, shown)

    @property
    def total(self) -> int:
        """The number of faults."""
        return sum(self.counts.values())


@final
@dataclass(frozen=True)
class StreamRow:
    """The contents of a line.  Without ids both numbers are present; with ids one of them may be missing."""

    line: int
    row_id: str
    prediction: float | None
    outcome: bool | None


@final
@dataclass(frozen=True)
class StreamColumns:
    """The names of the columns."""

    prediction: str
    outcome: str
    row_id: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """All names."""
        return (self.prediction, self.outcome) if self.row_id is None else (self.prediction, self.outcome, self.row_id)


@final
@dataclass(frozen=True)
class LineFormat:
    """The format of the lines, known from the first line of the stream.

    >>> columns = StreamColumns("p", "y", None)
    >>> LineFormat.of("id,p,y", columns).row("7,0.25,1", 2)
    StreamRow(line=2, row_id='', prediction=0.25, outcome=True)
    >>> LineFormat.of('{"p": 0.5, "y": 0}', columns).row('{"p": 1.2, "y": 0}', 2)
    LineFault(kind='bad prediction', line=2, reason='1.2 is not in [0, 1]')
    """

    columns: StreamColumns
    header: tuple[str, ...] | None
    """The column names of a CSV; None for JSON lines."""
    delimiter: str
    returns: bool = False
    """Whether the lines of a CSV end with a carriage return and a line feed."""

    @classmethod
    def of(cls, first: str, columns: StreamColumns, returns: bool = False) -> Self:
        """Recognise JSON by its brace; else the line is a CSV header, which also shows the delimiter."""
        if first.lstrip().startswith("{"):
            try:
                found = tuple(json.loads(first, object_pairs_hook=_once))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"the first line begins like JSON but is not ({error}): {first[:80]!r}.") from None
            if columns.row_id is None or columns.outcome not in found:
                place_of(columns.prediction, found, "the first line")
            return cls(columns, None, "")
        delimiter, names = header(first)
        for name in columns.names:
            place_of(name, names, "the first line")
        return cls(columns, names, delimiter, returns)

    @classmethod
    def restored(cls, columns: StreamColumns, names: list[str] | None, delimiter: str, returns: bool) -> Self:
        """The format with these fields, as they were saved, if they are possible."""
        if names is None:
            checked_choice("the delimiter", delimiter, [""])
            return cls(columns, None, "")
        checked_choice("the delimiter", delimiter, DELIMITERS[".csv"])
        for name in columns.names:
            place_of(name, names, "the header")
        refuse_other("the line end", returns, bool, "true or false")
        return cls(columns, tuple(names), delimiter, returns)

    def plain_pair(self, text: str) -> tuple[float, bool] | None:
        """The pair on an ordinary CSV line: no quotes, outcome 0 or 1.  None where `row` must decide."""
        if self.header is None or '"' in text or "_" in text or not text.isascii():
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

    def row(self, text: str, line: int) -> StreamRow | LineFault:
        """The row on the line, or what is wrong with it.  O(length)."""
        try:
            cells = self._object(text) if self.header is None else self._fields(text)
        except ValueError as error:
            return LineFault("unreadable line", line, str(error))
        row_id = ""
        if self.columns.row_id is not None:
            found = cells.get(self.columns.row_id)
            if not isinstance(found, str | int) or not str(found).strip():
                return LineFault("no id", line, "missing" if not found else f"{found!r:.40} is not an id")
            row_id = str(found).strip()
        said, happened = cells.get(self.columns.prediction), cells.get(self.columns.outcome)
        prediction, outcome = _number(said), decoded(happened)
        if _missing(said):
            if not row_id or _missing(happened):
                return LineFault("bad prediction", line, "missing")
        elif prediction is None:
            return LineFault("bad prediction", line, f"{said!r:.40} is not a number")
        elif not 0 <= prediction <= 1:
            return LineFault("bad prediction", line, f"{prediction!r} is not in [0, 1]")
        if outcome is None and not (row_id and _missing(happened)):
            return LineFault(
                "bad outcome", line, "missing" if _missing(happened) else f"{happened!r:.40} is not 0 or 1"
            )
        return StreamRow(line, row_id, prediction, None if outcome is None else outcome == 1)

    def unfinished(self, text: str) -> bool:
        """Whether a quoted field is still open at the end of a CSV line, so that the row goes on in the next line."""
        if self.header is None or '"' not in text:
            return False
        allow_fields_of(len(text))
        try:
            next(csv.reader([text], delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            return "unexpected end of data" in str(error)
        return False

    def _fields(self, text: str) -> dict[str, Any]:
        assert self.header is not None
        if '"' in text:
            allow_fields_of(len(text))
            try:
                cells = next(csv.reader([text], delimiter=self.delimiter, strict=True))
            except (csv.Error, StopIteration) as error:
                raise ValueError(str(error) or "empty") from None
        else:
            cells = text.split(self.delimiter)
        if len(cells) != len(self.header):
            raise ValueError(f"{len(cells)} fields instead of {len(self.header)}")
        return dict(zip(self.header, cells, strict=True))

    def _object(self, text: str) -> dict[str, Any]:
        try:
            found = json.loads(text, object_pairs_hook=_once)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        if not isinstance(found, dict):
            raise ValueError("not a JSON object")
        return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object, if each of its keys occurs once: parsers disagree about which value counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _missing(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _number(cell: object) -> float | None:
    """A number, or text that is one; None for anything else."""
    if isinstance(cell, str):
        return number(cell)
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    try:
        return float(cell)
    except OverflowError:
        return inf if cell > 0 else -inf
