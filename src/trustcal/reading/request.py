"""What `read` asks of an engine, and what an engine returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from trustcal.predictor import Predictor
from trustcal.reading.columns import Columns
from trustcal.reading.faults import Faults
from trustcal.reading.outcomes import Label
from trustcal.tally import Tally

GROUPS = 10_000
"""Maximum number of groups: each becomes a predictor."""

Group = tuple[Any, ...]


@final
@dataclass(frozen=True)
class Request:
    """Which columns to read, which label is positive, the resolution, and whether to drop rows at fault."""

    columns: Columns
    positive: Label | None
    resolution: float | None
    drop_invalid: bool

    @property
    def plain(self) -> bool:
        """Whether rows have neither weights nor groups; they are then counted here as they stream by."""
        return self.columns.weight is None and not self.columns.by


@final
@dataclass(frozen=True)
class Counted:
    """All rows of a source, counted: valid or not, by fault, and by prediction."""

    rows: int
    faults: Faults
    whole: Tally
    groups: Mapping[Group, Tally]
    clustered: Mapping[Group, Predictor] | None = None
    """The predictors of all rows, (), and of the groups, where rows have clusters."""
    hints: tuple[str, ...] = ()
    """Signs that rows belong together."""


def by_group(request: Request, title: str, aside: int, faults: Faults, tallies: Mapping[Group, Tally]) -> Counted:
    """What was counted, by group, beside `aside` rows that are at fault or have weight 0.

    Without `by` there is one group, ().  With `by`, () are all rows, merged here if the engine did not count them.
    """
    counted = tallies[()].rows if () in tallies else sum(tally.rows for tally in tallies.values())
    rows = aside + counted
    if not rows:
        raise ValueError(f"{title}: there must be at least one row, but there is none.")
    if faults.total == rows:
        raise ValueError(f"{title}: no row of {rows:,} is left: {faults}.")
    if not counted:
        raise ValueError(f"{title}: some weight must be positive, but all are 0.")
    groups = {group: tally for group, tally in tallies.items() if group}
    refuse_many_groups(len(groups), request.columns, title)
    whole = tallies.get(())
    if whole is None:
        whole = Tally(next(iter(groups.values())).resolution)
        for tally in groups.values():
            whole.merge(tally)
    return Counted(rows, faults, whole, groups)


def refuse_many_groups(groups: int, columns: Columns, title: str) -> None:
    """Refuse columns that make too many groups."""
    if groups > GROUPS:
        made = f"{' and '.join(map(repr, columns.by))} make{'s' * (len(columns.by) == 1)}"
        raise ValueError(
            f"{title}: by must name columns with few values, but {made} more than {GROUPS:,} groups. Group by "
            "something coarser."
        )
