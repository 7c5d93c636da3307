"""The state of a watch: the position in the stream, the monitor, the faults and what waits, saved in one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, final

from trustcal.checking import checked_count, refuse_other
from trustcal.checking.files import checked_output, text_of
from trustcal.monitoring.following import Lines, Position
from trustcal.monitoring.line_parser import FaultLog, LineFault, LineFormat, StreamColumns, StreamRow
from trustcal.monitoring.monitor import Monitor
from trustcal.monitoring.pending import Pair, PendingPredictions
from trustcal.states import damage_refused, loaded, saved
from trustcal.writing import atomically

HELD, LONGEST_ROW = 1000, 1 << 16
"""A row of more lines or characters is one whose quote is never closed."""
_STATE_VERSION = 2
_FIELDS = (
    "columns", "pending", "remedy", "position", "header", "delimiter", "returns", "held", "counts", "first", "waiting",
    "monitor",
)  # fmt: skip


@final
class WatchState:
    """Everything that a watch knows, and its file, if it has one."""

    def __init__(self, columns: StreamColumns, pending: int, monitor: Monitor, remedy: str | None = None) -> None:
        self.columns = columns
        self.pending = pending
        self.monitor = monitor
        self.remedy = remedy
        """The fingerprint of the remedy that is applied to predictions, if one is."""
        self.lines = Lines()
        self.resumed: Position | None = None
        self.format: LineFormat | None = None
        self.waiting = PendingPredictions(pending)
        self.faults = FaultLog({}, ())
        self._held: list[tuple[int, str]] = []
        self._whole = True

    @classmethod
    def begun(
        cls, columns: StreamColumns, pending: int, monitor: Monitor, remedy: str | None, file: Path | None
    ) -> Self:
        """A new state, or the one in the file, which must have the same settings."""
        if file is None or not checked_output(file).exists():
            return cls(columns, pending, monitor, remedy)
        text = text_of(file)
        try:
            state = cls.from_json(text)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        for what, here, there in (
            ("columns", columns.names, state.columns.names),
            ("pending", pending, state.pending),
            ("remedy", remedy, state.remedy),
            ("monitor", _settings(monitor), _settings(state.monitor)),
        ):
            if here != there:
                raise ValueError(
                    f"{file} was saved with other {what}: {there}, not {here}. Use the same, or another state file."
                )
        return state

    def pairs(self, lines: Iterable[bytes], ended: bool = False) -> list[Pair]:
        """Parse whole lines: the pairs that are ready for the monitor.  At the end a quote is no longer waited for."""
        whole = list(lines)
        taken: list[Pair | LineFault] = []
        for number, line in enumerate(whole, self.lines.count - len(whole) + 1):
            taken += self._decoded(line, number, ended)
        while ended and self._held:
            taken += self._given_up()
        self.faults = self.faults.with_more(fault for fault in taken if isinstance(fault, LineFault))
        return [pair for pair in taken if not isinstance(pair, LineFault)]

    def _decoded(self, line: bytes, number: int, last: bool) -> Iterable[Pair | LineFault]:
        try:
            text = line.decode("utf-8" if self.format else "utf-8-sig")
            return self._joined(text.strip("\r"), number, None if last else text.endswith("\r"))
        except UnicodeDecodeError:
            if self.format is None:
                raise ValueError(
                    f"the first line is not UTF-8 text: {line[:20]!r}. Watch plain CSV or JSON lines."
                ) from None
            return (LineFault("unreadable line", number, "not UTF-8"),)

    def _joined(self, text: str, number: int, returns: bool | None) -> Iterable[Pair | LineFault]:
        """Hold a CSV row whose quoted field goes on in the next line; take it when it is complete."""
        if self.format is None or (not self._held and '"' not in text):
            return self._taken(text, number, returns)
        self._held.append((number, text))
        if '"' not in text and len(self._held) < HELD:
            return ()
        row, first = "\n".join(part for _, part in self._held), self._held[0][0]
        if self.format.unfinished(row):
            return () if len(self._held) < HELD and len(row) < LONGEST_ROW else self._given_up()
        found = self.format.row(row, first) if len(self._held) > 1 else None
        if isinstance(found, LineFault) and found.kind == "unreadable line":
            return self._given_up()  # another quote has closed it
        self._held = []
        return self._taken(row, first, returns)

    def _given_up(self) -> list[Pair | LineFault]:
        """The quote of the first line held is never closed: that line is a fault, and the others are read anew."""
        (number, _), *others = self._held
        self._held = []
        taken: list[Pair | LineFault] = [LineFault("unreadable line", number, "a quote is never closed")]
        for line, text in others:
            taken += self._joined(text, line, None)
        return taken

    def _taken(self, text: str, number: int, returns: bool | None) -> Iterable[Pair | LineFault]:
        """A whole row; `returns` says whether its line ends with a carriage return, None that it has no known end."""
        if not text.strip():
            return ()
        if self.format is None:
            self.format = LineFormat.of(text, self.columns, bool(returns))
            if self.format.header is not None:
                return ()
        if self.format.header is not None and returns not in (None, self.format.returns):
            return (LineFault("unreadable line", number, "it ends in another way than the first line"),)
        if self.columns.row_id is None and (pair := self.format.plain_pair(text)) is not None:
            return (pair,)
        row = self.format.row(text, number)
        if isinstance(row, StreamRow) and self.columns.row_id is None:
            assert row.prediction is not None
            assert row.outcome is not None
            return ((row.prediction, row.outcome),)
        return (row,) if isinstance(row, LineFault) else self.waiting.take(row)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Lines that were read become rows that are counted; an error on the way leaves a state not worth saving."""
        self._whole = False
        yield
        self._whole = True

    def save(self, file: Path | None) -> None:
        """Write the state, whole or not at all; nothing without a file, or after an error between lines and rows."""
        if file is not None and self._whole:
            with atomically(file) as fresh:
                fresh.write_text(self.to_json(), encoding="utf-8")

    def to_json(self) -> str:
        """The state as JSON."""
        fields = {
            "columns": asdict(self.columns),
            "pending": self.pending,
            "remedy": self.remedy,
            "position": asdict(self.lines.position),
            "header": None if self.format is None else self.format.header,
            "delimiter": None if self.format is None else self.format.delimiter,
            "returns": None if self.format is None else self.format.returns,
            "held": self._held,
            "counts": self.faults.counts,
            "first": [asdict(fault) for fault in self.faults.first],
            "waiting": self.waiting.entries,
            "monitor": self.monitor.to_json(),
        }
        return saved("Watch", _STATE_VERSION, fields)

    @classmethod
    @damage_refused()
    def from_json(cls, text: str) -> Self:
        """The state that `to_json` gave."""
        state = loaded(text, "Watch", _STATE_VERSION, _FIELDS)
        columns = StreamColumns(**state["columns"])
        _check_texts(*columns.names, *([] if state["remedy"] is None else [state["remedy"]]))
        monitor = Monitor.from_json(state["monitor"])
        watched = cls(columns, checked_count("pending", state["pending"]), monitor, state["remedy"])
        watched.resumed = Position.restored(state["position"])
        if state["delimiter"] is not None:
            watched.format = LineFormat.restored(columns, state["header"], state["delimiter"], state["returns"])
        for number, text in state["held"][:HELD]:
            _check_texts(text)
            watched._held.append((checked_count("a line", number), text))
        watched.faults = FaultLog.restored(state["counts"], state["first"])
        watched.waiting = PendingPredictions.restored(watched.pending, state["waiting"])
        return watched


def _check_texts(*values: object) -> None:
    for value in values:
        refuse_other("a name", value, str, "text")


def _settings(monitor: Monitor) -> dict[str, Any]:
    return {"window": monitor.window, "decay": monitor.decay, "alarm_rate": monitor.alarm_rate}
