"""What a decision maker loses who sees only the recommended action, not the prediction behind it.

Believing p, a decision problem recommends the best response a*(p).  Action by action, look at the rows on which it was
recommended: would another action have paid more on all of them together?

    action regret = Σ_a max_a' E[U(a', y) − U(a, y); a*(p) = a]

It needs no bins: there are only as many groups of rows as there are actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from trustcal.decisions.regret import best_for, gains
from trustcal.predictor import Predictor

if TYPE_CHECKING:
    from trustcal.decisions.problem import DecisionProblem

Ties = Literal["worst", "lower"]
"""Where a prediction that equals a threshold goes: to the side that regrets more, or to the lower action."""


@final
@dataclass(frozen=True)
class Recommendation:
    """One action: how often it is recommended, what it promises and earns, and what would have been better."""

    action: str
    """The action."""
    mass: float
    """The share of rows on which it is recommended."""
    promised: float
    """What it would earn on these rows if the predictions were right, summed over rows and divided by all rows."""
    earned: float
    """What it did earn on them, in the same unit."""
    better: str
    """The action that would have earned most on these rows, all taken together; itself, if none earns more."""
    gain: float
    """What that action would have earned more; the gains of all actions sum to the action regret."""


def recommended(problem: DecisionProblem, q: Predictor, ties: Ties) -> tuple[Recommendation, ...]:
    """The recommendations of a decision problem, action by action.  O(n + k) for k actions.

    An action is recommended on a range of predictions, and only a prediction on a threshold can belong to either of
    two ranges.  So the worst assignment of ties is found by going through the thresholds from below with the two
    places where the current range may begin.
    """
    if ties not in ("worst", "lower"):
        raise ValueError(f'ties must be "worst" or "lower", not {ties!r}.')
    last = len(problem.thresholds)
    lower = [*np.searchsorted(q.p, problem.thresholds, side="right").tolist(), len(q)]
    upper = [*np.searchsorted(q.p, problem.thresholds, side="left").tolist(), len(q)] if ties == "worst" else lower
    # For each place where the next range may begin: the most regret so far, and the ranges that give it.
    states: dict[int, tuple[float, tuple[Recommendation, ...]]] = {0: (0.0, ())}
    for j in range(last + 1):
        after: dict[int, tuple[float, tuple[Recommendation, ...]]] = {}
        for start, (regret, so_far) in states.items():
            for end in {max(start, lower[j]), max(start, upper[j])}:
                one = _on_range(problem, q, j, slice(start, end))
                if regret + one.gain > after.get(end, (-inf, ()))[0]:
                    after[end] = regret + one.gain, (*so_far, one)
        states = after
    _, found = states[len(q)]
    by_action = dict(zip(problem.responses.tolist(), found, strict=True))
    names = problem.actions
    return tuple(by_action.get(a, Recommendation(names[a], 0.0, 0.0, 0.0, names[a], 0.0)) for a in range(len(names)))


def _on_range(problem: DecisionProblem, q: Predictor, j: int, part: slice) -> Recommendation:
    """The j-th best response, recommended on a range of prediction values."""
    taken = int(problem.responses[j])
    mass, one = q.mass[part], q.positive[part]
    name = problem.actions[taken]
    if not len(mass):
        return Recommendation(name, 0.0, 0.0, 0.0, name, 0.0)
    # Sums of the two outcomes, each without cancellation: one of them may be tiny beside the other and cost a fortune.
    seen = np.array([(mass - one).sum(), one.sum()])
    said = np.array([((1 - q.p[part]) * mass).sum(), (q.p[part] * mass).sum()])
    better = best_for(problem, *seen)
    gain = float(gains(problem, taken, better, *seen))
    payoff = problem.payoff[taken]
    return Recommendation(
        name,
        float(mass.sum()),
        float(payoff @ said),
        float(payoff @ seen),
        problem.actions[int(better)] if gain > 0 else name,
        gain,
    )
