"""Online forecasters, which learn from outcomes: predict_one, then learn_one.  Proofs are in online.md.

    ElementaryPredictor    DTC T^(−1/2), deterministic, a few integers; certificate() from the state alone
    CalibratedForecaster   ECE T^(−1/3)                               (Foster 1999)
    DecisionForecaster     CDL log T·T^(−1/2)
    PerturbedLeader        pseudo-U-calibration T^(−1/2)
    NoisyMean              the same with half the constant for every T; smooth scores log T/T
    StepForecaster         step calibration, hence monotone CDL, √(log T/T)
    HedgingForecaster      smCal T^(−1/3), deterministic              (Foster and Hart)
    CombinedForecaster     any of them by multi-calibeating: Brier score log T/T above the best, relabelled
    SmoothedForecaster     any of them followed by an OnlineSmoother: the paper's pipeline
    RunningMean            the baseline

OnlinePlatt and Calibeating recalibrate a given score: transform_one, then learn_one; one may wrap the other.
MultiCalibeating combines several scores.
`adversaries` choose the outcomes.  `arena` plays every forecaster against every adversary.
"""

from trustcal.forecasters.buckets import CalibratedForecaster, DecisionForecaster
from trustcal.forecasters.combining import CombinedForecaster
from trustcal.forecasters.elementary import ElementaryPredictor
from trustcal.forecasters.forecaster import Forecast, Forecaster
from trustcal.forecasters.frequencies import PerturbedLeader, RunningMean
from trustcal.forecasters.hedging import HedgingForecaster
from trustcal.forecasters.multi_calibeating import MultiCalibeating
from trustcal.forecasters.noisy_mean import NoisyMean
from trustcal.forecasters.online_recalibration import Calibeating, OnlinePlatt, Recalibrator
from trustcal.forecasters.pipeline import SmoothedForecaster
from trustcal.forecasters.presets import arena
from trustcal.forecasters.rates import ArenaResult, Rate
from trustcal.forecasters.steps import StepForecaster

__all__ = [
    "ArenaResult",
    "Calibeating",
    "CalibratedForecaster",
    "CombinedForecaster",
    "DecisionForecaster",
    "ElementaryPredictor",
    "Forecast",
    "Forecaster",
    "HedgingForecaster",
    "MultiCalibeating",
    "NoisyMean",
    "OnlinePlatt",
    "PerturbedLeader",
    "Rate",
    "Recalibrator",
    "RunningMean",
    "SmoothedForecaster",
    "StepForecaster",
    "arena",
]
