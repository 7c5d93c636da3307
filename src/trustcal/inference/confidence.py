"""Confidence bounds that are theorems: how far the population's calibration error can be from the measured one.

Both smCal and DTC are largest values of E[f(p, y)] over fixed classes of functions with |f(p, y)| ≤ |p − y|.  The best
f of the population is one fixed function, so the rows cannot show much less of it than the population has: no uniform
bound over the class is needed.  From below, some rows choose a function and the others measure it.  theory.md has
the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from trustcal.checking import Role, checked_confidence, generator
from trustcal.inference.deviations import ROUNDING, WEIGHTED, deviation, hoeffding
from trustcal.inference.sampler import sample_size
from trustcal.inference.splits import judged, judged_by, learn_and_judge, usable_rows
from trustcal.measures.continuous import smcal, smcal_witness
from trustcal.measures.counts import row_counts
from trustcal.measures.transport import DtcWitness, dtc_witness
from trustcal.predictor import Predictor, as_predictor


@final
@dataclass(frozen=True)
class ConfidenceBound:
    """The statistic of the population lies in [lower, upper] with at least this confidence; one end is trivial."""

    statistic: str
    """The key of the measure."""
    estimate: float
    """The statistic of the rows."""
    lower: float
    """The lower end; 0 for an upper bound."""
    upper: float
    """The upper end; 1 for a lower bound."""
    confidence: float
    """The least probability that the statement holds."""
    method: str
    """The inequality behind it."""
    rigorous: bool
    """Whether it is a theorem for every population and every sample size."""


def smcal_upper_bound(q: Predictor, confidence: float = 0.95) -> ConfidenceBound:
    """An upper confidence bound on the smooth calibration error of the population (Theorem 27).

    Rows are assumed to be drawn independently.  The bound is the smCal of the rows plus t, where

        v·h(t/v) = ln(1/(0.9·a))/n,   h(u) = (1 + u)·ln(1 + u) − u,   a = 1 − confidence,

    and v is an upper confidence bound on the Brier score E(p − y)², by Chernoff and Hoeffding with a/10: about
    2.5·√(Brier score/n) at 95 %.  Where predictions had been moved (`q.moved`), it is for those before.  With unequal
    weights it is Hoeffding's with the effective sample size, which is rigorous only for weights fixed beforehand.

    Parameters
    ----------
    q : a predictor made from rows.
    confidence : the least probability that the bound holds, strictly between 0 and 1.

    Returns
    -------
    ConfidenceBound : with `lower` 0.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> bound = smcal_upper_bound(Predictor.from_samples(rng.random(10_000) < p, p))
    >>> round(bound.estimate, 4), round(bound.upper, 4)
    (0.0056, 0.0163)

    O(n log n).
    """
    q, confidence = as_predictor(q), checked_confidence(confidence)
    rows = sample_size(q)
    return _upper(q, rows, "smcal", smcal(q), 2 * q.moved, confidence)


def dtc_upper_bound(q: Predictor | DtcWitness, confidence: float = 0.95) -> ConfidenceBound:
    """An upper confidence bound on the distance to calibration of the population (Theorem 27).

    The DTC of the rows plus the same t as in `smcal_upper_bound`, under the same assumptions: less by at least t than
    what DTC ≤ 2·smCal would give.  Use it as `eps` wherever a guarantee asks for the distance to calibration.

    Parameters
    ----------
    q : a predictor made from rows, or its `dtc_witness`, if that is known already.
    confidence : the least probability that the bound holds, strictly between 0 and 1.

    Returns
    -------
    ConfidenceBound : with `lower` 0.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> bound = dtc_upper_bound(Predictor.from_samples(rng.random(10_000) < p, p))
    >>> round(bound.estimate, 4), round(bound.upper, 4)
    (0.0052, 0.0159)

    O(n log n).
    """
    confidence = checked_confidence(confidence)
    law = q.predictor if isinstance(q, DtcWitness) else as_predictor(q)
    rows = sample_size(law)
    witness = q if isinstance(q, DtcWitness) else dtc_witness(law)
    return _upper(law, rows, "dtc", witness.upper, law.moved, confidence)


def smcal_lower_bound(q: Predictor, confidence: float = 0.95, *, rng: np.random.Generator | int) -> ConfidenceBound:
    """A lower confidence bound on the smooth calibration error of the population (Theorem 28).

    A random third of the rows finds the best weighting σ; the others measure E[σ(p)(p − y)], and t is subtracted from
    that mean, as in `smcal_upper_bound` with the second moment of σ(p)(p − y) for v.  Predictions must not have been
    moved: `q.moved` is a mean over all rows, and the measuring ones may have moved more.

    Parameters
    ----------
    q : a predictor made from rows; those with the same prediction have the same weight, unless rows have clusters.
    confidence : the least probability that the bound holds, strictly between 0 and 1.
    rng : a numpy Generator or a seed, for the split.

    Returns
    -------
    ConfidenceBound : with `upper` 1.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> bound = smcal_lower_bound(Predictor.from_samples(rng.random(10_000) < p**1.5, p), rng=0)
    >>> round(bound.lower, 4), round(bound.estimate, 4)
    (0.0954, 0.1086)

    O(n log n).
    """
    q, confidence = as_predictor(q), checked_confidence(confidence)
    sample_size(q)
    q = usable_rows(q)
    learn, judge = learn_and_judge(q, generator(rng, Role.SPLITS))
    estimate, lower = smcal(q), 0.0
    if learn:
        witness = smcal_witness(learn.law(q.p))
        sigma = np.interp(q.p, witness.p, witness.sigma)  # 1-Lipschitz too
        lower = judged(judge, np.stack([sigma * q.p, sigma * (q.p - 1)]), 1 - confidence)
    return ConfidenceBound("smcal", estimate, min(lower, estimate), 1.0, confidence, judged_by(judge), judge.alike)


def _upper(
    q: Predictor, rows: float, statistic: Literal["smcal", "dtc"], estimate: float, moved: float, confidence: float
) -> ConfidenceBound:
    rigorous = row_counts(q) is not None
    if rigorous:
        brier = float(((q.mass - q.positive) * q.p**2 + q.positive * (1 - q.p) ** 2).sum())
        far = deviation(min(1.0, brier + 2 * q.moved), rows, 1 - confidence)
        method = "one fixed function, by Bennett's inequality with the Brier score"
    else:
        far = hoeffding(rows, 1 - confidence)
        method = WEIGHTED
    upper = min(1.0, estimate + far + moved + ROUNDING)
    return ConfidenceBound(statistic, estimate, 0.0, upper, confidence, method, rigorous)
