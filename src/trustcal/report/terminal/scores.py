"""Proper scores and their parts, and the numbers that clinical readers report, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.formats import four_decimals
from trustcal.report.clinical import clinical_lines, what_they_miss
from trustcal.report.terminal.console import number_table

if TYPE_CHECKING:
    from trustcal.auditing import Audit


def scores_tables(audit: Audit, frame: box.Box) -> list[RenderableType]:
    """Brier score and log loss with their parts, the AUC, and the clinical numbers."""
    table = number_table(frame, "score", "value", "miscali-\nbration", "discri-\nmination", "uncer-\ntainty")
    for name, split in (("Brier score", audit.scores.brier), ("Log loss", audit.scores.log_loss)):
        table.add_row(name, *map(four_decimals, (split.loss, split.mcb, split.dsc, split.unc)))
    if audit.scores.auc is not None:
        table.add_row("AUC", f"{audit.scores.auc:.4f}", "", "", "")
    note = (
        "Value = miscalibration − discrimination + uncertainty. Only the first of the three can be recalibrated away."
    )
    found: list[RenderableType] = [table, note]
    if audit.clinical is None:
        return found
    facts = Table(box=frame, show_header=False)
    for style in (None, "bold", "dim"):
        facts.add_column(style=style)
    for line in clinical_lines(audit.clinical):
        facts.add_row(*line)
    title, note = Text("For clinical readers, with 95 % intervals", style="bold"), what_they_miss(audit.clinical)
    return [*found, "", title, facts, note]
