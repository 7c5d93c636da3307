"""Segments: who is hurt by believing the predictions, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from trustcal.formats import p_equals, probability
from trustcal.reading.features import Condition
from trustcal.reading.memberships import BoolArray, memberships


@final
@dataclass(frozen=True)
class Segment:
    """A part of the population that belief costs something, described by conditions."""

    conditions: tuple[Condition, ...]
    """All of them hold; none: all rows."""
    rows: int
    """The number of rows of the segment."""
    share: float
    """The same, as a share of all rows."""
    low: float
    """Most of the harm is on predictions above this …"""
    high: float
    """… and up to this; 0 and 1 stand for all predictions."""
    gap: float
    """Mean outcome less mean prediction there, on the rows that chose the segment: negative where predictions are too
    high."""
    taken: str | None
    """The action recommended there; None without payoffs."""
    better: str | None
    """The action that earns more there; None without payoffs."""
    harm: float
    """The harm per row of the segment, estimated on rows that did not choose it: in payoffs, or the decision loss as a
    share of the payoff range."""
    lower: float
    """The lower end of its 95 % interval."""
    upper: float
    """The upper end."""
    chosen_harm: float
    """The harm per row on the rows that chose the segment, which is too large on average."""
    p_value: float
    """The probability that the whole search finds anything as surprising as this if all predictions are calibrated."""

    @property
    def total(self) -> float:
        """The harm of all rows of the segment together."""
        return self.harm * self.rows

    @property
    def described(self) -> str:
        """The conditions, the predictions on which the segment is hurt, and the better action."""
        told = str(self)
        if self.low > 0 and self.high < 1:
            told += f", predictions {probability(self.low)} to {probability(self.high)}"
        elif self.low > 0:
            told += f", predictions above {probability(self.low)}"
        elif self.high < 1:
            told += f", predictions up to {probability(self.high)}"
        return told if self.better is None else f'{told}: "{self.better}" instead of "{self.taken}"'

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions)) or "all rows"


@final
@dataclass(frozen=True)
class Detectable:
    """The smallest error that would have been found, in 4 of 5 cases, in a segment of some size."""

    share: float
    """The size of the segment, as a share of all rows."""
    gap: float | None
    """How far mean outcome and mean prediction must be apart; None with payoffs."""
    harm: float
    """The harm per row."""


@final
@dataclass(frozen=True)
class Segments:
    """The segments that a search found, those with the largest total harm first.

    A segment that shares rows with one before it is there for what was still wrong after that one had been corrected.
    `trustcal.segments` makes it.
    """

    found: tuple[Segment, ...]
    """The segments, those with the largest total harm first."""
    features: tuple[str, ...]
    """The columns whose values made conditions."""
    unused: tuple[str, ...]
    """The columns without any condition: no value is frequent enough, or all rows have the same."""
    depth: int
    """The largest number of conditions."""
    least: int
    """The smallest number of rows of a segment."""
    searched: int
    """The number of segments searched."""
    criterion: str
    """What harm is measured in: "payoff" or "decision loss"."""
    rows: int
    """The number of rows; two thirds of them chose, one third judged."""
    draws: int
    """The number of draws of calibrated outcomes."""
    p_value: float
    """The p-value of the most surprising segment: whether any prediction is off anywhere in the search."""
    detectable: tuple[Detectable, ...]
    """What would have been found, by the size of the segment."""

    @property
    def by_row(self) -> tuple[Segment, ...]:
        """The segments with the largest harm per row first."""
        return tuple(sorted(self.found, key=lambda segment: -segment.harm))

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, how it was judged, and what could not have been seen."""
        chance = p_equals(self.p_value, self.draws)
        searched = f"{self.searched:,} segments, of up to {self.depth} conditions and at least {self.least:,} rows"
        if not self.found:
            told = [f"None of {searched}, is hurt beyond chance ({chance} for the most surprising one)."]
        else:
            hurt = f"{len(self.found)} {'is' if len(self.found) == 1 else 'are'} hurt beyond chance"
            told = [f"Of {searched}, {hurt}. The p-values hold for all of them together."]
            unit = (
                "in your payoffs" if self.criterion == "payoff" else "the decision loss, as a share of the payoff range"
            )
            told.append(f"Harm is {unit}, estimated on a third of the rows, which did not choose the segments.")
        what = "Predictions off by" if self.criterion != "payoff" else "A harm per row of"
        least = ", ".join(
            f"{one.harm if one.gap is None else one.gap:.2g} in {100 * one.share:.3g} % of the rows"
            for one in self.detectable
        )
        told.append(f"{what} {least} would have been found in 4 of 5 cases.")
        if self.unused:
            told.append(f"No conditions could be made of {', '.join(map(repr, self.unused))}.")
        return tuple(told)

    def members(self, source: Any) -> BoolArray:
        """Which rows of a file or frame belong to which segment, for `trustcal.remedies.fit(…, by=…)`.

        Parameters
        ----------
        source : a file, a frame or a relation that has the columns of the segments

        Returns
        -------
        ndarray of bool, of shape (rows, segments)

        O(rows·segments), all in memory.
        """
        return memberships(source, [segment.conditions for segment in self.found])

    def __str__(self) -> str:
        from trustcal.report.terminal.segments import plain_segments

        return plain_segments(self)
