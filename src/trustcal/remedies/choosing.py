"""Which method to recommend: the simplest of those that the data cannot distinguish from the best.

The criterion is regret: what believing a method's predictions loses against believing those of the best other method,
in the user's problem or for whoever loses most.  CDL alone would not do: the constant has none.  It measures how far
predictions can be taken at their word; regret also counts what they leave unsaid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.remedies.comparison import MethodResult

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Candidate:
    """A method's result, and what it lost on each fold."""

    result: MethodResult
    eligible: bool
    regret: FloatArray


def choose(candidates: Sequence[Candidate], floor: float) -> str:
    """The name of the method to recommend: "none" if chance explains the CDL, else the simplest as good as the best.

    A method is as good as the best if, over the folds, the mean difference is within two standard errors of 0, and it
    removes at least half of what the best one removes from the regret of doing nothing.  With five folds chance alone
    exceeds one standard error in 19 % of cases and two in 6 %; the stricter rule gives steadier advice, and a little
    more regret where a small difference was real.

    Candidates are ordered from the simplest to the least simple; the first is to do nothing.  For whoever loses most,
    the floor has judged that already, with all rows at once, so there it must have the least regret to be chosen after
    all.  With payoffs of one's own the floor has not judged it, and it is the simplest of all.
    """
    nothing = candidates[0]
    if nothing.result.cdl <= floor:
        return nothing.result.name
    eligible = [one for one in candidates if one.eligible]
    best = min(eligible, key=lambda one: float(one.regret.mean()))
    judged = nothing.result.value is None and best is not nothing
    return next(
        one.result.name
        for one in eligible[judged:]
        if not _worse(one.regret, best.regret) and (one is nothing or _helps(one, nothing, best))
    )


def _worse(a: FloatArray, b: FloatArray) -> bool:
    """Whether a is larger than b by more than two standard errors of the mean difference."""
    difference = a - b
    return bool(difference.mean() > 2 * difference.std(ddof=1) / np.sqrt(len(difference)))


def _helps(one: Candidate, nothing: Candidate, best: Candidate) -> bool:
    """Whether a method removes at least half of the regret that the best one removes."""
    mean, before, least = (float(candidate.regret.mean()) for candidate in (one, nothing, best))
    return before - mean >= (before - least) / 2
