"""The worst decision maker with K outcomes: a certified interval for what anybody can lose by believing.

Over all decision problems with payoffs in [0, 1], with any number of actions, the largest swap regret is

    CDL_K = max over U of Σ_i mass_i·(max_a ⟨p̂_i, U[a]⟩ − ⟨p̂_i, U[a*(p_i)]⟩),

where p̂_i are the frequencies of the classes given the vector p_i.  It is a linear program: give each value i an action
s_i, taken at p_i, and an action t_i that would be better.  Maximise Σ mass_i·⟨p̂_i, t_i − s_i⟩ over payoffs in [0, 1]
such that s_i is best at p_i: ⟨p_i, r − s_i⟩ ≤ 0 for each action r.  The constraints are generated as they are violated,
and every round solves a relaxation:

    upper    any y ≥ 0 proves Σ max(0, c − Aᵀy) (weak duality), and E‖p̂ − p‖₁ is a bound too
    lower    the regret of an actual payoff table, the witness, by `OutcomeProblem.action_regret`

Neither end depends on the solver being right.

For more than 64 values the program is too large, and for rows whose vectors do not repeat p̂ means nothing.  Then the
lower end is the largest loss of those who act on one score Σ_k v_k·p_k, v in [0, 1]^K, and could move their thresholds
on it: the monotone decision loss of a view, maximised over v one class at a time.  Re-reading the score is a swap, so
this is at most CDL_K; with two classes it is `monotone_cdl`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.class_predictor import ClassPredictor, as_class_predictor
from trustcal.decisions import OutcomeProblem
from trustcal.decisions.responses import gains
from trustcal.measures.monotone import monotone_cdl, monotone_cdl_witness
from trustcal.predictor import Predictor

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

VALUES: Final = 64
"""The program is solved for up to this many values."""
_SEARCHED: Final = 1 << 14
"""A score is searched for on at most this many vectors, and judged on all."""
_TURNED: Final = 30
"""How many classes, the most frequent ones, are turned one by one."""
_ROUNDS: Final = 30
_SWEEPS: Final = 3
_STRICT: Final = 1e-7
"""How much of a strictly proper score is mixed into a witness, so that ties do not decide what is taken."""
_ROUNDING: Final = 1e-12


@final
@dataclass(frozen=True, eq=False)
class WorstPayoff:
    """The most that anybody with payoffs in [0, 1] loses by believing vectors of probabilities, between two numbers."""

    lower: float
    """What the witness loses: the action regret of `problem`, or what moving thresholds on `score` gains it."""
    upper: float
    """Nobody loses more."""
    problem: OutcomeProblem
    """The witness."""
    score: tuple[float, ...] | None
    """The weight of each class in the score on which the witness acts; None if the program was solved, and each vector
    has an action of its own.  Solved, the two ends nearly meet; otherwise the upper one is E‖p̂ − p‖₁."""


def worst_payoff(
    y_true: ClassPredictor | ArrayLike, proba: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> WorstPayoff:
    """A certified interval for the largest regret over all decision problems with K outcomes and payoffs in [0, 1].

    It is of the distribution as it is.  For rows whose vectors do not repeat the upper end says nothing about the
    population, and the lower end is the largest that a search found on these rows: judge its score on other rows.

    Parameters
    ----------
    y_true, proba, sample_weight
        A `ClassPredictor`, or labels, vectors of probabilities and weights.

    Returns
    -------
    WorstPayoff
        With two classes the interval holds `cdl`.

    References
    ----------
    Zhao, Kim, Sahoo, Ma and Ermon (2021), Calibrating predictions to decisions.

    Examples
    --------
    >>> found = worst_payoff(ClassPredictor([[0.5, 0.25, 0.25]], [[0.25, 0.5, 0.25]]))
    >>> round(found.lower, 6), round(found.upper, 6)
    (0.5, 0.5)

    A linear program for up to 64 values, else O(n·K log n) for each of at most 3·3·30 + K scores.
    """
    q = as_class_predictor(y_true, proba, sample_weight)
    farthest = min(1.0, float(np.abs(q.joint - q.mass[:, None] * q.p).sum()) + _ROUNDING)
    if len(q) > VALUES:
        score = worst_score(q)
        found = monotone_cdl_witness(score_view(q, score))
        problem = OutcomeProblem(_spread_over(found.problem.payoff, score), found.problem.actions, q.classes)
        return WorstPayoff(found.value, max(found.value, farthest), problem, tuple(score.tolist()))
    payoff, upper = _solved(q.p, q.joint)
    problem = _witness(q, payoff)
    lower = _regret(problem, q)
    return WorstPayoff(lower, max(lower, min(upper, farthest)), problem, None)


def _regret(problem: OutcomeProblem, q: ClassPredictor) -> float:
    return min(1.0, problem.action_regret(q))


def score_view(q: ClassPredictor, score: FloatArray) -> Predictor:
    """The view of a score with weights in [0, 1]: Σ_k v_k·p_k, of which outcome k is v_k.  O(n·K + n log n)."""
    return q.scored(np.clip(np.einsum("nk,k->n", q.p, score), 0.0, 1.0), score[q.outcome])


def worst_score(q: ClassPredictor) -> FloatArray:
    """The weights of the classes, each 0, 1/2 or 1, with the largest monotone decision loss that a search finds.

    It starts from each class against the rest and then changes one class at a time as long as that helps.
    """
    small = _thinned(q)
    often = np.argsort(-q.frequencies, kind="stable")[:_TURNED]
    starts = np.eye(len(q.classes))[often]
    losses = [monotone_cdl(score_view(small, one)) for one in starts]
    best, most = starts[int(np.argmax(losses))], max(losses)
    for _ in range(_SWEEPS):
        before = most
        for k in often:
            for weight in (0.0, 0.5, 1.0):
                other = best.copy()
                other[k] = weight
                loss = monotone_cdl(score_view(small, other)) if weight != best[k] else most
                if loss > most:
                    best, most = other, loss
        if most == before:
            break
    return np.asarray(best)


def _thinned(q: ClassPredictor) -> ClassPredictor:
    """The law of every so many-th vector, if there are too many to search on."""
    step = -(-len(q) // _SEARCHED)
    if step == 1:
        return q
    joint = q.joint[::step]
    return ClassPredictor(q.p[::step], joint / joint.sum(), q.classes)


def _spread_over(payoff: FloatArray, score: FloatArray) -> FloatArray:
    """The payoffs for K outcomes, of which outcome k counts as a 1 to the extent score[k]."""
    return np.asarray(payoff[:, :1] * (1 - score) + payoff[:, 1:] * score)


def _solved(p: FloatArray, joint: FloatArray) -> tuple[FloatArray, float]:
    """The payoffs of s_1, …, s_n, t_1, …, t_n and the upper bound of the program of a law with these values."""
    from scipy.optimize import linprog  # slow to import, and not needed to audit two outcomes

    n, width = p.shape
    gain = np.concatenate([-joint, joint]).ravel()
    pairs = np.stack([np.arange(n), n + np.arange(n)], axis=1)  # (i, r): at p_i, s_i is no worse than action r
    upper, payoff = 1.0, np.zeros((2 * n, width))
    for _ in range(_ROUNDS):
        table = _constraints(p, pairs, 2 * n)
        found = linprog(-gain, A_ub=table, b_ub=np.zeros(len(pairs)), bounds=(0, 1), method="highs-ds")
        if found.x is None:
            break
        y = np.maximum(-found.ineqlin.marginals, 0.0)
        upper = min(upper, float(np.maximum(gain - table.T @ y, 0.0).sum()) + _ROUNDING * 2 * n * width)
        payoff = np.clip(found.x, 0.0, 1.0).reshape(2 * n, width)
        expected = p @ payoff.T  # at each value, what each action is expected to pay
        violation = expected - expected[np.arange(n), np.arange(n)][:, None]
        worst = np.argsort(-violation, axis=1)[:, :3]
        new = np.stack([np.repeat(np.arange(n), worst.shape[1]), worst.ravel()], axis=1)
        new = new[violation[new[:, 0], new[:, 1]] > 1e-9]
        fresh = np.unique(np.concatenate([pairs, new]), axis=0)
        if len(fresh) == len(pairs):
            break
        pairs = fresh
    said = np.concatenate([p, joint / joint.sum(axis=1, keepdims=True)])
    quadratic = np.clip((1 + 2 * said - (said**2).sum(axis=1, keepdims=True)) / 3, 0.0, 1.0)
    return np.clip((1 - _STRICT) * payoff + _STRICT * quadratic, 0.0, 1.0), upper


def _constraints(p: FloatArray, pairs: IntArray, actions: int) -> csr_array:
    """A row ⟨p_i, r − s_i⟩ for each pair (i, r)."""
    from scipy.sparse import csr_array

    width = p.shape[1]
    i, r = pairs.T
    columns = np.concatenate([r[:, None] * width + np.arange(width), i[:, None] * width + np.arange(width)], axis=1)
    data = np.concatenate([p[i], -p[i]], axis=1)
    rows = np.repeat(np.arange(len(pairs)), 2 * width)
    return csr_array((data.ravel(), (rows, columns.ravel())), shape=(len(pairs), actions * width))


def _witness(q: ClassPredictor, payoff: FloatArray) -> OutcomeProblem:
    """The problem of these actions, without those that are neither taken nor better."""
    full = OutcomeProblem(payoff, outcomes=q.classes)
    tables = full.tables(q)
    gain = gains(payoff, tables.seen)
    better = np.argmax(gain, axis=1)
    used = np.unique(np.append(tables.taken, better[np.unique(tables.taken)]))
    return OutcomeProblem(payoff[used], outcomes=q.classes)
