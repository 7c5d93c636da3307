"""Groups of rows measured like the whole, and what whole and groups share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from trustcal.auditing.chance import chance_losses, group_p_values
from trustcal.auditing.losses import (
    LEVEL,
    VALUES,
    decision_loss,
    loss_measure,
    problem_loss,
    threshold_loss,
    worst_threshold,
)
from trustcal.auditing.numbers import SIGNIFICANT, GroupAudit
from trustcal.decisions import DecisionProblem
from trustcal.inference import uncertainties
from trustcal.inference.combined import bias_variance
from trustcal.measures.interval_bias import cutoff
from trustcal.measures.pooling import pooled, sparse
from trustcal.measures.table import MEASURES, audited, values_of
from trustcal.measures.transport import DtcWitness, dtc_witness
from trustcal.predictor import Predictor
from trustcal.reading import Evidence, evidence

if TYPE_CHECKING:
    from trustcal.remedies import Comparison, HeldOutGain

Seed = np.random.Generator | int

MEASURED: Final = 100
"""At most this many groups are measured."""
_LEAST: Final = 40
_IN_ALL: Final = 4000
_BY_CHANCE: Final = 2.4
"""Standard deviations of the bias that the cutoff calibration error exceeds in about 1 of 20 calibrated groups."""


def all_measures(q: Predictor, measured: Predictor, cells: int | None, distance: DtcWitness) -> dict[str, float]:
    """The measures of the table, DTC from its witness; conditional ones where values repeat, or on bins asked for."""
    keys = [key for key in audited() if cells is not None or not (MEASURES[key].conditional and sparse(q))]
    rest = values_of([key for key in keys if key != "dtc"], q, measured)
    return {key: ({"dtc": float(distance.upper)} | rest)[key] for key in keys}


def mean_prediction(q: Predictor) -> float:
    """The mean prediction."""
    return float(q.p @ q.mass / q.mass.sum())


def remedy_for(
    found: Evidence | Comparison, p_values: Sequence[float | None], problem: DecisionProblem | None, rng: Seed
) -> HeldOutGain | None:
    """What the recommended remedy gains, if one of these tests says that the predictions are off."""
    if not any(p_value is not None and p_value <= SIGNIFICANT for p_value in p_values):
        return None
    from trustcal.remedies import held_out_gain  # slow to import

    return held_out_gain(found, problem, rng)


def measured_groups_of(
    whole: Predictor,
    parts: Mapping[str, Predictor],
    problem: DecisionProblem | None,
    cells: int | None,
    draws: int,
    rng: np.random.Generator,
) -> tuple[GroupAudit, ...]:
    """The groups that are hurt most first: all of them, or of more than 100 those that show most beyond chance.

    Intervals of many groups are from fewer draws than those of the whole: 4,000 in all, but at least 40 for each.
    """
    shown = _showing_most(parts)
    tested = group_p_values(list(shown.values()), draws, rng, len(parts) - len(shown))
    draws = min(draws, max(_LEAST, _IN_ALL // max(1, len(shown))))
    found = [
        _group(name, part, loss_measure(whole, part), p_value, problem, cells, draws, rng)
        for (name, part), p_value in zip(shown.items(), tested, strict=True)
    ]
    return tuple(sorted(found, key=lambda group: group.harm, reverse=True))


def _showing_most(parts: Mapping[str, Predictor]) -> Mapping[str, Predictor]:
    """The groups in which somebody can gain most by moving thresholds, beyond what chance would show.

    Nobody can gain more than the cutoff calibration error: below a threshold μ, y − μ ≤ y − p + (p − μ) < y − p, and
    above it the same with signs changed.
    """
    if len(parts) <= MEASURED:
        return parts
    beyond = {name: cutoff(q) - _BY_CHANCE * float(np.sqrt(bias_variance(q).sum())) for name, q in parts.items()}
    chosen = set(sorted(beyond, key=lambda name: beyond[name], reverse=True)[:MEASURED])
    return {name: q for name, q in parts.items() if name in chosen}


def _group(
    name: str,
    q: Predictor,
    measure: str,
    p_value: float | None,
    problem: DecisionProblem | None,
    cells: int | None,
    draws: int,
    rng: np.random.Generator,
) -> GroupAudit:
    measured, distance = pooled(q, cells)[0], dtc_witness(q)
    shown = all_measures(q, measured, cells, distance)
    known = None
    if draws and q.rows is not None:
        (known,) = uncertainties(q, [measure], LEVEL, draws=draws, cells=cells, known=shown, rng=rng)
    law = measured if measure == VALUES else q
    worst = worst_threshold(law, measure)
    losses = chance_losses(q, measure, np.array([worst]), problem, cells, draws, rng)
    return GroupAudit(
        name=name,
        rows=q.rows,
        effective_rows=q.effective_rows,
        base_rate=q.base_rate,
        mean_prediction=mean_prediction(q),
        measures=shown,
        loss=decision_loss(q, measure, shown[measure], known, p_value, rng),
        worst_threshold=threshold_loss(law, measure, worst, None if losses is None else losses.largest),
        problem=None if problem is None else problem_loss(q, problem, None if losses is None else losses.regret),
        remedy=remedy_for(evidence(q), [p_value], problem, rng),
        p_value=p_value,
    )
