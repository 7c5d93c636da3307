"""Validation of arguments: every check that a public function makes before it computes anything.

    as_…        convert: a number, an array, a generator
    checked_…   convert and validate one argument, or raise a ValueError
    refuse      raise the error for entries of an array that break a rule

An error states the rule, what was given and, where there is one, the remedy.  Rows of data have their own checks, where
they are counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, unique
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Thing = TypeVar("Thing")

_PACKAGE = int.from_bytes(b"tcal")
"""The first word of our spawn keys: seeds that a user spawns have others."""


def as_number(value: object) -> float:
    """The argument as a float; NaN for text, booleans, lists and integers too large for a float.

    NaN lies in no interval, so a check of the range rejects these too.

    >>> as_number(np.float32(0.5)), as_number("0.5"), as_number(True), as_number([0.5]), as_number(None)
    (0.5, nan, nan, nan, nan)
    """
    if type(value) is float:
        return value  # the fast path, for functions called once per row
    if isinstance(value, str | bytes | bool | np.bool_ | complex) or getattr(value, "shape", ()) != ():
        return np.nan
    try:
        return float(value)  # type: ignore[arg-type]  # whatever can be converted
    except (TypeError, ValueError, OverflowError):
        return np.nan


def as_numbers(values: ArrayLike, name: str) -> FloatArray:
    """Numbers of any shape as a contiguous float64 array.

    Contiguous because numpy's logarithm rounds differently on arrays with negative strides.

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


def as_array(values: ArrayLike, name: str) -> NDArray[Any]:
    """The argument as a numpy array; ragged lists and masked entries raise an error."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must have all its entries, but some are masked. Drop or fill them.")
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be an array, but its entries have different lengths.") from None


@unique
class Role(IntEnum):
    """Who draws random numbers.  Each role has its own stream, so parts with different roles may have the same seed.

    If two roles drew the same numbers, noise could be a function of the outcomes, and no bound would hold.  Two parts
    with the same role, such as two forecasters whose announcements an adversary sees, need different seeds.
    """

    RESAMPLING = 0
    """Simulated outcomes and resampled rows, in inference."""
    SPLITS = 1
    """Which rows choose and which judge."""
    NOISE = 2
    """Noise on predictions, in the order of rows."""
    ROW_NOISE = 3
    """Noise on predictions, by row id."""
    ONLINE_NOISE = 4
    """Noise on predictions, by round."""
    FORECASTER = 5
    """The coins of a forecaster."""
    OUTCOMES = 6
    """The outcomes of an adversary or a hard sequence."""
    CHANCES = 7
    """The probabilities of an adversary's outcomes."""
    EXAMPLES = 8
    """Random examples for the claims of the paper."""

    def stream(self, seed: object) -> np.random.SeedSequence:
        """The stream of this role: other than that of any other role, and than `default_rng(seed)`.

        >>> Role.NOISE.stream(7).generate_state(1) == Role.OUTCOMES.stream(7).generate_state(1)
        array([False])
        """
        return np.random.SeedSequence(seed, spawn_key=(_PACKAGE, self))  # type: ignore[arg-type]


def generator(rng: object, role: Role = Role.RESAMPLING) -> np.random.Generator:
    """The generator itself, or a new one with the role's stream of the given seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    try:
        return np.random.default_rng(role.stream(rng))
    except (TypeError, ValueError):
        raise ValueError(f"rng must be a numpy Generator or a seed, an integer from 0 up, not {rng!r}.") from None


def several(things: Thing | Iterable[Thing]) -> list[Thing]:
    """One thing or many of them, as a list."""
    return list(things) if isinstance(things, Iterable) else [things]


def refuse(bad: NDArray[np.bool_], values: NDArray[Any], rule: str, remedy: str = "") -> None:
    """Raise an error if any entry is bad, with the rule, the number of bad rows, the first of them and the remedy."""
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"{rule}: {int(bad.sum())} of {len(bad)} rows break this, the first is row {first} (from 0) "
            f"with {values[first].item()!r}." + (f" {remedy[0].upper()}{remedy[1:]}." if remedy else "")
        )


def refuse_other(name: str, value: object, kind: type, words: str) -> None:
    """Raise an error if the argument is not an instance of a class; `words` describe what is expected."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {words}, not {' '.join(repr(value).split()):.80}.")


def checked_number(
    name: str, value: object, low: float, high: float, ends: str = "[]", remedy: str = "", rule: str = ""
) -> float:
    """A number in an interval, as a float; `ends` tells which ends belong to it, as in (0, 1].

    >>> checked_number("delta", 0.1, 0, 1)
    0.1
    >>> checked_number("delta", 1, 0, 1, "[)")
    Traceback (most recent call last):
    ValueError: delta must lie in [0, 1), not 1.
    """
    number = as_number(value)
    above = number >= low if ends[0] == "[" else number > low
    below = number <= high if ends[1] == "]" else number < high
    if not (above and below):
        interval = f"be at least {low:.6g}" if high == np.inf else f"lie in {ends[0]}{low:.6g}, {high:.6g}{ends[1]}"
        raise ValueError(f"{name} must {rule or interval}, not {value!r}." + (f" {remedy}" if remedy else ""))
    return number


def checked_fraction(name: str, value: object) -> float:
    """A number in [0, 1] as a float."""
    return checked_number(name, value, 0, 1)


def checked_eps(eps: object, most: float = 1.0, statement: str = "") -> float:
    """A distance to calibration in (0, most] as a float; `statement` is what needs it to be at most that."""
    remedy = "A predictor at distance 0 is calibrated and needs no noise; trustcal.dtc measures the distance."
    number = checked_number("eps", eps, 0, 1, "(]", remedy, "be a distance to calibration in (0, 1]")
    if number > most:
        raise ValueError(f"{statement} needs eps ≤ {most:.6g}, but eps is {eps!r}.")
    return number


def checked_confidence(confidence: object) -> float:
    """A confidence level, strictly between 0 and 1."""
    return checked_number("confidence", confidence, 0, 1, "()", rule="lie strictly between 0 and 1, such as 0.95")


def unit_numbers(values: ArrayLike, name: str) -> FloatArray:
    """Numbers of any shape, all in [0, 1]."""
    array = as_numbers(values, name)
    refuse(~((array >= 0) & (array <= 1)).ravel(), array.ravel(), f"{name} must lie in [0, 1]")
    return array


def checked_predictions(q: ArrayLike) -> FloatArray:
    """Predictions of any shape as float64, all in [0, 1]."""
    prediction = as_numbers(q, "predictions")
    if not (prediction.min(initial=1) >= 0 and prediction.max(initial=0) <= 1):  # NaN compares false
        refuse(
            ~((prediction >= 0) & (prediction <= 1)).ravel(),
            prediction.ravel(),
            "predictions must be probabilities in [0, 1]",
            "divide percentages by 100; turn scores or logits into probabilities first",
        )
    return prediction


def checked_prediction(q: object) -> float:
    """A single prediction as a float in [0, 1]."""
    return checked_number("a prediction", q, 0, 1, rule="be a probability in [0, 1]")


def checked_places(x: ArrayLike) -> FloatArray:
    """Points at which to evaluate a distribution, as float64; infinities are allowed, NaN is not."""
    place = as_numbers(x, "places")
    refuse(np.isnan(place).ravel(), place.ravel(), "places must not be NaN")
    return place


def checked_outcome(y: float) -> int:
    """An outcome as an integer, 0 or 1."""
    if y == 0:  # NaN equals neither
        return 0
    if y == 1:
        return 1
    raise ValueError(f"an outcome must be 0 or 1, not {y!r}.")


def checked_outcomes(outcomes: ArrayLike) -> IntArray:
    """A sequence of outcomes as integers."""
    y = as_array(outcomes, "outcomes")
    if y.ndim != 1 or y.dtype.kind not in "biuf":
        raise ValueError(f"outcomes must be a sequence of 0 and 1, not an array of shape {y.shape} and type {y.dtype}.")
    refuse((y != 0) & (y != 1), y, "outcomes must be 0 or 1")
    return y.astype(np.int64)


def checked_count(name: str, value: object, least: int = 1, most: int = 2**63 - 1) -> int:
    """An integer from `least` to `most`: a number of rounds, draws or rows."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more, not {value!r}.")
    if value > most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}, not {value!r}.")
    return int(value)


def checked_cells(cells: object) -> int:
    """A number of bins, up to 2^53: beyond that floats cannot tell them apart."""
    return checked_count("cells", cells, most=2**53)


def checked_seed(seed: object) -> int:
    """A seed as an integer from 0 to 2**64 − 1."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**64:
        raise ValueError(f"a seed must be an integer from 0 to 2**64 − 1, not {seed!r}.")
    return int(seed)


def checked_choice(name: str, value: Thing, options: Iterable[Thing]) -> Thing:
    """One of a few options; the error lists them.

    >>> checked_choice("end", "right", ("left", "middle"))
    Traceback (most recent call last):
    ValueError: end must be one of 'left', 'middle', not 'right'.
    """
    known = tuple(options)
    if not any(value is option or (type(value) is type(option) and value == option) for option in known):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}.")
    return value


def checked_names(name: str, given: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """One or more names, all of them known."""
    names, possible = tuple(given), tuple(known)
    wrong = [one for one in names if one not in possible]
    if wrong or not names:
        raise ValueError(
            f"{name} must be among {', '.join(possible)}, but got {', '.join(map(repr, wrong)) or 'none'}."
        )
    return names


def refuse_unpaired(least: int = 0, **vectors: FloatArray) -> None:
    """Raise an error unless the vectors have the same length, at least `least`."""
    lengths = [len(vector) for vector in vectors.values()]
    if min(lengths) < max(least, *lengths):
        *names, last = vectors
        *counts, end = map(str, lengths)
        raise ValueError(f"{', '.join(names)} and {last} must pair up, but have lengths {', '.join(counts)} and {end}.")


def checked_resolution(resolution: float | None) -> float | None:
    """None, 0 or a power of two from 2^-52 to 1/2; rounding to such a grid is exact in every engine."""
    if resolution is None or as_number(resolution) in [0.0, *(2.0**-k for k in range(1, 53))]:
        return None if resolution is None else float(resolution)
    raise ValueError(
        f"resolution must be a power of two from 2^-52 to 1/2, such as 2**-20, or 0 to keep every value, "
        f"not {resolution!r}."
    )


def checked_clusters(cluster: ArrayLike, rows: int) -> NDArray[Any]:
    """The label of the cluster of each row."""
    label = np.asarray(cluster)
    if label.dtype.kind not in "biuf":
        missing = np.array([_missing(value) for value in label.ravel().tolist()], dtype=bool)
        label = label.astype(str)
    else:
        missing = np.isnan(label)
    if label.ndim != 1:
        raise ValueError(f"cluster must be one column of labels, but its shape is {label.shape}.")
    refuse(missing, label, "every row must have a cluster", "give a row without one a label of its own")
    if len(label) != rows:
        raise ValueError(
            f"cluster must have one label per row, but there are {len(label)} for {rows} rows. "
            "Pass columns of the same table."
        )
    return label


def _missing(value: object) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True
