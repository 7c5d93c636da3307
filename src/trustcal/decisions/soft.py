"""Soft responses: actions at random, the better the more often, so that they vary smoothly with the prediction."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import checked_number, unit_numbers
from trustcal.decisions.problem import DecisionProblem
from trustcal.decisions.regret import best_for, gains
from trustcal.predictor import Predictor, as_predictor


def soft_response(problem: DecisionProblem, p: ArrayLike, rate: float) -> NDArray[np.float64]:
    """The exponential mechanism over actions: Pr[a | p] ∝ exp(rate · E_{y~p} U(a, y)).

    It loses at most ln(k)/rate of the expected payoff and varies smoothly with p.

    Parameters
    ----------
    problem : DecisionProblem
        With k actions.
    p : array-like
        Beliefs in [0, 1].
    rate : float
        How strongly better actions are preferred, 0 or more.

    Returns
    -------
    ndarray
        The k probabilities of the actions along the last axis.

    >>> soft_response(DecisionProblem([[1, 0], [0, 1]]), [0.5, 0.75], rate=2).round(3)
    array([[0.5  , 0.5  ],
           [0.269, 0.731]])

    O(k) for each belief.
    """
    rate = checked_number("rate", rate, 0, np.inf, "[)", rule="be a finite number, 0 or more")
    belief = unit_numbers(p, "beliefs")
    # What each action is expected to earn more than the best response: only differences of payoffs matter.
    step = problem.payoff - problem.payoff[problem.best_response(belief)][..., None, :]
    more = (1 - belief)[..., None] * step[..., 0] + belief[..., None] * step[..., 1]
    with np.errstate(over="ignore"):  # exp(−∞) is 0
        likelihood = np.exp(rate * (more - more.max(axis=-1, keepdims=True)))
    return np.asarray(likelihood / likelihood.sum(axis=-1, keepdims=True))


def soft_value(problem: DecisionProblem, q: Predictor, rate: float) -> float:
    """The expected payoff of the soft response to the predictions.  O(n·k).

    Parameters
    ----------
    problem : DecisionProblem
    q : Predictor
    rate : float, at least 0

    Returns
    -------
    float
    """
    q = as_predictor(q)
    paid = soft_response(problem, q.p, rate) @ problem.payoff
    return float(((q.mass - q.positive) * paid[:, 0] + q.positive * paid[:, 1]).sum())


def soft_regret(problem: DecisionProblem, q: Predictor, rate: float) -> float:
    """The loss of the soft response against the best action at each prediction value.  O(n·k).

    As the rate grows it tends to the swap regret, unless a prediction lies on a threshold.

    Parameters
    ----------
    problem : DecisionProblem
    q : Predictor
    rate : float, at least 0

    Returns
    -------
    float
    """
    q = as_predictor(q)
    zero, one = (q.mass - q.positive)[:, None], q.positive[:, None]
    every, best = np.arange(len(problem.payoff)), best_for(problem, zero, one)
    return float((soft_response(problem, q.p, rate) * gains(problem, every, best, zero, one)).sum())
