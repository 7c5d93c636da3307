"""Who loses how much by believing the predictions: everybody at once, those with one threshold, and the user.

Where values repeat, losses are those of CDL, on the values as they are.  Otherwise they are those of the monotone
decision loss: what moving thresholds would save, which needs no bins.  Thresholds are given as people say them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trustcal.auditing.numbers import SIGNIFICANT, DecisionLoss, ProblemLoss, ThresholdLoss, WorstCase, WorstRange
from trustcal.decisions import DecisionProblem, threshold
from trustcal.inference import Uncertainty, held_out
from trustcal.inference.bootstrap import maximum_interval
from trustcal.measures.counts import constant_weights
from trustcal.measures.decision import cdl_witness
from trustcal.measures.interval_bias import cutoff_witness
from trustcal.measures.monotone import best_move, monotone_cdl_witness
from trustcal.measures.pooling import sparse
from trustcal.measures.worst_loss import loss_profile
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]

MONOTONE: Final = "monotone_cdl"
VALUES: Final = "cdl"
LEVEL: Final = 0.95
"""The confidence level of intervals and bounds."""
ENOUGH: Final = 0.9
"""A rounded threshold is said if it keeps this share of what the exact one shows."""


def loss_measure(*parts: Predictor) -> str:
    """The measure behind the headline: CDL if the values of all these predictors repeat, else its monotone version.

    >>> loss_measure(Predictor([0.5], [1.0], [0.75])), loss_measure(Predictor.from_samples([0, 1], [0.2, 0.7]))
    ('cdl', 'monotone_cdl')
    """
    return MONOTONE if any(sparse(q) for q in parts) else VALUES


def losses_at(q: Predictor, measure: str, mu: FloatArray) -> FloatArray:
    """What those who act above thresholds lose, as a share of the payoff range.  O((n + k) log n) for k thresholds."""
    reference = q.isotonic() if measure == MONOTONE else q.calibrated()
    return np.maximum(loss_profile(q, reference, mu), 0.0) / np.maximum(mu, 1 - mu)


def largest_loss(q: Predictor, measure: str) -> tuple[float, float]:
    """The threshold with the largest loss, and that loss.

    Between predictions the profile is convex, so its ratio to max(mu, 1 − mu) peaks at a prediction, 0, 1/2 or 1.
    """
    mu = np.concatenate([[0.0, 0.5, 1.0], q.p])
    loss = losses_at(q, measure, mu)
    worst = int(np.argmax(loss))
    return float(mu[worst]), float(loss[worst])


def worst_threshold(q: Predictor, measure: str) -> float:
    """A threshold with the largest loss; of rows, one with few digits that shows nearly as much."""
    mu, most = largest_loss(q, measure)
    return (
        mu if q.rows is None else _short(mu, lambda short: losses_at(q, measure, np.array([short]))[0] >= ENOUGH * most)
    )


def threshold_loss(q: Predictor, measure: str, mu: float, by_chance: float | None = None) -> ThresholdLoss:
    """What those who act above a threshold lose, and which one they should use instead.  O(n)."""
    move = best_move(q, mu)
    acts_on, loss = move.acts_on, move.gain / max(mu, 1 - mu)
    own = int(np.searchsorted(q.p, mu, side="left" if acts_on else "right"))
    place, on = _said(q, mu, own, move.instead, move.gain)
    first = int(np.searchsorted(q.p, place, side="left" if on else "right"))
    mass, one = q.upper_sums
    gain = float((one[first] - one[own]) - mu * (mass[first] - mass[own])) / max(mu, 1 - mu)
    changed = abs(float(mass[first] - mass[own])) if gain > 0 else 0.0
    if measure == VALUES:
        loss = float(threshold(mu).swaps(q).gain.sum())
    return ThresholdLoss(mu, acts_on, loss, by_chance, place, on, max(0.0, min(gain, loss)), changed)


def _said(q: Predictor, mu: float, own: int, place: float, gain: float) -> tuple[float, bool]:
    """The threshold for "act on `place` and above", with few digits; and whether it is itself acted on."""
    if place == inf:
        return inf, False
    first = int(np.searchsorted(q.p, place))
    if first == 0:
        return 0.0, True
    if first == own:
        return mu, first < len(q) and bool(q.p[first] == mu)
    if place == round(place, 2):
        return place, True
    mass, one = q.upper_sums

    def good(short: float) -> bool:
        above = int(np.searchsorted(q.p, short, side="right"))
        return bool((one[above] - one[own]) - mu * (mass[above] - mass[own]) >= ENOUGH * gain)

    short = _short(place, good)
    return short, short == place


def _short(number: float, good: Callable[[float], bool]) -> float:
    """The number with the fewest decimals, two or more, that is good enough and neither 0 nor 1; else the number."""
    for digits in range(2, 7):
        short = round(number, digits)
        if 0 < short < 1 and good(short):
            return short
    return number


def worst_case(q: Predictor, measure: str) -> WorstCase:
    """The decision maker who loses most.  O(n)."""
    witness = monotone_cdl_witness(q) if measure == MONOTONE else cdl_witness(q)
    return WorstCase(
        thresholds=tuple(witness.thresholds.tolist()),
        instead=tuple(best_move(q, mu).instead for mu in witness.thresholds.tolist()),
        weights=tuple(witness.weights.tolist()),
        payoff=payoff_table(witness.problem),
    )


def worst_range(q: Predictor) -> WorstRange | None:
    """The range of predictions with the largest bias; None if there is none.  O(n)."""
    found = cutoff_witness(q)
    return WorstRange(found.low, found.high, found.sign * found.value, found.mass) if found.sign else None


def decision_loss(
    q: Predictor, measure: str, shown: float, known: Uncertainty | None, p_value: float | None, rng: np.random.Generator
) -> DecisionLoss:
    """The headline number, with what chance shows and the interval if these are known.  O(n).

    Without evidence against the predictions, by the p-value that decides the verdict, the interval goes down to 0.
    """
    if known is None:
        return DecisionLoss(measure, shown, None, shown, None, None, None)
    single = measure == MONOTONE
    # Where values repeat, rows overstate the loss only next to 0.
    debiased = single or known.p_value > SIGNIFICANT
    return DecisionLoss(
        measure=measure,
        shown=shown,
        by_chance=known.floor,
        estimate=known.excess if debiased else shown,
        lower=known.lower if p_value is None or p_value <= SIGNIFICANT else 0.0,
        upper=max(known.upper, _unseen(q)),
        held_out=held_out(q, rng=rng) if single and splittable(q) else None,
    )


def _unseen(q: Predictor) -> float:
    """What n rows cannot rule out even if they show nothing: an event so rare that none of them had it."""
    rows = q.effective_rows if q.clusters is None else q.clusters.effective
    return unseen(rows or 1.0)


def unseen(rows: float) -> float:
    """The largest probability of an event that so many rows may not have shown, at 95 % confidence.

    >>> round(unseen(10), 2)
    0.31
    """
    return float(1 - ((1 - LEVEL) / 2) ** (1 / max(1.0, rows)))


def splittable(q: Predictor) -> bool:
    """Whether rows can be split into those that choose and those that judge, and predictions were not moved."""
    return q.rows is not None and q.moved == 0 and (q.clusters is not None or constant_weights(q))


def problem_regret(q: Predictor, problem: DecisionProblem) -> tuple[float, float]:
    """What moving the thresholds of a problem would earn, and what swapping its actions would.  O(n)."""
    gains = np.maximum(loss_profile(q, q.isotonic(), problem.thresholds), 0.0)
    return float(problem.weights @ gains), problem.action_regret(q)


def problem_loss(q: Predictor, problem: DecisionProblem, drawn: tuple[FloatArray, FloatArray] | None) -> ProblemLoss:
    """What the user's own decision maker loses; `drawn` is the regret of calibrated draws and of rows drawn again."""
    moving, swapping = problem_regret(q, problem)
    chance = lower = upper = None
    if drawn is not None:
        calibrated, again = drawn
        chance, regret = float(calibrated.mean()), max(moving, swapping)
        lower, upper = maximum_interval(regret, again, calibrated, LEVEL)
    return ProblemLoss(
        actions=problem.actions,
        payoff=payoff_table(problem),
        thresholds=tuple(problem.thresholds.tolist()),
        responses=tuple(problem.responses.tolist()),
        value=_earned(q, problem, moving),
        action_regret=swapping,
        recommendations=problem.recommendations(q),
        moving=moving,
        instead=tuple(threshold_loss(q, MONOTONE, mu).instead for mu in problem.thresholds.tolist()),
        by_chance=chance,
        lower=lower,
        upper=upper,
        stakes=problem.stakes,
    )


def _earned(q: Predictor, problem: DecisionProblem, moving: float) -> float:
    """What believing the predictions earns; on a threshold, the worse way, as in what moving thresholds would gain."""
    tied = bool(np.isin(problem.thresholds, q.p).any())
    return problem.value(q.isotonic()) - moving if tied else problem.value(q)


def payoff_table(problem: DecisionProblem) -> tuple[tuple[float, float], ...]:
    """The payoffs as plain numbers."""
    return tuple((at_0, at_1) for at_0, at_1 in np.asarray(problem.payoff).tolist())
