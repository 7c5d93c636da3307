"""The worst reference: what Theorem 3.1 bounds, found by linear programming rather than bounded.

For a predictor q, a noise M and a distance eps

    worst = sup of E[S(b, y)] − E[S(M(q), y)]

over calibrated b, jointly distributed with (q, y) in any way such that E|q − b| ≤ eps, and over proper scores S with
values in [0, 1].  The problem is bilinear, but one side is small: by Theorem 1 the worst score has two thresholds, on
either side of 1/2, or one at 1/2, with weights that follow from where they are.  And since b is calibrated it enters
only by E u(b), u(b) = Σ weight·(b − threshold)⁺, so for a given score the best b solves a linear program, the one
behind the distance to calibration with another objective.  It is solved over finitely many b, and its dual names the b
that is missing: where

    G(b) = u(b) − (1 − b)·r0(b) − b·r1(b),    r_y(b) = min over i of r[i, y] + price·|b − q[i]|

is positive, b is added; where G ≤ 0 on all of [0, 1] the answer is exact (docs/theory.md, Theorem 25).  G is quadratic
between predictions and thresholds, so its maximum is known in closed form.

Scores are searched best first: a pair of thresholds gains at most what each gains alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from trustcal.decisions import DecisionProblem
from trustcal.measures.transport import Coupling, dtc_witness
from trustcal.noise import Noise, RandomRounding
from trustcal.noise.mechanism import distance_to_calibration
from trustcal.predictor import Predictor
from trustcal.smoothing.smoothed import density_after

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

FloatArray = NDArray[np.float64]

MOST_VALUES = 12
"""Predictions with more values are refused: the linear programs are dense in them."""
_LEVELS = np.concatenate([np.arange(9) / 8, *(np.array([tail, 1 - tail]) for tail in (2**-4, 2**-7, 2**-10, 2**-14))])
"""Thresholds are tried first at these quantiles of each noised prediction."""
_EXACT = 1e-5
"""References are improved until b that were not tried can add no more than this, in units of √eps."""
_STRETCH = 1e-8
"""eps is stretched by this share: where it equals the distance to calibration, the solver needs room to turn."""
_MOST_THRESHOLDS = 128
_MOST_TRIED = 200
"""No more values of b are tried."""
_CLOSE = 2e-3
"""The search over scores ends when what is left can gain at most this share more."""


@final
@dataclass(frozen=True, eq=False)
class WorstReference:
    """A calibrated reference and a decision maker who loses `value` to it, and a proof that nobody loses more than
    `upper`."""

    value: float
    upper: float
    reference: Predictor
    """Calibrated, and within eps of the predictor."""
    coupling: Coupling
    """Who is predicted p by the predictor and b by the reference, per outcome."""
    thresholds: FloatArray
    weights: FloatArray
    """Passing a threshold changes the payoff by weight · (y − threshold)."""

    @property
    def problem(self) -> DecisionProblem:
        """The decision maker: payoffs in [0, 1], at most three actions."""
        return DecisionProblem.from_thresholds(self.thresholds, self.weights)


def worst_reference(q: Predictor, noise: Noise, eps: float) -> WorstReference:
    """The decision loss of M(q) against the worst calibrated reference within eps (what Theorem 3.1 bounds).

    Thresholds are 0, 1/2, 1, the predictions, some quantiles of each noised prediction, and middles of gaps, up to 128
    or so, until what lies between them matters little.  For each score on them the reference is the best of all, not
    only of those on a grid.  So `value` is attained, a lower bound on the supremum; `upper` adds what other thresholds
    can gain, which is nothing for random rounding.  eps is stretched by 1e-8 of itself, for the solver.

    >>> from trustcal.noise import RandomRounding
    >>> q = Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25])            # fair coins, and nobody says so
    >>> worst = worst_reference(q, RandomRounding(2), 0.25)
    >>> round(worst.value, 6), round(worst.upper, 6), worst.thresholds
    (0.333333, 0.333333, array([0.5]))

    Some 20 to 200 linear programs in 2n·(n + 5) unknowns, a few milliseconds each; for up to 12 values.
    """
    distance_to_calibration(eps)
    if len(q) > MOST_VALUES:
        raise ValueError(
            f"the worst reference is found by linear programs for up to {MOST_VALUES} prediction values, not "
            f"{len(q)}. Pool them with q.coarsen({MOST_VALUES}), or bound it by guarantees.batch_decision_loss."
        )
    nearest = dtc_witness(q)
    if eps * (1 + _STRETCH) < nearest.lower:
        raise ValueError(
            f"no calibrated reference is within eps = {eps!r}: the distance to calibration is {nearest.upper:.6g}, "
            "and eps must be at least that."
        )
    return _Search(q, noise, max(eps, nearest.upper), nearest.nearest.p).run()


@final
@dataclass(frozen=True, eq=False)
class _Best:
    """The best reference for one score, by its joint law rho[j, k] with the rows: b[j] is said in row k."""

    gain: float
    """E u(b)."""
    excess: float
    """What a b that was not tried can add: the largest G."""
    b: FloatArray
    rho: FloatArray


@final
@dataclass(frozen=True, eq=False)
class _Search:
    q: Predictor
    noise: Noise
    eps: float
    feasible: FloatArray
    """Values of b that a calibrated reference within eps can use."""

    def run(self) -> WorstReference:
        mu, value = self.thresholds, self.believed
        # What a threshold gains alone: first a bound that costs nothing, by (b − μ)⁺ ≤ (q − μ)⁺ + (b − q)⁺ and
        # E(b − q)⁺ = (E|b − q| + E[b − q])/2, and later the optimum.
        rise = (self.eps + self.q.base_rate - float(self.q.mass @ self.q.p)) / 2
        alone = self.q.mass @ np.maximum(self.q.p[:, None] - mu, 0) + rise - value
        solved, (pairs, weights) = np.zeros(len(mu), dtype=bool), _scores(mu)
        tried = np.zeros(len(pairs), dtype=bool)
        best, upper = None, 0.0
        while True:
            bound = np.where(tried, -1.0, (weights * np.maximum(alone[pairs], 0.0)).sum(axis=1))
            k = int(np.argmax(bound))
            if best is not None and bound[k] <= best[0] * (1 + _CLOSE):
                return self._report(*best, max(upper, float(bound[k])))
            at = pairs[k][weights[k] > 0]
            rough = at[~solved[at]] if len(at) > 1 else at[:0]
            if len(rough):
                found = self._best(mu[rough[:1]], np.ones(1))
                alone[rough[0]], solved[rough[0]] = found.gain + found.excess - value[rough[0]], True
                continue
            tried[k], weight = True, weights[k][weights[k] > 0]
            found = self._best(mu[at], weight)
            lost = found.gain - float(weight @ value[at])
            upper = max(upper, lost + found.excess)
            if best is None or lost > best[0]:
                best = lost, found, mu[at], weight

    @cached_property
    def rows(self) -> tuple[FloatArray, NDArray[np.int8], FloatArray]:
        """Prediction, outcome and mass, where there is mass; sorted by outcome."""
        p, y = np.tile(self.q.p, 2), np.repeat(np.array([0, 1], dtype=np.int8), len(self.q))
        mass = np.concatenate([self.q.mass - self.q.positive, self.q.positive])
        return p[mass > 0], y[mass > 0], mass[mass > 0]

    @cached_property
    def _gaps(self) -> tuple[FloatArray, float]:
        """The thresholds, and how far E[(y − μ); M(q) > μ] can lie below its chords between them.

        Gaps are halved until that is little.  It is at most h²/8 times the second derivative, and at most the mass in
        the gap; for random rounding 0, since the function is linear between atoms.
        """
        mu = np.unique(np.concatenate([[0.0, 0.5, 1.0], self.q.p, *self.noise.quantile(_LEVELS[:, None], self.q.p)]))
        if isinstance(self.noise, RandomRounding):
            return mu, 0.0
        density = density_after(self.q, self.noise)
        while True:
            left, right = mu[:-1], mu[1:]
            mass = np.diff(self.noise.cdf(mu[:, None], self.q.p), axis=0) @ self.q.mass
            below = np.minimum(density.curvature(left, right) * (right - left) ** 2 / 8, mass)
            wide = np.argsort(-below)[: max(_MOST_THRESHOLDS - len(mu), 0)]
            wide = wide[below[wide] > _CLOSE * sqrt(self.eps)]
            if len(wide) == 0:
                return mu, float(below.max())
            mu = np.union1d(mu, (left[wide] + right[wide]) / 2)

    @property
    def thresholds(self) -> FloatArray:
        return self._gaps[0]

    @cached_property
    def believed(self) -> FloatArray:
        """E[(y − μ); M(q) > μ], or ≥ if that is less: ties are resolved in the worst way."""
        mu = self.thresholds
        stake = np.outer(1 - mu, self.q.positive) - np.outer(mu, self.q.mass - self.q.positive)
        atoms = self.noise.atoms(self.q.p)
        on = (np.where(atoms.at == mu[:, None, None], atoms.mass, 0.0)).sum(axis=-1)
        above = (stake * (1 - self.noise.cdf(mu[:, None], self.q.p))).sum(axis=1)
        return np.asarray(above + np.minimum((stake * on).sum(axis=1), 0.0))

    def _best(self, mu: FloatArray, weights: FloatArray) -> _Best:
        p, y, mass = self.rows
        b = np.unique(np.concatenate([[0.0, 1.0], self.q.p, self.feasible, mu]))
        payoff = _payoff(p, mu, weights)
        best: _Best | None = None
        while best is None or best.excess > _EXACT * sqrt(self.eps):
            found = self._solve(b, mu, weights)
            if not found.success or len(b) > _MOST_TRIED:
                if best is None:
                    raise ArithmeticError(f"the linear program for the worst reference was not solved: {found.message}")
                break  # what is known so far is proved as well, with a larger excess
            r = payoff - self.eps * found.eqlin.marginals[: len(p)]
            missing, excess = _missing(b, p, y, r, -float(found.ineqlin.marginals[0]), mu, weights)
            gain = float(mass @ payoff) - self.eps * float(found.fun)
            best = _Best(gain, max(excess, 0.0), b, np.maximum(found.x, 0.0).reshape(len(b), len(p)))
            b = np.union1d(b, missing)
        return best

    def _solve(self, b: FloatArray, mu: FloatArray, weights: FloatArray) -> OptimizeResult:
        from scipy.optimize import linprog

        p, y, mass = self.rows
        far = np.abs(b[:, None] - p)
        # Where eps is the distance to calibration, the solver may need more room, or more patience.
        for tolerance, presolve in ((1e-10, True), (1e-10, False), (1e-9, True)):
            found = linprog(
                # Moves of up to eps gain up to 2·eps: in these units the program is of size 1.
                -((_payoff(b, mu, weights)[:, None] - _payoff(p, mu, weights)) / self.eps).ravel(),
                A_ub=(far / self.eps).reshape(1, -1),
                b_ub=[1 + _STRETCH],
                A_eq=_marginals_and_calibration(b, y),
                b_eq=np.concatenate([mass, np.zeros(len(b))]),
                method="highs",
                options={
                    "primal_feasibility_tolerance": tolerance,
                    "dual_feasibility_tolerance": tolerance,
                    "presolve": presolve,
                },
            )
            if found.success:
                break
        return found

    def _report(
        self, value: float, best: _Best, thresholds: FloatArray, weights: FloatArray, upper: float
    ) -> WorstReference:
        p, y, _ = self.rows
        k, j = np.nonzero(best.rho.T > 1e-13)
        coupling = Coupling(p[k], y[k], best.b[j], best.rho[j, k])
        mass = best.rho.sum(axis=1)
        kept = mass > 1e-13
        mass = mass[kept] / mass[kept].sum()
        reference = Predictor(best.b[kept], mass, mass * best.b[kept])
        return WorstReference(value, upper + 2 * self._gaps[1], reference, coupling, thresholds, weights)


def _scores(mu: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """The extreme scores on given thresholds: two on either side of 1/2, or 1/2 alone (Theorem 1)."""
    low, high = np.flatnonzero(mu < 0.5), np.flatnonzero(mu > 0.5)
    half = int(np.searchsorted(mu, 0.5))
    i, j = (index.ravel() for index in np.meshgrid(low, high, indexing="ij"))
    weights = 2 * np.column_stack([mu[j] - 0.5, 0.5 - mu[i]]) / (mu[j] - mu[i])[:, None]
    pairs = np.concatenate([np.column_stack([i, j]), [[half, half]]])
    return pairs, np.concatenate([weights, [[2.0, 0.0]]])


def _payoff(b: FloatArray, mu: FloatArray, weights: FloatArray) -> FloatArray:
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
    u_left, u_right = _payoff(left, mu, weights), _payoff(right, mu, weights)
    slope = (u_right - u_left) / (right - left)
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
