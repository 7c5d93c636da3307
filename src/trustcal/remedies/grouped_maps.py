"""Fitted maps that depend on the group of a row, or on the segments to which it belongs.

GroupMap      a common map, then a slope and a shift of logits for each group; a row is in one group
SegmentMap    a common map, then shifts of logits one after the other, each in one segment and on one stretch of
              predictions; a row may be in several segments
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from trustcal.remedies.maps import FloatArray, Map, Unchanged, described_map, finite_numbers, revived_map

EVERYBODY: Final = -1
"""The place of the segment to which all rows belong."""


@dataclass(frozen=True)
class GroupedMap(Map):
    """A common map, which is changed for some rows."""

    common: Map

    def __call__(self, p: FloatArray) -> FloatArray:
        """The common map, for rows of no known group."""
        return self.common(p)

    @abstractmethod
    def by_group(self, p: FloatArray, groups: NDArray[Any]) -> FloatArray:
        """The new predictions of rows of these groups."""


@final
@dataclass(frozen=True)
class GroupMap(GroupedMap):
    """A common map and, for each group, a slope and a shift of its logits; other groups get the common map."""

    groups: tuple[tuple[str, float, float], ...]
    """The name of each group, its slope and its shift."""

    def by_group(self, p: FloatArray, groups: NDArray[Any]) -> FloatArray:
        """The new predictions of rows of these groups.  O(n log k)."""
        if groups.shape != p.shape:
            raise ValueError(f"groups must name the group of each of {len(p)} rows, but has shape {groups.shape}.")
        said = self.common(p)
        names, place = np.unique(groups.astype(str), return_inverse=True)
        known = {name: (slope, shift) for name, slope, shift in self.groups}
        slope, shift = np.array([known.get(name, (1.0, 0.0)) for name in names.tolist()]).reshape(-1, 2)[place].T
        moved = expit(slope * logit(said) + shift)
        return np.asarray(np.where((slope == 1) & (shift == 0), said, moved))

    def describe(self) -> str:
        """In words."""
        return f"{self.common.describe()}, and then moved on the logit scale in each of {len(self.groups)} groups"

    def to_fields(self) -> dict[str, Any]:
        """The common map and the groups, for JSON."""
        return {"common": described_map(self.common), "groups": [list(group) for group in self.groups]}

    @classmethod
    def from_fields(cls, given: dict[str, Any]) -> Self:
        """The map of these numbers."""
        groups = tuple((str(name), *finite_numbers([slope, shift])) for name, slope, shift in given["groups"])  # type: ignore[misc]
        return cls(revived_map(given["common"]), groups)


@final
@dataclass(frozen=True)
class SegmentMap(GroupedMap):
    """A common map and shifts of logits for segments, which may overlap."""

    segments: int
    """The number of segments."""
    shifts: tuple[tuple[int, float, float, float], ...]
    """One after the other: the segment, the stretch of common predictions (above, up to), and the shift there."""

    def by_group(self, p: FloatArray, groups: NDArray[Any]) -> FloatArray:
        """The new predictions of rows; `groups` has a column for each segment.  O(n) for each shift."""
        if groups.shape != (len(p), self.segments) or groups.dtype != np.bool_:
            raise ValueError(
                f"groups must say for each of {len(p)} rows and {self.segments} segments whether it is a member, "
                f"but has shape {groups.shape} and type {groups.dtype}. Use Segments.members."
            )
        said = self.common(p)
        total = np.zeros(len(p))
        for segment, above, most, shift in self.shifts:
            member = (said > above) & (said <= most)
            total[member if segment == EVERYBODY else member & groups[:, segment]] += shift
        return np.asarray(np.where(total == 0, said, expit(logit(said) + total)))

    def describe(self) -> str:
        """In words."""
        many = f"{self.segments} segment{'s' * (self.segments != 1)}"
        first = "" if isinstance(self.common, Unchanged) else f"{self.common.describe()}, and then "
        return f"{first}moved on the logit scale in {many}"

    def to_fields(self) -> dict[str, Any]:
        """The common map and the shifts, for JSON."""
        shifts = [list(shift) for shift in self.shifts]
        return {"common": described_map(self.common), "segments": self.segments, "shifts": shifts}

    @classmethod
    def from_fields(cls, given: dict[str, Any]) -> Self:
        """The map of these numbers."""
        shifts = tuple((int(segment), *finite_numbers(rest)) for segment, *rest in given["shifts"])  # type: ignore[misc]
        return cls(revived_map(given["common"]), int(given["segments"]), shifts)


GROUPED: Final[dict[str, type[Map]]] = {kind.__name__: kind for kind in (GroupMap, SegmentMap)}
"""Every such map by the name of its class."""
