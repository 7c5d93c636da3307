"""∫ |p·W − V| dp after Gaussian noise, with places counted in scales from the values near them.

At x = q + s·z a value q adds mass·x·f(x) − positive·f(x) = (bias + s·mass·z)·f(x) to p·W − V, where bias = q·mass −
positive and f is its bell.  So nothing but z has to be known of x, and z is a difference of values over the scale:
floats near 1 are 1e-16 apart, but a scale may be 1e-100.  Values farther than 17 scales from all others, as most are
if the scale is that small, are integrated alone, in closed form.  Others are put on a line in units of the scale, group
by group; the roots there are found on a grid of an eighth.
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
import scipy  # loads scipy.special, which is slow to import, when it is first named

from trustcal.noise.density import FloatArray
from trustcal.noise.nearby import mixed, sign_changes, some_root

_REACH = 8.5
"""In scales; farther away bells have 2Φ(−8.5) < 2e-17 of their mass."""
_APART = 24.0
"""Between groups on the line: no place is within reach of two."""
_STEP = 0.125


def absolute_bias(p: FloatArray, weights: FloatArray, inside: FloatArray, scale: float) -> float:
    """∫ |p·W − V| over [0, 1], without atoms.

    `weights` are mass and positive in two rows; a bell has the total mass 1 on the line, times `inside`: 1 if noise is
    clamped, and more if it is truncated.  O(n + 1/scale), after a sort.
    """
    mass, positive = weights * inside
    rows = np.stack([p * mass - positive, scale * mass])
    ends = np.stack([-p / scale, (1 - p) / scale])
    near = np.diff(p) / scale <= 2 * _REACH
    alone = ~(np.append(near, False) | np.append(False, near))
    total = _alone(rows[:, alone], ends[:, alone], scale)
    return total if alone.all() else total + _crowded(p[~alone], rows[:, ~alone], ends[:, ~alone], scale)


def _alone(rows: FloatArray, ends: FloatArray, scale: float) -> float:
    """The sum over values of ∫ |bias + s·mass·z| φ(z) dz between the ends, cut at the root."""
    bias, slope = rows
    root = np.zeros_like(bias)
    with np.errstate(over="ignore"):  # a root that far away is outside
        np.divide(-bias, slope, out=root, where=slope > 0)
    low, high = np.clip(ends, -40.0, 40.0)
    values = [bias * _below(z, scale) - slope * _bell(z, scale) for z in (low, np.clip(root, low, high), high)]
    return float(np.abs(np.diff(values, axis=0)).sum())


def _crowded(p: FloatArray, rows: FloatArray, ends: FloatArray, scale: float) -> float:
    """The same for values with others within reach: cut at the roots on the line."""
    first = np.flatnonzero(np.append(True, np.diff(p) / scale > 2 * _REACH))
    group = np.cumsum(np.bincount(first, minlength=len(p))) - 1
    along = (p - p[first][group]) / scale
    length = along[np.append(first[1:], len(p)) - 1]
    start = np.cumsum(np.ceil(length) + _APART) - np.ceil(length) - _APART  # the first at 0, where numbers are finest
    at = start[group] + along
    low, high = np.clip(ends, -_REACH, _REACH) + at
    low = np.maximum(low, at[0] + ends[0, 0])  # to the last bit the same for all values
    high = np.minimum(high, at[-1] + ends[1, -1])

    def bias(x: FloatArray) -> FloatArray:
        """Of density √(2π)·(p·W − V)."""
        plain, tilted = (mixed(f, at, rows, x, 1.0) for f in (_shape, _tilted))
        return np.asarray(plain[0] + tilted[1])

    def slope(x: FloatArray) -> FloatArray:
        plain, tilted, twice = (mixed(f, at, rows, x, 1.0) for f in (_shape, _tilted, _twice_tilted))
        return np.asarray(plain[1] - tilted[0] - twice[1])

    x = _grid(low, high)
    found, slopes = bias(x), slope(x)
    sign = np.sign(found)
    # Two roots between neighbours: the bias turns towards zero and back.
    dips = (sign[:-1] == sign[1:]) & (sign[:-1] * slopes[:-1] < 0) & (sign[1:] * slopes[1:] > 0)
    turns = some_root(slope, x[:-1][dips], x[1:][dips])
    x, order = np.unique(np.concatenate([x, turns]), return_index=True)
    roots = sign_changes(bias, x, np.concatenate([found, bias(turns)])[order])
    cuts = np.concatenate([x[:1], roots, x[-1:]])
    below = mixed(lambda t, q: _below(t - q, scale), at, rows, cuts, 1.0, far=1.0)[0]
    return float(np.abs(np.diff(below - mixed(lambda t, q: _bell(t - q, scale), at, rows, cuts, 1.0)[1])).sum())


def _grid(low: FloatArray, high: FloatArray) -> FloatArray:
    """Multiples of the step between low and high of some value, and the ends: each value adds what is beyond the one
    before it."""
    first, last = np.floor(low / _STEP).astype(np.int64), np.ceil(high / _STEP).astype(np.int64)
    first[1:] = np.maximum(first[1:], last[:-1] + 1)
    count = np.maximum(last - first + 1, 0)
    x = _STEP * (np.arange(count.sum()) + np.repeat(first - (np.cumsum(count) - count), count))
    return np.unique(np.clip(x, low[0], high[-1]))


def _below(z: FloatArray, scale: float) -> FloatArray:
    """Φ(z), or Φ(z) − 1/2 where z is small for all places: only differences count, and those of Φ would lose digits."""
    return np.asarray(scipy.special.erf(z / sqrt(2)) / 2 if scale > 1 else scipy.special.ndtr(z))


def _bell(z: FloatArray, scale: float) -> FloatArray:
    """φ(z), or φ(z) − φ(0), likewise."""
    return np.asarray((np.expm1 if scale > 1 else np.exp)(-z * z / 2) / sqrt(2 * pi))


def _shape(x: FloatArray, q: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-((x - q) ** 2) / 2))


def _tilted(x: FloatArray, q: FloatArray) -> FloatArray:
    return (x - q) * _shape(x, q)


def _twice_tilted(x: FloatArray, q: FloatArray) -> FloatArray:
    return (x - q) ** 2 * _shape(x, q)
