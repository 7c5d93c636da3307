"""Provenance: what was read, and what was done to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from trustcal.reading.columns import Columns
from trustcal.reading.faults import Faults
from trustcal.tally.tally import MANY


@final
@dataclass(frozen=True)
class Provenance:
    """The facts of a reading: source, columns, rows read and dropped, rounding."""

    source: str
    """The file or frame."""
    columns: Columns
    """The columns that were read."""
    rows: int
    """The number of rows, valid or not."""
    dropped: Faults
    """The rows left out, by reason."""
    resolution: float
    """Predictions were rounded to multiples of this; 0: every value was kept."""
    resolution_asked: bool
    """Whether the resolution was asked for; otherwise it is the rule for more than 10^7 distinct predictions."""
    moved: float
    """The mean distance that rounding moved predictions; the largest over the groups."""
    hints: tuple[str, ...] = ()
    """Signs that rows belong together although no cluster was named."""
    files: tuple[str, ...] = ()
    """The files as they were given, "-" for standard input; empty for frames."""
    table: str | None = None
    """The table or sheet, if one was named."""
    positive: str | None = None
    """The label that counts as 1, if one was named."""
    payoff: str | None = None
    """The file of the payoffs, if they were read from one."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know: columns inferred, rows dropped, predictions rounded."""
        inferred = [(role, getattr(self.columns, role)) for role in self.columns.inferred]
        said = [f"The {role} is column {name!r}, by its name." for role, name in inferred]
        if self.dropped.total:
            said.append(f"{self.dropped.total:,} of {self.rows:,} rows were dropped: {self.dropped}.")
        if self.resolution:
            why = "" if self.resolution_asked else f", because more than {MANY:,} are distinct"
            said.append(
                f"Predictions were rounded to multiples of {self.resolution:.3g}{why}: on average they moved by "
                f"{self.moved:.2g}, the distance to calibration by no more, the smooth calibration error by twice that."
            )
        return (*said, *self.hints)
