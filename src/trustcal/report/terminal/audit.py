"""An audit in the terminal: the verdict, then tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.formats import p_value, percent, probability, where, whole
from trustcal.measures.table import MEASURES
from trustcal.report.terminal.console import display, plain_text

if TYPE_CHECKING:
    from trustcal.auditing import Audit, Inference, ProblemLoss

WIDTH = 88


def show(audit: Audit) -> None:
    """Print the audit: with colours in a terminal, as plain text elsewhere."""
    display(partial(_page, audit), WIDTH)


def plain_audit(audit: Audit) -> str:
    """The audit as plain text."""
    return plain_text(partial(_page, audit), WIDTH)


def _page(audit: Audit, frame: box.Box) -> RenderableType:
    parts: list[RenderableType] = [Text(audit.verdict.headline, style="bold"), "", _facts(audit, frame)]
    if audit.inference is not None:
        parts += ["", _measures(audit.inference, frame)]
        parts.append("By chance: the mean if the predictions were calibrated. p: the p-value of calibration.")
        if audit.inference.note:
            parts.append(Text(f"Note: {audit.inference.note}."))
    if audit.cells is not None:
        binned = " and ".join(MEASURES[key].symbol for key in audit.measures if MEASURES[key].conditional)
        on = f" ({binned} {where(audit.cells)})" if audit.inference is not None else ""
        parts.append(
            f"Single predictions are too rare to have a frequency, so they are pooled into bins{on}, "
            "each at its mean prediction."
        )
    parts += ["", Text("What those who act above a threshold lose", style="bold"), _losses(audit, frame)]
    if audit.problem is not None:
        parts += ["", Text("With your payoffs", style="bold"), _problem(audit.problem, frame)]
    if audit.groups:
        parts += ["", Text("Group by group", style="bold"), _groups(audit, frame)]
    for advice in audit.advice:
        if advice.topic in ("remedy", "guarantee"):
            parts += ["", Text.assemble((f"{advice.lead} ", "bold"), advice.text)]
    return Group(*parts)


def _facts(audit: Audit, frame: box.Box) -> Table:
    """The data, and without inference the measures too."""
    table = Table(box=frame, show_header=False)
    table.add_column()
    table.add_column(justify="right", style="bold")
    table.add_column(style="dim")
    if audit.rows is not None:
        weights = f"effective sample size {audit.effective_rows:,.0f}" if audit.weighted else ""
        table.add_row("Rows", f"{audit.rows:,}", weights)
    if audit.provenance is not None:
        for reason, count in audit.provenance.dropped.reasons:
            table.add_row("Left out", f"{count:,}", Text(reason))
    table.add_row("Distinct predictions", f"{audit.values:,}", "")
    table.add_row("Mean prediction", f"{audit.mean_prediction:.4f}", f"base rate {audit.base_rate:.4f}")
    if audit.inference is None:
        about = _about(audit)
        for key, value in audit.measures.items():
            table.add_row(MEASURES[key].title, f"{value:.4f}", about.get(key, ""))
    return table


def _about(audit: Audit) -> dict[str, str]:
    width = audit.measures["dtc"] - audit.dtc_lower
    binned = {key: where(audit.cells) for key in audit.measures if MEASURES[key].conditional}
    return {"dtc": f"certified to {max(width, 1e-16):.0e}", **binned}


def _measures(inference: Inference, frame: box.Box) -> Table:
    """The measures beside what chance alone would show."""
    table = Table(box=frame)
    table.add_column("")
    for header in ("measured", f"{whole(inference.level)} interval", "by\nchance", "p"):
        table.add_column(header, justify="right")
    for entry in inference.measures:
        table.add_row(
            MEASURES[entry.measure].title,
            Text(f"{entry.value:.4f}", style="bold"),
            f"{entry.lower:.4f} to {entry.upper:.4f}",
            f"{entry.floor:.4f}",
            p_value(entry.p_value, inference.draws),
        )
    return table


def _losses(audit: Audit, frame: box.Box) -> Table:
    table = Table(box=frame)
    for header in (
        "threshold",
        "a miss costs\n(false alarms)",
        "loss\n(% of payoff range)",
        "decisions that\nwould change",
    ):
        table.add_column(header, justify="right")
    for loss in audit.losses:
        table.add_row(probability(loss.threshold), f"{loss.miss_cost:.3g}", percent(loss.loss), percent(loss.reversed))
    return table


def _problem(problem: ProblemLoss, frame: box.Box) -> Table:
    table = Table(box=frame, show_header=False)
    table.add_column()
    table.add_column(justify="right", style="bold")
    steps = [problem.actions[problem.responses[0]]]
    for mu, response in zip(problem.thresholds, problem.responses[1:], strict=True):
        steps += [probability(mu), problem.actions[response]]
    table.add_row("Best action, for predictions from 0 to 1", Text(" | ".join(steps)))
    table.add_row("Payoff per row, believing the predictions", f"{problem.value:.6g}")
    table.add_row("Additional payoff possible (swap regret)", f"{problem.swap_regret:.6g}")
    table.add_row("as a share of the payoff range", percent(problem.share))
    return table


def _groups(audit: Audit, frame: box.Box) -> Table:
    table = Table(box=frame)
    table.add_column("group")
    for header in ("rows", "base\nrate", "mean\nprediction", "distance\n(DTC)", "decision\nloss (CDL)"):
        table.add_column(header, justify="right")
    if audit.inference is not None:
        table.add_column("by\nchance", justify="right")
        table.add_column("p", justify="right")
    for group in audit.groups:
        cells = [
            "" if group.rows is None else f"{group.rows:,}",
            f"{group.base_rate:.4f}",
            f"{group.mean_prediction:.4f}",
            f"{group.measures['dtc']:.4f}",
            f"{group.measures['cdl']:.4f}",
        ]
        if audit.inference is not None:
            of = group.uncertainty
            cells += ["", ""] if of is None else [f"{of.floor:.4f}", p_value(of.p_value, audit.inference.draws)]
        table.add_row(Text(group.name), *cells)
    return table
