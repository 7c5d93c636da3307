"""Files, frames and engines to predictors; payoff tables to decision problems."""

from trustcal.reading.evidence import Evidence, evidence
from trustcal.reading.payoffs import payoff_problem, read_payoff
from trustcal.reading.provenance import Provenance
from trustcal.reading.replay import count_rows, rows_in_order, weighted_rows
from trustcal.reading.sources import Reading, read, reading

__all__ = [
    "Evidence",
    "Provenance",
    "Reading",
    "count_rows",
    "evidence",
    "payoff_problem",
    "read",
    "read_payoff",
    "reading",
    "rows_in_order",
    "weighted_rows",
]
