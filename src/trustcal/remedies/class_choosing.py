"""`choose` for K classes: every remedy on held-out rows, the recommended one, and that one fitted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, sqrt
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import Role, generator
from trustcal.class_predictor import ClassPredictor, as_class_predictor
from trustcal.classes.folds import ClassFold, class_folds
from trustcal.decisions import OutcomeProblem
from trustcal.reading import class_reading
from trustcal.remedies.class_remedy import CLASS_METHODS, ClassRemedy, named_class_method
from trustcal.remedies.vector_maps import VectorMap
from trustcal.rows.classes import checked_class_order

FloatArray = NDArray[np.float64]

MANY = 50
"""With more classes than this, methods that fit a matrix are left out."""


@final
@dataclass(frozen=True)
class ClassResult:
    """What one method does to vectors of rows that it was not fitted to."""

    name: str
    """The method; "none" leaves the vectors as they are."""
    excess: float
    """The mean loss minus that of the best method: of payoff, as a share of its range, or the Brier score."""
    standard_error: float
    """Of the excess, from paired rows."""
    brier: float
    """The Brier score of K classes."""
    log_loss: float
    """The log loss; infinite where a class of probability 0 occurred."""
    value: float | None
    """What acting on the vectors earns per row; None without payoffs."""
    eligible: bool
    """Whether it may be recommended: it beats none, or is none."""


@final
@dataclass(frozen=True)
class ClassChoice:
    """Remedies for K classes compared on held-out rows, and the recommended one fitted to all rows."""

    methods: tuple[ClassResult, ...]
    """From the simplest to the least simple; the first is "none"."""
    recommended: str
    """The name of one of them."""
    criterion: str
    """What the loss is: "payoff" or "Brier score"."""
    folds: int
    """The number of folds; each was held out once."""
    fitted: ClassRemedy
    """The recommended remedy, or the one that was insisted on."""

    def to_json(self) -> str:
        """All numbers of the comparison, and the remedy as it is saved; an infinite log loss is null."""
        said = {
            "methods": [{**asdict(one), "log_loss": _finite(one.log_loss)} for one in self.methods],
            "recommended": self.recommended,
            "criterion": self.criterion,
            "folds": self.folds,
            "remedy": json.loads(self.fitted.to_json()),
        }
        return json.dumps(said, indent=2, allow_nan=False)

    def __str__(self) -> str:
        from trustcal.report.terminal.classes import plain_class_choice

        return plain_class_choice(self)


def opened_classes(
    source: Any,
    proba: ArrayLike | None,
    sample_weight: ArrayLike | None,
    classes: str | Iterable[Any] | None,
    outcome: str | None,
    weight: str | None,
    drop_invalid: bool,
) -> ClassPredictor:
    """The class predictor that the arguments of `choose` name: as it is, of rows, or of a file or frame.  O(n·K)."""
    if proba is not None or isinstance(source, ClassPredictor):
        names = classes.split(",") if isinstance(classes, str) else classes
        return as_class_predictor(source, proba, sample_weight, names)
    columns = classes if isinstance(classes, str) else [str(name) for name in classes or ()]
    return class_reading(source, columns, outcome, weight, drop_invalid=drop_invalid).predictor


def chosen_classes(
    q: ClassPredictor,
    payoff: OutcomeProblem | None,
    method: str = "auto",
    folds: int = 5,
    rng: np.random.Generator | int = 0,
) -> ClassChoice:
    """What `choose` does for K classes: remedies compared on held-out rows, and the recommended one fitted.

    Each method is fitted to all folds but one and applied to that one.  The simplest method whose loss is within one
    standard error of the best is recommended, and none unless it beats doing nothing.  Where payoffs cannot tell the
    best from none in this way, the Brier score decides among those within it, by the same rule.

    O(folds·n·K²) per step of the fits.
    """
    insisted = None if method == "auto" else named_class_method(method)
    parts = class_folds(q, folds, generator(rng, Role.SPLITS))
    names = [name for name in CLASS_METHODS if len(q.classes) <= MANY or name not in ("matrix", "Dirichlet")]
    trials = [_Trial(name, parts, [CLASS_METHODS[name].learn(part.train) for part in parts], payoff) for name in names]
    best, chosen = _ranked(trials, payoff)
    none = trials[0]
    results = tuple(
        ClassResult(
            trial.name,
            *trial.against(best, payoff),
            trial.mean(trial.brier()),
            trial.mean(trial.log_loss()),
            None if payoff is None else -trial.mean(trial.losses(payoff)),
            trial is none or trial.against(none, payoff)[0] < 0,
        )
        for trial in trials
    )
    return ClassChoice(
        methods=results,
        recommended=chosen.name,
        criterion="Brier score" if payoff is None else "payoff",
        folds=len(parts),
        fitted=(insisted or CLASS_METHODS[chosen.name]).fit(q),
    )


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None


class _Trial:
    """One method on all folds."""

    def __init__(
        self, name: str, parts: Sequence[ClassFold], maps: Sequence[VectorMap], problem: OutcomeProblem | None
    ) -> None:
        self.name = name
        self.order = None if problem is None else _order(problem, parts[0].train)
        held_out = [part.held_out for part in parts]
        self.said = [fitted(q.p)[q.value] for q, fitted in zip(held_out, maps, strict=True)]
        self.outcome = np.concatenate([q.outcome for q in held_out])
        self.weight = np.concatenate([q.weight for q in held_out])
        self.rows = sum(q.effective_rows or 0.0 for q in held_out)

    def losses(self, problem: OutcomeProblem | None) -> FloatArray:
        """The loss of each pair of vector and class: minus the payoff, or the Brier score."""
        if problem is None:
            return self.brier()
        p = np.concatenate(self.said)
        action = problem.best_response(p[:, self.order])
        return np.asarray(-problem.payoff[:, np.argsort(self.order or [])][action, self.outcome])

    def brier(self) -> FloatArray:
        """The Brier score of each pair."""
        p = np.concatenate(self.said)
        return np.asarray((p**2).sum(axis=1) + 1 - 2 * p[np.arange(len(p)), self.outcome])

    def log_loss(self) -> FloatArray:
        """The log loss of each pair."""
        p = np.concatenate(self.said)
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(p[np.arange(len(p)), self.outcome]))

    def mean(self, losses: FloatArray) -> float:
        """The mean over all rows."""
        return float((self.weight * losses).sum() / self.weight.sum())

    def against(self, other: _Trial, problem: OutcomeProblem | None) -> tuple[float, float]:
        """The mean loss minus that of another method, as a share of the payoff range, and its standard error."""
        gap = (self.losses(problem) - other.losses(problem)) / (1.0 if problem is None else problem.stakes or 1.0)
        mean = self.mean(gap)
        return mean, sqrt(max(0.0, self.mean(gap**2) - mean**2) / self.rows)


def _order(problem: OutcomeProblem, q: ClassPredictor) -> list[int]:
    """The class of each outcome of the problem."""
    return checked_class_order(q.classes, problem.outcomes) if problem.named else list(range(len(q.classes)))


def _ranked(trials: Sequence[_Trial], problem: OutcomeProblem | None) -> tuple[_Trial, _Trial]:
    """The best method among those that beat none, and the simplest within its standard error."""
    none = trials[0]
    candidates = [trial for trial in trials if trial is none or trial.against(none, problem)[0] < 0]
    best = min(candidates, key=lambda trial: trial.against(none, problem)[0])
    chosen = _within(candidates, best, problem)
    if problem is not None and none in chosen:
        chosen = _within(chosen, min(chosen, key=lambda trial: trial.mean(trial.brier())), None)
    return best, chosen[0]


def _within(trials: Sequence[_Trial], best: _Trial, problem: OutcomeProblem | None) -> list[_Trial]:
    """The methods whose loss is within its standard error of the best."""
    found = [(trial, trial.against(best, problem)) for trial in trials]
    return [trial for trial, (mean, error) in found if mean <= error]
