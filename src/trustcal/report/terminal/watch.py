"""A watched stream: a live page in a terminal, occasional lines elsewhere, and a report at the end."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from functools import partial
from math import isinf, log10
from typing import final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trustcal.checking import checked_count
from trustcal.formats import p_value, printable
from trustcal.measures.table import MEASURES
from trustcal.monitoring import FaultLog, Monitor, Snapshot, WatchReport, WatchView, WindowMeasure
from trustcal.monitoring.line_parser import POLICY
from trustcal.monitoring.monitor import DRAWS
from trustcal.report.terminal.console import SafeConsole, number_table, plain_text

WIDTH = 88
PAUSE = 1.0
"""Seconds between pages; longer if a page takes long, so that drawing takes at most a fifth of the time."""
_BARS = "▁▂▃▄▅▆▇█"


@final
class TerminalView(WatchView):
    """A live page in a terminal; elsewhere a line every `every` rows, and one for each fault and for the alarm."""

    def __init__(self, every: int = 1000, console: Console | None = None) -> None:
        self._every = checked_count("every", every)
        self._console = SafeConsole() if console is None else console
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._source = ""
        self._next = 0.0
        self._shown = 0
        self._trail: deque[float] = deque(maxlen=40)
        self._alarm_told = False
        self._faults_told = 0
        self._suggestion: str | None = None

    def open(self, source: str, rounds: int) -> None:
        """Start the live page."""
        self._source = source
        if self._console.is_terminal:
            self._shown = -1
            self._live.start()
        else:
            self._shown = rounds

    def close(self) -> None:
        """Remove the live page."""
        self._live.stop()

    def suggest(self, suggestion: object) -> None:
        """Show a suggestion, such as to learn a remedy again, from now on; outside terminals, print it."""
        self._suggestion = str(suggestion)
        if not self._console.is_terminal:
            self._print(self._suggestion)

    def rows_until_update(self, rounds: int) -> int:
        """The rest of `every` rows; in a terminal, time decides about the next page."""
        return 1 << 16 if self._console.is_terminal else self._every - rounds % self._every

    def update(self, monitor: Monitor, faults: FaultLog, waiting: int) -> None:
        """Draw the page again if anything has changed; outside terminals, print lines."""
        if self._console.is_terminal:
            self._draw(monitor, faults, waiting)
            return
        for fault in faults.first[self._faults_told :]:
            self._print(str(fault))
        self._faults_told = len(faults.first)
        if monitor.alarmed_at is not None and not self._alarm_told:
            self._alarm_told = True
            self._print(monitor.alarm.verdict(monitor.rounds))
        if monitor.rounds % self._every == 0 and monitor.rounds != self._shown:
            self._shown = monitor.rounds
            self._print(str(monitor.current(draws=0)))

    def _draw(self, monitor: Monitor, faults: FaultLog, waiting: int) -> None:
        begin, seen = time.monotonic(), monitor.rounds + faults.total + waiting
        if begin < self._next or self._shown == seen:
            return
        self._shown = seen
        snapshot = monitor.current() if monitor.rounds else None
        page = [Text(self._source, style="dim"), *_page(snapshot, monitor.rounds, box.SIMPLE)]
        if snapshot is not None:
            alarm = snapshot.alarm
            self._trail.append(alarm.log10_e)
            bars = spark(self._trail, -log10(alarm.rate))
            page.append(Text(f"e-value {alarm.e_text}  {bars}  (alarm at {1 / alarm.rate:.3g})", style="dim"))
        if self._suggestion is not None:
            page.append(Text(self._suggestion))
        asides = f"{faults.total:,} fault{'s' * (faults.total != 1)}."
        asides += f"  {waiting:,} waiting." if waiting else ""
        page.append(Text(f"{asides}  Press Ctrl-C to stop.", style="dim"))
        self._live.update(Group(*page), refresh=True)
        taken = time.monotonic() - begin
        self._next = begin + taken + max(PAUSE, 4 * taken)

    def report(self, report: WatchReport) -> None:
        """Print the report in place of the page."""
        self._live.stop()
        if self._console.is_terminal:
            told = Text("" if self._suggestion is None else self._suggestion)
            self._console.print(Group(_report(report, box.SIMPLE), told), width=min(self._console.width, WIDTH))
        else:
            self._print(plain_text(partial(_report, report), WIDTH))

    def _print(self, text: str) -> None:
        print(
            printable(text, kept="\n"), file=self._console.file, flush=True
        )  # rich would end the program at a closed pipe


def spark(values: Iterable[float], top: float) -> str:
    """Bars for powers of ten, from a tenth or less up to the alarm (`top`), or to the highest value if that is higher.

    >>> spark([-1.0, 0.0, 1.0, 2.0], top=2.0), spark([0.0, float("inf")], top=2.0)
    ('▁▃▆█', '▃█')
    """
    shown = list(values)
    high = max([top, *(value for value in shown if not isinf(value))])
    steps = [min(max((value + 1) / (high + 1), 0.0), 1.0) for value in shown]
    return "".join(_BARS[int(step * (len(_BARS) - 1) + 0.5)] for step in steps)


def _page(snapshot: Snapshot | None, rounds: int, frame: box.Box) -> list[RenderableType]:
    if snapshot is None:
        return [Text("No rows yet.", style="bold")]
    alarm = snapshot.alarm
    style = "bold" if alarm.alarmed_at is None else "bold red"
    parts: list[RenderableType] = [Text(alarm.verdict(rounds), style=style)]
    if alarm.alarmed_at is not None and alarm.pays != alarm.hurt and alarm.hurt.log10_e > 1:
        parts.append(Text(f"Worst bin: {alarm.hurt}."))
    return [*parts, _measures(snapshot, frame)]


def _measures(snapshot: Snapshot, frame: box.Box) -> Table:
    effective = f", effective {snapshot.effective_rows:,.0f}" * (round(snapshot.effective_rows) != snapshot.rows)
    rows = f"last {snapshot.rows:,} row{'s' * (snapshot.rows != 1)}{effective}"
    table = number_table(frame, rows, "now", "if calibrated", "95 % below")
    table.add_column("")
    for key, measure in snapshot.measures.items():
        floor, quantile = _number(measure.floor), _number(measure.quantile_95)
        table.add_row(MEASURES[key].title, _value(measure), floor, quantile, "")
    table.add_row("Mean prediction", f"{snapshot.mean_prediction:.4f}", "", "", f"base rate {snapshot.base_rate:.4f}")
    if snapshot.p_value is not None:
        table.add_row("p-value of calibration", p_value(snapshot.p_value, DRAWS), "", "", "combined test")
    return table


def _value(measure: WindowMeasure) -> Text:
    """Bold above the 95 % quantile of calibrated windows."""
    unusual = measure.quantile_95 is not None and measure.value > measure.quantile_95
    return Text(f"{measure.value:.4f}", style="bold" if unusual else "")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _report(report: WatchReport, frame: box.Box) -> RenderableType:
    parts = [Text(report.summary, style="dim"), *_page(report.snapshot, report.rounds, frame)]
    if report.waiting:
        parts.append(Text(report.waiting_summary))
    if report.faults.total:
        parts.append(_faults(report.faults, frame))
    return Group(*parts)


def _faults(faults: FaultLog, frame: box.Box) -> Table:
    table = number_table(frame, "fault", "count")
    table.add_column("handling")
    table.add_column("first lines")
    for kind, count in faults.counts.items():
        first = [f"line {fault.line}: {fault.reason}" for fault in faults.first if fault.kind == kind]
        table.add_row(kind, f"{count:,}", Text(POLICY[kind]), Text("\n".join(first)))
    return table
