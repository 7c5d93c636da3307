"""Noise with a plateau and exponential tails, clamped to [0, 1]: the best known for CDL at small distances."""

from __future__ import annotations

from dataclasses import dataclass
from math import e, log, sqrt
from typing import Final, Self, final

import numpy as np

from trustcal.noise.clamped import ClampedNoise
from trustcal.noise.decays import Decays, swept
from trustcal.noise.density import Density, FloatArray, IndexArray, range_sums
from trustcal.noise.exact import exponential
from trustcal.noise.mechanism import PerTarget, Target, optimal

CDL_CONSTANT: Final = 0.752
CDL_SLOPE: Final = 0.19
CDL_ON_CELLS: Final = 0.863
"""Theorem 47: at eps = scale², CDL ≤ CDL_CONSTANT·scale + CDL_SLOPE·scale²; on cells too, CDL ≤ CDL_ON_CELLS·scale.
The numbers are certified by branch and bound (`test_theorem_47_the_certified_numbers`)."""


@final
@dataclass(frozen=True)
class ClampedPlateau(ClampedNoise):
    """Noise with a plateau, clamped to [0, 1]: M(q) = clip(q + Y, 0, 1), with Y of the density

        1/(4s) on [−s, s],    exp(1 − |y|/s)/(4s) beyond,        s = `scale`

    At scale √eps it guarantees CDL ≤ 0.752·√eps + 0.19·eps (Theorem 47).  As eps tends to 0, no additive noise
    guarantees less than 0.75·√eps (Theorem 45).

    Parameters
    ----------
    scale : float
        s, half the length of the plateau, and the mean length of the tails.

    >>> noise = ClampedPlateau.for_distance(1e-4, "cdl")
    >>> noise, round(noise.decision_displacement() + noise.cdl_shift(1e-4), 7)
    (ClampedPlateau(scale=0.01), 0.007539)
    """

    scale: float

    kind = "plateau"
    title = "plateau noise, clamped"
    per_root = PerTarget(ece=sqrt(2.5), decision_loss=sqrt(0.5))
    cdl_source = "Theorem 47"

    @classmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The scale that minimises 5s/4 + eps/(2s) (ECE) or s/2 + eps/(4s) (decision loss); for CDL √eps."""
        return cls(optimal(eps, target, ece=sqrt(0.4), cdl=1.0, decision_loss=sqrt(0.5)))

    def tv_slope(self) -> float:
        """1/(4·scale)."""
        return 0.25 / self.scale

    def cdl_shift(self, eps: float) -> float:
        """By the convexity of the bound in eps, and its value at eps = scale² (Theorem 47)."""
        return self._shift(eps, min(CDL_CONSTANT + CDL_SLOPE * self.scale, CDL_ON_CELLS) * self.scale)

    def cdl_shift_on_cells(self, eps: float) -> float:
        """Likewise, with a value at eps = scale² that also holds where cells move thresholds."""
        return self._shift(eps, CDL_ON_CELLS * self.scale)

    def _shift(self, eps: float, bound: float) -> float:
        """What is added to K, given a bound on CDL at eps = scale²; at eps = 0 it is scale/2 or less."""
        known = self.scale**2
        chord = self.scale / 2 + (bound - self.scale / 2) * min(eps / known, 1)
        beyond = 2 * self.tv_slope() * max(eps - known, 0)
        return min(2 * self.tv_slope() * eps, chord + beyond - self.decision_displacement())

    def density_after(self, p: FloatArray, weights: FloatArray) -> Density:
        """Constants and two exponentials between the ends of neighbouring plateaus."""
        return Plateaus(p, weights, self)

    def bin_masses(self, p: FloatArray, weights: FloatArray, edges: FloatArray) -> FloatArray:
        """By the law after noise.  O(n + bins), after a sort."""
        density = Plateaus(p, weights, self)
        law = np.maximum(-np.diff(density.above(edges), axis=1), 0.0)
        law[:, 0] += density.atoms[0]  # one after the other: there may be one bin
        law[:, -1] += density.atoms[1]
        return law

    def _tv(self, b: FloatArray, q: FloatArray) -> FloatArray:
        near = (q - b) / (4 * self.scale)
        return np.where(near <= 0.5, near, 1 - 2 * self._tail((q - b) / 2))

    def _tail(self, y: FloatArray) -> FloatArray:
        outside = 0.25 * np.exp(1 - np.maximum(np.abs(y) / self.scale, 1))
        return np.where(np.abs(y) <= self.scale, 0.5 - y / (4 * self.scale), np.where(y < 0, 1 - outside, outside))

    def _log_tail(self, y: FloatArray) -> FloatArray:
        far = y > self.scale
        return np.where(far, 1 - y / self.scale - log(4), np.log(self._tail(np.where(far, 0.0, y))))

    def _hazard_at_1(self) -> float:
        return 1 / max(self.scale, 2 * self.scale - 1)

    def _density(self, x: FloatArray, q: FloatArray) -> FloatArray:
        return np.minimum(e * exponential(x, q, self.scale), 1.0) / (4 * self.scale)

    def _line_quantile(self, u: FloatArray) -> FloatArray:
        beyond = np.minimum(u, 1 - u)
        with np.errstate(divide="ignore"):  # u = 0 and u = 1 are infinitely far out
            far = 1 - np.log(4 * beyond)
        return self.scale * np.where(beyond >= 0.25, 4 * u - 2, np.copysign(far, u - 0.5))

    def _mean_excess(self, a: FloatArray) -> FloatArray:
        flat = np.minimum(a, self.scale)
        beyond = -0.25 * self.scale * np.expm1((flat - a) / self.scale)
        return np.asarray(flat * (0.5 - flat / (8 * self.scale)) + beyond)

    def _tipping_point(self) -> float:
        return self.scale


@final
class Plateaus(Decays):
    """W and V have a constant part, from the plateaus that reach a piece, and two exponentials, from tails.

    V'·W − V·W' is α·exp(−t/s) + β·exp(−u/s) + γ, so that p_hat has at most two turning points between ends of plateaus,
    where pieces are cut.
    """

    def __init__(self, p: FloatArray, weights: FloatArray, noise: ClampedPlateau) -> None:
        super().__init__(p, weights, noise.atoms(p).mass)
        self.scale = s = noise.scale
        self.peak = e / (4 * s)
        # Ends are rounded, as if predictions were moved by a rounding error.  Where a half of the plateau is narrower
        # than the gap between floats, its tail has its mass.
        start, end = p - s, p + s
        edges = np.concatenate([[0.0, 1.0], start, end])
        self.edges = np.unique(edges[(edges >= 0) & (edges <= 1)])
        flat, tails = np.zeros(len(p)), []
        for room, reach, gone, beyond in zip(
            (start, 1 - end), (p, 1 - p), (start == p, end == p), noise.atoms(p).mass.T, strict=True
        ):
            half, tail = np.minimum(s, reach) / (4 * s), np.maximum(0.25 - beyond, 0.0)
            tail, half = np.where(gone, tail + half, tail), np.where(gone, 0.0, half)
            kept = -np.expm1(-np.maximum(room, 0.0) / s)
            tails.append(np.divide(tail, s * kept, out=np.zeros(len(p)), where=kept > 0))
            flat += half + np.where(kept > 0, 0.0, tail)
        self.left = swept(self.edges, end, weights * tails[1], s)[:-1]
        self.right = swept(self.edges[::-1], start, weights * tails[0], s)[-2::-1]
        length = np.minimum(end, 1.0) - np.maximum(start, 0.0)
        share = np.divide(flat, length, out=np.zeros(len(p)), where=length > 0)
        begin = np.searchsorted(end, self.edges[1:])
        stop = np.maximum(begin, np.searchsorted(start, self.edges[:-1], side="right"))
        self.level = np.stack([range_sums(weight * share, begin, stop) for weight in weights], axis=-1)
        self._cut(np.concatenate(self._turns()))
        self.fill()

    def _turns(self) -> tuple[FloatArray, FloatArray]:
        """Where V'·W − V·W' may be 0."""
        (a, v_a), (b, v_b), (c, v_c) = (part.T for part in (self.level, self.left, self.right))
        kept = np.exp(-np.diff(self.edges) / self.scale)
        return self._zeros(np.arange(len(a)), 2 * kept * (v_c * b - v_b * c), v_a * b - a * v_b, a * v_c - v_a * c)

    def _cut(self, places: FloatArray) -> None:
        """Cuts the pieces at those places that are inside."""
        edges = np.unique(np.concatenate([self.edges, places[(places > 0) & (places < 1)]]))
        piece = self.piece_of(edges[:-1])
        near, far = edges[:-1] - self.edges[piece], self.edges[piece + 1] - edges[1:]
        self.left = self.left[piece] * np.exp(-near / self.scale)[:, None]
        self.right = self.right[piece] * np.exp(-far / self.scale)[:, None]
        self.level, self.edges = self.level[piece], edges

    def _zeros(
        self, piece: IndexArray, level: FloatArray, left: FloatArray, right: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The places in pieces where level + left·exp(−t/s) + right·exp(−u/s) = 0; an end of the piece for none.

        With r = exp(−t/s) this is left·r² + level·r + right·κ = 0, κ = exp(−h/s).  Of the two solutions one is taken
        from the left end of the piece, and the other from the right, so that nothing is lost where κ is too small for a
        float.  Without a level there is one, as after Laplace noise.
        """
        start, stop = self.edges[piece], self.edges[piece + 1]
        kept = np.exp((start - stop) / self.scale)
        top = np.maximum(np.maximum(abs(level), abs(left)), abs(right))  # of up to 1/scale², too much for a square
        top = np.where(top > 0, top, 1.0)
        level, left, right = level / top, left / top, right / top
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            half = -(level + np.copysign(np.sqrt(level**2 - 4 * left * right * kept), level)) / 2
            first = start - self.scale * np.log(half / left)
            second = stop + self.scale * np.log(half / right)
            single = start + ((stop - start) + self.scale * np.log(-left / right)) / 2
        first = np.where(level == 0, single, first)
        return tuple(np.where((x > start) & (x < stop), x, start) for x in (first, second))  # type: ignore[return-value]

    def partly(self, piece: IndexArray, mu: FloatArray) -> FloatArray:
        """The largest ∫ (V − μW) over a part that begins or ends at a root: p_hat crosses μ once."""
        parts = (part[piece, 1] - mu * part[piece, 0] for part in (self.level, self.left, self.right))
        start, stop, found = self.edges[piece], self.edges[piece + 1], np.zeros(len(piece))
        for root in self._zeros(piece, *parts):
            for mass, positive in (self.between(piece, start, root), self.between(piece, root, stop)):
                found = np.maximum(found, positive - mu * mass)
        return found
