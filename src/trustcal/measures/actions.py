"""The worst decision maker with two actions who sees only which action is recommended.

At a threshold μ both recommendations can be wrong as a whole:

    r(μ) = (−E[(y − μ); p > μ])⁺ + (E[(y − μ); p ≤ μ])⁺     (or ≥ and <, whichever is more)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True)
class ActionWitness:
    """The decision maker with two actions who regrets most.

    Attributes
    ----------
    value : float
        The regret, as a share of the payoff range.
    threshold : float
        They act above it.
    acts_on : bool
        Whether they act on a prediction equal to it.
    reverse_act, reverse_leave : bool
        Which recommendations should be reversed: to act, not to act.
    """

    value: float
    threshold: float
    acts_on: bool
    reverse_act: bool
    reverse_leave: bool


def two_action_regret(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """The largest action regret of any decision maker with two actions and payoffs in [0, 1].

        max over μ of r(μ)/max(μ, 1 − μ)

    It is at most CDL, twice the monotone CDL and four times the cutoff calibration error.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        A `Predictor`, or outcomes, predictions and weights.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> two_action_regret(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0]))
    1.0

    O(n), after one sort for rows.
    """
    return two_action_regret_witness(y_true, y_prob, sample_weight).value


def two_action_regret_witness(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> ActionWitness:
    """The decision maker of `two_action_regret`.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        A `Predictor`, or outcomes, predictions and weights.

    Returns
    -------
    ActionWitness
        Their threshold, and which recommendations to reverse.

    Examples
    --------
    >>> two_action_regret_witness(Predictor([0.5], [1.0], [0.75]))
    ActionWitness(value=0.5, threshold=0.5, acts_on=False, reverse_act=False, reverse_leave=True)

    O(n), after one sort for rows.
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    # Between neighbouring values r is convex in μ, and so r/max(μ, 1 − μ) is quasiconvex on either side of 1/2.
    found = [_largest(q, q.p, first) for first in (np.arange(1, len(q) + 1), np.arange(len(q)))]
    ends = np.array([0.0, 0.5, 1.0])
    found += [_largest(q, ends, np.searchsorted(q.p, ends, side=side)) for side in ("right", "left")]
    _, mu, first = max(found)
    act, leave = (
        float(q.positive[part].sum() - mu * q.mass[part].sum()) for part in (slice(first, None), slice(first))
    )
    value = (max(0.0, -act) + max(0.0, leave)) / max(mu, 1 - mu)
    acts_on = bool(first < len(q) and q.p[first] == mu)
    return ActionWitness(min(1.0, value), mu, acts_on, act < 0, leave > 0)


def _largest(q: Predictor, mu: FloatArray, first: NDArray[np.intp]) -> tuple[float, float, int]:
    """The largest r/max(μ, 1 − μ) where one acts from value number `first` on, with its μ and first."""
    mass, positive = q.upper_sums
    act = positive[first] - mu * mass[first]
    leave = (positive[0] - positive[first]) - mu * (mass[0] - mass[first])
    regret = (np.maximum(-act, 0.0) + np.maximum(leave, 0.0)) / np.maximum(mu, 1 - mu)
    at = int(np.argmax(regret))
    return float(regret[at]), float(mu[at]), int(first[at])
