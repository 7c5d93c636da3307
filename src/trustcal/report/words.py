"""The words and number formats that all faces of an audit share."""

from __future__ import annotations

import re
from math import ceil, floor, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trustcal.auditing import Audit
    from trustcal.auditing.numbers import Inference

SIGNIFICANT = 0.05
"""A p-value above this is no evidence."""


def value(audit: Audit, measure: str) -> float:
    """A measure of the audit by its short name; of the distance to calibration, the certified upper end."""
    found: float = getattr(audit, "dtc_upper" if measure == "dtc" else measure)
    return found


def verdict(audit: Audit) -> str:
    """Is it chance, and who loses most by believing the predictions?  In one to three sentences."""
    if harmless(audit):
        return "No decision maker loses anything by believing these predictions."
    if chance(audit):
        return (
            "There is no evidence against these predictions: this much miscalibration is what a perfect model would "
            f"show by chance with {audit.rows:,} rows. It looks as if somebody could lose {percent(audit.cdl)} of the "
            f"payoff range, but by chance alone it would look like {percent(_floor(audit))}."
        )
    return f"{_who(audit)}{_not_chance(audit)}"


def fine(audit: Audit) -> bool:
    """Whether there is nothing to worry about: no loss, or none that chance would not explain."""
    return harmless(audit) or chance(audit)


def harmless(audit: Audit) -> bool:
    """Whether nobody loses anything, but for rounding."""
    return not audit.worst.thresholds or audit.cdl < 1e-12


def chance(audit: Audit) -> bool:
    """Whether chance alone would explain what is seen: neither CDL nor smooth calibration error says otherwise.

    If no draw showed as much, chance explains nothing, even where draws are too few for a small p-value.
    """
    known = audit.inference
    return known is not None and _least_p(known) > max(SIGNIFICANT / 2, 1 / (known.draws + 1))


def _least_p(known: Inference) -> float:
    return min(known.of(name).p_value for name in ("cdl", "smcal"))


def _who(audit: Audit) -> str:
    one, worst = audit.worst_threshold, [probability(mu) for mu in audit.worst.thresholds]
    sentence = (
        f"By believing these predictions, a decision maker who acts {when(one.threshold)} loses "
        f"{percent(one.loss)} of the payoff range."
    )
    if len(worst) == 1:
        return f"{sentence} Nobody loses more."
    return (
        f"{sentence} The most anyone loses is {percent(audit.cdl)}: "
        f"with three actions, changing at {worst[0]} and at {worst[1]}."
    )


def _not_chance(audit: Audit) -> str:
    if audit.inference is None:
        return ""
    if _least_p(audit.inference) > SIGNIFICANT / 2:
        return (
            f" By chance alone it would be about {percent(_floor(audit))}; but {audit.inference.draws} random data "
            "sets are too few to tell. Draw at least 39."
        )
    if audit.inference.of("cdl").p_value <= SIGNIFICANT:
        return f" By chance alone it would be about {percent(_floor(audit))}."
    return (
        f" Part of this is chance, which alone would show {percent(_floor(audit))}; "
        "but that the predictions are off is beyond chance."
    )


def _floor(audit: Audit) -> float:
    return 0.0 if audit.inference is None else audit.inference.of("cdl").floor


def when(threshold: float) -> str:
    """At the ends a threshold is a tie: what is indifferent at a prediction of exactly 0, or of exactly 1."""
    if threshold == 0:
        return "unless the prediction is 0"
    return "only if the prediction is 1" if threshold == 1 else f"above {probability(threshold)}"


def where(cells: int | None) -> str:
    """What ECE and CDL were taken on, if not on the values as they are."""
    return "" if cells is None else f"on {cells:,} cell{'s' * (cells > 1)} of equal mass"


def percent(share: float) -> str:
    """A share in per cent: one decimal, or for tiny ones a digit that is not zero."""
    return f"{100 * share:.1f} %" if abs(share) >= 0.0005 or share == 0 else f"{100 * share:.1g} %"


def whole(share: float | None) -> str:
    """A share in whole per cent, as confidence is named."""
    return f"{100 * (share or 0):.0f} %"


def small(number: float) -> str:
    """A number to three decimals, or a tiny one to two digits."""
    return f"{number:.3f}" if number >= 0.001 or number == 0 else f"{number:.2g}"


def probability(p: float) -> str:
    """A probability, to four digits."""
    return f"{p:.4g}"


def p_value(p: float, draws: int) -> str:
    """A p-value, no finer than the draws can tell; the least that they can, rounded up to two digits.

    >>> p_value(1 / 41, 40), p_value(1 / 201, 200), p_value(2 / 41, 40), p_value(0.5, 40)
    ('≤ 0.025', '≤ 0.005', '0.049', '0.50')
    """
    if p > 1 / (draws + 1):
        return f"{p:.2g}" if p < 0.1 else f"{p:.2f}"
    digit = 10.0 ** (floor(log10(p)) - 1)
    return f"≤ {ceil(p / digit - 1e-9) * digit:.2g}"


def rounded(noise: str) -> str:
    """A noise as Python would write it, its numbers to four digits."""
    return re.sub(r"\d+\.\d+(e-?\d+)?", lambda number: f"{float(number[0]):.4g}", noise)
