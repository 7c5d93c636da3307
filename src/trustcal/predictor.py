"""Predictor: the joint distribution of (prediction, outcome) on finitely many prediction values.

Everything else in trustcal takes a `Predictor` or makes one.  The notation, used throughout the package:

    y          the outcome, 0 or 1                                     (the paper's θ)
    p          a prediction value                                      p[i], strictly increasing
    mass       how often it is predicted                               mass[i] = Pr[p = p[i]]
    positive   how often it is predicted and the outcome is 1          positive[i] = Pr[p = p[i], y = 1]
    p_hat      the posterior: the frequency of y = 1 given p           p_hat[i] = Pr[y = 1 | p = p[i]]
    mu         a decision threshold
    eps        a distance to calibration

For example, a forecaster who says 20 % on two days (one of them rainy) and 70 % on two rainy days is

    >>> q = Predictor.from_samples([0, 1, 1, 1], [0.2, 0.2, 0.7, 0.7])
    >>> q.p, q.mass, q.positive, q.p_hat
    (array([0.2, 0.7]), array([0.5, 0.5]), array([0.25, 0.5 ]), array([0.5, 1. ]))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.cells import ENDS, End, announced
from trustcal.checking import checked_cells, checked_choice, refuse, several
from trustcal.kernels.minorant import isotonic_fit
from trustcal.laws import Law
from trustcal.rows import checked_classes, checked_law, checked_rows, real_vector, run_starts, running_sum
from trustcal.tally import Tally
from trustcal.tally.counts import Counts, counted

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Predictor:
    """A predictor: the joint distribution of prediction and outcome (the paper's Section 2).

    The constructor takes a known distribution; `from_samples` and `trustcal.read` count rows.  Arrays are read-only.

    Parameters
    ----------
    p : prediction values, strictly increasing in [0, 1]
    mass : Pr[p = p[i]], with sum 1 within 1e-9; values of mass zero are left out
    positive : Pr[p = p[i], y = 1], between 0 and mass
    rows, effective_rows, moved : what is known about the rows behind it; see the attributes

    >>> rain = Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])
    >>> rain, len(rain)
    (Predictor(2 values, base rate 0.5), 2)

    O(n).
    """

    p: FloatArray
    mass: FloatArray
    positive: FloatArray
    rows: int | None
    """The number of rows of positive weight; None for a known distribution."""
    effective_rows: float | None
    """Kish's effective sample size, (Σw)²/Σw²; None for a known distribution."""
    moved: float
    """The mean distance by which predictions were moved to make this predictor from another; see `rounding_effect`."""

    def __init__(
        self,
        p: ArrayLike,
        mass: ArrayLike,
        positive: ArrayLike,
        *,
        rows: int | None = None,
        effective_rows: float | None = None,
        moved: float = 0.0,
    ) -> None:
        _fill(self, *checked_law(p, mass, positive), rows, effective_rows, moved)

    @classmethod
    def from_samples(cls, y_true: ArrayLike, y_prob: ArrayLike, sample_weight: ArrayLike | None = None) -> Predictor:
        """The empirical distribution of rows, in scikit-learn's order of arguments.

        Equal predictions are merged, -0.0 is 0.0, and rows of weight zero are dropped.  Counts (with weights: correctly
        rounded sums) are divided by their total once, so the same rows give the same bits in any order.

        Parameters
        ----------
        y_true : outcomes, 0 or 1: any array-like, or a series of pandas, Polars or Arrow
        y_prob : predictions in [0, 1]
        sample_weight : weights, finite and not negative; omitted, every row counts 1

        >>> Predictor.from_samples([True, False, True], [0.25, 0.25, 1], sample_weight=[1, 2, 1])
        Predictor(2 values, 3 rows, base rate 0.5)

        One sort, O(n log n).
        """
        y, p, weight = checked_rows(y_true, y_prob, sample_weight, ("y_true", "y_prob", "sample_weight"))
        tally = Tally(expected=len(p))
        tally.add(p, y.view(np.uint8), weight)
        return cls.from_tally(tally)

    @classmethod
    def from_tally(cls, tally: Tally) -> Predictor:
        """The empirical distribution of the rows in a tally, one or more; the tally is used up.  O(n)."""
        law = tally.law()
        arrays = (law.p, law.weight, law.positive)
        q = object.__new__(cls)
        _fill(q, *(checked_law(*arrays) if tally.weighted else arrays), tally.rows, tally.effective_rows, tally.moved)
        return q

    @classmethod
    def from_classes(
        cls,
        y: ArrayLike,
        proba: ArrayLike,
        view: object = "top",
        *,
        classes: Iterable[object] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Predictor:
        """A multiclass model as one predictor: of its top label, or of one class against the rest.

        Parameters
        ----------
        y : the label of each row
        proba : a table of probabilities with a column per class
        view : "top" for the largest probability (the first, if several tie) and whether its label is right; or a class
        classes : the labels of the columns, such as a scikit-learn model's `classes_`; 0, 1, 2, … unless given
        sample_weight : weights, as in `from_samples`

        >>> proba = [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3]]
        >>> Predictor.from_classes([0, 2], proba).p_hat                  # right at 0.7, wrong at 0.4
        array([0., 1.])
        >>> Predictor.from_classes([0, 2], proba, view=2).p
        array([0.1, 0.3])

        O(n·classes + n log n).
        """
        hit, prediction = checked_classes(y, proba, view, None if classes is None else several(classes))
        return cls.from_samples(hit, prediction, sample_weight)

    def __len__(self) -> int:
        return len(self.p)

    def __reduce__(self) -> tuple[partial[Predictor], tuple[FloatArray, ...]]:
        """Copies and pickles are made by the constructor, so that they are read-only too."""
        known = partial(Predictor, rows=self.rows, effective_rows=self.effective_rows, moved=self.moved)
        return known, (self.p, self.mass, self.positive)

    def __repr__(self) -> str:
        rows = "" if self.rows is None else f"{self.rows} rows, "
        return f"Predictor({len(self)} values, {rows}base rate {self.base_rate:.6g})"

    def __eq__(self, other: object) -> bool:
        """The same distribution, bit for bit; the number of rows does not matter."""
        if not isinstance(other, Predictor):
            return NotImplemented
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ("p", "mass", "positive"))

    def __hash__(self) -> int:
        return hash((self.p.tobytes(), self.mass.tobytes(), self.positive.tobytes()))

    @cached_property
    def p_hat(self) -> FloatArray:
        """The posterior Pr[y = 1 | p] of each prediction value."""
        posterior: FloatArray = self.positive / self.mass
        posterior.flags.writeable = False
        return posterior

    @cached_property
    def bias(self) -> FloatArray:
        """E[(p − y); p = p[i]] = mass[i]·(p[i] − p_hat[i]): positive where predictions are too high."""
        bias: FloatArray = self.p * self.mass - self.positive
        bias.flags.writeable = False
        return bias

    @cached_property
    def base_rate(self) -> float:
        """Pr[y = 1]."""
        return min(1.0, float(self.positive.sum() / self.mass.sum()))

    @cached_property
    def upper_sums(self) -> tuple[FloatArray, FloatArray]:
        """Mass and positive mass from each value upwards: entry i sums values i, i + 1, …; the last entry is 0."""
        sums = np.empty((2, len(self) + 1))
        sums[:, -1] = 0.0
        running_sum(self.mass[::-1], out=sums[0, -2::-1])
        running_sum(self.positive[::-1], out=sums[1, -2::-1])
        sums.flags.writeable = False
        return sums[0], sums[1]

    @cached_property
    def rows_per_value(self) -> float | None:
        """How often the value of the median row occurs, in effective rows; None for a known distribution."""
        if self.effective_rows is None:
            return None
        order = np.argsort(self.mass)  # the median row is half-way up the mass
        half = int(np.searchsorted(np.cumsum(self.mass[order]), self.mass.sum() / 2))
        return round(float(self.mass[order[half]]) * self.effective_rows, 6)

    @property
    def sparse(self) -> bool:
        """Whether values are too rare to estimate frequencies: that of the median row occurs fewer than 5 times."""
        return self.rows_per_value is not None and self.rows_per_value < 5

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
        return self._with(counted(image, self.mass, self.positive), float(np.abs(image - self.p) @ self.mass))

    def on_grid(self, cells: int, end: End = "left") -> Predictor:
        """Predictions rounded to a grid, as in the paper's online algorithm (Section 4, corrected).

        Parameters
        ----------
        cells : the number of intervals [i/cells, (i+1)/cells), the last one closed
        end : what is predicted in each: its left end i/cells, as in the paper, or its middle (i+1/2)/cells

        >>> coarse = Predictor([0.25, 0.5, 1.0], [0.25, 0.25, 0.5], [0, 0, 0.5]).on_grid(2)
        >>> coarse.p, coarse.moved
        (array([0. , 0.5]), 0.3125)

        O(n).
        """
        cells, end = checked_cells(cells), checked_choice("end", end, ENDS)
        return self.map(lambda p: announced(p, cells, end))

    def coarsen(self, cells: int) -> Predictor:
        """Predictions pooled into at most `cells` bins of (nearly) equal mass, each at its mean prediction.

        A calibrated predictor stays calibrated.  ECE and CDL of the pooled predictor are other quantities than those
        of this one, neither larger nor smaller in general: always report the number of bins.  Values are never split.

        >>> Predictor.from_samples([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8]).coarsen(2).p
        array([0.2, 0.7])

        O(n).
        """
        cells = checked_cells(cells)
        middle = np.cumsum(self.mass) - self.mass / 2  # a value belongs to the bin of its median row
        cell = np.minimum(np.floor(middle * cells), cells - 1)
        starts = run_starts(cell)
        mass, positive = np.add.reduceat(self.mass, starts), np.add.reduceat(self.positive, starts)
        mean = np.add.reduceat(self.p * self.mass, starts) / mass
        sizes = np.diff(starts, append=len(self))
        mean = np.clip(mean, self.p[starts], self.p[starts + sizes - 1])
        moved = float((np.abs(np.repeat(mean, sizes) - self.p) * self.mass).sum())  # @ would start the threads of BLAS
        return self._with(Counts(mean, mass, positive), moved)

    def calibrated(self) -> Predictor:
        """The predictor that says p_hat where this one says p: calibrated, and equally informative.

        >>> Predictor([0.2, 0.7], [0.5, 0.5], [0.25, 0.5]).calibrated().p
        array([0.5, 1. ])

        O(n log n).
        """
        # Nearly all continuous predictions occur with one outcome only, and these need no sorting.
        never, always = self.positive == 0, self.positive == self.mass
        mixed = ~(never | always)
        mass, positive = self.mass[mixed], self.positive[mixed]
        certain = float((self.mass * always).sum())
        p_hat = np.concatenate([[0.0], positive / mass, [1.0]])
        mass = np.concatenate([[(self.mass * never).sum()], mass, [certain]])
        positive = np.concatenate([[0.0], positive, [certain]])
        return self._with(counted(p_hat, mass, positive), float(np.abs(self.bias).sum()))

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
        mass, positive = (np.add.reduceat(sums, starts) for sums in (self.mass, self.positive))
        moved = float((np.abs(self.fitted - self.p) * self.mass).sum())
        return self._with(Counts(self.fitted[starts], mass, positive), moved)

    def _with(self, law: Counts, moved: float) -> Predictor:
        """A predictor of the same rows, whose predictions were moved this far on average."""
        known = partial(Predictor, rows=self.rows, effective_rows=self.effective_rows, moved=self.moved + moved)
        return known(law.p, law.weight, law.positive)


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
        raise ValueError("y_prob is missing: give a Predictor, or both y_true and y_prob, in this order.")
    return Predictor.from_samples(y_true, y_prob, sample_weight)


def _fill(q: Predictor, *values: object) -> None:
    for field, value in zip(fields(Predictor), values, strict=True):
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(q, field.name, value)
