"""What a comparison found: a result for each method, and the one to take."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import isfinite
from typing import final

from trustcal.guarantees import Bound


@final
@dataclass(frozen=True)
class MethodResult:
    """What one method does to the predictions, measured on rows that were held out while it was fitted."""

    name: str
    """The method; "none" leaves the predictions as they are."""
    ece: float
    """Expected calibration error."""
    cdl: float
    """Calibration decision loss."""
    smcal: float
    """Smooth calibration error."""
    dtc: float
    """Distance to calibration."""
    brier: float
    """Brier score."""
    log_loss: float
    """Log loss; infinite where 0 or 1 was predicted and the other outcome occurred."""
    auc: float
    """Area under the ROC curve."""
    value: float | None
    """What believing the predictions earns per row, in the units of the problem; None where none was given."""
    value_lost: float
    """What believing these predictions loses against believing the original ones, as a share of the payoff range:
    in the given problem (a gain is negative), or for the decision maker who loses most by it (never negative)."""
    regret: float
    """The same against the best of all methods that may be recommended: the recommendation keeps this small."""
    guarantee: Bound | None
    """A bound on the CDL for any outcomes, given a distance to calibration of at most the measured one."""
    needs_outcomes: bool
    """Whether it is fitted to outcomes.  Noise needs only an upper bound on the distance to calibration."""


@final
@dataclass(frozen=True)
class Comparison:
    """Methods side by side, with a recommendation.  `print` shows the tables; `to_json` gives the same as data."""

    methods: tuple[MethodResult, ...]
    """The first is "none"; the last the constant, which is calibrated and useless."""
    recommended: str
    """The name of one of them."""
    rows: int
    """The number of rows."""
    folds: int
    """The number of folds; each was held out once."""
    cells: int | None
    """ECE and CDL were taken on this many bins of equal mass; None: on the values as they are."""
    floor: float
    """The CDL that a calibrated predictor would exceed, by chance, in one of 20 samples of this size."""

    @property
    def recommendation(self) -> str:
        """What to do, in one line."""
        from trustcal.remedies.advice import recommendation

        return recommendation(self)

    @property
    def reason(self) -> str:
        """Why."""
        from trustcal.remedies.advice import reason

        return reason(self)

    def to_json(self) -> str:
        """All numbers, by the names of the fields, and the recommendation in words; an infinite log loss is null."""
        fields = asdict(self) | {"recommendation": self.recommendation, "reason": self.reason}
        for method in fields["methods"]:
            method["log_loss"] = method["log_loss"] if isfinite(method["log_loss"]) else None
        return json.dumps(fields, indent=2)

    def __str__(self) -> str:
        from trustcal.report.terminal.comparison import plain

        return plain(self)
