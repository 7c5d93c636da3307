"""The worst reference: what Theorem 3.1 bounds, found by linear programming rather than bounded.

For a predictor q, a noise M and a distance eps

    worst = sup of E[S(b, y)] − E[S(M(q), y)]

over calibrated b, jointly distributed with (q, y) in any way such that E|q − b| ≤ eps, and over proper scores S with
values in [0, 1].  The problem is bilinear, but one side is small: by Theorem 1 the worst score has two thresholds, on
either side of 1/2, or one at 1/2, with weights that follow from where they are.  For each score the best reference is a
linear program (`references`).  Scores are searched best first: two thresholds gain at most what each gains alone, and
less than chords between pairs that are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import FloatArray, checked_eps
from trustcal.decisions import DecisionProblem
from trustcal.measures.transport import Coupling
from trustcal.noise import Noise
from trustcal.predictor import Predictor
from trustcal.smoothing.references import BestReference, References

_MOST_VALUES = 12
"""Predictions with more values are refused: the linear programs are dense in them."""
_LEVELS = np.concatenate([np.arange(9) / 8, *(np.array([tail, 1 - tail]) for tail in (2**-4, 2**-7, 2**-10, 2**-14))])
"""Thresholds are tried first at these quantiles of each noised prediction."""
_MOST_THRESHOLDS = 128
_CLOSE = 2e-3
"""The search over scores ends when what is left can gain at most this share more."""
_ROUGH = _CLOSE / 10
"""And what a reference that was not tried may gain more while it goes on."""
_POLISH = 65
"""At the end each threshold is moved among this many places between its neighbours."""

Score = tuple[FloatArray, FloatArray]
"""Thresholds, and what is at stake at each."""


@final
@dataclass(frozen=True, eq=False)
class WorstReference:
    """A calibrated reference and a decision maker who loses `value` to it; none loses more than `upper`."""

    value: float
    upper: float
    reference: Predictor
    """Calibrated, and within eps of the predictor."""
    coupling: Coupling
    """Who is predicted p by the predictor and b by the reference, per outcome."""
    thresholds: FloatArray
    weights: FloatArray
    """Passing a threshold changes the payoff by weight · (y − threshold)."""

    @property
    def problem(self) -> DecisionProblem:
        """The decision maker: payoffs in [0, 1], at most three actions."""
        return DecisionProblem.from_thresholds(self.thresholds, self.weights)


def worst_reference(q: Predictor, noise: Noise, eps: float) -> WorstReference:
    """The decision loss of M(q) against the worst calibrated reference within eps (what Theorem 3.1 bounds).

    Parameters
    ----------
    q : Predictor
        With at most 12 prediction values.
    noise : Noise
    eps : float
        At least the distance to calibration of q, at most 1.

    Returns
    -------
    WorstReference
        By some 5 to 200 linear programs in 2n·(n + 5) unknowns, a few milliseconds each.

    Notes
    -----
    Thresholds are 0, 1/2, 1, the predictions, some quantiles of each noised prediction, and middles of gaps, up to 128
    or so, until what lies between them matters little.  For each score on them the reference is the best of all, not
    only of those on a grid.  So `value` is attained, a lower bound on the supremum; `upper` adds what other thresholds
    can gain, which is nothing for random rounding.  eps is stretched by 1e-8 of itself, for the solver.

    >>> from trustcal.noise import RandomRounding
    >>> q = Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25])            # two fair coins
    >>> worst = worst_reference(q, RandomRounding(2), 0.25)
    >>> round(worst.value, 6), round(worst.upper, 6), worst.thresholds
    (0.333333, 0.333333, array([0.5]))
    """
    checked_eps(eps)
    if len(q) > _MOST_VALUES:
        raise ValueError(
            f"the worst reference is found by linear programs for up to {_MOST_VALUES} prediction values, not "
            f"{len(q)}. Pool them with q.coarsen({_MOST_VALUES}), or bound it by guarantees.batch_decision_loss."
        )
    return _Search(q, noise, References.of(q, eps)).run()


@final
@dataclass(frozen=True, eq=False)
class _Search:
    q: Predictor
    noise: Noise
    references: References

    def run(self) -> WorstReference:
        mu, _ = self._gaps
        pairs, alone = _Pairs.of(mu, self._believed(mu)), self._alone(mu)
        half = pairs.half
        best, upper = self._lost((mu[[half]], np.array([2.0])), mu[:0]), 0.0
        pairs.learn(half, half, best[1].gain + best[1].excess)
        used = {(half, half): best[1].used}
        solved = (mu == 0) | (mu == 1) | (mu == 0.5)
        gain = np.where(mu == 0, self.q.base_rate, 0.0)  # E b at 0, and 0 at 1
        gain[half] = (best[1].gain + best[1].excess) / 2
        while True:
            # The largest E(b − μ)⁺ is convex in μ: chords between known thresholds are above it.
            alone = np.minimum(alone, np.interp(mu, mu[solved], gain[solved]))
            bound, i, j = pairs.most_promising(alone)
            if bound <= best[0] * (1 + _CLOSE):
                return self._report(best, max(upper, best[0] + best[1].excess, bound))
            rough = [k for k in (i, j) if not solved[k]]
            if rough and pairs.by_itself(alone, i, j):
                k = rough[0]
                near = min(used, key=lambda other: abs(other[0] - k) + abs(other[1] - k))
                single = self.references.best(mu[[k]], np.ones(1), used[near], _ROUGH * best[0])
                gain[k], solved[k], used[(k, k)] = single.gain + single.excess, True, single.used
                continue
            near = min(used, key=lambda other: abs(other[0] - i) + abs(other[1] - j))
            also = np.concatenate([used[near], *(used[k, k] for k in (i, j) if (k, k) in used)])
            found = self._lost((mu[[i, j]], pairs.weights(i, j)), also, _ROUGH * best[0])
            used[(i, j)] = found[1].used
            pairs.learn(i, j, found[1].gain + found[1].excess)
            upper, best = max(upper, found[0] + found[1].excess), max(best, found, key=lambda one: one[0])

    def _alone(self, mu: FloatArray) -> FloatArray:
        """At least the largest E(b − μ)⁺, by (b − μ)⁺ ≤ (q − μ)⁺ + (b − q)⁺ and E(b − q)⁺ = (E|b − q| + E[b − q])/2."""
        rise = (self.references.eps + self.q.base_rate - float(self.q.mass @ self.q.p)) / 2
        return np.asarray(self.q.mass @ np.maximum(self.q.p[:, None] - mu, 0) + rise)

    @cached_property
    def _gaps(self) -> tuple[FloatArray, float]:
        """The thresholds, and how far E[(y − μ); M(q) > μ] can lie below its chords between them.

        Gaps are halved until that is little.  It is at most h²/8 times the second derivative, and at most the mass in
        the gap; for random rounding 0, since the function is linear between atoms.
        """
        mu = np.unique(np.concatenate([[0.0, 0.5, 1.0], self.q.p, *self.noise.quantile(_LEVELS[:, None], self.q.p)]))
        if self.noise.grid_size() is not None:
            return np.union1d(mu, self.noise.atoms(self.q.p).at), 0.0
        density = self.noise.density_after(self.q.p, np.stack([self.q.mass, self.q.positive]))
        while True:
            left, right = mu[:-1], mu[1:]
            mass = np.diff(self.noise.cdf(mu[:, None], self.q.p), axis=0) @ self.q.mass
            below = np.minimum(density.curvature(left, right) * (right - left) ** 2 / 8, mass)
            wide = np.argsort(-below)[: max(_MOST_THRESHOLDS - len(mu), 0)]
            wide = wide[below[wide] > _CLOSE * sqrt(self.references.eps)]
            if len(wide) == 0:
                return mu, float(below.max())
            mu = np.union1d(mu, (left[wide] + right[wide]) / 2)

    def _believed(self, mu: FloatArray) -> FloatArray:
        """E[(y − μ); M(q) > μ], or ≥ if that is less: ties are resolved in the worst way."""
        stake = np.outer(1 - mu, self.q.positive) - np.outer(mu, self.q.mass - self.q.positive)
        atoms = self.noise.atoms(self.q.p)
        on = np.where(atoms.at == mu[:, None, None], atoms.mass, 0.0).sum(axis=-1)
        above = (stake * (1 - self.noise.cdf(mu[:, None], self.q.p))).sum(axis=1)
        return np.asarray(above + np.minimum((stake * on).sum(axis=1), 0.0))

    def _lost(self, score: Score, also: FloatArray, enough: float = 0.0) -> tuple[float, BestReference, Score]:
        """What the decision maker with this score loses to the best reference for it, or one almost as good."""
        mu, weights = score
        found = self.references.best(mu, weights, also, enough)
        return found.gain - float(weights @ self._believed(mu)), found, score

    def _polished(self, reference: Predictor, score: Score) -> Score:
        """The best score against a reference with thresholds near those of a given one."""
        mu, _ = self._gaps
        near = [
            np.linspace(mu[max(k - 1, 0)], mu[min(k + 1, len(mu) - 1)], _POLISH) for k in np.searchsorted(mu, score[0])
        ]
        places = np.unique(np.concatenate([[0.5], *near]))
        lost = _upper(reference, places) - self._believed(places)
        pairs, weights = _scores(places)
        k = int(np.argmax((weights * lost[pairs]).sum(axis=1)))
        used = weights[k] > 0
        return places[pairs[k][used]], weights[k][used]

    def _report(self, best: tuple[float, BestReference, Score], upper: float) -> WorstReference:
        best = self._lost(best[2], best[1].used)
        polished = self._lost(self._polished(best[1].predictor(), best[2]), best[1].used)
        best = max(best, polished, key=lambda found: found[0])
        value, found, (thresholds, weights) = best
        upper = max(upper + 2 * self._gaps[1], value)
        return WorstReference(value, upper, found.predictor(), self.references.coupling(found), thresholds, weights)


@final
class _Pairs:
    """What is known of Φ(μ, μ'), the largest E u(b) for the score with thresholds μ ≤ 1/2 ≤ μ', on a grid.

    (b − μ)⁺ is convex in μ, and scores have mass 2 and mean 1/2.  So (μ' − μ)·Φ is convex in μ and in μ': between
    known values chords are above it, and between rows of such bounds chords as well.
    """

    def __init__(self, mu: FloatArray, believed: FloatArray, half: int) -> None:
        self.half, self.low, self.high = half, mu[: half + 1], mu[half:]
        self.gap = self.high - self.low[:, None]
        self.gap[-1, 0] = 1.0  # where 1/2 is the only threshold
        self.left, self.right = 2 * (self.high - 0.5) / self.gap, 2 * (0.5 - self.low)[:, None] / self.gap
        self.left[-1, 0] = 2.0
        self.believed = self.left * believed[: half + 1, None] + self.right * believed[half:]
        self.known, self.values = np.zeros(self.gap.shape, dtype=bool), np.zeros(self.gap.shape)

    @classmethod
    def of(cls, mu: FloatArray, believed: FloatArray) -> Self:
        return cls(mu, believed, int(np.searchsorted(mu, 0.5)))

    def weights(self, i: int, j: int) -> FloatArray:
        """What is at stake at two thresholds."""
        return np.array([self.left[i, j - self.half], self.right[i, j - self.half]])

    def learn(self, i: int, j: int, value: float) -> None:
        """Φ of two thresholds, or of 1/2 alone, which is the same with any other."""
        at = (i, j - self.half)
        for here in [(slice(-1, None), slice(None)), (slice(None), slice(0, 1))] if i == j else [at]:
            self.known[here], self.values[here] = True, value

    def by_itself(self, alone: FloatArray, i: int, j: int) -> bool:
        """Whether the bound on two thresholds is what each gains alone."""
        at = (i, j - self.half)
        return bool(self._sums(alone)[at] <= self._upper(alone)[at])

    def most_promising(self, alone: FloatArray) -> tuple[float, int, int]:
        """The largest bound on what is not known, and where."""
        bound = np.where(self.known, -1.0, self._upper(alone) - self.believed)
        i, j = np.unravel_index(int(np.argmax(bound)), bound.shape)
        return float(bound[i, j]), int(i), int(j) + self.half

    def _sums(self, alone: FloatArray) -> FloatArray:
        return np.asarray(self.left * alone[: self.half + 1, None] + self.right * alone[self.half :])

    def _upper(self, alone: FloatArray) -> FloatArray:
        """Bounds on Φ: what each threshold gains alone, and chords."""
        sums = self._sums(alone)
        stretched = np.where(self.known, self.values, sums) * self.gap
        stretched[-1, 0] = 0.0
        known = self.known.copy()
        known[[0, -1]], known[:, [0, -1]] = True, True
        rows, columns = (np.asarray(known[1:-1, 1:-1].any(axis=axis)) for axis in (1, 0))
        by_rows = _chords(_chords_in_rows(stretched, known, self.high), rows, self.low)
        by_columns = _chords(_chords_in_rows(stretched.T, known.T, self.low), columns, self.high).T
        return np.minimum(sums, np.minimum(by_rows, by_columns) / self.gap)


def _chords_in_rows(values: FloatArray, known: NDArray[np.bool_], x: FloatArray) -> FloatArray:
    """Each row, interpolated between what is known of it."""
    return np.array([np.interp(x, x[some], row[some]) for row, some in zip(values, known, strict=True)])


def _chords(rows: FloatArray, known: NDArray[np.bool_], x: FloatArray) -> FloatArray:
    """All rows, interpolated between the first, the last and those known of the others, if they are lower so."""
    places = np.concatenate([[0], 1 + np.flatnonzero(known), [len(x) - 1]])
    right = np.searchsorted(places, np.arange(len(x))).clip(1)
    first, last = places[right - 1], places[right]
    share = ((x - x[first]) / (x[last] - x[first]))[:, None]
    return np.asarray(np.minimum(rows, rows[first] * (1 - share) + rows[last] * share))


def _scores(mu: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """The extreme scores on given thresholds: two on either side of 1/2, or 1/2 alone (Theorem 1)."""
    low, high = np.flatnonzero(mu < 0.5), np.flatnonzero(mu > 0.5)
    half = int(np.searchsorted(mu, 0.5))
    i, j = (index.ravel() for index in np.meshgrid(low, high, indexing="ij"))
    weights = 2 * np.column_stack([mu[j] - 0.5, 0.5 - mu[i]]) / (mu[j] - mu[i])[:, None]
    pairs = np.concatenate([np.column_stack([i, j]), [[half, half]]])
    return pairs, np.concatenate([weights, [[2.0, 0.0]]])


def _upper(reference: Predictor, mu: FloatArray) -> FloatArray:
    """E(b − μ)⁺ at each threshold."""
    return np.asarray(np.maximum(reference.p - mu[:, None], 0.0) @ reference.mass)
