"""Decision makers: payoffs, thresholds in rational arithmetic, best responses and regret."""

from trustcal.decisions.outcome_problem import OutcomeProblem
from trustcal.decisions.problem import DecisionProblem, as_problem
from trustcal.decisions.regret import Swaps
from trustcal.decisions.responses import ActionTables
from trustcal.decisions.soft import soft_regret, soft_response, soft_value
from trustcal.decisions.thresholds import threshold, umbrella

__all__ = [
    "ActionTables",
    "DecisionProblem",
    "OutcomeProblem",
    "Swaps",
    "as_problem",
    "soft_regret",
    "soft_response",
    "soft_value",
    "threshold",
    "umbrella",
]
