"""What a comparison of models found, as data and in sentences."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, final

from trustcal.formats import amount, four_decimals, percent, probability, whole
from trustcal.measures.corp import Corp
from trustcal.predictor import Predictor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Range = tuple[float, float]


@final
@dataclass(frozen=True)
class ModelScores:
    """One model, measured like all others."""

    name: str
    """Its name."""
    brier: float
    """Brier score."""
    split: Corp
    """The Brier score split into miscalibration, discrimination and uncertainty."""
    log_loss: float
    """Log loss; infinite where 0 or 1 was predicted and the other outcome occurred."""
    auc: float | None
    """Area under the ROC curve; None if all outcomes are equal."""
    decision_loss: float
    """The most that anyone loses by not moving their thresholds (`monotone_cdl`)."""
    value: float | None
    """What believing the model earns per row with the user's payoffs; None without."""


@final
@dataclass(frozen=True)
class PairedDifference:
    """A number of the rows with its interval for the population."""

    value: float
    lower: float
    upper: float

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.lower > 0 or self.upper < 0


@final
@dataclass(frozen=True)
class ModelPair:
    """Two models on the same rows."""

    first: str
    second: str
    brier: PairedDifference
    """Brier score of the first minus that of the second."""
    value: PairedDifference | None
    """What the first earns per row more than the second, with the user's payoffs."""
    loss_first: PairedDifference
    """Decision loss: the most that anyone loses, of a payoff range of 1, by using the first instead of the second."""
    loss_second: PairedDifference
    """The most that anyone loses by using the second instead of the first."""
    dominates: str | None
    """The model that is at least as good at every threshold, on these rows; None if neither is, or both are equal."""
    first_better: tuple[Range, ...]
    """Thresholds between which the first is better on these rows, at their ends by more than chance."""
    second_better: tuple[Range, ...]
    """Thresholds between which the second is."""
    half_width: float
    """The difference of threshold losses is within this of the population's, at all thresholds and for all pairs of a
    comparison at once, with its confidence."""

    @property
    def answer(self) -> str:
        """Who is better for whom, in words."""
        one, two = self.first_better, self.second_better
        if one and two:
            return (
                f"It depends on the threshold: {self.first} is better for thresholds {_ranges(one)}, {self.second} for "
                f"thresholds {_ranges(two)}."
            )
        if one or two:
            better, other = (self.first, self.second) if one else (self.second, self.first)
            loss = self.loss_second if one else self.loss_first
            rest = f"and nobody is shown to be better off with {other}"
            if self.dominates == better:
                rest = f"and at no threshold is {other} better on these rows"
            return (
                f"{better} is better for thresholds {_ranges(one or two)}, {rest}. Using {other} loses up to "
                f"{percent(loss.value)} of the payoff range (95 % interval: {percent(loss.lower)} to "
                f"{percent(loss.upper)})."
            )
        most = max(self.loss_first.upper, self.loss_second.upper)
        if self.brier.clear:
            better, other = (self.first, self.second) if self.brier.value < 0 else (self.second, self.first)
            return (
                f"On average over thresholds, by the Brier score, {better} is better than {other}; no single "
                f"threshold is shown at which it is. A loss of up to {percent(most)} of the payoff range by using the "
                "wrong one cannot be ruled out."
            )
        return (
            f"No evidence that {self.first} or {self.second} is better for anyone. A loss of up to {percent(most)} of "
            "the payoff range by using the wrong one cannot be ruled out."
        )


@final
@dataclass(frozen=True)
class ModelComparison:
    """Models side by side.  `print` shows the tables, `plot` the Murphy diagram; `to_json` gives the same as data."""

    rows: int
    """The number of rows."""
    clusters: int | None
    """The number of clusters of rows that belong together; None if all rows are independent."""
    base_rate: float
    """The frequency of outcome 1."""
    models: tuple[ModelScores, ...]
    """In the order given."""
    best: str
    """The model that earns most with the user's payoffs; without payoffs, that with the lowest Brier score."""
    pairs: tuple[ModelPair, ...]
    """The best model with each of the others."""
    confidence: float
    """The confidence level of all intervals."""
    draws: int
    """How often rows, or clusters, were drawn again, the same ones for all models."""
    laws: Mapping[str, Predictor] = field(repr=False, compare=False)
    """The predictor of each model."""

    @property
    def headline(self) -> str:
        """The answer for whoever must choose: the best model, and by how much it beats the next."""
        ranked = sorted(self.pairs, key=lambda pair: pair.brier.value if pair.value is None else pair.value.value)
        if self.pairs[0].value is None:
            ranked = ranked[::-1]
        nearest = ranked[0]
        if nearest.value is not None:
            found, what = nearest.value, f"earns {amount(nearest.value.value)} per row more than {nearest.second}"
            ends, by = f"{amount(found.lower)} to {amount(found.upper)}", "With your payoffs"
        else:
            found = PairedDifference(-nearest.brier.value, -nearest.brier.upper, -nearest.brier.lower)
            what = f"is better than {nearest.second} by {four_decimals(found.value)}"
            ends, by = f"{four_decimals(found.lower)} to {four_decimals(found.upper)}", "By the Brier score"
        if found.value == found.lower == found.upper == 0:
            return f"{by} {self.best} and {nearest.second} are the same on these rows."
        if not found.clear:
            return (
                f"{by} it is not clear which model is best: {self.best} {what} on these rows, but that may be chance "
                f"({whole(self.confidence)} interval: {ends})."
            )
        return f"{by} {self.best} is best: it {what} ({whole(self.confidence)} interval: {ends})."

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the Murphy diagram of all models: a model whose curve is nowhere above another's is better for all.

        Parameters
        ----------
        ax : matplotlib axes; new ones by default.

        Returns
        -------
        Axes : those of `trustcal.plots.murphy`.

        O(n log n).
        """
        from trustcal.plots import murphy

        return murphy(self.laws, ax=ax)

    def to_json(self) -> str:
        """All numbers by the names of the fields, and the answer in words; an infinite log loss is null.

        Returns
        -------
        str : one JSON object.
        """
        said = {name: value for name, value in vars(self).items() if name != "laws"}
        data: dict[str, Any] = {"trustcal": "ModelComparison", "headline": self.headline}
        for name, value in said.items():
            data[name] = [_plain(one) for one in value] if isinstance(value, tuple) else value
        return json.dumps(data, indent=2, allow_nan=False)

    def __str__(self) -> str:
        from trustcal.report.terminal.models import plain_models

        return plain_models(self)


def _plain(one: ModelScores | ModelPair) -> dict[str, Any]:
    found = asdict(one)
    if isinstance(one, ModelScores):
        found["split"] = {**found["split"], "mcb": one.split.mcb}
        found["log_loss"] = one.log_loss if isfinite(one.log_loss) else None
    else:
        found["answer"] = one.answer
    return found


def _ranges(ranges: tuple[Range, ...]) -> str:
    """Ranges of thresholds in words: the three widest."""
    widest = sorted(sorted(ranges, key=lambda ends: ends[0] - ends[1])[:3])
    said = [_between(low, high) for low, high in widest]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def _between(low: float, high: float) -> str:
    """The ends of a range with two digits, if that tells them apart."""
    short = f"{low:.2f}", f"{high:.2f}"
    return f"from {short[0]} to {short[1]}" if short[0] != short[1] else f"near {probability(low)}"
