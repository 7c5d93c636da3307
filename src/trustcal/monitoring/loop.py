"""The engine of `trustcal watch`: bytes to lines to rows to a monitor, with everything counted saved in one file."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

from trustcal.checking import checked_count
from trustcal.monitoring.following import Chunks, FileChunks, Lines, PipeChunks, Position
from trustcal.monitoring.monitor import Monitor, Snapshot
from trustcal.monitoring.pairing import Pair, Waiting
from trustcal.monitoring.parsing import Columns, Fault, Faults, Format, Row
from trustcal.report.terminal.watch import View, plain
from trustcal.states import damage_refused, loaded, saved
from trustcal.writing import atomically

if TYPE_CHECKING:
    from rich.console import Console

PATIENCE = 0.2
"""Seconds between looks at a stream that has nothing new."""
_STATE_VERSION = 1
_FIELDS = ("columns", "pending", "position", "header", "delimiter", "counts", "first", "waiting", "monitor")


@final
@dataclass(frozen=True)
class WatchReport:
    """What came of a stream so far."""

    source: str
    lines: int
    rounds: int
    """How many pairs the monitor has been fed."""
    waiting: int
    """How many predictions wait, for their outcome or for their turn."""
    unanswered: int
    """How many of them wait for their own outcome."""
    faults: Faults
    snapshot: Snapshot | None
    """None if there was no pair."""
    finished: bool
    """Whether the stream came to its end; else it was interrupted, or cut."""

    def to_json(self) -> str:
        """All numbers, by the names of the fields."""
        snapshot = None if self.snapshot is None else json.loads(self.snapshot.to_json())
        return json.dumps({**asdict(self), "snapshot": snapshot}, indent=2)

    def __str__(self) -> str:
        return plain(self)


@final
class _Watch:
    """All that is saved: where in the stream we are, and what was made of it so far."""

    def __init__(self, columns: Columns, pending: int, monitor: Monitor) -> None:
        self.columns = columns
        self.pending = pending
        self.monitor = monitor
        self.lines = Lines()
        self.resumed: Position | None = None
        self.format: Format | None = None
        self.waiting = Waiting(pending)
        self.faults = Faults({}, ())

    def pairs(self, lines: Iterable[bytes]) -> list[Pair]:
        """What whole lines say."""
        whole = list(lines)
        taken: list[Pair | Fault] = []
        for number, line in enumerate(whole, self.lines.count - len(whole) + 1):
            taken += self._taken(line, number)
        return self._sorted(taken)

    def _taken(self, line: bytes, number: int) -> Iterable[Pair | Fault]:
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r")
        except UnicodeDecodeError:
            if self.format is None:
                raise ValueError(
                    f"the first line is not UTF-8 text: {line[:20]!r}. Watch plain CSV or JSON lines."
                ) from None
            return (Fault("unreadable line", number, "not UTF-8"),)
        if not text.strip():
            return ()
        if self.format is None:
            self.format = Format.of(text, self.columns)
            if self.format.header is not None:
                return ()
        if self.columns.row_id is None and (pair := self.format.plain_pair(text)) is not None:
            return (pair,)
        row = self.format.row(text, number)
        if isinstance(row, Row) and self.columns.row_id is None:
            assert row.prediction is not None
            assert row.outcome is not None
            return ((row.prediction, row.outcome),)
        return (row,) if isinstance(row, Fault) else self.waiting.take(row)

    def _sorted(self, taken: Iterable[Pair | Fault]) -> list[Pair]:
        found = list(taken)
        self.faults = self.faults.with_more(fault for fault in found if isinstance(fault, Fault))
        return [pair for pair in found if not isinstance(pair, Fault)]

    def to_json(self) -> str:
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
        state = loaded(text, "Watch", _STATE_VERSION, _FIELDS)
        columns = Columns(**state["columns"])
        watched = cls(columns, state["pending"], Monitor.from_json(state["monitor"]))
        watched.resumed = Position(**state["position"])
        if state["delimiter"] is not None:
            header = state["header"]
            watched.format = Format(columns, None if header is None else tuple(header), state["delimiter"])
        watched.faults = Faults(state["counts"], tuple(Fault(**fault) for fault in state["first"]))
        watched.waiting = Waiting(state["pending"], [tuple(entry) for entry in state["waiting"]])
        return watched


def watch(
    source: str | Path,
    *,
    prediction: str,
    outcome: str,
    row_id: str | None = None,
    monitor: Monitor,
    state: str | Path | None = None,
    follow: bool = True,
    replay: bool = False,
    pending: int = 1000,
    save_seconds: float = 5.0,
    every: int = 1000,
    console: Console | None = None,
) -> WatchReport:
    """Feed a monitor from a growing file, or from the standard input ("-"), until its end or an interrupt.

    The stream is CSV with a header, or JSON lines; a row is a line.  With `follow` a file never ends, and a last line
    without its end waits for the rest.  With `row_id`, predictions and outcomes may come on separate lines of the same
    id; at most `pending` predictions wait, also beyond the end of the stream, in the state.  What is no row is counted,
    and the stream goes on.

    SIGINT and SIGTERM end it in order.  With `state`, everything counted and the place in the stream are saved there
    together, every `save_seconds` and at the end; where the file exists, the watch goes on from it, and neither loses a
    row nor counts one twice, however it was stopped.  The columns, `pending` and the monitor's settings must then be
    the same.  A file must begin with what was counted.  A pipe brings new rows, under a header of their own; with
    `replay` it brings all rows again, and those counted are passed over.

    A terminal shows a page that changes; elsewhere there is a line after `every` pairs.  docs/monitoring.md has an
    example.

    O(1) per row, and a look at the window for every page or line.
    """
    columns = Columns(prediction, outcome, row_id)
    if len(set(columns.names)) < len(columns.names):
        raise ValueError(f"the columns must be different, but are {', '.join(columns.names)}.")
    checked_count("pending", pending)
    checked_count("every", every)
    if state is not None and Path(state).resolve() == Path(source).resolve():
        raise ValueError(f"the state must be a file of its own, but {state} is the stream.")
    name = "the standard input" if str(source) == "-" else str(source)
    watched = _begun(columns, pending, monitor, None if state is None else Path(state))
    view = View(name, every, console)
    with closing(_opened(source, follow)) as chunks, _interrupts() as interrupted, view:
        if watched.resumed is not None and (replay or str(source) != "-"):
            watched.lines.resume(chunks, watched.resumed, name)
        elif watched.resumed is not None:
            watched.format = None
        try:
            finished = _followed(chunks, watched, view, state, save_seconds, interrupted)
        except ValueError as error:
            if watched.format is None:  # refused at its first line: nothing was counted
                raise ValueError(f"{name}: {error}") from None
            _save(watched, state)
            view.close(_report(name, watched, finished=False))
            raise
        _save(watched, state)
        report = _report(name, watched, finished)
        view.close(report)
    return report


def _followed(
    chunks: Chunks,
    watched: _Watch,
    view: View,
    state: str | Path | None,
    save_seconds: float,
    interrupted: threading.Event,
) -> bool:
    """Feed the monitor until the end of the stream (True) or an interrupt (False)."""
    save_at = time.monotonic() + save_seconds
    while not interrupted.is_set():
        chunk = chunks.read(PATIENCE)
        if chunk == b"":
            _feed(watched, watched.pairs(watched.lines.last()), view)
            return True
        if chunk is not None:
            _feed(watched, watched.pairs(watched.lines.cut(chunk)), view)
        view.tick(watched.monitor, watched.faults, len(watched.waiting))
        if time.monotonic() >= save_at:
            _save(watched, state)
            save_at = time.monotonic() + save_seconds
    return False


def _feed(watched: _Watch, pairs: list[Pair], view: View) -> None:
    """Feed pairs, stopping where the view wants to show something."""
    view.found(watched.faults)
    while pairs:
        now, pairs = pairs[: view.until_next(watched.monitor)], pairs[view.until_next(watched.monitor) :]
        watched.monitor.learn_many([q for q, _ in now], [y for _, y in now])
        view.fed(watched.monitor)


def _begun(columns: Columns, pending: int, monitor: Monitor, state: Path | None) -> _Watch:
    """A new watch, or the one that was saved, if it is the same."""
    if state is not None and (state.is_dir() or not state.parent.is_dir()):
        raise ValueError(f"{state} cannot be written: name a file in a folder that exists.")
    if state is None or not state.exists():
        return _Watch(columns, pending, monitor)
    if not state.is_file():
        raise ValueError(f"{state} is a device or a pipe: name a file for the state.")
    try:
        watched = _Watch.from_json(state.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{state} is no text in UTF-8, so it is not the state of a watch.") from None
    except ValueError as error:
        raise ValueError(f"{state}: {error}") from None
    except (AttributeError, IndexError, KeyError, TypeError):
        raise ValueError(f"{state} was changed since it was saved: not all its fields are what they were.") from None
    for what, here, there in (
        ("columns", columns.names, watched.columns.names),
        ("pending", pending, watched.pending),
        ("monitor", _settings(monitor), _settings(watched.monitor)),
    ):
        if here != there:
            raise ValueError(
                f"{state} was saved with other {what}: {there}, not {here}. Use another state, or the same."
            )
    return watched


def _settings(monitor: Monitor) -> dict[str, Any]:
    return {"window": monitor.window, "decay": monitor.decay, "alarm_rate": monitor.alarm_rate}


def _save(watched: _Watch, state: str | Path | None) -> None:
    if state is not None:
        with atomically(state) as fresh:
            fresh.write_text(watched.to_json(), encoding="utf-8")


def _report(name: str, watched: _Watch, finished: bool) -> WatchReport:
    monitor = watched.monitor
    return WatchReport(
        source=name,
        lines=watched.lines.count,
        rounds=monitor.rounds,
        waiting=len(watched.waiting),
        unanswered=watched.waiting.unanswered,
        faults=watched.faults,
        snapshot=monitor.current() if monitor.rounds else None,
        finished=finished,
    )


def _opened(source: str | Path, follow: bool) -> Chunks:
    if str(source) != "-":
        return FileChunks(Path(source), follow)
    if sys.stdin is None:
        raise ValueError("the standard input is closed: pipe a stream into it, or name a file.")
    return PipeChunks(sys.stdin.fileno())


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set, so that what was begun is finished first."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield event
        return
    before = {number: signal.signal(number, lambda *_: event.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
