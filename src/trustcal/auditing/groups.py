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
from trustcal.measures.pooling import pooled, sparse
from trustcal.measures.table import MEASURES, audited, values_of
from trustcal.measures.transport import DtcWitness, dtc_witness
from trustcal.predictor import Predictor
from trustcal.reading import Evidence, evidence

if TYPE_CHECKING:
    from trustcal.remedies import Comparison, HeldOutGain

Seed = np.random.Generator | int

_LEAST: Final = 40
_IN_ALL: Final = 4000


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
    """Every group, those that are hurt most first.

    Intervals of many groups are from fewer draws than those of the whole: 4,000 in all, but at least 40 for each.
    """
    tested = group_p_values(list(parts.values()), draws, rng)
    draws = min(draws, max(_LEAST, _IN_ALL // max(1, len(parts))))
    found = [
        _group(name, part, loss_measure(whole, part), p_value, problem, cells, draws, rng)
        for (name, part), p_value in zip(parts.items(), tested, strict=True)
    ]
    return tuple(sorted(found, key=lambda group: group.harm, reverse=True))


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
        base_rate=q.base_rate,
        mean_prediction=mean_prediction(q),
        measures=shown,
        loss=decision_loss(q, measure, shown[measure], known, rng),
        worst_threshold=threshold_loss(law, measure, worst, None if losses is None else losses.largest),
        problem=None if problem is None else problem_loss(q, problem, None if losses is None else losses.regret),
        remedy=remedy_for(evidence(q), [p_value], problem, rng),
        p_value=p_value,
    )
