"""The best reference for one score: of all calibrated b within eps of a predictor, the one with the largest E u(b).

A calibrated b enters a proper score only by E u(b), u(b) = Σ weight·(b − threshold)⁺, so this is a linear program over
the joint laws of b and the predictor: the one behind the distance to calibration, with another objective.  It is solved
over finitely many b, and its dual names the b that is missing: where

    G(b) = u(b) − (1 − b)·r0(b) − b·r1(b),    r_y(b) = min over rows with outcome y of r[k] + price·|b − p[k]|

is positive, b is added; where G ≤ 0 on all of [0, 1] the answer is exact (theory.md, Theorem 25).  G is quadratic
between predictions, thresholds and values of b, so its maximum is known in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Self, final

import numpy as np
from numpy.typing import NDArray

from trustcal.measures.transport import Coupling, dtc_witness
from trustcal.predictor import Predictor

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

FloatArray = NDArray[np.float64]

_EXACT = 1e-5
"""Next to nothing, in units of √eps."""
_STRETCH = 1e-8
"""eps is stretched by this share: where it equals the distance to calibration, the solver needs room to turn."""
_MOST_TRIED = 200
"""No more values of b are tried."""


@final
@dataclass(frozen=True, eq=False)
class BestReference:
    """The best reference for a score, by its joint law rho[j, k] with the rows: b[j] is said in row k."""

    gain: float
    """E u(b)."""
    excess: float
    """What a b that was not tried can add: the largest G."""
    b: FloatArray
    rho: FloatArray

    @property
    def used(self) -> FloatArray:
        """The values of b that it takes."""
        return np.asarray(self.b[self.rho.sum(axis=1) > 1e-9])

    def predictor(self) -> Predictor:
        """The reference as a law, calibrated to the last digit."""
        mass = self.rho.sum(axis=1)
        kept = mass > 1e-13
        mass = mass[kept] / mass[kept].sum()
        return Predictor(self.b[kept], mass, mass * self.b[kept])


@final
@dataclass(frozen=True, eq=False)
class References:
    """All calibrated references within eps of a predictor, which is given by rows of mass, sorted by outcome."""

    p: FloatArray
    y: NDArray[np.int8]
    mass: FloatArray
    eps: float
    start: FloatArray
    """Values of b that are tried first; some reference within eps uses no others."""

    @classmethod
    def of(cls, q: Predictor, eps: float) -> Self:
        """Or a refusal, if there are none."""
        nearest = dtc_witness(q)
        if eps * (1 + _STRETCH) < nearest.lower:
            raise ValueError(
                f"no calibrated reference is within eps = {eps!r}: the distance to calibration is {nearest.upper:.6g}, "
                "and eps must be at least that."
            )
        p, y = np.tile(q.p, 2), np.repeat(np.array([0, 1], dtype=np.int8), len(q))
        mass = np.concatenate([q.mass - q.positive, q.positive])
        start = np.unique(np.concatenate([[0.0, 1.0], q.p, nearest.nearest.p]))
        return cls(p[mass > 0], y[mass > 0], mass[mass > 0], max(eps, nearest.upper), start)

    def best(self, mu: FloatArray, weights: FloatArray, also: FloatArray, enough: float = 0.0) -> BestReference:
        """The best for a score, given by thresholds and what is at stake at each; b in `also` are tried at once.

        It ends when b that were not tried can gain no more than `enough`, or next to nothing.
        """
        enough = max(enough, _EXACT * sqrt(self.eps))
        b, before = np.unique(np.concatenate([self.start, mu, also])), payoff(self.p, mu, weights)
        best: BestReference | None = None
        while best is None or best.excess > enough:
            found = self._solve(b, mu, weights)
            if not found.success or len(b) > _MOST_TRIED:
                if best is None:
                    raise ArithmeticError(f"the linear program for the best reference was not solved: {found.message}")
                break  # what is known so far is proved as well, with a larger excess
            r = before - self.eps * found.eqlin.marginals[: len(self.p)]
            missing, excess = _missing(b, self.p, self.y, r, -float(found.ineqlin.marginals[0]), mu, weights)
            gain = float(self.mass @ before) - self.eps * float(found.fun)
            best = BestReference(gain, max(excess, 0.0), b, np.maximum(found.x, 0.0).reshape(len(b), -1))
            b = np.union1d(b, missing)
        return best

    def coupling(self, reference: BestReference) -> Coupling:
        """Who is predicted what by whom."""
        k, j = np.nonzero(reference.rho.T > 1e-13)
        return Coupling(self.p[k], self.y[k], reference.b[j], reference.rho[j, k])

    def _solve(self, b: FloatArray, mu: FloatArray, weights: FloatArray) -> OptimizeResult:
        from scipy.optimize import linprog

        # Moves of up to eps gain up to 2·eps: in these units the program is of size 1.
        gained = (payoff(b, mu, weights)[:, None] - payoff(self.p, mu, weights)) / self.eps
        moved = np.abs(b[:, None] - self.p) / self.eps
        # Where eps is the distance to calibration, the solver may need more patience, or more room.
        for tolerance, presolve in ((1e-10, True), (1e-10, False), (1e-9, True)):
            tolerances = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), tolerance)
            found = linprog(
                -gained.ravel(),
                A_ub=moved.reshape(1, -1),
                b_ub=[1 + _STRETCH],
                A_eq=_marginals_and_calibration(b, self.y),
                b_eq=np.concatenate([self.mass, np.zeros(len(b))]),
                options={**tolerances, "presolve": presolve},
            )
            if found.success:
                break
        return found


def payoff(b: FloatArray, mu: FloatArray, weights: FloatArray) -> FloatArray:
    """u(b) = Σ weight·(b − threshold)⁺."""
    return np.asarray(np.maximum(b[:, None] - mu, 0.0) @ weights)


def _marginals_and_calibration(b: FloatArray, y: NDArray[np.int8]) -> FloatArray:
    """One row for each row of the predictor, Σ_j rho[j, k]; one for each b, Σ_k (y − b) rho[j, k]."""
    marginals = np.tile(np.eye(len(y)), len(b))
    calibration = np.zeros((len(b), len(b), len(y)))
    calibration[np.arange(len(b)), np.arange(len(b))] = y - b[:, None]
    return np.concatenate([marginals, calibration.reshape(len(b), -1)])


def _missing(
    b: FloatArray, p: FloatArray, y: NDArray[np.int8], r: FloatArray, price: float, mu: FloatArray, weights: FloatArray
) -> tuple[FloatArray, float]:
    """Where G is positive, the highest point of each gap; and the largest G.

    Between nodes r_y is the lesser of a rising and a falling line, hence G the largest of four quadratic functions.
    """
    if y[0] == y[-1]:  # one outcome only: b = y is the one calibrated reference, and 0 and 1 were tried
        return b[:0], 0.0
    left, right = b[:-1], b[1:]
    u_left, slope = payoff(left, mu, weights), (left[:, None] >= mu) @ weights
    highest, at = np.full(len(left), -np.inf), left.copy()
    lines = [
        [
            (np.where(p[y == o] <= left[:, None], r[y == o] - price * p[y == o], np.inf).min(axis=1), price),
            (np.where(p[y == o] >= right[:, None], r[y == o] + price * p[y == o], np.inf).min(axis=1), -price),
        ]
        for o in (0, 1)
    ]
    for a0, s0 in lines[0]:
        for a1, s1 in lines[1]:
            there = np.isfinite(a0) & np.isfinite(a1)
            start0, start1 = np.where(there, a0, 0.0), np.where(there, a1, 0.0)
            square, linear = s0 - s1, slope - s0 + start0 - start1
            top = np.clip(-linear / (2 * square), left, right) if square < 0 else left
            for x in (left, right, top):
                g = u_left + slope * (x - left) - (1 - x) * (start0 + s0 * x) - x * (start1 + s1 * x)
                better = there & (g > highest)
                highest, at = np.where(better, g, highest), np.where(better, x, at)
    return at[highest > 0], float(highest.max())
