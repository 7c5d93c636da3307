"""Models of the folds, each with its own map: what `Recalibrated` learns of two classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from sklearn.utils import _safe_indexing, indexable

from trustcal.checking import FloatArray, Role, checked_fraction, generator
from trustcal.decisions import DecisionProblem
from trustcal.predictor import Predictor
from trustcal.reading import evidence
from trustcal.remedies import Remedy, certify, fit, recalibration

_FEWEST = 10
"""With fewer rows of a class than this nothing is learned: the probabilities stay as they are."""


@final
@dataclass(frozen=True, eq=False)
class CrossFitted:
    """An estimator fitted once for each fold, to the rows of the other folds."""

    models: Sequence[Any]
    held_out: Sequence[NDArray[np.intp]]
    """The rows of the fold that each model has not seen."""
    said: FloatArray
    """The probability of each class for each row, by the model that has not seen it."""


@final
@dataclass(frozen=True, eq=False)
class FoldRemedies:
    """The remedy for predictions of rows that the estimator had not seen, and the same fitted to each fold alone."""

    chosen: Remedy
    """Fitted to the predictions of all folds; with a certificate if rows were kept back."""
    of_fold: Sequence[Remedy]
    after: Predictor
    """The predictions of all rows, each after the remedy of its fold."""


def cross_fitted(estimator: Any, X: Any, label: NDArray[Any], cv: Any) -> CrossFitted:  # noqa: N803
    """The models of the folds and what they say of the rows that they have not seen.  One fit per fold."""
    classes, (table,) = np.unique(label), indexable(X)
    found = cross_validate(
        clone(estimator), table, label, cv=cv, scoring=_unscored, return_estimator=True, return_indices=True,
        error_score="raise",
    )  # fmt: skip
    held_out = found["indices"]["test"]
    if not np.array_equal(np.sort(np.concatenate(held_out)), np.arange(len(label))):
        raise ValueError("cv must hold out every row exactly once: use folds, such as StratifiedKFold.")
    said = np.zeros((len(label), len(classes)))
    for model, rows in zip(found["estimator"], held_out, strict=True):
        there = np.searchsorted(classes, model.classes_)  # a model may not have seen every class
        said[np.ix_(rows, there)] = model.predict_proba(_safe_indexing(table, rows))
    return CrossFitted(found["estimator"], held_out, said)


def fold_remedies(
    found: CrossFitted,
    outcome: NDArray[np.intp],
    problem: DecisionProblem,
    judged: bool,
    method: str,
    keep_back: float,
) -> FoldRemedies:
    """The remedy chosen on the rows of all folds, and fitted again to each fold.

    Models of different folds may be differently wrong, so each gets its own map; a fold with few rows of a class gets
    the map of all folds.  With `judged` remedies are judged by the payoffs of the problem, otherwise by Brier score.
    """
    said = found.said[:, 1]
    if np.bincount(outcome).min() < _FEWEST:
        return FoldRemedies(fit("none", outcome, said), (), Predictor.from_samples(outcome, said))
    kept = np.zeros(len(outcome), dtype=bool)
    if keep_back:
        share = checked_fraction("keep_back", keep_back)
        kept = generator(0, Role.SPLITS).permutation(len(outcome)) < share * len(outcome)
    payoffs = problem if judged else None
    rest = evidence(outcome[~kept], said[~kept])
    best = recalibration(rest, payoffs, method, folds=3)
    chosen = best.fit(rest.predictor, payoffs)
    of_fold, after = [], said.copy()
    for rows in found.held_out:
        learn, own = rows[~kept[rows]], chosen
        if np.bincount(outcome[learn], minlength=2).min() >= _FEWEST:
            own = best.fit(Predictor.from_samples(outcome[learn], said[learn]), payoffs)
        of_fold.append(own)
        after[rows] = own.apply(said[rows])
    if kept.any():
        chosen = chosen.certified(certify(Predictor.from_samples(outcome[kept], after[kept]), payoffs))
    return FoldRemedies(chosen, of_fold, Predictor.from_samples(outcome, after))


def _unscored(_: Any, __: Any, ___: Any = None) -> float:
    """No score: only the models are wanted."""
    return 0.0
