"""Confidence bounds on the decision measures that need no bins: theorems for every population and sample size.

Each measure is the largest E[f(p, y)] over a fixed class of functions.  From above, the maximiser of the population is
one fixed function, so one inequality for one function serves (Theorems 38 and 39).  From below, some rows choose a
function and the others judge it (Theorem 40).  docs/theory.md has the proofs.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import checked_confidence, generator
from trustcal.decisions import DecisionProblem, as_problem
from trustcal.decisions.envelope import bridge, over_half
from trustcal.inference.confidence import ConfidenceBound
from trustcal.inference.deviations import Tangent, deviation, second_moment, tangent
from trustcal.inference.sampler import sample_size
from trustcal.inference.splits import learn_and_judge
from trustcal.measures.atb import atb
from trustcal.measures.counts import law_of_counts, row_counts
from trustcal.measures.interval_bias import cutoff, cutoff_witness
from trustcal.measures.monotone import MonotoneWitness, monotone_cdl, monotone_cdl_witness
from trustcal.measures.scores import brier
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]

TANGENTS = 16
"""Lines above the deviation that are tried; every one gives a valid bound."""
_ROUNDING = 1e-12
_ONE_FUNCTION = "one fixed function, by Bennett's inequality with its second moment"
_WEIGHTED = "one fixed function, by Hoeffding's inequality with the effective sample size: for weights fixed in advance"
_JUDGED = "a third of the rows chooses the function, the others judge it, by Bennett's inequality"


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
    q, error = _rows(q), 1 - checked_confidence(confidence)
    estimate, alike = cutoff(q), row_counts(q) is not None
    far = deviation(min(1.0, brier(q)), sample_size(q), error) if alike else _hoeffding(q, error)
    upper = min(1.0, estimate + far + _ROUNDING)
    return ConfidenceBound("cutoff", estimate, 0.0, upper, confidence, _ONE_FUNCTION if alike else _WEIGHTED, alike)


def cutoff_lower_bound(q: Predictor, confidence: float = 0.95, *, rng: np.random.Generator | int) -> ConfidenceBound:
    """A lower confidence bound on the population's cutoff calibration error (Theorem 40).

    Parameters
    ----------
    q : Predictor
        Counted from independent rows of equal weight.
    confidence : float
        Between 0 and 1.
    rng : Generator or int
        Chooses the third of the rows that finds the range; the others judge it.

    Returns
    -------
    ConfidenceBound
        Rigorous for any number of rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> bound = cutoff_lower_bound(Predictor.from_samples(rng.random(5000) < p**2, p), rng=0)
    >>> 0.1 < bound.lower < bound.estimate
    True

    O(n).
    """
    q, confidence, estimate = _rows(q), checked_confidence(confidence), cutoff(as_predictor(q))
    learn, judge = learn_and_judge(q, generator(rng))
    if not learn.any():
        return ConfidenceBound("cutoff", estimate, 0.0, 1.0, confidence, _JUDGED, True)
    found = cutoff_witness(law_of_counts(q.p, learn))
    inside = found.sign * ((q.p >= found.low) & (q.p <= found.high))
    lower = _judged(judge, np.stack([q.p * inside, (q.p - 1) * inside]), 1 - confidence)
    return ConfidenceBound("cutoff", estimate, min(lower, estimate), 1.0, confidence, _JUDGED, True)


def monotone_cdl_upper_bound(q: Predictor, confidence: float = 0.95) -> ConfidenceBound:
    """An upper confidence bound on the population's monotone calibration decision loss (Theorem 39).

        M(P) ≤ height + 2·cav T(1/2),   T(μ) = max over upper sets and ties of P_n g + 2·slope·P_n g²

    for every line height + slope·x above the deviation of one function with second moment x, where g is what a rule
    that moves the threshold μ changes.  Moving a threshold a little changes few rows, so g² is small.

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
    >>> bound = monotone_cdl_upper_bound(Predictor.from_samples(rng.random(5000) < p**2, p))
    >>> 0.0547 < bound.upper < 0.09
    True

    O(n) for each of 16 lines.
    """
    q, error = _rows(q), 1 - checked_confidence(confidence)
    estimate = monotone_cdl(q)
    if row_counts(q) is None:
        upper = min(1.0, estimate + _hoeffding(q, error) + _ROUNDING)
        return ConfidenceBound("monotone_cdl", estimate, 0.0, upper, confidence, _WEIGHTED, False)
    rows = sample_size(q)
    lines = [Tangent(deviation(1.0, rows, error), 0.0)]
    lines += [tangent(x, rows, error) for x in np.geomspace(min(0.5, 4 / rows), 0.99, TANGENTS).tolist()]
    # Every line gives a valid bound.  A few thresholds tell which line is good; only the best two are taken in full.
    few = q.p[:: max(1, len(q) // 2048)]
    lines.sort(key=lambda line: line.height + 2 * _height(q, few, line.slope))
    upper = min(line.height + 2 * _height(q, q.p, line.slope) for line in lines[:2])
    return ConfidenceBound("monotone_cdl", estimate, 0.0, min(1.0, upper + _ROUNDING), confidence, _ONE_FUNCTION, True)


def monotone_cdl_lower_bound(
    q: Predictor, confidence: float = 0.95, *, rng: np.random.Generator | int
) -> ConfidenceBound:
    """A lower confidence bound on the population's monotone calibration decision loss (Theorem 40).

    Parameters
    ----------
    q : Predictor
        Counted from independent rows of equal weight.
    confidence : float
        Between 0 and 1.
    rng : Generator or int
        Chooses the third of the rows that finds the decision maker and the thresholds; the others judge them.

    Returns
    -------
    ConfidenceBound
        Rigorous for any number of rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> bound = monotone_cdl_lower_bound(Predictor.from_samples(rng.random(5000) < p**2, p), rng=0)
    >>> 0.01 < bound.lower < 0.0547
    True

    O(n).
    """
    q, confidence, estimate = _rows(q), checked_confidence(confidence), monotone_cdl(as_predictor(q))
    learn, judge = learn_and_judge(q, generator(rng))
    if not learn.any():
        return ConfidenceBound("monotone_cdl", estimate, 0.0, 1.0, confidence, _JUDGED, True)
    change = change_of(monotone_cdl_witness(law_of_counts(q.p, learn)), q.p)
    lower = _judged(judge, change, 1 - confidence)
    return ConfidenceBound("monotone_cdl", estimate, min(lower, estimate), 1.0, confidence, _JUDGED, True)


def atb_bounds(q: Predictor, confidence: float = 0.95) -> ConfidenceBound:
    """A lower and an upper confidence bound on the population's ATB, each at this confidence (Theorems 38 and 40).

        √ATB_n − √(v/n) − √(2·ln(1/(0.9a))/n)  ≤  √ATB  ≤  √ATB_n + t,     a = 1 − confidence

    with v an upper bound on the Brier score and t the deviation of one function with that second moment.

    Parameters
    ----------
    q : Predictor
        Counted from independent rows of equal weight.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    ConfidenceBound
        Rigorous for any number of rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> bound = atb_bounds(Predictor.from_samples(rng.random(5000) < p**2, p))
    >>> 0 < bound.lower < bound.estimate < bound.upper
    True

    O(n).
    """
    q, error = _equal_rows(q), 1 - checked_confidence(confidence)
    rows, score, estimate = sample_size(q), min(1.0, brier(q)), atb(q)
    root, v = sqrt(estimate), second_moment(score, rows, error)
    lower = max(0.0, root - sqrt(v / rows) - sqrt(2 * log(1 / (0.9 * error)) / rows) - _ROUNDING)
    upper = min(1.0, root + deviation(score, rows, error) + _ROUNDING)
    return ConfidenceBound("atb", estimate, lower**2, upper**2, confidence, _ONE_FUNCTION, True)


def action_regret_bounds(problem: DecisionProblem, q: Predictor, confidence: float = 0.95) -> ConfidenceBound:
    """A lower and an upper confidence bound on the population's action regret, each at this confidence.

    From above one swap of actions is best for the population; from below each action's best swap is judged on its own
    (Theorems 38 and 40).  A prediction on a threshold takes the lower action, as `best_response` does.

    Parameters
    ----------
    problem : DecisionProblem
        Payoffs in any units.
    q : Predictor
        Counted from independent rows of equal weight.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    ConfidenceBound
        In the units of the payoffs, rigorous for any number of rows.

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
    problem, q, error = as_problem(problem), _equal_rows(q), 1 - checked_confidence(confidence)
    rows, stakes, estimate = sample_size(q), problem.stakes, problem.action_regret(q, ties="lower")
    if stakes == 0:
        return ConfidenceBound("action_regret", 0.0, 0.0, 0.0, confidence, _ONE_FUNCTION, True)
    taken = np.searchsorted(problem.thresholds, q.p, side="left")
    count = len(problem.responses)
    joint = np.stack([np.bincount(taken, x, count) for x in (q.mass - q.positive, q.positive)], axis=1)
    payoff = problem.payoff[problem.responses] / stakes
    change = payoff[None, :, :] - payoff[:, None, :]  # change[a, other, y], at most 1 in size
    gain, moment = (np.einsum("ay,aby->ab", joint, x) for x in (change, change**2))
    pairs = max(1, count * (count - 1))
    lower = sum(
        max(0.0, max(g - deviation(min(1.0, m), rows, error / pairs) for g, m in zip(*row, strict=True)))
        for row in zip(gain.tolist(), moment.tolist(), strict=True)
    )
    lines = [Tangent(deviation(1.0, rows, error), 0.0)]
    lines += [tangent(x, rows, error) for x in np.geomspace(min(0.5, 4 / rows), 0.99, TANGENTS).tolist()]
    upper = max(0.0, min(line.height + _best_swap(gain + line.slope * moment) for line in lines))
    return ConfidenceBound(
        "action_regret",
        estimate,
        max(0.0, min(stakes * (lower - _ROUNDING), estimate)),
        stakes * min(1.0, upper + _ROUNDING),
        confidence,
        _ONE_FUNCTION,
        True,
    )


def change_of(witness: MonotoneWitness, p: FloatArray) -> FloatArray:
    """What moving the thresholds of a witness changes at predictions p: if y = 0, and if y = 1.  O(n)."""
    change = np.zeros((2, len(p)))
    for mu, weight, instead, on in zip(
        witness.thresholds, witness.weights, witness.instead, witness.acts_on, strict=True
    ):
        more = (p >= instead).astype(np.float64) - (p >= mu if on else p > mu)
        change[0] -= weight * mu * more
        change[1] += weight * (1 - mu) * more
    return change


def _best_swap(gain: FloatArray) -> float:
    """The largest sum of gain[a, σ(a)] over all σ but the identity, whose gain is 0 without any deviation."""
    other = np.where(np.eye(len(gain), dtype=bool), -np.inf, gain).max(axis=1, initial=-np.inf)
    every = np.maximum(other, 0.0)
    return float((every.sum() - every + other).max())


def _height(q: Predictor, mu: FloatArray, slope: float) -> float:
    """cav T(1/2), from T at the given thresholds, 0, 1/2 and 1."""
    found = _tilted(q, mu, slope)
    start, middle, end = _tilted(q, np.array([0.0, 0.5, 1.0]), slope).tolist()
    return max(middle, over_half(*bridge(mu, found, ((0.0, start), (1.0, end)))))


def _tilted(q: Predictor, mu: FloatArray, slope: float) -> FloatArray:
    """T at thresholds: the best upper sets are the isotonic fit read at shifted thresholds (proof of Theorem 39)."""
    mass, one = q.upper_sums
    tilt = 2 * slope
    best = np.zeros(len(mu))
    own = [np.searchsorted(q.p, mu, side="right"), np.searchsorted(q.p, mu, side="left")]
    for sign in (1.0, -1.0):  # acting more, acting less: what a one and a zero in between are worth
        worth_one, worth_zero = (1 - mu) * (1 + sign * tilt * (1 - mu)), mu * (1 - sign * tilt * mu)
        low, high = np.maximum(worth_zero, 0.0), np.maximum(worth_one, 0.0)
        with np.errstate(invalid="ignore"):
            shifted = low / (low + high)
        if sign > 0:
            first = np.where(worth_zero <= 0, 0, np.searchsorted(q.fitted, shifted, side="right"))
        else:
            first = np.where(worth_one <= 0, len(q), np.searchsorted(q.fitted, shifted, side="right"))
        for here in own:
            ones, both = one[first] - one[here], mass[first] - mass[here]
            np.maximum(best, worth_one * ones - worth_zero * (both - ones), out=best)
    return best


def _judged(judge: NDArray[np.int64], change: FloatArray, error: float) -> float:
    """What rows that had no part in the choice of a function prove about its expectation."""
    rows = int(judge.sum())
    if rows == 0:
        return 0.0
    mean, moment = (float((judge * x).sum()) / rows for x in (change, change**2))
    return max(0.0, mean - deviation(min(1.0, moment), rows, error) - _ROUNDING)


def _hoeffding(q: Predictor, error: float) -> float:
    return sqrt(2 * log(1 / error) / sample_size(q))


def _rows(q: Predictor) -> Predictor:
    q = as_predictor(q)
    if q.rows is None:
        raise ValueError(
            "a confidence bound needs rows, but this predictor is a known law. Use Predictor.from_samples."
        )
    if q.moved > 0:
        raise ValueError(
            f"this bound needs the predictions as they were, but they were moved by {q.moved:.2g} on average. "
            "Use the predictor before it was rounded or pooled, or read it with resolution=0."
        )
    return q


def _equal_rows(q: Predictor) -> Predictor:
    q = _rows(q)
    if row_counts(q) is None:
        raise ValueError("this bound needs rows of equal weight, but these have different weights. Leave them out.")
    return q
