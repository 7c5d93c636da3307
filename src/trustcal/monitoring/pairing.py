"""Predictions that wait for their outcomes: rows with ids, the prediction first, the outcome later."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import final

from trustcal.monitoring.parsing import Fault, Row

Pair = tuple[float, bool]


@final
class Waiting:
    """Pairs leave in the order of their predictions, whenever their outcomes came.

    If pairs left as outcomes come, and frauds were known sooner than honest payments, the first pairs would all be
    frauds and a calibrated stream would alarm.  So an outcome waits until all earlier predictions have theirs, or are
    given up: where more than `limit` predictions wait, the oldest is.  (If that happens while delays depend on
    outcomes, those fed are a selection, and a calibrated stream may alarm.)  The end of a stream lets nothing go: which
    outcomes are known by then may depend on what they are.  Outcomes that come before their prediction, again, or after
    it was given up are faults; a prediction that is repeated while the first waits is another.

    >>> waiting = Waiting(limit=2)
    >>> [*waiting.take(Row(1, "a", 0.2, None)), *waiting.take(Row(2, "b", 0.7, None))]
    []
    >>> [*waiting.take(Row(3, "b", None, True))], [*waiting.take(Row(4, "a", None, False))]
    ([], [(0.2, False), (0.7, True)])

    O(1) per row; memory for `limit` predictions.
    """

    def __init__(self, limit: int, entries: Iterable[tuple[str, float, bool | None, int]] = ()) -> None:
        self._limit = limit
        self._rows = OrderedDict((row_id, (q, y, line)) for row_id, q, y, line in entries)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def unanswered(self) -> int:
        """How many wait for their own outcome; the others wait for their turn."""
        return sum(y is None for _, y, _ in self._rows.values())

    @property
    def entries(self) -> list[tuple[str, float, bool | None, int]]:
        """All that wait, for a saved state."""
        return [(row_id, *entry) for row_id, entry in self._rows.items()]

    def take(self, row: Row) -> Iterator[Pair | Fault]:
        """The pairs that the row lets go, and the faults it shows."""
        if row.prediction is not None:
            if row.row_id in self._rows:
                yield Fault("repeated prediction", row.line, f"id {row.row_id!r} already waits")
                return
            self._rows[row.row_id] = (row.prediction, row.outcome, row.line)
        else:
            q, y, line = self._rows.get(row.row_id, (0.0, True, 0))
            if y is not None:
                yield Fault("outcome without prediction", row.line, f"id {row.row_id!r} does not wait for one")
                return
            self._rows[row.row_id] = (q, row.outcome, line)
        yield from self._released()

    def _released(self) -> Iterator[Pair | Fault]:
        while self._rows:
            row_id, (q, y, line) = next(iter(self._rows.items()))
            if y is None and len(self._rows) <= self._limit:
                return
            del self._rows[row_id]
            yield Fault("outcome given up", line, f"none came for id {row_id!r}") if y is None else (q, y)
