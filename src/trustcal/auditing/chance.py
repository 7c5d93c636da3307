"""What the rows tell about the population: the tests and intervals of an audit, and what losses chance would show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import NormalDist
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from trustcal.auditing.losses import LEVEL, VALUES, largest_loss, losses_at, problem_regret, splittable
from trustcal.auditing.numbers import SIGNIFICANT, Fall, Inference
from trustcal.decisions import DecisionProblem
from trustcal.inference import (
    CombinedTest,
    ConfidenceBound,
    combined_test,
    dtc_upper_bound,
    monotone_cdl_lower_bound,
    monotone_cdl_upper_bound,
    monotonicity_test,
    uncertainties,
)
from trustcal.inference.deviations import relative_entropy
from trustcal.inference.mean_bias import mean_bias_p_value
from trustcal.inference.sampler import RowSampler
from trustcal.measures.transport import DtcWitness
from trustcal.predictor import Predictor

LEAST_DRAWS: Final = 200
"""The least number of simulations behind a verdict."""
_LOOKS: Final = 4
_ERROR: Final = 0.001
_MOST: Final = 10**8
"""No further look if it would draw more values than this."""
_MOST_REGRETS: Final = 1000
"""At most this many simulations of the user's own regret, if few do not tell on which side of 0 its interval ends."""
_MOST_WORK: Final = 3_000_000
"""No more of them if they would draw more values than this."""

FloatArray = NDArray[np.float64]


def inference(
    distance: DtcWitness, shown: Mapping[str, float], cells: int | None, draws: int, rng: np.random.Generator
) -> Inference | None:
    """Tests and intervals of the measures shown, conditional ones on the bins asked for; None without rows or draws.

    O(draws · n log n).
    """
    q = distance.predictor
    if draws == 0 or q.rows is None:
        return None
    entries = uncertainties(q, shown, LEVEL, draws=draws, cells=cells, known=shown, rng=rng)
    return Inference(settled_test(q, draws, rng), entries, dtc_upper_bound(distance, LEVEL), _proved(q, rng))


def settled_test(q: Predictor, draws: int, rng: np.random.Generator, level: float = SIGNIFICANT) -> CombinedTest:
    """The combined test with as many draws as it takes to know on which side of the level its p-value is.

    A first look has 200 draws, or as many as asked for; each further look has four times as many fresh ones, as long as
    it is not clear.  By Chernoff's inequality the p-value of infinitely many draws is on the other side of the level
    with probability at most 1/1000 over all looks, unless the last look is not clear either.

    O(draws · n) for each look.
    """
    count = max(LEAST_DRAWS, draws)
    for look in range(_LOOKS):
        test = combined_test(q, draws=count, rng=rng)
        as_much = (test.p_value * (count + 1) - 1) / count
        clear = count * relative_entropy(as_much, level) >= log(_LOOKS / _ERROR)
        if clear or look == _LOOKS - 1 or 4 * count * len(q) > _MOST:
            break
        count *= 4
    return test


def group_p_values(
    parts: Sequence[Predictor], draws: int, rng: np.random.Generator, others: int = 0
) -> list[float | None]:
    """The p-value of each group, adjusted for the number of all groups by Holm's method; None without rows.

    It is that of the combined test.  Others that are not tested count as if their p-values were 1, which can only make
    those of these groups larger, however they were chosen.  If there are others, the mean bias is tested too, at twice
    its p-value: with thousands of groups no simulation has draws enough to show anything.
    """
    tested = [i for i, part in enumerate(parts) if part.rows is not None]
    found: list[float | None] = [None] * len(parts)
    if draws == 0:
        return found
    groups, tests = len(tested) + others, 2 if others else 1
    count = min(100 * LEAST_DRAWS, max(LEAST_DRAWS, draws, 40 * groups * tests))
    enough = not others or tests * groups <= SIGNIFICANT * (count + 1)
    alone = _simulated({i: parts[i] for i in tested}, count, rng) if enough else dict.fromkeys(tested, 1.0)
    if others:
        alone = {i: tests * min(p_value, mean_bias_p_value(parts[i])) for i, p_value in alone.items()}
    least = 0.0
    for rank, i in enumerate(sorted(tested, key=lambda i: alone[i])):
        least = max(least, min(1.0, (groups - rank) * alone[i]))
        found[i] = least
    return found


def _simulated(parts: Mapping[int, Predictor], count: int, rng: np.random.Generator) -> dict[int, float]:
    """The p-value of the combined test of each part, with this many draws for those that may be off."""
    found = {i: combined_test(part, draws=LEAST_DRAWS, rng=rng).p_value for i, part in parts.items()}
    for i, part in parts.items():  # fresh draws, so that they are tested as if there had been no first look
        if found[i] <= SIGNIFICANT and count > LEAST_DRAWS:
            found[i] = combined_test(part, draws=count, rng=rng).p_value
    return found


def largest_fall(q: Predictor, draws: int, rng: np.random.Generator) -> Fall | None:
    """Where the frequency falls most although the prediction rises; None if it never does.  O(draws · n)."""
    found = monotonicity_test(q, draws=draws, rng=rng)
    if not found.value > 0:
        return None
    return Fall(found.low, found.split, found.high, found.before, found.after, found.p_value)


def _proved(q: Predictor, rng: np.random.Generator) -> ConfidenceBound | None:
    if not splittable(q):
        return None
    lower = monotone_cdl_lower_bound(q, LEVEL, rng=rng)
    return replace(monotone_cdl_upper_bound(q, LEVEL), lower=lower.lower)


@final
@dataclass(frozen=True, eq=False)
class ChanceLosses:
    """What those who decide would lose if the predictions were calibrated, and the regret of the user's problem."""

    at: FloatArray
    """The mean loss at each threshold asked for."""
    largest: float
    """The mean of the largest loss over all thresholds."""
    regret: tuple[FloatArray, FloatArray] | None
    """The user's regret in calibrated draws, and in rows drawn again; None without a problem."""


def chance_losses(
    q: Predictor,
    measure: str,
    thresholds: FloatArray,
    problem: DecisionProblem | None,
    cells: int | None,
    draws: int,
    rng: np.random.Generator,
) -> ChanceLosses | None:
    """Losses of calibrated outcomes, drawn for every row; None without rows or draws.  O(draws · n log n)."""
    if draws == 0 or q.rows is None:
        return None
    sampler = RowSampler.of(q, cells)
    losses, regrets = [], []
    for _ in range(draws):
        drawn = sampler.calibrated_draw(rng)
        measured = sampler.binned(drawn) if measure == VALUES else drawn
        losses.append(np.append(losses_at(measured, measure, thresholds), largest_loss(measured, measure)[1]))
        regrets.append(0.0 if problem is None else max(problem_regret(drawn, problem)))
    mean = np.mean(losses, axis=0)
    if problem is None:
        return ChanceLosses(mean[:-1], float(mean[-1]), None)
    again = [max(problem_regret(sampler.resampled(rng), problem)) for _ in range(draws)]
    shown, most = max(problem_regret(q, problem)), max(draws, min(_MOST_REGRETS, _MOST_WORK // len(q)))
    while len(again) < most and not _clear(shown, np.array(regrets), np.array(again)):
        for _ in range(min(len(again), most - len(again))):
            regrets.append(max(problem_regret(sampler.calibrated_draw(rng), problem)))
            again.append(max(problem_regret(sampler.resampled(rng), problem)))
    return ChanceLosses(mean[:-1], float(mean[-1]), (np.array(regrets), np.array(again)))


def _clear(regret: float, calibrated: FloatArray, again: FloatArray) -> bool:
    """Whether more draws would hardly move the lower end of the interval for the regret to the other side of 0.

    Its error from few draws is that of a mean and of a standard deviation, and three times that is enough.
    """
    z, draws = NormalDist().inv_cdf((1 + LEVEL) / 2), len(again)
    error = np.sqrt((calibrated.var() + z**2 * again.var() / 2) / draws)
    return bool(abs(regret - calibrated.mean() - z * again.std()) > 3 * error)
