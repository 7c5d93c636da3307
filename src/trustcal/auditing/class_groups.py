"""Groups of rows with K classes, those that are hurt most first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from trustcal.auditing.class_losses import outcome_loss
from trustcal.auditing.class_numbers import ClassGroupAudit
from trustcal.auditing.numbers import SIGNIFICANT
from trustcal.class_predictor import ClassPredictor
from trustcal.classes import class_regret_test
from trustcal.classes.classwise import MEASURED, holm, measured_view
from trustcal.decisions import OutcomeProblem
from trustcal.inference import combined_test

TESTS: Final = 2
"""Each group is tested twice: the regret of the decision maker, and the top label."""
FIRST_LOOK: Final = 200
"""Draws of a first look at each group."""
_DRAWS_EACH: Final = 40
"""Draws for each p-value among which Holm's method adjusts: with fewer, none could be below 5 %."""
_MOST: Final = 20_000
_LEAST: Final = 40
_IN_ALL: Final = 4000


def class_groups(
    parts: Mapping[str, ClassPredictor],
    problem: OutcomeProblem,
    yours: bool,
    draws: int,
    rng: np.random.Generator,
) -> tuple[ClassGroupAudit, ...]:
    """Every group, those that are hurt most first.

    Intervals of many groups are from fewer draws than those of the whole: 4,000 in all, but at least 40 for each.
    """
    tested = group_p_values(list(parts.values()), problem, draws, rng)
    draws = min(draws, max(_LEAST, _IN_ALL // max(1, len(parts))))
    found = []
    for (name, q), p_value in zip(parts.items(), tested, strict=True):
        own = draws if q.rows is not None else 0
        found.append(
            ClassGroupAudit(
                name=name,
                rows=q.rows,
                problem=outcome_loss(q, problem, yours, own, rng),
                top=measured_view("top label", q.top(), MEASURED, own, p_value, rng),
                p_value=p_value,
            )
        )
    return tuple(sorted(found, key=lambda group: group.harm, reverse=True))


def group_p_values(
    parts: Sequence[ClassPredictor], problem: OutcomeProblem, draws: int, rng: np.random.Generator
) -> list[float | None]:
    """The p-value of each group, adjusted for two tests and for the number of groups by Holm; None without rows."""
    found: list[float | None] = [None] * len(parts)
    if draws == 0:
        return found
    places = [place for place, q in enumerate(parts) if q.rows is not None]
    count = min(_MOST, max(FIRST_LOOK, draws, _DRAWS_EACH * TESTS * len(places)))
    alone = {place: _p_value(parts[place], problem, FIRST_LOOK, rng) for place in places}
    for place in places:  # fresh draws, so that those that may be off are tested as if there had been no first look
        if alone[place] <= SIGNIFICANT and count > FIRST_LOOK:
            alone[place] = _p_value(parts[place], problem, count, rng)
    for place, adjusted in zip(places, holm([alone[place] for place in places]), strict=True):
        found[place] = adjusted
    return found


def _p_value(q: ClassPredictor, problem: OutcomeProblem, draws: int, rng: np.random.Generator) -> float:
    regret = class_regret_test(problem, q, draws=draws, rng=rng).p_value
    return min(1.0, TESTS * min(regret, combined_test(q.top(), draws=draws, rng=rng).p_value))
