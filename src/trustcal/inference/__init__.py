"""Inference: what finite rows can tell.

sampling_floor       what a measure shows of a calibrated predictor, by chance
calibration_tests    could chance alone have shown this much?                               (exact level)
smcal_upper_bound    how large can the smooth calibration error of the world be?            (proved)
smcal_lower_bound    how large must it be?                                                  (proved)
dtc_upper_bound      how large can the distance to calibration of the world be?             (proved)
bootstrap_interval   the same, tighter and only approximate                                 (measured)
inferences           both kinds, of several measures, from the same draws
"""

from trustcal.inference.bootstrap import ConfidenceInterval, bootstrap_interval
from trustcal.inference.confidence import ConfidenceBound, dtc_upper_bound, smcal_lower_bound, smcal_upper_bound
from trustcal.inference.floor import Floor, sampling_floor
from trustcal.inference.significance import CalibrationTest, calibration_tests
from trustcal.inference.together import inferences

__all__ = [
    "CalibrationTest",
    "ConfidenceBound",
    "ConfidenceInterval",
    "Floor",
    "bootstrap_interval",
    "calibration_tests",
    "dtc_upper_bound",
    "inferences",
    "sampling_floor",
    "smcal_lower_bound",
    "smcal_upper_bound",
]
