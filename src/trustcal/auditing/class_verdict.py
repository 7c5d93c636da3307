"""The verdict on vectors of probabilities: what the decision maker loses, and which recommendation is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trustcal.auditing.harms import VISIBLE, Harm, clear_gap
from trustcal.auditing.numbers import SIGNIFICANT
from trustcal.auditing.verdict import State, Verdict, tested_state, undecided
from trustcal.formats import amount, percent

if TYPE_CHECKING:
    from trustcal.auditing.class_numbers import ClassGroupAudit
    from trustcal.auditing.class_record import ClassAudit
    from trustcal.classes import ViewMeasures


def class_verdict_on(audit: ClassAudit) -> Verdict:
    """One rule: three tests, of the decision maker's regret, of the top label and of all classes, adjusted for three.

    The upper end is the larger of the decision maker's and that of the worst class, as a share of the payoff range.
    """
    problem, p = audit.problem, p_value(audit)
    test = problem.test
    upper = None
    if test is not None:
        ends = [0.0 if problem.ends is None else problem.ends[1]]
        upper = max(ends + [one.known[0].upper for one in audit.views if one.known])
    state = _state(audit, p, upper)
    return Verdict(
        state=state,
        headline=_headline(audit, state, p, upper),
        caveats=(),
        hurt=tuple(_hurt(audit)),
        where=_where(audit) if state in ("off", "not tested") else None,
        loss=problem.share,
        lower=None if problem.ends is None else problem.ends[0],
        upper=upper,
        p_value=p,
        draws=None if test is None else test.draws,
    )


def p_value(audit: ClassAudit) -> float | None:
    """The smallest of three p-values times three: regret, top label, classes (these by Holm); None without draws."""
    found = [one.p_value for one in audit.views if one.p_value is not None]
    if audit.problem.test is None or not found:
        return None
    return min(1.0, 3 * min(audit.problem.test.p_value, *found))


def _state(audit: ClassAudit, p: float | None, upper: float | None) -> State:
    if p is None or upper is None:
        if audit.rows is None:
            return "off" if max(audit.worst.lower, audit.problem.share) > 1e-6 else "trustworthy"
        return "not tested"
    return tested_state(p, upper)


def _headline(audit: ClassAudit, state: State, p: float | None, upper: float | None) -> str:
    problem, loses = audit.problem, _loses(audit)
    if state == "trustworthy":
        if upper is None:
            return "No decision maker loses anything by believing these probabilities."
        return (
            f"You can act on these probabilities. Neither {_who(audit)} nor anyone who acts on one class loses more "
            f"than {percent(upper)} of their payoff range by believing them."
        )
    if upper is not None and state in ("no evidence", "too few rows to tell"):
        return undecided(state, "probabilities", audit.rows, audit.effective_rows, upper)
    if state == "not tested":
        return f"On these rows {loses}. Whether that is chance was not tested: no simulations were asked for."
    if p is None:
        return f"These probabilities are off: {loses}."
    if problem.test is not None and problem.test.p_value > SIGNIFICANT:
        off = "These probabilities are off, more than chance explains, but"
        if problem.action_regret == 0:
            return (
                f"{off} {_who(audit)} loses nothing: no other action would have earned more where one is recommended."
                f"{_top(audit)}"
            )
        return f"{off} nothing shows that {_who(audit)} is hurt: {loses}.{_top(audit)}"
    return f"These probabilities are off, and not by chance: {loses}.{_top(audit)}"


def _top(audit: ClassAudit) -> str:
    """How sure the probabilities are of the likeliest class, and how often it is right, if that is not chance."""
    top = audit.top
    tested = top.p_value is not None and top.p_value <= SIGNIFICANT
    if not tested or abs(top.mean_prediction - top.base_rate) < VISIBLE:
        return ""
    return (
        f" The likeliest class is given {percent(top.mean_prediction)} on average, and is right in "
        f"{percent(top.base_rate)} of the rows."
    )


def _who(audit: ClassAudit) -> str:
    return "your decision maker" if audit.problem.yours else "whoever picks the likeliest class"


def _loses(audit: ClassAudit) -> str:
    """What the decision maker loses, in words."""
    problem, test = audit.problem, audit.problem.test
    lost = f"{_who(audit)} loses {amount(problem.action_regret)} per row by believing them"
    told = f"{lost} (and earns {amount(problem.value)})"
    if test is None:
        return told
    return (
        f"{told}; {amount(test.by_chance)} would show by chance, so about {amount(test.excess)} "
        f"(95 % interval {amount(test.lower)} to {amount(test.upper)}), {percent(problem.share)} of the payoff range"
    )


def _hurt(audit: ClassAudit) -> list[Harm]:
    problem, found = audit.problem, []
    worst = problem.worst
    if worst is not None and (problem.test is None or problem.estimate > 0):
        found.append(
            Harm(
                "Wrong most expensively",
                f"where the recommendation is {worst.action!r} ({percent(worst.mass)} of the rows), {worst.better!r} "
                f"would have earned {amount(worst.gain / worst.mass)} more per such row, {amount(worst.gain)} per row "
                f"of all. It promised {amount(worst.promised / worst.mass)} and earned "
                f"{amount(worst.earned / worst.mass)}.",
                worst.gain / (problem.stakes or 1.0),
                None,
                None,
            )
        )
    group = worst_group_of(audit)
    if group is not None:
        found.append(
            Harm("Worst-hurt group", _about_group(group), group.problem.share, *(group.problem.ends or (None, None)))
        )
    one = worst_view(audit)
    if one is not None:
        ends = (one.known[0].lower, one.known[0].upper) if one.known else (None, None)
        found.append(Harm(f"Class {one.name}", _about_class(one, audit.effective_rows), loss_of(one), *ends))
    if audit.pairs and audit.pairs[0].loss > 0:
        pair = audit.pairs[0]
        found.append(
            Harm(
                "Worst pair",
                f"{pair.a} or {pair.b}: where one of the two occurred ({percent(pair.share)} of the rows), the "
                f"probability of {pair.a} among the two is {pair.said:.2f} on average, and it was {pair.a} with a "
                f"frequency of {pair.seen:.2f}; whoever decides between them loses up to {percent(pair.loss)} of their "
                "payoff range there.",
                pair.total,
                None,
                None,
            )
        )
    return found


def worst_group_of(audit: ClassAudit) -> ClassGroupAudit | None:
    """Of the groups that are off by more than chance, the one that loses most."""
    hurt = [group for group in audit.groups if group.p_value is not None and group.p_value <= SIGNIFICANT]
    return max(hurt, key=lambda group: group.harm, default=None)


def _about_group(group: ClassGroupAudit) -> str:
    problem, top, worst = group.problem, group.top, group.problem.worst
    right = f"says {percent(top.mean_prediction)} on average and is right in {percent(top.base_rate)} of the rows"
    if worst is None or problem.estimate == 0:
        return (
            f"{group.name}, where whoever acts on the probability of the top label loses up to {percent(loss_of(top))} "
            f"of their payoff range: it {right}."
        )
    return (
        f"{group.name}, where {percent(problem.share)} of the payoff range is lost. Where the recommendation is "
        f"{worst.action!r}, {worst.better!r} would have earned {amount(worst.gain / worst.mass)} more per such row. "
        f"The top label {right}."
    )


def worst_view(audit: ClassAudit) -> ViewMeasures | None:
    """The class whose users lose most; None if nobody does, or not more than by chance."""
    classes = [one for one in audit.views[1:] if one.p_value is None or one.p_value <= SIGNIFICANT]
    if not classes:
        return None
    worst = max(classes, key=loss_of)
    return worst if loss_of(worst) > 1e-12 else None


def loss_of(one: ViewMeasures) -> float:
    """The decision loss of a view, less what would show by chance."""
    return one.known[0].excess if one.known else one.values["monotone_cdl"]


def _about_class(one: ViewMeasures, rows: float | None) -> str:
    gap = one.mean_prediction - one.base_rate
    told = f"whoever acts on its probability loses up to {percent(loss_of(one))} of their payoff range."
    if not clear_gap(gap, one.base_rate, rows):
        return told
    return (
        f"{told} It is too {'high' if gap > 0 else 'low'}: {one.mean_prediction:.3f} on average, where its frequency "
        f"is {one.base_rate:.3f}."
    )


def _where(audit: ClassAudit) -> str | None:
    worst = audit.worst
    if worst.held_out is None or worst.score is None or worst.held_out < 1e-6:
        return None
    heavy = [name for name, weight in zip(audit.classes, worst.score, strict=True) if weight == 1]
    half = [name for name, weight in zip(audit.classes, worst.score, strict=True) if weight == 0.5]
    told = " + ".join(heavy + [f"½·{name}" for name in half])
    return (
        f"Of all who act on one score of the probabilities, whoever acts on {told} is hurt most: "
        f"{percent(worst.held_out)} of their payoff range, found on half of the rows and judged on the other half."
    )
