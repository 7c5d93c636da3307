"""Remedies for K classes: a fitted map of vectors with its name and what it was learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import checked_choice, checked_count, refuse_other
from trustcal.class_predictor import ClassPredictor
from trustcal.classes import scaling
from trustcal.classes.folds import class_rows
from trustcal.remedies.recalibrators import isotonic
from trustcal.remedies.vector_maps import VECTOR_MAPS, IsotonicVectors, SameVectors, ScaledVectors, VectorMap
from trustcal.rows.classes import checked_vectors
from trustcal.states import damage_refused, loaded, saved
from trustcal.writing import atomically

FloatArray = NDArray[np.float64]

VERSION: Final = 1
"""The version of the file format."""


@final
@dataclass(frozen=True)
class ClassRemedy:
    """A map of vectors of probabilities, ready to be applied and saved.

    `trustcal.remedies.fit` and `choose` make one from labels and tables of probabilities.

    Examples
    --------
    >>> from trustcal.remedies import fit
    >>> remedy = fit("temperature", [0, 0, 1, 1, 2, 0], [[0.9, 0.05, 0.05]] * 4 + [[0.05, 0.05, 0.9]] * 2)
    >>> remedy.apply([[0.9, 0.05, 0.05]]).round(2)
    array([[0.44, 0.28, 0.28]])
    >>> print(remedy)
    Temperature scaling: vectors are multiplied by 0.151 on the log scale. Learned from 6 rows.
    >>> ClassRemedy.from_json(remedy.to_json()) == remedy
    True
    """

    method: str
    """The name of the method."""
    title: str
    """Its name in sentences."""
    map: VectorMap
    """What it does to a vector."""
    classes: tuple[str, ...]
    """The names of the classes, in the order of the columns."""
    rows: int | None
    """The number of rows that it was learned from; None for a known distribution."""

    def apply(self, proba: ArrayLike) -> FloatArray:
        """The new vectors.

        Parameters
        ----------
        proba : array-like of shape (rows, K)
            Vectors of probabilities in the order of `classes`.

        Returns
        -------
        ndarray

        O(K), or O(K²) for a matrix, for each vector.
        """
        p = checked_vectors(proba)
        if p.shape[1] != len(self.classes):
            raise ValueError(f"vectors must have {len(self.classes)} probabilities, one per class, not {p.shape[1]}.")
        return self.map(p)

    def predictor(self, q: ClassPredictor) -> ClassPredictor:
        """The distribution of the new vectors and the classes.  O(n·K log n)."""
        rows = class_rows(q)
        return ClassPredictor.from_rows(rows._replace(p=self.map(rows.p)))

    def describe(self) -> str:
        """What it does, and from what it was learned."""
        learned = "" if self.rows is None else f" Learned from {self.rows:,} rows."
        return f"{self.title}: vectors are {self.map.describe()}.{learned}"

    def __str__(self) -> str:
        return self.describe()

    def to_json(self) -> str:
        """All of it as JSON; the remedy that `from_json` makes gives the same bits."""
        fields = {
            "method": self.method,
            "title": self.title,
            "map": {"kind": type(self.map).__name__, **self.map.to_fields()},
            "classes": self.classes,
            "rows": self.rows,
        }
        return saved("ClassRemedy", VERSION, fields)

    @classmethod
    @damage_refused()
    def from_json(cls, text: str) -> ClassRemedy:
        """The remedy that `to_json` saved; text that was changed raises an error.  O(size)."""
        state = loaded(text, "ClassRemedy", VERSION, ("method", "title", "map", "classes", "rows"))
        given = dict(state["map"])
        kind = VECTOR_MAPS.get(given.pop("kind"))
        if kind is None:
            raise ValueError("the remedy has a map that this version of trustcal does not have.")
        found: VectorMap = kind.from_fields(given)
        classes = tuple(map(str, state["classes"]))
        if not found.fits(len(classes)):
            raise ValueError(
                "the state is damaged: its map does not fit its classes. It must be what to_json returned."
            )
        for name in ("method", "title"):
            refuse_other(name, state[name], str, "text")
        if state["rows"] is not None:
            checked_count("rows", state["rows"])
        remedy = cls(state["method"], state["title"], found, classes, state["rows"])
        _try(remedy)
        return remedy

    def save(self, path: str | Path) -> None:
        """Write the JSON to a file, completely or not at all."""
        with atomically(path) as fresh:
            fresh.write_text(self.to_json() + "\n")


def _try(remedy: ClassRemedy) -> None:
    """Use what was loaded once, before anybody else does: a damaged remedy fails here."""
    remedy.describe()
    count = len(remedy.classes)
    said = remedy.map(np.concatenate([np.eye(count), np.full((1, count), 1 / count)]))
    if not ((said >= 0) & (said <= 1)).all() or not np.allclose(said.sum(axis=1), 1):
        raise ValueError("the remedy is damaged: it gives vectors that are no probabilities.")


def _isotonic(q: ClassPredictor) -> IsotonicVectors:
    """One isotonic regression for each class against the rest; the new vectors are divided by their sums."""
    maps = [isotonic(q.one(name)) for name in q.classes]
    return IsotonicVectors(tuple(one.x for one in maps), tuple(one.y for one in maps))


@final
@dataclass(frozen=True)
class ClassMethod:
    """A way to learn a map of vectors from labels."""

    name: str
    """Its name in tables."""
    title: str
    """Its name in sentences."""
    learn: Callable[[ClassPredictor], VectorMap]
    """Fits the map."""

    def fit(self, q: ClassPredictor) -> ClassRemedy:
        """The remedy learned from a class predictor."""
        return ClassRemedy(self.name, self.title, self.learn(q), tuple(map(str, q.classes)), q.rows)


CLASS_METHODS: Final = {
    method.name: method
    for method in (
        ClassMethod("none", "No remedy", lambda _: SameVectors()),
        ClassMethod("temperature", "Temperature scaling", lambda q: ScaledVectors.of(scaling.temperature(q))),
        ClassMethod("vector", "Vector scaling", lambda q: ScaledVectors.of(scaling.vector(q))),
        ClassMethod("matrix", "Matrix scaling", lambda q: ScaledVectors.of(scaling.matrix(q))),
        ClassMethod("Dirichlet", "Dirichlet calibration", lambda q: ScaledVectors.of(scaling.dirichlet(q))),
        ClassMethod("isotonic", "One-vs-rest isotonic regression", _isotonic),
    )
}
"""Every method for K classes by its name, from the simplest to the least simple."""


def named_class_method(method: str) -> ClassMethod:
    """The method of this name, in capitals or not."""
    plain = {name.lower(): name for name in CLASS_METHODS}
    return CLASS_METHODS[plain[checked_choice("method", str(method).lower(), plain)]]
