"""Steps of a search that belong together: the same conditions on several stretches, or neighbouring intervals.

"30 < age ≤ 40" and "40 < age ≤ 50" with the same fault, and the same other conditions, are "30 < age ≤ 50".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.reading.crosstab import Crosstab
from trustcal.reading.features import FIRST, Condition
from trustcal.segmenting.search import Step

Codes = tuple[int, ...]


@final
@dataclass(frozen=True, eq=False)
class HurtPart:
    """A part of the population: for each feature a code, or several neighbouring ones; and the steps that found it."""

    features: tuple[int, ...]
    first: Codes
    last: Codes
    steps: tuple[Step, ...]
    """The one with the largest harm first."""

    @classmethod
    def of(cls, step: Step) -> HurtPart:
        """The part that a step found."""
        codes = tuple(step.family.codes[step.place].tolist())
        return cls(step.family.features, codes, codes, (step,))

    @property
    def harm(self) -> float:
        """The harm in total, on the rows that choose."""
        return sum(step.harm for step in self.steps)

    @property
    def here(self) -> NDArray[np.bool_]:
        """The entries of the part."""
        return reduce(np.logical_or, (step.here for step in self.steps))

    def conditions(self, table: Crosstab) -> tuple[Condition, ...]:
        """The conditions, feature by feature."""
        codes = zip(self.features, self.first, self.last, strict=True)
        return tuple(table.features[place].condition(first, last) for place, first, last in codes)

    def joined(self, other: HurtPart, table: Crosstab) -> HurtPart | None:
        """Both as one part; None if they do not belong together."""
        if self.features != other.features:
            return None
        first, last = tuple(map(min, self.first, other.first)), tuple(map(max, self.last, other.last))
        steps = tuple(sorted((*self.steps, *other.steps), key=lambda step: -step.harm))
        ranges = zip(self.first, self.last, other.first, other.last, strict=True)
        differ = [place for place, (a, b, c, d) in enumerate(ranges) if (a, b) != (c, d)]
        if not differ:
            return HurtPart(self.features, first, last, steps)
        place = differ[0]
        feature = table.features[self.features[place]]
        meet = self.last[place] + 1 == other.first[place] or other.last[place] + 1 == self.first[place]
        whole = (first[place], last[place]) == (FIRST, feature.codes - 1)
        if len(differ) > 1 or not feature.numeric or first[place] < FIRST or not meet or whole:
            return None
        return HurtPart(self.features, first, last, steps) if _fault(self.steps[0]) == _fault(other.steps[0]) else None


def merged(found: Sequence[Step], table: Crosstab) -> list[HurtPart]:
    """The parts that steps found, those with the largest harm first.  O(k³) for k steps."""
    parts = [HurtPart.of(step) for step in found]
    while pair := _pair(parts, table):
        one, other, both = pair
        parts = [part for place, part in enumerate(parts) if place not in (one, other)] + [both]
    return sorted(parts, key=lambda part: -part.harm)


def _pair(parts: Sequence[HurtPart], table: Crosstab) -> tuple[int, int, HurtPart] | None:
    for one, part in enumerate(parts):
        for other in range(one + 1, len(parts)):
            both = part.joined(parts[other], table)
            if both is not None:
                return one, other, both
    return None


def _fault(step: Step) -> tuple[float, int]:
    """What is wrong: the sign of the shift, and the better action."""
    moved = (step.after.told - step.before.told)[step.moved].sum()
    return float(np.sign(moved)), int(step.after.action[step.moved][0])
