"""ClassPredictor: the joint distribution of a vector of probabilities and an outcome among K classes.

It is to K classes what `Predictor` is to two, and keeps the same rule: finitely many prediction values, here vectors,
each with its mass and with how often each class occurred.  Rows become one here, once.  The notation:

    K          the number of classes
    p          a vector of probabilities                               p[i, k], a row for each distinct vector
    mass       how often it is predicted                               mass[i] = Pr[p = p[i]]
    joint      how often it is predicted and class k occurs            joint[i, k] = Pr[p = p[i], y = k]

Whatever is asked of two outcomes is asked of a view: an ordinary `Predictor`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import checked_count
from trustcal.predictor import Predictor
from trustcal.rows.classes import ClassRows, checked_class, checked_class_law, checked_class_rows, name_order
from trustcal.tally import Tally
from trustcal.tally.counts import counted, exact_sums

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class ClassPredictor:
    """A predictor of K classes: the joint distribution of a vector of probabilities and the class.

    The constructor takes a known distribution; `from_samples` counts rows.  Arrays are read-only.

    Parameters
    ----------
    p : array-like of shape (values, K)
        Vectors of probabilities, each once; they sum to 1 within 1e-3 and are kept as they are.
    joint : array-like of shape (values, K)
        Pr[p = p[i], y = k], with sum 1 within 1e-9; vectors of mass zero are left out.
    classes : iterable, optional
        The names of the classes; 0, 1, 2, … unless given.

    >>> q = ClassPredictor([[0.5, 0.25, 0.25]], [[0.25, 0.25, 0.5]], classes=["cat", "dog", "fox"])
    >>> q.one("fox").p_hat
    array([0.5])

    References
    ----------
    Vaicenavicius et al. (2019), Evaluating model calibration in classification.

    O(n·K log n) for n values.
    """

    classes: tuple[Any, ...]
    """The names of the classes, in the order of the columns."""
    p: FloatArray
    """The distinct vectors, a row each."""
    value: IntArray
    """For each pair of a vector and a class that occurs: the number of the vector."""
    outcome: IntArray
    """The number of the class of each pair."""
    weight: FloatArray
    """How often the pair occurs: a number of rows, a sum of their weights, or, without rows, a probability."""
    squares: FloatArray | None
    """The sum of the squared weights of each pair's rows; None: rows of equal weight, or no rows."""
    counts: IntArray | None
    """The number of rows of each pair; None for a known distribution."""

    def __init__(self, p: ArrayLike, joint: ArrayLike, classes: Iterable[object] | None = None) -> None:
        names, vectors, masses = checked_class_law(p, joint, classes)
        value, outcome = np.nonzero(masses)
        _fill(self, names, vectors, value, outcome, masses[value, outcome], None, None)

    @classmethod
    def from_samples(
        cls,
        y_true: ArrayLike,
        proba: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        classes: Iterable[object] | None = None,
        logits: bool = False,
    ) -> ClassPredictor:
        """The empirical distribution of rows, in scikit-learn's order of arguments.

        Equal vectors are merged, -0.0 is 0.0, and rows of weight zero are dropped: the same bits in any order of the
        rows.  Vectors are kept as they are, also if they sum to 1 only within 1e-3.

        Parameters
        ----------
        y_true : array-like
            The label of each row.
        proba : array-like of shape (rows, K)
            Probabilities, a column per class, as `predict_proba` returns them.
        sample_weight : array-like, optional
            Weights, finite and not negative; omitted, every row counts 1.
        classes : iterable, optional
            The labels of the columns, such as a scikit-learn model's `classes_`; 0, 1, 2, … unless given.  Labels of
            another type are compared as text: 1, 1.0 and "1" are the same label.
        logits : bool
            Whether `proba` holds logits, which softmax turns into probabilities.

        Returns
        -------
        ClassPredictor

        Examples
        --------
        >>> q = ClassPredictor.from_samples(["a", "b", "b"], [[0.75, 0.25]] * 2 + [[0.5, 0.5]], classes=["a", "b"])
        >>> q
        ClassPredictor(2 classes, 2 values, 3 rows)
        >>> q.joint.round(3)
        array([[0.   , 0.333],
               [0.333, 0.333]])

        One sort of n vectors, O(n·K log n).
        """
        return cls.from_rows(checked_class_rows(y_true, proba, sample_weight, classes, logits))

    @classmethod
    def from_rows(cls, rows: ClassRows) -> ClassPredictor:
        """The empirical distribution of rows that were validated before.  O(n·K log n)."""
        names, p, outcome, weight = rows
        first, value = _distinct(p)
        order = np.lexsort((outcome, value))
        pair = value[order] * len(names) + outcome[order]
        starts = np.flatnonzero(np.append(True, pair[1:] != pair[:-1]))
        counts = np.diff(starts, append=len(pair))
        sums, squares = counts.astype(np.float64), None
        if weight is not None:
            sums, squares = (exact_sums(x[order], starts) for x in (weight, weight * weight))
        made = object.__new__(cls)
        _fill(made, names, p[first], *np.divmod(pair[starts], len(names)), sums, squares, counts)
        return made

    def __len__(self) -> int:
        return len(self.p)

    def __repr__(self) -> str:
        rows = "" if self.rows is None else f", {self.rows} rows"
        return f"ClassPredictor({len(self.classes)} classes, {len(self)} values{rows})"

    @property
    def rows(self) -> int | None:
        """The number of rows of positive weight; None for a known distribution."""
        return None if self.counts is None else int(self.counts.sum())

    @cached_property
    def total(self) -> float:
        """The sum of the weights."""
        return float(exact_sums(self.weight, np.zeros(1, dtype=np.intp))[0])

    @cached_property
    def share(self) -> FloatArray:
        """The probability of each pair of a vector and a class."""
        return _read_only(self.weight / self.total)

    @cached_property
    def mass(self) -> FloatArray:
        """Pr[p = p[i]]."""
        return _read_only(np.bincount(self.value, self.weight, len(self)) / self.total)

    @cached_property
    def joint(self) -> FloatArray:
        """Pr[p = p[i], y = k], a row for each vector: O(n·K) numbers."""
        table = np.zeros(self.p.shape)
        table[self.value, self.outcome] = self.share
        return _read_only(table)

    @cached_property
    def frequencies(self) -> FloatArray:
        """Pr[y = k], the frequency of each class."""
        return _read_only(np.bincount(self.outcome, self.weight, len(self.classes)) / self.total)

    @cached_property
    def effective_rows(self) -> float | None:
        """The effective sample size, (Σw)²/Σw²; None for a known distribution."""
        if self.squares is None:
            return None if self.rows is None else float(self.rows)
        return self.total**2 / float(exact_sums(self.squares, np.zeros(1, dtype=np.intp))[0])

    def number(self, name: object) -> int:
        """The number of a class by its name.  O(K)."""
        return checked_class(name, self.classes)

    def one(self, name: object) -> Predictor:
        """One class, by its name, against the rest: its probability, and whether it occurred.  O(n log n)."""
        number = self.number(name)
        return self.scored(self.p[:, number], self.outcome == number)

    def top(self) -> Predictor:
        """The top label: the largest probability (if several tie, the first by name), and whether its class occurred.

        Returns
        -------
        Predictor

        >>> ClassPredictor.from_samples([0, 2], [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3]]).top().p_hat
        array([0., 1.])

        O(n·K + n log n).
        """
        order = np.array(name_order(self.classes))
        best = order[np.argmax(self.p[:, order], axis=1)]
        return self.scored(self.p[np.arange(len(self)), best], best[self.value] == self.outcome)

    def top_k(self, k: int) -> Predictor:
        """The k likeliest classes: the sum of their probabilities, and whether one of them occurred.

        Parameters
        ----------
        k : int
            From 1 to K; of classes that tie, the first by name count.

        Returns
        -------
        Predictor

        >>> ClassPredictor.from_samples([0, 2], [[0.5, 0.25, 0.25], [0.375, 0.5, 0.125]]).top_k(2).p
        array([0.75 , 0.875])

        O(n·K log K + n log n).
        """
        k = checked_count("k", k, most=len(self.classes))
        order = np.array(name_order(self.classes))
        best = order[np.argsort(-self.p[:, order], axis=1, kind="stable")[:, :k]]
        chosen = np.minimum(np.take_along_axis(self.p, best, axis=1).sum(axis=1), 1.0)
        return self.scored(chosen, (best[self.value] == self.outcome[:, None]).any(axis=1))

    def pair(self, a: object, b: object) -> Predictor:
        """Class a or class b: p_a/(p_a + p_b) and whether it was a, among the rows where one of the two occurred.

        Where both have probability 0, the prediction is 1/2.

        Parameters
        ----------
        a, b
            The names of two classes; one of them must have occurred.

        Returns
        -------
        Predictor

        >>> ClassPredictor.from_samples([0, 1, 2], [[0.6, 0.2, 0.2], [0.3, 0.1, 0.6], [0.2, 0.2, 0.6]]).pair(0, 1).p
        array([0.75])

        O(n log n).
        """
        first, second = self.number(a), self.number(b)
        if first == second:
            raise ValueError(f"a pair needs two classes, but both are {a!r}.")
        kept = (self.outcome == first) | (self.outcome == second)
        if not kept.any():
            raise ValueError(f"no row is of class {a!r} or of class {b!r}: they cannot be compared.")
        both = self.p[:, first] + self.p[:, second]
        chance = np.divide(self.p[:, first], both, out=np.full(len(self), 0.5), where=both > 0)
        return self.scored(np.minimum(chance, 1.0), self.outcome == first, kept)

    def ordered(self, numbers: Sequence[int]) -> ClassPredictor:
        """The same predictor with its classes in another order: the old numbers of the new ones.  O(n·K)."""
        if list(numbers) == list(range(len(self.classes))):
            return self
        new = np.argsort(numbers)
        made = object.__new__(ClassPredictor)
        names = tuple(self.classes[number] for number in numbers)
        _fill(made, names, self.p[:, numbers], self.value, new[self.outcome], self.weight, self.squares, self.counts)
        return made

    def scored(self, prediction: FloatArray, positive: NDArray[Any], kept: Any = slice(None)) -> Predictor:
        """An ordinary predictor: a number in [0, 1] for each vector, and for each pair how much of it counts as 1.

        Parameters
        ----------
        prediction : array of shape (values,)
        positive : array of bool, or of shares in [0, 1], one for each pair of a vector and a class
        kept : array of bool, optional
            The pairs that count.  O(n log n).
        """
        p, weight = prediction[self.value[kept]], self.weight[kept]
        one = weight * positive[kept]
        if self.counts is None:
            law = counted(p, weight, one)
            return Predictor(law.p, law.weight / weight.sum(), np.minimum(law.positive, law.weight) / weight.sum())
        tally = Tally()
        squares = None if self.squares is None else self.squares[kept]
        tally.add_counts(p, weight, one, int(self.counts[kept].sum()), squares)
        return Predictor.from_tally(tally)


def as_class_predictor(
    y_true: ClassPredictor | ArrayLike,
    proba: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[object] | None = None,
) -> ClassPredictor:
    """What every function on classes takes: a class predictor as it is, or rows in scikit-learn's order."""
    if isinstance(y_true, ClassPredictor):
        if proba is not None or sample_weight is not None:
            raise ValueError("give a ClassPredictor alone, or y_true and proba (and sample_weight), but not both.")
        return y_true
    if proba is None:
        raise ValueError("give a ClassPredictor, or y_true and proba, a column of probabilities per class.")
    return ClassPredictor.from_samples(y_true, proba, sample_weight, classes=classes)


def _distinct(p: FloatArray) -> tuple[IntArray, IntArray]:
    """The row of each distinct vector, sorted by its bytes, and the number of the vector of each row."""
    lines = np.ascontiguousarray(p).view(np.dtype((np.void, p.shape[1] * p.itemsize))).ravel()
    _, first, value = np.unique(lines, return_index=True, return_inverse=True)
    return first, value


def _fill(q: ClassPredictor, *values: Any) -> None:
    for field, value in zip(fields(q), values, strict=True):
        object.__setattr__(q, field.name, _read_only(value) if isinstance(value, np.ndarray) else value)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
