"""Which method to recommend: the simplest of those that the data cannot tell from the best.

The measure is regret: what believing a method's predictions loses against believing those of the best other method, in
the user's problem or for whoever loses most.  CDL alone would not do.  It asks how far predictions can be taken at
their word, and those of the constant can; regret asks also what they leave unsaid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.remedies.comparison import Row

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Candidate:
    """What a method lost on each fold."""

    name: str
    eligible: bool
    regret: FloatArray


@final
@dataclass(frozen=True)
class Choice:
    """The name of a row, what to do, and why."""

    name: str
    sentence: str
    reason: str


def choose(candidates: Sequence[Candidate], rows: Sequence[Row], floor: float) -> Choice:
    """Nothing, where a calibrated predictor would show as large a CDL; else the simplest that is as good as any.

    A method is as good as the best where, over the folds, the mean difference is within two standard errors of 0, and
    it removes at least half of what the best one removes from the regret of doing nothing.  With five folds chance
    alone exceeds one standard error in 19 % of cases and two in 6 %; the stricter rule gives steadier advice, and a
    little more regret where a small difference was real.

    Candidates and their rows come from the simplest to the least simple; the first is to do nothing.  For whoever loses
    most the floor has judged that already, with all rows at once, so there it must have the least regret to be chosen
    after all; with payoffs of one's own the floor has not, and it is the simplest of all.
    """
    none = rows[0]
    if none.cdl <= floor:
        return Choice(
            none.name,
            "Do nothing.",
            f"The CDL, {_percent(none.cdl)} of the payoff range, may be chance: of calibrated predictors one in 20 "
            f"shows more in as many rows ({_percent(floor)}).",
        )
    eligible = [(one, row) for one, row in zip(candidates, rows, strict=True) if one.eligible]
    best = min((one for one, _ in eligible), key=lambda one: float(one.regret.mean()))
    judged = none.value is None and best is not candidates[0]
    row = next(
        row
        for one, row in eligible[judged:]
        if not _worse(one.regret, best.regret) and (row is none or _helps(one, candidates[0], best))
    )
    where = "anyone could gain" if none.value is None else "your payoffs could gain"
    if row is none:
        sentence, found = "Do nothing.", f"On rows held out, {where} by other predictions no more than chance explains."
    else:
        sentence = f"Recalibrate with outcomes, by {row.name}."
        found = (
            f"On rows held out, the most {where} by other predictions falls from {_percent(none.regret)} to "
            f"{_percent(row.regret)} of the payoff range, CDL from {_percent(none.cdl)} to {_percent(row.cdl)}, the "
            f"Brier score from {none.brier:.4f} to {row.brier:.4f}; nothing simpler does as well."
        )
    return Choice(row.name, sentence, f"{found} {_when_noise(rows)}")


def _worse(a: FloatArray, b: FloatArray) -> bool:
    """Whether a is larger than b by more than two standard errors of the mean difference."""
    difference = a - b
    return bool(difference.mean() > 2 * difference.std(ddof=1) / np.sqrt(len(difference)))


def _helps(one: Candidate, none: Candidate, best: Candidate) -> bool:
    """Whether a remedy removes at least half of what the best one removes: a remedy that does nothing is none."""
    mean, before, least = (float(candidate.regret.mean()) for candidate in (one, none, best))
    return before - mean >= (before - least) / 2


def _when_noise(rows: Sequence[Row]) -> str:
    """Where noise has its place, and what it would promise here, at which price."""
    guarantee, cost, name = min(
        (row.guarantee.value, row.brier - rows[0].brier, row.name) for row in rows if row.guarantee is not None
    )
    return (
        "Noise is for when no outcomes will come, when they may turn against you, or when a worst case must be "
        f"guaranteed: {name} noise keeps CDL ≤ {_percent(guarantee)}, at {cost:.4f} of Brier score."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
