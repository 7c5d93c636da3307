"""Gates: conditions on an audit under which a build should fail."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final, final

from trustcal.measures.table import audited

if TYPE_CHECKING:
    from trustcal.auditing.record import Audit

PARTS: Final = ("lower", "upper", "excess", "floor", "p")
_SYNTAX: Final = re.compile(r"\s*([a-z_]+)(?:\.([a-z_]+))?\s*(<=|>=|<|>)\s*(\S+)\s*")


@final
@dataclass(frozen=True)
class Gate:
    """A condition on an audit under which a build should fail.

        cdl>0.02            the measure itself
        cdl.lower>0.02      the lower end of its confidence interval
        cdl.excess>0.01     the part above the sampling floor
        cdl.p<0.01          the p-value; also .upper and .floor
        regret>5            the swap regret of the user's own decision problem, in the user's units

    >>> gate = Gate.parse("cdl > 0.02")
    >>> gate, str(gate)
    (Gate(name='cdl', part=None, sign='>', bound=0.02), 'cdl>0.02')
    """

    name: str
    part: str | None
    sign: str
    bound: float

    @classmethod
    def parse(cls, text: str) -> Gate:
        """The gate that a text describes."""
        found = _SYNTAX.fullmatch(text)
        if found is None:
            raise ValueError(f"a gate is a name, a sign and a number, such as cdl>0.02, not {text!r}.")
        name, part, sign, number = found.groups()
        known = (*audited(), "regret")
        if name not in known:
            raise ValueError(f"a gate is on one of {', '.join(known)}, not on {name!r}.")
        if part is not None and (part not in PARTS or name == "regret"):
            possible = "has no parts" if name == "regret" else f"has the parts {', '.join(PARTS)}"
            raise ValueError(f"{name} {possible}, so there is no {name}.{part}.")
        try:
            bound = float(number)
        except ValueError:
            raise ValueError(f"a gate ends in a number, as in cdl>0.02, not in {number!r}.") from None
        if bound != bound:
            raise ValueError("the bound of a gate must be a number, not NaN.")
        if part == "p" and not 0 < bound <= 1:
            raise ValueError(f"a p-value lies between 0 and 1, so its bound must lie in (0, 1], but it is {number}.")
        return cls(name, part, sign, bound)

    @property
    def draws(self) -> int:
        """The least number of draws with which the gate can fail: a p-value from n draws is at least 1/(n + 1).

        >>> Gate.parse("cdl>0.02").draws, Gate.parse("cdl.lower>0.02").draws, Gate.parse("cdl.p<0.001").draws
        (0, 1, 1000)
        """
        if self.part is None:
            return 0
        if self.part != "p" or ">" in self.sign:
            return 1
        enough = max(1, ceil(1 / self.bound) - 2)
        while not self._holds(1 / (enough + 1)):
            enough += 1
        return enough

    def value(self, audit: Audit) -> float:
        """The value that the gate compares with its bound."""
        if self.name == "regret":
            if audit.problem is None:
                raise ValueError(f"the gate {self} needs a decision problem: audit with payoff=….")
            return audit.problem.swap_regret
        if self.part is None:
            return audit.measures[self.name]
        if audit.inference is None or audit.inference.draws < self.draws:
            raise ValueError(f"the gate {self} needs rows and enough draws: draws={max(200, self.draws)}, for example.")
        known = audit.inference.of(self.name)
        part: float = getattr(known, "p_value" if self.part == "p" else self.part)
        return part

    def fails(self, audit: Audit) -> bool:
        """Whether the condition holds."""
        return self._holds(self.value(audit))

    def _holds(self, found: float) -> bool:
        above = found >= self.bound if "=" in self.sign else found > self.bound
        below = found <= self.bound if "=" in self.sign else found < self.bound
        return above if ">" in self.sign else below

    def __str__(self) -> str:
        part = "" if self.part is None else f".{self.part}"
        return f"{self.name}{part}{self.sign}{self.bound:g}"


@final
@dataclass(frozen=True)
class Failure:
    """A gate that failed, and the value that failed it."""

    gate: Gate
    value: float

    def __str__(self) -> str:
        return f"{self.gate}: it is {self.value:.6g}"
