"""`watch`: a monitor fed from a growing file or a pipe."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import checked_count
from trustcal.monitoring.following import Chunks, FileChunks, PipeChunks
from trustcal.monitoring.line_parser import StreamColumns
from trustcal.monitoring.monitor import Monitor
from trustcal.monitoring.pending import Pair
from trustcal.monitoring.view import Silent, WatchReport, WatchView
from trustcal.monitoring.watch_state import WatchState
from trustcal.writing import only_writer

PATIENCE = 0.2
"""Seconds between looks at a stream that has nothing new."""


class AppliedRemedy(Protocol):
    """A remedy that is applied to scores before they are served, such as `trustcal.remedies.Remedy`."""

    @property
    def fingerprint(self) -> str:
        """Tells it from every other remedy."""

    def apply_to_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """What is served for each score."""


def watch(
    source: str | Path,
    *,
    prediction: str,
    outcome: str,
    row_id: str | None = None,
    pending: int = 1000,
    remedy: AppliedRemedy | None = None,
    monitor: Monitor | None = None,
    state: str | Path | None = None,
    follow: bool = True,
    replay: bool = False,
    save_seconds: float = 5.0,
    view: WatchView | None = None,
) -> WatchReport:
    """Feed a monitor from a growing file or a pipe, until the end of the stream or an interrupt.

    The stream is CSV with a header, or JSON lines, one row per line.  Invalid lines are counted and skipped.  SIGINT,
    SIGTERM and SIGHUP end the watch in order.  With `state`, the counts and the position in the stream are saved
    together; where the file exists the watch resumes from it, and neither loses a row nor counts one twice.  A file
    must then begin with the bytes already counted; a pipe brings new rows under a new header, or with `replay` all
    rows again.  One process at a time may use a state.

    Parameters
    ----------
    source : str or Path
        A file, or "-" for the standard input.
    prediction, outcome : str
        Names of the columns.
    row_id : str, optional
        Name of an id column.  Predictions and outcomes may then be on separate lines with the same id.
    pending : int, default 1000
        Maximum number of predictions that wait for outcomes.
    remedy : Remedy, optional
        Applied to the predictions of the stream; what it gives, which is what is served, is monitored.  Not for noise
        or for a remedy learned by group.
    monitor : Monitor, optional
        Receives the rows.  Default `Monitor()`.
    state : str or Path, optional
        File for the state, saved every `save_seconds` and at the end.  Columns, `pending`, the remedy and the monitor's
        settings must be the same when it is resumed.
    follow : bool, default True
        Wait for more rows at the end of a file.
    replay : bool, default False
        The pipe starts from the beginning: skip what the state has counted.
    save_seconds : float, default 5
        Seconds between saves.
    view : WatchView, optional
        Shows the watch while it runs.  Default: nothing is shown.

    Returns
    -------
    WatchReport
        Measures, alarm, faults and what waits.  O(1) per row.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "served.csv"
    ...     _ = file.write_text("p,y\\n0.2,0\\n0.7,1\\n1.2,1\\n")
    ...     report = watch(file, prediction="p", outcome="y", follow=False)
    >>> report.rounds, report.faults.counts
    (2, {'bad prediction': 1})
    """
    columns = StreamColumns(prediction, outcome, row_id)
    if len(set(columns.names)) < len(columns.names):
        raise ValueError(f"the columns must be different, but are {', '.join(columns.names)}.")
    file = None if state is None else Path(state)
    if file is not None and os.path.realpath(file) == os.path.realpath(source):
        raise ValueError(f"the state must be in a file of its own, but {file} is the stream.")
    shown, name = view or Silent(), "the standard input" if str(source) == "-" else str(source)
    with ExitStack() as stack:
        if file is not None:
            stack.enter_context(only_writer(file))
        applied = None if remedy is None else remedy.fingerprint
        watched = WatchState.begun(columns, checked_count("pending", pending), monitor or Monitor(), applied, file)
        chunks = stack.enter_context(closing(_opened(source, follow)))
        interrupted = stack.enter_context(_interrupts())
        stack.enter_context(closing(shown))
        shown.open(name, watched.monitor.rounds)
        if watched.resumed is not None and (replay or str(source) != "-"):
            watched.lines.resume(chunks, watched.resumed, name)
        elif watched.resumed is not None:
            watched.format = None
        try:
            finished = _followed(chunks, watched, remedy, shown, file, save_seconds, interrupted)
        except ValueError as error:
            if watched.format is None:  # refused at the first line: nothing was counted
                raise ValueError(f"{name}: {error}") from None
            watched.save(file)
            shown.report(_report(name, watched, finished=False))
            raise
        except Exception:  # of the view, such as a reader that has gone, or of the source
            watched.save(file)
            raise
        watched.save(file)
        report = _report(name, watched, finished)
        shown.report(report)
    return report


def _followed(
    chunks: Chunks,
    watched: WatchState,
    remedy: AppliedRemedy | None,
    view: WatchView,
    file: Path | None,
    save_seconds: float,
    interrupted: threading.Event,
) -> bool:
    """Feed the monitor until the end of the stream (True) or an interrupt (False)."""
    save_at = time.monotonic() + save_seconds
    while not interrupted.is_set():
        chunk = chunks.read(PATIENCE)
        lines = watched.lines.last() if chunk == b"" else watched.lines.cut(chunk or b"")
        with watched.changing():
            failed = _feed(watched, watched.pairs(lines, ended=chunk == b""), remedy, view)
        if failed is not None:
            raise failed
        if chunk == b"":
            return True
        if time.monotonic() >= save_at:
            watched.save(file)
            save_at = time.monotonic() + save_seconds
    return False


def _feed(watched: WatchState, pairs: list[Pair], remedy: AppliedRemedy | None, view: WatchView) -> Exception | None:
    """Feed pairs, in steps after which the view may show something; return its error once all are fed."""
    failed: Exception | None = None
    if remedy is not None and pairs:
        served = remedy.apply_to_scores(np.array([q for q, _ in pairs]))
        pairs = [(q, y) for q, (_, y) in zip(served.tolist(), pairs, strict=True)]
    while True:
        step = len(pairs) if failed else view.rows_until_update(watched.monitor.rounds)
        now, pairs = pairs[:step], pairs[step:]
        if now:
            watched.monitor.learn_many([q for q, _ in now], [y for _, y in now])
        if failed is None:
            try:
                view.update(watched.monitor, watched.faults, len(watched.waiting))
            except Exception as error:
                failed = error
        if not pairs:
            return failed


def _report(name: str, watched: WatchState, finished: bool) -> WatchReport:
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
    """An event that SIGINT, SIGTERM and SIGHUP set, so that the current step is completed first."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield event
        return
    known = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]  # Windows has no SIGHUP
    heard = [number for number in known if number is not None and signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, lambda *_: event.set()) for number in heard}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
