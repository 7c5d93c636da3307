"""Uniform noise, clamped to [0, 1]: for decision loss, within eps/2 of what anyone can guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Self, final

import numpy as np

from trustcal.noise.clamped import ClampedNoise
from trustcal.noise.density import Density, FloatArray, IndexArray, range_sums, ratio
from trustcal.noise.mechanism import PerTarget, Target, optimal


@final
@dataclass(frozen=True)
class UniformNoise(ClampedNoise):
    """Uniform noise clamped to [0, 1]: M(q) = clip(q + U, 0, 1), U uniform on [−width, width].

    Minimax optimal for decision loss up to eps/2: it guarantees √(eps/2), and for eps ≤ 1/4 no method that sees no
    outcomes can guarantee less than (√(eps² + 2eps) − eps)/2 (Theorem 20).

    Parameters
    ----------
    width : float
        Half the length of the interval from which U is drawn.

    >>> noise = UniformNoise(0.25)
    >>> float(noise.cdf(0, 0.125)), float(noise.tv(0.4, 0.5)), noise.decision_displacement()
    (0.25, 0.19999999999999996, 0.0625)
    """

    width: float

    kind = "uniform"
    title = "uniform noise"
    per_root = PerTarget(ece=sqrt(2), cdl=1.0, decision_loss=sqrt(0.5))

    @classmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The width that minimises w/2 + eps/w (ECE), w/4 + eps/w (CDL) or w/4 + eps/(2w) (decision loss).

        >>> UniformNoise.for_distance(0.02).width                     # the guarantee: √(eps/2) = 0.1
        0.2
        """
        return cls(optimal(eps, target, ece=sqrt(2), cdl=2.0, decision_loss=sqrt(2)))

    def tv_slope(self) -> float:
        """1/(2·width)."""
        return 0.5 / self.width

    def reach(self, share: float = 0.0) -> float:  # noqa: ARG002 - it is the same for all
        """The width."""
        return min(self.width, 1.0)

    def density_after(self, p: FloatArray, weights: FloatArray) -> Density:
        """Constant between edges."""
        return Steps(p, weights, self)

    def bin_masses(self, p: FloatArray, weights: FloatArray, edges: FloatArray) -> FloatArray:
        """A value fills part of the bins of q − w and of q + w, and all bins between, found by running sums."""
        bins = len(edges) - 1
        after = np.clip(np.searchsorted(edges, p - self.width, side="right"), 1, bins)  # the first edge past q − w
        last = np.clip(np.searchsorted(edges, p + self.width, side="left") - 1, 0, bins - 1)  # the last before q + w
        within = after > last
        before = np.where(within, 1.0, self.cdf(edges[after], p))
        beyond = np.where(within, 0.0, np.clip(((p - edges[last]) + self.width) / (2 * self.width), 0, 1))
        inside = np.arange(bins)
        begin, stop = np.searchsorted(last, inside, side="right"), np.searchsorted(after, inside, side="right")
        stop = np.maximum(begin, stop)  # values begin, …, stop − 1 fill the whole bin
        law = np.empty((2, bins))
        for y in (0, 1):
            law[y] = range_sums(weights[y], begin, stop) * (np.diff(edges) / (2 * self.width))
            law[y] += np.bincount(after - 1, weights[y] * before, minlength=bins)
            law[y] += np.bincount(last, weights[y] * beyond, minlength=bins)
        return law

    def _tv(self, b: FloatArray, q: FloatArray) -> FloatArray:
        return np.minimum(1.0, (q - b) / (2 * self.width))

    def _tail(self, y: FloatArray) -> FloatArray:
        return np.clip((self.width - y) / (2 * self.width), 0, 1)

    def _hazard_at_1(self) -> float:
        return 1 / (self.width - 1) if self.width > 1 else inf

    def _density(self, x: FloatArray, q: FloatArray) -> FloatArray:
        return np.where(np.abs(x - q) <= self.width, 0.5 / self.width, 0.0)

    def _line_quantile(self, u: FloatArray) -> FloatArray:
        return np.asarray((2 * u - 1) * self.width)

    def _mean_excess(self, a: FloatArray) -> FloatArray:
        reach = np.minimum(a, self.width)
        return np.asarray(reach * (2 * self.width - reach) / (4 * self.width))

    def _tipping_point(self) -> float:
        return self.width / 2


@final
class Steps(Density):
    """Uniform noise: densities constant between edges."""

    def __init__(self, p: FloatArray, weights: FloatArray, noise: UniformNoise) -> None:
        atoms = noise.atoms(p).mass
        super().__init__(p, weights, atoms)
        # Ends are rounded, and noise may be narrower than the gap between floats.  So all the mass that a value does
        # not have at 0 or 1 is put between its rounded ends: rounding moves mass but loses none.
        start = np.minimum(p - noise.width, np.nextafter(p, -1.0))
        end = np.maximum(p + noise.width, np.nextafter(p, 2.0))
        share = (1 - atoms.sum(axis=1)) / (np.minimum(end, 1.0) - np.maximum(start, 0.0))
        edges = np.concatenate([[0.0, 1.0], start, end])
        self.edges = np.unique(edges[(edges >= 0) & (edges <= 1)])
        # A value reaches the pieces between its ends, which are edges.
        begin = np.searchsorted(end, self.edges[1:])
        stop = np.maximum(begin, np.searchsorted(start, self.edges[:-1], side="right"))
        self.level = np.stack([range_sums(weight * share, begin, stop) for weight in self.weights])
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
        piece = self.piece_of(mu)
        return self.tails[:, piece + 1] + self.level[:, piece] * (self.edges[piece + 1] - mu)

    def partly(self, piece: IndexArray, mu: FloatArray) -> FloatArray:  # noqa: ARG002 - p_hat is constant on a piece
        """None: p_hat is constant on a piece and crosses nothing."""
        return np.zeros(len(piece))

    def thresholds(self) -> FloatArray:
        """All edges: between them R is smooth but for convex kinks."""
        return np.union1d(self.edges, [0.5])

    def curvature(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """2W: W and V are constant."""
        return np.asarray(2 * self.level[0, self.piece_of((left + right) / 2)])
