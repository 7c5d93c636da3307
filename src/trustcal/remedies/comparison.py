"""What a comparison says: a row for each method, and a recommendation with its reason."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import isfinite
from typing import final

from trustcal.guarantees import Bound


@final
@dataclass(frozen=True)
class Row:
    """What one method does to the predictions, measured on rows that were held out while it was fitted."""

    name: str
    ece: float
    cdl: float
    smcal: float
    dtc: float
    brier: float
    log_loss: float
    """Infinite where 0 or 1 was said and the other came."""
    auc: float
    value: float | None
    """What believing the predictions earns per row, in the units of the problem; None where none was given."""
    value_lost: float
    """What believing these predictions loses against believing the original ones, as a share of the payoff range:
    in the given problem (a gain is negative), or for the decision maker who loses most by it (never negative)."""
    regret: float
    """The same against the best of all methods that may be recommended; what the recommendation keeps small."""
    guarantee: Bound | None
    """What holds whatever the outcomes, given a distance to calibration of at most the measured one."""
    needs_outcomes: bool
    """Whether it is fitted to outcomes.  Noise needs an upper bound on the distance to calibration only."""


@final
@dataclass(frozen=True)
class Comparison:
    """Methods side by side, with a recommendation.  `print` shows the table; `to_json` the same as data."""

    rows: tuple[Row, ...]
    """One for each method; the first is "none", the last the constant, which is calibrated and useless."""
    recommended: str
    """The name of a row."""
    recommendation: str
    """In one line, what to do."""
    reason: str
    samples: int
    """How many rows of data were compared on."""
    folds: int
    cells: int | None
    """ECE and CDL were taken on this many cells of equal mass; None: on the values as they are."""
    floor: float
    """The CDL that a calibrated predictor would show, by chance, in 19 of 20 samples of this size."""

    def to_json(self) -> str:
        """All numbers, by the names of the fields; an infinite log loss is null."""
        fields = asdict(self)
        for row in fields["rows"]:
            row["log_loss"] = row["log_loss"] if isfinite(row["log_loss"]) else None
        return json.dumps(fields, indent=2)

    def __str__(self) -> str:
        from trustcal.report.terminal.comparison import plain

        return plain(self)
