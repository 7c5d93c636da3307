"""From anything that holds predictions and outcomes to an audit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from trustcal.auditing.chance import chance_losses, inference, largest_fall
from trustcal.auditing.class_measuring import class_audit
from trustcal.auditing.class_record import ClassAudit
from trustcal.auditing.groups import all_measures, mean_prediction, measured_groups_of, remedy_for
from trustcal.auditing.losses import (
    MONOTONE,
    VALUES,
    decision_loss,
    loss_measure,
    problem_loss,
    threshold_loss,
    worst_case,
    worst_range,
    worst_threshold,
)
from trustcal.auditing.numbers import Inference, Promise, Scores
from trustcal.auditing.record import Audit
from trustcal.auditing.segments import audited_segments
from trustcal.checking import checked_count, generator, refuse_other
from trustcal.class_predictor import ClassPredictor
from trustcal.curves import after_noise, histogram, movement
from trustcal.decisions import DecisionProblem, OutcomeProblem
from trustcal.diagrams import decision_curve, loss_profile, reliability_diagram, swap_profile
from trustcal.guarantees import best_noise
from trustcal.inference import clinical_calibration
from trustcal.measures.corp import corp
from trustcal.measures.pooling import pooled
from trustcal.measures.scores import auc
from trustcal.measures.transport import dtc_witness
from trustcal.noise import Noise
from trustcal.noise.mechanism import as_noise
from trustcal.predictor import Predictor, as_predictor
from trustcal.reading import Provenance, evidence, payoff_problem

if TYPE_CHECKING:
    from trustcal.remedies import Comparison

Seed = np.random.Generator | int

DRAWS = 40
"""Simulations for p-values and intervals, unless asked otherwise."""
COMMON_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
CALIBRATED = 1e-12
"""A distance to calibration below this is rounding."""


@overload
def audit(
    source: Any,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    classes: str | Iterable[Any],
    outcome: str | None = None,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    drop_invalid: bool = False,
    groups: Mapping[str, ClassPredictor] | None = None,
    payoff: OutcomeProblem | str | os.PathLike[str] | None = None,
    draws: int = DRAWS,
    rng: np.random.Generator | int = 0,
) -> ClassAudit: ...
@overload
def audit(
    source: Any,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    classes: None = None,
    prediction: str | None = None,
    outcome: str | None = None,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    cluster: ArrayLike | str | None = None,
    positive: Any = None,
    resolution: float | None = None,
    drop_invalid: bool = False,
    table: str | None = None,
    payoff: DecisionProblem | str | os.PathLike[str] | None = None,
    compare: bool | Comparison = False,
    segments: str | Sequence[str] | None = None,
    groups: Mapping[str, Predictor] | None = None,
    noise: Noise | None = None,
    cells: int | None = None,
    draws: int = DRAWS,
    rng: np.random.Generator | int = 0,
) -> Audit: ...
def audit(
    source: Any,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    classes: str | Iterable[Any] | None = None,
    prediction: str | None = None,
    outcome: str | None = None,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    cluster: ArrayLike | str | None = None,
    positive: Any = None,
    resolution: float | None = None,
    drop_invalid: bool = False,
    table: str | None = None,
    payoff: DecisionProblem | OutcomeProblem | str | os.PathLike[str] | None = None,
    compare: bool | Comparison = False,
    segments: str | Sequence[str] | None = None,
    groups: Mapping[str, Any] | None = None,
    noise: Noise | None = None,
    cells: int | None = None,
    draws: int = DRAWS,
    rng: np.random.Generator | int = 0,
) -> Audit | ClassAudit:
    """Audit predictions against outcomes: how wrong they are, who is hurt, whether it is chance, what to do.

    The same as `trustcal audit`, with the same defaults.  Where values are too rare to have a
    frequency, as continuous predictions are, the losses are those that moving thresholds would save, without bins.

    Parameters
    ----------
    source : a file, a pattern, a list of files, a frame, a relation (as for `read`); a `Predictor`; or y_true.
        Beside the formats of `read`: .json, .xlsx, .duckdb and SQLite files, and "-" for standard input.
    y_prob, sample_weight : rows in scikit-learn's order, where `source` is y_true.
    classes : for more than two outcomes: the labels of the columns of y_prob, or for files the columns of
        probabilities, such as "p_*".  Then payoff is an `OutcomeProblem`, or a CSV file with the header action and the
        classes, `groups` are class predictors, and of the options below only outcome, weight, by, drop_invalid, draws
        and rng apply.
    prediction, outcome, weight, positive, resolution, drop_invalid : how to read a file or frame, as for `read`.
    table : the table of a DuckDB or SQLite file, or the sheet of an Excel file, where there are several.
    by : the column or columns of a file or frame whose groups are measured too.
    cluster : the cluster of each row, such as the event it is a forecast of, or the column that holds it: clusters, not
        rows, are then independent in all tests, intervals and bounds.
    payoff : the user's decision problem, or a CSV file with the header action,0,1.
    segments : columns whose values make segments, or "all": those that are hurt are found, as by `trustcal.segments`.
    compare : whether to compare remedies on held-out rows too; or the table of `remedies.choose` on these rows.
    groups : predictors of groups by name, to measure them too.
    noise : the noise to look at, instead of the one with the best guarantee.
    cells : also take ECE and CDL of such predictions, with rare values pooled into this many bins.
    draws : simulations for p-values and intervals; 0: none.  A known distribution needs none.
    rng : a numpy Generator or a seed.

    Returns
    -------
    Audit : the numbers, with `.verdict`, `.advice`, `.check(…)`, `.to_html(path)` and `.to_json()`; with `classes`, a
        `ClassAudit`.

    >>> audit(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])).cdl
    1.0
    >>> from importlib.resources import files
    >>> census = audit(files("trustcal") / "examples" / "census_income.csv", draws=0)
    >>> print(census.loss.measure, round(census.loss.shown, 4))
    monotone_cdl 0.0436

    O(n log n), and with `draws` that many times as much.
    """
    if classes is not None or isinstance(source, ClassPredictor):
        other = (prediction, cluster, positive, resolution, noise, cells, compare or None, table, segments)
        if any(option is not None for option in other) or isinstance(payoff, DecisionProblem):
            raise ValueError(
                "with classes only outcome, weight, by, groups, drop_invalid, draws, rng and an OutcomeProblem apply."
            )
        return class_audit(
            source, y_prob, sample_weight, classes=classes, outcome=outcome, weight=weight, by=by, groups=groups,
            drop_invalid=drop_invalid, payoff=payoff, draws=draws, rng=rng,
        )  # fmt: skip
    if isinstance(payoff, OutcomeProblem):
        raise ValueError("an OutcomeProblem is for several classes: name them, classes=…, or use a DecisionProblem.")
    random = generator(rng)
    if groups is not None:
        refuse_other("groups", groups, Mapping, "a dict of predictors by the name of their group")
    if noise is not None:
        as_noise(noise)
    if not isinstance(compare, bool):
        from trustcal.remedies import Comparison

        refuse_other("compare", compare, Comparison, "True, False or the table of trustcal.remedies.choose")
    checked_count("draws", draws, least=0, most=10**7)
    problem = payoff_problem(payoff)
    found = evidence(
        source, y_prob, sample_weight, prediction=prediction, outcome=outcome, weight=weight, by=by, positive=positive,
        resolution=resolution, drop_invalid=drop_invalid, cluster=cluster, table=table,
    )  # fmt: skip
    q, parts = found.predictor, {**found.groups, **(groups or {})}
    if compare is True:
        from trustcal.remedies import compared

        compare = compared(found, problem, rng=rng)
    measure, measured = loss_measure(q), pooled(q, cells)[0]
    distance = dtc_witness(q)
    shown = all_measures(q, measured, cells, distance)
    chance = inference(distance, shown, cells, draws, random)
    law = measured if measure == VALUES else q
    worst = worst_threshold(law, measure)
    asked = np.array([worst, *COMMON_THRESHOLDS])
    losses = chance_losses(q, measure, asked, problem, cells, draws, random)
    by_chance = [None] * len(asked) if losses is None else [losses.largest, *losses.at[1:].tolist()]
    promise = _promise(distance.upper, chance)
    chosen = noise
    if noise is None and promise is not None and (chance is None or promise.choice.guarantee.value < shown[measure]):
        chosen = promise.choice.noise  # otherwise it promises no less than what is lost now: nobody needs its effect
    one, *common = (threshold_loss(law, measure, mu, by) for mu, by in zip(asked.tolist(), by_chance, strict=True))
    known = None if chance is None else chance.of(measure)
    shown_at = asked if problem is None else np.append(asked, problem.thresholds)
    groups_of = {str(name): as_predictor(part) for name, part in parts.items()}
    measured_groups = measured_groups_of(q, groups_of, problem, cells, draws, random)
    p_values = [None if chance is None else chance.test.p_value, *(group.p_value for group in measured_groups)]
    return Audit(
        rows=q.rows,
        effective_rows=q.effective_rows,
        values=len(q),
        base_rate=q.base_rate,
        mean_prediction=mean_prediction(q),
        cells=None if cells is None else len(measured),
        measures=shown,
        dtc_lower=float(distance.lower),
        inference=chance,
        loss=decision_loss(q, measure, shown[measure], known, p_values[0], random),
        worst=worst_case(law, measure),
        worst_threshold=one,
        worst_range=worst_range(q),
        fall=None if chance is None or measure == VALUES else largest_fall(q, draws, random),
        losses=tuple(common),
        problem=None if problem is None else problem_loss(q, problem, None if losses is None else losses.regret),
        scores=Scores(corp(q), corp(q, "log"), auc(q) if 0 < q.base_rate < 1 else None),
        clinical=None if q.rows is None else clinical_calibration(q),
        histogram=histogram(q),
        movement=movement(distance),
        guarantee=promise,
        after_noise=None if chosen is None else after_noise(q, q.isotonic() if measure == MONOTONE else law, chosen),
        remedy=remedy_for(compare or found, p_values, problem, rng),
        comparison=compare or None,
        groups=measured_groups,
        more_groups=len(groups_of) - len(measured_groups),
        segments=None
        if segments is None
        else audited_segments(source, found, segments, problem, table, positive, draws, rng),
        provenance=_with_payoff(found.provenance, payoff),
        hints=found.hints,
        clusters=None if q.clusters is None else q.clusters.count,
        weights_differ=_weights_differ(q),
        profile=(loss_profile if measure == MONOTONE else swap_profile)(law, thresholds=shown_at),
        net_benefit=decision_curve(q),
        diagram=reliability_diagram(q, band=draws > 0, rng=rng),  # last: it must not change the draws above
    )


def _with_payoff(facts: Provenance | None, payoff: object) -> Provenance | None:
    """What was read, with the file of the payoffs if there is one."""
    if facts is None or not isinstance(payoff, str | os.PathLike):
        return facts
    return replace(facts, payoff=str(payoff))


def _promise(distance: float, chance: Inference | None) -> Promise | None:
    """What noise guarantees at the distance of the rows, or at the upper confidence bound for the population."""
    if distance < CALIBRATED:
        return None
    eps, level = (float(distance), None) if chance is None else (chance.dtc.upper, chance.level)
    return Promise(eps, level, best_noise(eps, "cdl"))


def _weights_differ(q: Predictor) -> bool:
    if q.clusters is not None:
        return float(np.ptp(q.clusters.weight)) > 1e-9 * float(q.clusters.weight.max())
    return q.rows is not None and q.effective_rows is not None and round(q.effective_rows) != q.rows
