"""A comparison in the terminal: the recommendation and its reason, then two tables."""

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
    from trustcal.remedies import Comparison, MethodResult

WIDTH = 88


def show(comparison: Comparison) -> None:
    """Print the comparison: with colours in a terminal, as plain text elsewhere."""
    display(partial(_page, comparison), WIDTH)


def plain(comparison: Comparison) -> str:
    """The comparison as plain text."""
    return plain_text(partial(_page, comparison), WIDTH)


def _page(comparison: Comparison, frame: box.Box) -> RenderableType:
    where = "" if comparison.cells is None else f" ECE and CDL on {comparison.cells} bins of equal mass."
    yours = comparison.methods[0].value is not None
    whose = "with your payoffs (a gain is negative)" if yours else "by whoever loses most"
    return Group(
        Text(comparison.recommendation, style="bold"),
        Text(comparison.reason),
        "",
        Text("How well are the predictions calibrated?", style="bold"),
        _calibration(comparison, frame),
        "Guarantee: an upper bound on CDL for any outcomes, given the measured distance to calibration.",
        "",
        Text("What are they worth?", style="bold"),
        _worth(comparison, frame),
        f"Value lost: against believing the original predictions, {whose}.",
        "Regret: the same against the best method, not counting noise, rounding and the constant.",
        "",
        f"{comparison.rows:,} rows, cross-fitted in {comparison.folds} folds.{where}",
    )


def _calibration(comparison: Comparison, frame: box.Box) -> Table:
    table = _table(frame, ["ECE", "CDL", "smCal", "DTC", "guarantee", "needs\noutcomes"])
    for method in comparison.methods:
        table.add_row(
            method.name,
            f"{method.ece:.4f}",
            _percent(method.cdl),
            f"{method.smcal:.4f}",
            f"{method.dtc:.4f}",
            _guarantee(method.guarantee),
            "yes" if method.needs_outcomes else "no",
            style=_style(method, comparison),
        )
    return table


def _worth(comparison: Comparison, frame: box.Box) -> Table:
    payoff = ["payoff"] if comparison.methods[0].value is not None else []
    table = _table(frame, ["Brier", "log loss", "AUC", *payoff, "value lost", "regret"])
    for method in comparison.methods:
        table.add_row(
            method.name,
            f"{method.brier:.4f}",
            f"{method.log_loss:.4f}" if isfinite(method.log_loss) else "∞",
            f"{method.auc:.4f}",
            *([] if method.value is None else [f"{method.value:.6g}"]),
            _percent(method.value_lost),
            _percent(method.regret),
            style=_style(method, comparison),
        )
    return table


def _table(frame: box.Box, headers: list[str]) -> Table:
    table = Table(box=frame)
    table.add_column("", no_wrap=True)
    for header in headers:
        table.add_column(header, justify="right", vertical="bottom", no_wrap=True)
    return table


def _style(method: MethodResult, comparison: Comparison) -> str | None:
    return "bold" if method.name == comparison.recommended else None


def _guarantee(bound: Bound | None) -> str:
    return "no" if bound is None or bound.vacuous else f"≤ {_percent(bound.value)}"


def _percent(share: float) -> str:
    return f"{100 * share + 0.0:.2f} %".replace("-0.00", "0.00")
