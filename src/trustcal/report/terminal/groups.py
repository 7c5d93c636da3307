"""Groups side by side in the terminal, those that are hurt most first; small ones in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.formats import percent, small
from trustcal.report.terminal.console import sentences
from trustcal.report.unmeasured import unmeasured

if TYPE_CHECKING:
    from trustcal.auditing import Audit, GroupAudit

LONGEST = 14
"""Letters of a name."""
MOST = 20
"""At most this many groups are shown; the page and the JSON have all."""


def groups_table(audit: Audit, frame: box.Box) -> list[RenderableType]:
    """The table, and a sentence on the groups that are not in it."""
    large = [group for group in audit.groups if not group.small]
    table = Table(box=frame)
    table.add_column("group", no_wrap=True)
    chance, yours = audit.inference is not None, audit.problem is not None
    headers = ["rows", "base\nrate", "mean\npred.", "loss", *(["95 % in-\nterval, %", "p"] if chance else [])]
    for header in [*headers, *(["your\nloss"] if yours else [])]:
        table.add_column(header, justify="right", no_wrap=True)
    for group in large[:MOST]:
        table.add_row(Text(shortened(group.name)), *_cells(group, chance, yours))
    parts: list[RenderableType] = [table] if large else []
    if len(large) > MOST:
        parts.append(sentences(f"{len(large) - MOST} more groups with less harm are on the page and in the JSON."))
    if audit.more_groups:
        parts.append(sentences(unmeasured(audit)))
    few = [group for group in audit.groups if group.small]
    if few:
        known = [(group.name, group.rows or 0, group.loss.upper or 0.0) for group in few]
        parts.append(sentences(few_rows(known, "predictions")))
    return parts


def shortened(name: str) -> str:
    """A name that leaves room for the numbers; the page and the JSON have all of it."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1].rstrip()}…"


def _cells(group: GroupAudit, chance: bool, yours: bool) -> list[str]:
    cells = [
        "" if group.rows is None else f"{group.rows:,}",
        f"{group.base_rate:.3f}",
        f"{group.mean_prediction:.3f}",
        percent(group.loss.estimate),
    ]
    if chance:
        lower, upper = group.loss.lower, group.loss.upper
        cells.append("" if lower is None or upper is None else f"{100 * lower:.1f}–{100 * upper:.1f}")
        cells.append("" if group.p_value is None else small(group.p_value))
    if yours:
        cells.append("" if group.problem is None else f"{group.problem.estimate:.2g}")
    return cells


def few_rows(groups: Sequence[tuple[str, int, float]], what: str) -> str:
    """What can be said about groups with few rows: their names, rows, and what cannot be ruled out."""
    rows = sorted(rows for _, rows, _ in groups)
    least, most = (percent(end(upper for _, _, upper in groups)) for end in (min, max))
    several = f"{len(groups)} groups have too few rows" if len(groups) > 1 else f"{groups[0][0]} has too few rows"
    span = f"{rows[0]:,}" if rows[0] == rows[-1] else f"{rows[0]:,} to {rows[-1]:,}"
    bound = least if least == most else f"{least} to {most}"
    return (
        f"{several} to say anything ({span}): there is no evidence against the {what} there, but a loss of up to "
        f"{bound} of the payoff range cannot be ruled out."
    )
