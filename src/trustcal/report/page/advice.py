"""What an audit means for those who decide, in plain words."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from trustcal.report.words import chance, harmless, percent, probability, when

if TYPE_CHECKING:
    from trustcal.auditing import Audit

SLIGHT = 0.005
"""A loss below half a per cent of the payoff range is called slight."""


def meaning(audit: Audit) -> str:
    """A list of what the numbers say."""
    return f"<ul>{''.join(f'<li>{line}</li>' for line in _lines(audit))}</ul>"


def _lines(audit: Audit) -> list[str]:
    worst = audit.worst_threshold
    lines = []
    if harmless(audit):
        return ["These predictions mean what they say: whoever acts on them does as well as anyone could with them."]
    if chance(audit):
        lines.append(
            "<b>No evidence against the predictions.</b> What miscalibration there seems to be is as much as a perfect "
            "model would show by chance. More rows would tell more."
        )
    lines.append(
        "<b>At the worst</b>, if the best that can happen is worth 100 to somebody and the worst 0, one who acts "
        f"{escape(when(worst.threshold))} leaves {100 * worst.loss:.3g} on the table, per decision, against acting on "
        f"what the same predictions really mean. They would decide otherwise in {percent(worst.reversed)} of all cases."
    )
    lines.append(_where(audit))
    safe = [loss.threshold for loss in audit.losses if loss.loss < SLIGHT]
    if safe and len(safe) < len(audit.losses):
        lines.append(
            f"<b>Who need not worry:</b> those who act above {_listed([probability(mu) for mu in safe])} "
            f"lose less than {percent(SLIGHT)}."
        )
    elif safe:
        lines.append(f"<b>Most need not worry:</b> at all common thresholds the loss is below {percent(SLIGHT)}.")
    if audit.problem is not None:
        problem = audit.problem
        share = problem.swap_regret / problem.stakes if problem.stakes else 0.0
        more = f"could earn {problem.swap_regret:.4g} more ({percent(share)} of your payoff range)"
        lines.append(
            f"<b>With your payoffs</b>, believing the predictions earns {problem.value:.4g} per row, and "
            f"{more if problem.swap_regret > 0 else 'nothing is lost by it'}."
        )
    return lines


def _where(audit: Audit) -> str:
    """The place on the curve that is off by most rows times distance, in words."""
    curve = audit.curve
    p, p_hat, _ = max(
        zip(curve.p, curve.p_hat, curve.mass, strict=True), key=lambda point: abs(point[0] - point[1]) * point[2]
    )
    gap = audit.mean_prediction - audit.base_rate
    side = "too high" if gap > 0 else "too low"
    overall = f" On average predictions are {side} by {abs(gap):.3g}." if abs(gap) > 0.001 else ""
    often = percent(p_hat)
    return f"<b>Where they are off most:</b> a prediction of about {p:.3g} comes true {often} of the time.{overall}"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
