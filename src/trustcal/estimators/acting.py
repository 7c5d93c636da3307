"""What both classifiers share: validation, actions by payoffs, the score, and the mean over folds."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, assert_all_finite, get_tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from trustcal.checking import FloatArray
from trustcal.decisions import DecisionProblem, OutcomeProblem
from trustcal.estimators.cross_fitting import CrossFitted, FoldRemedies, fold_remedies


class ActingClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose predictions are the best actions."""

    estimator: Any
    payoff: ArrayLike | None
    actions: list[str] | None
    cv: Any

    @property
    def several(self) -> bool:
        """Whether it takes more than two classes."""
        return False

    @abstractmethod
    def _said(self, X: Any) -> FloatArray:  # noqa: N803
        """The probability of classes_[1] for each row; with more than two classes, a row of all of them."""

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """The probability of each class."""
        p = self._said(X)
        return np.column_stack([1 - p, p]) if p.ndim == 1 else p

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The best action for each row; without payoffs, the likeliest class."""
        said = self._said(X)
        best = self.problem_.best_response(said)
        if self.payoff is None:
            return np.asarray(self.classes_[best])
        return np.asarray(best if self.actions is None else np.asarray(self.actions)[best])

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:  # noqa: N803
        """The mean payoff of the actions taken, or the accuracy if no payoffs were given."""
        if self.payoff is None:
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        said, label = self._said(X), np.asarray(y)
        unknown = set(label.ravel().tolist()) - set(self.classes_.tolist())
        if unknown:
            raise ValueError(
                f"y must hold the classes {self.classes_.tolist()}, but also has {min(map(repr, unknown))}."
            )
        if isinstance(self.problem_, OutcomeProblem):
            earned = self.problem_.payoff[self.problem_.best_response(said), np.searchsorted(self.classes_, label)]
        else:
            earned = self.problem_.score(said, label == self.classes_[1])
        return float(np.average(earned, weights=None if sample_weight is None else np.asarray(sample_weight)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.classifier_tags.multi_class = self.several
        return tags

    def _labels(self, X: Any, y: ArrayLike) -> tuple[NDArray[Any], NDArray[np.intp]]:  # noqa: N803
        """The labels and the numbers of their classes; sets classes_ and problem_."""
        validate_data(self, X, y, skip_check_array=True)  # the estimator may need the column names or text of X
        label: NDArray[Any] = column_or_1d(y, warn=True)
        if label.dtype.kind == "f":
            assert_all_finite(label, input_name="y")
        check_consistent_length(X, label)
        check_classification_targets(label)
        kind = type_of_target(label, input_name="y", raise_unknown=True)
        if kind != "binary" and not (self.several and kind == "multiclass"):
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        self.classes_, outcome = np.unique(label, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("There must be rows of two classes, but there is only one class. Use data with both.")
        if self.payoff is None and self.actions is not None:
            raise ValueError("actions name the rows of payoff, but no payoff was given. Pass both, or neither.")
        payoff = np.eye(len(self.classes_)) if self.payoff is None else self.payoff
        self.problem_: DecisionProblem | OutcomeProblem
        if len(self.classes_) == 2:
            self.problem_ = DecisionProblem(payoff, self.actions)
        else:
            self.problem_ = OutcomeProblem(payoff, self.actions, self.classes_)
        return label, outcome

    def _recalibrated(
        self, found: CrossFitted, outcome: NDArray[np.intp], method: str, keep_back: float
    ) -> FoldRemedies:
        """The remedies for two classes; sets estimators_ and remedies_."""
        problem = cast("DecisionProblem", self.problem_)
        remedies = fold_remedies(found, outcome, problem, self.payoff is not None, method, keep_back)
        changed = remedies.chosen.method != "none"
        self.estimators_ = list(found.models) if changed else []
        self.remedies_ = list(remedies.of_fold) if changed else []
        return remedies

    def _probability(self, X: Any) -> FloatArray:  # noqa: N803
        """The probabilities of the estimator fitted to all rows."""
        self._check_rows(X)
        table = np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)
        return table[:, 1] if len(self.classes_) == 2 else table / table.sum(axis=1, keepdims=True)

    def _averaged(self, X: Any) -> FloatArray:  # noqa: N803
        """The mean over the folds of what each model says after its remedy."""
        self._check_rows(X)
        pairs = zip(self.estimators_, self.remedies_, strict=True)
        said = [remedy.apply(np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1]) for model, remedy in pairs]
        return np.asarray(np.clip(np.mean(said, axis=0), 0.0, 1.0))  # a mean of ones may be rounded up

    def _check_rows(self, X: Any) -> None:  # noqa: N803
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True, ensure_2d=False)
