"""Files, frames and engines to predictors; payoff tables to decision problems."""

from trustcal.reading.classes import ClassProvenance, ClassReading, class_reading, read_classes
from trustcal.reading.evidence import Evidence, evidence
from trustcal.reading.payoffs import outcome_problem, payoff_problem, read_payoff
from trustcal.reading.provenance import Provenance
from trustcal.reading.replay import count_rows, replayed_rows, rows_in_order
from trustcal.reading.sources import Reading, read, reading

__all__ = [
    "ClassProvenance",
    "ClassReading",
    "Evidence",
    "Provenance",
    "Reading",
    "class_reading",
    "count_rows",
    "evidence",
    "outcome_problem",
    "payoff_problem",
    "read",
    "read_classes",
    "read_payoff",
    "reading",
    "replayed_rows",
    "rows_in_order",
]
