"""`compare`: what each method does to the predictions of rows that it has not seen, and which one to take."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trustcal.checking import checked_count, generator
from trustcal.decisions import DecisionProblem
from trustcal.guarantees import Bound
from trustcal.inference import sampling_floor
from trustcal.measures.continuous import smcal
from trustcal.measures.decision import cdl, decision_loss, ece
from trustcal.measures.pooling import bins_for, on_bins, pooled
from trustcal.measures.scores import auc, brier, log_loss
from trustcal.measures.table import MEASURES
from trustcal.measures.transport import dtc
from trustcal.predictor import Predictor
from trustcal.reading import Evidence, evidence, payoff_problem
from trustcal.remedies.choosing import Candidate, choose
from trustcal.remedies.comparison import Comparison, MethodResult
from trustcal.remedies.folds import Fold, merged, split_law, split_rows
from trustcal.remedies.methods import METHODS, FittedMethod, Method


def compare(
    source: Any,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    prediction: str | None = None,
    outcome: str | None = None,
    weight: str | None = None,
    positive: Any = None,
    resolution: float | None = None,
    drop_invalid: bool = False,
    payoff: DecisionProblem | str | os.PathLike[str] | None = None,
    folds: int = 5,
    rng: np.random.Generator | int = 0,
) -> Comparison:
    """Compare noise, rounding and recalibration on held-out rows, with a recommendation and its reason.

    Rows are split at random into folds with equal numbers of each outcome.  Each method is fitted to all folds but one
    and applied to that one; its predictions of all rows together are measured.  After noise the exact law is measured,
    not a draw.

    Parameters
    ----------
    source : a file, a pattern, a list of files, a frame, a relation (as for `read`); y_true; or a `Predictor` made from
        rows of equal weight, whose counts are split as random rows would be.
    y_prob, sample_weight : rows in scikit-learn's order, where `source` is y_true.
    prediction, outcome, weight, positive, resolution, drop_invalid : how to read a file or frame, as for `read`.
    payoff : the decision problem to judge by, or a CSV file of it; unless given, that of whoever loses most.
    folds : the number of folds, at least 2.
    rng : a numpy Generator or a seed, for the folds and the sampling floor.

    Returns
    -------
    Comparison : the result of each method, and the recommended one.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(2000)
    >>> told = truth**2 / (truth**2 + (1 - truth) ** 2)                                     # overconfident
    >>> found = compare(rng.random(2000) < truth, told, rng=1)
    >>> print(found.recommendation)
    Recalibrate with outcomes, by temperature.

    O(folds·n log n) for n distinct values.
    """
    found = evidence(
        source, y_prob, sample_weight, prediction=prediction, outcome=outcome, weight=weight, positive=positive,
        resolution=resolution, drop_invalid=drop_invalid,
    )  # fmt: skip
    return compared(found, payoff_problem(payoff), folds, rng)


def compared(
    found: Evidence, problem: DecisionProblem | None, folds: int = 5, rng: np.random.Generator | int = 0
) -> Comparison:
    """The comparison on evidence that was opened before.

    Parameters
    ----------
    found : Evidence
    problem : DecisionProblem or None
    folds : int, at least 2
    rng : Generator or seed

    Returns
    -------
    Comparison

    O(folds·n log n).
    """
    checked_count("folds", folds, least=2)
    q, random = found.predictor, generator(rng)
    if found.rows is None or q.effective_rows == q.rows:
        parts = split_law(q, folds, random)
    else:
        parts = split_rows(*found.rows(), folds, random)
    for key in ("smcal", "dtc"):
        MEASURES[key].compile_for(len(METHODS) * len(q))
    trials = [_trial(method, parts, q) for method in METHODS]
    candidates = [_candidate(trial, trials, q, problem) for trial in trials]
    measured, bins = pooled(q)
    floor = sampling_floor(measured, "cdl", rng=random).quantile_95
    return Comparison(
        methods=tuple(candidate.result for candidate in candidates),
        recommended=choose(candidates, floor),
        rows=q.rows or 0,
        folds=folds,
        cells=bins,
        floor=floor,
    )


@final
@dataclass(frozen=True, eq=False)
class Trial:
    """A method's predictions of the held-out rows, fold by fold and of all rows together."""

    method: Method
    said: Sequence[Predictor]
    together: Predictor
    guarantee: Bound | None


def _trial(method: Method, parts: Sequence[Fold], q: Predictor) -> Trial:
    fitted = [method.fit(part) for part in parts]
    said = [one.apply(part.held_out) for one, part in zip(fitted, parts, strict=True)]
    return Trial(method, said, merged(said, [part.share for part in parts], q.effective_rows), _weakest(fitted))


def _weakest(fitted: Sequence[FittedMethod]) -> Bound | None:
    """The guarantee that holds in all folds."""
    return max((one.guarantee for one in fitted if one.guarantee is not None), key=lambda b: b.value, default=None)


def _candidate(
    trial: Trial, trials: Sequence[Trial], original: Predictor, problem: DecisionProblem | None
) -> Candidate:
    rivals = [other for other in trials if other.method.eligible]
    regret = [_lost(q, [other.said[fold] for other in rivals], problem) for fold, q in enumerate(trial.said)]
    return Candidate(_result(trial, rivals, original, problem), trial.method.eligible, np.array(regret))


def _result(
    trial: Trial, rivals: Sequence[Trial], original: Predictor, problem: DecisionProblem | None
) -> MethodResult:
    q = trial.together
    measured = on_bins(q, bins_for(original))
    return MethodResult(
        name=trial.method.name,
        ece=ece(measured),
        cdl=cdl(measured),
        smcal=smcal(q),
        dtc=dtc(q),
        brier=brier(q),
        log_loss=log_loss(q),
        auc=auc(q),
        value=None if problem is None else problem.value(q),
        value_lost=_lost(q, [original], problem),
        regret=_lost(q, [other.together for other in rivals], problem),
        guarantee=trial.guarantee,
        needs_outcomes=trial.method.needs_outcomes,
    )


def _lost(q: Predictor, references: Sequence[Predictor], problem: DecisionProblem | None) -> float:
    """What believing q loses against believing the best reference, in the problem or for whoever loses most."""
    if problem is None:
        return decision_loss(q, references)
    best = max(problem.value(reference) for reference in references)
    return (best - problem.value(q)) / problem.stakes if problem.stakes else 0.0
