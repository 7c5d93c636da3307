"""The alarm: bets against calibration, whose expected value on a calibrated stream never exceeds the stake.

The null hypothesis: y_t is 1 with probability q_t, given q_1, y_1, …, q_{t−1}, y_{t−1}, q_t.  Multiplying
wealth in every round by the likelihood ratio r_t(y_t)/q_t(y_t), for a probability r_t chosen before y_t is seen, is
then a fair game; so is dividing the stake among many such bets and many starting rounds.  By Ville's inequality wealth
that starts from 1 ever reaches 1/α with probability at most α.  monitoring.md has the proofs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isinf, log10
from typing import Any, Self, final

import numpy as np

from trustcal.kernels.bets import LARGE, bet

ODDS = (1 / 4, 1 / 2, 2 / 3, 4 / 5, 8 / 9, 9 / 8, 5 / 4, 3 / 2, 2.0, 4.0)
"""Ratios of true to predicted odds, for the bets on every row and on each bin."""
SLOPES = (1 / 2, 3 / 4, 5 / 4, 3 / 2, 2.0, 3.0)
"""Ratios of true to predicted log odds."""
EDGES = (0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.99)
"""Edges of the bins of predictions."""
KEEP = (1 - 1 / 64, 1 - 1 / 1024)
"""The factors by which the two learners discount their counts in a bin at each of its rows."""

_COUNTS = (len(ODDS), len(SLOPES), len(KEEP), *([len(ODDS)] * (len(EDGES) + 1)))
_PRIOR = (0.25, 0.25, 0.25, *([0.25 / (len(EDGES) + 1)] * (len(EDGES) + 1)))
_STEPS = 40
"""Elementary steps per row, by which the kernel decides whether to compile."""


@final
@dataclass(frozen=True)
class Bet:
    """A way in which predictions may be wrong, and what betting on it has earned."""

    low: float
    high: float
    """The bet is on predictions from `low` to `high`."""
    odds: float | None
    """Ratio of the true to the predicted odds; None for slopes and learned bets."""
    slope: float | None
    """Ratio of the true to the predicted log odds; None for other bets."""
    log10_e: float
    """Decimal logarithm of the value of a stake of 1."""

    def __str__(self) -> str:
        """The bet in words.

        >>> print(Bet(0.2, 0.35, 0.5, None, 3.0))
        predictions from 0.2 to 0.35 are too high: the odds are 1/2 of those predicted
        """
        if self.slope is not None:
            extreme = "too extreme" if self.slope < 1 else "not extreme enough"
            return f"predictions are {extreme}: the log odds are {_times(self.slope)} those predicted"
        if self.odds is None:
            return "predictions are wrong in a way that earlier rows reveal"
        which = "predictions" if (self.low, self.high) == (0, 1) else f"predictions from {self.low:g} to {self.high:g}"
        height = "too high" if self.odds < 1 else "too low"
        return f"{which} are {height}: the odds are {_times(self.odds)} those predicted"


@final
class Bets:
    """All bets on a stream.  A round takes about thirty multiplications; the state is about 400 numbers."""

    def __init__(self) -> None:
        most = max(_COUNTS)
        self.wealth = [[0.0] * most for _ in _COUNTS]
        self.units = [[0] * most for _ in _COUNTS]
        self.clocks = [[0, 1, 0] for _ in _COUNTS]
        self.worth = [1.0] * len(_COUNTS)
        self.seen = [[[0.0] * 4 for _ in range(len(EDGES) + 1)] for _ in KEEP]

    def feed(self, q: list[float], y: list[bool], limit: float) -> tuple[int | None, int | None]:
        """Play rounds.  The first index at which the e-value reached `limit`, and at which a 0 or 1 failed."""
        play = bet.on(_STEPS * len(q))
        if play is bet.function or len(q) < 10:  # for few rows, converting the state to arrays takes longer
            reached, failed = bet.function(
                q, y, limit, ODDS, EDGES, KEEP, _PRIOR, _COUNTS,
                self.wealth, self.units, self.clocks, self.worth, self.seen, [0.0] * max(_COUNTS),
            )  # fmt: skip
        else:
            tables = [np.array(table) for table in (self.wealth, self.units, self.clocks, self.worth, self.seen)]
            wealth, units, clocks, worth, seen = tables
            odds, edges, keep, prior, counts = (np.array(given) for given in (ODDS, EDGES, KEEP, _PRIOR, _COUNTS))
            reached, failed = play(
                np.array(q), np.array(y), limit, odds, edges, keep, prior, counts,
                wealth, units, clocks, worth, seen, np.empty(max(_COUNTS)),
            )  # fmt: skip
            self.wealth, self.units, self.clocks, self.worth, self.seen = (table.tolist() for table in tables)
        return reached if reached >= 0 else None, failed if failed >= 0 else None

    @property
    def log10_e(self) -> float:
        """Decimal logarithm of the value of a stake of 1, divided among all bets."""
        return _log_sum([log10(weight) + log10_e for weight, log10_e in zip(_PRIOR, self._tables(), strict=True)])

    def best(self, bins_only: bool = False) -> Bet:
        """The most profitable bet, of all or of those on single bins."""
        return max(self._bets(3 if bins_only else 0), key=lambda candidate: candidate.log10_e)

    def _bets(self, first: int) -> Iterator[Bet]:
        for table in range(first, len(_COUNTS)):
            later = self._later(table)
            for index in range(_COUNTS[table]):
                low, high = (0.0, 1.0) if table < 3 else (0.0, *EDGES, 1.0)[table - 3 : table - 1]
                odds = ODDS[index] if table not in (1, 2) else None
                slope = SLOPES[index] if table == 1 else None
                yield Bet(low, high, odds, slope, _log_sum([self._log_wealth(table, index), _log(later)]))

    def _tables(self) -> Iterator[float]:
        for table, count in enumerate(_COUNTS):
            if isinf(self.worth[table]):
                yield _log_sum([self._log_wealth(table, index) for index in range(count)]) - log10(count)
            else:
                yield log10(self.worth[table])

    def _log_wealth(self, table: int, index: int) -> float:
        return _log(self.wealth[table][index]) + self.units[table][index] * log10(LARGE)

    def _later(self, table: int) -> float:
        """The part of the stake reserved for later rounds."""
        n, size, level = self.clocks[table]
        return 1.0 if n == 0 else (2 * size - 1 - n) / (size * ((level + 1) * (level + 2))) + 1 / (level + 2)

    def fields(self) -> dict[str, Any]:
        """The state for JSON, with None for infinity."""
        worth = [None if isinf(value) else value for value in self.worth]
        return {
            "wealth": self.wealth,
            "units": self.units,
            "rounds": [clock[0] for clock in self.clocks],
            "worth": worth,
            "seen": self.seen,
        }

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """The bets whose state `fields` gave; raise a `ValueError` if it is damaged."""
        bets = cls()
        mine = bets.fields()
        for name, (kind, most) in _RANGES.items():
            if not _sound(fields.get(name), mine[name], kind, most, name == "worth"):
                raise ValueError(f"the state's bets are damaged: {name} is not what Monitor.to_json returned.")
        rounds = fields["rounds"]
        if len({*rounds[:3], sum(rounds[3:])}) > 1:  # every row is in one bin
            raise ValueError("the state's bets are damaged: the numbers of their rounds do not add up.")
        bets.wealth, bets.units, bets.seen = fields["wealth"], fields["units"], fields["seen"]
        bets.worth = [inf if value is None else value for value in fields["worth"]]
        levels = [max(n.bit_length() - 1, 0) for n in rounds]
        bets.clocks = [[n, 1 << level, level] for n, level in zip(rounds, levels, strict=True)]
        return bets

    @property
    def rounds(self) -> int:
        """The number of rows that were bet on: all but predictions of 0 and 1."""
        return self.clocks[0][0]


_RANGES: dict[str, tuple[type[int] | type[float], float]] = {
    "wealth": (float, LARGE),
    "units": (int, 2**40),
    "rounds": (int, 2**53),
    "worth": (float, 2 * LARGE),
    "seen": (float, 2 / (1 - max(KEEP))),
}
"""The type and the largest value of each number of the state; the least is 0."""


def _sound(value: Any, like: object, kind: type[int] | type[float], most: float, optional: bool) -> bool:
    """Whether a value has the shape of another, and its numbers the type and the range."""
    if isinstance(like, list):
        if not isinstance(value, list) or len(value) != len(like):
            return False
        return all(_sound(part, other, kind, most, optional) for part, other in zip(value, like, strict=True))
    if value is None:
        return optional
    return type(value) is kind and 0 <= value <= most


def _log(value: float) -> float:
    return log10(value) if value > 0 else -inf


def _log_sum(logs: list[float]) -> float:
    """Decimal logarithm of the sum of 10^x."""
    top = max(logs)
    return top if isinf(top) else top + log10(sum(10 ** (x - top) for x in logs))


def _times(factor: float) -> str:
    """A factor in words.

    >>> _times(0.5), _times(4.0), _times(2 / 3), _times(1.25)
    ('1/2 of', '4 times', '2/3 of', '5/4 of')
    """
    if factor >= 2:
        return f"{factor:g} times"
    return f"{Fraction(factor).limit_denominator(9)} of"
