"""The state of a watch: the position in the stream, the monitor, the faults and what waits, saved in one file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, final

from trustcal.monitoring.following import Lines, Position
from trustcal.monitoring.line_parser import FaultLog, LineFault, LineFormat, StreamColumns, StreamRow
from trustcal.monitoring.monitor import Monitor
from trustcal.monitoring.pending import Pair, PendingPredictions
from trustcal.states import damage_refused, loaded, saved
from trustcal.writing import atomically

_STATE_VERSION = 1
_FIELDS = ("columns", "pending", "position", "header", "delimiter", "counts", "first", "waiting", "monitor")


@final
class WatchState:
    """Everything that a watch knows, and its file, if it has one."""

    def __init__(self, columns: StreamColumns, pending: int, monitor: Monitor) -> None:
        self.columns = columns
        self.pending = pending
        self.monitor = monitor
        self.lines = Lines()
        self.resumed: Position | None = None
        self.format: LineFormat | None = None
        self.waiting = PendingPredictions(pending)
        self.faults = FaultLog({}, ())

    @classmethod
    def begun(cls, columns: StreamColumns, pending: int, monitor: Monitor, file: Path | None) -> Self:
        """A new state, or the one in the file, which must have the same settings."""
        if file is not None and (file.is_dir() or not file.parent.is_dir()):
            raise ValueError(f"{file} cannot be written: name a file in a folder that exists.")
        if file is None or not file.exists():
            return cls(columns, pending, monitor)
        if not file.is_file():
            raise ValueError(f"{file} is a device or a pipe: name a file for the state.")
        try:
            state = cls.from_json(file.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise ValueError(f"{file} is not UTF-8 text, so it is not the state of a watch.") from None
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        for what, here, there in (
            ("columns", columns.names, state.columns.names),
            ("pending", pending, state.pending),
            ("monitor", _settings(monitor), _settings(state.monitor)),
        ):
            if here != there:
                raise ValueError(
                    f"{file} was saved with other {what}: {there}, not {here}. Use the same, or another state file."
                )
        return state

    def pairs(self, lines: Iterable[bytes]) -> list[Pair]:
        """Parse whole lines: the pairs that are ready for the monitor."""
        whole = list(lines)
        taken: list[Pair | LineFault] = []
        for number, line in enumerate(whole, self.lines.count - len(whole) + 1):
            taken += self._taken(line, number)
        self.faults = self.faults.with_more(fault for fault in taken if isinstance(fault, LineFault))
        return [pair for pair in taken if not isinstance(pair, LineFault)]

    def _taken(self, line: bytes, number: int) -> Iterable[Pair | LineFault]:
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r")
        except UnicodeDecodeError:
            if self.format is None:
                raise ValueError(
                    f"the first line is not UTF-8 text: {line[:20]!r}. Watch plain CSV or JSON lines."
                ) from None
            return (LineFault("unreadable line", number, "not UTF-8"),)
        if not text.strip():
            return ()
        if self.format is None:
            self.format = LineFormat.of(text, self.columns)
            if self.format.header is not None:
                return ()
        if self.columns.row_id is None and (pair := self.format.plain_pair(text)) is not None:
            return (pair,)
        row = self.format.row(text, number)
        if isinstance(row, StreamRow) and self.columns.row_id is None:
            assert row.prediction is not None
            assert row.outcome is not None
            return ((row.prediction, row.outcome),)
        return (row,) if isinstance(row, LineFault) else self.waiting.take(row)

    def save(self, file: Path | None) -> None:
        """Write the state, whole or not at all; without a file nothing."""
        if file is not None:
            with atomically(file) as fresh:
                fresh.write_text(self.to_json(), encoding="utf-8")

    def to_json(self) -> str:
        """The state as JSON."""
        fields = {
            "columns": asdict(self.columns),
            "pending": self.pending,
            "position": asdict(self.lines.position),
            "header": None if self.format is None else self.format.header,
            "delimiter": None if self.format is None else self.format.delimiter,
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
        watched = cls(columns, state["pending"], Monitor.from_json(state["monitor"]))
        watched.resumed = Position(**state["position"])
        if state["delimiter"] is not None:
            header = state["header"]
            watched.format = LineFormat(columns, None if header is None else tuple(header), state["delimiter"])
        watched.faults = FaultLog(state["counts"], tuple(LineFault(**fault) for fault in state["first"]))
        watched.waiting = PendingPredictions(state["pending"], [tuple(entry) for entry in state["waiting"]])
        return watched


def _settings(monitor: Monitor) -> dict[str, Any]:
    return {"window": monitor.window, "decay": monitor.decay, "alarm_rate": monitor.alarm_rate}
