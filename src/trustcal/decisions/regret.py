"""Gains of one action over another, from differences of payoffs.

Only differences of payoffs matter to a decision, and only those of the two actions compared: what other actions pay,
and what all of them pay in common, may be arbitrarily large.  So no expected payoff is computed here and subtracted
from another.  A gain is

    (U(b, 0) − U(a, 0))·Pr[y = 0] + (U(b, 1) − U(a, 1))·Pr[y = 1],

and its rounding error is a few units of 2^-53 of the larger of these two terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from trustcal.predictor import Predictor

if TYPE_CHECKING:
    from trustcal.decisions.problem import DecisionProblem

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


@final
@dataclass(frozen=True, eq=False)
class Swaps:
    """For each prediction value, the action taken, the better one and what the swap gains."""

    p: FloatArray
    """Prediction values."""
    taken: IntArray
    """The action taken at p: a best response to p, the worst one where several tie."""
    better: IntArray
    """The best response to p_hat."""
    gain: FloatArray
    """The gain of the swap times the mass of p; the sum is the swap regret."""


def swapped(problem: DecisionProblem, q: Predictor) -> Swaps:
    """The better action at each prediction value and its gain.  O(n log k)."""
    zero, one = q.mass - q.positive, q.positive
    lower, upper = (
        problem.responses[np.searchsorted(problem.thresholds, q.p, side=side)] for side in ("left", "right")
    )
    taken = np.where(gains(problem, upper, lower, zero, one) > 0, upper, lower)
    better = best_for(problem, zero, one)
    gain = gains(problem, taken, better, zero, one)
    return Swaps(q.p, taken, np.where(gain > 0, better, taken), gain)


def gains(
    problem: DecisionProblem, taken: IntArray | int, other: IntArray, zero: FloatArray, one: FloatArray
) -> FloatArray:
    """What the other action earns more where y = 0 has mass `zero` and y = 1 mass `one`; 0 where it earns less.

    Within rounding of a threshold both actions are equally good: the gain is 0 there too.  What is rounded are the two
    terms of the gain and, where thresholds were given, the payoffs.
    """
    step = problem.payoff[other] - problem.payoff[taken]
    at_0, at_1 = step[..., 0] * zero, step[..., 1] * one
    gain = at_0 + at_1
    largest = problem.stakes * (zero + one) if problem.rounded else np.maximum(np.abs(at_0), np.abs(at_1))
    return np.where(gain > 8 * np.finfo(float).eps * largest, gain, 0.0)


def best_for(problem: DecisionProblem, zero: FloatArray, one: FloatArray) -> IntArray:
    """The action that earns most where y = 0 has mass `zero` and y = 1 mass `one`; of several, the lowest threshold.

    The posterior and the thresholds are rounded, so those closer than a rounding error are compared by what is gained.
    """
    posterior = np.minimum(one / (zero + one), 1.0)
    place = np.searchsorted(problem.thresholds, np.nextafter(posterior, -1), side="left")
    last = np.searchsorted(problem.thresholds, np.nextafter(posterior, 2), side="right")
    best = problem.responses[place]
    while (place < last).any():
        place = np.minimum(place + 1, last)
        other = problem.responses[place]
        best = np.where(gains(problem, best, other, zero, one) > 0, other, best)
    return np.asarray(best)
