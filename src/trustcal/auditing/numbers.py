"""The parts of an audit about decisions, inference, guarantees and groups, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from trustcal.guarantees import NoiseChoice
from trustcal.inference import ConfidenceBound, Uncertainty


@final
@dataclass(frozen=True)
class ThresholdLoss:
    """What the decision maker who acts above a threshold loses by believing the predictions."""

    threshold: float
    """Where they change action."""
    loss: float
    """Swap regret, as a share of the payoff range."""
    reversed: float
    """The share of decisions that would change, had they known p_hat."""

    @property
    def miss_cost(self) -> float:
        """The cost of a miss in false alarms, for those with this threshold."""
        return (1 - self.threshold) / self.threshold


@final
@dataclass(frozen=True)
class WorstCase:
    """The decision maker who loses most: the witness of CDL."""

    thresholds: tuple[float, ...]
    """Where they change action: at most two."""
    weights: tuple[float, ...]
    """The stakes at each: crossing a threshold changes the payoff by weight · (y − threshold)."""
    payoff: tuple[tuple[float, float], ...]
    """payoff[a][y], in [0, 1]: the action taken between thresholds a − 1 and a."""


@final
@dataclass(frozen=True)
class ProblemLoss:
    """What the user's own decision maker loses."""

    actions: tuple[str, ...]
    """The names of the actions."""
    payoff: tuple[tuple[float, float], ...]
    """payoff[a][y], in the user's units."""
    thresholds: tuple[float, ...]
    """Where the best action changes."""
    responses: tuple[int, ...]
    """The best actions from p = 0 to p = 1, changing at the thresholds."""
    value: float
    """What believing the predictions earns per row, in the user's units."""
    swap_regret: float
    """What it loses against the best use of the same predictions, in the user's units."""
    stakes: float
    """The payoff range: swap_regret / stakes is at most the CDL."""

    @property
    def share(self) -> float:
        """The swap regret as a share of the payoff range."""
        return self.swap_regret / self.stakes if self.stakes else 0.0


@final
@dataclass(frozen=True)
class Inference:
    """What the rows tell about the population."""

    measures: tuple[Uncertainty, ...]
    """One entry per measure, in the order of the table of measures."""
    dtc: ConfidenceBound
    """The upper confidence bound on the distance to calibration of the population."""

    def of(self, measure: str) -> Uncertainty:
        """The entry of a measure by its key."""
        return next(entry for entry in self.measures if entry.measure == measure)

    @property
    def level(self) -> float:
        """The confidence level of the intervals and of the bound."""
        return self.dtc.confidence

    @property
    def draws(self) -> int:
        """The number of simulations behind floors, p-values and intervals."""
        return self.measures[0].test.draws

    @property
    def note(self) -> str:
        """What was pooled or approximated, such as unequal weights; empty if nothing was."""
        return self.measures[0].test.note


@final
@dataclass(frozen=True)
class Promise:
    """What noise guarantees every decision maker, given only the distance to calibration."""

    eps: float
    """The distance to calibration that the guarantee rests on."""
    level: float | None
    """The confidence that the population is within eps; None: eps is the distance of the rows themselves."""
    choice: NoiseChoice
    """The noise with the best guarantee for CDL, the guarantee, and the lower bound for any noise."""


@final
@dataclass(frozen=True)
class GroupAudit:
    """One group of rows, measured like the whole."""

    name: str
    """The value of the grouping column."""
    rows: int | None
    """The number of rows; None for a known distribution."""
    base_rate: float
    """The frequency of outcome 1."""
    mean_prediction: float
    """The mean prediction."""
    cells: int | None
    """Conditional measures and losses were taken on this many bins of equal mass; None: on the values as they are."""
    measures: Mapping[str, float]
    """Every measure by its key."""
    worst_threshold: ThresholdLoss
    """Of all who act above one threshold, the one who loses most."""
    uncertainty: Uncertainty | None
    """Test and interval of the group's CDL; None without inference."""
