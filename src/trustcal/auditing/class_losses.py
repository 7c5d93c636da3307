"""What a decision maker with K outcomes loses on some rows."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from trustcal.auditing.class_numbers import OutcomeLoss
from trustcal.class_predictor import ClassPredictor
from trustcal.classes import class_regret_bounds, class_regret_test
from trustcal.decisions import OutcomeProblem

LEAST_DRAWS: Final = 200
"""The least number of simulations of the decision maker's regret, where each is cheap."""
CHEAP: Final = 10**6
"""A simulation of at most so many steps, actions² times classes, is cheap."""


def outcome_loss(
    q: ClassPredictor, problem: OutcomeProblem, yours: bool, draws: int, rng: np.random.Generator
) -> OutcomeLoss:
    """What a decision maker loses by believing vectors, with the test of that unless there are no draws."""
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
        payoff=plain_table(problem.payoff[:, [matched.classes.index(name) for name in q.classes]]),
        value=problem.value(matched),
        promised=float(sum(one.promised for one in found)),
        action_regret=problem.action_regret(matched),
        recommendations=found,
        gaps=tuple(problem.decision_gaps(matched).tolist()),
        instead=plain_table(earned - np.diagonal(earned)[:, None]),
        stakes=problem.stakes,
        test=test,
        bound=None if q.rows is None else class_regret_bounds(problem, matched),
    )


def plain_table(table: Any) -> tuple[tuple[float, ...], ...]:
    """A table as plain numbers."""
    return tuple(map(tuple, np.asarray(table).tolist()))
