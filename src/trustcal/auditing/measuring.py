"""From a predictor to the numbers of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trustcal.auditing.numbers import (
    Group,
    Guarantee,
    Inference,
    Method,
    Methods,
    ProblemLoss,
    Read,
    ThresholdLoss,
    WorstCase,
)
from trustcal.auditing.pictures import curve, fixed, histogram, movement
from trustcal.auditing.record import Audit
from trustcal.checking import checked_count, generator, refuse_other
from trustcal.decisions import DecisionProblem, as_problem, threshold
from trustcal.guarantees.choice import best_noise
from trustcal.inference import uncertainties
from trustcal.measures.continuous import smcal
from trustcal.measures.decision import DecisionWitness, cdl_witness, ece
from trustcal.measures.kernel_smoothing import smece
from trustcal.measures.pooling import pooled
from trustcal.measures.transport import DtcWitness, dtc, dtc_witness
from trustcal.noise import Noise
from trustcal.noise.mechanism import checked_noise
from trustcal.predictor import Predictor, as_predictor

if TYPE_CHECKING:
    from trustcal.reading import Reading
    from trustcal.remedies import Comparison

COMMON_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
CALIBRATED = 1e-12
"""A distance to calibration that is rounding only."""


def audit(
    y_true: Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    cells: int | None = None,
    problem: DecisionProblem | None = None,
    groups: Mapping[str, Predictor] | None = None,
    fix: Noise | None = None,
    comparison: Comparison | None = None,
    draws: int = 0,
    rng: np.random.Generator | int | None = None,
    reading: Reading | None = None,
) -> Audit:
    """Measure a predictor, or rows in scikit-learn's order, for the people who decide by it.

    Where values are seen too rarely to have a frequency, as continuous predictions are, ECE and CDL are measured on
    about n^(1/3) cells of equal mass (or as many as `cells` says), and the audit says so.  The smooth measures need no
    cells.  With `draws`, 200 say, the measures of rows come with intervals, floors and p-values from as many random
    data sets.  `fix` is the noise to look at instead of the one with the best guarantee, `problem` the user's own
    decision maker, `groups` predictors by the name of a group, `comparison` what `trustcal.compare` found about the
    same rows, and `reading` what `trustcal.reading.reading` says about where they are from.

    >>> audit(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])).cdl
    1.0

    O(n log n), and with `draws` as many times that.
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    random = generator(rng)
    _refuse_others(problem, groups, fix, comparison, reading)
    checked_count("draws", draws, least=0)
    measured, bins = pooled(q, cells)
    witness = cdl_witness(measured)
    distance = dtc_witness(q)
    shown = {
        "dtc": float(distance.upper),
        "smcal": smcal(q),
        "smece": smece(q),
        "ece": ece(measured),
        "cdl": witness.value,
    }
    chance = _inference(distance, shown, cells, draws, random)
    promise, noise = _guarantee(distance.upper, chance)
    return Audit(
        rows=q.rows,
        effective_rows=q.effective_rows,
        values=len(q),
        base_rate=q.base_rate,
        mean_prediction=_mean(q),
        cells=bins,
        dtc_lower=float(distance.lower),
        dtc_upper=float(distance.upper),
        smcal=shown["smcal"],
        smece=shown["smece"],
        ece=shown["ece"],
        cdl=shown["cdl"],
        inference=chance,
        worst=WorstCase(tuple(witness.thresholds.tolist()), tuple(witness.weights.tolist()), _table(witness.problem)),
        worst_threshold=_worst_threshold(measured, witness),
        losses=tuple(_threshold_loss(measured, mu) for mu in COMMON_THRESHOLDS),
        problem=None if problem is None else _problem_loss(measured, problem),
        curve=curve(measured),
        histogram=histogram(q),
        movement=movement(distance),
        guarantee=promise,
        fix=None if (chosen := fix or noise) is None else fixed(q, measured, chosen),
        methods=None if comparison is None else _methods(comparison),
        groups=tuple(
            _group(str(name), as_predictor(part), cells, draws, random) for name, part in (groups or {}).items()
        ),
        read=None if reading is None else _read(reading),
    )


def _refuse_others(
    problem: DecisionProblem | None, groups: object, fix: Noise | None, comparison: object, reading: object
) -> None:
    """What can only come from this package is what it should be, before anything is measured."""
    if problem is not None:
        as_problem(problem)
    if groups is not None:
        refuse_other("groups", groups, Mapping, "a dict of predictors by the name of their group")
    if fix is not None:
        checked_noise(fix)
    if comparison is not None:
        from trustcal.remedies import Comparison

        refuse_other("comparison", comparison, Comparison, "what trustcal.compare found")
    if reading is not None:
        from trustcal.reading import Reading

        refuse_other("reading", reading, Reading, "what trustcal.reading.reading found")


def _mean(q: Predictor) -> float:
    return float(q.p @ q.mass / q.mass.sum())


def _inference(
    distance: DtcWitness, shown: Mapping[str, float], cells: int | None, draws: int, rng: np.random.Generator
) -> Inference | None:
    """What rows can tell, if it was asked for; a known law is what it is."""
    if draws == 0 or distance.predictor.rows is None:
        return None
    from trustcal.auditing.chance import inference

    return inference(distance, shown, cells, draws, rng)


def _guarantee(distance: float, chance: Inference | None) -> tuple[Guarantee | None, Noise | None]:
    """What noise promises at this distance to calibration, or at the one that the law behind the rows may have."""
    if distance < CALIBRATED:
        return None, None
    eps, level = (float(distance), None) if chance is None else (chance.dtc_at_most, chance.level)
    choice = best_noise(eps, "cdl")
    promise = Guarantee(
        eps=eps,
        level=level,
        noise=repr(choice.noise),
        cdl=choice.guarantee.value,
        source=choice.guarantee.source,
        least=choice.lower.value,
        least_source=choice.lower.source,
    )
    return promise, choice.noise


def _group(name: str, q: Predictor, cells: int | None, draws: int, rng: np.random.Generator) -> Group:
    measured, bins = pooled(q, cells)
    witness = cdl_witness(measured)
    known = None
    if draws and q.rows is not None:
        shown = {"cdl": witness.value}
        (known,) = uncertainties(q, shown, draws=draws, cells=cells, known=shown, rng=rng)
    return Group(
        name=name,
        rows=q.rows,
        base_rate=q.base_rate,
        mean_prediction=_mean(q),
        cells=bins,
        dtc=float(dtc(q)),
        ece=ece(measured),
        cdl=witness.value,
        worst_threshold=_worst_threshold(measured, witness),
        uncertainty=known,
    )


def _methods(comparison: Comparison) -> Methods:
    return Methods(
        methods=tuple(
            Method(
                name=row.name,
                cdl=row.cdl,
                ece=row.ece,
                dtc=row.dtc,
                brier=row.brier,
                auc=row.auc,
                value_lost=row.value_lost,
                guarantee=None if row.guarantee is None else row.guarantee.value,
                needs_outcomes=row.needs_outcomes,
            )
            for row in comparison.methods
        ),
        recommended=comparison.recommended,
        recommendation=comparison.recommendation,
        reason=comparison.reason,
        rows=comparison.rows,
        folds=comparison.folds,
        cells=comparison.cells,
    )


def _read(reading: Reading) -> Read:
    from trustcal.reading.faults import WORDS

    facts = reading.provenance
    columns, faults = facts.columns, [(words, getattr(facts.dropped, fault)) for fault, words in WORDS.items()]
    roles = [("prediction", columns.prediction), ("outcome", columns.outcome), ("weight", columns.weight)]
    return Read(
        source=facts.source,
        columns=tuple((role, name) for role, name in roles if name is not None)
        + tuple(("group", name) for name in columns.by),
        rows=facts.rows,
        dropped=tuple((words, count) for words, count in faults if count),
        resolution=facts.resolution or None,
    )


def _worst_threshold(q: Predictor, witness: DecisionWitness) -> ThresholdLoss:
    """Between predictions the profile is convex, so its ratio to max(mu, 1 − mu) peaks at a prediction, 0, 1/2 or 1."""
    mu = np.concatenate([[0.0, 0.5, 1.0], q.p])
    return _threshold_loss(q, float(mu[np.argmax(witness.profile(mu) / np.maximum(mu, 1 - mu))]))


def _threshold_loss(q: Predictor, mu: float) -> ThresholdLoss:
    swaps = threshold(mu).swaps(q)
    return ThresholdLoss(mu, float(swaps.gain.sum()), float(q.mass[swaps.gain > 0].sum()))


def _problem_loss(q: Predictor, problem: DecisionProblem) -> ProblemLoss:
    return ProblemLoss(
        actions=problem.actions,
        payoff=_table(problem),
        thresholds=tuple(problem.thresholds.tolist()),
        responses=tuple(problem.responses.tolist()),
        value=problem.value(q),
        swap_regret=problem.swap_regret(q),
        stakes=problem.stakes,
    )


def _table(problem: DecisionProblem) -> tuple[tuple[float, float], ...]:
    return tuple((at_0, at_1) for at_0, at_1 in np.asarray(problem.payoff).tolist())
