"""What is asked of an engine, and what it hands back: rows counted by prediction, group by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from trustcal.checking import as_number
from trustcal.predictor import Predictor
from trustcal.reading.columns import Columns
from trustcal.reading.faults import Faults
from trustcal.reading.outcomes import Label

MANY = 10**7
"""Above so many distinct predictions they are rounded to multiples of DEFAULT, unless a resolution is asked for."""
DEFAULT = 2.0**-22
GROUPS = 10_000
"""Every group becomes a predictor: with more groups than this, `by` names the wrong column."""

Group = tuple[Any, ...]


@final
@dataclass(frozen=True)
class Request:
    """Which columns, which label is positive, and how finely: None to decide by the data, 0 for every value."""

    columns: Columns
    positive: Label | None
    resolution: float | None
    drop_invalid: bool


@final
@dataclass(frozen=True)
class Counted:
    """All rows of a source, counted."""

    rows: int
    faults: Faults
    groups: Mapping[Group, Predictor]
    resolution: float
    """The grid that predictions were rounded to; 0 where every value is kept."""


def checked_resolution(resolution: float | None) -> float | None:
    """None, 0 or a power of two from 2^-52 to 1/2; rounding to such a grid is exact in every engine."""
    if resolution is None or as_number(resolution) in [0.0, *(2.0**-k for k in range(1, 53))]:
        return None if resolution is None else float(resolution)
    raise ValueError(
        f"resolution must be a power of two from 2^-52 to 1/2, such as 2**-20, or 0 to keep every value, "
        f"not {resolution!r}."
    )


def too_many(distinct: int) -> bool:
    """Whether so many distinct predictions are rounded unless asked otherwise."""
    return distinct > MANY


def refuse_many_groups(groups: int, columns: Columns, title: str) -> None:
    """Groups are few."""
    if groups > GROUPS:
        raise ValueError(
            f"{title}: by must name columns with few values, but {' and '.join(map(repr, columns.by))} make more than "
            f"{GROUPS:,} groups. Group by something coarser."
        )
