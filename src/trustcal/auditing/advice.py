"""What an audit means for those who decide, and what they can do: sentences, as data for every face."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

from trustcal.auditing.harms import SLIGHT, clear_gap, worst_group, worst_segment
from trustcal.auditing.losses import MONOTONE
from trustcal.auditing.numbers import SIGNIFICANT
from trustcal.auditing.to_do import to_do
from trustcal.formats import listed, percent, probability, rounded, whole

if TYPE_CHECKING:
    from trustcal.auditing.record import Audit

Topic = Literal["meaning", "remedy", "guarantee", "noise"]


@final
@dataclass(frozen=True)
class Advice:
    """One piece of advice."""

    topic: Topic
    """What it is about: what the numbers mean, the recommended remedy, the guarantee of noise, or its effect."""
    lead: str
    """Its subject, or the recommendation itself, in a few words."""
    text: str
    """The advice, in whole sentences."""
    command: str | None = None
    """What does it: a command for the shell where files were read, otherwise Python; None: nothing to run."""


def advice_on(audit: Audit) -> tuple[Advice, ...]:
    """Everything worth saying about an audit, in the order to say it."""
    meaning = [Advice("meaning", lead, text) for lead, text in _meaning(audit)]
    return (*meaning, *(Advice("remedy", *one) for one in to_do(audit)), *_noise(audit))


def _meaning(audit: Audit) -> list[tuple[str, str]]:
    verdict, loss = audit.verdict, audit.loss
    found = [(f"{harm.who}:", harm.text) for harm in verdict.hurt]
    if verdict.where is not None:
        gap = audit.mean_prediction - audit.base_rate
        overall = f" On average over all rows they are too {'high' if gap > 0 else 'low'} by {abs(gap):.3g}."
        clear = abs(gap) > 0.001 and clear_gap(gap, audit.base_rate, audit.effective_rows)
        found.append(("Where they are off.", f"{verdict.where}{overall if clear else ''}"))
    if loss.held_out is not None and verdict.where is not None:
        found.append(
            (
                "A check.",
                f"Thresholds moved as four fifths of the rows say gain {percent(max(0.0, loss.held_out))} of the "
                "payoff range on the other fifth.",
            )
        )
    parts = worst_group(audit) is not None or worst_segment(audit) is not None
    safe = [probability(one.threshold) for one in audit.losses if one.loss - (one.by_chance or 0.0) < SLIGHT]
    if verdict.where is not None and not parts and safe and len(safe) < len(audit.losses):
        found.append(
            ("Who need not worry.", f"Those who act above {listed(safe)} lose less than {percent(SLIGHT)} each.")
        )
    fall = audit.fall
    if fall is not None and fall.p_value <= SIGNIFICANT:
        found.append(
            (
                "Not in order.",
                f"From {fall.low:.2f} to {fall.split:.2f} the outcome has a frequency of {percent(fall.before)}, above "
                f"that to {fall.high:.2f} only {percent(fall.after)}. A rule that is not a threshold could gain more "
                "than what is shown here.",
            )
        )
    if loss.measure == MONOTONE:
        found.append(
            (
                "What this cannot show.",
                "What a rule could gain that is not a threshold, such as acting between 0.2 and 0.3 but not above, "
                "cannot be measured from predictions that occur once or a few times each.",
            )
        )
    return found


def _noise(audit: Audit) -> list[Advice]:
    promise = audit.guarantee
    if promise is None:
        return []
    best, limit, after = promise.choice.guarantee, promise.choice.lower, audit.after_noise
    whose = "" if promise.level is None else f"With {whole(promise.level)} confidence, in the population "
    far = f"{whose or 'On these rows '}the distance to calibration is at most {promise.eps:.4g}."
    held = "Noise guarantees nothing at this distance: recalibrate."
    if not best.vacuous:
        held = (
            f"Then, after {rounded(promise.choice.noise)}, nobody loses more than {percent(best.value)} of their "
            f"payoff range by believing the noised predictions ({best.source})."
        )
    topic: Topic = "guarantee" if best.value < audit.loss.estimate else "noise"  # worse than now is no advice
    said = [Advice(topic, "Guarantee.", f"{far} {held}")]
    if after is not None:
        now = audit.loss.shown
        better = after.cdl < now
        then = "A worst-case guarantee needs much noise. If outcomes are available, recalibrate instead."
        if better:
            then = "Noise needs no outcomes, but costs sharpness."
        effect = f"{rounded(after.noise)} would {'' if better else 'not '}reduce the most anyone loses"
        text = f"{effect}: {percent(now)} now, {percent(after.cdl)} after it. {then}"
        said.append(Advice("noise", "On these rows.", text))
    lower = f"{promise.choice.barred.capitalize()} can guarantee less than {percent(limit.value)}"
    return [*said, Advice("noise", "Limit.", f"{lower} at this distance ({limit.source}).")]
