"""What a guarantee is: a number with a theorem attached."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal, final

Quantity = Literal[
    "ECE",
    "CDL",
    "decision loss",
    "swap regret",
    "smECE",
    "TV",
    "DTC",
    "smCal",
    "step",
    "cutoff",
    "monotone CDL",
    "pseudo-U-calibration",
    "Brier regret",
]


@final
@dataclass(frozen=True)
class Bound:
    """A quantity is at most, or with `side` "≥" at least, a value; which statement says so, and is it proved.

    >>> print(Bound("ECE", 0.25, "Theorem 13", True))
    ECE ≤ 0.25 (Theorem 13)
    >>> print(Bound("ECE", 1.5, "Theorem 3.1", True))
    ECE ≤ 1.5, which is vacuous (Theorem 3.1)
    >>> print(Bound("ECE", 0.25, "Theorem 43", False, "≥"))
    ECE ≥ 0.25 (Theorem 43; not proved)
    """

    quantity: Quantity
    value: float
    source: str
    proved: bool
    side: Literal["≤", "≥"] = "≤"

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing: every quantity here lies in [0, 1] anyway."""
        return self.value >= 1 if self.side == "≤" else self.value <= 0

    def __str__(self) -> str:
        vacuous = ", which is vacuous" if self.vacuous else ""
        caveat = "" if self.proved else "; not proved"
        return f"{self.quantity} {self.side} {self.value:.6g}{vacuous} ({self.source}{caveat})"


def root_gap(eps: float) -> float:
    """√(eps² + 2·eps), which the sharper lower bounds and their instances share."""
    return sqrt(eps * (eps + 2))
