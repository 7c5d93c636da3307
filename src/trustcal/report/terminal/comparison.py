"""A comparison in the terminal: the recommendation and its reason, then the table."""

from __future__ import annotations

import shlex
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.report.terminal.console import Command, display, plain_text, sentences

if TYPE_CHECKING:
    from trustcal.guarantees import Bound
    from trustcal.remedies import Choice, Comparison, MethodResult

WIDTH = 80


def show(comparison: Comparison) -> None:
    """Print the comparison: with colours in a terminal, as plain text elsewhere."""
    display(partial(comparison_page, comparison), WIDTH)


def plain(comparison: Comparison) -> str:
    """The comparison as plain text."""
    return plain_text(partial(comparison_page, comparison), WIDTH)


def choice_page(choice: Choice, file: str | None, frame: box.Box) -> RenderableType:
    """The comparison, the remedy that was fitted, and where it was saved."""
    page = comparison_page(choice.table, frame)
    if choice.fitted.method == "none":
        return page
    fitted = [page, "", sentences(str(choice.fitted))]
    if file is None:
        return Group(*fitted, Text("Nothing was written: --save FILE keeps it."))
    apply = shlex.join(["trustcal", "fix", "NEW", "--remedy", file, "-o", "OUT"])
    return Group(*fitted, Text(f"Saved in {file}. To apply it to the file NEW and write OUT:"), Command(apply))


def comparison_page(comparison: Comparison, frame: box.Box) -> RenderableType:
    """The recommendation, its reason, and the table."""
    return Group(
        sentences(comparison.recommendation, style="bold"),
        sentences(comparison.reason),
        "",
        *methods_table(comparison, frame),
    )


def methods_table(comparison: Comparison, frame: box.Box) -> list[RenderableType]:
    """The table of methods, what its columns mean, and how rows were held out."""
    repeated = "" if comparison.repeats == 1 else f", {comparison.repeats} times over"
    how = f"cross-fitted in {comparison.folds} folds{repeated}"
    if comparison.ordered:
        how = f"{comparison.folds} blocks in time order, each judged by what came before"
    clusters = "" if comparison.clusters is None else f" in {comparison.clusters:,} clusters"
    loss = "payoff lost per row, as a share of the payoff range" if _payoffs(comparison) else "the Brier score"
    rule = (
        "Methods within two standard errors of the best are told apart by the log loss: of these, the simplest within "
        "0.6 standard errors of the least log loss is recommended."
    )
    return [
        _table(comparison, frame),
        Text(
            f"Above best: {loss}, minus that of the best method that may be recommended, ± its standard error. {rule} "
            "Decision loss: the most anyone could gain by moving thresholds; after noise, CDL over all draws. "
            "Guarantee: an upper bound on CDL for any outcomes, given the measured distance to calibration."
        ),
        "",
        f"{comparison.rows:,} rows{clusters}, {how}.",
    ]


def _payoffs(comparison: Comparison) -> bool:
    return comparison.methods[0].value is not None


def _table(comparison: Comparison, frame: box.Box) -> Table:
    paid = _payoffs(comparison)
    worth, excess = (["payoff", "Brier"], "above\nbest, %") if paid else (["Brier", "log\nloss"], "above best")
    table = Table(box=frame)
    table.add_column("", max_width=16)
    for header in [excess, "dec.\nloss %", *worth, "AUC", "guar.\n%"]:
        table.add_column(header, justify="right", vertical="bottom", no_wrap=True)
    for method in comparison.methods:
        table.add_row(
            method.name,
            _excess(method),
            f"{100 * method.decision_loss + 0.0:.2f}".replace("-0.00", "0.00"),
            *_worth(method),
            "–" if method.auc is None else f"{method.auc:.3f}",
            _guarantee(method.guarantee),
            style="bold" if method.name == comparison.recommended else None,
        )
    return table


def _worth(method: MethodResult) -> list[str]:
    if method.value is not None:
        return [f"{method.value:.4g}", f"{method.brier:.4f}"]
    return [f"{method.brier:.4f}", f"{method.log_loss:.3f}" if isfinite(method.log_loss) else "∞"]


def _excess(method: MethodResult) -> str:
    """The criterion: the loss above that of the best method, with its standard error."""
    scale = 100 if method.value is not None else 1
    digits = 2 if method.value is not None else 4
    if method.standard_error is None:
        return f"{scale * method.excess:.{digits}f}"
    return f"{scale * method.excess + 0.0:.{digits}f} ± {scale * method.standard_error:.{digits}f}"


def _guarantee(bound: Bound | None) -> str:
    return "" if bound is None else "–" if bound.vacuous else f"≤{100 * bound.value:.2g}"
