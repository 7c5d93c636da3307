"""Rows at fault: counted by kind, refused with the first few, or dropped on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.reading.columns import Columns
from trustcal.rows import swapped_words

BoolArray = NDArray[np.bool_]

WORDS = {
    "missing": "without a prediction",
    "nan": "with the prediction NaN",
    "text": "with a prediction that is not a number",
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

    @classmethod
    def counted(cls, masks: Mapping[str, BoolArray], rows: NDArray[np.int64] | None = None) -> tuple[Faults, BoolArray]:
        """The faults of rows, or of keys that stand for `rows` rows each, and which of these are valid.

        >>> Faults.counted({"nan": np.array([True, False]), "outcome": np.array([True, True])})
        (Faults(missing=0, nan=1, text=0, below=0, above=0, outcome=1, weight=0), array([False, False]))
        """
        counts, valid = {}, np.ones(len(next(iter(masks.values()))), dtype=bool)
        for kind, mask in masks.items():
            here = mask & valid
            counts[kind] = int(np.count_nonzero(here) if rows is None else rows[here].sum())
            valid &= ~mask
        return cls(**counts), valid

    def __add__(self, other: Faults) -> Faults:
        return Faults(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def total(self) -> int:
        """How many rows have a fault."""
        return sum(astuple(self))

    @property
    def reasons(self) -> tuple[tuple[str, int], ...]:
        """Each fault that occurs, in words, and its number of rows."""
        counts = [(WORDS[field.name], getattr(self, field.name)) for field in fields(self)]
        return tuple((words, count) for words, count in counts if count)

    def __str__(self) -> str:
        return ", ".join(f"{count:,} {words}" for words, count in self.reasons) or "no row at fault"


def swapped(title: str, columns: Columns) -> ValueError:
    """The error for columns that look swapped."""
    words = swapped_words(f"column {columns.outcome!r}", f"column {columns.prediction!r}")
    return ValueError(f"{title}: outcomes must be 0 or 1, but {words}")


@final
class FaultError(ValueError):
    """Rows at fault: how many of each kind, the first few, the likely cause, and the remedies that `read` offers.

    With `few` it may help to leave them out.
    """

    def __init__(self, found: str, faults: Faults, cause: str = "", few: bool = True) -> None:
        super().__init__(found, faults, cause, few)  # for pickling
        self.found, self.faults, self.cause, self.few = found, faults, cause, few

    def __str__(self) -> str:
        return self.with_remedies(
            "To leave them out: drop_invalid=True (--drop-invalid).",
            "For labels other than 0 and 1, name the positive one: positive='…' (--positive).",
        )

    def with_remedies(self, rows: str, labels: str) -> str:
        """The message with other remedies, for callers that can neither drop rows nor name the positive label."""
        remedies = [self.found]
        if self.cause:
            remedies.append(self.cause)
        elif self.faults.below or self.faults.above:
            remedies.append("Divide percentages by 100; turn scores or logits into probabilities.")
        if self.faults.outcome and "The outcomes" not in self.cause:
            remedies.append(labels)
        if self.few:  # without the many rows at fault for one cause, the others mean something else
            remedies.append(rows)
        return " ".join(remedies)


def refusal(
    title: str, rows: int, faults: Faults, first: Sequence[str], cause: tuple[str, int] = ("", 0)
) -> FaultError:
    """The error for rows at fault, with their likely cause and how many it speaks against leaving out."""
    examples = f" The first: {'; '.join(first)}." if first else ""
    rule = "a prediction in [0, 1] and an outcome, 0 or 1"
    if faults.weight:
        rule = "a prediction in [0, 1], an outcome, 0 or 1, and a weight, finite and not negative"
    lack = "row does not" if rows == 1 else "rows does not" if faults.total == 1 else "rows do not"
    found = f"{title}: every row must have {rule}, but {faults.total:,} of {rows:,} {lack}: {faults}.{examples}"
    sentence, kept = cause
    return FaultError(found, faults, sentence, faults.total < rows and 10 * kept < rows)
