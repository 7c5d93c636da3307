"""Rows of a multiclass model validated: labels, vectors of probabilities, weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, isfinite
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import as_array, as_numbers, refuse
from trustcal.rows import FloatArray, checked_weights, real_vector

IntArray = NDArray[np.intp]

SUM: Final = 1e-3
"""A vector of probabilities may sum to 1 within this: columns rounded to three decimals pass, scores do not."""
MOST: Final = 1000
"""The largest number of classes."""
_SCORES: Final = "turn scores of a network into probabilities by softmax (in Python: logits=True)"


class ClassRows(NamedTuple):
    """Rows of positive weight: the names of the classes, the vectors, the class of each row, and the weights."""

    classes: tuple[Any, ...]
    p: FloatArray
    outcome: IntArray
    weight: FloatArray | None


def checked_class_rows(
    y_true: ArrayLike,
    proba: ArrayLike,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[object] | None = None,
    logits: bool = False,
) -> ClassRows:
    """Labels as numbers of classes, vectors of probabilities as they are, and weights scaled to at most 1 (or None)."""
    label = as_array(y_true, "y")
    p = checked_vectors(proba, logits)
    if label.shape != p.shape[:1]:
        raise ValueError(f"y must have one label per row of proba, but their shapes are {label.shape} and {p.shape}.")
    if len(p) == 0:
        raise ValueError("there must be at least one row, but there is none. Check what was selected.")
    names = checked_class_names(classes, p.shape[1])
    outcome = _numbered(label, names)
    if sample_weight is None:
        return ClassRows(names, p, outcome, None)
    weight = real_vector(sample_weight, "sample_weight")
    if len(weight) != len(p):
        raise ValueError(f"proba and sample_weight must have as many rows, but have {len(p)} and {len(weight)}.")
    weight = checked_weights(weight)
    kept = weight > 0
    return ClassRows(names, p[kept], outcome[kept], weight[kept])


def checked_class_law(
    p: ArrayLike, joint: ArrayLike, classes: Iterable[object] | None
) -> tuple[tuple[Any, ...], FloatArray, FloatArray]:
    """The names, the vectors and the joint masses of a known distribution, without vectors of mass zero."""
    vectors, masses = checked_vectors(p), as_numbers(joint, "joint")
    if vectors.shape != masses.shape:
        raise ValueError(f"p and joint must have the same shape, but have {vectors.shape} and {masses.shape}.")
    bad = ~(np.isfinite(masses) & (masses >= 0))
    _refuse_entries(masses, bad, "joint must hold probabilities", "leave other values out")
    total = float(masses.sum())
    if not abs(total - 1) <= 1e-9:
        raise ValueError(f"joint must sum to 1 within 1e-9, but sums to {total!r}. Divide by the sum.")
    kept = masses.sum(axis=1) > 0
    if len(np.unique(vectors[kept], axis=0)) < kept.sum():
        raise ValueError("each vector must occur once, but some are equal. ClassPredictor.from_samples merges ties.")
    return checked_class_names(classes, vectors.shape[1]), vectors[kept], masses[kept]


def is_table(proba: ArrayLike | None) -> bool:
    """Whether it has rows and columns, as vectors of probabilities have."""
    try:
        return proba is not None and np.ndim(proba) == 2
    except ValueError:  # rows of different lengths: whoever reads them says so
        return False


def checked_vectors(proba: ArrayLike, logits: bool = False) -> FloatArray:
    """Vectors of probabilities, a row each, that sum to 1 within 1e-3; or logits, turned into them by softmax."""
    table = as_numbers(proba, "proba")
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError(
            f"proba must be a table with a row per sample and a column per class, two or more, but its shape is "
            f"{table.shape}. Pass the output of predict_proba; for one column of probabilities use "
            "Predictor.from_samples."
        )
    if table.shape[1] > MOST:
        raise ValueError(
            f"there may be at most {MOST:,} classes, but proba has {table.shape[1]:,} columns. "
            "Add up the columns of rare classes into one."
        )
    if logits:
        _refuse_entries(table, ~np.isfinite(table), "logits must be finite numbers")
        from scipy.special import softmax  # slow to import, and needed for logits only

        return np.asarray(softmax(table, axis=1))
    if not (table.min(initial=1) >= 0 and table.max(initial=0) <= 1):  # NaN compares false
        _refuse_entries(table, np.isnan(table), "predictions must not be missing or NaN", "drop or repair these rows")
        remedy = f"divide percentages by 100; {_SCORES}"
        _refuse_entries(table, (table < 0) | (table > 1), "predictions must be probabilities in [0, 1]", remedy)
    total = table.sum(axis=1)
    refuse(
        np.abs(total - 1) > SUM,
        total,
        f"each row of proba must sum to 1, within {SUM:g}",
        f"divide each row by its sum; {_SCORES}",
    )
    return table + 0.0  # -0.0 is 0.0


def checked_class_names(
    classes: Iterable[object] | None, count: int, name: str = "classes", of: str = "proba"
) -> tuple[Any, ...]:
    """The names of the columns, each once; 0, 1, 2, … unless given."""
    if classes is None:
        return tuple(range(count))
    names = _several(classes)
    if len(names) != count or len(set(map(label_text, names))) != len(names):
        raise ValueError(f"{name} must name the {count} columns of {of}, each once, but is {_shown(names)}.")
    return names


def checked_class_order(classes: Sequence[Any], outcomes: Sequence[Any]) -> list[int]:
    """The number of the class that each outcome of a decision problem is, by name."""
    texts = [label_text(name) for name in classes]
    wanted = [label_text(name) for name in outcomes]
    if sorted(texts) != sorted(wanted):
        missing = [name for name in wanted if name not in texts] or [name for name in texts if name not in wanted]
        raise ValueError(
            f"the payoffs must have a column for each class, but they are for the outcomes {_shown(outcomes)} and the "
            f"classes are {_shown(classes)}; {missing[0]!r} is only in one of them."
        )
    return [texts.index(name) for name in wanted]


def checked_class(name: object, classes: Sequence[Any]) -> int:
    """The number of a class by its name, or by its name as text."""
    texts = [label_text(other) for other in classes]
    if type(name).__hash__ is not None and name in classes:  # a list or an array is no label
        return classes.index(name)
    if label_text(name) in texts:
        return texts.index(label_text(name))
    raise ValueError(f"a class must be one of {_shown(classes)}, not {name!r}.")


def _numbered(label: NDArray[Any], names: tuple[Any, ...]) -> IntArray:
    """The number of the class of each label; labels of another type than the names are compared as text."""
    labels: list[Any] = label.tolist()
    place = {name: number for number, name in enumerate(names)}
    number = np.array([place.get(one, -1) for one in labels], dtype=np.intp)
    if (number < 0).any():
        place = {label_text(name): number for number, name in enumerate(names)}
        number = np.array([place.get(label_text(one), -1) for one in labels], dtype=np.intp)
    if (number < 0).any():
        first = int(np.argmax(number < 0))
        raise ValueError(
            f"every label must be one of the classes {_shown(names)}: {int((number < 0).sum())} of {len(number)} are "
            f"not; the first is {labels[first]!r} in row {first}. Pass classes=model.classes_, in the order of the "
            "columns."
        )
    return number


def label_text(label: object) -> str:
    """A label as text, without the spaces around it: 1, 1.0, "1" and "1.0" are one label.

    >>> label_text(1.0), label_text("1.0"), label_text(" cat "), label_text(2.5)
    ('1', '1', 'cat', '2.5')
    """
    text = str(label).strip()
    whole, dot, rest = text.partition(".")
    return whole if dot and rest.strip("0") == "" and whole.lstrip("-").isdigit() else text


def name_order(names: Sequence[object]) -> list[int]:
    """The places of names, numbers first by size, then text: the same for columns in any order.

    >>> name_order([10, 9, "b", "a"])
    [1, 0, 3, 2]
    """
    return sorted(range(len(names)), key=lambda place: _sortable(label_text(names[place])))


def _sortable(text: str) -> tuple[float, str]:
    try:
        number = float(text)
    except ValueError:
        return inf, text
    return (number, text) if isfinite(number) else (inf, text)


def _several(classes: Iterable[object]) -> tuple[Any, ...]:
    if isinstance(classes, str) or not isinstance(classes, Iterable):
        return (classes,)
    return tuple(np.asarray(classes).tolist() if isinstance(classes, np.ndarray) else map(_plain, classes))


def _plain(label: object) -> object:
    return label.item() if isinstance(label, np.generic) else label


def _refuse_entries(table: FloatArray, bad: NDArray[np.bool_], rule: str, remedy: str = "") -> None:
    """Raise an error if any entry is bad; rows are counted, and the first bad entry of the first of them is shown."""
    shown = table[np.arange(len(table)), np.argmax(bad, axis=1)]
    refuse(np.asarray(bad.any(axis=1)), shown, rule, remedy)


def _shown(names: Sequence[Any]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return f"[{shown}]" if len(names) <= 10 else f"[{shown}, …] ({len(names):,} in all)"
