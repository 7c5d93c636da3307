"""The result of `trustcal fix` on the terminal: the advice, the noise and its guarantee, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.report.terminal.bounds import noise_text

if TYPE_CHECKING:
    from rich.box import Box

    from trustcal.rewriting.fix import FileFix, Quality


def fix_page(fix: FileFix, advice: str, frame: Box) -> RenderableType:
    """The advice and the numbers of a fix."""
    told = "measured on these rows" if fix.eps_measured else "as given"
    how = f", rounded down to a grid of {fix.cells} values" if fix.cells is not None else ""
    parts: list[RenderableType] = [
        Text(advice, style="bold"),
        "",
        f"{fix.rows:,} predictions, distance to calibration {fix.eps:.4g} ({told})",
        f"{noise_text(fix.choice.noise)}{how}; seed {fix.seed}",
        f"Guarantee, in expectation: {fix.choice.guarantee}",
        f"No post-processing can guarantee less than {fix.choice.lower.value:.4g} ({fix.choice.lower.source})",
    ]
    if fix.before is not None and fix.after is not None:
        parts += ["", _table(fix, fix.before, fix.after, frame)]
        if fix.before.cells is not None or fix.after.cells is not None:
            parts.append("Where prediction values are too rare, ECE and CDL are computed on bins of equal mass.")
    return Group(*parts)


def _table(fix: FileFix, before: Quality, after: Quality, frame: Box) -> Table:
    table = Table(box=frame)
    table.add_column("")
    for header in ("before", "after, expected", "after, this draw"):
        table.add_column(header, justify="right")
    table.add_row(
        "Expected calibration error", _on(before.ece, before), _number(fix.expected_ece), _on(after.ece, after)
    )
    table.add_row(
        "Calibration decision loss", _on(before.cdl, before), _number(fix.expected_cdl), _on(after.cdl, after)
    )
    table.add_row("Brier score", _number(before.brier), "", _number(after.brier))
    table.add_row("AUC", _number(before.auc), "", _number(after.auc))
    return table


def _on(value: float, quality: Quality) -> str:
    return _number(value) + (f" on {quality.cells} bins" if quality.cells is not None else "")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
