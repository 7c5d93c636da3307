"""W and V that decay by exp(−t/scale) between edges (see density.py), beside a constant part: after Laplace noise, and
after noise with a plateau and exponential tails."""

from __future__ import annotations

from functools import cached_property
from typing import final

import numpy as np

from trustcal.kernels.decay import absolute_area, decayed
from trustcal.noise.density import Density, FloatArray, IndexArray, ratio
from trustcal.noise.mechanism import Noise


class Decays(Density):
    """On piece i, at the distance t from its left end and u from its right,

    W = level[i, 0] + left[i, 0]·exp(−t/s) + right[i, 0]·exp(−u/s),    V likewise, with the second columns.
    """

    scale: float
    peak: FloatArray | float
    """The density of each value's noise is at most this times exp(−d/s), at the distance d."""
    level: FloatArray
    left: FloatArray
    right: FloatArray

    def fill(self) -> None:
        """The masses of the pieces, and p_hat at their ends."""
        gap = np.diff(self.edges)
        gone, kept = -np.expm1(-gap / self.scale), np.exp(-gap / self.scale)[:, None]
        self.mass = self.level.T * gap + self.scale * gone * (self.left + self.right).T
        starts = self.level + self.left + self.right * kept
        stops = self.level + self.left * kept + self.right
        self.ends = np.stack([ratio(starts.T), ratio(stops.T)])

    def absolute_bias(self) -> float:
        """Piece by piece, by at most five roots; none where p and p_hat are apart."""
        apart = (self.edges[1:] <= self.ends.min(axis=0)) | (self.edges[:-1] >= self.ends.max(axis=0))
        area = absolute_area.on(100 * int((~apart).sum()) + len(apart))
        return area(self.edges, self.scale, self.level, self.left, self.right, apart)

    def above(self, mu: FloatArray) -> FloatArray:
        """Whole pieces by running sums, and a part of one."""
        piece = self.piece_of(mu)
        return self.tails[:, piece + 1] + self.between(piece, mu, self.edges[piece + 1])

    def between(self, piece: IndexArray, x: FloatArray, y: FloatArray) -> FloatArray:
        """∫ W and ∫ V from x to y within a piece."""
        near, far = (x - self.edges[piece]) / self.scale, (self.edges[piece + 1] - y) / self.scale
        share = self.left[piece].T * np.exp(-near) + self.right[piece].T * np.exp(-far)
        return np.asarray(self.level[piece].T * (y - x) - self.scale * np.expm1((x - y) / self.scale) * share)

    def at(self, piece: IndexArray, x: FloatArray) -> FloatArray:
        """W and V at x."""
        near, far = (x - self.edges[piece]) / self.scale, (self.edges[piece + 1] - x) / self.scale
        return np.asarray(self.level[piece].T + self.left[piece].T * np.exp(-near) + self.right[piece].T * np.exp(-far))

    def curvature(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Σ over values q of mass·(2 + |q − q_hat|/s)·f, f their densities, bounded over the gap."""
        # A value adds mass·(μ − q_hat)·f' to μW' − V', where (μ − q)·f' ≤ 0, since f falls away from q, and |f'| ≤ f/s.
        # So sums of densities grow by at most exp(h/s) over the distance h.
        width, most = (right - left) / self.scale, float((self.weights[0] * self.peak).sum())
        dense = _grown(width, *(self.at(self.piece_of(x), x)[0] for x in (left, right)))
        dense = np.minimum(dense, most * np.exp(-self.away(left, right) / self.scale))
        biased = np.minimum(_grown(width, self._biased(left), self._biased(right)), dense)
        return np.asarray(2 * dense + biased / self.scale)

    def _biased(self, x: FloatArray) -> FloatArray:
        """At least Σ over values q of mass·|q − q_hat|·f."""
        places, left, right = self._bias
        gap = np.clip(np.searchsorted(places, x, side="right") - 1, 0, len(places) - 2)
        near, far = (x - places[gap]) / self.scale, (places[gap + 1] - x) / self.scale
        return np.asarray(left[gap, 0] * np.exp(-near) + right[gap, 0] * np.exp(-far))

    @cached_property
    def _bias(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """0, 1 and the values, and what reaches each gap between them, as `left` and `right`."""
        places, (mass, positive) = np.union1d(self.p, [0.0, 1.0]), self.weights
        return places, *sweeps(places, self.p, (np.abs(positive - self.p * mass) * self.peak)[None], self.scale)


@final
class Exponentials(Decays):
    """Laplace noise: no constant part, and p_hat is a logistic curve between two ratios."""

    def __init__(self, p: FloatArray, weights: FloatArray, noise: Noise, scale: float) -> None:
        super().__init__(p, weights, noise.atoms(p).mass)
        self.scale, self.peak = scale, noise.density(p, p)
        self.edges = np.union1d(p, [0.0, 1.0])
        self.left, self.right = sweeps(self.edges, p, self.weights * self.peak, scale)
        self.level = np.zeros_like(self.left)
        self.fill()

    def partly(self, piece: IndexArray, mu: FloatArray) -> FloatArray:
        """The root of V − μW is a logarithm."""
        left, right = (side[piece, 1] - mu * side[piece, 0] for side in (self.left, self.right))
        start, stop = self.edges[piece], self.edges[piece + 1]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root = start + ((stop - start) + self.scale * np.log(-left / right)) / 2
        falling = left > right
        root = np.where(np.isnan(root), np.where(falling, stop, start), np.clip(root, start, stop))
        inside = self.between(piece, np.where(falling, start, root), np.where(falling, root, stop))
        return np.asarray(np.maximum(inside[1] - mu * inside[0], 0.0))


def sweeps(places: FloatArray, p: FloatArray, peaks: FloatArray, scale: float) -> tuple[FloatArray, FloatArray]:
    """What reaches each gap between places from its left and its right end: a column for each row of peaks at p."""
    return swept(places, p, peaks, scale)[:-1], swept(places[::-1], p, peaks, scale)[-2::-1]


def _grown(width: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """What sums of densities are at most in gaps so many scales wide, by the sums at their ends."""
    # Sums below the smallest normal number are rounded, to 0 in the end; over more than 700 scales growth says nothing.
    least = np.maximum(np.minimum(left, right), np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        grown = least * np.exp(np.minimum(width, 700.0))
    return np.where(width < 700, grown, np.inf)


def swept(places: FloatArray, begin: FloatArray, peaks: FloatArray, scale: float) -> FloatArray:
    """What has reached each place, in the order in which they are given, of exponentials that begin at some of them."""
    order = np.argsort(places)
    at = order[np.minimum(np.searchsorted(places[order], begin), len(places) - 1)]
    here = places[at] == begin  # others begin outside
    sweep, begun = decayed.on(len(places)), np.zeros((len(peaks), len(places)))
    for row, peak in zip(begun, peaks, strict=True):
        np.add.at(row, at[here], peak[here])
    return np.stack([sweep(places, row, scale) for row in begun], axis=-1)
