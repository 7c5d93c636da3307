"""From vectors of probabilities and labels to an audit of K classes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from trustcal.auditing.class_numbers import OutcomeLoss, PairAudit, WorstOutcomeLoss
from trustcal.auditing.class_record import ClassAudit
from trustcal.checking import checked_count, generator
from trustcal.class_predictor import ClassPredictor
from trustcal.classes import (
    class_corp,
    class_regret_bounds,
    class_regret_test,
    classwise_atb,
    pair_losses,
    view_measures,
    worst_payoff,
)
from trustcal.classes.folds import held_out_worst
from trustcal.decisions import OutcomeProblem
from trustcal.predictor import Predictor
from trustcal.reading import ClassProvenance, outcome_problem, read_classes

PAIRS: Final = 10
"""How many pairs of classes an audit shows."""
LEAST_DRAWS: Final = 200
"""The least number of simulations of the decision maker's regret, where each is cheap."""
CHEAP: Final = 10**6
"""A simulation of at most so many steps, actions² times classes, is cheap."""


def class_audit(
    source: Any,
    proba: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    classes: str | Iterable[Any] | None = None,
    outcome: str | None = None,
    weight: str | None = None,
    drop_invalid: bool = False,
    payoff: OutcomeProblem | str | os.PathLike[str] | None = None,
    draws: int = 40,
    rng: np.random.Generator | int = 0,
) -> ClassAudit:
    """Audit vectors of probabilities against labels: what your decision maker loses, and where.

    `trustcal.audit(…, classes=…)` and `trustcal audit --classes` call it.

    Parameters
    ----------
    source : labels; a `ClassPredictor`; or a file or frame, as for `read`
    proba, sample_weight : array-like
        Vectors of probabilities, a column per class, and weights, where `source` are labels.
    classes : iterable, or str
        The labels of the columns of `proba`; for files and frames the columns, or a pattern such as p_*.
    outcome, weight, drop_invalid
        How to read a file or frame, as for `reading.read_classes`.
    payoff : OutcomeProblem, or a CSV file with the header action and the classes, optional
        The decision maker; unless given, whoever picks the likeliest class and earns 1 if it is right.
    draws : int
        Simulations for p-values and intervals; 0: none.
    rng : Generator or int

    Returns
    -------
    ClassAudit

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> proba = rng.dirichlet([1, 1, 1], 1000)
    >>> y = [rng.choice(3, p=(p + 1 / 3) / 2) for p in proba]                               # the model is too sure
    >>> problem = OutcomeProblem([[1, -2, -2], [-2, 1, -2], [-2, -2, 1], [0, 0, 0]], ["0", "1", "2", "ask"])
    >>> found = class_audit(y, proba, classes=[0, 1, 2], payoff=problem, draws=20)
    >>> found.problem.worst.better, found.verdict.state
    ('ask', 'off')

    O(K·draws·n log n).
    """
    random = generator(rng)
    draws = checked_count("draws", draws, least=0)
    q, read = _opened(source, proba, sample_weight, classes, outcome, weight, drop_invalid)
    problem = OutcomeProblem(np.eye(len(q.classes)), map(str, q.classes), q.classes)
    if payoff is not None:
        problem = outcome_problem(payoff)
    return ClassAudit(
        classes=tuple(map(str, q.classes)),
        rows=q.rows,
        effective_rows=q.effective_rows,
        values=len(q),
        problem=_problem_loss(q, problem, payoff is not None, draws, random),
        views=view_measures(q, draws=draws, rng=random),
        pairs=tuple(_pair(one) for one in pair_losses(q)[:PAIRS]),
        worst=_worst(q, random),
        atb=classwise_atb(q),
        brier=class_corp(q),
        log_loss=class_corp(q, score="log"),
        provenance=read,
    )


def _opened(
    source: Any,
    proba: ArrayLike | None,
    sample_weight: ArrayLike | None,
    classes: str | Iterable[Any] | None,
    outcome: str | None,
    weight: str | None,
    drop_invalid: bool,
) -> tuple[ClassPredictor, ClassProvenance | None]:
    if isinstance(source, ClassPredictor):
        return source, None
    if proba is not None:
        names = classes.split(",") if isinstance(classes, str) else classes
        return ClassPredictor.from_samples(source, proba, sample_weight, classes=names), None
    if classes is None:
        raise ValueError("classes must name the columns of probabilities, such as 'p_*' (--classes).")
    columns: str | Sequence[str] = classes if isinstance(classes, str) else [str(name) for name in classes]
    return read_classes(source, columns, outcome, weight, drop_invalid)


def _problem_loss(
    q: ClassPredictor, problem: OutcomeProblem, yours: bool, draws: int, rng: np.random.Generator
) -> OutcomeLoss:
    matched = problem.matched(q)
    tables, found = problem.tables(matched), problem.recommendations(matched)
    earned = np.einsum("ak,bk->ab", tables.seen, problem.payoff)
    test = None
    if draws and q.rows is not None:
        cheap = problem.payoff.size * len(problem.actions) <= CHEAP
        test = class_regret_test(problem, matched, draws=max(LEAST_DRAWS, draws) if cheap else draws, rng=rng)
    return OutcomeLoss(
        yours=yours,
        actions=problem.actions,
        payoff=_plain(problem.payoff[:, [matched.classes.index(name) for name in q.classes]]),
        value=problem.value(matched),
        promised=float(sum(one.promised for one in found)),
        action_regret=problem.action_regret(matched),
        recommendations=found,
        gaps=tuple(problem.decision_gaps(matched).tolist()),
        instead=_plain(earned - np.diagonal(earned)[:, None]),
        stakes=problem.stakes,
        test=test,
        bound=None if q.rows is None else class_regret_bounds(problem, matched),
    )


def _pair(one: Any) -> PairAudit:
    view: Predictor = one.view
    said = float((view.p * view.mass).sum())
    return PairAudit(str(one.a), str(one.b), one.share, said, view.base_rate, one.loss)


def _worst(q: ClassPredictor, rng: np.random.Generator) -> WorstOutcomeLoss:
    found = worst_payoff(q)
    held_out = held_out_worst(q, rng) if q.rows is not None and q.rows > 1 else None
    return WorstOutcomeLoss(found.lower, found.upper, held_out, found.score, _plain(found.problem.payoff))


def _plain(table: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, np.asarray(table).tolist()))
