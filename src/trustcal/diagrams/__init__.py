"""The data of the pictures that need no bins.

    reliability_diagram    the isotonic curve, and where chance alone would put it
    murphy_diagram         the mean loss at every threshold
    decision_curve         the net benefit at every threshold, and that of treating everybody
    loss_profile           what moving the threshold would save, at every threshold, and where to
    swap_profile           what knowing the meaning of every value would save, and the better threshold

A curve over many rows has more points than a picture has columns.  Of the points in a column the first, the last, the
lowest and the highest are kept, so that the picture looks the same.
"""

from trustcal.diagrams.profile import LossProfile, loss_profile, swap_profile
from trustcal.diagrams.reliability import ReliabilityDiagram, reliability_diagram
from trustcal.diagrams.thresholds import DecisionCurve, MurphyDiagram, decision_curve, murphy_diagram

__all__ = [
    "DecisionCurve",
    "LossProfile",
    "MurphyDiagram",
    "ReliabilityDiagram",
    "decision_curve",
    "loss_profile",
    "murphy_diagram",
    "reliability_diagram",
    "swap_profile",
]
