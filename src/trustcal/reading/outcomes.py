"""Outcomes: numbers, truth values, and labels with a positive one."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any

from trustcal.reading.numbers import number

TRUE = ("true", "t", "yes", "y")
FALSE = ("false", "f", "no", "n")

Label = str | float | bool


def decoded(value: Any) -> int | None:
    """0 or 1 for a number, a truth value or a word for one; None for anything else.

    >>> decoded(1.0), decoded(False), decoded("Yes"), decoded("0.0"), decoded(2), decoded("maybe"), decoded(None)
    (1, 0, 1, 0, None, None, None)
    """
    if isinstance(value, str):
        word = value.strip(" ").lower()
        if word in TRUE or word in FALSE:
            return int(word in TRUE)
        value = number(value)
    return int(value) if value in (0, 1) else None


def as_label(positive: Label, text: bool, column: str) -> Label:
    """The positive label in the type of its column: text, or a number."""
    if text:
        return str(positive)
    try:
        number = float(positive)
        if isfinite(number):
            return number
        raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"positive must be a number, because column {column!r} holds numbers or truth values, but is {positive!r}. "
            "Say 1 for true, and 0 for false."
        ) from None


def refuse_third_label(others: Iterable[Label], positive: Label, column: str, title: str) -> None:
    """Refuse a second label beside the positive one: a misspelt label must not make every row negative."""
    labels = sorted(set(others), key=str)
    if len(labels) > 1:
        raise ValueError(
            f"{title}: column {column!r} must have two labels, {positive!r} and one other, but beside it has "
            f"{' and '.join(map(repr, labels[:3]))}. Name the positive label as it is written, and recode the others."
        )
