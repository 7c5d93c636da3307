"""What an audit means for those who decide, and what they can do: sentences, as data for every face."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

from trustcal.formats import acts, listed, percent, probability, rounded, whole

if TYPE_CHECKING:
    from trustcal.auditing.record import Audit
    from trustcal.rewriting import FileFix

SLIGHT: Final = 0.005
"""A loss below half a per cent of the payoff range is called slight."""

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


def advice_on(audit: Audit) -> tuple[Advice, ...]:
    """Everything worth saying about an audit, in the order to say it."""
    meaning = [Advice("meaning", lead, text) for lead, text in _meaning(audit)]
    compared = audit.comparison
    remedy = [] if compared is None else [Advice("remedy", compared.recommendation, compared.reason)]
    return (*meaning, *remedy, *_noise(audit))


def _meaning(audit: Audit) -> list[tuple[str, str]]:
    state, worst = audit.verdict.state, audit.worst_threshold
    if state == "harmless":
        return [
            (
                "Nothing to fix.",
                "These predictions mean what they say: whoever acts on them does as well as anyone could with them.",
            )
        ]
    said = []
    if state == "chance":
        said.append(
            (
                "No evidence against the predictions.",
                "A calibrated model would show this much miscalibration by chance. More rows would tell more.",
            )
        )
    said += [
        (
            "Worst case.",
            f"With payoffs between 0 and 100, a decision maker who acts {acts(worst.threshold)} loses "
            f"{100 * worst.loss:.3g} per decision, compared with acting on what the same predictions really mean. "
            f"That is a different decision in {percent(worst.reversed)} of all cases.",
        ),
        ("Where they are off most.", _where(audit)),
    ]
    safe = [probability(loss.threshold) for loss in audit.losses if loss.loss < SLIGHT]
    if safe and len(safe) < len(audit.losses):
        said.append(
            ("Who need not worry.", f"Those who act above {listed(safe)} lose less than {percent(SLIGHT)} each.")
        )
    elif safe:
        said.append(("Most need not worry.", f"At all common thresholds the loss is below {percent(SLIGHT)}."))
    if audit.problem is not None:
        problem = audit.problem
        more = f"could earn {problem.swap_regret:.4g} more ({percent(problem.share)} of your payoff range)"
        said.append(
            (
                "With your payoffs.",
                f"Believing the predictions earns {problem.value:.4g} per row, and "
                f"{more if problem.swap_regret > 0 else 'nothing is lost by it'}.",
            )
        )
    return said


def _where(audit: Audit) -> str:
    """The point of the reliability curve with the largest mass times deviation."""
    curve = audit.curve
    p, p_hat, _ = max(
        zip(curve.p, curve.p_hat, curve.mass, strict=True), key=lambda point: abs(point[0] - point[1]) * point[2]
    )
    gap = audit.mean_prediction - audit.base_rate
    overall = f" On average predictions are too {'high' if gap > 0 else 'low'} by {abs(gap):.3g}."
    return (
        f"A prediction of about {p:.3g} comes true {percent(p_hat)} of the time.{overall if abs(gap) > 0.001 else ''}"
    )


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
    said = [Advice("guarantee", "Guarantee.", f"{far} {held}")]
    if after is not None:
        better = after.cdl < audit.cdl
        then = "A worst-case guarantee needs much noise. If outcomes are available, recalibrate instead."
        if better:
            then = "Noise needs no outcomes, but costs sharpness."
        effect = f"{rounded(after.noise)} would {'' if better else 'not '}reduce the most anyone loses"
        text = f"{effect}: {percent(audit.cdl)} now, {percent(after.cdl)} after it. {then}"
        said.append(Advice("noise", "On these rows.", text))
    lower = f"No noise that treats predictions one by one can guarantee less than {percent(limit.value)}"
    return [*said, Advice("noise", "Limit.", f"{lower} at this distance ({limit.source}).")]


def fix_advice(fix: FileFix) -> str:
    """Whether noise is worth it: only if its guarantee beats what is lost now, or outcomes are not available."""
    guarantee = fix.choice.guarantee
    if guarantee.vacuous:
        return "The guarantee is vacuous at this distance to calibration. Recalibrate with outcomes instead."
    if fix.before is None:
        return "If outcomes are available, use them first: recalibration usually costs less than noise."
    now = fix.before.ece if guarantee.quantity == "ECE" else fix.before.cdl
    if now <= guarantee.value:
        return (
            f"Do nothing: acting on the predictions as they are loses {now:.4g}, less than the {guarantee.value:.4g} "
            "that noise guarantees."
        )
    return (
        f"The guarantee, {guarantee.value:.4g}, is below the current loss, {now:.4g}. With outcomes available, "
        "recalibration usually does better still; noise is for predictions whose outcomes are not available, or are "
        "chosen by an adversary."
    )
