"""Rows that cannot be part of a predictor: counted by kind, refused with the first few, or dropped on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import final

from trustcal.reading.columns import Columns

WORDS = {
    "missing": "without a prediction",
    "nan": "with the prediction NaN",
    "text": "with a prediction that is no number",
    "below": "with a prediction below 0",
    "above": "with a prediction above 1",
    "outcome": "with an outcome that is missing or not 0 or 1",
    "weight": "with a weight that is missing, negative or not finite",
}


@final
@dataclass(frozen=True)
class Faults:
    """How many rows have which fault; a row with several counts once, under the first of them in this order.

    pandas and Dask do not tell a missing number from NaN: there both count as missing.

    >>> print(Faults(missing=2, above=1))
    2 without a prediction, 1 with a prediction above 1
    """

    missing: int = 0
    nan: int = 0
    text: int = 0
    below: int = 0
    above: int = 0
    outcome: int = 0
    weight: int = 0

    @property
    def total(self) -> int:
        """How many rows have a fault."""
        return sum(astuple(self))

    def __str__(self) -> str:
        counts = [(WORDS[field.name], getattr(self, field.name)) for field in fields(self)]
        return ", ".join(f"{count:,} {words}" for words, count in counts if count) or "no row at fault"


def swapped(title: str, columns: Columns) -> ValueError:
    """The error for outcomes between 0 and 1 beside predictions that are all 0 or 1."""
    outcome, prediction = f"column {columns.outcome!r}", f"column {columns.prediction!r}"
    return ValueError(
        f"{title}: outcomes must be 0 or 1, but {outcome} holds fractions while {prediction} holds only 0 and 1: the "
        f"two look swapped. Exchange {outcome} and {prediction}."
    )


@final
class FaultError(ValueError):
    """Rows at fault: how many of which kind, the first few, and the remedies that `read` has."""

    def __init__(self, found: str, faults: Faults) -> None:
        super().__init__(found, faults)  # what a copy in another process is made of
        self.found, self.faults = found, faults

    def __str__(self) -> str:
        return self.with_remedies(
            "To leave them out, ask for that: drop_invalid=True (--drop-invalid).",
            "For other labels than 0 and 1, name the one that counts as 1: positive='…' (--positive).",
        )

    def with_remedies(self, rows: str, labels: str) -> str:
        """The message with other remedies: for callers that cannot leave rows out, or name the label that counts."""
        remedies = [self.found, rows]
        if self.faults.below or self.faults.above:
            remedies.append("Divide percentages by 100; turn scores or logits into probabilities.")
        if self.faults.outcome:
            remedies.append(labels)
        return " ".join(remedies)


def refusal(title: str, rows: int, faults: Faults, first: Sequence[str]) -> FaultError:
    """The error for rows at fault."""
    examples = f" The first: {'; '.join(first)}." if first else ""
    return FaultError(
        f"{title}: every row must have a prediction in [0, 1] and an outcome, 0 or 1, but {faults.total:,} of {rows:,} "
        f"rows do not: {faults}.{examples}",
        faults,
    )
