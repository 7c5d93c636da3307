"""W and V, the densities of noised predictions and of those with y = 1, piece by piece (see smoothed.py)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.kernels.decay import absolute_area, decayed, running_pairs
from trustcal.noise import ClampedLaplace, Noise, TruncatedLaplace, UniformNoise
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]


class Density(ABC):
    """W and V on pieces of [0, 1], in each of which p_hat is monotone."""

    edges: FloatArray
    mass: FloatArray
    """Pieces in columns, the two rows being ∫ W and ∫ V."""
    ends: FloatArray
    """p_hat at the left and the right end of each piece."""

    def __init__(self, q: Predictor, noise: Noise) -> None:
        self.p, self.weights = q.p, np.stack([q.mass, q.positive])
        atoms = noise.atoms(q.p).mass
        self.atoms = (self.weights @ atoms).T if atoms.shape[-1] else np.zeros((2, 2))
        """Rows: the atoms at 0 and 1; columns: mass, positive."""

    def regret(self, mu: FloatArray) -> FloatArray:
        """R at each threshold."""
        (zero, zero_1), (one, one_1) = self.atoms
        found = np.maximum(zero_1 - mu * zero, 0.0) + np.maximum(mu * one - one_1, 0.0)
        low, high, order, (mass, positive) = self._by_posterior
        first = np.searchsorted(low[order], mu)
        above = self.above(mu)
        found += (positive[first] - mu * mass[first]) - (above[1] - mu * above[0])
        if (low < high).any():
            pairs = [np.flatnonzero((low < threshold) & (high > threshold)) for threshold in mu]
            piece = np.concatenate([*pairs, []]).astype(np.intp)
            which = np.repeat(np.arange(len(mu)), [len(pair) for pair in pairs])
            found += np.bincount(which, self.partly(piece, mu[which]), minlength=len(mu))
        return np.asarray(np.maximum(found, 0.0))

    def away(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """How far the nearest prediction lies from each interval; 0 if inside."""
        first = np.searchsorted(self.p, left)
        below = left - np.append(-np.inf, self.p)[first]
        above = np.append(self.p, np.inf)[first] - right
        return np.asarray(np.maximum(np.minimum(below, above), 0.0))

    @cached_property
    def _by_posterior(self) -> tuple[FloatArray, FloatArray, IndexArray, FloatArray]:
        """The least and the largest p_hat of each piece, the order of the least, and masses from each place upwards."""
        low, high = self.ends.min(axis=0), self.ends.max(axis=0)
        order = np.argsort(low)
        return low, high, order, _upwards(self.mass[:, order])

    @abstractmethod
    def absolute_bias(self) -> float:
        """∫ |p·W − V| dp."""

    @abstractmethod
    def above(self, mu: FloatArray) -> FloatArray:
        """∫ W and ∫ V over p > μ."""

    @abstractmethod
    def partly(self, piece: IndexArray, mu: FloatArray) -> FloatArray:
        """∫ (V − μW)⁺ over pieces in which p_hat crosses μ."""

    @abstractmethod
    def thresholds(self) -> FloatArray:
        """Where the search begins; `curvature` may be used between these."""

    @abstractmethod
    def curvature(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """At least the largest 2W + μW' − V' between two thresholds."""


@final
class Steps(Density):
    """Uniform noise: densities constant between edges."""

    def __init__(self, q: Predictor, noise: UniformNoise) -> None:
        super().__init__(q, noise)
        # Ends are rounded, and noise may be narrower than the gap between floats.  So a value has on the piece between
        # its ends, as they are, all the mass that it does not have at 0 or 1: what moves by a rounding is not lost.
        start = np.minimum(q.p - noise.width, np.nextafter(q.p, -1.0))
        end = np.maximum(q.p + noise.width, np.nextafter(q.p, 2.0))
        share = (1 - noise.atoms(q.p).mass.sum(axis=1)) / (np.minimum(end, 1.0) - np.maximum(start, 0.0))
        edges = np.concatenate([[0.0, 1.0], start, end])
        self.edges = np.unique(edges[(edges >= 0) & (edges <= 1)])
        middle = (self.edges[1:] + self.edges[:-1]) / 2
        # The middle of a piece tells which values reach it.
        begin = np.searchsorted(end, middle)
        stop = np.maximum(begin, np.searchsorted(start, middle, side="right"))
        pairs = running_pairs.on(len(q))
        sums = []
        for weight in self.weights:
            hi, lo = pairs(weight * share)
            sums.append((hi[stop] - hi[begin]) + (lo[stop] - lo[begin]))
        self.level = np.stack(sums)
        self.mass = self.level * np.diff(self.edges)
        posterior = ratio(self.level)
        self.ends = np.stack([posterior, posterior])

    def absolute_bias(self) -> float:
        """On each piece the integral of W·|p − p_hat|, with constant W and p_hat."""
        a, b, p_hat = self.edges[:-1], self.edges[1:], self.ends[0]
        outside = np.abs(self.level[0] * (a + b) / 2 - self.level[1]) * (b - a)
        inside = self.level[0] * ((p_hat - a) ** 2 + (b - p_hat) ** 2) / 2
        return float(np.where((a < p_hat) & (p_hat < b), inside, outside).sum())

    def above(self, mu: FloatArray) -> FloatArray:
        """Whole pieces by running sums, and a part of one."""
        piece = np.clip(np.searchsorted(self.edges, mu, side="right") - 1, 0, len(self.edges) - 2)
        return self._tails[:, piece + 1] + self.level[:, piece] * (self.edges[piece + 1] - mu)

    @cached_property
    def _tails(self) -> FloatArray:
        return _upwards(self.mass)

    def partly(self, piece: IndexArray, mu: FloatArray) -> FloatArray:  # noqa: ARG002 - p_hat is constant on a piece
        """None: p_hat is constant on a piece and crosses nothing."""
        return np.zeros(len(piece))

    def thresholds(self) -> FloatArray:
        """All edges: between them R is smooth but for convex kinks."""
        return np.union1d(self.edges, [0.5])

    def curvature(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """2W: W and V are constant."""
        middle = np.searchsorted(self.edges, (left + right) / 2, side="right") - 1
        return np.asarray(2 * self.level[0, np.clip(middle, 0, len(self.edges) - 2)])


@final
class Exponentials(Density):
    """Laplace noise: on piece i, at the distance t from its left end and u from its right,

        W = left[i, 0]·exp(−t/s) + right[i, 0]·exp(−u/s),   V = left[i, 1]·exp(−t/s) + right[i, 1]·exp(−u/s)

    and p_hat is a logistic curve between their ratios.
    """

    def __init__(self, q: Predictor, noise: TruncatedLaplace | ClampedLaplace) -> None:
        super().__init__(q, noise)
        self.scale = noise.scale
        self.edges = np.union1d(q.p, [0.0, 1.0])
        at, peak = np.searchsorted(self.edges, q.p), noise.density(q.p, q.p)
        self.most = float(self.weights[0] @ peak)
        self.left, self.right = np.empty((len(self.edges) - 1, 2)), np.empty((len(self.edges) - 1, 2))
        sweep = decayed.on(len(self.edges))
        for y in (0, 1):
            weight = np.zeros(len(self.edges))
            weight[at] = self.weights[y] * peak
            self.left[:, y] = sweep(self.edges, weight, self.scale)[:-1]
            self.right[:, y] = sweep(self.edges[::-1], weight[::-1], self.scale)[-2::-1]
        gap = np.diff(self.edges)
        gone, kept = -np.expm1(-gap / self.scale), np.exp(-gap / self.scale)
        self.mass = self.scale * gone * (self.left + self.right).T
        starts, stops = self.left + self.right * kept[:, None], self.left * kept[:, None] + self.right
        self.ends = np.stack([ratio(starts.T), ratio(stops.T)])

    def absolute_bias(self) -> float:
        """Gap by gap, by at most three roots."""
        return absolute_area.on(50 * len(self.edges))(self.edges, self.scale, self.left, self.right)

    def above(self, mu: FloatArray) -> FloatArray:
        """Whole gaps by running sums, and a part of one."""
        piece = np.clip(np.searchsorted(self.edges, mu, side="right") - 1, 0, len(self.edges) - 2)
        return self._tails[:, piece + 1] + self._between(piece, mu, self.edges[piece + 1])

    @cached_property
    def _tails(self) -> FloatArray:
        return _upwards(self.mass)

    def _between(self, piece: IndexArray, x: FloatArray, y: FloatArray) -> FloatArray:
        """∫ W and ∫ V from x to y within a piece."""
        near, far = (x - self.edges[piece]) / self.scale, (self.edges[piece + 1] - y) / self.scale
        share = self.left[piece].T * np.exp(-near) + self.right[piece].T * np.exp(-far)
        return np.asarray(-self.scale * np.expm1((x - y) / self.scale) * share)

    def partly(self, piece: IndexArray, mu: FloatArray) -> FloatArray:
        """The root of V − μW is a logarithm."""
        left, right = (side[piece, 1] - mu * side[piece, 0] for side in (self.left, self.right))
        start, stop = self.edges[piece], self.edges[piece + 1]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root = start + ((stop - start) + self.scale * np.log(-left / right)) / 2
        falling = left > right
        root = np.where(np.isnan(root), np.where(falling, stop, start), np.clip(root, start, stop))
        inside = self._between(piece, np.where(falling, start, root), np.where(falling, root, stop))
        return np.asarray(np.maximum(inside[1] - mu * inside[0], 0.0))

    def thresholds(self) -> FloatArray:
        """A grid; R is smooth but for convex kinks."""
        return np.linspace(0, 1, 65)

    def curvature(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """(2 + 1/s)·W, bounded over the gap."""
        # Each value's density has a slope of at most itself/s, so W grows by at most exp(h/s) over the distance h, and
        # μW' − V', in which a value's slope is weighted by μ − p_hat of that value, is at most W/s.
        width, least = (right - left) / self.scale, np.minimum(self._at(left), self._at(right))
        # Over more than 700 scales W may be 0 in floating point where it is not 0, and its growth says nothing.
        grown = np.where(width < 700, least * np.exp(np.minimum(width, 700)), np.inf)
        fallen = self.most * np.exp(-self.away(left, right) / self.scale)
        return np.asarray((2 + 1 / self.scale) * np.minimum(grown, fallen))

    def _at(self, x: FloatArray) -> FloatArray:
        """W at x."""
        piece = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.edges) - 2)
        near, far = (x - self.edges[piece]) / self.scale, (self.edges[piece + 1] - x) / self.scale
        return np.asarray(self.left[piece, 0] * np.exp(-near) + self.right[piece, 0] * np.exp(-far))


def ratio(densities: FloatArray) -> FloatArray:
    """V/W, where there is any density."""
    posterior = np.zeros(densities.shape[1])
    np.divide(densities[1], densities[0], out=posterior, where=densities[0] > 0)
    return posterior


def _upwards(mass: FloatArray) -> FloatArray:
    """Both rows summed from each place upwards; the last entry is 0."""
    pairs = running_pairs.on(mass.shape[1])
    return np.stack([np.add(*pairs(row[::-1]))[::-1] for row in mass])
