"""What a comparison advises, in words: the numbers are those of the comparison."""

from __future__ import annotations

from trustcal.remedies.comparison import Comparison


def recommendation(comparison: Comparison) -> str:
    """What to do, in one line."""
    if comparison.recommended == comparison.methods[0].name:
        return "Do nothing."
    return f"Recalibrate with outcomes, by {comparison.recommended}."


def reason(comparison: Comparison) -> str:
    """Why, with the numbers behind it; and when noise is the better choice."""
    none = comparison.methods[0]
    if none.cdl <= comparison.floor:
        return (
            f"The CDL, {_percent(none.cdl)} of the payoff range, may be chance: one in 20 calibrated predictors shows "
            f"more in as many rows ({_percent(comparison.floor)})."
        )
    who = "anyone could gain" if none.value is None else "your payoffs could gain"
    best = next(method for method in comparison.methods if method.name == comparison.recommended)
    if best is none:
        found = f"On held-out rows, {who} by other predictions no more than chance explains."
    else:
        found = (
            f"On held-out rows, the most {who} by other predictions falls from {_percent(none.regret)} to "
            f"{_percent(best.regret)} of the payoff range, CDL from {_percent(none.cdl)} to {_percent(best.cdl)}, the "
            f"Brier score from {none.brier:.4f} to {best.brier:.4f}; nothing simpler does as well."
        )
    return f"{found} {_when_noise(comparison)}"


def _when_noise(comparison: Comparison) -> str:
    """When to use noise, what it guarantees here, and at what cost."""
    guarantee, cost, name = min(
        (method.guarantee.value, method.brier - comparison.methods[0].brier, method.name)
        for method in comparison.methods
        if method.guarantee is not None
    )
    return (
        "Use noise when no outcomes will be available, when they may be chosen by an adversary, or when the worst case "
        f"must be bounded: {name} noise keeps CDL ≤ {_percent(guarantee)}, and costs {cost:.4f} of Brier score."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
