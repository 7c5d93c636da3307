"""The audit: a predictor to the numbers that a report shows.  No pictures and no layout here."""

from trustcal.auditing.curves import Curve, Fix, Histogram, Movement
from trustcal.auditing.gates import Failure, Gate, failures
from trustcal.auditing.measuring import audit
from trustcal.auditing.numbers import (
    Group,
    Guarantee,
    Inference,
    Method,
    Methods,
    ProblemLoss,
    Read,
    ThresholdLoss,
    WorstCase,
)
from trustcal.auditing.record import Audit

__all__ = [
    "Audit",
    "Curve",
    "Failure",
    "Fix",
    "Gate",
    "Group",
    "Guarantee",
    "Histogram",
    "Inference",
    "Method",
    "Methods",
    "Movement",
    "ProblemLoss",
    "Read",
    "ThresholdLoss",
    "WorstCase",
    "audit",
    "failures",
]
