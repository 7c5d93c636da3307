"""The verdict: is the loss beyond chance, and who loses most?  The only place that decides significance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

from trustcal.formats import acts, p_equals, percent, probability

if TYPE_CHECKING:
    from trustcal.auditing.record import Audit

SIGNIFICANT: Final = 0.05
"""The level of the test; each of the two tests below has half of it (Bonferroni)."""
TESTED: Final = ("cdl", "smcal")
"""The measures whose p-values decide."""
ROUNDING: Final = 1e-12
"""A loss below this is rounding."""

State = Literal["harmless", "chance", "harmful"]


@final
@dataclass(frozen=True)
class Verdict:
    """Whether the predictions can be believed, in one to three sentences, with the numbers that decide it."""

    state: State
    """harmless: nobody loses anything; chance: not more than calibrated predictions would show; else harmful."""
    headline: str
    """The verdict in words."""
    loss: float
    """The calibration decision loss: the most that anyone loses, as a share of their payoff range."""
    by_chance: float | None
    """The mean of this loss if the predictions were calibrated; None without inference."""
    p_value: float | None
    """The smaller p-value of calibration decision loss and smooth calibration error; None without inference."""
    draws: int | None
    """The number of simulations behind the p-value; None without inference."""

    @property
    def fine(self) -> bool:
        """Whether there is nothing to worry about."""
        return self.state != "harmful"

    def __str__(self) -> str:
        return self.headline


def verdict_on(audit: Audit) -> Verdict:
    """The verdict on an audit.

    The state is "chance" if both p-values exceed half the level; a p-value that is the smallest possible with this
    number of draws never counts as chance.
    """
    known = audit.inference
    loss = audit.measures["cdl"]
    tests = [] if known is None else [known.of(key).test for key in TESTED]
    p_value = min((test.p_value for test in tests), default=None)
    by_chance = tests[0].floor.mean if tests else None
    state: State = "harmful"
    if not audit.worst.thresholds or loss < ROUNDING:
        state = "harmless"
    elif p_value is not None and p_value > max(SIGNIFICANT / 2, 1 / (tests[0].draws + 1)):
        state = "chance"
    return Verdict(state, _HEADLINES[state](audit), loss, by_chance, p_value, tests[0].draws if tests else None)


def _harmless(_: Audit) -> str:
    return "No decision maker loses anything by believing these predictions."


def _chance(audit: Audit) -> str:
    assert audit.inference is not None
    known = audit.inference.of("cdl")
    return (
        "There is no evidence against these predictions: a calibrated model would show this much miscalibration by "
        f"chance with {audit.rows:,} rows. The measured loss is {percent(known.value)} of the payoff range; by chance "
        f"alone it would be about {percent(known.floor)}."
    )


def _harmful(audit: Audit) -> str:
    return f"{_who(audit)}{_not_chance(audit)}"


def _who(audit: Audit) -> str:
    one, worst = audit.worst_threshold, [probability(mu) for mu in audit.worst.thresholds]
    sentence = (
        f"By believing these predictions, a decision maker who acts {acts(one.threshold)} loses "
        f"{percent(one.loss)} of the payoff range."
    )
    if len(worst) == 1:
        return f"{sentence} Nobody loses more."
    return (
        f"{sentence} The most anyone loses is {percent(audit.measures['cdl'])}: "
        f"with three actions, changing at {worst[0]} and at {worst[1]}."
    )


def _not_chance(audit: Audit) -> str:
    known = audit.inference
    if known is None:
        return ""
    loss, smooth = known.of("cdl"), known.of("smcal")
    by_chance = f" By chance alone it would be about {percent(loss.floor)}"
    if min(loss.p_value, smooth.p_value) > SIGNIFICANT / 2:
        return f"{by_chance}, but {known.draws} simulations are too few to decide: use at least 39."
    if loss.p_value <= SIGNIFICANT:
        return f"{by_chance}."
    p = p_equals(smooth.p_value, known.draws)
    return f"{by_chance}, so part of it may be chance; that the predictions are miscalibrated is not ({p})."


_HEADLINES: Final = {"harmless": _harmless, "chance": _chance, "harmful": _harmful}
