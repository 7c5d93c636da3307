"""What rows tell about the action regret of a decision maker with K outcomes: chance, intervals, proved bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import checked_confidence, checked_count, generator
from trustcal.class_predictor import ClassPredictor
from trustcal.decisions import OutcomeProblem
from trustcal.decisions.responses import gains
from trustcal.inference import ConfidenceBound
from trustcal.inference.bootstrap import maximum_interval
from trustcal.inference.decision_bounds import relative, swap_bounds
from trustcal.inference.deviations import ONE_FUNCTION, WEIGHTED
from trustcal.kernels.blocks import blocks

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True)
class RegretTest:
    """The action regret of rows, beside what calibrated predictions would show by chance."""

    value: float
    """The action regret of the rows."""
    by_chance: float
    """Its mean if the predictions were calibrated."""
    lower: float
    """The lower end of the interval for the population."""
    upper: float
    """The upper end."""
    p_value: float
    """The share of calibrated data sets that show as much; never 0."""
    confidence: float
    """The nominal coverage of the interval."""
    draws: int
    """The number of simulated data sets."""

    @property
    def excess(self) -> float:
        """The regret less what would show by chance; at least 0."""
        return max(0.0, self.value - self.by_chance)


def class_regret_test(
    problem: OutcomeProblem,
    q: ClassPredictor,
    confidence: float = 0.95,
    *,
    draws: int = 200,
    rng: np.random.Generator | int,
) -> RegretTest:
    """Is the action regret more than chance, and how large may it be in the population?

    Outcomes are drawn for every row from its own vector, which is what calibrated predictions would show; and rows are
    drawn again for the interval.  The regret is the best of many swaps, so rows overstate it by about the mean that
    chance shows.

    Parameters
    ----------
    problem : OutcomeProblem
    q : ClassPredictor
        Counted from rows; rows of the same vector and class count alike.
    confidence : float
        The nominal coverage of the interval.
    draws : int
        The number of data sets of each kind.
    rng : Generator or int
        Source of the draws.

    Returns
    -------
    RegretTest

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], 2000)
    >>> y = rng.integers(0, 3, 2000)                                               # the vectors say nothing
    >>> problem = OutcomeProblem([[1, 0, 0], [0, 1, 0], [0.4, 0.4, 0.4]])
    >>> found = class_regret_test(problem, ClassPredictor.from_samples(y, p), rng=0)
    >>> found.p_value < 0.01, found.lower > 0
    (True, True)

    O(draws·n·K).
    """
    draws, level, random = checked_count("draws", draws), checked_confidence(confidence), generator(rng)
    _sample_size(q)
    matched = problem.matched(q)
    tables = problem.tables(matched)
    value = problem.action_regret(matched)
    calibrated = np.array(
        [_regret(problem, drawn) for drawn in _calibrated(problem, matched, tables.taken, draws, random)]
    )
    size = max(1, round(matched.effective_rows or 1.0))
    flat = tables.seen.ravel() / tables.seen.sum()
    again = np.array(
        [_regret(problem, random.multinomial(size, flat).reshape(tables.seen.shape) / size) for _ in range(draws)]
    )
    lower, upper = maximum_interval(value, again, calibrated, level)
    same = value * (1 - 1e-12)
    p_value = float((1 + (calibrated >= same).sum()) / (draws + 1))
    return RegretTest(value, float(calibrated.mean()), lower, upper, p_value, level, draws)


def class_regret_bounds(problem: OutcomeProblem, q: ClassPredictor, confidence: float = 0.95) -> ConfidenceBound:
    """A lower and an upper confidence bound on the population's action regret, each at this confidence: proved.

    From above one swap of actions is best for the population; from below each action's best swap is judged on its own,
    as in `inference.action_regret_bounds`.

    Parameters
    ----------
    problem : OutcomeProblem
    q : ClassPredictor
        Counted from independent rows.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    ConfidenceBound
        In the units of the payoffs; rigorous for rows of equal weight, of any number.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], 5000)
    >>> q = ClassPredictor.from_samples((np.argmax(p, axis=1) + 1) % 3, p)                       # always wrong
    >>> bound = class_regret_bounds(OutcomeProblem([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), q)
    >>> bound.estimate, 0.9 < bound.lower
    (1.0, True)

    O(n·K·actions + actions²·K).
    """
    error = 1 - checked_confidence(confidence)
    rows = _sample_size(q)
    matched = problem.matched(q)
    estimate, stakes, alike = problem.action_regret(matched), problem.stakes, q.squares is None
    method = ONE_FUNCTION if alike else WEIGHTED
    if stakes == 0:
        return ConfidenceBound("action_regret", 0.0, 0.0, 0.0, confidence, method, True)
    lower, upper = swap_bounds(problem.tables(matched).seen, relative(problem.payoff, stakes), rows, error, alike)
    ends = max(0.0, min(stakes * lower, estimate)), stakes * upper
    return ConfidenceBound("action_regret", estimate, *ends, confidence, method, alike)


def _sample_size(q: ClassPredictor) -> float:
    """The effective sample size; an error for a known distribution."""
    if q.effective_rows is None:
        raise ValueError(
            "inference needs rows, but this predictor is a known law: nothing in it is random. "
            "Use ClassPredictor.from_samples."
        )
    return q.effective_rows


def _regret(problem: OutcomeProblem, seen: FloatArray) -> float:
    return float(gains(problem.payoff, seen).max(axis=1).sum())


def _calibrated(
    problem: OutcomeProblem, q: ClassPredictor, taken: NDArray[np.intp], draws: int, rng: np.random.Generator
) -> FloatArray:
    """Tables of recommended action and outcome if each row's outcome is drawn from its own vector."""
    count, width = problem.payoff.shape
    counts = np.ones(len(q.value), dtype=np.intp) if q.counts is None else q.counts
    value, weight = np.repeat(q.value, counts), np.repeat(q.weight / counts / q.total, counts)
    tables = np.zeros((draws, count * width))
    for block in blocks(len(value)):
        here = value[block]
        p = np.cumsum(q.p[here], axis=1)
        p /= p[:, -1:]
        for drawn in tables:
            outcome = (rng.random((len(here), 1)) >= p[:, :-1]).sum(axis=1)
            drawn += np.bincount(taken[here] * width + outcome, weight[block], count * width)
    return tables.reshape(draws, count, width)
