"""Predictor: the joint distribution of (prediction, outcome) on finitely many prediction values.

Everything else in trustcal takes a `Predictor` or makes one.  The notation, used throughout the package:

    y          the outcome, 0 or 1                                     (the paper's θ)
    p          a prediction value                                      p[i], strictly increasing
    mass       how often it is predicted                               mass[i] = Pr[p = p[i]]
    positive   how often it is predicted and the outcome is 1          positive[i] = Pr[p = p[i], y = 1]
    p_hat      the posterior: the frequency of y = 1 given p           p_hat[i] = Pr[y = 1 | p = p[i]]
    mu         a decision threshold
    eps        a distance to calibration
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.cells import ENDS, End, announced
from trustcal.checking import checked_cells, checked_choice, refuse
from trustcal.clusters import Clusters, by_content
from trustcal.kernels.minorant import isotonic_fit
from trustcal.laws import Law
from trustcal.rows import checked_law, checked_rows, labels_of_rows, real_vector, run_starts, running_sum
from trustcal.tally import Tally
from trustcal.tally.counts import Counts, counted

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Predictor:
    """A predictor: the joint distribution of prediction and outcome (the paper's Section 2).  O(n).

    The constructor takes a known distribution; `from_samples` and `trustcal.read` count rows.  Arrays are read-only.

    Parameters
    ----------
    p : prediction values, strictly increasing in [0, 1]
    mass : Pr[p = p[i]], with sum 1 within 1e-9; values of mass zero are left out
    positive : Pr[p = p[i], y = 1], between 0 and mass
    rows, effective_rows, moved, squares, clusters : what is known about the rows behind it; see the attributes

    >>> rain = Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])
    """

    p: FloatArray
    mass: FloatArray
    positive: FloatArray
    rows: int | None
    """The number of rows of positive weight; None for a known distribution."""
    effective_rows: float | None
    """The effective sample size: Kish's, (Σw)²/Σw², with w the weights of rows, or of clusters; None: no rows."""
    moved: float
    """The mean distance by which predictions were moved to make this predictor from another; see `rounding_effect`."""
    squares: FloatArray | None
    """Σ(w/W)² over the rows of each value, with W the sum of all weights; None: rows of equal weight, or unknown."""
    clusters: Clusters | None
    """The rows by cluster, where rows were said to belong together."""

    def __init__(
        self,
        p: ArrayLike,
        mass: ArrayLike,
        positive: ArrayLike,
        *,
        rows: int | None = None,
        effective_rows: float | None = None,
        moved: float = 0.0,
        squares: ArrayLike | None = None,
        clusters: Clusters | None = None,
    ) -> None:
        p, mass, positive, squares = checked_law(p, mass, positive, squares)
        _fill(self, p, mass, positive, rows, effective_rows, moved, squares, clusters)

    @classmethod
    def from_samples(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        cluster: ArrayLike | None = None,
    ) -> Predictor:
        """The empirical distribution of rows, in scikit-learn's order of arguments.

        Equal predictions are merged, -0.0 is 0.0, and rows of weight zero are dropped.  Counts (with weights: correctly
        rounded sums) are divided by their total once: the same bits in any order of the rows.

        Parameters
        ----------
        y_true : outcomes, 0 or 1: any array-like, or a series of pandas, Polars or Arrow
        y_prob : predictions in [0, 1]
        sample_weight : weights, finite and not negative; omitted, every row counts 1
        cluster : the cluster of each row, such as the event it is a forecast of; omitted, all rows are independent

        >>> q = Predictor.from_samples([0, 1, 1, 1], [0.2, 0.2, 0.7, 0.7])
        >>> q.p, q.mass, q.positive, q.p_hat
        (array([0.2, 0.7]), array([0.5, 0.5]), array([0.25, 0.5 ]), array([0.5, 1. ]))
        >>> Predictor.from_samples([1, 1, 0, 0], [0.5, 0.75, 0.25, 0.5], cluster=["a", "a", "b", "b"]).effective_rows
        2.0

        One sort, O(n log n); with clusters every row is kept.
        """
        y, p, weight = checked_rows(y_true, y_prob, sample_weight, ("y_true", "y_prob", "sample_weight"))
        tally = Tally(expected=len(p))
        tally.add(p, y.view(np.uint8), weight)
        q = cls.from_tally(tally)
        if cluster is None:
            return q
        clusters = _clusters(q, y, p, weight, labels_of_rows(cluster, len(p), sample_weight))
        return replace(q, effective_rows=clusters.effective, clusters=clusters)

    @classmethod
    def from_tally(cls, tally: Tally) -> Predictor:
        """The empirical distribution of the rows in a tally, one or more; the tally is used up.  O(n)."""
        law = tally.law()
        arrays = (law.p, law.weight, law.positive, law.squares)
        p, mass, positive, squares = checked_law(*arrays) if tally.weighted else arrays
        q = object.__new__(cls)
        _fill(q, p, mass, positive, tally.rows, tally.effective_rows, tally.moved, squares, None)
        return q

    def __len__(self) -> int:
        return len(self.p)

    def __reduce__(self) -> tuple[partial[Predictor], tuple[FloatArray, ...]]:
        """Copies and pickles are made by the constructor, so that they are read-only too."""
        return partial(Predictor, **self._facts()), (self.p, self.mass, self.positive)

    def __repr__(self) -> str:
        rows = "" if self.rows is None else f"{self.rows} rows, "
        return f"Predictor({len(self)} values, {rows}base rate {self.base_rate:.6g})"

    def __eq__(self, other: object) -> bool:
        """The same distribution, bit for bit; the rows behind it do not matter."""
        if not isinstance(other, Predictor):
            return NotImplemented
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ("p", "mass", "positive"))

    def __hash__(self) -> int:
        return hash((self.p.tobytes(), self.mass.tobytes(), self.positive.tobytes()))

    @cached_property
    def p_hat(self) -> FloatArray:
        """The posterior Pr[y = 1 | p] of each prediction value."""
        return _read_only(self.positive / self.mass)

    @cached_property
    def bias(self) -> FloatArray:
        """E[(p − y); p = p[i]] = mass[i]·(p[i] − p_hat[i]): positive where predictions are too high."""
        return _read_only(self.p * self.mass - self.positive)

    @cached_property
    def base_rate(self) -> float:
        """Pr[y = 1]."""
        return min(1.0, float(self.positive.sum() / self.mass.sum()))

    @cached_property
    def upper_sums(self) -> tuple[FloatArray, FloatArray]:
        """Mass and positive mass from each value upwards: entry i sums values i, i + 1, …; the last entry is 0."""
        sums = np.zeros((2, len(self) + 1))
        running_sum(self.mass[::-1], out=sums[0, -2::-1])
        running_sum(self.positive[::-1], out=sums[1, -2::-1])
        return _read_only(sums[0]), _read_only(sums[1])

    @cached_property
    def rows_at(self) -> FloatArray:
        """The effective number of rows at each value, (Σw)²/Σw² over its rows; infinite for a known distribution."""
        if self.squares is None:
            return self.mass * (np.inf if self.effective_rows is None else self.effective_rows)
        return np.maximum(self.mass**2 / np.maximum(self.squares, np.finfo(float).tiny), 1.0)

    @property
    def suggested_cells(self) -> int:
        """A number of bins for `coarsen`: about n^(1/3) for an effective sample size n; otherwise one per value."""
        return len(self) if self.effective_rows is None else max(1, round(self.effective_rows ** (1 / 3)))

    def map(self, f: Callable[[FloatArray], ArrayLike]) -> Predictor:
        """The predictor that says f(p) where this one says p; values that f makes equal are merged.  O(n log n).

        >>> Predictor([0.2, 0.4], [0.5, 0.5], [0, 0.5]).map(lambda p: 0 * p + 0.5)
        Predictor(1 values, base rate 0.5)
        """
        image = np.asarray(f(self.p))
        if image.shape not in ((), self.p.shape):
            raise ValueError(f"f must map {len(self)} predictions to as many, but gave the shape {image.shape}.")
        image = real_vector(np.broadcast_to(image, self.p.shape), "f(p)")
        refuse(~((image >= 0) & (image <= 1)), image, "f must map predictions into [0, 1]")
        return self._with(counted(image, self.mass, self.positive, self.squares), image)

    def on_grid(self, cells: int, end: End = "left") -> Predictor:
        """Predictions rounded to a grid, as in the paper's online algorithm (Section 4, corrected).  O(n).

        Parameters
        ----------
        cells : the number of intervals [i/cells, (i+1)/cells), the last one closed
        end : what is predicted in each: its left end i/cells, as in the paper, or its middle (i+1/2)/cells

        >>> coarse = Predictor([0.25, 0.5, 1.0], [0.25, 0.25, 0.5], [0, 0, 0.5]).on_grid(2)
        >>> coarse.p, coarse.moved
        (array([0. , 0.5]), 0.3125)
        """
        cells, end = checked_cells(cells), checked_choice("end", end, ENDS)
        return self.map(lambda p: announced(p, cells, end))

    def coarsen(self, cells: int) -> Predictor:
        """Predictions pooled into at most `cells` bins of (nearly) equal mass, each at its mean.  O(n).

        A calibrated predictor stays calibrated.  ECE and CDL of the pooled predictor are other quantities than those
        of this one, neither larger nor smaller in general: always report the number of bins.  Values are never split.

        >>> Predictor.from_samples([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8]).coarsen(2).p
        array([0.2, 0.7])
        """
        cells = checked_cells(cells)
        middle = np.cumsum(self.mass) - self.mass / 2  # a value belongs to the bin of its median row
        cell = np.minimum(np.floor(middle * cells), cells - 1)
        starts = run_starts(cell)
        sums, sizes = [np.add.reduceat(x, starts) for x in self._columns()], np.diff(starts, append=len(self))
        mean = np.add.reduceat(self.p * self.mass, starts) / sums[0]
        mean = np.clip(mean, self.p[starts], self.p[starts + sizes - 1])
        return self._with(Counts(mean, *sums), np.repeat(mean, sizes))

    def calibrated(self) -> Predictor:
        """The predictor that says p_hat where this one says p: calibrated, and equally informative.  O(n log n).

        >>> Predictor([0.2, 0.7], [0.5, 0.5], [0.25, 0.5]).calibrated().p
        array([0.5, 1. ])
        """
        never, always = self.positive == 0, self.positive == self.mass
        mixed = ~(never | always)  # few of continuous predictions; the others need no sorting
        sums = [np.concatenate([[(x * never).sum()], x[mixed], [(x * always).sum()]]) for x in self._columns()]
        return self._with(counted(np.concatenate([[0.0], self.p_hat[mixed], [1.0]]), *sums), self.p_hat)

    @cached_property
    def fitted(self) -> FloatArray:
        """The isotonic regression of p_hat on p, at each prediction value: nondecreasing.  O(n)."""
        return isotonic_fit(self.mass, self.positive)

    def isotonic(self) -> Predictor:
        """The calibrated predictor that keeps the ranking: it says `fitted` where this one says p (Theorem 29).  O(n).

        >>> Predictor([0.2, 0.4, 0.6], [0.25, 0.25, 0.5], [0.25, 0.0, 0.5]).isotonic().p
        array([0.5, 1. ])
        """
        starts = run_starts(self.fitted)
        sums = (np.add.reduceat(x, starts) for x in self._columns())
        return self._with(Counts(self.fitted[starts], *sums), self.fitted)

    def _columns(self) -> list[FloatArray]:
        """What is added up where values are merged: mass, positive and, with weights, squares."""
        return Counts(self.p, self.mass, self.positive, self.squares).arrays()

    def _with(self, law: Counts, image: FloatArray) -> Predictor:
        """A predictor of the same rows, which says image[i] where this one says p[i]."""
        moved = self.moved + float((np.abs(image - self.p) * self.mass).sum())  # @ would start the threads of BLAS
        facts = self._facts() | {"moved": moved, "squares": law.squares}
        q = Predictor(law.p, law.weight, law.positive, **facts)
        return q if self.clusters is None else replace(q, clusters=self.clusters.moved(np.searchsorted(q.p, image)))

    def _facts(self) -> dict[str, Any]:
        """What is known about the rows."""
        return {field.name: getattr(self, field.name) for field in fields(self)[3:]}


def as_predictor(
    y_true: Predictor | Law | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> Predictor:
    """What every measure takes: a predictor as it is, or rows in scikit-learn's order."""
    if isinstance(y_true, Predictor):
        if y_prob is not None or sample_weight is not None:
            raise ValueError("give a Predictor alone, or y_true and y_prob (and sample_weight), but not both.")
        return y_true
    if isinstance(y_true, Law):
        raise ValueError(
            "this measure needs finitely many prediction values, but after noise there are more. "
            "Put the output on a grid: smooth(q, noise, cells=100)."
        )
    if y_prob is None:
        raise ValueError(
            f"give a Predictor, not {type(y_true).__name__}: Predictor.from_samples(y_true, y_prob) makes one. "
            "Measures also take y_true and y_prob, in this order."
        )
    return Predictor.from_samples(y_true, y_prob, sample_weight)


def predictor_and(y_true: Any, second: Any, sample_weight: Any, option: Any) -> tuple[Predictor, Any]:
    """What a measure with an option takes: f(q, option), or f(y_true, y_prob, sample_weight, option=…)."""
    if isinstance(y_true, Predictor) and sample_weight is None and option is None:
        return y_true, second
    return as_predictor(y_true, second, sample_weight), option


def _clusters(
    q: Predictor, y: NDArray[np.bool_], p: FloatArray, weight: FloatArray | None, label: NDArray[Any]
) -> Clusters:
    """The clusters of rows with these labels; q is their predictor, and leaves out values whose share underflows."""
    at = np.searchsorted(q.p, p)
    known = q.p[np.minimum(at, len(q) - 1)] == p
    cluster = np.unique(label[known], return_inverse=True)[1].astype(np.int64)
    weights = np.ones(len(at)) if weight is None else weight
    cluster = by_content(cluster, at[known], weights[known], y[known])
    return Clusters.of(at[known], cluster, None if weight is None else weight[known], y[known])


def _fill(q: Predictor, *values: object) -> None:
    for field, value in zip(fields(Predictor), values, strict=True):
        object.__setattr__(q, field.name, _read_only(value) if isinstance(value, np.ndarray) else value)


def _read_only(array: FloatArray) -> FloatArray:
    array.flags.writeable = False
    return array
