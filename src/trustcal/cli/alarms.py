"""What trustcal watch does at an alarm: run a command, and say when to learn a remedy again."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, final

from trustcal.monitoring import FaultLog, Monitor, WatchReport, WatchView

if TYPE_CHECKING:
    from trustcal.report.terminal.watch import TerminalView
    from trustcal.report.terminal.watch_lines import JsonLinesView

_STDERR = 2
"""The command prints to the standard error, so that lines of JSON stay whole."""


@final
class AlarmView(WatchView):
    """Passes everything on to another view; at the alarm it runs a command, and then looks for a better remedy.

    The command is run once, by the shell, with the measures as JSON on its standard input, and TRUSTCAL_SOURCE and
    TRUSTCAL_ROW in its environment.  The watch waits for it.  An alarm that a resumed state already had is not new.
    """

    def __init__(self, view: TerminalView | JsonLinesView, command: str | None, every: int) -> None:
        self._view, self._command, self._every = view, command, every
        self._source = ""
        self._told = False
        self._looked = 0
        self._suggested = False
        self._monitor: Monitor | None = None

    def open(self, source: str, rounds: int) -> None:
        """Remember where the stream begins."""
        self._source, self._looked = source, rounds
        self._view.open(source, rounds)

    def rows_until_update(self, rounds: int) -> int:
        """As often as the view wants, and at every multiple of `every` rows, where a better remedy is looked for."""
        return min(self._view.rows_until_update(rounds), self._every - rounds % self._every)

    def update(self, monitor: Monitor, faults: FaultLog, waiting: int) -> None:
        """Show it; at a new alarm, run the command."""
        if self._monitor is None:  # the alarm of a resumed state is told, but not acted on again
            self._told = monitor.alarmed_at is not None and monitor.alarmed_at <= self._looked
        self._monitor = monitor
        self._view.update(monitor, faults, waiting)
        if monitor.alarmed_at is None:
            return
        if not self._told:
            self._told = True
            self._run(monitor)
        if monitor.rounds % self._every == 0 and monitor.rounds != self._looked:
            self._looked = monitor.rounds
            self._suggest(monitor)

    def report(self, report: WatchReport) -> None:
        """Look once more for a better remedy, then show the report."""
        if self._monitor is not None and self._monitor.alarmed_at is not None:
            self._suggest(self._monitor)
        self._view.report(report)

    def close(self) -> None:
        """Close the view."""
        self._view.close()

    def _suggest(self, monitor: Monitor) -> None:
        from trustcal.remedies import refit_advice

        if not self._suggested and (advice := refit_advice(*monitor.recent)) is not None:
            self._suggested = True
            self._view.suggest(advice)

    def _run(self, monitor: Monitor) -> None:
        if self._command is None:
            return
        told = {"TRUSTCAL_SOURCE": self._source, "TRUSTCAL_ROW": str(monitor.alarmed_at)}
        state = monitor.current(draws=0).to_json()
        done = subprocess.run(
            self._command, shell=True, input=state, text=True, stdout=_STDERR, env={**os.environ, **told}, check=False
        )
        if done.returncode:
            print(f"trustcal: the command of --on-alarm ended with status {done.returncode}.", file=sys.stderr)
