"""`compare`: what each method does to the predictions of rows that it has not seen, and which one to take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trustcal.comparing.choosing import Candidate, choose
from trustcal.comparing.comparison import Comparison, Row
from trustcal.comparing.folds import Fold, pooled, split_law, split_rows
from trustcal.comparing.methods import METHODS, Fitted, Method
from trustcal.decisions import DecisionProblem
from trustcal.guarantees import Bound
from trustcal.measures.continuous import smcal
from trustcal.measures.decision import cdl, decision_loss, ece
from trustcal.measures.scores import auc, brier, log_loss
from trustcal.measures.transport import dtc
from trustcal.predictor import Predictor, as_predictor

Loss = Callable[[Predictor], float]

DRAWS = 200
"""So many calibrated samples stand behind the floor."""


def compare(
    y_true: Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    folds: int = 5,
    rng: np.random.Generator | int,
    problem: DecisionProblem | None = None,
) -> Comparison:
    """Noise, rounding and recalibration side by side, cross-fitted, with a recommendation and its reason.

    Rows are split at random into folds with equal numbers of each outcome.  Each method is fitted to all folds but one
    and applied to that one; what it says of all rows together is measured.  A `Predictor` made from rows will do: its
    counts are split as random rows would be.  After noise the exact law is measured, not a draw.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(2000)
    >>> told = truth**2 / (truth**2 + (1 - truth) ** 2)                                     # overconfident
    >>> found = compare(rng.random(2000) < truth, told, rng=1)
    >>> print(found.recommendation)
    Recalibrate with outcomes, by temperature.

    O(folds·n log n) for n distinct values.
    """
    if int(folds) != folds or folds < 2:
        raise ValueError(f"folds must be a whole number, at least 2, not {folds!r}.")
    generator = np.random.default_rng(rng)
    q = as_predictor(y_true, y_prob, sample_weight)
    if isinstance(y_true, Predictor) or y_prob is None or sample_weight is None or q.effective_rows == q.rows:
        parts = split_law(q, folds, generator)
    else:
        parts = split_rows(y_true, y_prob, sample_weight, folds, generator)
    trials = [_trial(method, parts, q) for method in METHODS]
    rows = tuple(_row(trial, q, problem) for trial in trials)
    regret = _regret(q.sparse, problem)
    floor = _floor(_measured(q, q.sparse), regret, generator)
    choice = choose([_candidate(trial, q.sparse, problem) for trial in trials], rows, regret(q), floor)
    return Comparison(
        rows=rows,
        recommended=choice.name,
        recommendation=choice.sentence,
        reason=choice.reason,
        samples=q.rows or 0,
        folds=folds,
        cells=len(_measured(q, q.sparse)) if q.sparse else None,
        loss=regret(q),
        floor=floor,
        notes=(),
    )


@final
@dataclass(frozen=True, eq=False)
class Trial:
    """What a method says of the rows held out, fold by fold and of all of them."""

    method: Method
    said: Sequence[Predictor]
    together: Predictor
    guarantee: Bound | None


def _trial(method: Method, parts: Sequence[Fold], q: Predictor) -> Trial:
    fitted = [method.fit(part) for part in parts]
    said = [one.apply(part.held_out) for one, part in zip(fitted, parts, strict=True)]
    return Trial(method, said, pooled(said, [part.share for part in parts], q.effective_rows), _weakest(fitted))


def _weakest(fitted: Sequence[Fitted]) -> Bound | None:
    """The guarantee that all folds have."""
    return max((one.guarantee for one in fitted if one.guarantee is not None), key=lambda b: b.value, default=None)


def _measured(q: Predictor, sparse: bool) -> Predictor:
    """What ECE and CDL are measured on: cells, where the original values are too rare to have a frequency."""
    return q.coarsen(q.suggested_cells) if sparse else q


def _row(trial: Trial, original: Predictor, problem: DecisionProblem | None) -> Row:
    q = trial.together
    measured = _measured(q, original.sparse)
    if problem is None:
        value, lost = None, decision_loss(q, [original])
    else:
        value = problem.value(q)
        lost = (problem.value(original) - value) / problem.stakes if problem.stakes else 0.0
    return Row(
        name=trial.method.name,
        ece=ece(measured),
        cdl=cdl(measured),
        smcal=smcal(q),
        dtc=dtc(q),
        brier=brier(q),
        log_loss=log_loss(q),
        auc=auc(q),
        value=value,
        value_lost=lost,
        guarantee=trial.guarantee,
        needs_outcomes=trial.method.needs_outcomes,
    )


def _regret(sparse: bool, problem: DecisionProblem | None) -> Loss:
    """What believing a predictor loses against the best use of it, as a share of the payoff range."""
    if problem is None:
        return lambda q: cdl(_measured(q, sparse))
    return lambda q: problem.swap_regret(_measured(q, sparse)) / problem.stakes if problem.stakes else 0.0


def _candidate(trial: Trial, sparse: bool, problem: DecisionProblem | None) -> Candidate:
    """Fold by fold, what is to be small: the loss, and with it a proper score, lest predictions be made useless."""
    if problem is None:
        loss, score = [cdl(_measured(q, sparse)) for q in trial.said], [brier(q) for q in trial.said]
    else:
        loss = score = [-problem.value(q) / (problem.stakes or 1.0) for q in trial.said]
    return Candidate(trial.method.name, trial.method.eligible, np.array(loss), np.array(score))


def _floor(q: Predictor, regret: Loss, rng: np.random.Generator) -> float:
    """The regret that a calibrated predictor with these predictions shows in 19 of 20 samples of this size."""
    counts = np.rint(q.mass * (q.effective_rows or 0)).astype(np.int64)
    seen = counts > 0
    p, counts = q.p[seen], counts[seen]
    mass = counts / counts.sum()
    draws = [regret(Predictor(p, mass, rng.binomial(counts, p) / counts.sum())) for _ in range(DRAWS)]
    return float(np.quantile(draws, 0.95))
