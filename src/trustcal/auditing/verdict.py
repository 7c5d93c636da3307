"""The verdict: can the predictions be believed, who is hurt, where, and what to do?  As data, for every face."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf
from typing import TYPE_CHECKING, Final, Literal, final

from trustcal.auditing.harms import (
    ROUNDING,
    SLIGHT,
    VISIBLE,
    Harm,
    clear_gap,
    group_loss,
    group_title,
    harms,
    in_segment,
    worst_group,
    worst_segment,
    your_loss,
)
from trustcal.auditing.losses import MONOTONE
from trustcal.auditing.numbers import SIGNIFICANT
from trustcal.formats import percent

if TYPE_CHECKING:
    from trustcal.auditing.numbers import DecisionLoss, GroupAudit
    from trustcal.auditing.record import Audit

SMALL: Final = 0.02
"""Without evidence against the predictions, they can be trusted if nobody can lose more than this."""
LARGE: Final = 0.1
"""If a loss of more than this cannot be ruled out, and nothing is proved, there are too few rows to tell."""

State = Literal["trustworthy", "no evidence", "off", "too few rows to tell", "not tested"]


@final
@dataclass(frozen=True)
class Verdict:
    """Whether the predictions can be believed, with the numbers that decide it."""

    state: State
    """trustworthy: nobody loses much; no evidence: no more than chance would show, but some loss cannot be ruled out;
    off: more than chance; too few rows to tell; not tested: no simulations were asked for."""
    headline: str
    """The verdict in words."""
    caveats: tuple[str, ...]
    """What the reader must know about the data: one outcome only, predictions that are all 0 or 1, or were certain and
    wrong, one action only."""
    hurt: tuple[Harm, ...]
    """Who is hurt: your own decision maker, the worst-hurt group and segment, whoever acts above one threshold."""
    where: str | None
    """The range of predictions with the largest bias, in words; None if there is no evidence of any."""
    loss: float
    """The most that anyone loses, as a share of their payoff range: the estimate for the population."""
    lower: float | None
    """The lower end of its interval; None without inference."""
    upper: float | None
    """The upper end."""
    p_value: float | None
    """The p-value of the combined test of calibration; None without inference."""
    draws: int | None
    """The number of simulations behind the p-value."""

    @property
    def fine(self) -> bool:
        """Whether there is no evidence against the predictions, from enough rows to have seen it."""
        return self.state in ("trustworthy", "no evidence")

    def __str__(self) -> str:
        return self.headline


def verdict_on(audit: Audit) -> Verdict:
    """The verdict on an audit: one rule, the combined test at 5 %, and the upper end of the interval for the loss."""
    known, loss = audit.inference, audit.loss
    state = _state(audit)
    off = _overall(audit) in ("off", "not tested")  # else at most in a part, and the rest may be chance
    return Verdict(
        state=state,
        headline=_HEADLINES[state](audit),
        caveats=tuple(_caveats(audit)),
        hurt=tuple(harms(audit, off)),
        where=_where(audit) if off else None,
        loss=loss.estimate,
        lower=loss.lower,
        upper=loss.upper,
        p_value=None if known is None else known.test.p_value,
        draws=None if known is None else known.test.draws,
    )


def _state(audit: Audit) -> State:
    parts = worst_group(audit) is not None or worst_segment(audit) is not None
    return "off" if parts and audit.inference is not None else _overall(audit)


def _overall(audit: Audit) -> State:
    """The state of all rows together."""
    known, loss = audit.inference, audit.loss
    if known is None:
        if loss.shown < ROUNDING and not audit.worst.thresholds:
            return "trustworthy" if audit.rows is None else "not tested"
        return "off" if audit.rows is None else "not tested"
    assert loss.upper is not None
    return tested_state(known.test.p_value, loss.upper)


def tested_state(p_value: float, upper: float) -> State:
    """The one rule: by the p-value of calibration, and by the most that anyone loses, at the upper end."""
    if p_value <= SIGNIFICANT:
        return "trustworthy" if upper <= SLIGHT else "off"
    if upper <= SMALL:
        return "trustworthy"
    return "no evidence" if upper <= LARGE else "too few rows to tell"


def undecided(state: State, things: str, rows: int | None, effective: float | None, upper: float) -> str:
    """The headline where there is no evidence against predictions or probabilities."""
    count, most = f"{rows or 0:,} row{'s' * (rows != 1)}", percent(upper)
    if rows is not None and effective is not None and effective < rows / 2:
        count += f" (as good as {effective:,.0f} independent one{'s' * (round(effective) != 1)} of equal weight)"
    if state == "no evidence":
        return (
            f"No evidence against these {things}: what they show, calibrated ones would show by chance with {count}. "
            f"A loss of up to {most} of the payoff range cannot be ruled out."
        )
    return (
        f"Too few rows to tell. There is no evidence against these {things}, but with {count} a loss of up to {most} "
        "of the payoff range cannot be ruled out. Collect more rows before you rely on them."
    )


def _trustworthy(audit: Audit) -> str:
    if audit.inference is None:
        return "No decision maker loses anything by believing these predictions."
    loss = audit.loss
    assert loss.upper is not None
    slightly = "They are slightly off, but nobody" if audit.inference.test.p_value <= SIGNIFICANT else "Nobody"
    return (
        f"You can act on these predictions. {slightly} loses more than {percent(loss.upper)} of their payoff range by "
        f"believing them; the estimate is {percent(loss.estimate)}."
    )


def _undecided(audit: Audit) -> str:
    assert audit.loss.upper is not None
    return undecided(_state(audit), "predictions", audit.rows, audit.effective_rows, audit.loss.upper)


def _off(audit: Audit) -> str:
    """Off, then who is hurt: your payoffs, the worst-hurt group; if neither can be said, whoever loses most."""
    loss, known = audit.loss, audit.inference
    if known is None:
        what = "moving thresholds would save up to" if loss.measure == MONOTONE else "believing them loses up to"
        return f"These predictions are off: {what} {percent(loss.shown)} of the payoff range."
    group, segment, yours = worst_group(audit), worst_segment(audit), audit.problem
    clear = yours is not None and bool(yours.lower)
    where = "" if _overall(audit) == "off" else " in part of the rows"
    said = [f"These predictions are off{where}, and not by chance."]
    if yours is not None:
        said.append(your_loss(yours))
    if group is not None:
        said.append(_in_group(audit, group))
    if segment is not None:
        said.append(in_segment(segment))
    if group is None and segment is None and not clear:
        said.append(_anyone(audit))
    return " ".join(said)


def _anyone(audit: Audit) -> str:
    loss = audit.loss
    if loss.estimate < ROUNDING:
        return (
            f"What they cost is small: on these rows nobody loses more than {percent(loss.shown)} of the payoff range."
        )
    return f"Believing them costs up to {percent(loss.estimate)} of the payoff range ({_interval(loss)})."


def _in_group(audit: Audit, group: GroupAudit) -> str:
    name, loss = group_title(audit, group), group_loss(group)
    gap = group.mean_prediction - group.base_rate
    if abs(gap) < VISIBLE or not clear_gap(gap, group.base_rate, group.effective_rows):
        return f"In {name} {loss}."
    return (
        f"In {name} the outcome has a frequency of {percent(group.base_rate)}, where "
        f"{percent(group.mean_prediction)} was predicted: {loss}."
    )


def _not_tested(audit: Audit) -> str:
    what = "moving thresholds would save up to" if audit.loss.measure == MONOTONE else "believing them loses up to"
    return (
        f"On these rows {what} {percent(audit.loss.shown)} of the payoff range. Whether that is chance was not tested: "
        "use draws."
    )


def _interval(loss: DecisionLoss) -> str:
    return f"95 % interval: {percent(loss.lower or 0.0)} to {percent(loss.upper or 0.0)}"


def _caveats(audit: Audit) -> list[str]:
    """What the reader must know about the data."""
    said = []
    if audit.rows is not None and audit.base_rate in (0, 1):
        said.append(
            f"All outcomes are {audit.base_rate:.0f}: nothing can be said about how well the predictions tell cases "
            "apart. If that is a mistake, check the outcome column, or name the positive label."
        )
    if audit.rows is not None and set(audit.diagram.p) <= {0.0, 1.0}:
        said.append(
            "All predictions are 0 or 1: these are decisions, not probabilities. Audit the probabilities behind them, "
            "such as predict_proba gives."
        )
    elif audit.rows is not None and isinf(audit.scores.log_loss.loss):
        said.append(
            "Some predictions of exactly 0 or 1 were wrong: the log loss is infinite, and one such row can decide the "
            "test. Say 0.001 or 0.999 where the model is not certain."
        )
    if audit.problem is not None and len(audit.problem.actions) == 1:
        said.append("Your payoffs have one action, so no prediction can change what you earn. Add the alternative.")
    return [*said, *audit.hints]


def _where(audit: Audit) -> str | None:
    worst = audit.worst_range
    if worst is None:
        return None
    high = "high" if worst.bias > 0 else "low"
    mean = abs(worst.bias) / worst.mass
    low, to = f"{worst.low:.2f}", f"{worst.high:.2f}"
    places = f"from {low} to {to}" if low != to else f"of {low}"
    return f"Predictions {places} ({percent(worst.mass)} of the rows) are too {high}, by {mean:.2f} on average."


_HEADLINES: Final = {
    "trustworthy": _trustworthy,
    "no evidence": _undecided,
    "too few rows to tell": _undecided,
    "off": _off,
    "not tested": _not_tested,
}
