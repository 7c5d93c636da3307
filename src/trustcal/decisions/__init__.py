"""Decision makers: payoffs, thresholds in rational arithmetic, best responses and regret."""

from trustcal.decisions.problem import DecisionProblem, Swaps, as_problem
from trustcal.decisions.soft import soft_regret, soft_response, soft_value
from trustcal.decisions.thresholds import threshold, umbrella

__all__ = [
    "DecisionProblem",
    "Swaps",
    "as_problem",
    "soft_regret",
    "soft_response",
    "soft_value",
    "threshold",
    "umbrella",
]
