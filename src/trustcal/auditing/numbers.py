"""The parts of an audit about decisions, inference, guarantees and groups, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from trustcal.decisions.recommendations import Recommendation
from trustcal.guarantees import NoiseChoice
from trustcal.inference import CombinedTest, ConfidenceBound, Uncertainty
from trustcal.measures.corp import Corp

if TYPE_CHECKING:
    from trustcal.remedies import HeldOutGain

SIGNIFICANT: Final = 0.05
"""The level of the combined test."""
UNKNOWN: Final = 0.2
"""If a loss of more than this cannot be ruled out in a group, its rows are too few to say anything."""


@final
@dataclass(frozen=True)
class DecisionLoss:
    """The most that anyone loses by believing the predictions: the headline of an audit, as a share of a payoff range.

    Where values repeat, it is the calibration decision loss of the values as they are.  Otherwise it is the monotone
    decision loss, which rows overstate by about what they show by chance: this is subtracted from the estimate.
    """

    measure: str
    """The key of the measure: cdl, or monotone_cdl."""
    shown: float
    """The measure of the rows."""
    by_chance: float | None
    """Its mean if the predictions were calibrated; None without inference."""
    estimate: float
    """The estimate for the population: `shown` less `by_chance`, at least 0; for cdl, `shown` itself unless that may be
    chance (p > 0.05)."""
    lower: float | None
    """The lower end of the interval for the population, 0 without evidence against the predictions; None without
    inference."""
    upper: float | None
    """The upper end."""
    held_out: float | None
    """What moving thresholds gains when found on some rows and judged on others (5 folds); None: not estimated."""


@final
@dataclass(frozen=True)
class ThresholdLoss:
    """What those who act above one threshold lose by believing the predictions, and which threshold to use instead."""

    threshold: float
    """Where they change action."""
    acts_on: bool
    """Whether they act on a prediction equal to it: the worse way counts."""
    loss: float
    """What they lose on these rows, as a share of the payoff range."""
    by_chance: float | None
    """The mean of this loss if the predictions were calibrated; None without inference."""
    instead: float
    """The threshold to use instead; infinite: never act."""
    instead_on: bool
    """Whether to act on a prediction equal to that."""
    gain: float
    """What using that threshold gains: all of the loss, unless values repeat and do not keep their order."""
    reversed: float
    """The share of decisions that it changes."""

    @property
    def miss_cost(self) -> float:
        """The cost of a miss in false alarms, for those with this threshold."""
        return (1 - self.threshold) / self.threshold


@final
@dataclass(frozen=True)
class WorstCase:
    """The decision maker who loses most: the witness of the decision loss."""

    thresholds: tuple[float, ...]
    """Where they change action: at most two."""
    instead: tuple[float, ...]
    """For each, the smallest prediction on which to act instead; infinite: never."""
    weights: tuple[float, ...]
    """The stakes at each: crossing a threshold changes the payoff by weight · (y − threshold)."""
    payoff: tuple[tuple[float, float], ...]
    """payoff[a][y], in [0, 1]: the action taken between thresholds a − 1 and a."""


@final
@dataclass(frozen=True)
class WorstRange:
    """The range of predictions with the largest bias: the witness of the cutoff calibration error."""

    low: float
    """The lower end."""
    high: float
    """The upper end; both ends belong to it."""
    bias: float
    """E[p − y; p in the range]: positive where predictions are too high."""
    mass: float
    """The share of rows in it."""


@final
@dataclass(frozen=True)
class Fall:
    """Where the frequency of the outcome falls most although the prediction rises: what moving thresholds misses."""

    low: float
    """From here to `split` the frequency is `before`."""
    split: float
    """From above here to `high` it is `after`."""
    high: float
    """The end of the second range."""
    before: float
    """The frequency of outcome 1 in the first range."""
    after: float
    """The frequency in the second."""
    p_value: float
    """About this share of data sets whose frequencies rise with the predictions would show such a fall."""


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
    action_regret: float
    """What replacing recommended actions by others, each as a whole, would earn more."""
    recommendations: tuple[Recommendation, ...]
    """Action by action: how often it is recommended, what it promised and earned, and what would have been better."""
    moving: float
    """What moving the thresholds would earn more."""
    instead: tuple[float, ...]
    """The thresholds to use instead; infinite: never."""
    by_chance: float | None
    """The mean of the regret if the predictions were calibrated; None without inference."""
    lower: float | None
    """The lower end of the interval for the regret of the population; None without inference."""
    upper: float | None
    """The upper end."""
    stakes: float
    """The payoff range: the largest difference between two best responses, for either outcome."""

    @property
    def regret(self) -> float:
        """What the decision maker loses on these rows: the larger of `moving` and `action_regret`."""
        return max(self.moving, self.action_regret)

    @property
    def estimate(self) -> float:
        """The regret less what would show by chance."""
        return max(0.0, self.regret - (self.by_chance or 0.0))

    @property
    def share(self) -> float:
        """The estimate as a share of the payoff range."""
        return self.estimate / self.stakes if self.stakes else 0.0


@final
@dataclass(frozen=True)
class Inference:
    """What the rows tell about the population."""

    test: CombinedTest
    """The combined test of calibration: the one rule for "is it chance?"."""
    measures: tuple[Uncertainty, ...]
    """One entry per measure, in the order of the table of measures."""
    dtc: ConfidenceBound
    """The upper confidence bound on the distance to calibration of the population."""
    monotone_cdl: ConfidenceBound | None
    """Proved bounds on the monotone decision loss, each with this confidence; None where predictions were moved."""

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
class Scores:
    """Proper scores, each split into miscalibration, discrimination and uncertainty; and the AUC."""

    brier: Corp
    """The Brier score."""
    log_loss: Corp
    """The log loss; its miscalibration is infinite where 0 or 1 was predicted and the other outcome occurred."""
    auc: float | None
    """Area under the ROC curve; None if all outcomes are equal."""


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
    effective_rows: float | None
    """The effective sample size: smaller than `rows` if weights differ or rows are in clusters."""
    base_rate: float
    """The frequency of outcome 1."""
    mean_prediction: float
    """The mean prediction."""
    measures: Mapping[str, float]
    """Every measure by its key."""
    loss: DecisionLoss
    """The most that anyone loses by believing the predictions of this group."""
    worst_threshold: ThresholdLoss
    """Of all who act above one threshold, the one who loses most."""
    problem: ProblemLoss | None
    """What the user's own decision maker loses in this group."""
    remedy: HeldOutGain | None
    """The remedy for this group alone, and what it gains on held-out rows; None unless the group is off."""
    p_value: float | None
    """The p-value of calibration in this group, adjusted for the number of groups (Holm); None without inference."""

    @property
    def harm(self) -> tuple[float, float, float, float]:
        """How much is lost in this group, at least and about: with the user's payoffs if given, then by anyone."""
        yours = (0.0, 0.0)
        if self.problem is not None:
            yours = (self.problem.lower or 0.0) / (self.problem.stakes or 1.0), self.problem.share
        return yours[0], self.loss.lower or 0.0, yours[1], self.loss.estimate

    @property
    def small(self) -> bool:
        """Whether its rows are too few to say anything: nothing is proved, and much cannot be ruled out."""
        proved = self.p_value is not None and self.p_value <= SIGNIFICANT
        return not proved and self.loss.upper is not None and self.loss.upper > UNKNOWN
