"""Confidence bounds on the monotone calibration decision loss (Theorems 39 and 40; proofs in theory.md)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import Role, checked_confidence, generator
from trustcal.decisions.envelope import bridge, over_half
from trustcal.inference.confidence import ConfidenceBound
from trustcal.inference.deviations import ONE_FUNCTION, ROUNDING, WEIGHTED, hoeffding, tangents
from trustcal.inference.sampler import sample_size
from trustcal.inference.splits import judged, judged_by, learn_and_judge, usable_rows
from trustcal.kernels.blocks import blocks
from trustcal.measures.counts import row_counts
from trustcal.measures.monotone import MonotoneWitness, monotone_cdl, monotone_cdl_witness
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]


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
    q, error = usable_rows(q), 1 - checked_confidence(confidence)
    estimate = monotone_cdl(q)
    if row_counts(q) is None:
        upper = min(1.0, estimate + hoeffding(sample_size(q), error) + ROUNDING)
        return ConfidenceBound("monotone_cdl", estimate, 0.0, upper, confidence, WEIGHTED, False)
    lines = tangents(sample_size(q), error)
    # Every line gives a valid bound.  A few thresholds tell which line is good; only the best two are taken in full.
    few = q.p[:: max(1, len(q) // 2048)]
    lines.sort(key=lambda line: line.height + 2 * _height(q, few, line.slope))
    upper = min(line.height + 2 * _height(q, q.p, line.slope) for line in lines[:2])
    return ConfidenceBound("monotone_cdl", estimate, 0.0, min(1.0, upper + ROUNDING), confidence, ONE_FUNCTION, True)


def monotone_cdl_lower_bound(
    q: Predictor, confidence: float = 0.95, *, rng: np.random.Generator | int
) -> ConfidenceBound:
    """A lower confidence bound on the population's monotone calibration decision loss (Theorem 40).

    Parameters
    ----------
    q : Predictor
        Counted from rows; those with the same prediction have the same weight, unless rows have clusters.
    confidence : float
        Between 0 and 1.
    rng : Generator or int
        Chooses the third of the rows (or clusters) that finds the decision maker and the thresholds.

    Returns
    -------
    ConfidenceBound
        Rigorous for any number of independent rows of equal weight; else for weights and sizes fixed in advance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> bound = monotone_cdl_lower_bound(Predictor.from_samples(rng.random(5000) < p**2, p), rng=0)
    >>> 0.01 < bound.lower < 0.0547
    True

    O(n).
    """
    q, confidence, estimate = usable_rows(q), checked_confidence(confidence), monotone_cdl(as_predictor(q))
    learn, judge = learn_and_judge(q, generator(rng, Role.SPLITS))
    lower = judged(judge, change_of(monotone_cdl_witness(learn.law(q.p)), q.p), 1 - confidence) if learn else 0.0
    return ConfidenceBound(
        "monotone_cdl", estimate, min(lower, estimate), 1.0, confidence, judged_by(judge), judge.alike
    )


def change_of(witness: MonotoneWitness, p: FloatArray) -> FloatArray:
    """What moving the thresholds of a witness changes at sorted predictions p: if y = 0, and if y = 1.  O(n)."""
    change = np.zeros((2, len(p)))
    for mu, weight, instead, on in zip(
        witness.thresholds, witness.weights, witness.instead, witness.acts_on, strict=True
    ):
        own, other = np.searchsorted(p, mu, side="left" if on else "right"), np.searchsorted(p, instead)
        between, sign = slice(min(own, other), max(own, other)), 1.0 if other < own else -1.0
        change[0, between] -= sign * weight * mu
        change[1, between] += sign * weight * (1 - mu)
    return change


def _height(q: Predictor, mu: FloatArray, slope: float) -> float:
    """cav T(1/2), from T at the given thresholds, 0, 1/2 and 1."""
    found = _tilted(q, mu, slope)
    start, middle, end = _tilted(q, np.array([0.0, 0.5, 1.0]), slope).tolist()
    return max(float(middle), over_half(*bridge(mu, found, ((0.0, start), (1.0, end)))))


def _tilted(q: Predictor, mu: FloatArray, slope: float) -> FloatArray:
    """T at thresholds: the best upper sets are the isotonic fit read at shifted thresholds (proof of Theorem 39)."""
    best = np.empty(len(mu))
    for block in blocks(len(mu)):
        best[block] = _tilted_block(q, mu[block], slope)
    return best


def _tilted_block(q: Predictor, mu: FloatArray, slope: float) -> FloatArray:
    """T at a few thresholds."""
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
