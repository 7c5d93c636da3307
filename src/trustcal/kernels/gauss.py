"""The heat kernel on [0, 1]: point masses smoothed by a reflected Gaussian, with a stated error.

Notation, used throughout the file:

    x, c       the places of the point masses (sorted, in [0, 1]) and their sizes (of either sign); |c| = Σ |c[i]|
    level      the unit interval is cut into 2^level cells; cell j is [j, j + 1] / 2^level
    u          the place of a point in its cell, −1/2 … 1/2; powers of two keep it exact but for the last bit
    moments    moments[j, k] = the sum of c u^k over cell j
    sigma      the standard deviation of the Gaussian; the reflected kernel is the sum over its mirror images
    rho        the cell's width in units of sigma, at most 1/2
    density    density[j, m]: on cell j the smoothed masses are Σ_m density[j, m] u^m du

Only cells that hold something, or are reached by something, are stored: the cost does not depend on how small sigma is.

Error (theory.md, section 6).  Between a point and a place the kernel is expanded to total degree DEGREE around the
two cells' centres, and cut off where the centres' cells are REACH sigmas apart.  In the L1 norm this costs at most

    |c| · (tail + remainder),  tail = 2Φ(−7) < 2.6e-12,  remainder < 2 (1/2)^16 / √16! < 6.7e-12.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, comb, factorial, log2, pi, sqrt
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.kernels import FloatArray, IntArray

DEGREE = 15
REACH = 7.0
SMOOTHING_ERROR = 1e-11
"""The error of `smoothed` in the L1 norm, per unit of |c|: 2.6e-12 + 6.7e-12 and rounding below 1e-13."""
_BLOCK = 4096
_CHUNK = 1024
"""Rows per matrix product: with more, OpenBLAS starts threads, which here cost more than they save."""

_K = np.arange(DEGREE + 1)
_HALVES = np.array([0.5**k for k in range(DEGREE + 1)])
_SIGNS = np.array([(-1.0) ** k for k in range(DEGREE + 1)])
# A polynomial's integral over its cell and that of its second derivative are sums of its coefficients times these.
_INTEGRALS: FloatArray = np.where(_K % 2 == 0, _HALVES / (_K + 1), 0.0)
_BENDS: FloatArray = np.where(_K % 2 == 0, 4 * _K * _HALVES, 0.0)
_TAYLOR = np.array([[(-1.0) ** k / (factorial(k) * factorial(m)) for m in _K] for k in _K])


def _halving(side: float) -> FloatArray:
    """Row j, column k: the coefficient of u^j in (u/2 + side/4)^k."""
    return np.array([[comb(k, j) * 0.5**j * (side / 4) ** (k - j) if j <= k else 0.0 for k in _K] for j in _K])


_LEFT, _RIGHT = _halving(-1.0), _halving(1.0)


@final
@dataclass(frozen=True)
class Cells:
    """Point masses, as moments in the cells that hold any."""

    level: int
    ids: IntArray
    """Which cells, strictly increasing."""
    moments: FloatArray

    @classmethod
    def of(cls, x: FloatArray, c: FloatArray, level: int) -> Cells:
        """The moments of masses c at sorted places x.  O(n·DEGREE)."""
        u = x * 2.0**level
        ids = np.minimum(u.astype(np.int64), 2**level - 1)  # 1 belongs to the last cell
        u -= ids
        u -= 0.5
        starts = _starts(ids)
        moments = np.empty((len(starts), DEGREE + 1))
        power = c.copy()
        for k in range(DEGREE + 1):
            moments[:, k] = np.add.reduceat(power, starts)
            power *= u
        return cls(level, ids[starts], moments)

    def coarser(self, level: int) -> Cells:
        """The same masses in larger cells, exactly: moments about a parent's centre are sums of its children's."""
        ids, moments = self.ids, self.moments
        for _ in range(self.level - level):
            right = (ids & 1).astype(np.bool_)
            moved = np.empty_like(moments)
            moved[~right] = _times(moments[~right], _LEFT)
            moved[right] = _times(moments[right], _RIGHT)
            ids = ids >> 1
            starts = _starts(ids)
            ids, moments = ids[starts], np.add.reduceat(moved, starts)
        return Cells(level, ids, moments)


def _times(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """The matrix product, in chunks."""
    return np.concatenate([rows[i : i + _CHUNK] @ matrix for i in range(0, max(1, len(rows)), _CHUNK)])


def _functional(polynomials: FloatArray, weights: FloatArray) -> FloatArray:
    """The sum of each polynomial's coefficients times the weights; like `_times`, without threads."""
    return np.asarray(np.einsum("ij,j", polynomials, weights))


def _starts(ids: IntArray) -> NDArray[np.intp]:
    """Where each run of equal ids begins."""
    return np.flatnonzero(np.append(len(ids) > 0, ids[1:] != ids[:-1]))


def level_for(sigma: float) -> int:
    """The coarsest level whose cells are at most sigma / 2 wide (and at least sigma / 4, for sigma ≤ 1)."""
    return max(1, ceil(log2(2 / sigma)))


def smoothed(cells: Cells, sigma: float) -> Iterator[tuple[IntArray, FloatArray]]:
    """The smoothed masses: (ids, density) in blocks of cells; elsewhere they are 0.  `cells` must suit sigma.

    For each difference of cells one matrix carries moments to densities:
    density[m] += Σ_k moments[k] (−1)^k / (k! m!) ρ^(k+m+1) φ^(k+m)(ρ · difference), over k + m ≤ DEGREE.
    """
    rho = 0.5**cells.level / sigma
    reach = ceil(REACH / rho)
    carry = _carriers(rho, reach)
    ids, moments = _mirrored(cells, reach)
    edges = np.append(ids[::_BLOCK], 2**cells.level + 2 * reach) - reach
    for low, high in pairwise(np.clip(edges, 0, 2**cells.level).tolist()):
        near = slice(*np.searchsorted(ids, [low - reach, high + reach]))
        target = _reached(ids[near], reach)
        density = _carried(np.searchsorted(target, ids[near]), moments[near], carry, len(target))
        inside = slice(*np.searchsorted(target, [low, high]))
        yield target[inside], density[inside]


def _carried(places: IntArray, moments: FloatArray, carry: FloatArray, size: int) -> FloatArray:
    """The densities of that many targets, given where the sources stand among them.

    Within reach of a source nothing is left out of the list of targets, so that places in it differ as cells do.
    """
    reach = len(carry) // 2
    density = np.zeros((size, DEGREE + 1))
    for first in range(0, len(places), _CHUNK):
        chunk = moments[first : first + _CHUNK]
        at = places[first : first + _CHUNK] - reach
        adjacent = at[-1] - at[0] == len(at) - 1
        for j, matrix in enumerate(carry):
            to = slice(at[0] + j, at[-1] + j + 1) if adjacent else at + j  # adding to slices is three times as fast
            density[to] += chunk @ matrix
    return density


def _mirrored(cells: Cells, reach: int) -> tuple[IntArray, FloatArray]:
    """The cells and all their mirror images (−x, 2 − x, x + 2, …) from which some cell of [0, 1] is in reach."""
    size = 2**cells.level
    flipped = cells.moments[::-1] * _SIGNS
    ids, moments = [], []
    for turn in range(-(reach // (2 * size)) - 1, reach // (2 * size) + 2):
        for image, masses in ((cells.ids, cells.moments), (-1 - cells.ids[::-1], flipped)):
            shifted = image + 2 * size * turn
            near = slice(*np.searchsorted(shifted, [-reach, size + reach]))
            ids.append(shifted[near])
            moments.append(masses[near])
    order = np.argsort([i[0] if len(i) else 0 for i in ids], kind="stable")  # images do not interleave
    return np.concatenate([ids[i] for i in order]), np.concatenate([moments[i] for i in order])


def _reached(ids: IntArray, reach: int) -> IntArray:
    """The cells within reach of one of the sorted ids."""
    # Of the 2·reach + 1 cells that each id reaches, these many are out of reach for the id before it.
    new = np.minimum(np.diff(ids, prepend=ids[:1] - 2 * reach - 1), 2 * reach + 1)
    end = np.cumsum(new)
    return np.repeat(ids + reach + 1 - end, new) + np.arange(new.sum())


def _carriers(rho: float, reach: int) -> FloatArray:
    """The matrices from moments to densities, for each difference from −reach to reach."""
    z = rho * np.arange(-reach, reach + 1)
    derivative = np.zeros((2 * DEGREE + 1, len(z)))  # ρ^(j+1) φ^(j)(z); beyond DEGREE they count as 0
    derivative[0] = rho * np.exp(-z * z / 2) / sqrt(2 * pi)
    z *= -rho
    derivative[1] = z * derivative[0]
    for j in range(1, DEGREE):
        derivative[j + 1] = z * derivative[j] - rho**2 * j * derivative[j - 1]
    return np.asarray(derivative.T[:, _K[:, None] + _K] * _TAYLOR)


@final
@dataclass(frozen=True)
class AbsoluteIntegral:
    """∫ |density|, its error, and ∫ sign(density) density'', of polynomials on cells."""

    value: float
    error: float
    """The value is at most this much too small, and never too large (but for rounding)."""
    bend: float
    """How fast the value changes with time if the densities diffuse, in units of cells."""


def absolute_integral(density: FloatArray) -> AbsoluteIntegral:
    """∫ |density| over all cells, to about 1e-12 of it.

    Cells are halved until each piece provably has one sign, or is provably steep and so has at most one zero, which
    Newton's method finds; pieces that stay undecided, around double zeros, shrink with the cube of their length.
    Wherever a zero is placed, the sum of |∫| over pieces can only be too small.
    """
    size = _functional(np.abs(density), _HALVES)  # bounds |density| on a piece
    tolerance, value, bend, scale = 1e-12 * size.sum(), 0.0, 0.0, 1.0
    steep_pieces, scales = [], []
    while True:
        undecided = 2 * np.abs(density[:, 0]) < size
        signed = density[~undecided]
        integral = _functional(signed, _INTEGRALS)
        value += float(np.abs(integral).sum())
        bend += scale * float(np.sign(integral) @ _functional(signed, _BENDS))
        density = density[undecided]
        steepness = _functional(np.abs(density[:, 1:]), _K[1:] * _HALVES[:-1])  # bounds |density'|
        steep = steepness <= 1.5 * np.abs(density[:, 1])
        steep_pieces.append(density[steep])
        scales.append(np.full(np.count_nonzero(steep), scale))
        density = density[~steep]
        error = float(_functional(np.abs(density), _HALVES).sum())
        if error <= tolerance:
            break
        density = np.concatenate([_times(density, _LEFT.T), _times(density, _RIGHT.T)]) / 2
        size = _functional(np.abs(density), _HALVES)
        scale *= 4  # a second derivative in halved cells counts a quarter
    value += float(np.abs(_functional(density, _INTEGRALS)).sum())
    rest = _at_most_one_zero(np.concatenate(steep_pieces), np.concatenate(scales))
    return AbsoluteIntegral(value + rest.value, error + rest.error, bend + rest.bend)


def _at_most_one_zero(density: FloatArray, scale: FloatArray) -> AbsoluteIntegral:
    """The same where density' stays within a factor 1/2 … 3/2 of its value at the centre."""
    derivative, primitive = density[:, 1:] * _K[1:], density / (_K + 1)
    middle_slope = density[:, 1]
    zero = np.zeros(len(density))
    for _ in range(6):
        zero = np.clip(zero - polynomial_values(density, zero) / polynomial_values(derivative, zero), -0.5, 0.5)
    ends = np.full_like(zero, -0.5), zero, np.full_like(zero, 0.5)
    left, right = np.diff([end * polynomial_values(primitive, end) for end in ends], axis=0)
    left_bend, right_bend = np.diff([polynomial_values(derivative, end) for end in ends], axis=0)
    value = np.abs(left) + np.abs(right)
    bend = scale * (np.sign(left) * left_bend + np.sign(right) * right_bend)
    missed = polynomial_values(density, zero)
    outside = 2 * zero * np.sign(missed * middle_slope) == -1  # not reached at the end: no zero inside
    # The true zero is within |missed| / (|middle_slope| / 2), and until there |density| ≤ |missed|, counted twice.
    error = np.where(outside, 0.0, 4 * missed**2 / np.abs(middle_slope))
    return AbsoluteIntegral(float(value.sum()), float(error.sum()), float(bend.sum()))


def polynomial_values(polynomials: FloatArray, u: FloatArray) -> FloatArray:
    """Each polynomial at its own place."""
    powers = np.empty_like(polynomials)
    powers[:, 0] = 1.0
    powers[:, 1:] = u[:, None]
    np.multiply.accumulate(powers, axis=1, out=powers)
    return np.asarray(np.einsum("ij,ij->i", polynomials, powers))
