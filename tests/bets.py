"""The monitor's bets by their definition: every round to begin at in turn, and logarithms."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np

from trustcal.monitoring.betting import EDGES, KEEP, ODDS, SLOPES

Rows = list[tuple[float, bool]]


def share(n: int) -> Fraction:
    """What is set aside for round n: 1/((j + 1)(j + 2)) for the rounds from 2^j to 2^(j+1) − 1 together."""
    j = n.bit_length() - 1
    return Fraction(1, (j + 1) * (j + 2) * 2**j)


def mixture(factors: list[float]) -> float:
    """Σ over rounds k to begin at of w_k times the product of all factors from k on; what begins later is worth 1."""
    begun = [float(share(k + 1)) * float(np.prod(factors[k:])) for k in range(len(factors))]
    later = 1 - float(sum(share(k + 1) for k in range(len(factors))))
    return sum(begun) + later


def likelihood_ratio(r: float, q: float, y: bool) -> float:
    return r / q if y else (1 - r) / (1 - q)


def logit(q: float) -> float:
    return log(q / (1 - q))


def sigma(z: float) -> float:
    return 1 / (1 + exp(-z))


def slow_e_value(rows: Rows) -> float:
    """The definition, with logarithms and every round to begin at in turn."""
    rows = [(q, y) for q, y in rows if 0 < q < 1]

    def table(of: Rows, maps: list[tuple[float, float]]) -> float:
        """The mean over maps q → σ(a·logit q + b)."""
        return float(
            np.mean([mixture([likelihood_ratio(sigma(a * logit(q) + b), q, y) for q, y in of]) for a, b in maps])
        )

    shifts = [(1.0, log(odds)) for odds in ODDS]
    slopes = [(slope, 0.0) for slope in SLOPES]
    cells: dict[int, Rows] = {}
    learned: list[list[float]] = [[] for _ in KEEP]
    for q, y in rows:
        mine = cells.setdefault(int(np.searchsorted(EDGES, q, side="right")), [])
        for keep, factors in zip(KEEP, learned, strict=True):
            weights = keep ** np.arange(len(mine) - 1, -1, -1.0)
            ones = float(weights @ [float(b) for _, b in mine]) if mine else 0.0
            said = float(weights @ [a for a, _ in mine]) if mine else 0.0
            total = float(weights.sum())
            odds = (ones + 2) * (total - said + 2) / ((total - ones + 2) * (said + 2))
            factors.append(likelihood_ratio(sigma(logit(q) + log(odds)), q, y))
        mine.append((q, y))
    per_cell = [table(cells.get(cell, []), shifts) for cell in range(len(EDGES) + 1)]
    everyone = [table(rows, shifts), table(rows, slopes), float(np.mean([mixture(factors) for factors in learned]))]
    return (sum(everyone) + float(np.mean(per_cell))) / 4
