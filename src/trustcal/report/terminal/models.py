"""Models side by side in the terminal: the answer, then a table of scores and one of pairs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.formats import amount, four_decimals, percent
from trustcal.report.terminal.console import display, number_table, plain_text, sentences

if TYPE_CHECKING:
    from trustcal.comparing import ModelComparison, PairedDifference

WIDTH = 80


def show(comparison: ModelComparison) -> None:
    """Print the comparison: with colours in a terminal, as plain text elsewhere."""
    display(partial(models_page, comparison), WIDTH)


def plain_models(comparison: ModelComparison) -> str:
    """The comparison as plain text."""
    return plain_text(partial(models_page, comparison), WIDTH)


def models_page(comparison: ModelComparison, frame: box.Box) -> RenderableType:
    """The answer, pair by pair, and the tables."""
    clusters = "" if comparison.clusters is None else f" in {comparison.clusters:,} clusters"
    return Group(
        sentences(comparison.headline, style="bold"),
        *(sentences(pair.answer, lead=f"{pair.first} or {pair.second}? ") for pair in comparison.pairs),
        "",
        _models(comparison, frame),
        sentences(
            "Miscalibration: what a better reading of the same predictions would save of the Brier score. "
            "Discrimination: what they save against always predicting the base rate. Decision loss: the most anyone "
            "could gain by moving thresholds, of the payoff range."
        ),
        "",
        _pairs(comparison, frame),
        sentences(
            "The most anyone loses, of the payoff range, by using one model instead of the other, with 95 % intervals "
            f"for all at once, from {'clusters' if clusters else 'rows'} drawn again {comparison.draws} times, "
            "the same ones for all models."
        ),
        "",
        f"{comparison.rows:,} rows{clusters}, base rate {comparison.base_rate:.4f}.",
    )


def _models(comparison: ModelComparison, frame: box.Box) -> Table:
    paid = comparison.models[0].value is not None
    headers = ["Brier", "miscali-\nbration", "discri-\nmination", "log\nloss", "AUC", "decision\nloss"]
    table = number_table(frame, "", *(["payoff"] if paid else []), *headers)
    for model in comparison.models:
        cells = [
            f"{model.brier:.4f}",
            f"{model.split.mcb:.4f}",
            f"{model.split.dsc:.4f}",
            four_decimals(model.log_loss),
            "–" if model.auc is None else f"{model.auc:.4f}",
            percent(model.decision_loss),
        ]
        value = [] if model.value is None else [amount(model.value)]
        style = "bold" if model.name == comparison.best else None
        table.add_row(Text(model.name), *value, *cells, style=style)
    return table


def _pairs(comparison: ModelComparison, frame: box.Box) -> Table:
    table = number_table(frame, "use", "instead of", "loses at most", "95 % interval")
    for pair in comparison.pairs:
        for mine, other, loss in (
            (pair.first, pair.second, pair.loss_first),
            (pair.second, pair.first, pair.loss_second),
        ):
            table.add_row(Text(mine), Text(other), percent(loss.value), _ends(loss))
    return table


def _ends(loss: PairedDifference) -> str:
    return f"{percent(loss.lower)} to {percent(loss.upper)}"
