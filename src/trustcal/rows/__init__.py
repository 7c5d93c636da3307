"""Rows of data validated: columns of any kind become plain arrays.

Every error is a `ValueError` that states the rule, how many rows break it, the first of them (rows count from 0) and
the remedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import as_array, checked_clusters, checked_predictions, refuse

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def fault_masks(
    p: FloatArray,
    y: NDArray[Any],
    *,
    missing: BoolArray | None = None,
    text: BoolArray | None = None,
    weight: BoolArray | None = None,
) -> dict[str, BoolArray]:
    """Classify rows, or the distinct keys that an engine grouped them by: a mask for each kind of fault.

    Predictions and outcomes are numbers, NaN where there is none.  The masks say where there is no prediction, where it
    is not a number, and where the weight is not finite or is negative.  A row may have several faults; the first in the
    order of the kinds counts.

    >>> masks = fault_masks(np.array([0.5, np.nan, 1.5]), np.array([2.0, 1.0, 0.0]))
    >>> [kind for kind, mask in masks.items() if mask.any()]
    ['nan', 'above', 'outcome']
    """
    nowhere = np.zeros(len(p), dtype=bool)
    return {
        "missing": nowhere if missing is None else missing,
        "nan": np.isnan(p) & ~(nowhere if text is None else text),
        "text": nowhere if text is None else text,
        "below": p < 0,
        "above": p > 1,
        "outcome": ~((y == 0) | (y == 1)),
        "weight": nowhere if weight is None else weight,
    }


def looks_swapped(p: NDArray[Any], y: NDArray[Any]) -> bool:
    """Whether predictions are all 0 or 1, and outcomes numbers in [0, 1], some strictly between; NaN is left out.

    >>> looks_swapped(np.array([0, 1, np.nan]), np.array([0.25, 1, 0.5]))
    True
    """
    p, y = p[~np.isnan(p)], y[~np.isnan(y)]
    certain = len(p) > 0 and bool(((p == 0) | (p == 1)).all())
    return certain and bool(((y >= 0) & (y <= 1)).all() and ((y > 0) & (y < 1)).any())


def checked_law(
    p: ArrayLike, mass: ArrayLike, positive: ArrayLike, squares: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray | None]:
    """The arrays of a distribution, without the values of mass zero."""
    p, mass, positive = _frozen(p, "p"), _frozen(mass, "mass"), _frozen(positive, "positive")
    squares = None if squares is None else _frozen(squares, "squares")
    if not len(p) == len(mass) == len(positive):
        raise ValueError(
            "p, mass and positive must have one entry per prediction value, "
            f"but their lengths are {len(p)}, {len(mass)} and {len(positive)}."
        )
    total, least = _sum_and_least(p, mass, positive)
    if not np.isfinite(total):  # find the culprit only if there is one
        refuse(~((p >= 0) & (p <= 1)), p, "prediction values must lie in [0, 1]")
        refuse(
            np.append(False, np.diff(p) <= 0),
            p,
            "prediction values must be strictly increasing",
            "Predictor.from_samples sorts rows and merges ties",
        )
        refuse(~(np.isfinite(mass) & (mass >= 0)), mass, "masses must be probabilities", "leave other values out")
        refuse(
            ~((positive >= 0) & (positive <= mass)),
            positive,
            "positive must lie between 0 and mass, value by value",
            "positive[i] is Pr[p = p[i], y = 1], a part of mass[i]",
        )
    if len(p) == 0:
        raise ValueError("a distribution must have at least one prediction value, but it has none.")
    if not abs(total - 1) <= 1e-9:
        raise ValueError(
            f"masses must sum to 1 within 1e-9, but they sum to {total!r}. "
            "Divide by the sum, or let Predictor.from_samples count rows with weights."
        )
    if squares is not None:
        if len(squares) != len(p):
            raise ValueError(
                f"squares must have one entry per prediction value, but there are {len(squares)} for {len(p)} values."
            )
        refuse(
            ~(
                (squares >= 0) & (squares <= mass**2 * (1 + 1e-9) + np.finfo(np.float64).tiny)
            ),  # below it digits are lost
            squares,
            "squares must lie between 0 and mass², value by value",
            "squares[i] is the sum of the squared shares of the rows that predict p[i]",
        )
    if least == 0:
        kept = mass > 0
        return p[kept], mass[kept], positive[kept], None if squares is None else squares[kept]
    return p, mass, positive, squares


def real_vector(values: ArrayLike, name: str) -> FloatArray:
    """Any one-dimensional array-like of numbers as float64; missing entries become NaN."""
    return np.asarray(_column(values, name), dtype=np.float64)


def checked_weights(weight: NDArray[Any]) -> FloatArray:
    """Weights, none negative and some positive, scaled to at most 1."""
    w = np.asarray(weight, dtype=np.float64)
    refuse(~np.isfinite(w), w, "weights must be finite numbers", "drop or repair these rows")
    refuse(w < 0, w, "weights must not be negative", "a weight of 0 leaves a row out")
    if not w.any():
        raise ValueError(f"some weight must be positive, but all {len(w)} are 0. Omit sample_weight, or correct it.")
    return np.ldexp(w, -int(np.frexp(w.max())[1]))  # by a power of two: exact, and sums cannot overflow


def run_starts(values: NDArray[Any]) -> NDArray[np.intp]:
    """Where each run of equal values begins."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1]))


def running_sum(values: FloatArray, out: FloatArray) -> None:
    """The sums of the first 1, 2, 3, … values, block by block.

    A plain running sum of a million equal values drifts by 1e-12, since every step rounds the same way; in blocks of w
    the drift is that of w values, and the blocks stay in cache.
    """
    width, carry = 4096, 0.0
    for first in range(0, len(values), width):
        block = out[first : first + width]
        np.cumsum(values[first : first + width], out=block)
        block += carry
        carry = block[-1]


def checked_rows(
    y_true: ArrayLike, y_prob: ArrayLike, sample_weight: ArrayLike | None, names: Sequence[str]
) -> tuple[BoolArray, FloatArray, FloatArray | None]:
    """Outcomes as booleans, predictions in [0, 1], and positive weights scaled to at most 1 (or None)."""
    outcome, prediction = _column(y_true, names[0], outcomes=True), _column(y_prob, names[1])
    weight = None if sample_weight is None else _column(sample_weight, names[2])
    for name, column in zip(names[1:], (prediction, weight), strict=False):
        if column is not None and len(column) != len(outcome):
            raise ValueError(
                f"{names[0]} and {name} must have the same length, but have {len(outcome)} and {len(column)} rows. "
                "Pass columns of the same table."
            )
    if len(outcome) == 0:
        raise ValueError("there must be at least one row, but there is none. Check what was selected.")
    y, p = _outcomes(outcome, prediction, names), _predictions(prediction)
    if weight is None:
        return y, p, None
    w = checked_weights(weight)
    kept = w > 0
    return (y, p, w) if kept.all() else (y[kept], p[kept], w[kept])


def labels_of_rows(cluster: ArrayLike, rows: int, sample_weight: ArrayLike | None) -> NDArray[Any]:
    """The cluster of each row of positive weight; without weights there are `rows` rows.

    >>> labels_of_rows(["a", "b", "b"], 3, [1, 0, 2]).tolist()
    ['a', 'b']
    """
    if sample_weight is None:
        return checked_clusters(cluster, rows)
    used = checked_weights(real_vector(sample_weight, "sample_weight")) > 0
    return checked_clusters(cluster, len(used))[used]


def _frozen(values: ArrayLike, name: str) -> FloatArray:
    """A copy of the numbers, with -0.0 as 0.0; an array that nobody can change is taken as it is."""
    array = real_vector(values, name)
    if array.flags.owndata and not array.flags.writeable and not np.signbit(array[:1]).any():
        return array
    return array + 0.0


def _sum_and_least(p: FloatArray, mass: FloatArray, positive: FloatArray) -> tuple[float, float]:
    """The sum of masses and the least of them, in one pass; NaN where the arrays are not a distribution."""
    if len(p) == 0 or not (p[0] >= 0 and p[-1] <= 1):
        return np.nan, np.nan
    size = 1 << 15
    total, least = 0.0, np.inf
    for first in range(0, len(p), size):
        here, m, one = p[first : first + size + 1], mass[first : first + size], positive[first : first + size]
        if not ((here[1:] > here[:-1]).all() and one.min() >= 0 and (one <= m).all()):
            return np.nan, np.nan
        total += float(m.sum())
        least = min(least, float(m.min()))
    return total, least


def _column(values: ArrayLike, name: str, outcomes: bool = False) -> NDArray[Any]:
    """One dimension, and a dtype of booleans, integers or floats."""
    if np.ma.isMaskedArray(values):
        values = np.ma.filled(np.ma.asarray(values).astype(np.float64), np.nan)
    array = as_array(values, name)
    if array.ndim == 0:
        raise ValueError(
            f"{name} must be a column, but is a single {type(values).__name__}. Pass a list, an array or a series."
        )
    if array.ndim == 2 and array.shape[1] == 2:
        raise ValueError(
            f"{name} must be one column, but has two: shape {array.shape}. "
            f"If it is the output of predict_proba, pass the column of class 1: {name}[:, 1]."
        )
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one column, but its shape is {array.shape}. Pass a single column, such as {name}[:, 0]"
            " of a table; for a multiclass model use ClassPredictor.from_samples."
        )
    if array.dtype.kind in "biuf" or len(array) == 0:
        return array
    texts = np.array([isinstance(value, str | bytes) for value in array.tolist()])
    if array.dtype.kind == "O" and not texts.any():
        try:
            return array.astype(np.float64)
        except OverflowError:
            raise ValueError(f"{name} must hold numbers of ordinary size, but one is too large for a float.") from None
        except (TypeError, ValueError):
            if hasattr(values, "to_numpy"):  # a pandas column whose missing entries are pandas.NA
                return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    example = array.tolist()[int(np.argmax(texts))]
    remedy = (
        f"Compare with the positive label, as in {name} == 'yes'." if outcomes else "Convert the column to numbers."
    )
    raise ValueError(
        f"{name} must hold numbers or booleans, but holds {type(example).__name__} values such as {example!r}. {remedy}"
    )


def _outcomes(outcome: NDArray[Any], prediction: NDArray[Any], names: Sequence[str]) -> BoolArray:
    if outcome.dtype.kind == "b":
        return outcome
    one: BoolArray = outcome == 1
    if not (one | (outcome == 0)).all():
        if looks_swapped(prediction, outcome):
            raise ValueError(f"outcomes must be 0 or 1, but {swapped_words(*names[:2])}")
        refuse(
            fault_masks(prediction, outcome)["outcome"],
            outcome,
            "outcomes must be 0 or 1 (or booleans)",
            f"recode other labels by comparing with the positive one, such as {names[0]} == 1, and drop rows whose"
            " outcome is missing",
        )
    return one


def swapped_words(outcome: str, prediction: str) -> str:
    """What to say of columns that look swapped."""
    return (
        f"{outcome} holds fractions while {prediction} holds only 0 and 1: the two look swapped. "
        f"Exchange {outcome} and {prediction}."
    )


def _predictions(prediction: NDArray[Any]) -> FloatArray:
    p = np.asarray(prediction, dtype=np.float64)
    if not (p.min() >= 0 and p.max() <= 1):  # NaN compares false
        refuse(np.isnan(p), p, "predictions must not be missing or NaN", "drop or repair these rows")
        checked_predictions(p)
    return p
