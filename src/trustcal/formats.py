"""How numbers are written in sentences and tables, in the terminal and on the page alike."""

from __future__ import annotations

import re
from math import ceil, floor, log10


def percent(share: float) -> str:
    """A share in per cent: one decimal, or one significant digit where that would be 0.

    >>> percent(0.1234), percent(0.00012), percent(0.0)
    ('12.3 %', '0.01 %', '0.0 %')
    """
    return f"{100 * share:.1f} %" if abs(share) >= 0.0005 or share == 0 else f"{100 * share:.1g} %"


def whole(share: float | None) -> str:
    """A confidence level in whole per cent."""
    return f"{100 * (share or 0):.0f} %"


def small(number: float) -> str:
    """Three decimals, or two significant digits below 0.001."""
    return f"{number:.3f}" if number >= 0.001 or number == 0 else f"{number:.2g}"


def probability(p: float) -> str:
    """A probability, to four significant digits."""
    return f"{p:.4g}"


def p_value(p: float, draws: int) -> str:
    """A p-value; the smallest that this number of simulations can give is shown as an upper bound, rounded up.

    >>> p_value(1 / 41, 40), p_value(1 / 201, 200), p_value(2 / 41, 40), p_value(0.5, 40)
    ('≤ 0.025', '≤ 0.005', '0.049', '0.50')
    """
    if p > 1 / (draws + 1):
        return f"{p:.2g}" if p < 0.1 else f"{p:.2f}"
    digit = 10.0 ** (floor(log10(p)) - 1)
    return f"≤ {ceil(p / digit - 1e-9) * digit:.2g}"


def p_equals(p: float, draws: int) -> str:
    """A p-value as an equation.

    >>> p_equals(1 / 41, 40), p_equals(0.5, 40)
    ('p ≤ 0.025', 'p = 0.50')
    """
    shown = p_value(p, draws)
    return f"p {shown}" if shown.startswith("≤") else f"p = {shown}"


def rounded(noise: object) -> str:
    """A noise as Python writes it, its numbers to four significant digits."""
    return re.sub(r"\d+\.\d+(e-?\d+)?", lambda number: f"{float(number[0]):.4g}", str(noise))


def acts(threshold: float) -> str:
    """When the decision maker with this threshold acts; at 0 and at 1 the threshold itself is a tie."""
    if threshold == 0:
        return "unless the prediction is 0"
    return "only if the prediction is 1" if threshold == 1 else f"above {probability(threshold)}"


def where(bins: int | None) -> str:
    """What conditional measures were taken on, if not on the values as they are."""
    return "" if bins is None else f"on {bins:,} bin{'s' * (bins > 1)} of equal mass"


def listed(words: list[str]) -> str:
    """Words as an enumeration.

    >>> listed(["0.1"]), listed(["0.1", "0.2", "0.3"])
    ('0.1', '0.1, 0.2 or 0.3')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
