"""A comparison as a page of a terminal: the recommendation and its reason, then the table."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from trustcal.comparing import Comparison, Row

WIDTH = 118


def show(comparison: Comparison) -> None:
    """Print the comparison: with colours in a terminal, as plain text elsewhere."""
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(_page(comparison, box.SIMPLE), width=min(console.width, WIDTH))
    else:
        console.file.write(plain(comparison) + "\n")


def plain(comparison: Comparison) -> str:
    """The comparison as plain text."""
    console = Console(width=WIDTH, color_system=None, highlight=False)
    with console.capture() as capture:
        console.print(_page(comparison, box.ASCII2))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _page(comparison: Comparison, frame: box.Box) -> RenderableType:
    where = "" if comparison.cells is None else f" ECE and CDL on {comparison.cells} cells of equal mass."
    parts: list[RenderableType] = [
        Text(comparison.recommendation, style="bold"),
        Text(comparison.reason),
        "",
        _table(comparison, frame),
        f"{comparison.samples:,} rows, each judged by what was fitted to the other folds of {comparison.folds}.{where}",
        f"CDL and value lost in % of the payoff range. {_against(comparison)}",
        *comparison.notes,
    ]
    return Group(*parts)


def _against(comparison: Comparison) -> str:
    if comparison.rows[0].value is None:
        return "Value lost: by the worst-off decision maker, against believing the original predictions."
    return "Value lost: with your payoffs, against believing the original predictions; a gain is negative."


def _table(comparison: Comparison, frame: box.Box) -> Table:
    table = Table(box=frame)
    table.add_column("")
    payoff = comparison.rows[0].value is not None
    headers = ["ECE", "CDL %", "smCal", "DTC", "Brier", "log loss", "AUC", *["payoff"] * payoff]
    for header in [*headers, "value lost %", "guarantee", "needs outcomes"]:
        table.add_column(header, justify="right")
    for row in comparison.rows:
        chosen = row.name == comparison.recommended
        table.add_row(*_cells(row), style="bold" if chosen else None)
    return table


def _cells(row: Row) -> list[str]:
    return [
        row.name,
        f"{row.ece:.4f}",
        f"{100 * row.cdl:.2f}",
        f"{row.smcal:.4f}",
        f"{row.dtc:.4f}",
        f"{row.brier:.4f}",
        f"{row.log_loss:.4f}" if isfinite(row.log_loss) else "∞",
        f"{row.auc:.4f}",
        *([] if row.value is None else [f"{row.value:.5g}"]),
        f"{100 * row.value_lost:.2f}",
        "no" if row.guarantee is None or row.guarantee.vacuous else f"CDL ≤ {100 * row.guarantee.value:.3g} %",
        "yes" if row.needs_outcomes else "no",
    ]
