"""Features whose values make conditions: the levels of a category, and numbers cut at quantiles.

Every row gets a code per feature, in whatever engine holds it:

    0             a value too rare to be a condition of its own
    1             missing
    2, 3, …       the levels of a category, or the intervals between the cuts of a number
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final, final

RARE: Final = 0
MISSING: Final = 1
FIRST: Final = 2
"""The code of the first level or interval."""
LEVELS: Final = 100
"""At most this many levels of a category are conditions: the most frequent ones."""
FEW: Final = 10
"""A number with at most this many distinct values is a category."""
QUANTILES: Final = (0.2, 0.4, 0.6, 0.8)
"""Where numbers are cut."""


@final
@dataclass(frozen=True)
class Condition:
    """A condition on one column: it equals a level, lies in an interval, or is missing if neither is given."""

    feature: str
    """The column."""
    level: str | None = None
    """The level of a category, as text."""
    above: float | None = None
    """The number must be greater than this."""
    most: float | None = None
    """The number must be at most this."""

    @property
    def missing(self) -> bool:
        """Whether it is the condition that no value is there."""
        return self.level is None and self.above is None and self.most is None

    def __str__(self) -> str:
        if self.missing:
            return f"{self.feature} is missing"
        if self.level is not None:
            return f"{self.feature} = {self.level}"
        if self.most is None:
            return f"{self.feature} > {self.above:.6g}"
        return f"{'' if self.above is None else f'{self.above:.6g} < '}{self.feature} ≤ {self.most:.6g}"


@final
@dataclass(frozen=True)
class Feature:
    """A column of a source as a feature with few codes."""

    name: str
    """The column."""
    levels: tuple[str, ...] = ()
    """The levels of a category, as text; empty for a number."""
    cuts: tuple[float, ...] = ()
    """Where a number is cut, increasing; empty for a category."""
    numeric: bool = False

    @property
    def codes(self) -> int:
        """The number of codes."""
        return FIRST + (len(self.cuts) + 1 if self.numeric else len(self.levels))

    def condition(self, code: int, last: int | None = None) -> Condition:
        """The condition that a code stands for; for a number, also that of the codes up to the last.

        >>> age, region = Feature("age", cuts=(30.0, 45.5), numeric=True), Feature("region", levels=("north",))
        >>> [str(age.condition(code)) for code in range(1, 5)], str(age.condition(3, 4)), str(region.condition(2))
        (['age is missing', 'age ≤ 30', '30 < age ≤ 45.5', 'age > 45.5'], 'age > 30', 'region = north')
        """
        place, end = code - FIRST, (code if last is None else last) - FIRST
        if code == MISSING:
            return Condition(self.name)
        if not self.numeric:
            return Condition(self.name, level=self.levels[place])
        above = self.cuts[place - 1] if place else None
        return Condition(self.name, above=above, most=self.cuts[end] if end < len(self.cuts) else None)


def number_feature(name: str, quantiles: Sequence[float | None]) -> Feature:
    """A number cut at these quantiles, each once, to the six digits that are shown: engines differ in the last ones.

    >>> number_feature("age", [20.0, 20.0, 35.00000001, 50.0]).cuts
    (20.0, 35.0, 50.0)
    """
    cuts = {float(f"{cut:.6g}") for cut in quantiles if cut is not None and isfinite(cut)}
    return Feature(name, cuts=tuple(sorted(cuts)), numeric=True)


def category_feature(name: str, counts: Mapping[str, int]) -> Feature:
    """A category with the most frequent of these levels, in the order of their texts.

    >>> category_feature("region", {"south": 5, "north": 9}).levels
    ('north', 'south')
    """
    frequent = sorted(counts, key=lambda level: (-counts[level], level))[:LEVELS]
    return Feature(name, levels=tuple(sorted(frequent)))
