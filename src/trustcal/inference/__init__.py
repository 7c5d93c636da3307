"""Inference: what rows tell about the population they were drawn from.

sampling_floor       what a measure shows of a calibrated predictor, by chance
calibration_tests    could chance alone have shown this much?                               (exact level)
smcal_upper_bound    how large can the smooth calibration error of the population be?       (proved)
smcal_lower_bound    how large must it be?                                                  (proved)
dtc_upper_bound      how large can the distance to calibration of the population be?        (proved)
bootstrap_interval   an interval for any measure, tighter and only approximate              (measured)
uncertainties        tests and intervals of several measures, from the same draws
"""

from trustcal.inference.bootstrap import ConfidenceInterval, bootstrap_interval
from trustcal.inference.confidence import ConfidenceBound, dtc_upper_bound, smcal_lower_bound, smcal_upper_bound
from trustcal.inference.floor import Floor, sampling_floor
from trustcal.inference.significance import CalibrationTest, calibration_tests
from trustcal.inference.uncertainty import Uncertainty, uncertainties

__all__ = [
    "CalibrationTest",
    "ConfidenceBound",
    "ConfidenceInterval",
    "Floor",
    "Uncertainty",
    "bootstrap_interval",
    "calibration_tests",
    "dtc_upper_bound",
    "sampling_floor",
    "smcal_lower_bound",
    "smcal_upper_bound",
    "uncertainties",
]
