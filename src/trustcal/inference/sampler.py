"""RowSampler: the rows of a predictor, drawn again.

Every simulation of this room starts from a `RowSampler`: the predictions, the number of rows at each and their weights,
or the rows of each cluster.  It draws the outcomes that calibrated predictions would have, or draws rows (or clusters)
from the rows, with replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import generator
from trustcal.clusters import Clusters, added, shared_outcomes
from trustcal.measures.counts import WHOLE, constant_weights, row_counts
from trustcal.measures.pooling import Bins, bins_for, on_bins, repeated
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
    """Predictions with the rows at each, and two ways to draw such rows again."""

    observed: Predictor
    """What is measured: the predictor itself, or the same predictor pooled on a grid."""
    fine: Predictor
    """The predictor before it was pooled: outcomes follow its predictions."""
    alike: bool
    """Whether rows are independent and of equal weight."""
    bins: Bins | None
    """Conditional measures are taken on these bins; None: on the values as they are."""
    note: str
    """What was pooled or approximated; empty if nothing was."""

    @classmethod
    def of(cls, q: Predictor, cells: int | None = None) -> RowSampler:
        """The sampler of q's rows; conditional measures on bins as an audit takes them, or as given.  O(n log n)."""
        q = as_predictor(q)
        sample_size(q)
        observed = q if len(q) <= FINEST else _on_means(q)
        bins = bins_for(q, cells)
        if bins is not None and observed is not q:
            bins = bins.along(q, np.unique(_grid(q.p), return_inverse=True)[1], observed)
        alike = row_counts(q) is not None
        notes = []
        if q.moved > 0:
            notes.append(
                f"predictions had been moved, by {q.moved:.1e} on average; outcomes are drawn where they are now: "
                "approximate"
            )
        if observed is not q:
            moved = observed.moved - q.moved
            notes.append(f"{len(q)} values pooled on a grid of {FINEST} bins, which moves each by {moved:.1e}")
        if q.clusters is not None:
            notes.append(
                f"{q.clusters.count:,} clusters, effective number {q.clusters.effective:,.0f}: outcomes are drawn with "
                f"the correlation within clusters, {q.clusters.correlation(q.p):.2g}; approximate"
            )
        elif not constant_weights(q):
            notes.append("weights differ among rows with the same prediction: approximate")
        return cls(observed, q, alike, bins, "; ".join(notes))

    @property
    def pooled(self) -> bool:
        """Whether values were pooled on the grid."""
        return self.observed is not self.fine

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

    def calibrated_draw(self, rng: np.random.Generator) -> Predictor:
        """The same predictions with outcomes y ~ Bernoulli(p), drawn for every row.

        Rows of one value that have unequal weights are drawn as their effective number k of equal rows, which need not
        be whole: then the number is drawn from the two next to it, so that the mean of 1/k is right, and with it the
        variance.  Rows whose values were pooled are drawn by their own predictions.  O(n).
        """
        q = self.observed
        return replace(q, positive=np.minimum(self._drawn_positive(rng), q.mass), clusters=None)

    def drawn_bias(self, rng: np.random.Generator) -> FloatArray:
        """E[(p − y); p] of a calibrated draw, at each value observed.  O(n)."""
        return self.observed.p * self.observed.mass - self._drawn_positive(rng)

    def flipped_bias(self, rng: np.random.Generator) -> FloatArray:
        """E[(p − y); p] with a random sign for each cluster: for any dependence within clusters.  O(n)."""
        q, clusters = self.observed, self.observed.clusters
        assert clusters is not None
        sign = rng.choice([-1.0, 1.0], clusters.count)[clusters.cluster]
        return added(clusters.value, sign * clusters.weight * (q.p[clusters.value] - clusters.outcome), len(q))

    def resampled(self, rng: np.random.Generator) -> Predictor:
        """As many rows, drawn from the rows with replacement; with clusters, as many clusters.  O(n).

        Where a value repeats, the frequency of ones is drawn from Jeffreys' posterior instead: the same for many rows,
        but not certain after a few rows with one outcome.  Rows of all other values, or clusters, take the other
        outcome with a probability from Jeffreys' posterior for what as many did not show: half of one, on average.
        """
        q = self.observed
        if q.clusters is not None:
            clusters = q.clusters
            times = rng.multinomial(clusters.count, np.full(clusters.count, 1 / clusters.count))
            turned = rng.binomial(times, rng.beta(0.5, clusters.effective + 0.5))[clusters.cluster]
            times = times[clusters.cluster]
            one = added(clusters.value, clusters.weight * np.where(clusters.outcome, times - turned, turned), len(q))
            both = np.maximum(one, added(clusters.value, clusters.weight * times, len(q)))
        else:
            k, ones = q.rows_at, q.rows_at * q.p_hat
            times = rng.multinomial(max(1, round(k.sum())), k / k.sum())
            often, chance = repeated(q), q.p_hat
            if not often.all():
                unseen = rng.beta(0.5, k[~often].sum() + 0.5)
                chance = chance + unseen * (1 - 2 * chance)
            share = rng.binomial(times, chance) / np.maximum(times, 1)
            share[often] = rng.beta(ones[often] + 0.5, (k - ones)[often] + 0.5)
            both = times * (q.mass / k)
            one = both * share
        total = both.sum()
        return Predictor(
            q.p, both / total, np.minimum(one, both) / total, rows=q.rows, effective_rows=q.effective_rows,
            moved=q.moved,
        )  # fmt: skip

    def _drawn_positive(self, rng: np.random.Generator) -> FloatArray:
        """Σ of the weights of rows with outcome 1, at each value observed."""
        q, size = self.fine, len(self.observed)
        if q.clusters is not None:
            return self._drawn_by_cluster(q.clusters, rng)
        if self.alike and self.pooled:
            return self._drawn_on_grid(rng)
        k, more = whole_rows(q)
        k = k + (rng.random(len(k)) < more) if more.any() else k
        one = rng.binomial(k, q.p) * (q.mass / k)
        return one if not self.pooled else added(self._places, one, size)

    def _drawn_by_cluster(self, clusters: Clusters, rng: np.random.Generator) -> FloatArray:
        """Outcomes that are correlated within clusters."""
        one = shared_outcomes(clusters, self.fine.p, self._correlation, rng)
        place = clusters.value if not self.pooled else self._places[clusters.value]
        return added(place, clusters.weight * one, len(self.observed))

    def _drawn_on_grid(self, rng: np.random.Generator) -> FloatArray:
        """Rows of equal weight, pooled on the grid, without a draw for each.

        Cut [0, 1] into bins of width d, and let y = 1 where a uniform U < p.  A row's U falls into the bin of its
        prediction with probability d, whatever the prediction: these few rows are drawn one by one.  For the others
        only the bin matters: a binomial each.  O(bins + rows·d).
        """
        rows, width = int(self.counts.sum()), 1.0 / FINEST
        first, low = self._fine_rows
        undecided = rng.choice(rows, rng.binomial(rows, width), replace=False, shuffle=False)
        value = np.searchsorted(first, undecided, side="right")
        at = self._places[value]
        ones = rng.random(len(value)) < (self.fine.p[value] - low[at]) / width
        decided = self.counts - np.bincount(at, minlength=len(low))
        drawn = rng.binomial(decided, low / (1.0 - width)) + np.bincount(at[ones], minlength=len(low))
        return drawn * (self.observed.mass / self.counts)

    @cached_property
    def counts(self) -> IntArray:
        """The number of rows at each value observed; with weights, the effective number, rounded down."""
        if self.alike:
            return np.rint(self.observed.mass * (self.observed.rows or 0)).astype(np.int64)
        return whole_rows(self.observed)[0]

    @property
    def binomial(self) -> bool:
        """Whether the number of ones at each value observed is binomial: independent rows of constant weight."""
        return not self.pooled and self.fine.clusters is None and (self.alike or not whole_rows(self.fine)[1].any())

    @cached_property
    def _correlation(self) -> float:
        assert self.fine.clusters is not None
        return self.fine.clusters.correlation(self.fine.p)

    @cached_property
    def _places(self) -> IntArray:
        """The observed value of each fine one."""
        return np.unique(_grid(self.fine.p), return_inverse=True)[1].astype(np.int64)

    @cached_property
    def _fine_rows(self) -> tuple[IntArray, FloatArray]:
        """Of the fine predictor: where the rows of the next value begin; and the lower ends of the bins."""
        first = np.cumsum(np.rint(self.fine.mass * (self.fine.rows or 0)).astype(np.int64))
        return first, np.unique(_grid(self.fine.p)) / FINEST


def sample_size(q: Predictor) -> float:
    """The effective sample size; an error for a known law, which has none."""
    if q.rows is None:
        raise ValueError(
            "inference needs rows, but this predictor is a known law: nothing in it is random. "
            "Use Predictor.from_samples."
        )
    return float(q.rows) if q.effective_rows is None else q.effective_rows


def whole_rows(q: Predictor) -> tuple[IntArray, FloatArray]:
    """The effective number of rows at each value, rounded down, and the probability of one more."""
    k = np.maximum(q.rows_at, 1.0)
    near = np.rint(k)
    k = np.where(np.abs(k - near) <= WHOLE * near, near, k)
    low = np.floor(k)
    return low.astype(np.int64), (low + 1) * (k - low) / k


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
