"""The report of a watch, and what shows a watch while it runs."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import final

from trustcal.monitoring.line_parser import POLICY, FaultLog
from trustcal.monitoring.monitor import Monitor, Snapshot


@final
@dataclass(frozen=True)
class WatchReport:
    """The result of watching a stream."""

    source: str
    lines: int
    rounds: int
    """Number of pairs that the monitor has learnt."""
    waiting: int
    """Number of predictions that wait, for their own outcome or for that of earlier ones."""
    unanswered: int
    """Number of predictions that wait for their own outcome."""
    faults: FaultLog
    snapshot: Snapshot | None
    """None if there was no pair."""
    finished: bool
    """Whether the stream ended; False if the watch was interrupted or the file was truncated."""

    @property
    def skipped(self) -> int:
        """The number of rows that could not be read."""
        return sum(count for kind, count in self.faults.counts.items() if "skipped" in POLICY[kind])

    def to_json(self) -> str:
        """All numbers, by the names of the fields."""
        snapshot = None if self.snapshot is None else json.loads(self.snapshot.to_json())
        return json.dumps({**asdict(self), "snapshot": snapshot}, indent=2)

    @property
    def summary(self) -> str:
        """What was read, in one line."""
        where = f"to its end (line {self.lines:,})" if self.finished else f"up to line {self.lines:,}"
        return f"Read {self.source} {where}: {self.rounds:,} row{'s' * (self.rounds != 1)}."

    @property
    def waiting_summary(self) -> str:
        """What waits, in one line; empty if nothing does."""
        earlier = self.waiting - self.unanswered
        both = f"Predictions waiting for their outcome: {self.unanswered:,}; behind an earlier one: {earlier:,}."
        return both if self.waiting else ""

    def __str__(self) -> str:
        parts = [self.summary]
        if self.snapshot is not None:
            parts += [self.snapshot.alarm.verdict(self.rounds), str(self.snapshot)]
        if self.waiting:
            parts.append(self.waiting_summary)
        return "\n".join([*parts, *map(str, self.faults.first)])


class WatchView(ABC):
    """Shows a watch while it runs.  `trustcal watch` passes one for the terminal; implement it to log or to notify."""

    @abstractmethod
    def open(self, source: str, rounds: int) -> None:
        """The watch of this source begins, with this many rounds already counted."""

    @abstractmethod
    def rows_until_update(self, rounds: int) -> int:
        """After how many more rows `update` should be called, at the latest."""

    @abstractmethod
    def update(self, monitor: Monitor, faults: FaultLog, waiting: int) -> None:
        """Called after every read, and while the stream is idle, with everything so far."""

    @abstractmethod
    def report(self, report: WatchReport) -> None:
        """The watch has ended with this report."""

    @abstractmethod
    def close(self) -> None:
        """Called last, also after an error."""


@final
class Silent(WatchView):
    """Shows nothing."""

    def open(self, source: str, rounds: int) -> None:
        """Do nothing."""

    def rows_until_update(self, rounds: int) -> int:  # noqa: ARG002
        """No update is needed."""
        return 1 << 16

    def update(self, monitor: Monitor, faults: FaultLog, waiting: int) -> None:
        """Do nothing."""

    def report(self, report: WatchReport) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
