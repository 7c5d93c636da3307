"""Which method to recommend: the simplest of those that the data cannot tell from the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.comparing.comparison import Row

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Candidate:
    """What a method did on each fold: smaller is better."""

    name: str
    eligible: bool
    loss: FloatArray
    score: FloatArray


@final
@dataclass(frozen=True)
class Choice:
    """The name of a row, what to do, and why."""

    name: str
    sentence: str
    reason: str


def choose(candidates: Sequence[Candidate], rows: Sequence[Row], loss: float, floor: float) -> Choice:
    """Nothing, where the loss is one that a calibrated predictor would show; else the simplest that is as good as any.

    A method is as good as another where, over the folds, the mean difference is within one standard error of 0.
    Candidates come from the simplest to the least simple, the first being to do nothing; a method whose proper score is
    worse than doing nothing is not considered, since less information is no remedy.
    """
    none = candidates[0]
    if loss <= floor:
        return Choice(
            none.name,
            "Do nothing.",
            f"The loss, {_percent(loss)} of the payoff range, is no more than a calibrated predictor shows by chance in "
            f"samples of this size ({_percent(floor)}).",
        )
    useful = [one for one in candidates if one.eligible and not _worse(one.score, none.score)]
    best = min(useful, key=lambda one: float(one.loss.mean()))
    chosen = next(one for one in useful if not _worse(one.loss, best.loss))
    noise = next(row for row in rows if row.guarantee is not None)
    row = next(row for row in rows if row.name == chosen.name)
    caveat = _when_noise(noise, rows[0])
    if chosen is none:
        return Choice(none.name, "Do nothing.", f"On rows held out, no method lost less beyond doubt. {caveat}")
    sentence = f"Recalibrate with outcomes, by {chosen.name}." if row.needs_outcomes else f"Use {chosen.name}."
    return Choice(
        chosen.name,
        sentence,
        f"On rows held out CDL falls from {_percent(rows[0].cdl)} to {_percent(row.cdl)} and the Brier score from "
        f"{rows[0].brier:.4f} to {row.brier:.4f}. {caveat}",
    )


def _worse(a: FloatArray, b: FloatArray) -> bool:
    """Whether a is larger than b by more than a standard error of the mean difference."""
    difference = a - b
    return float(difference.mean()) > float(difference.std(ddof=1)) / len(difference) ** 0.5


def _when_noise(noise: Row, none: Row) -> str:
    assert noise.guarantee is not None
    return (
        f"Noise is for when no outcomes will come, or when they may turn against you: {noise.name} then guarantees "
        f"CDL ≤ {noise.guarantee.value:.3g}, and costs {noise.brier - none.brier:.4f} of Brier score here."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
