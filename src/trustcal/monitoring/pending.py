"""Predictions that wait for their outcomes: rows with ids, the prediction first, the outcome later."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, Self, final

from trustcal.checking import checked_choice, checked_count, checked_prediction, refuse_other
from trustcal.monitoring.line_parser import LineFault, StreamRow

Pair = tuple[float, bool]


@final
class PendingPredictions:
    """A queue from which pairs leave in the order of their predictions, whenever their outcomes arrived.

    If pairs left in the order of outcomes, and frauds were known sooner than honest payments, the first pairs would all
    be frauds and a calibrated stream would alarm.  So an outcome waits until all earlier predictions have theirs, or
    are dropped: when more than `limit` predictions wait, the oldest is.  (If that happens while delays depend on
    outcomes, the pairs that remain are a selection, and a calibrated stream may alarm.)  The end of a stream releases
    nothing: which outcomes are known by then may depend on their values.  An outcome that arrives before its
    prediction, twice, or after the prediction was dropped is a fault; so is a repeated prediction while one waits.

    >>> queue = PendingPredictions(limit=2)
    >>> [*queue.take(StreamRow(1, "a", 0.2, None)), *queue.take(StreamRow(2, "b", 0.7, None))]
    []
    >>> [*queue.take(StreamRow(3, "b", None, True))], [*queue.take(StreamRow(4, "a", None, False))]
    ([], [(0.2, False), (0.7, True)])

    O(1) per row; memory for `limit` predictions.
    """

    def __init__(self, limit: int, entries: Iterable[tuple[str, float, bool | None, int]] = ()) -> None:
        self._limit = limit
        self._rows = OrderedDict((row_id, (q, y, line)) for row_id, q, y, line in entries)

    @classmethod
    def restored(cls, limit: int, entries: Iterable[Any]) -> Self:
        """The queue with these entries, as they were saved, if they are possible."""
        found = [tuple(entry) for entry in entries]
        for row_id, q, y, line in found:
            refuse_other("an id", row_id, str, "text")
            checked_prediction(q)
            checked_choice("an outcome", y, (None, False, True))
            checked_count("a line", line)
        if len({entry[0] for entry in found}) < len(found) or len(found) > limit:
            raise ValueError("the state has too many predictions that wait, or one of them twice.")
        return cls(limit, found)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def unanswered(self) -> int:
        """The number that wait for their own outcome; the others wait for earlier predictions."""
        return sum(y is None for _, y, _ in self._rows.values())

    @property
    def entries(self) -> list[tuple[str, float, bool | None, int]]:
        """The contents of the queue, for a saved state."""
        return [(row_id, *entry) for row_id, entry in self._rows.items()]

    def take(self, row: StreamRow) -> Iterator[Pair | LineFault]:
        """Add a row; yield the pairs that it releases, and its faults."""
        if row.prediction is not None:
            if row.row_id in self._rows:
                yield LineFault("repeated prediction", row.line, f"id {row.row_id!r} is already waiting")
                return
            self._rows[row.row_id] = (row.prediction, row.outcome, row.line)
        else:
            q, y, line = self._rows.get(row.row_id, (0.0, True, 0))
            if y is not None:
                yield LineFault("outcome without prediction", row.line, f"id {row.row_id!r} is not waiting for one")
                return
            self._rows[row.row_id] = (q, row.outcome, line)
        yield from self._released()

    def _released(self) -> Iterator[Pair | LineFault]:
        while self._rows:
            row_id, (q, y, line) = next(iter(self._rows.items()))
            if y is None and len(self._rows) <= self._limit:
                return
            del self._rows[row_id]
            yield LineFault("outcome given up", line, f"none arrived for id {row_id!r}") if y is None else (q, y)
