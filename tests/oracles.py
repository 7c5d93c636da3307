"""Slow, independent definitions in code: what the fast algorithms are measured against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, diags_array, vstack

from trustcal.predictor import Predictor


def rounding(terms: int) -> float:
    """What correct rounding may put between two sums of this many products whose absolute values add up to 1 or less.

    Each term is rounded when its factors are made, when they are multiplied and each time that it is added, by at most
    2^-53 of itself: terms + 1 times on each side (Higham, Accuracy and Stability of Numerical Algorithms, Section 3.1).
    """
    return 2 * (terms + 1) * 2.0**-53


def worst_score(q: Predictor, reference: Predictor) -> float:
    """Decision loss by linear programming over all proper scores with values in [0, 1] (Definitions 2.3 and 2.5).

    Unknowns are S(v, y) at every value v that either predictor uses; a score that is proper there extends to [0, 1].
    Constraints say that no report beats the truth: (1 − v) S(w, 0) + v S(w, 1) ≤ (1 − v) S(v, 0) + v S(v, 1).
    """
    values = np.union1d(q.p, reference.p)
    n = len(values)
    gain = np.zeros((n, 2))
    for law, sign in ((reference, 1.0), (q, -1.0)):
        at = np.searchsorted(values, law.p)
        gain[at, 0] += sign * (law.mass - law.positive)
        gain[at, 1] += sign * law.positive
    rows = []
    for i, v in enumerate(values):
        for j in range(n):
            if i != j:
                row = np.zeros((n, 2))
                row[j] += (1 - v, v)
                row[i] -= (1 - v, v)
                rows.append(row.ravel())
    found = linprog(
        -gain.ravel(),
        A_ub=np.array(rows) if rows else None,
        b_ub=np.zeros(len(rows)) if rows else None,
        bounds=(0, 1),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.success, found.message
    return -float(found.fun)


def profile_by_definition(q: Predictor, mu: float) -> float:
    """R(mu) = E[|p_hat − mu|; mu between p and p_hat, ends included]."""
    low, high = np.minimum(q.p, q.p_hat), np.maximum(q.p, q.p_hat)
    between = (low <= mu) & (mu <= high)
    return float((q.mass * np.abs(q.p_hat - mu))[between].sum())


def swap_regret_by_enumeration(payoff: np.ndarray, q: Predictor, tie: float = 1e-12) -> float:
    """Swap regret straight from expected payoffs: the worst of the actions that are best within a tie."""
    regret = 0.0
    for p, mass, positive in zip(q.p, q.mass, q.positive, strict=True):
        believed = payoff @ np.array([1 - p, p])
        earned = payoff @ np.array([mass - positive, positive])
        regret += earned.max() - earned[believed >= believed.max() - tie].min()
    return regret


def smcal_by_linear_programming(q: Predictor) -> float:
    """The smooth calibration error by its definition: the best σ(p_i) with |σ| ≤ 1 and slopes of at most 1."""
    n = len(q)
    slope = diags_array([-np.ones(n), np.ones(n - 1)], offsets=[0, 1], shape=(n - 1, n)) if n > 1 else None
    scale = max(np.abs(q.bias).max(), 1e-300)  # so that the solver's tolerances are relative
    found = linprog(
        -q.bias / scale,
        A_ub=None if slope is None else vstack([slope, -slope]),
        b_ub=None if slope is None else np.tile(np.diff(q.p), 2),
        bounds=(-1, 1),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.success, found.message
    return float(-found.fun * scale)


def dtc_by_linear_programming(q: Predictor, b: NDArray[np.float64]) -> float:
    """The distance to calibration by the paper's linear program (DtC_LP), with b restricted to the given values.

    Unknown is the joint law ρ(b, p, y) ≥ 0.  It has the law of (p, y) as a marginal, and b is calibrated under it:
    (1 − b) Σ_p ρ(b, p, 1) = b Σ_p ρ(b, p, 0).  The least Σ |p − b| ρ is never below the distance to calibration, and
    equals it if b holds the right values.
    """
    n, m = len(q), len(b)
    i, j, y = (index.ravel() for index in np.meshgrid(np.arange(n), np.arange(m), [0, 1], indexing="ij"))
    column = np.arange(len(i))
    bias = np.where(y == 1, 1 - b[j], -b[j])
    matrix = coo_array(
        (
            np.concatenate([np.ones(len(i)), bias]),
            (np.concatenate([2 * i + y, 2 * n + j]), np.concatenate([column, column])),
        ),
        shape=(2 * n + m, len(i)),
    )
    marginal = np.column_stack([q.mass - q.positive, q.positive]).ravel()
    found = linprog(
        np.abs(q.p[i] - b[j]),
        A_eq=matrix.tocsr(),
        b_eq=np.concatenate([marginal, np.zeros(m)]),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.success, found.message
    return float(found.fun)


def dtc_dual_by_linear_programming(q: Predictor, b: NDArray[np.float64]) -> float:
    """The dual program (DtC_LP_Dual) with b restricted to the given values: the largest Σ Pr[p, y] r(p, y) with
    r(p, y) ≤ |b − p| + (y − b) s(b) for every b, p and y.  By duality the same number.
    """
    n, m = len(q), len(b)
    i, j, y = (index.ravel() for index in np.meshgrid(np.arange(n), np.arange(m), [0, 1], indexing="ij"))
    row = np.arange(len(i))
    matrix = coo_array(
        (
            np.concatenate([np.ones(len(i)), b[j] - y]),
            (np.concatenate([row, row]), np.concatenate([2 * i + y, 2 * n + j])),
        ),
        shape=(len(i), 2 * n + m),
    )
    marginal = np.column_stack([q.mass - q.positive, q.positive]).ravel()
    found = linprog(
        -np.concatenate([marginal, np.zeros(m)]),
        A_ub=matrix.tocsr(),
        b_ub=np.abs(q.p[i] - b[j]),
        bounds=[(None, None)] * (2 * n) + [(-1, 1)] * m,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.success, found.message
    return -float(found.fun)
