"""Gates on an audit of K classes: what each name means there.

loss           what the decision maker loses, as a share of the payoff range; its lower and upper bounds are proved
regret         the same on these rows, in the user's units
cutoff         a measure of each class against the rest: the largest counts
top.cutoff     the measure of the top label
group.loss     the loss in each group; also .lower, .upper and .p, and group.regret
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from trustcal.auditing.gates import Failure, Gate, Interval
from trustcal.inference import Uncertainty

if TYPE_CHECKING:
    from trustcal.auditing.class_numbers import ClassGroupAudit, OutcomeLoss
    from trustcal.auditing.class_record import ClassAudit
    from trustcal.classes import ViewMeasures

CLASS_TESTS: Final = 3
"""The verdict takes the smallest of three p-values, times three."""


def class_failures(gate: Gate, audit: ClassAudit) -> tuple[Failure, ...]:
    """Where the condition holds: for the whole, or group by group.  O(K)."""
    if gate.each:
        return _group_failures(gate, audit)
    value = _value(gate, audit)
    interval = _loss_ends(audit.problem) if gate.name == "loss" else None
    return (Failure(gate, value, audit.rows, interval),) if gate.holds(value) else ()


def _value(gate: Gate, audit: ClassAudit) -> float:
    if gate.name == "regret":
        return _regret(gate, audit.problem)
    if gate.name == "loss":
        if gate.top:
            raise ValueError(f"the gate {gate} has no value: of the top label there are measures, such as top.cutoff.")
        if gate.part == "p":
            p, draws = audit.verdict.p_value, audit.verdict.draws
            return _enough(gate, p, draws, CLASS_TESTS)
        return _loss_part(gate, audit.problem)
    views = audit.views[:1] if gate.top else audit.views[1:]
    return _measure(gate, views)


def _measure(gate: Gate, views: Sequence[ViewMeasures]) -> float:
    """The largest over some views; for p-values the smallest, times their number."""
    keys = list(views[0].values)
    if gate.name not in keys:
        raise ValueError(f"the gate {gate} has no value: with classes the measures are {', '.join(keys)}.")
    if gate.part is None:
        return max(one.values[gate.name] for one in views)
    place = keys.index(gate.name)
    known: list[Uncertainty] = [one.known[place] for one in views if one.known]
    if not known:
        raise ValueError(f"the gate {gate} needs rows and enough draws: draws={max(200, gate.draws)}, for example.")
    if gate.part == "p":
        least = min(one.p_value for one in known)
        return _enough(gate, min(1.0, len(known) * least), known[0].test.floor.draws, len(known))
    return max(float(getattr(one, gate.part)) for one in known)


def _loss_part(gate: Gate, problem: OutcomeLoss) -> float:
    """A part of the loss, as a share of the payoff range."""
    if gate.part is None or not problem.stakes:
        return problem.share
    if problem.test is None or problem.bound is None:
        raise ValueError(f"the gate {gate} needs rows and enough draws: draws=200, for example.")
    parts = {
        "lower": problem.bound.lower,
        "upper": problem.bound.upper,
        "excess": problem.test.excess,
        "floor": problem.test.by_chance,
    }
    return parts[gate.part] / problem.stakes


def _regret(gate: Gate, problem: OutcomeLoss) -> float:
    if not problem.yours:
        raise ValueError(f"the gate {gate} needs your payoffs: audit with payoff=… (--payoff FILE).")
    return problem.action_regret


def _enough(gate: Gate, p_value: float | None, draws: int | None, tests: int) -> float:
    """An adjusted p-value, if the draws can make it small enough."""
    needed = tests * (gate.draws + 1)
    if p_value is None or draws is None or (gate.draws > 1 and draws < needed):
        raise ValueError(f"the gate {gate} needs rows and enough draws: draws={max(200, needed)}, for example.")
    return p_value


def _group_failures(gate: Gate, audit: ClassAudit) -> tuple[Failure, ...]:
    if not audit.groups:
        raise ValueError(f"the gate {gate} needs groups: audit with by=… (--by COLUMN).")
    if gate.name not in ("loss", "regret"):
        raise ValueError(f"the gate {gate} has no value: with classes a group has group.loss and group.regret.")
    found = [(_group_value(gate, group), group) for group in audit.groups if group.rows is not None]
    return tuple(
        Failure(gate, value, group.rows, _loss_ends(group.problem) if gate.name == "loss" else None, group.name)
        for value, group in found
        if gate.holds(value)
    )


def _group_value(gate: Gate, group: ClassGroupAudit) -> float:
    if gate.name == "regret":
        return _regret(gate, group.problem)
    if gate.part != "p":
        return _loss_part(gate, group.problem)
    if group.p_value is None:
        raise ValueError(f"the gate {gate} needs rows and enough draws: draws=200, for example.")
    return group.p_value


def _loss_ends(problem: OutcomeLoss) -> Interval | None:
    """The loss with the ends of its interval."""
    return None if problem.ends is None else (problem.share, *problem.ends)
