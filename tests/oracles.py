"""Slow, independent definitions in code: what the fast algorithms are measured against."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from trustcal.predictor import Predictor


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
    slope = np.zeros((max(n - 1, 1), n))
    for i in range(n - 1):
        slope[i, i], slope[i, i + 1] = -1, 1
    gap = np.diff(q.p) if n > 1 else np.zeros(1)
    bias = q.p * q.mass - q.positive
    scale = max(np.abs(bias).max(), 1e-300)  # so that the solver's tolerances are relative
    found = linprog(
        -bias / scale,
        A_ub=np.vstack([slope, -slope]),
        b_ub=np.concatenate([gap, gap]),
        bounds=(-1, 1),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.success, found.message
    return float(-found.fun * scale)
