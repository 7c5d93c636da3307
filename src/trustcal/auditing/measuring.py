"""From anything that holds predictions and outcomes to an audit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trustcal.auditing.chance import inference
from trustcal.auditing.numbers import GroupAudit, Inference, ProblemLoss, Promise, ThresholdLoss, WorstCase
from trustcal.auditing.record import Audit
from trustcal.checking import checked_count, generator, refuse_other
from trustcal.curves import after_noise, histogram, movement, reliability_curve
from trustcal.decisions import DecisionProblem, threshold
from trustcal.guarantees import best_noise
from trustcal.measures.decision import cdl_witness
from trustcal.measures.pooling import pooled
from trustcal.measures.table import audited, values_of
from trustcal.measures.transport import DtcWitness, dtc_witness
from trustcal.measures.worst_loss import DecisionWitness
from trustcal.noise import Noise
from trustcal.noise.mechanism import as_noise
from trustcal.predictor import Predictor, as_predictor
from trustcal.reading import evidence, payoff_problem

if TYPE_CHECKING:
    from trustcal.remedies import Comparison

DRAWS = 40
"""Simulations for p-values and intervals, unless asked otherwise."""
COMMON_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
CALIBRATED = 1e-12
"""A distance to calibration below this is rounding."""


def audit(
    source: Any,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    prediction: str | None = None,
    outcome: str | None = None,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    positive: Any = None,
    resolution: float | None = None,
    drop_invalid: bool = False,
    payoff: DecisionProblem | str | os.PathLike[str] | None = None,
    compare: bool | Comparison = False,
    groups: Mapping[str, Predictor] | None = None,
    noise: Noise | None = None,
    cells: int | None = None,
    draws: int = DRAWS,
    rng: np.random.Generator | int = 0,
) -> Audit:
    """Audit predictions against outcomes: how wrong they are, who is hurt, whether it is chance, what to do.

    The same as `trustcal audit`, with the same defaults.  Conditional measures (ECE, CDL) of values too rare to have a
    frequency, such as continuous predictions, are taken on about n^(1/3) bins of equal mass, and the audit says so.

    Parameters
    ----------
    source : a file, a pattern, a list of files, a frame, a relation (as for `read`); a `Predictor`; or y_true.
    y_prob, sample_weight : rows in scikit-learn's order, where `source` is y_true.
    prediction, outcome, weight, positive, resolution, drop_invalid : how to read a file or frame, as for `read`.
    by : the column or columns of a file or frame whose groups are measured too.
    payoff : the user's decision problem, or a CSV file with the header action,0,1.
    compare : whether to compare remedies on held-out rows too; or the result of `trustcal.compare` on these rows.
    groups : predictors of groups by name, to measure them too.
    noise : the noise to look at, instead of the one with the best guarantee.
    cells : the number of bins for conditional measures.
    draws : simulations for p-values and intervals; 0: none.  A known distribution needs none.
    rng : a numpy Generator or a seed.

    Returns
    -------
    Audit : the numbers, with `.verdict`, `.advice`, `.check(…)`, `.to_html(path)` and `.to_json()`.

    >>> audit(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])).cdl
    1.0
    >>> from importlib.resources import files
    >>> census = audit(files("trustcal") / "examples" / "census_income.csv", draws=0)
    >>> print(census.verdict.state, round(census.cdl, 4))
    harmful 0.0512

    O(n log n), and with `draws` that many times as much.
    """
    random = generator(rng)
    if groups is not None:
        refuse_other("groups", groups, Mapping, "a dict of predictors by the name of their group")
    if noise is not None:
        as_noise(noise)
    if not isinstance(compare, bool):
        from trustcal.remedies import Comparison

        refuse_other("compare", compare, Comparison, "True, False or the result of trustcal.compare")
    checked_count("draws", draws, least=0)
    problem = payoff_problem(payoff)
    found = evidence(
        source, y_prob, sample_weight, prediction=prediction, outcome=outcome, weight=weight, by=by, positive=positive,
        resolution=resolution, drop_invalid=drop_invalid,
    )  # fmt: skip
    q, parts = found.predictor, {**found.groups, **(groups or {})}
    if compare is True:
        from trustcal.remedies import compared

        compare = compared(found, problem, rng=rng)
    measured, bins = pooled(q, cells)
    witness, distance = cdl_witness(measured), dtc_witness(q)
    shown = _measures(q, measured, witness, distance)
    chance = inference(distance, shown, cells, draws, random)
    promise = _promise(distance.upper, chance)
    chosen = noise if noise is not None or promise is None else promise.choice.noise
    return Audit(
        rows=q.rows,
        effective_rows=q.effective_rows,
        values=len(q),
        base_rate=q.base_rate,
        mean_prediction=_mean(q),
        cells=bins,
        measures=shown,
        dtc_lower=float(distance.lower),
        inference=chance,
        worst=WorstCase(tuple(witness.thresholds.tolist()), tuple(witness.weights.tolist()), _table(witness.problem)),
        worst_threshold=_worst_threshold(measured, witness),
        losses=tuple(_threshold_loss(measured, mu) for mu in COMMON_THRESHOLDS),
        problem=None if problem is None else _problem_loss(measured, problem),
        curve=reliability_curve(measured),
        histogram=histogram(q),
        movement=movement(distance),
        guarantee=promise,
        after_noise=None if chosen is None else after_noise(q, measured, chosen),
        comparison=compare or None,
        groups=tuple(_group(str(name), as_predictor(part), cells, draws, random) for name, part in parts.items()),
        provenance=found.provenance,
    )


def _measures(q: Predictor, measured: Predictor, witness: DecisionWitness, distance: DtcWitness) -> dict[str, float]:
    """Every measure of the table; DTC and CDL from their witnesses."""
    known = {"dtc": float(distance.upper), "cdl": witness.value}
    rest = values_of([key for key in audited() if key not in known], q, measured)
    return {key: (known | rest)[key] for key in audited()}


def _mean(q: Predictor) -> float:
    return float(q.p @ q.mass / q.mass.sum())


def _promise(distance: float, chance: Inference | None) -> Promise | None:
    """What noise guarantees at the distance of the rows, or at the upper confidence bound for the population."""
    if distance < CALIBRATED:
        return None
    eps, level = (float(distance), None) if chance is None else (chance.dtc.upper, chance.level)
    return Promise(eps, level, best_noise(eps, "cdl"))


def _group(name: str, q: Predictor, cells: int | None, draws: int, rng: np.random.Generator) -> GroupAudit:
    measured, bins = pooled(q, cells)
    witness, distance = cdl_witness(measured), dtc_witness(q)
    shown = _measures(q, measured, witness, distance)
    known = inference(distance, {"cdl": shown["cdl"]}, cells, draws, rng)
    return GroupAudit(
        name=name,
        rows=q.rows,
        base_rate=q.base_rate,
        mean_prediction=_mean(q),
        cells=bins,
        measures=shown,
        worst_threshold=_worst_threshold(measured, witness),
        uncertainty=None if known is None else known.measures[0],
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
