"""W and V after Gaussian noise (see density.py): sums of bells, whose roots are found on a grid.

All of these are sums over predictions q, of functions of q that are analytic at the scale σ of the noise.  In a cell
of width σ/2 the polynomial through 12 Chebyshev nodes is off a bell f by at most 2·max|f^(12)|·(σ/8)^12/12!, which is
2.2·8^−12/√12! < 1.5e-15 of its peak by Cramér's bound of Hermite functions.  So the many predictions in a cell are as
good as 12, with the weights for which those polynomials have the same sums.
"""

from __future__ import annotations

from functools import cached_property
from math import ceil, pi, sqrt
from typing import TYPE_CHECKING, final

import numpy as np

from trustcal.kernels.decay import running_pairs
from trustcal.kernels.series import positive_areas
from trustcal.noise.bias import absolute_bias
from trustcal.noise.density import Density, FloatArray, IndexArray, ratio
from trustcal.noise.nearby import mixed, sign_changes
from trustcal.rows import run_starts

if TYPE_CHECKING:
    from trustcal.noise.gaussian import GaussianNoise

_NODES = 12
_DEGREE = 10
_MOST_CELLS = 1 << 20
_ROOT_2PI = sqrt(2 * pi)


@final
class Bells(Density):
    """Gaussian noise: sums over all values within reach, by Φ and φ."""

    def __init__(self, p: FloatArray, weights: FloatArray, noise: GaussianNoise) -> None:
        super().__init__(p, weights, noise.atoms(p).mass)
        self.noise, self.scale = noise, noise.scale
        self.own_peaks = np.stack([weights[0], np.abs(weights[1] - p * weights[0])]) * noise.density(p, p)
        """Two rows: the mass of each value q, and its mass times |q − q_hat|, times the peak of its bell."""
        self.places, self.weights = condensed(p, weights, self.scale)
        self.peaks = self.weights * noise.density(self.places, self.places)
        self.nodes = _nodes(p, self.scale)
        at_nodes = self._densities(self.nodes)
        turns = sign_changes(self._turning, self.nodes, self._turning(self.nodes, at_nodes))
        self.edges, kept = np.unique(np.concatenate([self.nodes, turns]), return_index=True)
        self.mass = np.maximum(np.diff(self._cdf(self.edges), axis=1), 0.0)
        at_edges = np.concatenate([at_nodes, self._densities(turns)], axis=1)[:, kept]
        posterior, seen, mean = ratio(at_edges), at_edges[0] > 0, ratio(self.mass)
        self.ends = np.where([seen[:-1], seen[1:]], [posterior[:-1], posterior[1:]], mean)
        self._row = np.full(len(self.edges) - 1, -1)  # of a piece in the table of its series; −1 if not yet known
        self._table = np.empty((2, 0, _DEGREE))

    def _densities(self, x: FloatArray, rest: FloatArray | None = None) -> FloatArray:
        """W and V at x, or at x + rest: the gap between floats counts where the scale is not much wider."""

        def bell(t: FloatArray, q: FloatArray, rest: FloatArray | float = 0.0) -> FloatArray:
            return np.asarray(np.exp(-((((t - q) + rest) / self.scale) ** 2) / 2))

        return mixed(bell, self.places, self.peaks, x, self.scale, rest=rest)

    def _slopes(self, x: FloatArray) -> FloatArray:
        """W' and V'."""

        def slope(t: FloatArray, q: FloatArray) -> FloatArray:
            z = (t - q) / self.scale
            return np.asarray(-z * np.exp(-z * z / 2))

        return mixed(slope, self.places, self.peaks / self.scale, x, self.scale)

    def _cdf(self, x: FloatArray) -> FloatArray:
        """Pr[p ≤ x] and Pr[p ≤ x, y = 1], without the atom at 1."""
        return mixed(self._below, self.places, self.weights, x, self.scale, far=1.0)

    def _below(self, x: FloatArray, q: FloatArray) -> FloatArray:
        below, last = self.noise.cdf(x, q), x == 1
        if not last.any():
            return below
        atoms = self.noise.atoms(q).mass
        return np.where(last, below - atoms[..., 1], below) if atoms.shape[-1] else below

    def _turning(self, x: FloatArray, densities: FloatArray | None = None) -> FloatArray:
        """Has the sign of the slope of p_hat."""
        (w, v), (w_slope, v_slope) = self._densities(x) if densities is None else densities, self._slopes(x)
        return np.asarray(v_slope * w - v * w_slope)

    def absolute_bias(self) -> float:
        """By roots of the bias, in places counted from the values."""
        inside = self.noise.density(self.places, self.places) * self.scale * _ROOT_2PI
        return absolute_bias(self.places, self.weights, inside, self.scale)

    def above(self, mu: FloatArray) -> FloatArray:
        """By the distribution functions."""
        return np.asarray(self._cdf(np.array([1.0])) - self._cdf(mu))

    def partly(self, piece: IndexArray, mu: FloatArray) -> FloatArray:
        """By the Chebyshev series of V − μW on each piece: its root, and its integral on the positive side."""
        row = self._series(piece)
        w, v = self._table.reshape(2, -1)
        # An error in a root costs its square times the mass of the piece.
        enough = np.sqrt(1e-18 / np.maximum(self.mass[0, piece], 1e-18)).clip(1e-10)
        falling = (self.ends[0, piece] > mu).astype(np.int64)
        areas = positive_areas.on(500 * len(piece))(w, v, _DEGREE, row, mu, falling, enough)
        return np.asarray(areas * (self.edges[piece + 1] - self.edges[piece]) / 2)

    def _series(self, piece: IndexArray) -> IndexArray:
        """The rows of pieces in the table of Chebyshev series of W and V.

        Pieces are at most σ/8 long: 10 terms leave 1e-17 of a peak.
        """
        new = np.unique(piece[self._row[piece] < 0])
        if len(new):
            angle = np.pi * (np.arange(_DEGREE) + 0.5) / _DEGREE
            left, right = self.edges[new, None], self.edges[new + 1, None]
            along = (right - left) * ((1 + np.cos(angle)) / 2)
            x = left + along
            values = self._densities(x.ravel(), (along - (x - left)).ravel())
            terms = np.cos(np.outer(angle, np.arange(_DEGREE))) * 2 / _DEGREE
            terms[:, 0] /= 2
            self._row[new] = self._table.shape[1] + np.arange(len(new))
            self._table = np.concatenate([self._table, values.reshape(2, -1, _DEGREE) @ terms], axis=1)
        return np.asarray(self._row[piece])

    def curvature(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """The largest bound of the cells of half a scale that an interval touches, if they are not too many."""
        if 2 / self.scale > _MOST_CELLS:
            return self._by_rings(left, right)
        cells = len(self._by_cell)
        first, last = ((np.minimum(x, 1.0) * cells).astype(np.intp).clip(0, cells - 1) for x in (left, right))
        touched = np.stack([np.maximum(first - 1, 0), last + 1], axis=1).ravel()  # a cell more, as ends are rounded
        return np.asarray(np.maximum.reduceat(np.append(self._by_cell, 0.0), touched)[::2])

    @cached_property
    def _by_cell(self) -> FloatArray:
        """The bound in each cell of half a scale."""
        return _steepness(self.p, self.own_peaks, self.scale)

    @cached_property
    def _up_to(self) -> FloatArray:
        """`own_peaks`, summed up to each value, each sum as a number and its rounding error."""
        return np.stack([running_pairs.on(len(self.p))(row) for row in self.own_peaks])

    def _by_rings(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """By the masses in each interval and in 12 rings of a scale on each side of it.

        Bells farther away have 1e-32 of their mass in it.
        """
        reach = np.arange(13) * self.scale
        begin = np.searchsorted(self.p, left[:, None] - reach)
        stop = np.searchsorted(self.p, right[:, None] + reach, side="right")
        first = np.concatenate([begin, stop[:, :-1]], axis=1)  # the interval, the rings below it, the rings above it
        last = np.concatenate([stop[:, :1], begin[:, :-1], stop[:, 1:]], axis=1)
        rings = np.maximum((self._up_to[..., last] - self._up_to[..., first]).sum(axis=1), 0.0)
        bells = _steepest(np.array([0.0, *range(12), *range(12)]), self.scale)
        return np.asarray(np.einsum("rik,rk->i", rings, bells))


def _nodes(p: FloatArray, scale: float) -> FloatArray:
    """A grid of an eighth of the scale within 8.5 scales of a value, but coarse where only one value counts.

    Farther away bells have 2Φ(−8.5) < 2e-17 of their mass.  Densities are sums over places within 9 scales, and
    `condensed` moves a value by up to half a scale.  So where only one value is within 13 scales, p_hat is its own,
    and a long piece needs no series.
    """
    step, reach, counts = min(scale / 8, 1 / 16), 8.5 * scale, 13 * scale
    crowded = np.diff(p) <= reach + counts
    alone = ~(np.append(crowded, False) | np.append(False, crowded))
    # Multiples of the step within reach of some value: each value adds those beyond the reach of the one before it.
    near = np.clip(p[~alone, None] + np.array([-reach, reach]), 0.0, 1.0) / step
    first, last = np.floor(near[:, 0]).astype(np.int64), np.ceil(near[:, 1]).astype(np.int64)
    first[1:] = np.maximum(first[1:], last[:-1] + 1)
    count = np.maximum(last - first + 1, 0)
    fine = step * (np.arange(count.sum()) + np.repeat(first - (np.cumsum(count) - count), count))
    single = p[alone]  # noise may be narrower than the gap between floats
    below = np.minimum(single - reach, np.nextafter(single, -1))
    above = np.maximum(single + reach, np.nextafter(single, 2))
    nodes = np.concatenate([single, below, above, fine])
    nodes = np.unique(np.concatenate([[0.0, 1.0], nodes[(nodes > 0) & (nodes < 1)]]))
    first, stop = np.searchsorted(p, nodes + np.array([[-counts], [counts]]))
    dull = (stop - first <= 1)[:-1] & (first[:-1] == first[1:]) & (stop[:-1] == stop[1:])  # the gap after each node
    kept = np.concatenate([[True], ~(dull[:-1] & dull[1:]), [True]])
    kept[np.searchsorted(nodes, single)] = True
    return np.asarray(nodes[kept])


def _steepness(p: FloatArray, peaks: FloatArray, scale: float) -> FloatArray:
    """At least Σ over values q of mass·(2f + |q − q_hat|·|f'|) in each cell of half a scale (see `Decays.curvature`).

    Bells are at most those at the distance of the nearer ends.  O(n + 1/scale).
    """
    cells = max(1, ceil(2 / scale))
    cell = np.minimum((p * cells).astype(np.intp), cells - 1)
    reach = min(cells, ceil(12 * scale * cells) + 2)
    z = np.maximum(np.abs(np.arange(-reach, reach + 1)) - 1, 0) / (cells * scale)
    height = np.stack([np.bincount(cell, peak, minlength=cells) for peak in peaks])
    bounds = [np.convolve(*pair)[reach : reach + cells] for pair in zip(height, _steepest(z, scale), strict=True)]
    return np.asarray(np.sum(bounds, axis=0))


def _steepest(z: FloatArray, scale: float) -> FloatArray:
    """At least 2f and |f'| of a bell f with peak 1, in two rows, z scales from it and farther."""
    # 2f falls from 0 scales on and |f'| from 1 scale on.
    near, steep = np.clip(z, 0.0, 40.0), np.clip(z, 1.0, 40.0)  # at 40 scales they are 0 in floating point
    return np.stack([2 * np.exp(-(near**2) / 2), steep * np.exp(-(steep**2) / 2) / scale])


def condensed(p: FloatArray, weights: FloatArray, scale: float) -> tuple[FloatArray, FloatArray]:
    """At most 12 places for each cell of half a scale, and weights (in two rows) for them that serve as those of all p.

    >>> places, weights = condensed(np.linspace(0, 1, 1001), np.full((2, 1001), 1 / 1001), scale=0.1)
    >>> len(places), bool(abs(weights[0] @ np.exp(places) - np.exp(np.linspace(0, 1, 1001)).mean()) < 1e-15)
    (240, True)

    O(n).
    """
    cells = max(1, ceil(2 / scale))
    if len(p) <= _NODES * cells:
        return p, weights
    cell = np.minimum((p * cells).astype(np.intp), cells - 1)
    t = 2 * (p * cells - cell) - 1  # from −1 to 1 in each cell
    starts = run_starts(cell)
    angle = np.pi * (np.arange(_NODES)[::-1] + 0.5) / _NODES
    places = (cell[starts][:, None] + (1 + np.cos(angle)) / 2) / cells
    # Σ over p of weight·ℓ_j(t), where ℓ_j = (2/12)·Σ' T_k(t_j)·T_k is 1 at node j and 0 at the others
    condensed_weights = np.zeros((2, *places.shape))
    before, chebyshev = t, np.ones_like(t)
    for k in range(_NODES):
        moments = np.add.reduceat(weights * chebyshev, starts, axis=1)
        condensed_weights += moments[..., None] * np.cos(k * angle) * ((1 if k == 0 else 2) / _NODES)
        before, chebyshev = chebyshev, 2 * t * chebyshev - before  # T_(−1) = T_1 = t
    return places.ravel(), condensed_weights.reshape(2, -1)
