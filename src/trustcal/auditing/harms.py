"""Who is hurt by believing the predictions: you, the worst-hurt group, whoever acts above one threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from trustcal.auditing.numbers import SIGNIFICANT
from trustcal.formats import acts, amount, percent

if TYPE_CHECKING:
    from trustcal.auditing.numbers import GroupAudit, ProblemLoss
    from trustcal.auditing.record import Audit
    from trustcal.segmenting import Segment

ROUNDING: Final = 1e-12
"""A loss below this is rounding."""
SLIGHT: Final = 0.005
"""A loss of at most half a per cent of the payoff range matters to nobody, whatever the test says."""
VISIBLE: Final = 0.01
"""A mean prediction this close to the frequency of the outcome is not what is wrong."""


@final
@dataclass(frozen=True)
class Harm:
    """Somebody who is hurt by believing the predictions."""

    who: str
    """Your own payoffs, the worst-hurt group, or whoever acts above one threshold."""
    text: str
    """By how much, and what they should do instead."""
    loss: float
    """What they lose, as a share of the payoff range: the estimate, less what would show by chance."""
    lower: float | None
    """The lower end of its interval; None without inference, and for one threshold."""
    upper: float | None
    """The upper end."""


def harms(audit: Audit, off: bool) -> list[Harm]:
    """Who is hurt, the most relevant first; whoever acts above one threshold only if all rows together are off."""
    said, problem, group = [], audit.problem, worst_group(audit)
    if problem is not None:
        ends = [None if end is None else end / (problem.stakes or 1.0) for end in (problem.lower, problem.upper)]
        said.append(Harm("With your payoffs", _yours(problem), problem.share, *ends))
    if group is not None:
        loss = group.loss
        who = "Group that is off" if _free(group) else "Worst-hurt group"
        said.append(Harm(who, _group(audit, group), loss.estimate, loss.lower, loss.upper))
    segment = worst_segment(audit)
    if segment is not None:
        unit = 1.0 if problem is None else problem.stakes or 1.0
        share = [part / unit for part in (segment.harm, segment.lower, segment.upper)]
        said.append(Harm("Worst-hurt segment", in_segment(segment), *share))
    one = audit.worst_threshold
    if off and one.gain > max(ROUNDING, one.by_chance or 0.0):
        should = acts(one.instead, one.instead_on)
        rule = f"{should} act" if should in ("never", "always") else f"act {should}"
        chance = "" if one.by_chance is None else f" ({percent(one.by_chance)} would show by chance)"
        text = (
            f"whoever acts {acts(one.threshold, one.acts_on)} should {rule}. On these rows that gains "
            f"{percent(one.gain)} of the payoff range{chance} and reverses {percent(one.reversed)} of the decisions."
        )
        said.append(Harm("Worst hit", text, max(0.0, one.loss - (one.by_chance or 0.0)), None, None))
    return said


def worst_group(audit: Audit) -> GroupAudit | None:
    """Of the groups that are off by more than chance, the one that loses most, with the user's payoffs if given."""
    hurt = [
        group
        for group in audit.groups
        if group.p_value is not None and group.p_value <= SIGNIFICANT and (group.loss.upper or 0.0) > SLIGHT
    ]
    return max(hurt, key=lambda group: group.harm, default=None)


def worst_segment(audit: Audit) -> Segment | None:
    """Of the segments that a search found, the one with the largest total harm, if it is clear that there is any."""
    found = () if audit.segments is None else audit.segments.found
    least = SLIGHT * (1.0 if audit.problem is None else audit.problem.stakes)
    return next((one for one in found if one.conditions and one.lower > 0 and one.upper > least), None)


def in_segment(segment: Segment) -> str:
    """What is lost in a segment, in one sentence."""
    where = f"Where {segment} ({percent(segment.share)} of the rows)"
    if segment.better is not None:
        ends = f"95 % interval: {amount(segment.lower)} to {amount(segment.upper)}"
        return (
            f"{where}, “{segment.better}” instead of “{segment.taken}” would earn {amount(segment.harm)} more per row "
            f"of theirs ({ends})."
        )
    high = "high" if segment.gap < 0 else "low"
    ends = f"95 % interval: {percent(segment.lower)} to {percent(segment.upper)}"
    return (
        f"{where}, predictions are too {high}, by about {abs(segment.gap):.2f}: up to {percent(segment.harm)} of the "
        f"payoff range is lost ({ends})."
    )


def group_title(audit: Audit, group: GroupAudit) -> str:
    """The group with its column, as in ward = west: alone, a value such as 0.5 or large says little."""
    by = () if audit.provenance is None else audit.provenance.columns.by
    return f"{by[0]} = {group.name}" if len(by) == 1 else group.name


def group_loss(group: GroupAudit) -> str:
    """What is lost in a group, as in: up to 4.7 % of the payoff range is lost (95 % interval: …)."""
    loss = group.loss
    if _free(group):
        most = percent(loss.upper or 0.0)
        return (
            f"nothing shows that this costs anybody anything, but a loss of up to {most} of the payoff range cannot be "
            "ruled out"
        )
    ends = f"95 % interval: {percent(loss.lower or 0.0)} to {percent(loss.upper or 0.0)}"
    return f"up to {percent(loss.estimate)} of the payoff range is lost ({ends})"


def _free(group: GroupAudit) -> bool:
    """Whether the estimate of what is lost in a group is printed as 0."""
    return percent(group.loss.estimate) == percent(0.0)


def your_loss(problem: ProblemLoss) -> str:
    """What the user's own decision maker loses, in one sentence; the problem must have been tested."""
    if problem.lower:
        return (
            f"With your payoffs, believing them costs about {amount(problem.estimate)} per row, "
            f"{percent(problem.share)} of the payoff range (95 % interval: {amount(problem.lower)} to "
            f"{amount(problem.upper or 0.0)} per row)."
        )
    most = percent((problem.upper or 0.0) / (problem.stakes or 1.0))
    return (
        "With your payoffs, taken over all rows, that costs nothing which chance does not explain; "
        f"a loss of up to {most} of the payoff range cannot be ruled out."
    )


def better_rule(problem: ProblemLoss) -> str:
    """The better rule for the user's payoffs, as in: choosing “treat” above 0.2 instead of above 0.25."""
    if problem.action_regret > problem.moving:
        swaps = [f"“{one.better}” for “{one.action}”" for one in problem.recommendations if one.gain > 0]
        return f"taking {' and '.join(swaps)}"
    names = [problem.actions[response] for response in problem.responses]
    moved = [
        f"“{name}” {acts(new)} instead of {acts(old)}"
        for name, old, new in zip(names[1:], problem.thresholds, problem.instead, strict=True)
        if new != old
    ]
    return f"choosing {' and '.join(moved)}"


def _yours(problem: ProblemLoss) -> str:
    earns = f"believing the predictions earns {amount(problem.value)} per row"
    if problem.regret <= ROUNDING * max(1.0, problem.stakes):
        return f"{earns}, and other thresholds or actions would not earn more."
    rule = better_rule(problem)
    found = f"{earns}. {rule[0].upper()}{rule[1:]} would have earned {amount(problem.regret)} more"
    if problem.by_chance is None or problem.lower is None or problem.upper is None:
        return f"{found}."
    if problem.estimate == 0:
        return (
            f"{earns}, and other thresholds or actions would not have earned more than chance explains. A gain of up "
            f"to {amount(problem.upper)} cannot be ruled out."
        )
    return (
        f"{found}; {amount(problem.by_chance)} of that would show by chance "
        f"(95 % interval for the gain: {amount(problem.lower)} to {amount(problem.upper)})."
    )


def _group(audit: Audit, group: GroupAudit) -> str:
    yours = ""
    if group.problem is not None and group.problem.estimate > 0:
        yours = (
            f" With your payoffs, {better_rule(group.problem)} there gains {amount(group.problem.regret)} per row, of "
            f"which {amount(group.problem.by_chance or 0.0)} would show by chance."
        )
    gap = group.mean_prediction - group.base_rate
    average = ""
    if abs(gap) >= VISIBLE and clear_gap(gap, group.base_rate, group.effective_rows):
        average = (
            f" Its predictions are too {'high' if gap > 0 else 'low'}: {group.mean_prediction:.2f} on average, where "
            f"the outcome has a frequency of {group.base_rate:.2f}."
        )
    return f"{group_title(audit, group)}, where {group_loss(group)}.{average}{yours}"


def clear_gap(gap: float, base_rate: float, rows: float | None) -> bool:
    """Whether mean prediction and frequency differ by more than two standard errors of the frequency."""
    return rows is None or gap**2 > 4 * max(base_rate * (1 - base_rate), 1 / rows) / rows
