"""Which recalibrators to average, and with which weights, for callers who asked to recalibrate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from trustcal.decisions import DecisionProblem
from trustcal.predictor import Predictor
from trustcal.remedies.mean_maps import MeanMap
from trustcal.remedies.methods import METHODS, Method
from trustcal.remedies.trials import CLEAR, Trial, beats, effective_rows, raises_decision_loss

_RATE: Final = 0.5
"""The squared error of a probability is 1/2-exp-concave, so that this is the rate of `Mixed`, too."""
_LEAST: Final = 0.01
"""A method of smaller weight than this is left out: it could move no prediction by more."""


def averaged(trials: Sequence[Trial]) -> Method:
    """The weighted mean of the methods that lose less than none on held-out rows; none, if no method does.

    Payoffs jump at thresholds, so they are noisy: a method also takes part if its Brier score is clearly better than
    that of none (by two standard errors) and its payoff not clearly worse.  The weight of a method is proportional to
    exp(−n·B/2), where B is its Brier score on n rows held out.  One method is seldom clearly the best; a mean does not
    depend on which of those that are about equally good is ahead by chance.

    Parameters
    ----------
    trials : sequence of Trial
        Of methods on the same splits; the first is none.

    Returns
    -------
    Method

    References
    ----------
    Kivinen and Warmuth (1999), Averaging expert predictions.  Zhang, Kailkhura and Han (2020), Mix-n-Match: ensemble
    and compositional methods for uncertainty calibration in deep learning.

    O(n) for each method.
    """
    none = trials[0]
    better = [trial for trial in trials[1:] if _helps(trial, none)]
    if not better:
        return none.method
    rows = effective_rows(none.splits[0])
    score = np.array([trial.against(none, None).mean for trial in better])
    weight = np.exp(-_RATE * rows * (score - score.min()))
    kept = weight >= _LEAST * weight.sum()
    names = [trial.method.name for trial, good in zip(better, kept, strict=True) if good]
    return mean_of(names, (weight[kept] / weight[kept].sum()).tolist())


def _helps(trial: Trial, none: Trial) -> bool:
    """Whether a method takes part in the average."""
    loss = trial.against(none, trial.problem)
    if trial.problem is None:
        return loss.mean < 0 and not raises_decision_loss(trial, none)
    return loss.mean < 0 or (loss.mean <= CLEAR * loss.error and beats(trial.against(none, None)))


def mean_of(names: Sequence[str], weights: Sequence[float]) -> Method:
    """The method that averages the maps of others, each fitted to the same rows.

    Parameters
    ----------
    names : sequence of str
        Of methods.
    weights : sequence of float
        Their weights, with sum 1.

    Returns
    -------
    Method
        That of the name itself, if there is only one.

    O(1); the fit costs what the others cost together.
    """
    if len(names) == 1:
        return METHODS[names[0]]

    def learn(q: Predictor, problem: DecisionProblem | None) -> MeanMap:
        return MeanMap(tuple(METHODS[name].learn(q, problem) for name in names), tuple(weights))

    parts = ", ".join(f"{name} {weight:.0%}" for name, weight in zip(names, weights, strict=True))
    return Method("average", f"Average of recalibrators ({parts})", learn)
