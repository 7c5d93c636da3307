"""The exact law of a predictor after noise, rounded to a grid."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import NDArray

from trustcal.cells import End, checked_end
from trustcal.checking import checked_cells
from trustcal.kernels.decay import decayed, running_pairs
from trustcal.noise import (
    ClampedGaussian,
    ClampedLaplace,
    Noise,
    RandomRounding,
    TruncatedGaussian,
    TruncatedLaplace,
    UniformNoise,
)
from trustcal.noise.mechanism import checked_noise
from trustcal.predictor import Predictor, as_predictor
from trustcal.smoothing.bells import condensed
from trustcal.smoothing.smoothed import SmoothedPredictor

FloatArray = NDArray[np.float64]


@overload
def smooth(q: Predictor, noise: RandomRounding, cells: int | None = None, end: End = "left") -> Predictor: ...
@overload
def smooth(q: Predictor, noise: Noise, cells: int, end: End = "left") -> Predictor: ...
@overload
def smooth(q: Predictor, noise: Noise, cells: None = None, end: End = "left") -> Predictor | SmoothedPredictor: ...
def smooth(q: Predictor, noise: Noise, cells: int | None = None, end: End = "left") -> Predictor | SmoothedPredictor:
    """The exact law of the noised predictor (the algorithm of Section 3; with cells, on the grid of Section 4).

        Pr[output in cell i, y] = Σ_k Pr[p[k], y]·Pr[M(p[k]) in cell i],   cell i = [i/cells, (i+1)/cells)

    The last cell is closed; a cell is announced as its left end (the paper's choice) or its middle.  Without cells the
    answer is a `SmoothedPredictor`, except after `RandomRounding`, whose output is on a finite grid already.  `moved`
    is an upper bound here: the mean distance that the noise moves predictions, and a cell (or half of it) for the grid.

    >>> from trustcal.noise import UniformNoise
    >>> q = Predictor([0.25, 0.75], [0.5, 0.5], [0.0, 0.5])
    >>> on_grid = smooth(q, UniformNoise(0.5), cells=4)
    >>> on_grid.p, on_grid.mass, on_grid.positive
    (array([0.  , 0.25, 0.5 , 0.75]), array([0.25, 0.25, 0.25, 0.25]), array([0.   , 0.125, 0.125, 0.25 ]))

    O(n + cells) for Laplace and uniform noise, after a merge; O(n + cells/scale) at most for Gaussian noise.
    """
    q = as_predictor(q)
    checked_noise(noise)
    checked_end(end)
    if cells is not None:
        cells = checked_cells(cells)
    moved = float(noise.mean_displacement(q.p) @ q.mass)
    if isinstance(noise, RandomRounding):
        rounded = _rounded(q, noise, moved)
        if cells is None:
            return rounded
        coarse = rounded.on_grid(cells, end)
        return _law(coarse.p, coarse.mass - coarse.positive, coarse.positive, q, moved + coarse.moved)
    if cells is None:
        return SmoothedPredictor(q, noise)
    edges = np.arange(cells + 1) / cells
    split = np.stack([q.mass - q.positive, q.positive])
    if isinstance(noise, (TruncatedLaplace, ClampedLaplace)):
        law = _laplace_cells(q.p, split, noise, edges)
    elif isinstance(noise, UniformNoise):
        law = _uniform_cells(q.p, split, noise, edges)
    else:
        law = _cells(q.p, split, noise, edges)
    grid = edges[:-1] if end == "left" else (np.arange(cells) + 0.5) / cells
    return _law(grid, law[0], law[1], q, moved + (1.0 if end == "left" else 0.5) / cells)


def _law(p: FloatArray, negative: FloatArray, positive: FloatArray, q: Predictor, moved: float) -> Predictor:
    """The law on p with these masses, scaled to keep the masses of the two outcomes to the last bit or so."""
    total = q.mass.sum()
    masses = []
    for found, kept in ((negative, (q.mass - q.positive).sum()), (positive, q.positive.sum())):
        found = np.maximum(found, 0.0)
        some = found.sum()  # 0 also where the mass is so small that parts of it are 0
        masses.append(found * (kept / total / some) if some > 0 else found)
    return Predictor(
        p, masses[0] + masses[1], masses[1], rows=q.rows, effective_rows=q.effective_rows, moved=min(1.0, moved)
    )


def _rounded(q: Predictor, noise: RandomRounding, moved: float) -> Predictor:
    """Each value splits in two; the grid points are merged."""
    at, share = noise.atoms(q.p)
    p, index = np.unique(at.ravel(), return_inverse=True)
    law = np.zeros((2, len(p)))
    for y, mass in enumerate((q.mass - q.positive, q.positive)):
        law[y] = np.bincount(index, (mass[:, None] * share).ravel(), minlength=len(p))
    return _law(p, law[0], law[1], q, moved)


def _laplace_cells(
    p: FloatArray, split: FloatArray, noise: TruncatedLaplace | ClampedLaplace, edges: FloatArray
) -> FloatArray:
    """Between neighbouring values and edges the density is two exponentials, found by a sweep from either side."""
    places = np.union1d(edges, p)
    at, first = np.searchsorted(places, p), np.searchsorted(places, edges[:-1])
    share = -np.expm1(-np.diff(places) / noise.scale) * noise.scale
    peak, atoms = noise.density(p, p), noise.atoms(p).mass
    law = np.empty((2, len(edges) - 1))
    for y in (0, 1):
        weight = np.zeros(len(places))
        weight[at] = split[y] * peak
        sweep = decayed.on(len(places))
        left, right = sweep(places, weight, noise.scale), sweep(places[::-1], weight[::-1], noise.scale)[::-1]
        law[y] = np.add.reduceat(share * (left[:-1] + right[1:]), first)
        if atoms.shape[1]:
            law[y, 0] += split[y] @ atoms[:, 0]
            law[y, -1] += split[y] @ atoms[:, 1]
    return law


def _uniform_cells(p: FloatArray, split: FloatArray, noise: UniformNoise, edges: FloatArray) -> FloatArray:
    """A value fills part of the cell of q − w and of that of q + w, and all cells between, found by running sums."""
    cells = len(edges) - 1
    after = np.clip(np.searchsorted(edges, p - noise.width, side="right"), 1, cells)  # the first edge past q − w
    last = np.clip(np.searchsorted(edges, p + noise.width, side="left") - 1, 0, cells - 1)  # the last before q + w
    within = after > last
    before = np.where(within, 1.0, noise.cdf(edges[after], p))
    beyond = np.where(within, 0.0, np.clip(((p - edges[last]) + noise.width) / (2 * noise.width), 0, 1))
    inside = np.arange(cells)
    begin, stop = np.searchsorted(last, inside, side="right"), np.searchsorted(after, inside, side="right")
    stop = np.maximum(begin, stop)  # values begin, …, stop − 1 fill the whole cell
    law = np.empty((2, cells))
    for y in (0, 1):
        hi, lo = running_pairs.on(len(p))(split[y])
        full = (hi[stop] - hi[begin]) + (lo[stop] - lo[begin])
        law[y] = full * (np.diff(edges) / (2 * noise.width))
        law[y] += np.bincount(after - 1, split[y] * before, minlength=cells)
        law[y] += np.bincount(last, split[y] * beyond, minlength=cells)
    return law


def _cells(p: FloatArray, split: FloatArray, noise: Noise, edges: FloatArray) -> FloatArray:
    """By the distribution function at the inner edges, for noise whose only atoms are 0 and 1."""
    reach = 1.0
    if isinstance(noise, (TruncatedGaussian, ClampedGaussian)):
        reach = 9 * noise.scale  # beyond: 1e-19
        p, split = condensed(p, split, noise.scale)
    below = np.zeros((2, len(edges)))
    below[:, -1] = split.sum(axis=1)
    for low in range(1, len(edges) - 1, 32):
        inner = edges[low : min(low + 32, len(edges) - 1)]
        near, far = np.searchsorted(p, inner[0] - reach), np.searchsorted(p, inner[-1] + reach, side="right")
        here = below[:, low : low + len(inner)]
        here += split[:, :near].sum(axis=1)[:, None]
        for first in range(near, far, 1024):
            some = slice(first, min(first + 1024, far))
            here += split[:, some] @ noise.cdf(inner, p[some, None])
    return np.diff(below, axis=1)
