"""The exact law of a predictor after noise: on a grid a `Predictor`, without one a `SmoothedPredictor`.

With W the density of the noised prediction p and V that of p together with y = 1, cut into pieces on which the
posterior p_hat = V/W is monotone (`trustcal.noise.density`):

    ECE    = ∫ |p·W − V| dp                             by the roots of p·W − V
    R(μ)   = ∫ (V − μW)⁺ dp − ∫_{p > μ} (V − μW) dp     whole pieces by running sums, those that cross μ by a root
    CDL    = 2·cav R(1/2)                               by a chord search with a certificate

and the same for atoms.  The search: the first integral is convex in μ and the second has a second derivative of at most
2W + μW' − V' ≤ K, so that between two thresholds at distance h, R exceeds its chord by at most K·h²/8.  Thresholds are
added in the middle of every gap where R might exceed the line over 1/2 by more than 1e-13.  The second integral costs
little and is taken at each of them; the first, for small noise a root in every gap between rows, is bounded by its
chords and taken only where these are not good enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.cells import ENDS, End, announcements, announcing_error
from trustcal.checking import FloatArray, checked_cells, checked_choice, unit_numbers
from trustcal.decisions.envelope import bridge, over_half
from trustcal.noise import Noise, RandomRounding
from trustcal.noise.density import Density
from trustcal.noise.mechanism import as_noise
from trustcal.predictor import Predictor, as_predictor

_TOLERANCE = 1e-13
_MOST_THRESHOLDS = 100_000


@overload
def smooth(q: Predictor, noise: RandomRounding, cells: int | None = None, end: End = "left") -> Predictor: ...
@overload
def smooth(q: Predictor, noise: Noise, cells: int, end: End = "left") -> Predictor: ...
@overload
def smooth(q: Predictor, noise: Noise, cells: None = None, end: End = "left") -> Predictor | SmoothedPredictor: ...
def smooth(q: Predictor, noise: Noise, cells: int | None = None, end: End = "left") -> Predictor | SmoothedPredictor:
    """The exact law of the noised predictor (the algorithm of Section 3; with cells, on the grid of Section 4).

        Pr[output in cell i, y] = Σ_k Pr[p[k], y]·Pr[M(p[k]) in cell i],   cell i = [i/cells, (i+1)/cells)

    Parameters
    ----------
    q : Predictor
    noise : Noise
    cells : int, optional
        The number of cells [i/cells, (i+1)/cells), the last one closed.
    end : {"left", "middle"}
        What is announced for a cell: its left end, as in the paper, or its middle.

    Returns
    -------
    Predictor or SmoothedPredictor
        A `SmoothedPredictor` if `cells` is not given, unless the noise has a finite grid of its own.  `moved` of a
        `Predictor` is an upper bound: the mean displacement by the noise, and a cell (or half of it) for the grid.
        O(n + cells), after a sort; for Gaussian noise O(n + cells/scale) at most.

    >>> from trustcal.noise import UniformNoise
    >>> q = Predictor([0.25, 0.75], [0.5, 0.5], [0.0, 0.5])
    >>> on_grid = smooth(q, UniformNoise(0.5), cells=4)
    >>> on_grid.p, on_grid.mass, on_grid.positive
    (array([0.  , 0.25, 0.5 , 0.75]), array([0.25, 0.25, 0.25, 0.25]), array([0.   , 0.125, 0.125, 0.25 ]))
    """
    q = as_predictor(q)
    as_noise(noise)
    checked_choice("end", end, ENDS)
    if cells is not None:
        cells = checked_cells(cells)
    moved = float(noise.mean_displacement(q.p) @ q.mass)
    if noise.grid_size() is not None:
        rounded = _rounded(q, noise, moved)
        if cells is None:
            return rounded
        coarse = rounded.on_grid(cells, end)
        return _law(coarse.p, coarse.mass - coarse.positive, coarse.positive, q, moved + coarse.moved)
    if cells is None:
        return SmoothedPredictor(q, noise)
    split = np.stack([q.mass - q.positive, q.positive])
    negative, positive = noise.bin_masses(q.p, split, np.arange(cells + 1) / cells)
    return _law(announcements(cells, end), negative, positive, q, moved + announcing_error(cells, end))


@final
@dataclass(frozen=True, eq=False)
class SmoothedPredictor:
    """A predictor after noise (the output of Section 3's algorithm), known exactly rather than sampled.

    >>> from trustcal.noise import UniformNoise
    >>> q = Predictor([0.4, 0.6], [0.5, 0.5], [0.25, 0.25])
    >>> smoothed = SmoothedPredictor(q, UniformNoise(0.1))
    >>> round(smoothed.ece(), 12), round(smoothed.cdl(), 12), smoothed.profile([0.5, 0.6]).round(12)
    (0.1, 0.05, array([0.   , 0.025]))
    """

    q: Predictor
    """The predictor before noise."""
    noise: Noise

    @property
    def base_rate(self) -> float:
        """Pr[y = 1], which noise does not change."""
        return self.q.base_rate

    def ece(self) -> float:
        """Expected calibration error (Definition 2.8), E|p − p_hat| = ∫ |p·W − V| dp and the same for atoms.

        O(n), after a sort; for Gaussian noise O(n + 1/scale).
        """
        (_, zero), (mass, one) = self._density.atoms
        return float(self._density.absolute_bias() + zero + abs(mass - one))

    def profile(self, mu: ArrayLike) -> FloatArray:
        """The swap regret R(μ) = E[|p_hat − μ|; μ between p and p_hat] at any thresholds, as exact as `cdl`.

        O(n) for each.
        """
        thresholds = unit_numbers(mu, "thresholds")
        return self._density.regret(thresholds.ravel()).reshape(thresholds.shape)[()]

    def cdl(self) -> float:
        """Calibration decision loss (Definition 2.12), 2·cav R(1/2), to 1e-12 (from below).

        Some fifty profiles of O(n), for Gaussian noise O(1/scale) if that is less, each; should R run along its
        envelope, the search ends at 10^5 thresholds.
        The ends of uniform and plateau noise are rounded, which costs digits if it is narrow.  Nothing is promised for
        noise narrower than 1e-14, a hundred gaps between floats (theory.md, Section 17).
        """
        return self._worst[0]

    @property
    def cdl_thresholds(self) -> tuple[float, float]:
        """Where the worst decision maker changes action; equal if there is one threshold, 1/2."""
        return self._worst[1]

    @cached_property
    def _density(self) -> Density:
        return self.noise.density_after(self.q.p, np.stack([self.q.mass, self.q.positive]))

    @cached_property
    def _worst(self) -> tuple[float, tuple[float, float]]:
        return _bridge(self._density)


def _bridge(density: Density) -> tuple[float, tuple[float, float]]:
    """2·cav R(1/2) and the thresholds that attain it (see the head of this file)."""
    x = density.thresholds()
    gain, kept, known = density.gain(x), density.kept(x), np.ones(len(x), dtype=bool)
    curvature = density.curvature(x[:-1], x[1:])
    while True:
        gain[~known] = np.interp(x[~known], x[known], gain[known])  # chords of a convex function
        r = np.maximum(gain - kept, 0.0)
        height, slope, ends = _highest_chord(x[known], r[known])
        short = height + slope * (x - 0.5) - r
        short[known] = np.maximum(short[known], 0.0)
        rise = curvature * np.diff(x) ** 2 / 2  # a parabola of height rise/4 on the chord
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            at = np.clip(0.5 + (short[:-1] - short[1:]) / (2 * rise), 0.0, 1.0)
        at = np.where(rise > 0, at, (short[1:] < short[:-1]).astype(float))
        open_ = rise * at * (1 - at) - short[:-1] * (1 - at) - short[1:] * at > _TOLERANCE
        middle = (x[1:] + x[:-1]) / 2
        doubtful = ~known & (short < 0)
        doubtful &= np.append(open_, False) | np.append(False, open_)
        settled = ~(doubtful[:-1] | doubtful[1:])
        split = np.flatnonzero(open_ & settled & (middle > x[:-1]) & (middle < x[1:]))
        asked = _lowest_of_runs(short, np.cumsum(known), np.flatnonzero(doubtful))
        if len(split) + len(asked) == 0 or len(x) > _MOST_THRESHOLDS + 4 * len(density.edges):
            return min(1.0, 2 * height), ends
        gain[asked], known[asked] = density.gain(x[asked]), True
        added = middle[split]
        halves = density.curvature(np.stack([x[split], added]).ravel(), np.stack([added, x[split + 1]]).ravel())
        curvature[split] = halves[: len(split)]
        curvature = np.insert(curvature, split + 1, halves[len(split) :])
        x, kept = np.insert(x, split + 1, added), np.insert(kept, split + 1, density.kept(added))
        gain, known = np.insert(gain, split + 1, 0.0), np.insert(known, split + 1, False)


def _lowest_of_runs(values: FloatArray, run: NDArray[np.intp], places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Of the places in each run, the one with the least value."""
    by_run = places[np.lexsort((values[places], run[places]))]
    return by_run[np.diff(run[by_run], prepend=-1) > 0]


def _highest_chord(x: FloatArray, r: FloatArray) -> tuple[float, float, tuple[float, float]]:
    """The highest chord over 1/2, its slope and its ends; no point lies above its line."""
    a, b = bridge(x, r, ((float(x[0]), float(r[0])), (float(x[-1]), float(r[-1]))))
    height, middle = over_half(a, b), int(np.searchsorted(x, 0.5))
    if r[middle] < height:
        return height, (b[1] - a[1]) / (b[0] - a[0]), (a[0], b[0])
    left, right = slice(0, middle), slice(middle + 1, None)
    steepest = float(((r[middle] - r[left]) / (0.5 - x[left])).min())
    flattest = float(((r[right] - r[middle]) / (x[right] - 0.5)).max())
    return float(r[middle]), (steepest + flattest) / 2, (0.5, 0.5)


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


def _rounded(q: Predictor, noise: Noise, moved: float) -> Predictor:
    """Each value splits in two; the grid points are merged."""
    at, share = noise.atoms(q.p)
    p, index = np.unique(at.ravel(), return_inverse=True)
    law = np.zeros((2, len(p)))
    for y, mass in enumerate((q.mass - q.positive, q.positive)):
        law[y] = np.bincount(index, (mass[:, None] * share).ravel(), minlength=len(p))
    return _law(p, law[0], law[1], q, moved)
