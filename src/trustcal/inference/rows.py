"""Rows that can be drawn again: what is kept fixed, what is drawn, and on how fine a grid.

Everything random in this room starts from a `Design`: the predictions and how many rows each has.  Outcomes are drawn
for it as they would fall if the predictions were right; or rows are drawn from it as they were drawn from the world.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.measures.continuous import row_counts
from trustcal.measures.pooling import bins_for, on_bins
from trustcal.measures.table import MEASURES
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

FINEST = 2**14
"""More values than this are pooled on a grid of so many cells, each at its mean prediction, before draws are made."""


@final
@dataclass(frozen=True, eq=False)
class Design:
    """Predictions with the numbers of their rows, and a way to draw the outcomes of a calibrated predictor."""

    observed: Predictor
    """What is measured: the predictor itself, or the same pooled on a grid."""
    counts: IntArray
    """How many rows each value of `observed` has; with weights, how many equal rows it is worth."""
    fine: Predictor | None
    """The predictor before it was pooled, if its rows count alike: their outcomes follow their own predictions."""
    cells: int | None
    """ECE and CDL are taken on at most so many cells of equal mass; None: on the values as they are."""
    pooled: bool
    """Whether values were pooled."""
    note: str
    """What a reader has to know: empty where nothing was pooled or moved and all rows count alike."""

    @classmethod
    def of(cls, q: Predictor, cells: int | None = None) -> Design:
        """How q's rows can be drawn again; ECE and CDL on cells as an audit takes them, or as given.  O(n log n)."""
        q = as_predictor(q)
        if q.rows is None:
            raise ValueError(
                "chance needs rows, but this predictor is a known law: nothing in it is random. "
                "Use Predictor.from_samples."
            )
        observed = q if len(q) <= FINEST else _on_means(q)
        alike, singles = row_counts(q) is not None, observed is q and len(q) == q.rows
        notes = []
        if q.moved > 0:
            notes.append(
                f"predictions were moved before, by {q.moved:.1e} on average: outcomes drawn by where to; approximate"
            )
        if observed is not q:
            notes.append(
                f"{len(q)} values pooled on a grid of {FINEST} cells, moved by {observed.moved - q.moved:.1e} each"
            )
        if not (alike or singles):
            notes.append("weights differ: each value drawn as if of equal rows, as many as it is worth; approximate")
        return cls(
            observed=observed,
            counts=np.rint(observed.mass * q.rows).astype(np.int64) if alike else _worth(observed),
            fine=q if alike and observed is not q else None,
            cells=bins_for(q, cells),
            pooled=observed is not q,
            note="; ".join(notes),
        )

    def measured(self, q: Predictor) -> Predictor:
        """What ECE and CDL are taken on.  Cells depend on predictions and masses only, never on outcomes."""
        return on_bins(q, self.cells)

    @cached_property
    def occupied(self) -> int | None:
        """On how many cells ECE and CDL are taken: those that hold a value."""
        return None if self.cells is None else len(self.measured(self.observed))

    def pooling(self, statistic: str) -> float:
        """How far pooling can have moved a smooth measure; for ECE and CDL, cells are what they are taken on."""
        return (MEASURES[statistic].rounding_effect(self.observed) or 0.0) if self.pooled else 0.0

    def with_outcomes(self, ones: IntArray) -> Predictor:
        """The predictor with this many ones among the rows of each value."""
        q = self.observed
        positive = np.minimum(ones * (q.mass / self.counts), q.mass)
        return Predictor(q.p, q.mass, positive, rows=q.rows, effective_rows=q.effective_rows, moved=q.moved)

    def calibrated_draw(self, generator: np.random.Generator) -> Predictor:
        """The same predictions with outcomes y ~ Bernoulli(p), drawn for every row.

        Values that were pooled are drawn by their own predictions nevertheless.  Cut [0, 1] into cells of width d, and
        let y = 1 where a uniform U < p.  A row's U falls into the cell of its prediction with probability d, whatever
        the prediction: these few rows are drawn one by one.  For the others, only the cell matters: a binomial each.
        O(values + rows·d).
        """
        if self.fine is None:
            return self.with_outcomes(generator.binomial(self.counts, self.observed.p))
        rows, width = int(self.counts.sum()), 1.0 / FINEST
        first, cell, low = self._rows
        undecided = generator.choice(rows, generator.binomial(rows, width), replace=False, shuffle=False)
        value = np.searchsorted(first, undecided, side="right")
        at = cell[value]
        ones = generator.random(len(value)) < (self.fine.p[value] - low[at]) / width
        decided = self.counts - np.bincount(at, minlength=len(low))
        drawn = generator.binomial(decided, low / (1.0 - width))
        return self.with_outcomes(drawn + np.bincount(at[ones], minlength=len(low)))

    def resampled(self, generator: np.random.Generator) -> Predictor:
        """As many rows drawn from the rows, with replacement.  O(values)."""
        q = self.observed
        law = np.concatenate([q.mass - q.positive, q.positive])
        rows = max(1, round(worth(q)))
        counts = generator.multinomial(rows, law / law.sum()).reshape(2, -1)
        mass, positive = counts.sum(axis=0) / rows, counts[1] / rows
        return Predictor(q.p, mass, positive, rows=rows, effective_rows=float(rows), moved=q.moved)

    @cached_property
    def _rows(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Of the fine predictor: where rows of the next value begin, the cell of a value; and the cells' lower ends."""
        assert self.fine is not None
        assert self.fine.rows is not None
        first = np.cumsum(np.rint(self.fine.mass * self.fine.rows).astype(np.int64))
        occupied, cell = np.unique(_grid(self.fine.p), return_inverse=True)
        return first, cell, occupied / FINEST


def worth(q: Predictor) -> float:
    """How many equal rows the rows of q are worth."""
    assert q.rows is not None
    return float(q.rows) if q.effective_rows is None else q.effective_rows


def _grid(p: FloatArray) -> IntArray:
    """The cell of each prediction; the last cell is closed."""
    return np.minimum((p * FINEST).astype(np.int64), FINEST - 1)


def _on_means(q: Predictor) -> Predictor:
    """The predictor that says the mean prediction of each cell of the grid: if q is calibrated, so is this."""
    cell = _grid(q.p)
    total = np.bincount(cell, q.mass, FINEST)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(cell, q.p * q.mass, FINEST) / total
    mean = np.clip(mean[cell], cell / FINEST, np.where(cell + 1 < FINEST, np.nextafter((cell + 1) / FINEST, 0.0), 1.0))
    return q.map(lambda _: mean)


def _worth(q: Predictor) -> IntArray:
    """How many equal rows each value is worth: k = max(1, c·mass), with c such that Σ mass²/k = Σ w².

    The weights of single rows are not known, only the sum of their squares, Kish's 1/effective_rows.  A value's mass
    times the mean outcome of k equal rows has variance p(1 − p)·mass²/k, so the variances add up to what they should.
    It is exact where all weights are equal, and where no value is seen twice.
    """
    target = 1.0 / worth(q)
    mass = np.sort(q.mass)[::-1]
    heavy = np.append(0.0, np.cumsum(mass))  # of the first i values, Σ mass; of the others, Σ mass²
    light = np.append(np.cumsum(mass[::-1] ** 2)[::-1], 0.0)
    # At c = 1/mass[i] the first i values are worth c·mass each, and all others one row: then the sum is too small, or c
    # must be larger.  It falls as c grows, so the first i where it is small enough says who is worth more than a row.
    enough = heavy[:-1] * mass + light[:-1] <= target * (1 + 1e-12)
    first = int(np.argmax(enough)) if enough.any() else len(mass)
    c = heavy[first] / (target - light[first]) if first else 0.0
    return np.maximum(1, np.floor(c * q.mass * (1 + 1e-9))).astype(np.int64)
