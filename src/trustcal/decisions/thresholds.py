"""Decision problems with one threshold."""

from __future__ import annotations

from trustcal.checking import checked_fraction
from trustcal.decisions.problem import DecisionProblem


def umbrella() -> DecisionProblem:
    """The paper's introduction: take an umbrella or leave it, with payoff 1 if the decision matches the weather.

    Returns
    -------
    DecisionProblem

    >>> umbrella()
    DecisionProblem(leave it | 0.5 | take it)
    """
    return DecisionProblem([[1, 0], [0, 1]], ["leave it", "take it"], thresholds=[0.5])


def threshold(mu: float) -> DecisionProblem:
    """The V-shaped rule of threshold mu, scaled to payoffs in [0, 1] (the paper's S_μ, proof of Theorem B.3).

        U(a, y) = 1/2 ± (y − μ) / (2 max(μ, 1 − μ)),  + for the action taken above μ

    Parameters
    ----------
    mu : float
        The threshold, in [0, 1].

    Returns
    -------
    DecisionProblem

    >>> threshold(0.2).payoff
    array([[0.625, 0.   ],
           [0.375, 1.   ]])
    """
    mu = checked_fraction("a threshold", mu)
    return DecisionProblem.from_thresholds([mu], [1 / max(mu, 1 - mu)], ["do not act", "act"])
