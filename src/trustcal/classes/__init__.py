"""Measures of class predictors, and what rows tell about them: `trustcal.classes`.

    classwise, classwise_atb      a measure of each class against the rest; the truthful class-wise error
    view_measures                 the top label and every class: measures, intervals, p-values
    class_brier, class_log_loss   scores of K classes
    class_corp                    the same split into miscalibration, discrimination and uncertainty
    pair_losses                   what those lose who decide between two classes, the worst pair first
    worst_payoff                  a certified interval for the most that anybody loses by believing, with a witness
    class_regret_test             the action regret of a decision maker: is it chance, and its interval   (measured)
    class_regret_bounds           confidence bounds on it                                                  (proved)

Each takes a `ClassPredictor`; the measures also take labels, vectors of probabilities and weights.
"""

from trustcal.classes.classwise import ViewMeasures, classwise, classwise_atb, view_measures
from trustcal.classes.pairs import PairLoss, pair_losses
from trustcal.classes.regret import RegretTest, class_regret_bounds, class_regret_test
from trustcal.classes.scores import class_brier, class_corp, class_log_loss
from trustcal.classes.worst_payoff import WorstPayoff, worst_payoff

__all__ = [
    "PairLoss",
    "RegretTest",
    "ViewMeasures",
    "WorstPayoff",
    "class_brier",
    "class_corp",
    "class_log_loss",
    "class_regret_bounds",
    "class_regret_test",
    "classwise",
    "classwise_atb",
    "pair_losses",
    "view_measures",
    "worst_payoff",
]
