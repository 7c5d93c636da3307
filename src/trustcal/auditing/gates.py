"""Gates: conditions on an audit under which a build should fail."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil, isfinite
from typing import TYPE_CHECKING, Final, final

from trustcal.inference import Uncertainty
from trustcal.measures.table import audited
from trustcal.reading.numbers import number

if TYPE_CHECKING:
    from trustcal.auditing.numbers import DecisionLoss, GroupAudit, ProblemLoss
    from trustcal.auditing.record import Audit

PARTS: Final = ("lower", "upper", "excess", "floor", "p")
LEAST_P: Final = 1e-7
"""The smallest bound of a p-value: it needs 10^7 draws, the most of an audit."""
_GROUP_PARTS: Final = ("lower", "upper", "p")
_GROUP_NAMES: Final = ("loss", "cdl", "monotone_cdl")
"""The loss of a group, or the measure that it is: the other one has no interval there."""

Interval = tuple[float, float, float]
_SYNTAX: Final = re.compile(r"\s*(group\.|top\.)?([a-z_]+)(?:\.([a-z_]+))?\s*(<=|>=|<|>)\s*(\S+)\s*")


def missing(measure: str) -> str:
    """Why an audit lacks a measure, and what to do."""
    return (
        f"{measure} needs predictions that repeat, and these hardly do. Use monotone_cdl or cutoff, which need no "
        "bins; or ask for bins, such as cells=20."
    )


@final
@dataclass(frozen=True)
class Gate:
    """A condition on an audit under which a build should fail.

        loss>0.02           the most that anyone loses: the estimate of the audit's headline
        loss.lower>0.02     a lower confidence bound on it; also .upper
        cutoff>0.05         a measure
        cutoff.lower>0.05   the lower end of its confidence interval
        cutoff.excess>0.01  the part above the sampling floor
        cutoff.p<0.01       its p-value; also .upper and .floor
        regret>5            what the user's own decision problem loses on these rows, in the user's units
        group.loss>0.05     the same for each group: its loss (also .lower, .upper and .p), a measure, or its regret
        top.cutoff>0.05     with classes: a measure of the top label; cutoff>0.05 is then that of the worst class

    With classes the loss is that of the decision maker, whose lower and upper bounds are proved.
    Where predictions hardly repeat, the loss is the monotone decision loss, whose bounds hold with 95 % confidence for
    every population (Theorems 39 and 40), unless weights differ.  All other intervals are approximate.

    >>> gate = Gate.parse("loss > 0.02")
    >>> gate, str(gate)
    (Gate(name='loss', part=None, sign='>', bound=0.02, each=False, top=False), 'loss>0.02')
    """

    name: str
    part: str | None
    sign: str
    bound: float
    each: bool = False
    """Whether it is a condition on each group."""
    top: bool = False
    """Whether it is a condition on the top label, with classes."""

    @classmethod
    def parse(cls, text: str) -> Gate:
        """The gate that a text describes."""
        found = _SYNTAX.fullmatch(text)
        if found is None:
            raise ValueError(f"a gate is a name, a sign and a number, such as loss>0.02, not {text!r:.80}.")
        prefix, name, part, sign, digits = found.groups()
        group, top = prefix == "group.", prefix == "top."
        known = ("loss", *audited(), "regret")
        if name not in known:
            raise ValueError(f"a gate is on one of {', '.join(known)}, not on {name!r}.")
        if part is not None and (part not in PARTS or name == "regret"):
            possible = "has no parts" if name == "regret" else f"has the parts {', '.join(PARTS)}"
            raise ValueError(f"{name} {possible}, so there is no {name}.{part}.")
        if group and part is not None and (name not in _GROUP_NAMES or part not in _GROUP_PARTS):
            raise ValueError(
                f"of a group only the loss has parts, {', '.join(_GROUP_PARTS)}: there is no {name}.{part}."
            )
        bound = number(digits)
        if bound is None or not isfinite(bound):
            raise ValueError(f"a gate ends in a finite number, as in loss>0.02, not in {digits!r:.40}.")
        if part == "p" and not 0 < bound <= 1:
            raise ValueError(
                f"a p-value lies between 0 and 1, so its bound must lie in (0, 1], but it is {digits:.40}."
            )
        if part == "p" and "<" in sign and bound < LEAST_P:
            raise ValueError(
                f"the bound of a p-value must be at least {LEAST_P:g}, but it is {digits:.40}: smaller ones need too "
                "many draws."
            )
        return cls(name, part, sign, bound, group, top)

    @property
    def draws(self) -> int:
        """The least number of draws with which the gate can fail: a p-value from n draws is at least 1/(n + 1).

        >>> Gate.parse("cdl>0.02").draws, Gate.parse("loss.lower>0.02").draws, Gate.parse("cdl.p<0.001").draws
        (0, 1, 1000)
        """
        if self.part is None:
            return 0
        if self.part != "p" or ">" in self.sign:
            return 1
        enough = max(1, ceil(1 / self.bound) - 2)
        while not self.holds(1 / (enough + 1)):
            enough += 1
        return enough

    def value(self, audit: Audit) -> float:
        """The value that the gate compares with its bound."""
        if self.name == "regret":
            if audit.problem is None:
                raise ValueError(f"the gate {self} needs a decision problem: audit with payoff=….")
            return audit.problem.regret
        measure = audit.loss.measure if self.name == "loss" else self.name
        if measure not in audit.measures:
            raise ValueError(f"the gate {self} has no value: {missing(measure)}")
        if self.part is None:
            return audit.loss.estimate if self.name == "loss" else audit.measures[measure]
        known = audit.inference
        if known is None or (known.test.draws if measure != self.name else known.draws) < self.draws:
            raise ValueError(f"the gate {self} needs rows and enough draws: draws={max(200, self.draws)}, for example.")
        if self.part == "p":
            return known.test.p_value if self.name == "loss" else known.of(measure).p_value
        proved = known.monotone_cdl
        if measure == "monotone_cdl" and proved is not None and self.part in ("lower", "upper"):
            return proved.lower if self.part == "lower" else proved.upper
        if self.name == "loss" and self.part == "lower" and audit.loss.lower is not None:
            return audit.loss.lower
        part: float = getattr(known.of(measure), self.part)
        return part

    def value_in(self, group: GroupAudit) -> float:
        """The value of a group that the gate compares with its bound."""
        found: float | None
        if self.name == "regret":
            found = None if group.problem is None else group.problem.regret
        elif self.part is not None:
            same = self.name in ("loss", group.loss.measure)
            found = (group.p_value if self.part == "p" else getattr(group.loss, self.part)) if same else None
        else:
            found = group.loss.estimate if self.name == "loss" else group.measures.get(self.name)
        if found is None:
            raise ValueError(
                f"the gate {self} has no value in group {group.name}: it needs payoffs, draws or bins. The loss "
                f"always has one, here {group.loss.measure}: group.loss."
            )
        return found

    def failures(self, audit: Audit) -> tuple[Failure, ...]:
        """Where the condition holds: for the whole, or group by group."""
        if self.top:
            raise ValueError(f"the gate {self} needs a top label: audit with classes=… (--classes).")
        if not self.each:
            value = self.value(audit)
            return (Failure(self, value, audit.rows, self._interval(audit)),) if self.holds(value) else ()
        if not audit.groups:
            raise ValueError(f"the gate {self} needs groups: audit with by=….")
        found = [(self.value_in(group), group) for group in audit.groups if group.rows is not None]
        return tuple(
            Failure(self, value, group.rows, self._interval_in(group), group.name)
            for value, group in found
            if self.holds(value)
        )

    def _interval(self, audit: Audit) -> Interval | None:
        """What is measured, with the ends of its interval."""
        if self.name == "regret":
            return _ends(audit.problem)
        if self.name == "loss":
            return _ends(audit.loss)
        known = audit.inference
        return None if known is None else _ends(known.of(self.name))

    def _interval_in(self, group: GroupAudit) -> Interval | None:
        if self.name == "regret":
            return _ends(group.problem)
        return _ends(group.loss) if self.name in ("loss", group.loss.measure) else None

    def fails(self, audit: Audit) -> bool:
        """Whether the condition holds, for a gate on groups in any of them."""
        return bool(self.failures(audit))

    def holds(self, found: float) -> bool:
        """Whether the condition holds for a value."""
        above = found >= self.bound if "=" in self.sign else found > self.bound
        below = found <= self.bound if "=" in self.sign else found < self.bound
        return above if ">" in self.sign else below

    def __str__(self) -> str:
        part = "" if self.part is None else f".{self.part}"
        return f"{'group.' * self.each}{'top.' * self.top}{self.name}{part}{self.sign}{self.bound:g}"


def _ends(found: DecisionLoss | ProblemLoss | Uncertainty | None) -> Interval | None:
    """The value and the ends of its interval; None without inference."""
    if found is None or found.lower is None or found.upper is None:
        return None
    if isinstance(found, Uncertainty):
        return found.value, found.lower, found.upper
    return found.estimate, found.lower, found.upper


@final
@dataclass(frozen=True)
class Failure:
    """A gate that failed, the value that failed it, and what is known about it."""

    gate: Gate
    value: float
    rows: int | None = None
    """The number of rows behind it."""
    interval: Interval | None = None
    """What the gate is about: the estimate, and the lower and the upper end of its 95 % interval."""
    group: str | None = None
    """The group in which it failed, for a gate on groups."""

    def __str__(self) -> str:
        about = [] if self.rows is None else [f"{self.rows:,} row{'s' * (self.rows != 1)}"]
        if self.interval is not None:
            middle, lower, upper = (f"{x:.4g}" for x in self.interval)
            about.insert(0, f"{self.gate.name} {middle}, 95 % interval {lower} to {upper}")
        where = "" if self.group is None else f" in group {self.group}"
        return f"{self.gate}: it is {self.value:.6g}{where}" + (f" ({'; '.join(about)})" if about else "")
