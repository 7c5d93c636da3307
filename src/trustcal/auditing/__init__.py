"""The audit: numbers, verdict and advice as data, and gates on them.  No layout here."""

from trustcal.auditing.advice import Advice
from trustcal.auditing.gates import Failure, Gate
from trustcal.auditing.measuring import DRAWS, audit
from trustcal.auditing.numbers import GroupAudit, Inference, ProblemLoss, Promise, ThresholdLoss, WorstCase
from trustcal.auditing.record import TITLE, Audit
from trustcal.auditing.verdict import Verdict

__all__ = [
    "DRAWS",
    "TITLE",
    "Advice",
    "Audit",
    "Failure",
    "Gate",
    "GroupAudit",
    "Inference",
    "ProblemLoss",
    "Promise",
    "ThresholdLoss",
    "Verdict",
    "WorstCase",
    "audit",
]
