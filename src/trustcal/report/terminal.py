"""An audit as a page of a terminal: one sentence, then tables.  Colours in a terminal, plain text in a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from trustcal.auditing import Audit, ProblemLoss

WIDTH = 88


def show(audit: Audit) -> None:
    """Print the audit: with colours in a terminal, as plain text elsewhere."""
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(_page(audit, box.SIMPLE), width=min(console.width, WIDTH))
    else:
        print(plain(audit))


def plain(audit: Audit) -> str:
    """The audit as plain text."""
    console = Console(width=WIDTH, color_system=None, highlight=False)
    with console.capture() as capture:
        console.print(_page(audit, box.ASCII2))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def verdict(audit: Audit) -> str:
    """Who loses most by believing the predictions, in a sentence or two."""
    if not audit.worst.thresholds or audit.cdl < 1e-12:
        return "No decision maker loses anything by believing these predictions."
    one, worst = audit.worst_threshold, [_probability(mu) for mu in audit.worst.thresholds]
    sentence = (
        f"By believing these predictions, a decision maker who acts {_when(one.threshold)} loses "
        f"{_percent(one.loss)} of the payoff range."
    )
    if len(worst) == 1:
        return f"{sentence} Nobody loses more."
    return (
        f"{sentence} The most anyone loses is {_percent(audit.cdl)}: "
        f"with three actions, changing at {worst[0]} and at {worst[1]}."
    )


def _when(threshold: float) -> str:
    """At the ends a threshold is a tie: what is indifferent at a prediction of exactly 0, or of exactly 1."""
    if threshold == 0:
        return "unless the prediction is 0"
    return "only if the prediction is 1" if threshold == 1 else f"above {_probability(threshold)}"


def _page(audit: Audit, frame: box.Box) -> RenderableType:
    parts: list[RenderableType] = [Text(verdict(audit), style="bold"), "", _measures(audit, frame)]
    if audit.cells is not None:
        parts.append(
            "Single predictions are seen too rarely to have a frequency, so they are pooled into cells, "
            "each at its mean prediction."
        )
    parts += ["", Text("What those who act above a threshold lose", style="bold"), _losses(audit, frame)]
    if audit.problem is not None:
        parts += ["", Text("With your payoffs", style="bold"), _problem(audit.problem, frame)]
    return Group(*parts)


def _measures(audit: Audit, frame: box.Box) -> Table:
    table = Table(box=frame, show_header=False)
    table.add_column()
    table.add_column(justify="right", style="bold")
    table.add_column(style="dim")
    if audit.rows is not None:
        weighed = audit.effective_rows is not None and round(audit.effective_rows) != audit.rows
        table.add_row("Rows", f"{audit.rows:,}", f"worth {audit.effective_rows:,.0f} equal ones" if weighed else "")
    table.add_row("Distinct predictions", f"{audit.values:,}", "")
    table.add_row("Mean prediction", f"{audit.mean_prediction:.4f}", f"base rate {audit.base_rate:.4f}")
    width = audit.dtc_upper - audit.dtc_lower
    table.add_row("Distance to calibration", f"{audit.dtc_upper:.4f}", f"certified to {max(width, 1e-16):.0e}")
    table.add_row("Smooth calibration error", f"{audit.smcal:.4f}", "")
    table.add_row("SmoothECE", f"{audit.smece:.4f}", "")
    where = "" if audit.cells is None else f"on {audit.cells} cell{'s' * (audit.cells > 1)} of equal mass"
    table.add_row("Expected calibration error", f"{audit.ece:.4f}", where)
    table.add_row("Calibration decision loss", f"{audit.cdl:.4f}", where)
    return table


def _losses(audit: Audit, frame: box.Box) -> Table:
    table = Table(box=frame)
    for header in ("threshold", "a miss costs\n(false alarms)", "loss\n(% of payoff range)", "decisions\nto reverse"):
        table.add_column(header, justify="right")
    for loss in audit.losses:
        false_alarms = (1 - loss.threshold) / loss.threshold
        table.add_row(_probability(loss.threshold), f"{false_alarms:.3g}", _percent(loss.loss), _percent(loss.reversed))
    return table


def _problem(problem: ProblemLoss, frame: box.Box) -> Table:
    table = Table(box=frame, show_header=False)
    table.add_column()
    table.add_column(justify="right", style="bold")
    steps = [problem.actions[problem.responses[0]]]
    for mu, response in zip(problem.thresholds, problem.responses[1:], strict=True):
        steps += [_probability(mu), problem.actions[response]]
    table.add_row("The best action, from 0 to 1", Text(" | ".join(steps)))
    table.add_row("Believing the predictions earns, per row", f"{problem.value:.6g}")
    table.add_row("It could have earned more, by (swap regret)", f"{problem.swap_regret:.6g}")
    share = problem.swap_regret / problem.stakes if problem.stakes else 0.0
    table.add_row("as a share of the payoff range", _percent(share))
    return table


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.0005 or share == 0 else f"{100 * share:.1g} %"


def _probability(p: float) -> str:
    return f"{p:.4g}"
