"""An audit in the terminal: the verdict, then tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.formats import acts, amount, p_equals, p_value, percent, probability, where, whole
from trustcal.measures.table import MEASURES
from trustcal.report.terminal.comparison import methods_table
from trustcal.report.terminal.console import Command, display, plain_text, sentences
from trustcal.report.terminal.groups import groups_table
from trustcal.report.terminal.scores import scores_tables
from trustcal.report.terminal.segments import segment_parts

if TYPE_CHECKING:
    from trustcal.auditing import Audit, Inference, ProblemLoss

WIDTH = 80


def show(audit: Audit) -> None:
    """Print the audit: with colours in a terminal, as plain text elsewhere."""
    display(partial(_page, audit), WIDTH)


def plain_audit(audit: Audit) -> str:
    """The audit as plain text."""
    return plain_text(partial(_page, audit), WIDTH)


def _page(audit: Audit, frame: box.Box) -> RenderableType:
    verdict = audit.verdict
    parts: list[RenderableType] = [sentences(verdict.headline, "bold")]
    parts += [sentences(caveat) for caveat in verdict.caveats]
    parts += [sentences(harm.text, lead=f"{harm.who}: ") for harm in verdict.hurt]
    parts += [sentences(verdict.where)] if verdict.where is not None else []
    for one in audit.advice:
        if one.topic == "remedy":
            parts.append(sentences(one.text, lead=f"{one.lead} "))
            parts += [] if one.command is None else [Command(one.command)]
    if audit.problem is not None:
        parts += ["", Text("With your payoffs", style="bold"), *_problem(audit.problem, frame)]
    if audit.groups:
        parts += ["", Text("Group by group", style="bold"), *groups_table(audit, frame)]
    parts += ["", Text("What those who act above a threshold lose", style="bold"), _losses(audit, frame)]
    parts.append(
        sentences(
            "Losses are shares of the payoff range: the most that the choice of an action can change what is earned. A "
            "miss costs as much as this many false alarms."
        )
    )
    if audit.comparison is not None:
        parts += ["", Text("Remedies on held-out rows", style="bold"), *methods_table(audit.comparison, frame)]
    parts += ["", _facts(audit, frame)]
    if audit.inference is not None:
        parts += ["", _measures(audit.inference, frame)]
        parts.append("By chance: the mean if the predictions were calibrated. p: the p-value of calibration.")
        parts.append(Text(_combined(audit.inference)))
        if audit.inference.note:
            parts.append(Text(f"Note: {audit.inference.note}."))
    if audit.cells is not None:
        parts.append(Text(f"ECE and CDL are taken {where(audit.cells)}, each at its mean prediction."))
    parts += ["", *scores_tables(audit, frame)]
    if audit.segments is not None:
        parts += ["", Text("Segments", style="bold"), *segment_parts(audit.segments, frame)]
    for advice in audit.advice:
        if advice.topic == "guarantee" or advice.lead in ("A check.", "Not in order.", "What this cannot show."):
            parts += ["", sentences(advice.text, lead=f"{advice.lead} ")]
    return Group(*parts)


def _combined(inference: Inference) -> str:
    p = p_equals(inference.test.p_value, inference.test.draws)
    return f"All in all: {p}, by four statistics together; this one decides."


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
    for header in ("acts\nabove", "a miss costs\n(alarms)", "loss, %\nof range", "by\nchance"):
        table.add_column(header, justify="right", min_width=max(map(len, header.split("\n"))))
    table.add_column("should act")
    table.add_column("decisions\nreversed", justify="right", min_width=9)
    for one in audit.losses:
        table.add_row(
            probability(one.threshold),
            f"{one.miss_cost:.3g}",
            percent(one.loss),
            "" if one.by_chance is None else percent(one.by_chance),
            acts(one.instead, one.instead_on) if one.gain > 0 else "",
            percent(one.reversed),
        )
    return table


def _problem(problem: ProblemLoss, frame: box.Box) -> list[RenderableType]:
    facts = Table(box=frame, show_header=False)
    facts.add_column()
    facts.add_column(justify="right", style="bold")
    facts.add_row("Best action, for predictions from 0 to 1", Text(_steps(problem, problem.thresholds)))
    facts.add_row("Payoff per row, believing the predictions", f"{problem.value:.6g}")
    facts.add_row("More, with other thresholds", f"{problem.moving:.6g}")
    facts.add_row("More, with other actions", f"{problem.action_regret:.6g}")
    if problem.by_chance is not None:
        facts.add_row("By chance it would be", f"{problem.by_chance:.6g}")
    facts.add_row("Estimated loss, as a share of the payoff range", percent(problem.share))
    actions = Table(box=frame)
    actions.add_column("recommended")
    for header in ("on rows", "promised\nper such row", "earned\nper such row"):
        actions.add_column(header, justify="right")
    actions.add_column("better")
    for one in problem.recommendations:
        if one.mass > 0:
            promised, earned = (amount(part / one.mass) for part in (one.promised, one.earned))
            actions.add_row(
                Text(one.action), percent(one.mass), promised, earned, Text(one.better if one.gain > 0 else "")
            )
    return [facts, actions]


def _steps(problem: ProblemLoss, thresholds: tuple[float, ...]) -> str:
    steps = [problem.actions[problem.responses[0]]]
    for mu, response in zip(thresholds, problem.responses[1:], strict=True):
        steps += [probability(mu), problem.actions[response]]
    return " | ".join(steps)
