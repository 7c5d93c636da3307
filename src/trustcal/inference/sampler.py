"""RowSampler: the rows of a predictor, drawn again.

Every simulation of this room starts from a `RowSampler`: the predictions and the number of rows at each.  It draws the
outcomes that calibrated predictions would have, or draws rows from the rows, with replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import generator
from trustcal.measures.counts import law_of_counts, row_counts
from trustcal.measures.pooling import bins_for, on_bins
from trustcal.measures.table import MEASURES, values_of
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Draw = Callable[[np.random.Generator], Predictor]

FINEST = 2**14
"""More values than this are pooled on a grid of this many bins, each at its mean prediction, before simulating."""
_STEPS = 0.6
"""Per value and draw: plain Python is used up to 33,000 of them, which take about as long as loading numba."""


@final
@dataclass(frozen=True, eq=False)
class RowSampler:
    """Predictions with the number of rows at each, and two ways to draw such rows again."""

    observed: Predictor
    """What is measured: the predictor itself, or the same predictor pooled on a grid."""
    counts: IntArray
    """The number of rows at each value of `observed`; with weights, the effective number."""
    fine: Predictor | None
    """The predictor before it was pooled, if its rows count alike: their outcomes follow their own predictions."""
    bins: int | None
    """Conditional measures are taken on at most this many bins of equal mass; None: on the values as they are."""
    pooled: bool
    """Whether values were pooled on the grid."""
    note: str
    """What was pooled or approximated; empty if nothing was."""

    @classmethod
    def of(cls, q: Predictor, cells: int | None = None) -> RowSampler:
        """The sampler of q's rows; conditional measures on bins as an audit takes them, or as given.  O(n log n)."""
        q = as_predictor(q)
        effective, rows = sample_size(q), q.rows or 0
        observed = q if len(q) <= FINEST else _on_means(q)
        alike, singles = row_counts(q) is not None, observed is q and len(q) == rows
        notes = []
        if q.moved > 0:
            notes.append(
                f"predictions had been moved, by {q.moved:.1e} on average; outcomes are drawn where they are now: "
                "approximate"
            )
        if observed is not q:
            moved = observed.moved - q.moved
            notes.append(f"{len(q)} values pooled on a grid of {FINEST} bins, which moves each by {moved:.1e}")
        if not (alike or singles):
            notes.append("weights differ: each value is drawn as its effective number of equal rows; approximate")
        return cls(
            observed=observed,
            counts=np.rint(observed.mass * rows).astype(np.int64) if alike else _effective_counts(observed, effective),
            fine=q if alike and observed is not q else None,
            bins=bins_for(q, cells),
            pooled=observed is not q,
            note="; ".join(notes),
        )

    def binned(self, q: Predictor) -> Predictor:
        """What conditional measures are taken on.  Bins depend on predictions and masses only, never on outcomes."""
        return on_bins(q, self.bins)

    @cached_property
    def occupied(self) -> int | None:
        """The number of bins that hold a value; None where conditional measures are taken on the values as they are."""
        return None if self.bins is None else len(self.binned(self.observed))

    def values(self, q: Predictor, statistics: Sequence[str]) -> list[float]:
        """The statistics of a predictor with these predictions."""
        binned = self.binned(q) if any(MEASURES[name].conditional for name in statistics) else q
        found = values_of(statistics, q, binned)
        return [found[name] for name in statistics]

    def simulated(
        self, draw: Draw, statistics: Sequence[str], draws: int, rng: np.random.Generator | int
    ) -> FloatArray:
        """The statistics of many draws, a row each.  O(draws · n log n)."""
        for name in statistics:
            MEASURES[name].compile_for(round(_STEPS * draws * len(self.observed)))
        random = generator(rng)
        return np.array([self.values(draw(random), statistics) for _ in range(draws)])

    def pooling_effect(self, statistic: str) -> float:
        """The most that pooling on the grid can have moved a smooth measure; 0 for conditional ones, taken on bins."""
        return (MEASURES[statistic].rounding_effect(self.observed) or 0.0) if self.pooled else 0.0

    def with_outcomes(self, ones: IntArray) -> Predictor:
        """The predictor with this many ones among the rows of each value."""
        q = self.observed
        positive = np.minimum(ones * (q.mass / self.counts), q.mass)
        return Predictor(q.p, q.mass, positive, rows=q.rows, effective_rows=q.effective_rows, moved=q.moved)

    def calibrated_draw(self, rng: np.random.Generator) -> Predictor:
        """The same predictions with outcomes y ~ Bernoulli(p), drawn for every row.

        Rows whose values were pooled are still drawn by their own predictions.  Cut [0, 1] into bins of width d, and
        let y = 1 where a uniform U < p.  A row's U falls into the bin of its prediction with probability d, whatever
        the prediction: these few rows are drawn one by one.  For the others only the bin matters: a binomial each.
        O(values + rows·d).
        """
        if self.fine is None:
            return self.with_outcomes(rng.binomial(self.counts, self.observed.p))
        rows, width = int(self.counts.sum()), 1.0 / FINEST
        first, place, low = self._fine_rows
        undecided = rng.choice(rows, rng.binomial(rows, width), replace=False, shuffle=False)
        value = np.searchsorted(first, undecided, side="right")
        at = place[value]
        ones = rng.random(len(value)) < (self.fine.p[value] - low[at]) / width
        decided = self.counts - np.bincount(at, minlength=len(low))
        drawn = rng.binomial(decided, low / (1.0 - width))
        return self.with_outcomes(drawn + np.bincount(at[ones], minlength=len(low)))

    def resampled(self, rng: np.random.Generator) -> Predictor:
        """As many rows, drawn from the rows with replacement.  O(values)."""
        q = self.observed
        law = np.concatenate([q.mass - q.positive, q.positive])
        rows = max(1, round(sample_size(q)))
        return law_of_counts(q.p, rng.multinomial(rows, law / law.sum()).reshape(2, -1), moved=q.moved)

    @cached_property
    def _fine_rows(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Of the fine predictor: where the rows of the next value begin, each value's bin, and the bins' lower ends."""
        assert self.fine is not None
        assert self.fine.rows is not None
        first = np.cumsum(np.rint(self.fine.mass * self.fine.rows).astype(np.int64))
        occupied, place = np.unique(_grid(self.fine.p), return_inverse=True)
        return first, place, occupied / FINEST


def sample_size(q: Predictor) -> float:
    """The effective sample size; an error for a known law, which has none."""
    if q.rows is None:
        raise ValueError(
            "inference needs rows, but this predictor is a known law: nothing in it is random. "
            "Use Predictor.from_samples."
        )
    return float(q.rows) if q.effective_rows is None else q.effective_rows


def _grid(p: FloatArray) -> IntArray:
    """The bin of each prediction; the last bin is closed."""
    return np.minimum((p * FINEST).astype(np.int64), FINEST - 1)


def _on_means(q: Predictor) -> Predictor:
    """The predictor that says the mean prediction of each bin of the grid: if q is calibrated, so is this."""
    place = _grid(q.p)
    total = np.bincount(place, q.mass, FINEST)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(place, q.p * q.mass, FINEST) / total
    highest = np.where(place + 1 < FINEST, np.nextafter((place + 1) / FINEST, 0.0), 1.0)
    mean = np.clip(mean[place], place / FINEST, highest)
    return q.map(lambda _: mean)


def _effective_counts(q: Predictor, effective: float) -> IntArray:
    """The effective number of rows at each value: k = max(1, c·mass), with c such that Σ mass²/k = Σ w².

    The weights of single rows are not known, only the sum of their squares, Kish's 1/effective_rows.  A value's mass
    times the mean outcome of k equal rows has variance p(1 − p)·mass²/k, so the variances add up to what they should.
    It is exact where all weights are equal, and where no value is seen twice.
    """
    target = 1.0 / effective
    mass = np.sort(q.mass)[::-1]
    heavy = np.append(0.0, np.cumsum(mass))  # of the first i values, Σ mass; of the others, Σ mass²
    light = np.append(np.cumsum(mass[::-1] ** 2)[::-1], 0.0)
    # At c = 1/mass[i] the first i values count as c·mass rows each, and all others as one: then the sum is too small,
    # or c must be larger.  It falls as c grows, so the first i where it is small enough says who counts as more.
    enough = heavy[:-1] * mass + light[:-1] <= target * (1 + 1e-12)
    first = int(np.argmax(enough)) if enough.any() else len(mass)
    c = heavy[first] / (target - light[first]) if first else 0.0
    return np.maximum(1, np.floor(c * q.mass * (1 + 1e-9))).astype(np.int64)
