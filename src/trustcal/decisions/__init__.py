"""Decision makers: payoffs, thresholds in rational arithmetic, best responses and regret."""

from trustcal.decisions.problem import DecisionProblem, Swaps, checked_problem
from trustcal.decisions.thresholds import threshold, umbrella

__all__ = ["DecisionProblem", "Swaps", "checked_problem", "threshold", "umbrella"]
