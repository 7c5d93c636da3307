"""What the recommended remedy gains on held-out rows, without the whole comparison."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from statistics import NormalDist
from typing import Final, final

import numpy as np

from trustcal.checking import Role, generator
from trustcal.decisions import DecisionProblem
from trustcal.measures.counts import row_counts
from trustcal.reading import Evidence
from trustcal.remedies.comparison import BY_GROUP, Comparison
from trustcal.remedies.splitting import row_splits
from trustcal.remedies.trials import ranked, tried

FOLDS: Final = 5
LEAST: Final = 25
"""Rows of each outcome that a remedy needs: with fewer, nothing is tried."""
QUICK: Final = ("none", "temperature", "Platt", "beta", "threshold", "isotonic")
"""What is tried: one method of each kind, without those that take longest."""
LEVEL: Final = 0.95


@final
@dataclass(frozen=True)
class HeldOutGain:
    """What the recommended remedy gains on rows that it was not fitted to."""

    method: str
    """The recommended method; "none": nothing beats leaving the predictions as they are."""
    criterion: str
    """In what: "payoff" per row, in the user's units, or "Brier score"."""
    gain: float
    """The gain over leaving the predictions as they are."""
    lower: float
    """The lower end of its 95 % interval, from paired rows."""
    upper: float
    """The upper end."""
    loss_before: float
    """The most anyone loses by not moving thresholds (`monotone_cdl`), with the predictions as they are."""
    loss_after: float
    """The same with the remedy, on the same rows."""

    @property
    def by_group(self) -> bool:
        """Whether the method has a map for each group."""
        return self.method.endswith(BY_GROUP)

    @property
    def common(self) -> str:
        """The method of the map that groups share."""
        return self.method.removesuffix(BY_GROUP)


def held_out_gain(
    found: Evidence | Comparison, problem: DecisionProblem | None, rng: np.random.Generator | int = 0
) -> HeldOutGain | None:
    """The remedy to recommend, by the rule of `choose` among a few methods, and what it gains on held-out rows.

    Parameters
    ----------
    found : Evidence, or the comparison of remedies on it
    problem : DecisionProblem or None
        Judge by these payoffs; otherwise by the Brier score.
    rng : Generator or seed, for the folds

    Returns
    -------
    HeldOutGain, or None where rows are too few, belong together in clusters, or are not known one by one.

    O(n log n).
    """
    scale = 1.0 if problem is None else problem.stakes
    if isinstance(found, Comparison):
        return _compared(found, scale)
    q = found.predictor
    fewest = min(q.base_rate, 1 - q.base_rate) * (q.rows or 0)
    if fewest < LEAST or q.clusters is not None or (row_counts(q) is None and found.rows is None):
        return None
    trials = tried(row_splits(found, None, FOLDS, generator(rng, Role.SPLITS), most=2), problem, QUICK)
    none, best = trials[0], ranked(trials).recommended
    change = best.against(none, problem)
    criterion, losses = "Brier score" if problem is None else "payoff", (none.decision_loss, best.decision_loss)
    return _gained(best.method.name, criterion, -change.mean, change.error, scale, *(loss.mean for loss in losses))


def _compared(comparison: Comparison, scale: float) -> HeldOutGain:
    """The same from a comparison: there the error is that of the best method against none."""
    none = comparison.methods[0]
    best = next(one for one in comparison.methods if one.name == comparison.recommended)
    change, error = none.excess - best.excess, none.standard_error or 0.0
    if best.name.endswith(BY_GROUP):  # both errors are against the best of the methods without groups
        error = hypot(error, best.standard_error or 0.0)
    return _gained(best.name, comparison.criterion, change, error, scale, none.decision_loss, best.decision_loss)


def _gained(
    method: str, criterion: str, gain: float, error: float, scale: float, before: float, after: float
) -> HeldOutGain:
    half = NormalDist().inv_cdf((1 + LEVEL) / 2) * error
    middle, lower, upper = (scale * x + 0.0 for x in (gain, gain - half, gain + half))
    return HeldOutGain(method, criterion, middle, lower, upper, before, after)
