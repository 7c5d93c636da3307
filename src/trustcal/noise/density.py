"""W and V, the densities of noised predictions and of those with y = 1, on pieces of [0, 1].

The noised prediction p has, on [0, 1], the densities W of p and V of p together with y = 1, and for clamped noise atoms
at 0 and 1.  [0, 1] is cut into pieces on which the posterior p_hat = V/W is monotone, as each noise knows best:

    uniform     W and V are constant between the points q ± width
    Laplace     W and V are two exponentials each between neighbouring q, so p_hat is a logistic curve there
    plateau     a constant and two exponentials each between the points q ± scale; pieces end at turning points too
    Gaussian    pieces end where V'W − VW' changes sign, found on a grid of an eighth of the scale
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trustcal.kernels.decay import running_pairs

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

_NOTHING = 1e-13
_AT_ONCE = 1 << 18
"""Pairs of a piece and a threshold in it that are held in memory: 120 bytes each."""


class Density(ABC):
    """W and V on pieces of [0, 1], in each of which p_hat is monotone."""

    edges: FloatArray
    mass: FloatArray
    """Pieces in columns, the two rows being ∫ W and ∫ V."""
    ends: FloatArray
    """p_hat at the left and the right end of each piece."""

    def __init__(self, p: FloatArray, weights: FloatArray, atoms: FloatArray) -> None:
        self.p, self.weights = p, weights
        self.atoms = (weights @ atoms).T if atoms.shape[-1] else np.zeros((2, 2))
        """Rows: the atoms at 0 and 1; columns: mass, positive."""

    def regret(self, mu: FloatArray) -> FloatArray:
        """R at each threshold."""
        return np.asarray(np.maximum(self.gain(mu) - self.kept(mu), 0.0))

    def kept(self, mu: FloatArray) -> FloatArray:
        """What belief gains without the atoms: ∫ (V − μW) over p > μ."""
        mass, positive = self.above(mu)
        return np.asarray(positive - mu * mass)

    def gain(self, mu: FloatArray) -> FloatArray:
        """What the best swap gains: ∫ (V − μW)⁺, and what it gains over belief on the atoms.  Convex in μ."""
        (zero, zero_1), (one, one_1) = self.atoms
        found = np.maximum(zero_1 - mu * zero, 0.0) + np.maximum(mu * one - one_1, 0.0)
        least, (mass, positive) = self._by_posterior
        first = np.searchsorted(least, mu)
        found += positive[first] - mu * mass[first]
        sorted_mu = np.argsort(mu)
        some, low, high = self._crossing
        within = (low < mu.max(initial=0.0)) & (high > mu.min(initial=1.0))
        some, low, high = some[within], low[within], high[within]
        if len(some):
            begin = np.searchsorted(mu[sorted_mu], low, side="right")
            count = np.maximum(np.searchsorted(mu[sorted_mu], high) - begin, 0)
            if len(mu) > 1 and count.sum() > _AT_ONCE:
                return np.concatenate([self.gain(half) for half in np.array_split(mu, 2)])
            piece = np.repeat(some, count)
            which = sorted_mu[np.arange(len(piece)) + np.repeat(begin - (np.cumsum(count) - count), count)]
            found += np.bincount(which, self.partly(piece, mu[which]), minlength=len(mu))
        return np.asarray(found)

    def away(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """How far the nearest prediction lies from each interval; 0 if inside."""
        first = np.searchsorted(self.p, left)
        below = left - np.append(-np.inf, self.p)[first]
        above = np.append(self.p, np.inf)[first] - right
        return np.asarray(np.maximum(np.minimum(below, above), 0.0))

    @cached_property
    def _by_posterior(self) -> tuple[FloatArray, FloatArray]:
        """The least p_hat of each piece, in increasing order, and masses from each place upwards in that order."""
        least = self.ends.min(axis=0)
        order = np.argsort(least)
        return least[order], _upwards(self.mass[:, order])

    @cached_property
    def _crossing(self) -> tuple[IndexArray, FloatArray, FloatArray]:
        """The pieces in which p_hat varies, with its least and its largest value, but not those where it matters least.

        Treated as if p_hat did not vary there, ∫ (V − μW)⁺ is off by at most the mass of a piece times the range of
        p_hat in it: less than 1e-13 in all.
        """
        low, high = self.ends.min(axis=0), self.ends.max(axis=0)
        matters = self.mass[0] * (high - low)
        varied = np.flatnonzero(matters)
        varied = varied[np.argsort(matters[varied], kind="stable")]
        some = np.sort(varied[np.searchsorted(np.cumsum(matters[varied]), _NOTHING) :])
        return some, low[some], high[some]

    @cached_property
    def tails(self) -> FloatArray:
        """∫ W and ∫ V from the left end of each piece upwards; the last entry is 0."""
        return _upwards(self.mass)

    def piece_of(self, x: FloatArray) -> IndexArray:
        """The piece in which each x lies."""
        return np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.edges) - 2)

    @abstractmethod
    def absolute_bias(self) -> float:
        """∫ |p·W − V| dp."""

    @abstractmethod
    def above(self, mu: FloatArray) -> FloatArray:
        """∫ W and ∫ V over p > μ."""

    @abstractmethod
    def partly(self, piece: IndexArray, mu: FloatArray) -> FloatArray:
        """∫ (V − μW)⁺ over pieces in which p_hat crosses μ."""

    def thresholds(self) -> FloatArray:
        """Where the search begins; `curvature` may be used between these.  A grid: R is smooth but for convex kinks."""
        return np.linspace(0, 1, 17)

    @abstractmethod
    def curvature(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """At least the largest 2W + μW' − V' between two thresholds."""


def ratio(densities: FloatArray) -> FloatArray:
    """V/W, where there is any density; not used, and may overflow, where zeros and ones are apart (`bin_masses`)."""
    posterior = np.zeros(densities.shape[1])
    with np.errstate(over="ignore"):
        np.divide(densities[1], densities[0], out=posterior, where=densities[0] > 0)
    return posterior


def range_sums(values: FloatArray, begin: IndexArray, stop: IndexArray) -> FloatArray:
    """The sums of values[begin:stop], to the last digits however many values there are; none is negative.

    O(n).  Where values differ by factors of 1e8 or more, differences of running sums would lose the small ones.  Then
    sums of 2, 4, 8, … neighbours are added, O(n log n).
    """
    if values.max(initial=0.0) > 1e8 * values[values > 0].min(initial=np.inf):
        found = np.zeros(len(begin))
        while (begin < stop).any():
            found += np.where((begin < stop) & (begin % 2 == 1), values[np.minimum(begin, len(values) - 1)], 0.0)
            found += np.where((begin < stop) & (stop % 2 == 1), values[np.maximum(stop - 1, 0)], 0.0)
            begin, stop = (begin + 1) // 2, stop // 2
            values = np.append(values, 0.0) if len(values) % 2 else values
            values = values[::2] + values[1::2]
        return found
    hi, lo = running_pairs.on(len(values))(values)
    return np.asarray((hi[stop] - hi[begin]) + (lo[stop] - lo[begin]))


def running_sums(mass: FloatArray) -> FloatArray:
    """Both rows summed up to each place; the first entry is 0."""
    pairs = running_pairs.on(mass.shape[1])
    return np.stack([np.add(*pairs(row)) for row in mass])


def _upwards(mass: FloatArray) -> FloatArray:
    """Both rows summed from each place upwards; the last entry is 0."""
    return running_sums(mass[:, ::-1])[:, ::-1]
