"""A watched stream as lines of JSON, for programs."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any, TextIO, final

from trustcal.checking import checked_count
from trustcal.monitoring import FaultLog, Monitor, WatchReport, WatchView


@final
class JsonLinesView(WatchView):
    """A line every `every` rows, one for each of the first faults, for the alarm and for a suggestion, and the report.

    Each line is an object whose "event" is "rows", "fault", "alarm", "suggestion" or "report".
    """

    def __init__(self, every: int = 1000, file: TextIO | None = None) -> None:
        self._every = checked_count("every", every)
        self._file = file
        self._shown = 0
        self._alarm_told = False
        self._faults_told = 0

    def open(self, source: str, rounds: int) -> None:  # noqa: ARG002
        """Nothing is printed before there are rows."""
        self._shown = rounds

    def rows_until_update(self, rounds: int) -> int:
        """The rest of `every` rows."""
        return self._every - rounds % self._every

    def update(self, monitor: Monitor, faults: FaultLog, waiting: int) -> None:
        """Print what is new."""
        for fault in faults.first[self._faults_told :]:
            self._print("fault", asdict(fault))
        self._faults_told = len(faults.first)
        if monitor.alarmed_at is not None and not self._alarm_told:
            self._alarm_told = True
            verdict = {"verdict": monitor.alarm.verdict(monitor.rounds)}
            self._print("alarm", verdict | json.loads(monitor.current(draws=0).to_json()))
        if monitor.rounds % self._every == 0 and monitor.rounds != self._shown:
            self._shown = monitor.rounds
            self._print("rows", json.loads(monitor.current(draws=0).to_json()) | {"waiting": waiting})

    def suggest(self, suggestion: Any) -> None:
        """Print a suggestion: its text and its fields."""
        self._print("suggestion", {"text": str(suggestion), **asdict(suggestion)})

    def report(self, report: WatchReport) -> None:
        """Print the report."""
        self._print("report", json.loads(report.to_json()))

    def close(self) -> None:
        """Do nothing."""

    def _print(self, event: str, fields: dict[str, Any]) -> None:
        line = json.dumps({"event": event, **fields}, allow_nan=False)
        print(line, file=self._file or sys.stdout, flush=True)
