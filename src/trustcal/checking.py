"""Arguments, whatever came: what is a number, what stands for a generator, and what every refusal looks like."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
Thing = TypeVar("Thing")


def as_number(value: object) -> float:
    """The argument as a float; NaN for what is no number: a text, a truth value, a list, a number beyond all floats.

    NaN lies in no range, so that whoever checks the range refuses these too, and says what came.

    >>> as_number(np.float32(0.5)), as_number("0.5"), as_number(True), as_number([0.5]), as_number(None)
    (0.5, nan, nan, nan, nan)
    """
    if type(value) is float:
        return value  # at once, for those who ask every round
    if isinstance(value, str | bytes | bool | np.bool_ | complex) or getattr(value, "shape", ()) != ():
        return np.nan
    try:
        return float(value)  # type: ignore[arg-type]  # whatever can be one
    except (TypeError, ValueError, OverflowError):
        return np.nan


def as_numbers(values: ArrayLike, name: str) -> FloatArray:
    """Numbers of any shape as float64, or a refusal.

    In one piece of memory, forwards: numpy's logarithm has other last bits where it walks backwards.

    >>> as_numbers([0, True, 0.5], "p")
    array([0. , 1. , 0.5])
    """
    array = as_array(values, name)
    try:
        if array.dtype.kind in "biufO":
            return np.asarray(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name} must be a number or an array of numbers, not {values!r}.")


def unit_numbers(values: ArrayLike, name: str) -> FloatArray:
    """Numbers of any shape, all of them in [0, 1], or a refusal."""
    array = as_numbers(values, name)
    refuse(~((array >= 0) & (array <= 1)).ravel(), array.ravel(), f"{name} must lie in [0, 1]")
    return array


def as_array(values: ArrayLike, name: str) -> NDArray[Any]:
    """Whatever numpy makes of it, or a refusal of what has no shape, or entries that are masked."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must have all its entries, but some are masked. Leave them out, or fill them.")
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be an array, but its entries are of different lengths.") from None


def generator(rng: object) -> np.random.Generator:
    """The generator itself, or the one that a seed stands for, or a refusal."""
    try:
        return np.random.default_rng(rng)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(f"rng must be a numpy Generator or a seed, a whole number from 0, not {rng!r}.") from None


def refuse_other(name: str, value: object, kind: type, words: str) -> None:
    """Raise where the argument is not of this kind, saying in words what is expected."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {words}, not {value!r}.")


def several(things: Thing | Iterable[Thing]) -> list[Thing]:
    """One thing or many of them, as a list."""
    return list(things) if isinstance(things, Iterable) else [things]


def refuse(bad: NDArray[np.bool_], values: NDArray[Any], rule: str, remedy: str = "") -> None:
    """Raise, where any entry is bad, the error that every refusal of this package looks like."""
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"{rule}: {int(bad.sum())} of {len(bad)} rows break this, the first is row {first} (from 0) "
            f"with {values[first].item()!r}." + (f" {remedy[0].upper()}{remedy[1:]}." if remedy else "")
        )


def checked_count(name: str, value: object, least: int = 1, most: int = 2**63 - 1) -> int:
    """A number of rounds or the like as an integer, or a refusal."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more, not {value!r}.")
    if value > most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}, not {value!r}.")
    return int(value)


def checked_cells(cells: object) -> int:
    """A number of cells: so many that floats still tell them apart, or a refusal."""
    return checked_count("cells", cells, most=2**53)


def checked_confidence(confidence: object) -> float:
    """A confidence level, strictly between 0 and 1."""
    if not 0 < as_number(confidence) < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, such as 0.95, not {confidence!r}.")
    return as_number(confidence)


def checked_names(name: str, given: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """At least one name, all of them known."""
    names, possible = tuple(given), tuple(known)
    wrong = [one for one in names if one not in possible]
    if wrong or not names:
        raise ValueError(
            f"{name} must be among {', '.join(possible)}, but got {', '.join(map(repr, wrong)) or 'none'}."
        )
    return names
