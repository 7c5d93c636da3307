"""Random rounding to a grid: up or down by a coin whose bias keeps the mean."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Self, final

import numpy as np

from trustcal.noise.exact import product
from trustcal.noise.mechanism import Atoms, Displacement, FloatArray, Noise, PerTarget, Target, optimal
from trustcal.noise.privacy import zero_or_none


@final
@dataclass(frozen=True)
class RandomRounding(Noise):
    """Random rounding to the grid 0, 1/N, 2/N, …, 1: with q·N = i + f, M(q) is (i + 1)/N with probability f, else i/N.

    N = `cells` need not be an integer: grid points beyond 1 are clamped to 1, so that the last cell may be shorter than
    the others.  For an integer E M(q) = q; otherwise this holds up to the last cell.  A real N makes the guarantee
    2√eps exact, which an integer can miss by a quarter.  The output needs no further cells: it is on a finite grid.

    Parameters
    ----------
    cells : float
        N, the number of cells of the grid.

    >>> noise = RandomRounding(4)
    >>> noise.atoms(0.3125)
    Atoms(at=array([0.25, 0.5 ]), mass=array([0.75, 0.25]))
    >>> float(noise.tv(0.25, 0.3125)), noise.displacement()
    (0.25, Displacement(value=0.125, at=0.125))
    """

    cells: float

    kind = "rounding"
    title = "random rounding"
    per_root = PerTarget(ece=2.0, cdl=2.0, decision_loss=sqrt(2))
    largest = 2.0**52

    @classmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The number of cells that minimises 1/(2N) + 2N·eps (ECE and CDL) or 1/(2N) + N·eps (decision loss).

        >>> RandomRounding.for_distance(0.0001, "ece").cells                     # the guarantee: 2√eps
        50.0
        """
        return cls(1 / optimal(eps, target, ece=2.0, cdl=2.0, decision_loss=sqrt(2)))

    def displacement(self) -> Displacement:
        """1/(2N), in the middle of a cell; with less than one cell the worst q lies further right."""
        at = 0.5 / self.cells if self.cells >= 1 else min(1.0, (1 + self.cells) / (4 * self.cells))
        return Displacement(float(self.mean_displacement(at)), at)

    def tv_slope(self) -> float:
        """N, in the inside of every cell."""
        return self.cells

    def decision_displacement(self) -> float:
        """K equals the displacement, 1/(2N): at the ends of its cell D_b is f(1 − f)/N, half the mean displacement."""
        return self.displacement().value

    def privacy(self, delta: float = 0.0) -> float:
        """No γ: predictions in different cells share at most one grid point, and 0 always stays 0."""
        return zero_or_none(self, delta)

    def grid_size(self) -> int:
        """⌈N⌉ + 1."""
        return ceil(self.cells) + 1

    def _cell(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The integer and the fractional part of q·N; of the exact product, since with many cells rounding it first
        would spoil the probability."""
        hi, lo = product(q, self.cells)
        cell = np.floor(hi)
        cell -= (hi == cell) & (lo < 0)
        return cell, (hi - cell) + lo

    def _point(self, i: FloatArray) -> FloatArray:
        return np.minimum(i / self.cells, 1.0)

    def _density(self, x: FloatArray, q: FloatArray) -> FloatArray:
        return np.zeros(np.broadcast_shapes(x.shape, q.shape))

    def _atoms(self, q: FloatArray) -> Atoms:
        cell, up = self._cell(q)
        return Atoms(np.stack([self._point(cell), self._point(cell + 1)], axis=-1), np.stack([1 - up, up], axis=-1))

    def _cdf(self, x: FloatArray, q: FloatArray) -> FloatArray:
        cell, up = self._cell(q)
        return np.where(x >= self._point(cell), 1 - up, 0.0) + np.where(x >= self._point(cell + 1), up, 0.0)

    def _quantile(self, u: FloatArray, q: FloatArray) -> FloatArray:
        cell, up = self._cell(q)
        return self._point(cell + (u > 1 - up))

    def _mean_displacement(self, q: FloatArray) -> FloatArray:
        _, up = self._cell(q)
        return np.asarray((1 - up) * up / self.cells + up * np.minimum((1 - up) / self.cells, 1 - q))

    def _tv(self, b: FloatArray, q: FloatArray) -> FloatArray:
        (cell, up), (next_cell, next_up) = self._cell(b), self._cell(q)
        shared = np.where(next_cell == cell + 1, np.minimum(up, 1 - next_up), 0.0)
        return np.where(cell == next_cell, np.abs(up - next_up), 1 - shared)
