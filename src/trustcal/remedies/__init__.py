"""Remedies: noise, rounding and recalibrators compared on rows that they have not seen.

    compare(y_true, y_prob)             every method, cross-fitted, with a recommendation and its reason
    Comparison, MethodResult            what it found, as data

Data become a predictor and stay one: a fold is a predictor, a method is fitted to the law of the other folds, and what
it makes of the held-out fold is again a predictor.  So the cost is that of the distinct values, not of the rows.
"""

from trustcal.remedies.comparison import Comparison, MethodResult
from trustcal.remedies.trials import compare, compared

__all__ = ["Comparison", "MethodResult", "compare", "compared"]
