"""What to do: use another threshold, recalibrate, collect more rows, or nothing.  One rule with the verdict.

A remedy is recommended only if the predictions are off.  If they are off and no remedy helps on held-out rows, the
advice says so; it is never to do nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trustcal.auditing.commands import learning
from trustcal.auditing.harms import better_rule, group_title, worst_group, worst_segment
from trustcal.formats import amount, four_decimals, percent

if TYPE_CHECKING:
    from trustcal.auditing.numbers import ProblemLoss
    from trustcal.auditing.record import Audit
    from trustcal.remedies import Comparison, HeldOutGain

_OTHERWISE: Final = {
    "trustworthy": (
        "Nothing to fix.",
        "Whoever acts on these predictions does about as well as anyone could with them.",
    ),
    "no evidence": ("Nothing to fix for now.", "Audit again when there are more rows."),
    "too few rows to tell": (
        "Collect more rows.",
        "Until then, do not rely on these predictions where much is at stake.",
    ),
    "not tested": ("Test it.", "Audit with simulations, such as draws=200 (--draws 200)."),
}
_REVERSED: Final = (
    "The higher the prediction, the rarer the outcome: these look like probabilities of the other outcome. If they "
    "are, use 1 minus the prediction, and audit again."
)
_LEARN: Final = "To learn it and keep it:"
_LEARN_BY_GROUP: Final = "To learn a map for each group, if that is better on held-out rows, and keep it:"
_NO_OTHER_RULE: Final = "Do this instead of the above, not as well: recalibrated predictions need no other rule."
_ALL_OR_GROUP: Final = "Do this or the above, not both: the command above compares them on held-out rows."


def to_do(audit: Audit) -> list[tuple[str, str, str | None]]:
    """What to do, the most useful first, each in a few words, in whole sentences, and as a command if there is one."""
    state, compared = audit.verdict.state, audit.comparison
    if state != "off":
        lead, text = _OTHERWISE[state]
        return [(lead, text if compared is None else f"{text} {_tried(compared)}", None)]
    if audit.rows is None:
        return [("Replace each prediction by what it means.", "The distribution is known.", "q.calibrated()")]
    said: list[tuple[str, str, str | None]] = []
    slope = None if audit.clinical is None else audit.clinical.slope
    if slope is not None and slope.upper < 0:
        said.append(("Check which outcome is predicted.", _REVERSED, None))
    if audit.problem is not None and audit.problem.lower:
        said.append(("Use another rule.", _rule(audit.problem), None))
    group = worst_group(audit)
    instead = f"{_NO_OTHER_RULE} " if audit.problem is not None and audit.problem.lower else ""
    alone = group is not None and group.remedy is not None and _helps(group.remedy, clearly=bool(instead))
    if group is not None and group.remedy is not None and alone:
        lead = f"Recalibrate {group_title(audit, group)} by itself, by {group.remedy.method}."
        said.append((lead, f"{_gain(group.remedy)} {instead}{_LEARN_BY_GROUP}", learning(audit, by=True)))
        instead = f"{_ALL_OR_GROUP} "
    if audit.remedy is not None and audit.remedy.by_group:
        if not alone:  # else the command above learns it
            lead = f"Recalibrate, by {audit.remedy.common}, with a map for each group."
            said.append((lead, f"{_gain(audit.remedy)} {instead}{_LEARN}", learning(audit, by=True)))
    elif audit.remedy is not None and _helps(audit.remedy, clearly=alone):
        lead = f"Recalibrate{' all rows' if group is not None else ''}, by {audit.remedy.method}."
        said.append((lead, f"{_gain(audit.remedy)} {instead}{_LEARN}", learning(audit, method=audit.remedy.method)))
    if worst_segment(audit) is not None:
        also = "" if not said else "This can be done instead of the above: it learns a map for all rows too. "
        lead = "Recalibrate the segments that are hurt."
        text = f"{also}In each segment predictions are shifted, by as much as held-out rows confirm. In Python:"
        method = "none" if audit.remedy is None else audit.remedy.common
        call = f"trustcal.remedies.fit({method!r}, y_true, y_prob, by=audit.segments.members(frame))"
        said.append((lead, text, call))
    if said:
        return said
    if audit.base_rate in (0, 1):
        missing = int(audit.base_rate == 0)
        return [
            ("Collect rows of both outcomes.", f"No outcome is {missing}, so nothing can be learned from these.", None)
        ]
    if audit.remedy is None:
        return [
            (
                "Recalibrate.",
                "To find the best method on held-out rows, and keep it:",
                learning(audit, by=group is not None),
            )
        ]
    return [
        (
            "Collect more rows.",
            "The predictions are off, but on held-out rows no remedy clearly helps. Until then, do not rely on them "
            "where much is at stake.",
            None,
        )
    ]


def _helps(remedy: HeldOutGain, clearly: bool) -> bool:
    """Whether to advise it: it is recommended, and its gain is clear if there is other advice of the same kind."""
    return remedy.method != "none" and (not clearly or remedy.lower > 0)


def _rule(problem: ProblemLoss) -> str:
    rule, hundred = better_rule(problem), 100
    ends = [amount(hundred * (end or 0.0)) for end in (problem.lower, problem.upper)]
    return (
        f"{rule[0].upper()}{rule[1:]} gains about {amount(hundred * problem.estimate)} per 100 decisions (95 % "
        f"interval: {ends[0]} to {ends[1]})."
    )


def _gain(remedy: HeldOutGain) -> str:
    """What the remedy gains on held-out rows, with its interval."""
    chance = "" if remedy.lower > 0 else ", which may be chance"
    moved = ""
    if remedy.loss_after < remedy.loss_before:
        moved = (
            f" What anyone could gain by moving thresholds goes from {percent(remedy.loss_before)} to "
            f"{percent(remedy.loss_after)} of the payoff range."
        )
    if remedy.criterion == "payoff":
        ends = f"{amount(remedy.lower)} to {amount(remedy.upper)}"
        return (
            f"On held-out rows it earns {amount(remedy.gain)} per row more with your payoffs{chance} (95 % interval: "
            f"{ends}).{moved}"
        )
    gain, lower, upper = map(four_decimals, (remedy.gain, remedy.lower, remedy.upper))
    return f"On held-out rows it lowers the Brier score by {gain}{chance} (95 % interval: {lower} to {upper}).{moved}"


def _tried(compared: Comparison) -> str:
    """Of a comparison that was asked for although there is nothing to fix."""
    if compared.recommended == "none":
        return "On held-out rows no remedy clearly helps."
    return f"{compared.recommended} would be the best remedy, but there is no evidence that one is needed."
