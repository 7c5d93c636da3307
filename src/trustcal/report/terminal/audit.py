"""An audit as a page of a terminal: one sentence, then tables.  Colours in a terminal, plain text in a pipe."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.measures.table import MEASURES, audited
from trustcal.report.terminal.console import display, plain_text
from trustcal.report.words import p_value, percent, probability, rounded, value, verdict, where, whole

if TYPE_CHECKING:
    from trustcal.auditing import Audit, Guarantee, Inference, ProblemLoss

WIDTH = 88


def show(audit: Audit) -> None:
    """Print the audit: with colours in a terminal, as plain text elsewhere."""
    display(partial(_page, audit), WIDTH)


def plain(audit: Audit) -> str:
    """The audit as plain text."""
    return plain_text(partial(_page, audit), WIDTH)


def _page(audit: Audit, frame: box.Box) -> RenderableType:
    parts: list[RenderableType] = [Text(verdict(audit), style="bold"), "", _facts(audit, frame)]
    if audit.inference is not None:
        parts += ["", _measures(audit.inference, frame)]
        parts.append(
            "By chance: the mean where the predictions are right. p: how probable chance alone is to show as much."
        )
        if audit.inference.note:
            parts.append(Text(f"Note: {audit.inference.note}."))
    if audit.cells is not None:
        on = f" (ECE and CDL {where(audit.cells)})" if audit.inference is not None else ""
        parts.append(
            f"Single predictions are seen too rarely to have a frequency, so they are pooled into cells{on}, "
            "each at its mean prediction."
        )
    parts += ["", Text("What those who act above a threshold lose", style="bold"), _losses(audit, frame)]
    if audit.problem is not None:
        parts += ["", Text("With your payoffs", style="bold"), _problem(audit.problem, frame)]
    if audit.groups:
        parts += ["", Text("Group by group", style="bold"), _groups(audit, frame)]
    if audit.guarantee is not None and audit.fix is not None and audit.inference is not None:
        parts += ["", _promise(audit.guarantee)]
    return Group(*parts)


def _facts(audit: Audit, frame: box.Box) -> Table:
    """What there is, and, where nothing is said about chance, the measures."""
    table = Table(box=frame, show_header=False)
    table.add_column()
    table.add_column(justify="right", style="bold")
    table.add_column(style="dim")
    if audit.rows is not None:
        weighed = audit.effective_rows is not None and round(audit.effective_rows) != audit.rows
        table.add_row("Rows", f"{audit.rows:,}", f"worth {audit.effective_rows:,.0f} equal ones" if weighed else "")
    if audit.read is not None:
        for reason, count in audit.read.dropped:
            table.add_row("Left out", f"{count:,}", Text(reason))
    table.add_row("Distinct predictions", f"{audit.values:,}", "")
    table.add_row("Mean prediction", f"{audit.mean_prediction:.4f}", f"base rate {audit.base_rate:.4f}")
    if audit.inference is None:
        about = _about(audit)
        for measure in audited():
            table.add_row(MEASURES[measure].title, f"{value(audit, measure):.4f}", about.get(measure, ""))
    return table


def _about(audit: Audit) -> dict[str, str]:
    width = audit.dtc_upper - audit.dtc_lower
    on_bins = {key: where(audit.cells) for key, measure in MEASURES.items() if measure.conditional}
    return {"dtc": f"certified to {max(width, 1e-16):.0e}", **on_bins}


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
    for header in ("threshold", "a miss costs\n(false alarms)", "loss\n(% of payoff range)", "decisions\nto reverse"):
        table.add_column(header, justify="right")
    for loss in audit.losses:
        false_alarms = (1 - loss.threshold) / loss.threshold
        table.add_row(probability(loss.threshold), f"{false_alarms:.3g}", percent(loss.loss), percent(loss.reversed))
    return table


def _problem(problem: ProblemLoss, frame: box.Box) -> Table:
    table = Table(box=frame, show_header=False)
    table.add_column()
    table.add_column(justify="right", style="bold")
    steps = [problem.actions[problem.responses[0]]]
    for mu, response in zip(problem.thresholds, problem.responses[1:], strict=True):
        steps += [probability(mu), problem.actions[response]]
    table.add_row("The best action, from 0 to 1", Text(" | ".join(steps)))
    table.add_row("Believing the predictions earns, per row", f"{problem.value:.6g}")
    table.add_row("It could have earned more, by (swap regret)", f"{problem.swap_regret:.6g}")
    share = problem.swap_regret / problem.stakes if problem.stakes else 0.0
    table.add_row("as a share of the payoff range", percent(share))
    return table


def _groups(audit: Audit, frame: box.Box) -> Table:
    table = Table(box=frame)
    table.add_column("group")
    chance = audit.inference is not None
    for header in ("rows", "base\nrate", "mean\nprediction", "distance\n(DTC)", "decision\nloss (CDL)"):
        table.add_column(header, justify="right")
    if chance:
        table.add_column("by\nchance", justify="right")
        table.add_column("p", justify="right")
    for group in audit.groups:
        cells = [
            "" if group.rows is None else f"{group.rows:,}",
            f"{group.base_rate:.4f}",
            f"{group.mean_prediction:.4f}",
            f"{group.dtc:.4f}",
            f"{group.cdl:.4f}",
        ]
        if audit.inference is not None:
            known = group.uncertainty
            cells += (
                ["", ""] if known is None else [f"{known.floor:.4f}", p_value(known.p_value, audit.inference.draws)]
            )
        table.add_row(Text(group.name), *cells)
    return table


def _promise(guarantee: Guarantee) -> str:
    return (
        f"With {whole(guarantee.level)} confidence the distance to calibration is at most {guarantee.eps:.4f}; "
        f"then {rounded(guarantee.noise)} caps what anyone loses at {percent(min(1.0, guarantee.cdl))} "
        f"({guarantee.source})."
    )
