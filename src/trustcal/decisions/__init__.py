"""Decision makers: payoffs, thresholds in rational arithmetic, best responses and regret."""

from trustcal.decisions.problem import DecisionProblem, checked_problem, threshold, umbrella

__all__ = ["DecisionProblem", "checked_problem", "threshold", "umbrella"]
