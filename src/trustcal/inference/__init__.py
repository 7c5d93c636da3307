"""Inference: what rows tell about the population they were drawn from.

sampling_floor       what a measure shows of a calibrated predictor, by chance
calibration_tests    could chance alone have shown this much?                               (exact level)
combined_test        the same by four statistics together: the rule for "is it chance?"     (exact level)
smcal_upper_bound    how large can the smooth calibration error of the population be?       (proved)
smcal_lower_bound    how large must it be?                                                  (proved)
dtc_upper_bound      how large can the distance to calibration of the population be?        (proved)
monotone_cdl_upper_bound, monotone_cdl_lower_bound, cutoff_upper_bound, cutoff_lower_bound, atb_bounds,
action_regret_bounds the same for the measures that need no bins                            (proved)
profile_band         the loss at all thresholds at once                                     (proved)
isotonic_band        the calibration curve at all predictions at once, if it increases      (proved)
consistency_band     where chance alone would put the isotonic curve, at each prediction      (exact level)
monotonicity_test    does the frequency rise with the prediction?                           (measured)
held_out             what moving thresholds gains on rows that had no part in the choice
bootstrap_interval   an interval for any measure, tighter and only approximate              (measured)
clinical_calibration slope, intercept, ICI and two tests, as clinical guidelines report them (approximate)
uncertainties        tests and intervals of several measures, from the same draws
"""

from trustcal.inference.bands import IsotonicBand, held_out, isotonic_band, profile_band
from trustcal.inference.bootstrap import ConfidenceInterval, bootstrap_interval
from trustcal.inference.clinical import ClinicalCalibration, Coefficient, clinical_calibration
from trustcal.inference.combined import CombinedTest, combined_test
from trustcal.inference.confidence import ConfidenceBound, dtc_upper_bound, smcal_lower_bound, smcal_upper_bound
from trustcal.inference.consistency import ConsistencyBand, consistency_band
from trustcal.inference.decision_bounds import (
    action_regret_bounds,
    atb_bounds,
    cutoff_lower_bound,
    cutoff_upper_bound,
)
from trustcal.inference.floor import Floor, sampling_floor
from trustcal.inference.monotone_bounds import monotone_cdl_lower_bound, monotone_cdl_upper_bound
from trustcal.inference.monotonicity import MonotonicityTest, monotonicity_test
from trustcal.inference.significance import CalibrationTest, calibration_tests
from trustcal.inference.uncertainty import Uncertainty, uncertainties

__all__ = [
    "CalibrationTest",
    "ClinicalCalibration",
    "Coefficient",
    "CombinedTest",
    "ConfidenceBound",
    "ConfidenceInterval",
    "ConsistencyBand",
    "Floor",
    "IsotonicBand",
    "MonotonicityTest",
    "Uncertainty",
    "action_regret_bounds",
    "atb_bounds",
    "bootstrap_interval",
    "calibration_tests",
    "clinical_calibration",
    "combined_test",
    "consistency_band",
    "cutoff_lower_bound",
    "cutoff_upper_bound",
    "dtc_upper_bound",
    "held_out",
    "isotonic_band",
    "monotone_cdl_lower_bound",
    "monotone_cdl_upper_bound",
    "monotonicity_test",
    "profile_band",
    "sampling_floor",
    "smcal_lower_bound",
    "smcal_upper_bound",
    "uncertainties",
]
