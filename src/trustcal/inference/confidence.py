"""Confidence bounds that are theorems: how far the world's calibration error can be from the one measured.

Both smCal and DTC are largest values of E[f(p, y)] over fixed classes of functions with |f(p, y)| ≤ |p − y|.  The best
f of the world is one fixed function, so the rows cannot show much less of it than the world has: no uniform bound over
the class is needed.  From below, rows choose a function and other rows judge it.  docs/theory.md has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, log1p, sqrt
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import generator
from trustcal.inference.rows import worth
from trustcal.inference.simulation import checked_confidence
from trustcal.measures.continuous import row_counts, smcal, smcal_witness
from trustcal.measures.transport import dtc
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]

_FOR_MOMENT = 0.1
"""The share of the error probability that is spent on the second moment."""
_TO_LEARN = 1 / 3
"""The share of the rows that choose the function in the lower bound; the others judge it."""
_ROUNDING = 1e-12
"""More than what the rounding of σ and of sums can add up to."""


@final
@dataclass(frozen=True)
class ConfidenceBound:
    """The statistic of the world lies in [lower, upper] with at least this confidence; one side says nothing."""

    statistic: Literal["smcal", "dtc"]
    estimate: float
    """The statistic of the rows."""
    lower: float
    upper: float
    confidence: float
    method: str
    rigorous: bool
    """Whether it is a theorem for every law and every number of rows."""


def smcal_upper_bound(q: Predictor, confidence: float = 0.95) -> ConfidenceBound:
    """An upper confidence bound on the smooth calibration error of the law that the rows were drawn from (Theorem 27).

    Rows are assumed to be drawn independently.  The bound is the smCal of the rows plus t, where

        v·h(t/v) = ln(1/(0.9·a))/n,   h(u) = (1 + u)·ln(1 + u) − u,   a = 1 − confidence,

    and v is an upper confidence bound on the Brier score E(p − y)², by Chernoff and Hoeffding with a/10: about
    2.5·√(Brier score/n) at 95 %.  Where predictions were moved (`q.moved`), it is for those before.  With unequal
    weights it is Hoeffding's with the effective rows, which is rigorous only for weights fixed beforehand.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> bound = smcal_upper_bound(Predictor.from_samples(rng.random(10_000) < p, p))
    >>> round(bound.estimate, 4), round(bound.upper, 4)
    (0.0056, 0.0163)

    O(n log n).
    """
    return _upper(as_predictor(q), "smcal", confidence)


def dtc_upper_bound(q: Predictor, confidence: float = 0.95) -> ConfidenceBound:
    """An upper confidence bound on the distance to calibration of the law that the rows were drawn from (Theorem 27).

    The DTC of the rows plus the same t as in `smcal_upper_bound`, under the same assumptions: less by t, at least, than
    what DTC ≤ 2·smCal would give.  Use it as `eps` wherever a guarantee asks for the distance to calibration.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> bound = dtc_upper_bound(Predictor.from_samples(rng.random(10_000) < p, p))
    >>> round(bound.estimate, 4), round(bound.upper, 4)
    (0.0052, 0.0159)

    O(n log n).
    """
    return _upper(as_predictor(q), "dtc", confidence)


def smcal_lower_bound(q: Predictor, confidence: float = 0.95, *, rng: np.random.Generator | int) -> ConfidenceBound:
    """A lower confidence bound on the smooth calibration error of the law that the rows were drawn from (Theorem 28).

    A third of the rows, chosen by `rng`, finds the best weighting σ; the others measure E[σ(p)(p − y)], and from the
    mean t is taken off, as in `smcal_upper_bound` with the second moment of σ(p)(p − y) for v.  Rows must count alike,
    and predictions be as they were said: `moved` is a mean over all rows, and those that judge may have moved further.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> bound = smcal_lower_bound(Predictor.from_samples(rng.random(10_000) < p**1.5, p), rng=0)
    >>> round(bound.lower, 4), round(bound.estimate, 4)
    (0.0979, 0.1086)

    O(n log n).
    """
    q, confidence = as_predictor(q), checked_confidence(confidence)
    _refuse_known(q)
    counts = row_counts(q)
    if counts is None:
        raise ValueError("this bound needs rows that count alike, but these have different weights. Leave them out.")
    if q.moved > 0:
        raise ValueError(
            f"this bound needs predictions as they were said, but these were moved, by {q.moved:.2g} on average. "
            "Use the predictor before it was rounded or coarsened, or read it with resolution=0."
        )
    zeros, ones = counts
    random = generator(rng)
    learn = np.stack([random.binomial(zeros, _TO_LEARN), random.binomial(ones, _TO_LEARN)])
    judge = np.stack([zeros, ones]) - learn
    estimate, rows = smcal(q), int(judge.sum())
    lower = 0.0
    if learn.any() and rows:
        witness = smcal_witness(_counted(q.p, learn))
        sigma = np.interp(q.p, witness.p, witness.sigma)  # 1-Lipschitz too
        found = np.stack([sigma * q.p, sigma * (q.p - 1)])
        mean, moment = (float((judge * x).sum()) / rows for x in (found, found**2))
        lower = mean - _deviation(moment, rows, 1 - confidence) - _ROUNDING
    method = "a third of the rows finds the weighting, the others judge it, by Bennett's inequality"
    return ConfidenceBound("smcal", estimate, max(0.0, min(lower, estimate)), 1.0, confidence, method, True)


def _upper(q: Predictor, statistic: Literal["smcal", "dtc"], confidence: float) -> ConfidenceBound:
    confidence = checked_confidence(confidence)
    _refuse_known(q)
    estimate, moved = (smcal(q), 2 * q.moved) if statistic == "smcal" else (float(dtc(q)), q.moved)
    rigorous = row_counts(q) is not None
    if rigorous:
        brier = float(((q.mass - q.positive) * q.p**2 + q.positive * (1 - q.p) ** 2).sum())
        deviation = _deviation(min(1.0, brier + 2 * q.moved), worth(q), 1 - confidence)
        method = "one fixed function, by Bennett's inequality with the Brier score"
    else:
        deviation = sqrt(2 * log(1 / (1 - confidence)) / worth(q))
        method = "one fixed function, by Hoeffding's inequality with effective rows: rigorous for weights fixed before"
    upper = min(1.0, estimate + deviation + moved + _ROUNDING)
    return ConfidenceBound(statistic, estimate, 0.0, upper, confidence, method, rigorous)


def _deviation(moment: float, rows: float, error: float) -> float:
    """How far the mean of f can be from its expectation on one side, if f ≤ 1 and f² has this mean over the rows."""
    most = _largest_mean(moment, log(1 / (_FOR_MOMENT * error)) / rows)
    return _bennett(most, log(1 / ((1 - _FOR_MOMENT) * error)) / rows)


def _largest_mean(mean: float, rate: float) -> float:
    """The largest expectation in [mean, 1] whose relative entropy from the mean is at most the rate (Chernoff)."""
    low, high = min(max(mean, 0.0), 1.0), 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if _relative_entropy(mean, middle) <= rate:
            low = middle
        else:
            high = middle
    return high


def _relative_entropy(a: float, b: float) -> float:
    """a·ln(a/b) + (1 − a)·ln((1 − a)/(1 − b)): between coins."""
    if b >= 1:
        return 0.0 if a >= 1 else inf
    return (a * log(a / b) if a > 0 else 0.0) + ((1 - a) * log((1 - a) / (1 - b)) if a < 1 else 0.0)


def _bennett(moment: float, rate: float) -> float:
    """The t with moment·h(t/moment) = rate, h(u) = (1 + u)·ln(1 + u) − u; rounded up."""
    low, high = 0.0, sqrt(2 * moment * rate) + rate  # Bernstein's inequality is weaker
    for _ in range(100):
        middle = 0.5 * (low + high)
        u = middle / moment
        if moment * ((1 + u) * log1p(u) - u) < rate:
            low = middle
        else:
            high = middle
    return high


def _counted(p: FloatArray, counts: NDArray[np.int64]) -> Predictor:
    """The predictor of so many zeros and ones at each value."""
    rows = int(counts.sum())
    return Predictor(p, counts.sum(axis=0) / rows, counts[1] / rows, rows=rows, effective_rows=float(rows))


def _refuse_known(q: Predictor) -> None:
    if q.rows is None:
        raise ValueError(
            "confidence needs rows, but this predictor is a known law: its measures are what they are. "
            "Use Predictor.from_samples."
        )
