"""The audit: numbers, verdict and advice as data, and gates on them.  No layout here."""

from trustcal.auditing.advice import Advice
from trustcal.auditing.class_measuring import class_audit
from trustcal.auditing.class_numbers import ClassGroupAudit, OutcomeLoss, PairAudit, WorstOutcomeLoss
from trustcal.auditing.class_record import ClassAudit
from trustcal.auditing.document import TITLE
from trustcal.auditing.gates import Failure, Gate
from trustcal.auditing.measuring import DRAWS, audit
from trustcal.auditing.numbers import (
    DecisionLoss,
    Fall,
    GroupAudit,
    Inference,
    ProblemLoss,
    Promise,
    Scores,
    ThresholdLoss,
    WorstCase,
    WorstRange,
)
from trustcal.auditing.record import Audit
from trustcal.auditing.verdict import Verdict

__all__ = [
    "DRAWS",
    "TITLE",
    "Advice",
    "Audit",
    "ClassAudit",
    "ClassGroupAudit",
    "DecisionLoss",
    "Failure",
    "Fall",
    "Gate",
    "GroupAudit",
    "Inference",
    "OutcomeLoss",
    "PairAudit",
    "ProblemLoss",
    "Promise",
    "Scores",
    "ThresholdLoss",
    "Verdict",
    "WorstCase",
    "WorstOutcomeLoss",
    "WorstRange",
    "audit",
    "class_audit",
]
