"""Trials: what each method does to rows that it was not fitted to, and which method to recommend.

A method is fitted to the rows that are not held out and applied to those that are.  The loss of a row is what the
user's payoffs earn less with it, or its Brier score.  Two methods are compared row by row, so that what is common to
them does not count as uncertainty.  Where that loss cannot tell methods apart, their log loss can: of two maps, the
likelihood ratio is the most powerful evidence for the one that is nearer to the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from trustcal.clusters import Clusters, added
from trustcal.decisions import DecisionProblem
from trustcal.inference.monotone_bounds import change_of
from trustcal.measures.monotone import monotone_cdl_witness
from trustcal.measures.scores import auc, brier, log_loss
from trustcal.predictor import Predictor
from trustcal.remedies.comparison import MethodResult
from trustcal.remedies.folds import Fold, merged
from trustcal.remedies.maps import Map
from trustcal.remedies.methods import METHODS, Method

FloatArray = NDArray[np.float64]
Losses = tuple[FloatArray, FloatArray]
"""What each prediction value loses if y = 0, and if y = 1."""

NOT_CHANCE = 0.025
"""The one-sided level at which a group, or the decision loss, counts as worse."""
CLEAR = 2.0
"""A difference of so many standard errors is not chance."""
_SOME = 1.0
"""With payoffs, a method must beat none by so many standard errors."""
_LEVEL = 0.6
"""Log losses that differ by at most so many standard errors count as equal.  With the usual 1 the choice is timid on
real data (benchmarks/remedies.py), and with less than 1/2 it follows chance."""
_MOST_AGREE = 0.8
"""The share of splits that must agree on what to recommend."""


@final
@dataclass(frozen=True)
class Difference:
    """The mean difference of two losses over all rows, and its standard error."""

    mean: float
    error: float


@final
@dataclass(frozen=True, eq=False)
class Trial:
    """One method on all folds of all splits."""

    method: Method
    splits: Sequence[Sequence[Fold]]
    maps: Sequence[Sequence[Map]]
    """The fitted map of each fold of each split."""
    problem: DecisionProblem | None

    @cached_property
    def said(self) -> list[list[FloatArray]]:
        """The new prediction of each value held out."""
        return [
            [fitted(fold.held_out.p) for fold, fitted in zip(*pair, strict=True)]
            for pair in zip(self.splits, self.maps, strict=True)
        ]

    @cached_property
    def laws(self) -> list[Predictor]:
        """For each split, the new predictions of all rows."""
        return [
            merged(
                [fold.held_out.map(partial(_given, new)) for fold, new in zip(folds, said, strict=True)],
                [fold.share for fold in folds],
                effective_rows(folds),
            )
            for folds, said in zip(self.splits, self.said, strict=True)
        ]

    def against(self, other: Trial, problem: DecisionProblem | None) -> Difference:
        """The loss minus that of another method: in the problem, or the Brier score."""
        return self._paired(other, lambda own, rival, _: gap(own, rival, problem))

    def log_loss_against(self, other: Trial) -> Difference:
        """The log loss minus that of another method; 0 and 1 count as a quarter of a row, so that it is finite."""
        return self._paired(other, _log_gap)

    def _paired(self, other: Trial, lost: Callable[[FloatArray, FloatArray, float], Losses]) -> Difference:
        """The mean of what each row loses more than by another method, given both predictions and the rows."""
        means, errors = [], []
        for folds, own, rival in zip(self.splits, self.said, other.said, strict=True):
            laws, rows = [(fold.held_out, fold.share) for fold in folds], effective_rows(folds)
            found = difference(laws, [lost(a, b, rows) for a, b in zip(own, rival, strict=True)], rows)
            means.append(found.mean)
            errors.append(found.error)
        return Difference(float(np.mean(means)), float(np.mean(errors)))

    def harmed(self) -> tuple[str, ...]:
        """Groups that lose more with this method than with none, by more than chance explains."""
        names: dict[Hashable, None] = {name: None for fold in self.splits[0] for name in fold.groups}
        beyond = -float(ndtri(NOT_CHANCE / max(1, len(names))))
        worse = []
        for name in names:
            means, errors = [], []
            for folds, maps in zip(self.splits, self.maps, strict=True):
                there = [(fold, fitted) for fold, fitted in zip(folds, maps, strict=True) if name in fold.groups]
                laws = [fold.groups[name] for fold, _ in there]
                gaps = [gap(fitted(q.p), q.p, self.problem) for (q, _), (_, fitted) in zip(laws, there, strict=True)]
                found = difference(laws, gaps, sum(q.effective_rows or 0.0 for q, _ in laws))
                means.append(found.mean)
                errors.append(found.error)
            if np.mean(means) > beyond * np.mean(errors) + 1e-12:
                worse.append(str(name))
        return tuple(worse)

    @cached_property
    def decision_loss(self) -> Difference:
        """The monotone calibration decision loss, with the standard error of the worst decision maker's loss."""
        found = [monotone_difference(law) for law in self.laws]
        return Difference(float(np.mean([one.mean for one in found])), float(np.mean([one.error for one in found])))

    def mean(self, measure: str) -> float:
        """A score of all rows, over the splits."""
        return float(np.mean([_SCORES[measure](law) for law in self.laws]))


def effective_rows(folds: Sequence[Fold]) -> float:
    """Kish's effective sample size of all rows that are held out."""
    return float(1 / sum(fold.share**2 / (fold.held_out.effective_rows or 1.0) for fold in folds))


def tried(
    splits: Sequence[Sequence[Fold]], problem: DecisionProblem | None, names: Iterable[str] = METHODS
) -> list[Trial]:
    """Every method of these on every fold; the first is none."""
    asked = [METHODS[name] for name in names]
    methods = [method for method in asked if problem is not None or not method.needs_payoffs]
    return [
        Trial(method, splits, [[method.learn(fold.train, problem) for fold in folds] for folds in splits], problem)
        for method in methods
    ]


@final
@dataclass(frozen=True, eq=False)
class Ranking:
    """The method to recommend, the best one, and which may be recommended."""

    recommended: Trial
    best: Trial
    eligible: Sequence[bool]
    harmed: Sequence[tuple[str, ...]]


def ranked(trials: Sequence[Trial]) -> Ranking:
    """The method to recommend.

    A method may be recommended if it beats none, harms no group and does not raise the decision loss.  Payoffs jump at
    thresholds, so they are noisy: with payoffs one of these methods must beat none by one standard error, and by two
    in payoff or in Brier score.  The best is the one with the least mean loss.

    Those within two standard errors of the best are told apart by the log loss: the simplest whose log loss is within
    0.6 standard errors of the least is recommended; none is the simplest.
    """
    none, problem = trials[0], trials[0].problem
    harmed = [trial.harmed() for trial in trials]
    lost = [trial.against(none, problem) for trial in trials]
    better = [
        loss.mean < 0 and not groups and not raises_decision_loss(trial, none)
        for trial, loss, groups in zip(trials, lost, harmed, strict=True)
    ]
    # Were each method to pass that test by itself, the luckiest would be left where gains are small.
    shown = problem is None or any(
        good and _pays(loss, trial.against(none, None)) for trial, loss, good in zip(trials, lost, better, strict=True)
    )
    eligible = [trial is none or (shown and good) for trial, good in zip(trials, better, strict=True)]
    candidates = [trial for trial, good in zip(trials, eligible, strict=True) if good]
    best = min(candidates, key=lambda trial: lost[trials.index(trial)].mean)
    candidates = _within(CLEAR, [(trial, trial.against(best, problem)) for trial in candidates])
    likeliest = min(candidates, key=lambda trial: trial.log_loss_against(none).mean)
    level = _within(_LEVEL, [(trial, trial.log_loss_against(likeliest)) for trial in candidates])
    return Ranking(level[0], best, eligible, harmed)


def joined(first: Sequence[Trial], second: Sequence[Trial]) -> list[Trial]:
    """The trials of the same methods on the splits of both."""
    return [
        Trial(one.method, [*one.splits, *two.splits], [*one.maps, *two.maps], one.problem)
        for one, two in zip(first, second, strict=True)
    ]


def settled(trials: Sequence[Trial]) -> bool:
    """Whether four of five splits alone recommend what all recommend together: then other splits would, too."""
    if len(trials[0].splits) == 1:
        return True  # by time, or of so many rows that more would take long
    chosen = ranked(trials).recommended.method
    alone = [
        ranked([Trial(one.method, [folds], [one.maps[place]], one.problem) for one in trials]).recommended.method
        for place, folds in enumerate(trials[0].splits)
    ]
    return alone.count(chosen) >= _MOST_AGREE * len(alone)


def results(trials: Sequence[Trial]) -> tuple[tuple[MethodResult, ...], Trial]:
    """The result of each method, and the method to recommend."""
    ranking = ranked(trials)
    found = tuple(
        _result(trial, trial.against(ranking.best, trial.problem), groups, good)
        for trial, groups, good in zip(trials, ranking.harmed, ranking.eligible, strict=True)
    )
    return found, ranking.recommended


def _within(errors: float, found: Sequence[tuple[Trial, Difference]]) -> list[Trial]:
    """The methods that lose at most so many standard errors more."""
    return [trial for trial, excess in found if excess.mean <= errors * excess.error]


def _pays(payoff: Difference, score: Difference) -> bool:
    """Whether a method earns more than none, by its payoff lost and its Brier score, each minus that of none."""
    return beats(payoff, _SOME) and (beats(payoff) or beats(score))


def beats(loss: Difference, errors: float = CLEAR) -> bool:
    """Whether a loss is lower by so many standard errors."""
    return loss.mean <= -errors * loss.error


def raises_decision_loss(trial: Trial, none: Trial) -> bool:
    """Whether others could gain more by moving thresholds than before, beyond chance; with payoffs it is no matter."""
    return trial.problem is None and beyond_chance(trial.decision_loss, none.decision_loss)


def beyond_chance(one: Difference, other: Difference) -> bool:
    """Whether one mean is larger than another by more than chance explains."""
    return one.mean - other.mean > -float(ndtri(NOT_CHANCE)) * sqrt(one.error**2 + other.error**2)


def monotone_difference(law: Predictor) -> Difference:
    """The monotone calibration decision loss, with the standard error of the worst decision maker's loss.  O(n)."""
    witness = monotone_cdl_witness(law)
    zero, one = change_of(witness, law.p)
    moment = float(((law.mass - law.positive) * zero**2 + law.positive * one**2).sum())
    return Difference(witness.value, sqrt(max(0.0, moment - witness.value**2) / (law.effective_rows or 1)))


def _result(trial: Trial, excess: Difference, harmed: tuple[str, ...], eligible: bool) -> MethodResult:
    problem = trial.problem
    return MethodResult(
        name=trial.method.name,
        excess=excess.mean,
        standard_error=excess.error,
        decision_loss=trial.decision_loss.mean,
        brier=trial.mean("brier"),
        log_loss=trial.mean("log_loss"),
        auc=trial.mean("auc") if 0 < trial.laws[0].base_rate < 1 else None,
        value=None if problem is None else float(np.mean([problem.value(law) for law in trial.laws])),
        guarantee=None,
        needs_outcomes=trial.method.name != "none",
        harmed=harmed,
        eligible=eligible,
    )


_SCORES = {"brier": brier, "log_loss": log_loss, "auc": auc}


def _given(new: FloatArray, _: FloatArray) -> FloatArray:
    return new


def gap(own: FloatArray, rival: FloatArray, problem: DecisionProblem | None) -> Losses:
    """What each value loses more by one prediction than by another: in the problem, or of Brier score."""
    if problem is None:
        return own**2 - rival**2, (1 - own) ** 2 - (1 - rival) ** 2
    actions = problem.best_response(rival), problem.best_response(own)
    less = (problem.payoff[actions[0]] - problem.payoff[actions[1]]) / (problem.stakes or 1.0)
    return less[:, 0], less[:, 1]


def _log_gap(own: FloatArray, rival: FloatArray, rows: float) -> Losses:
    """What each value loses more by one prediction than by another, of log loss, for so many rows."""
    least = 0.25 / max(rows, 1.0)
    own, rival = np.clip(own, least, 1 - least), np.clip(rival, least, 1 - least)
    return np.log1p(-rival) - np.log1p(-own), np.log(rival) - np.log(own)


def difference(laws: Sequence[tuple[Predictor, float]], gaps: Sequence[Losses], rows: float) -> Difference:
    """The mean of a function of value and outcome over laws with shares, and its standard error for so many rows.

    With clusters the error is that of their sums: no cluster is in two of the laws.
    """
    mean = moment = 0.0
    for (q, share), (zero, one) in zip(laws, gaps, strict=True):
        negative = q.mass - q.positive
        mean += share * float((negative * zero + q.positive * one).sum())
        moment += share * float((negative * zero**2 + q.positive * one**2).sum())
    variance = max(0.0, moment - mean**2) / rows
    if any(q.clusters is not None for q, _ in laws):
        variance = sum(
            share**2 * _squared_sums(q.clusters, zero - mean, one - mean)
            for (q, share), (zero, one) in zip(laws, gaps, strict=True)
            if q.clusters is not None
        )
    return Difference(mean, sqrt(variance))


def _squared_sums(clusters: Clusters, zero: FloatArray, one: FloatArray) -> float:
    """Σ over clusters of (the weighted sum of a function of value and outcome over their rows)²."""
    at = np.where(clusters.outcome, one[clusters.value], zero[clusters.value])
    return float((added(clusters.cluster, clusters.weight * at, clusters.count) ** 2).sum())
