"""How the search looks for harm: what it adds up on a stretch of predictions, and how surprising that would be.

A stretch is a few neighbouring ranges.  There n rows were told e in total, and k of them had outcome 1.

    bias          (R² − V)/n with R = k − e and V = Σ p(1 − p): what shifting these predictions by R/n would save in
                  Brier score, less what chance alone would save
    payoff        G = max over actions a of Σ U(a, y) − U(own action, y): what one other action would have earned more

The first is for users without payoffs.  Nobody gains by moving a threshold from μ to ν unless the predictions between
the two are biased, so a segment whose stretches have no bias has no decision loss; and twice the integral of the loss
profile over all thresholds is what re-reading saves in Brier score.  `judging.py` then says what a segment loses.

The surprise of a sum R with variance V is R²/(V + |R|/3): by Bernstein's inequality it exceeds t with probability at
most 2·exp(−t/2), in small segments and in large ones, for rare outcomes and for frequent ones.  For payoffs, R is G in
units of the largest difference that one row can make, and V its variance if the other action were just as good.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from trustcal.decisions import DecisionProblem
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]
Numbers = NDArray[np.floating]
Stretch = tuple[int, int]
"""The first range of predictions, and the one after the last."""

QUARTERS: Final = (0.25, 0.5, 0.75)
"""Predictions are cut at their quartiles, and at the thresholds of the user."""
POWER_SCORE: Final = 0.8416212335729143
"""The 80 % quantile of the normal distribution."""


@final
@dataclass(frozen=True, eq=False)
class Half:
    """Some of the rows of a cross-tabulation: for each entry, how many, and how many of them have outcome 1."""

    rows: FloatArray
    positive: FloatArray


@final
@dataclass(frozen=True, eq=False)
class Beliefs:
    """What is believed of each entry of a cross-tabulation: its prediction, and the action taken."""

    told: FloatArray
    action: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Criterion(ABC):
    """How the search measures harm, and on which stretches of predictions."""

    edges: FloatArray
    """Where predictions are cut."""

    @cached_property
    def actions(self) -> NDArray[np.intp]:
        """The action on each range of predictions."""
        return np.zeros(len(self.edges) + 1, dtype=np.intp)

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """All runs of neighbouring ranges on which the same action is taken, the longest first."""
        count = len(self.actions)
        runs = [
            (first, last)
            for first in range(count)
            for last in range(first + 1, count + 1)
            if (self.actions[first:last] == self.actions[first]).all()
        ]
        return tuple(sorted(runs, key=lambda run: (run[0] - run[1], run)))

    @abstractmethod
    def columns(self, half: Half, beliefs: Beliefs) -> FloatArray:
        """What must be added up over the entries of a segment."""

    @abstractmethod
    def judged(self, sums: Numbers) -> tuple[Numbers, Numbers]:
        """The harm and the surprise of segments, from the sums of their columns."""

    @abstractmethod
    def drawn(self, first: int, rows: Numbers, told: Numbers, spread: Numbers, seen: Numbers) -> Numbers:
        """The surprise on a stretch, from its first range, if `seen` of its rows had outcome 1."""

    @abstractmethod
    def reread(self, half: Half, beliefs: Beliefs, here: NDArray[np.bool_]) -> Beliefs:
        """The better reading of some entries."""


@final
@dataclass(frozen=True, eq=False)
class BiasCriterion(Criterion):
    """Bias on a stretch: predictions are shifted."""

    def columns(self, half: Half, beliefs: Beliefs) -> FloatArray:
        """Rows, predictions, their variance, and outcomes."""
        told = half.rows * beliefs.told
        return np.column_stack([half.rows, told, told * (1 - beliefs.told), half.positive])

    def judged(self, sums: Numbers) -> tuple[Numbers, Numbers]:
        """(R² − V)/n, and the surprise of R."""
        rows, told, spread, positive = sums.T
        bias = positive - told
        return (bias * bias - spread) / np.maximum(rows, 1), surprise(bias, spread)

    def drawn(self, first: int, rows: Numbers, told: Numbers, spread: Numbers, seen: Numbers) -> Numbers:  # noqa: ARG002
        """The surprise of R."""
        return surprise(seen - told, spread)

    def reread(self, half: Half, beliefs: Beliefs, here: NDArray[np.bool_]) -> Beliefs:
        """Predictions shifted by R/n."""
        rows = half.rows[here]
        gap = (half.positive[here] - rows * beliefs.told[here]).sum() / rows.sum()
        return Beliefs(np.where(here, np.clip(beliefs.told + gap, 0.0, 1.0), beliefs.told), beliefs.action)


@final
@dataclass(frozen=True, eq=False)
class PayoffCriterion(Criterion):
    """Harm in the user's payoffs: another action is taken."""

    problem: DecisionProblem

    @cached_property
    def actions(self) -> NDArray[np.intp]:
        """The action on each range of predictions; a prediction on a threshold takes the lower one."""
        passed = np.searchsorted(self.problem.thresholds, self.edges, side="right")
        return np.asarray(self.problem.responses[np.append(0, passed)])

    @cached_property
    def scale(self) -> float:
        """The most that the outcome of a row can change a gain: the sum of the weights of all thresholds."""
        return float(self.problem.weights.sum()) or 1.0

    def columns(self, half: Half, beliefs: Beliefs) -> FloatArray:
        """For each action: what it would earn more, and the variance of that."""
        found = []
        for action in self.problem.responses.tolist():
            at_0, at_1 = (self.problem.payoff[action] - self.problem.payoff[beliefs.action]).T / self.scale
            found.append(at_0 * (half.rows - half.positive) + at_1 * half.positive)
            found.append(np.maximum(-at_0 * at_1, 0.0) * half.rows)
        return np.column_stack(found)

    def judged(self, sums: Numbers) -> tuple[Numbers, Numbers]:
        """The gain of the best action, and its surprise."""
        gain, spread = sums[:, ::2], sums[:, 1::2]
        best = np.argmax(gain, axis=1)[:, None]
        most, its = (np.take_along_axis(column, best, axis=1)[:, 0] for column in (gain, spread))
        return most * self.scale, surprise(np.maximum(most, 0.0), its)

    def drawn(self, first: int, rows: Numbers, told: Numbers, spread: Numbers, seen: Numbers) -> Numbers:  # noqa: ARG002
        """The surprise of the gain of the best action."""
        found = np.zeros_like(seen)
        for action in self.problem.responses.tolist():
            step = (self.problem.payoff[action] - self.problem.payoff[self.actions[first]]) / self.scale
            at_0, at_1 = step.astype(seen.dtype)
            gain = np.maximum(at_0 * (rows - seen) + at_1 * seen, 0)
            np.maximum(found, surprise(gain, max(-at_0 * at_1, 0) * rows + np.zeros_like(gain)), out=found)
        return found

    def reread(self, half: Half, beliefs: Beliefs, here: NDArray[np.bool_]) -> Beliefs:
        """The action that earns most."""
        one = half.positive[here].sum()
        counts = np.array([half.rows[here].sum() - one, one])
        best = self.problem.responses[int(np.argmax(self.problem.payoff[self.problem.responses] @ counts))]
        return Beliefs(beliefs.told, np.where(here, best, beliefs.action))

    def saved(self, before: Beliefs, after: Beliefs) -> tuple[FloatArray, FloatArray]:
        """What a new reading earns more on a row of each entry, if the outcome is 0 and if it is 1."""
        at_0, at_1 = (self.problem.payoff[after.action] - self.problem.payoff[before.action]).T
        return at_0, at_1

    def smallest(self, rows: float, critical: float) -> float:
        """The gain per row that surprises more than `critical` in about 4 of 5 cases.

        It is the largest over the thresholds: the weight times how far beyond it the frequency must be.
        """
        pairs = zip(self.problem.weights.tolist(), self.problem.thresholds.tolist(), strict=True)
        return max((m * smallest_gap(rows, mu * (1 - mu), critical) for m, mu in pairs), default=0.0)


def criterion(q: Predictor, problem: DecisionProblem | None) -> Criterion:
    """How to measure harm: by the user's payoffs, or else by bias.  O(n)."""
    share = np.cumsum(q.mass) / q.mass.sum()
    cuts = q.p[np.minimum(np.searchsorted(share, QUARTERS), len(q) - 1)]
    if problem is None:
        return BiasCriterion(np.unique(cuts[cuts < q.p[-1]]))
    cuts = np.concatenate([cuts, problem.thresholds])
    return PayoffCriterion(np.unique(cuts[cuts < q.p[-1]]), problem)


def surprise(bias: Numbers, spread: Numbers) -> Numbers:
    """R²/(V + |R|/3); 0 where both are 0.

    >>> surprise(np.array([3.0, 0.0, -2.0]), np.array([8.0, 0.0, 0.0]))
    array([1., 0., 6.])
    """
    scale = spread + np.abs(bias) / 3
    return np.divide(bias * bias, scale, out=np.zeros_like(bias), where=scale > 0)


def smallest_gap(rows: float, variance: float, critical: float) -> float:
    """The error in the mean of `rows` predictions that exceeds a critical surprise in about 4 of 5 cases.

    R²/(V + R/3) must reach (√critical + 0.84)², where 0.84 is the 80 % quantile of the normal distribution.

    >>> round(smallest_gap(1000, 0.25, 20), 3)
    0.089
    """
    wanted = (sqrt(critical) + POWER_SCORE) ** 2
    bias = (wanted / 3 + sqrt(wanted * wanted / 9 + 4 * rows * variance * wanted)) / 2
    return min(1.0, bias / rows)
