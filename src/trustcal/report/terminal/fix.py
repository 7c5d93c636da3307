"""The result of `trustcal fix` on the terminal: the advice, the guarantee of noise, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.report.terminal.bounds import noise_text
from trustcal.report.terminal.console import number_table, sentences

if TYPE_CHECKING:
    from rich.box import Box

    from trustcal.rewriting.fix import FileFix, Quality


def fix_page(fix: FileFix, frame: Box) -> RenderableType:
    """The advice and the numbers of a fix."""
    parts: list[RenderableType] = [sentences(fix.advice, style="bold"), ""]
    if fix.written:
        parts.append(Text(f"{fix.rows:,} predictions, new column {fix.column}"))
    if fix.choice is not None:
        lower = fix.choice.lower
        told = "measured on these rows" if fix.eps_measured else "as given"
        how = f", rounded to a grid of {fix.cells} values" if fix.cells is not None else ""
        parts += [
            f"Distance to calibration {fix.eps:.4g} ({told})",
            f"{noise_text(fix.choice.noise)}{how}; seed {fix.seed}",
            f"Guarantee, in expectation: {fix.choice.guarantee}",
            f"{fix.choice.barred.capitalize()} can guarantee less than {lower.value:.4g} ({lower.source})",
        ]
    if fix.before is not None and fix.after is not None:
        parts += ["", _table(fix, fix.before, fix.after, frame)]
        if fix.before.cells is not None or fix.after.cells is not None:
            parts.append("Where prediction values are too rare, ECE and CDL are computed on bins of equal mass.")
    return Group(*parts)


def _table(fix: FileFix, before: Quality, after: Quality, frame: Box) -> Table:
    noise = fix.choice is not None
    table = number_table(frame, "", "before", *(["after, expected", "after, this draw"] if noise else ["after"]))
    for title, old, expected, new in (
        ("Expected calibration error", before.ece, fix.expected_ece, after.ece),
        ("Calibration decision loss", before.cdl, fix.expected_cdl, after.cdl),
    ):
        table.add_row(title, _on(old, before), *([_number(expected)] if noise else []), _on(new, after))
    for title, score, later in (("Brier score", before.brier, after.brier), ("AUC", before.auc, after.auc)):
        table.add_row(title, _number(score), *([""] if noise else []), _number(later))
    return table


def _on(value: float, quality: Quality) -> str:
    return _number(value) + (f" on {quality.cells} bins" if quality.cells is not None else "")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
