"""Online forecasters, which see outcomes: predict_one, then learn_one.  Proofs are in docs/online.md.

    ElementaryPredictor    DTC T^(−1/2), deterministic, a few integers; certificate() from the state alone
    CalibratedForecaster   ECE T^(−1/3)                               (Foster 1999)
    DecisionForecaster     CDL log T·T^(−1/2)
    PerturbedLeader        U-calibration T^(−1/2)
    HedgingForecaster      smCal T^(−1/3), deterministic              (Foster and Hart)
    SmoothedForecaster     any of them with an OnlineSmoother: the paper's pipeline
    RunningMean            the baseline

Recalibrators of a given score, transform_one and learn_one: OnlinePlatt, Calibeating, and one inside the other.
`adversaries` choose the outcomes; `arena` plays all against all.
"""

from trustcal.forecasters.buckets import CalibratedForecaster, DecisionForecaster
from trustcal.forecasters.counting import PerturbedLeader, RunningMean
from trustcal.forecasters.elementary import ElementaryPredictor
from trustcal.forecasters.forecaster import Forecast, Forecaster
from trustcal.forecasters.hedging import HedgingForecaster
from trustcal.forecasters.recalibrators import Calibeating, OnlinePlatt, Recalibrator
from trustcal.forecasters.smoothed import SmoothedForecaster

__all__ = [
    "Calibeating",
    "CalibratedForecaster",
    "DecisionForecaster",
    "ElementaryPredictor",
    "Forecast",
    "Forecaster",
    "HedgingForecaster",
    "OnlinePlatt",
    "PerturbedLeader",
    "Recalibrator",
    "RunningMean",
    "SmoothedForecaster",
]
