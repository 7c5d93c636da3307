"""A comparison as a page of a terminal: the recommendation and its reason, then two tables."""

from __future__ import annotations

from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.report.terminal.console import display, plain_text

if TYPE_CHECKING:
    from trustcal.guarantees import Bound
    from trustcal.remedies import Comparison, Row

WIDTH = 88


def show(comparison: Comparison) -> None:
    """Print the comparison: with colours in a terminal, as plain text elsewhere."""
    display(partial(_page, comparison), WIDTH)


def plain(comparison: Comparison) -> str:
    """The comparison as plain text."""
    return plain_text(partial(_page, comparison), WIDTH)


def _page(comparison: Comparison, frame: box.Box) -> RenderableType:
    where = "" if comparison.cells is None else f" ECE and CDL on {comparison.cells} cells of equal mass."
    yours = comparison.rows[0].value is not None
    whose = "with your payoffs (a gain is negative)" if yours else "by whoever loses most"
    return Group(
        Text(comparison.recommendation, style="bold"),
        Text(comparison.reason),
        "",
        Text("Can the predictions be taken at their word?", style="bold"),
        _calibration(comparison, frame),
        "Guarantee: what CDL cannot exceed whatever the outcomes, given the measured distance.",
        "",
        Text("What are they worth?", style="bold"),
        _worth(comparison, frame),
        f"Value lost: against believing the original predictions, {whose}.",
        "Regret: the same against the best method; noise, rounding and the constant aside.",
        "",
        f"{comparison.samples:,} rows, each judged by what was fitted to the other folds of {comparison.folds}.{where}",
    )


def _calibration(comparison: Comparison, frame: box.Box) -> Table:
    table = _table(frame, ["ECE", "CDL", "smCal", "DTC", "guarantee", "needs\noutcomes"])
    for row in comparison.rows:
        table.add_row(
            row.name,
            f"{row.ece:.4f}",
            _percent(row.cdl),
            f"{row.smcal:.4f}",
            f"{row.dtc:.4f}",
            _guarantee(row.guarantee),
            "yes" if row.needs_outcomes else "no",
            style=_style(row, comparison),
        )
    return table


def _worth(comparison: Comparison, frame: box.Box) -> Table:
    payoff = ["payoff"] if comparison.rows[0].value is not None else []
    table = _table(frame, ["Brier", "log loss", "AUC", *payoff, "value lost", "regret"])
    for row in comparison.rows:
        table.add_row(
            row.name,
            f"{row.brier:.4f}",
            f"{row.log_loss:.4f}" if isfinite(row.log_loss) else "∞",
            f"{row.auc:.4f}",
            *([] if row.value is None else [f"{row.value:.6g}"]),
            _percent(row.value_lost),
            _percent(row.regret),
            style=_style(row, comparison),
        )
    return table


def _table(frame: box.Box, headers: list[str]) -> Table:
    table = Table(box=frame)
    table.add_column("", no_wrap=True)
    for header in headers:
        table.add_column(header, justify="right", vertical="bottom", no_wrap=True)
    return table


def _style(row: Row, comparison: Comparison) -> str | None:
    return "bold" if row.name == comparison.recommended else None


def _guarantee(bound: Bound | None) -> str:
    return "no" if bound is None or bound.vacuous else f"≤ {_percent(bound.value)}"


def _percent(share: float) -> str:
    return f"{100 * share + 0.0:.2f} %".replace("-0.00", "0.00")
