"""The numbers of an audit of K classes: the decision maker, pairs of classes, and the worst decision maker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from trustcal.auditing.harms import ROUNDING
from trustcal.auditing.losses import unseen
from trustcal.auditing.numbers import SIGNIFICANT, UNKNOWN
from trustcal.classes import RegretTest, ViewMeasures
from trustcal.decisions.recommendations import Recommendation
from trustcal.inference import ConfidenceBound


@final
@dataclass(frozen=True)
class OutcomeLoss:
    """What a decision maker with K outcomes loses by believing the vectors of probabilities."""

    yours: bool
    """Whether the payoffs were given; otherwise it is whoever picks the likeliest class, with payoff 1 if right."""
    actions: tuple[str, ...]
    """The names of the actions."""
    payoff: tuple[tuple[float, ...], ...]
    """payoff[a][k], in the user's units, in the order of the classes."""
    value: float
    """What believing the vectors earns per row."""
    promised: float
    """What they promise to earn per row."""
    action_regret: float
    """What replacing recommended actions by others, each as a whole, would earn more per row."""
    recommendations: tuple[Recommendation, ...]
    """Action by action: how often it is recommended, what it promised and earned, and what would have been better."""
    gaps: tuple[float, ...]
    """For each action, how far outcomes are from beliefs where it is recommended: half the sum of the differences."""
    instead: tuple[tuple[float, ...], ...]
    """instead[a][b]: what b would have earned more than a per row of the data, on the rows where a was recommended."""
    stakes: float
    """The payoff range: the largest difference between two actions, over all outcomes."""
    test: RegretTest | None
    """Is the regret chance, and its interval for the population; None without simulations."""
    bound: ConfidenceBound | None
    """Proved bounds on the regret of the population, each with its confidence; None for a known distribution."""

    @property
    def estimate(self) -> float:
        """The regret less what would show by chance."""
        return self.action_regret if self.test is None else self.test.excess

    @property
    def share(self) -> float:
        """The estimate as a share of the payoff range."""
        return self.estimate / self.stakes if self.stakes else 0.0

    @property
    def ends(self) -> tuple[float, float] | None:
        """The interval of the population's regret as shares of the payoff range; None without simulations."""
        if self.test is None:
            return None
        return (self.test.lower / self.stakes, self.test.upper / self.stakes) if self.stakes else (0.0, 0.0)

    @property
    def worst(self) -> Recommendation | None:
        """The recommendation that is wrong most expensively; None if none is."""
        found = max(self.recommendations, key=lambda one: one.gain)
        return found if found.gain > 0 else None


@final
@dataclass(frozen=True)
class PairAudit:
    """Two classes, and what those lose who decide between them."""

    a: str
    """A class."""
    b: str
    """The other class."""
    share: float
    """The share of rows in which one of the two occurred."""
    said: float
    """The mean of Pr[a | a or b] there."""
    seen: float
    """How often it was a there."""
    loss: float
    """The most that moving thresholds on that probability would save there, as a share of the payoff range."""

    @property
    def total(self) -> float:
        """The loss spread over all rows."""
        return self.share * self.loss


@final
@dataclass(frozen=True)
class WorstOutcomeLoss:
    """The most that anybody with payoffs in [0, 1] loses by believing the vectors."""

    lower: float
    """What the witness loses on these rows."""
    upper: float
    """Nobody loses more on these rows."""
    held_out: float | None
    """What a witness found on half of the rows loses on the other half; None for a known distribution."""
    score: tuple[float, ...] | None
    """The weight of each class in the score on which the witness acts; None if each vector has its own action."""
    payoff: tuple[tuple[float, ...], ...]
    """The payoffs of the witness, by action and class."""


@final
@dataclass(frozen=True)
class ClassGroupAudit:
    """One group of rows with K classes: its decision maker, and its top label."""

    name: str
    """The value of the grouping column."""
    rows: int | None
    """The number of rows; None for a known distribution."""
    problem: OutcomeLoss
    """What the decision maker loses in this group."""
    top: ViewMeasures
    """The top label: how often it is right here, and how often it should be."""
    p_value: float | None
    """Of the regret and of the top label in this group, adjusted for both and for the number of groups (Holm); None
    without simulations."""

    @property
    def harm(self) -> tuple[float, float, float, float]:
        """How much is lost in this group, at least and about: by the decision maker, then on the top label."""
        lower = 0.0 if self.problem.ends is None else self.problem.ends[0]
        return lower, self.top.known[0].lower if self.top.known else 0.0, self.problem.share, self.top_loss

    @property
    def top_loss(self) -> float:
        """What those lose who act on the probability of the top label, less what would show by chance."""
        loss = self.top.known[0].excess if self.top.known else self.top.values["monotone_cdl"]
        return loss if loss > ROUNDING else 0.0

    @property
    def upper(self) -> float | None:
        """What cannot be ruled out: by the decision maker's loss, by the top label's, or by an event not seen yet."""
        if self.problem.ends is None or not self.top.known or self.rows is None:
            return None
        return max(self.problem.ends[1], self.top.known[0].upper, unseen(self.rows))

    @property
    def small(self) -> bool:
        """Whether its rows are too few to say anything: nothing is proved, and much cannot be ruled out."""
        proved = self.p_value is not None and self.p_value <= SIGNIFICANT
        return not proved and self.upper is not None and self.upper > UNKNOWN
