"""From vectors of probabilities and labels to an audit of K classes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from trustcal.auditing.class_groups import class_groups
from trustcal.auditing.class_losses import outcome_loss, plain_table
from trustcal.auditing.class_numbers import PairAudit, WorstOutcomeLoss
from trustcal.auditing.class_record import ClassAudit
from trustcal.checking import checked_count, generator, refuse_other
from trustcal.class_predictor import ClassPredictor
from trustcal.classes import (
    class_corp,
    classwise_atb,
    pair_losses,
    view_measures,
    worst_payoff,
)
from trustcal.classes.folds import held_out_worst
from trustcal.decisions import OutcomeProblem
from trustcal.predictor import Predictor
from trustcal.reading import ClassProvenance, class_reading, outcome_problem
from trustcal.rows.classes import name_order

PAIRS: Final = 10
"""How many pairs of classes an audit shows."""


def class_audit(
    source: Any,
    proba: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    classes: str | Iterable[Any] | None = None,
    outcome: str | None = None,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    drop_invalid: bool = False,
    groups: Mapping[str, ClassPredictor] | None = None,
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
    outcome, weight, by, drop_invalid
        How to read a file or frame, as for `reading.class_reading`; the groups of `by` are measured too.
    groups : mapping, optional
        Class predictors of groups by name, to measure them too.
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
    q, read, parts = _opened(source, proba, sample_weight, classes, outcome, weight, by, drop_invalid)
    if groups is not None:
        refuse_other("groups", groups, Mapping, "a dict of class predictors by the name of their group")
        for part in groups.values():
            refuse_other("groups", part, ClassPredictor, "a dict of class predictors by the name of their group")
        parts = {**parts, **{str(name): part for name, part in groups.items()}}
    # Without payoffs, whoever picks the likeliest class picks the first by name of those that tie.
    names = [q.classes[place] for place in name_order(q.classes)]
    problem = OutcomeProblem(np.eye(len(names)), map(str, names), names)
    if payoff is not None:
        problem = outcome_problem(payoff)
    return ClassAudit(
        classes=tuple(map(str, q.classes)),
        rows=q.rows,
        effective_rows=q.effective_rows,
        values=len(q),
        problem=outcome_loss(q, problem, payoff is not None, draws, random),
        views=view_measures(q, draws=draws, rng=random),
        pairs=tuple(_pair(one) for one in pair_losses(q)[:PAIRS]),
        worst=_worst(q, random),
        atb=classwise_atb(q),
        brier=class_corp(q),
        log_loss=class_corp(q, score="log"),
        groups=class_groups(parts, problem, payoff is not None, draws, random),
        provenance=read,
    )


def _opened(
    source: Any,
    proba: ArrayLike | None,
    sample_weight: ArrayLike | None,
    classes: str | Iterable[Any] | None,
    outcome: str | None,
    weight: str | None,
    by: str | Sequence[str] | None,
    drop_invalid: bool,
) -> tuple[ClassPredictor, ClassProvenance | None, Mapping[str, ClassPredictor]]:
    if by is not None and (isinstance(source, ClassPredictor) or proba is not None):
        raise ValueError("by names columns of a file or frame: for arrays give groups={name: ClassPredictor, …}.")
    if isinstance(source, ClassPredictor):
        return source, None, {}
    if proba is not None:
        names = classes.split(",") if isinstance(classes, str) else classes
        return ClassPredictor.from_samples(source, proba, sample_weight, classes=names), None, {}
    if classes is None:
        raise ValueError("classes must name the columns of probabilities, such as 'p_*' (--classes).")
    columns: str | Sequence[str] = classes if isinstance(classes, str) else [str(name) for name in classes]
    found = class_reading(source, columns, outcome, weight, by, drop_invalid)
    return found.predictor, found.provenance, found.groups


def _pair(one: Any) -> PairAudit:
    view: Predictor = one.view
    said = float((view.p * view.mass).sum())
    return PairAudit(str(one.a), str(one.b), one.share, said, view.base_rate, one.loss)


def _worst(q: ClassPredictor, rng: np.random.Generator) -> WorstOutcomeLoss:
    found = worst_payoff(q)
    held_out = held_out_worst(q, rng) if q.rows is not None and q.rows > 1 else None
    return WorstOutcomeLoss(found.lower, found.upper, held_out, found.score, plain_table(found.problem.payoff))
