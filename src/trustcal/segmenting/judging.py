"""What the segments found lose, on rows that did not choose them.

With payoffs, it is what the better actions earn.  Without, it is the bin-free decision loss: the most anyone saves by
moving thresholds.  The rows that choose say who that is and where the thresholds should be, and the others judge.

The search has counted rows by ranges of predictions only, and two thirds of them chose.  What the others contribute to
each range and outcome is known.  Where in its range a prediction lies had no part in the choice, so the rows that judge
are drawn from all rows of the same range and outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from trustcal.inference.monotone_bounds import change_of
from trustcal.measures.monotone import monotone_cdl, monotone_cdl_witness
from trustcal.predictor import Predictor
from trustcal.reading.crosstab import Crosstab, IntArray
from trustcal.reading.fine_counts import FineCounts
from trustcal.segmenting.harm import FloatArray, Half, PayoffCriterion
from trustcal.segmenting.merging import HurtPart
from trustcal.segmenting.search import Step

NORMAL: Final = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""
_QUANTILES: Final = 1000
"""So many quantiles stand for all predictions in `loss_of_shift`."""


@final
@dataclass(frozen=True)
class JudgedHarm:
    """The harm of a segment per row."""

    harm: float
    """On the rows that judge."""
    lower: float
    """The lower end of its 95 % interval."""
    upper: float
    """The upper end."""
    chosen: float
    """On the rows that chose."""


def payoff_harm(part: HurtPart, choosing: Half, judging: Half, criterion: PayoffCriterion) -> JudgedHarm:
    """What the better actions of a part earn more, with an interval by the normal approximation.  O(m)."""
    gains, errors = zip(*(_saved(step, judging, criterion) for step in part.steps), strict=True)
    judges, chose = (max(1.0, float(half.rows[part.here].sum())) for half in (judging, choosing))
    gain, reach = sum(gains), NORMAL * hypot(*errors)
    return JudgedHarm(gain / judges, (gain - reach) / judges, (gain + reach) / judges, part.harm / chose)


def _saved(step: Step, half: Half, criterion: PayoffCriterion) -> tuple[float, float]:
    """What the new reading of a segment saves on some rows, in total, and its standard error."""
    at_0, at_1 = (each[step.moved] for each in criterion.saved(step.before, step.after))
    zero, one = (half.rows - half.positive)[step.moved], half.positive[step.moved]
    gain = float((zero * at_0 + one * at_1).sum())
    square = float((zero * at_0**2 + one * at_1**2).sum())
    return gain, sqrt(max(0.0, square - gain * gain / max(1.0, float(zero.sum() + one.sum()))))


def split_fine(
    table: Crosstab,
    found: Sequence[Step],
    part: HurtPart,
    fine: FineCounts,
    judging: Half,
    rng: np.random.Generator,
) -> tuple[Predictor | None, Predictor | None]:
    """The predictors of the rows of a part that choose and that judge; None for no rows.

    `fine` has a bit for each step found.  Rows that an earlier step has read anew have its predictions: a part is
    judged by what is still wrong there.  O(m).
    """
    own = [place for place, step in enumerate(found) if any(step is one for one in part.steps)]
    told = fine.p
    for place in range(min(own)):
        first, last = found[place].stretch
        moved = _has(fine, [place]) & (fine.ranges >= first) & (fine.ranges < last)
        told = np.where(moved, np.clip(told + found[place].gap, 0.0, 1.0), told)
    member = _has(fine, own)
    every = np.array([fine.rows - fine.positive, fine.positive]) * member
    judges = np.zeros_like(every)
    for place in np.unique(fine.ranges[member]):
        here, inside = part.here & (table.ranges == place), fine.ranges == place
        ones = int(judging.positive[here].sum())
        for outcome, size in enumerate((int(judging.rows[here].sum()) - ones, ones)):
            judges[outcome, inside] = rng.multivariate_hypergeometric(every[outcome, inside], size, method="marginals")
    return _predictor(told, every - judges), _predictor(told, judges)


def _has(fine: FineCounts, steps: Sequence[int]) -> NDArray[np.bool_]:
    """Which counts are of rows in one of these steps."""
    return (fine.member & sum(1 << step for step in steps)) > 0


def decision_loss_harm(choosing: Predictor | None, judging: Predictor | None) -> JudgedHarm:
    """What moving the thresholds of the worst decision maker gains: both found on the first rows, judged on the others.

    Its mean is at most the bin-free decision loss of the segment (Theorem 37); the interval is by the normal
    approximation.  O(n).
    """
    if choosing is None or judging is None:
        return JudgedHarm(0.0, 0.0, 1.0, 0.0)
    witness = monotone_cdl_witness(choosing)
    change = change_of(witness, judging.p)
    law = np.array([judging.mass - judging.positive, judging.positive])
    gain, square = (float((law * power).sum()) for power in (change, change**2))
    reach = NORMAL * sqrt(max(0.0, square - gain * gain) / (judging.rows or 1))
    return JudgedHarm(gain, gain - reach, gain + reach, witness.value)


def loss_of_shift(q: Predictor, gap: float) -> float:
    """The decision loss where all frequencies are off by a gap, up or down, whichever costs more.  O(n).

    >>> round(loss_of_shift(Predictor([0.5], [1.0], [0.5]), 0.1), 12)    # act above 1/2, where the frequency is 0.6
    0.2
    """
    share = np.cumsum(q.mass) / q.mass.sum()
    places = np.searchsorted(share, (np.arange(_QUANTILES) + 0.5) / _QUANTILES)
    p, count = np.unique(q.p[np.minimum(places, len(q) - 1)], return_counts=True)
    mass = count / _QUANTILES
    return max(monotone_cdl(Predictor(p, mass, mass * np.clip(p + shift, 0.0, 1.0))) for shift in (gap, -gap))


def _predictor(told: FloatArray, counts: IntArray) -> Predictor | None:
    """The predictor of some rows, from their predictions and how many have outcome 0 and 1."""
    rows = counts.sum(axis=0)
    total, kept = int(rows.sum()), rows > 0
    if not total:
        return None
    p, place = np.unique(told[kept], return_inverse=True)
    mass, one = (np.bincount(place, weights=line[kept]) / total for line in (rows, counts[1]))
    return Predictor(p, mass, one, rows=total, effective_rows=float(total))
