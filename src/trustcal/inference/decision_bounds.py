"""Confidence bounds on the decision measures that need no bins: theorems for every population and sample size.

Each measure is the largest E[f(p, y)] over a fixed class of functions.  From above, the maximiser of the population is
one fixed function, so one inequality for one function serves (Theorems 38 and 39).  From below, some rows choose a
function and the others judge it (Theorem 40).  theory.md has the proofs.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import Role, checked_confidence, generator
from trustcal.decisions import DecisionProblem, as_problem
from trustcal.inference.confidence import ConfidenceBound
from trustcal.inference.deviations import (
    ONE_FUNCTION,
    ROUNDING,
    WEIGHTED,
    Tangent,
    deviation,
    hoeffding,
    second_moment,
    tangents,
)
from trustcal.inference.sampler import sample_size
from trustcal.inference.splits import judged, judged_by, learn_and_judge, usable_rows
from trustcal.measures.atb import atb
from trustcal.measures.counts import row_counts
from trustcal.measures.interval_bias import cutoff, cutoff_witness
from trustcal.measures.scores import brier
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]


def cutoff_upper_bound(q: Predictor, confidence: float = 0.95) -> ConfidenceBound:
    """An upper confidence bound on the population's cutoff calibration error (Theorem 38).

    Parameters
    ----------
    q : Predictor
        Counted from independent rows.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    ConfidenceBound
        Rigorous for rows of equal weight, of any number.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> bound = cutoff_upper_bound(Predictor.from_samples(rng.random(5000) < p**2, p))
    >>> bound.estimate < bound.upper < 0.2
    True

    O(n).
    """
    q, error = usable_rows(q), 1 - checked_confidence(confidence)
    estimate, alike = cutoff(q), row_counts(q) is not None
    far = deviation(min(1.0, brier(q)), sample_size(q), error) if alike else hoeffding(sample_size(q), error)
    upper = min(1.0, estimate + far + ROUNDING)
    return ConfidenceBound("cutoff", estimate, 0.0, upper, confidence, ONE_FUNCTION if alike else WEIGHTED, alike)


def cutoff_lower_bound(q: Predictor, confidence: float = 0.95, *, rng: np.random.Generator | int) -> ConfidenceBound:
    """A lower confidence bound on the population's cutoff calibration error (Theorem 40).

    Parameters
    ----------
    q : Predictor
        Counted from rows; those with the same prediction have the same weight, unless rows have clusters.
    confidence : float
        Between 0 and 1.
    rng : Generator or int
        Chooses the third of the rows (or clusters) that finds the range; the others judge it.

    Returns
    -------
    ConfidenceBound
        Rigorous for any number of independent rows of equal weight; else for weights and sizes fixed in advance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> bound = cutoff_lower_bound(Predictor.from_samples(rng.random(5000) < p**2, p), rng=0)
    >>> 0.1 < bound.lower < bound.estimate
    True

    O(n).
    """
    q, confidence, estimate = usable_rows(q), checked_confidence(confidence), cutoff(as_predictor(q))
    learn, judge = learn_and_judge(q, generator(rng, Role.SPLITS))
    lower = 0.0
    if learn:
        found = cutoff_witness(learn.law(q.p))
        inside = found.sign * ((q.p >= found.low) & (q.p <= found.high))
        lower = judged(judge, np.stack([q.p * inside, (q.p - 1) * inside]), 1 - confidence)
    return ConfidenceBound("cutoff", estimate, min(lower, estimate), 1.0, confidence, judged_by(judge), judge.alike)


def atb_bounds(q: Predictor, confidence: float = 0.95) -> ConfidenceBound:
    """A lower and an upper confidence bound on the population's ATB, each at this confidence (Theorems 38 and 40).

        √ATB_n − √(v/n) − √(2·ln(1/(0.9a))/n)  ≤  √ATB  ≤  √ATB_n + t,     a = 1 − confidence

    with v an upper bound on the Brier score and t the deviation of one function with that second moment.  With weights
    or clusters, v = 1, and t and the last term are Hoeffding's with the effective sample size n.

    Parameters
    ----------
    q : Predictor
        Counted from rows.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    ConfidenceBound
        Rigorous for any number of independent rows of equal weight; else for weights and sizes fixed in advance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> bound = atb_bounds(Predictor.from_samples(rng.random(5000) < p**2, p))
    >>> 0 < bound.lower < bound.estimate < bound.upper
    True

    O(n).
    """
    q, error = usable_rows(q), 1 - checked_confidence(confidence)
    rows, score, estimate = sample_size(q), min(1.0, brier(q)), atb(q)
    alike, root = row_counts(q) is not None, sqrt(estimate)
    if alike:
        below = sqrt(second_moment(score, rows, error) / rows) + hoeffding(rows, 0.9 * error)
        above = deviation(score, rows, error)
    else:
        above = hoeffding(rows, error)
        below = sqrt(1 / rows) + above
    lower, upper = max(0.0, root - below - ROUNDING), min(1.0, root + above + ROUNDING)
    method = ONE_FUNCTION if alike else WEIGHTED
    return ConfidenceBound("atb", estimate, lower**2, upper**2, confidence, method, alike)


def action_regret_bounds(problem: DecisionProblem, q: Predictor, confidence: float = 0.95) -> ConfidenceBound:
    """A lower and an upper confidence bound on the population's action regret, each at this confidence.

    From above one swap of actions is best for the population; from below each action's best swap is judged on its own
    (Theorems 38 and 40).  A prediction on a threshold takes the lower action, as `best_response` does.

    Parameters
    ----------
    problem : DecisionProblem
        Payoffs in any units.
    q : Predictor
        Counted from rows.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    ConfidenceBound
        In the units of the payoffs, rigorous for any number of independent rows of equal weight; else for weights and
        sizes of clusters fixed in advance.

    Examples
    --------
    >>> from trustcal.decisions import umbrella
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> bound = action_regret_bounds(umbrella(), Predictor.from_samples(rng.random(5000) < 1 - p, p))
    >>> 0.4 < bound.lower < bound.estimate < bound.upper < 0.6
    True

    O(n + k³) for k actions.
    """
    problem, q, error = as_problem(problem), usable_rows(q), 1 - checked_confidence(confidence)
    alike = row_counts(q) is not None
    rows, stakes, estimate = sample_size(q), problem.stakes, problem.action_regret(q, ties="lower")
    if stakes == 0:
        return ConfidenceBound("action_regret", 0.0, 0.0, 0.0, confidence, ONE_FUNCTION, True)
    taken = np.searchsorted(problem.thresholds, q.p, side="left")
    count = len(problem.responses)
    joint: FloatArray = np.stack(
        [np.bincount(taken, x, count).astype(float) for x in (q.mass - q.positive, q.positive)], axis=1
    )
    lower, upper = swap_bounds(joint, relative(problem.payoff[problem.responses], stakes), rows, error, alike)
    return ConfidenceBound(
        "action_regret",
        estimate,
        max(0.0, min(stakes * lower, estimate)),
        stakes * upper,
        confidence,
        ONE_FUNCTION if alike else WEIGHTED,
        alike,
    )


def relative(payoff: FloatArray, stakes: float) -> FloatArray:
    """Payoffs above the least for each outcome, in units of the stakes: at most 1, however small the stakes are.

    >>> relative(np.array([[1e-15, 0.0], [1e-15, 5e-324]]), 5e-324)
    array([[0., 0.],
           [0., 1.]])
    """
    return np.asarray((payoff - payoff.min(axis=0)) / stakes)


def swap_bounds(joint: FloatArray, payoff: FloatArray, rows: float, error: float, alike: bool) -> tuple[float, float]:
    """Bounds on Σ_a max_b Σ_y joint[a, y]·(payoff[b, y] − payoff[a, y]) of the population, each with this error.

    Parameters
    ----------
    joint : array of shape (actions, outcomes)
        How often each action is recommended and each outcome occurs, of so many `rows`, equal and independent if
        `alike`.
    payoff : array of shape (actions, outcomes)
        Payoffs that differ by at most 1 for each outcome.
    rows, error : float
    alike : bool

    Returns
    -------
    tuple of float
        The lower and the upper bound.

    O(k²) for k actions and each outcome.
    """
    count = len(payoff)
    gain, moment = np.zeros((2, count, count))
    for a, weight in enumerate(joint):
        change = payoff - payoff[a]  # at most 1 in size
        gain[a], moment[a] = (np.einsum("y,by->b", weight, x) for x in (change, change**2))
    pairs = max(1, count * (count - 1))

    def far(moment: float) -> float:
        return deviation(min(1.0, moment), rows, error / pairs) if alike else hoeffding(rows, error / pairs)

    lower = sum(
        max(0.0, max((g - far(m) for g, m in zip(*row, strict=True) if g > 0), default=0.0))
        for row in zip(gain.tolist(), moment.tolist(), strict=True)
    )
    lines = tangents(rows, error) if alike else [Tangent(hoeffding(rows, error), 0.0)]
    upper = max(0.0, min(line.height + _best_swap(gain + line.slope * moment) for line in lines))
    return lower - ROUNDING, min(1.0, upper + ROUNDING)


def _best_swap(gain: FloatArray) -> float:
    """The largest sum of gain[a, σ(a)] over all σ but the identity, whose gain is 0 without any deviation."""
    other = np.where(np.eye(len(gain), dtype=bool), -np.inf, gain).max(axis=1, initial=-np.inf)
    every = np.maximum(other, 0.0)
    return float((every.sum() - every + other).max())
