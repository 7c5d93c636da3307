"""What a comparison found: a result for each method, the recommended one, and why."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Final, final

from trustcal.formats import listed
from trustcal.guarantees import Bound

BY_GROUP: Final = " by group"
"""The end of the name of a method that has a map for each group."""


@final
@dataclass(frozen=True)
class MethodResult:
    """What one method does to the predictions, measured on rows that it was not fitted to."""

    name: str
    """The method; "none" leaves the predictions as they are."""
    excess: float
    """The criterion: the mean loss minus that of the best method that may be recommended.  The loss is what the user's
    payoffs earn less, as a share of the payoff range; without payoffs it is the Brier score."""
    standard_error: float | None
    """Of the excess, from paired rows; None for noise."""
    decision_loss: float
    """The most anyone loses by not moving their thresholds (`monotone_cdl`); of noise CDL, over all draws."""
    brier: float
    """Brier score."""
    log_loss: float
    """Log loss; infinite where 0 or 1 was predicted and the other outcome occurred."""
    auc: float | None
    """Area under the ROC curve; None if all outcomes held out are equal."""
    value: float | None
    """What believing the predictions earns per row, in the units of the payoffs; None without payoffs."""
    guarantee: Bound | None
    """A bound on the CDL for any outcomes, given a distance to calibration of at most the measured one."""
    needs_outcomes: bool
    """Whether it is learned from outcomes.  Noise needs only an upper bound on the distance to calibration."""
    harmed: tuple[str, ...]
    """Groups that lose by it against none, by more than chance explains."""
    eligible: bool
    """Whether it may be recommended: it beats none, harms no group, and does not raise the decision loss."""


@final
@dataclass(frozen=True)
class Comparison:
    """Methods side by side, with a recommendation.  `print` shows the table; `to_json` gives the same as data."""

    methods: tuple[MethodResult, ...]
    """Recalibrators from the simplest to the least simple, the first is "none"; then noise."""
    recommended: str
    """The name of one of them."""
    criterion: str
    """What the loss is: "payoff" or "Brier score"."""
    rows: int
    """The number of rows."""
    folds: int
    """The number of folds; each was held out once."""
    repeats: int
    """How often rows were split into folds; the numbers are means over these."""
    ordered: bool
    """Whether rows were judged in time order, each by what came before."""
    clusters: int | None = None
    """The number of clusters, each of which is in one fold; standard errors are computed from them.  None without."""

    @property
    def recommendation(self) -> str:
        """What to do, in one line."""
        if self.recommended == "none":
            return "No remedy clearly helps here."
        return f"Recalibrate with outcomes, by {self.recommended}."

    @property
    def reason(self) -> str:
        """Why, with the numbers behind it; and when noise is the better choice."""
        none, found = self._named("none"), self._named(self.recommended)
        if none is found:
            told = f"On held-out rows no method clearly beats none in {self.criterion}."
        else:
            told = (
                f"On held-out rows the {self._earned(none, found)}Brier score goes from {none.brier:.4f} to "
                f"{found.brier:.4f}, and what anyone could gain by moving thresholds from "
                f"{_percent(none.decision_loss)} to {_percent(found.decision_loss)} of their payoff "
                "range. Nothing simpler is as good."
            )
        harmful = [(method.name, method.harmed) for method in self.methods if method.harmed]
        if harmful:
            name, groups = min(harmful, key=lambda one: len(one[1]))
            told += f" Some methods harm a group, as {name} does {listed(list(groups))}, and are not recommended."
        return f"{told} {self._when_noise()}"

    def _earned(self, none: MethodResult, found: MethodResult) -> str:
        if none.value is None or found.value is None:
            return ""
        return f"payoff goes from {none.value:.4g} to {found.value:.4g} per row, the "

    def _when_noise(self) -> str:
        """When to use noise, what it guarantees here, and at what cost."""
        guarantee, cost, name = min(
            (method.guarantee.value, method.brier - self.methods[0].brier, method.name)
            for method in self.methods
            if method.guarantee is not None
        )
        use = "Use noise when no outcomes will be available, or when an adversary may choose them"
        if guarantee >= self.methods[0].decision_loss:
            return f"{use}; here it guarantees no less than what is lost now."
        return f"{use}: {name} keeps CDL ≤ {_percent(guarantee)}, and costs {cost:.4f} of Brier score."

    def _named(self, name: str) -> MethodResult:
        return next(method for method in self.methods if method.name == name)

    def to_json(self) -> str:
        """All numbers, by the names of the fields, and the recommendation in words; an infinite log loss is null."""
        fields = asdict(self) | {"recommendation": self.recommendation, "reason": self.reason}
        for method in fields["methods"]:
            method["log_loss"] = method["log_loss"] if isfinite(method["log_loss"]) else None
        return json.dumps(fields, indent=2)

    def __str__(self) -> str:
        from trustcal.report.terminal.comparison import plain

        return plain(self)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
