"""How numbers and the user's words are written in sentences and tables, in the terminal and on the page alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil, floor, inf, log10
from unicodedata import category

_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of characters that a terminal obeys or that reorder text: controls, formats, surrogates, separators."""
_JOINERS = "\u200c\u200d"
"""Formats that Persian, Indian languages and emoji are written with."""


def printable(text: str, kept: str = "") -> str:
    """The user's words without characters that a terminal would obey: escapes, other controls, changes of direction.

    >>> printable("caf\u00e9 \x1b]0;owned\x07 \u202elive")
    'caf\u00e9 \ufffd]0;owned\ufffd \ufffdlive'
    """
    if text.isprintable():
        return text
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if category(letter) in _UNSAFE and letter not in _JOINERS + kept else letter
        for letter in text
    )


def on_one_line(text: str) -> str:
    """A sentence that may quote the user's words, without line breaks: nobody can pass for another line.

    >>> on_one_line("In group a\\n0 errors. it is 7 %.")
    'In group a 0 errors. it is 7 %.'
    """
    return " ".join(text.splitlines())


def one_line(text: str, most: int = 500) -> str:
    """A message on one line of at most so many characters: its beginning, which states the rule, and its end.

    >>> one_line("the rule\\n" + "x" * 99 + " the remedy", 25)
    'the rule xxxx … e remedy'
    """
    line = printable(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most * 2 // 3 - 3].rstrip()} … {line[-(most // 3) :].lstrip()}"


def percent(share: float) -> str:
    """A share in per cent: one decimal, or one significant digit where that would be 0; nothing below a millionth.

    >>> percent(0.1234), percent(0.00012), percent(0.0), percent(-0.05)
    ('12.3 %', '0.01 %', '0.0 %', '−5.0 %')
    """
    if abs(share) < 5e-7:
        return "0.0 %"
    return _minus(f"{100 * share:.1f} %" if abs(share) >= 0.0005 else f"{100 * share:.1g} %")


def whole(share: float | None) -> str:
    """A confidence level in whole per cent."""
    return f"{100 * (share or 0):.0f} %"


def small(number: float) -> str:
    """Three decimals, or two significant digits below 0.001."""
    return f"{number:.3f}" if number >= 0.001 or number == 0 else f"{number:.2g}"


def probability(p: float) -> str:
    """A probability, to four significant digits, or as many as tell it from 1.

    >>> probability(0.123456), probability(1.0), probability(0.99999987)
    ('0.1235', '1', '0.9999999')
    """
    digits = 4
    while p < 1 and round(p, digits) == 1 and digits < 16:
        digits += 1
    return f"{p:.{digits}g}"


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


def acts(threshold: float, on: bool = False) -> str:
    """When somebody with this threshold acts; with `on`, also on a prediction equal to it.

    >>> acts(0.68), acts(0.9, on=True), acts(0.0, on=True), acts(1.0), acts(float("inf"))
    ('above 0.68', 'at or above 0.9', 'always', 'never', 'never')
    """
    if threshold >= 1 and not on:
        return "never"
    if threshold <= 0:
        return "always" if on else "unless the prediction is 0"
    if threshold == 1:
        return "only if the prediction is 1"
    return f"at or above {probability(threshold)}" if on else f"above {probability(threshold)}"


def amount(number: float) -> str:
    """An amount in the user's units: three significant digits, or whole where it is larger.

    >>> amount(12345.6), amount(8.912), amount(0.0), amount(-0.259)
    ('12,346', '8.91', '0', '−0.259')
    """
    return _minus(f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}")


def four_decimals(number: float) -> str:
    """A score, or a difference of scores; what rounds to 0 has no sign.

    >>> four_decimals(0.01234), four_decimals(-0.5), four_decimals(-1e-9), four_decimals(float("inf"))
    ('0.0123', '−0.5000', '0.0000', '∞')
    """
    return "∞" if number == inf else _minus(f"{round(number, 4) + 0.0:.4f}")


def where(bins: int | None) -> str:
    """What conditional measures were taken on, if not on the values as they are."""
    return "" if bins is None else f"on {bins:,} bin{'s' * (bins > 1)} of equal mass"


def listed(words: Sequence[str]) -> str:
    """Words as an enumeration.

    >>> listed(["0.1"]), listed(["0.1", "0.2", "0.3"])
    ('0.1', '0.1, 0.2 or 0.3')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _minus(number: str) -> str:
    return f"−{number[1:]}" if number.startswith("-") else number
