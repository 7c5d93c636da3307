"""A watched stream: a page that changes in a terminal, a line now and then elsewhere, and a report at the end."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from functools import partial
from math import isinf, log10
from types import TracebackType
from typing import TYPE_CHECKING, Self, final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trustcal.report.terminal.console import plain_text

if TYPE_CHECKING:
    from trustcal.monitoring import Alarm, Faults, Monitor, Reading, Snapshot, WatchReport

WIDTH = 88
PAUSE = 1.0
"""Seconds between pages, and longer where a page takes long: looking never takes more than a fifth of the time."""
_BARS = "▁▂▃▄▅▆▇█"


@final
class View:
    """What one sees while a stream is watched."""

    def __init__(self, name: str, every: int, console: Console | None) -> None:
        self._name = name
        self._every = every
        self._console = Console(highlight=False, markup=False) if console is None else console
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._next = 0.0
        self._shown = -1
        self._trail: deque[float] = deque(maxlen=40)
        self._alarm_told = False
        self._faults_told = 0

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def until_next(self, monitor: Monitor) -> int:
        """How many rows may come before there is something to show."""
        return 1 << 16 if self._console.is_terminal else self._every - monitor.rounds % self._every

    def fed(self, monitor: Monitor) -> None:
        """Rows have come: outside terminals, perhaps a line."""
        if self._console.is_terminal:
            return
        if monitor.alarmed_at is not None and not self._alarm_told:
            self._alarm_told = True
            self._print(verdict(monitor.alarm, monitor.rounds))
        if monitor.rounds % self._every == 0:
            self._print(line(monitor.current(draws=0)))

    def found(self, faults: Faults) -> None:
        """Faults have been found: outside terminals, a line for each of the first few of a kind."""
        if not self._console.is_terminal:
            for fault in faults.first[self._faults_told :]:
                self._print(f"line {fault.line}: {fault.kind}: {fault.reason} ({faults.policy(fault.kind)})")
        self._faults_told = len(faults.first)

    def tick(self, monitor: Monitor, faults: Faults, waiting: int) -> None:
        """Time has passed: in a terminal, perhaps a new page."""
        begin = time.monotonic()
        if (
            not self._console.is_terminal
            or begin < self._next
            or self._shown == monitor.rounds + faults.total + waiting
        ):
            return
        self._shown = monitor.rounds + faults.total + waiting
        snapshot = monitor.current() if monitor.rounds else None
        page = [Text(self._name, style="dim"), *_page(snapshot, monitor.rounds, box.SIMPLE)]
        if snapshot is not None:
            self._trail.append(snapshot.alarm.log10_e)
            value, top = e_value(snapshot.alarm.log10_e), -log10(snapshot.alarm.rate)
            page.append(Text(f"e-value {value}  {spark(self._trail, top)}  (alarm at {10**top:.3g})", style="dim"))
        page.append(Text(_asides(faults, waiting) + "  Ctrl-C ends the watch.", style="dim"))
        self._live.update(Group(*page), refresh=True)
        taken = time.monotonic() - begin
        self._next = begin + taken + max(PAUSE, 4 * taken)

    def close(self, report: WatchReport) -> None:
        """The report, where the page was."""
        self._live.stop()
        if self._console.is_terminal:
            self._console.print(_report(report, box.SIMPLE), width=min(self._console.width, WIDTH))
        else:
            self._print(plain(report))

    def _print(self, text: str) -> None:
        print(text, file=self._console.file, flush=True)  # and not by rich, which ends the program at a closed pipe


def plain(report: WatchReport) -> str:
    """The report as plain text."""
    return plain_text(partial(_report, report), WIDTH)


def line(snapshot: Snapshot) -> str:
    """The snapshot in one line."""
    cells = "" if snapshot.cells is None else f" on {snapshot.cells} cells"
    return (
        f"row {snapshot.rounds}  dtc {snapshot.dtc.value:.4f}  smcal {snapshot.smcal.value:.4f}  "
        f"ece {snapshot.ece.value:.4f}  cdl {snapshot.cdl.value:.4f}{cells}  "
        f"e-value {e_value(snapshot.alarm.log10_e)}"
    )


def verdict(alarm: Alarm, rounds: int) -> str:
    """Whether to go on believing the stream, in a sentence or two."""
    if alarm.alarmed_at is None:
        return (
            f"No alarm in {_rows(rounds)}. Bets against calibration are worth {e_value(alarm.log10_e)} per unit; "
            f"a calibrated stream ever reaches {1 / alarm.rate:g} with probability at most {alarm.rate:g}."
        )
    since = f"ALARM at row {alarm.alarmed_at:,}"
    if alarm.failed_at == alarm.alarmed_at:
        return f"{since}: a prediction of 0 or 1 failed there. Calibrated ones never do."
    return f"{since}: {alarm.pays}. A calibrated stream ever alarms with probability at most {alarm.rate:g}."


def e_value(log10_e: float) -> str:
    """A number that may be far too large for a float.

    >>> e_value(-0.5), e_value(2.0), e_value(400.25), e_value(float("inf"))
    ('0.316', '100', '10^400', 'infinite')
    """
    if isinf(log10_e):
        return "infinite"
    return f"{10**log10_e:.3g}" if log10_e < 6 else f"10^{log10_e:.0f}"


def spark(values: Iterable[float], top: float) -> str:
    """Bars for powers of ten, from a tenth or less up to the alarm (`top`), or to the highest where that is higher.

    >>> spark([-1.0, 0.0, 1.0, 2.0], top=2.0), spark([0.0, float("inf")], top=2.0)
    ('▁▃▆█', '▃█')
    """
    shown = list(values)
    high = max([top, *(value for value in shown if not isinf(value))])
    steps = [min(max((value + 1) / (high + 1), 0.0), 1.0) for value in shown]
    return "".join(_BARS[int(step * (len(_BARS) - 1) + 0.5)] for step in steps)


def _page(snapshot: Snapshot | None, rounds: int, frame: box.Box) -> list[RenderableType]:
    if snapshot is None:
        return [Text("No row yet.", style="bold")]
    alarm = snapshot.alarm
    style = "bold" if alarm.alarmed_at is None else "bold red"
    parts: list[RenderableType] = [Text(verdict(alarm, rounds), style=style)]
    if alarm.alarmed_at is not None and alarm.pays != alarm.hurt and alarm.hurt.log10_e > 1:
        parts.append(Text(f"Of single cells, most is earned by betting that {alarm.hurt}."))
    parts += [_measures(snapshot, frame)]
    return parts


def _measures(snapshot: Snapshot, frame: box.Box) -> Table:
    weighed = round(snapshot.effective_rows) != snapshot.rows
    worth = f", worth {snapshot.effective_rows:,.0f} equal ones" if weighed else ""
    caption = f"last {_rows(snapshot.rows)}{worth}"
    table = Table(box=frame)
    table.add_column(caption)
    for header in ("now", "if calibrated", "95 % below"):
        table.add_column(header, justify="right")
    table.add_column("")
    cells = "" if snapshot.cells is None else f"on {snapshot.cells} cell{'s' * (snapshot.cells > 1)}"
    for name, reading, where in (
        ("Distance to calibration", snapshot.dtc, ""),
        ("Smooth calibration error", snapshot.smcal, ""),
        ("Expected calibration error", snapshot.ece, cells),
        ("Calibration decision loss", snapshot.cdl, cells),
    ):
        table.add_row(name, _value(reading), _number(reading.floor), _number(reading.quantile_95), where)
    table.add_row("Mean prediction", f"{snapshot.mean_prediction:.4f}", "", "", f"base rate {snapshot.base_rate:.4f}")
    return table


def _value(reading: Reading) -> Text:
    """Bold where one calibrated window in twenty, or fewer, shows as much."""
    unusual = reading.quantile_95 is not None and reading.value > reading.quantile_95
    return Text(f"{reading.value:.4f}", style="bold" if unusual else "")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


def _asides(faults: Faults, waiting: int) -> str:
    total = faults.total
    return f"{total:,} fault{'s' * (total != 1)}." + (f"  {waiting:,} predictions wait." if waiting else "")


def _report(report: WatchReport, frame: box.Box) -> RenderableType:
    where = "to its end, line" if report.finished else "up to line"
    parts: list[RenderableType] = [
        Text(f"{report.source}, {where} {report.lines:,}: {_rows(report.rounds)}.", style="dim"),
        *_page(report.snapshot, report.rounds, frame),
    ]
    if report.waiting:
        turn = report.waiting - report.unanswered
        parts.append(Text(f"{report.unanswered:,} predictions wait for their outcome, {turn:,} for their turn."))
    if report.faults.total:
        parts.append(_faults(report.faults, frame))
    return Group(*parts)


def _faults(faults: Faults, frame: box.Box) -> Table:
    table = Table(box=frame)
    table.add_column("fault")
    table.add_column("times", justify="right")
    table.add_column("what is done")
    table.add_column("the first ones")
    for kind, count in faults.counts.items():
        first = [f"line {fault.line}: {fault.reason}" for fault in faults.first if fault.kind == kind]
        table.add_row(kind, f"{count:,}", Text(faults.policy(kind)), Text("\n".join(first)))
    return table
