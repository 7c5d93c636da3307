"""Classifiers whose probabilities are recalibrated and whose predictions are the best actions."""

from __future__ import annotations

from abc import abstractmethod
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Self, cast, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_predict
from sklearn.utils import Tags, assert_all_finite, check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from trustcal.checking import FloatArray
from trustcal.decisions import DecisionProblem, OutcomeProblem
from trustcal.estimators.classes import for_classes, learned_classes
from trustcal.guarantees import noise_of_kind
from trustcal.inference import dtc_upper_bound
from trustcal.noise import Noise, Target
from trustcal.predictor import Predictor
from trustcal.remedies import ClassRemedy, Remedy, certify, fit, learned, noise_remedy

_FEWEST = 10
"""With fewer rows of a class than this nothing is learned: the probabilities stay as they are."""


class ActingClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """What both classifiers share: validation, actions by payoffs, the score."""

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

    def _learned(self, outcome: NDArray[np.intp], said: FloatArray, method: str, keep_back: float) -> Remedy:
        """The remedy for predictions of rows that the estimator had not seen."""
        if np.bincount(outcome).min() < _FEWEST:
            return fit("none", outcome, said)
        problem = None if self.payoff is None else cast("DecisionProblem", self.problem_)
        return learned(outcome, said, problem, method, keep_back, folds=3)

    def _probability(self, X: Any) -> FloatArray:  # noqa: N803
        """The probabilities of the fitted estimator."""
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True, ensure_2d=False)
        table = np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)
        return table[:, 1] if len(self.classes_) == 2 else table / table.sum(axis=1, keepdims=True)


@final
class Recalibrated(ActingClassifier):
    """A classifier whose probabilities are recalibrated by the remedy that works best on held-out rows.

    `fit` predicts each row by the estimator fitted to other rows, chooses a remedy for these predictions as
    `remedies.choose` does (`remedy_`), and fits the estimator again to all rows.  The same row gets the same answer,
    alone or in a batch.

    Parameters
    ----------
    estimator : classifier
        Any classifier with `predict_proba`.
    payoff : array-like of shape (actions, classes), optional
        The payoff of each action for each of classes_.  Remedies are judged by it, `predict` returns the best action
        and `score` the mean payoff; without it, the likeliest class and the accuracy.
    actions : list of str, optional
        Names of the actions, which `predict` returns instead of row numbers.
    method : str
        "auto" for the recommended remedy, or the name of one, such as "beta".
    keep_back : float
        The share of rows that are kept back for `certificate_`; 0: none, and `certificate_` is None.
    cv : int, splitter or None
        scikit-learn's choice of folds.

    Attributes
    ----------
    remedy_ : Remedy or ClassRemedy
        What is applied to the estimator's probabilities.
    certificate_ : Certificate, ConfidenceBound or None
        What the rows kept back prove about it, if the final fit is no worse calibrated than the cross-validated ones;
        for more than two classes, bounds on the action regret.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> rng = np.random.default_rng(0)
    >>> x = np.repeat(rng.normal(size=(2000, 1)), 5, axis=1)                       # five times the same feature
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-x[:, 0]))
    >>> doctor = Recalibrated(GaussianNB(), [[0, 0], [-1, 3]], actions=["wait", "treat"]).fit(x, y)
    >>> doctor.predict(x[:3])
    array(['treat', 'treat', 'treat'], dtype='<U5')
    >>> doctor.remedy_.method, doctor.certificate_.decision_loss < 0.2
    ('temperature', True)

    One fit per fold and one more, and the cost of `choose`.
    """

    def __init__(
        self,
        estimator: Any,
        payoff: ArrayLike | None = None,
        *,
        actions: list[str] | None = None,
        method: str = "auto",
        keep_back: float = 0.25,
        cv: Any = None,
    ) -> None:
        self.estimator = estimator
        self.payoff = payoff
        self.actions = actions
        self.method = method
        self.keep_back = keep_back
        self.cv = cv

    @property
    def several(self) -> bool:
        """Whether payoffs and method are for more than two classes."""
        return (self.payoff is None or np.shape(self.payoff)[-1] > 2) and for_classes(self.method)

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: N803
        """Fit the estimator and set remedy_ and certificate_."""
        label, outcome = self._labels(X, y)
        said = cross_val_predict(clone(self.estimator), X, label, cv=self.cv, method="predict_proba")
        self.remedy_: Remedy | ClassRemedy
        self.certificate_: Any  # a Certificate, or a ConfidenceBound for more than two classes
        if isinstance(self.problem_, OutcomeProblem):
            judged = self.payoff is not None
            self.remedy_, self.certificate_ = learned_classes(
                outcome, said, self.classes_, self.problem_, judged, self.method, self.keep_back
            )
        else:
            self.remedy_ = self._learned(outcome, said[:, 1], self.method, self.keep_back)
            self.certificate_ = self.remedy_.certificate
        self.estimator_ = clone(self.estimator).fit(X, label)
        return self

    def _said(self, X: Any) -> FloatArray:  # noqa: N803
        p = self._probability(X)
        return self.remedy_.apply(p)


@final
class TrustedClassifier(ActingClassifier):
    """A binary classifier with the smallest promise: recalibrated, or with noise where noise promises less.

    `fit` predicts each row by the estimator fitted to other rows.  It recalibrates these predictions as `Recalibrated`
    does, which comes with a certificate.  It also takes the noise for the distance to calibration, `eps`, or for an
    upper confidence bound on it.  Applied is what promises the smaller decision loss (`promise_`).

    Parameters
    ----------
    estimator, payoff, actions, cv
        As in `Recalibrated`.
    noise, target, eps, confidence
        As in `NoiseSmoother`.
    random_state : int, Generator, RandomState or None
        Where the seed of the noise comes from, once, in `fit`.  The noise of a row depends on the seed and the features
        of the row, so the same row gets the same answer, alone or in a batch.

    Attributes
    ----------
    remedy_ : Remedy
        What is applied to the estimator's probabilities.
    promise_ : float
        The smaller of the certified decision loss and the guarantee of noise.
    certificate_ : Certificate
        What rows prove about the recalibration that had no part in it.
    eps_, noise_, guarantee_
        The distance to calibration, the noise for it, and its guarantee.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 1))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-x[:, 0]))
    >>> doctor = TrustedClassifier(LogisticRegression(), [[0, 0], [-1, 3]], actions=["wait", "treat"], random_state=0)
    >>> doctor.fit(x, y).predict([[-5.0], [5.0]])
    array(['wait', 'treat'], dtype='<U5')
    >>> doctor.remedy_.random, doctor.promise_ < doctor.guarantee_.value
    (False, True)
    """

    noise_: Noise

    def __init__(
        self,
        estimator: Any,
        payoff: ArrayLike | None = None,
        *,
        actions: list[str] | None = None,
        noise: str = "uniform",
        target: Target = "decision_loss",
        eps: float | None = None,
        confidence: float = 0.95,
        cv: Any = None,
        random_state: object = None,
    ) -> None:
        self.estimator = estimator
        self.payoff = payoff
        self.actions = actions
        self.noise = noise
        self.target = target
        self.eps = eps
        self.confidence = confidence
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: N803
        """Fit the estimator and set what is promised."""
        label, outcome = self._labels(X, y)
        said = cross_val_predict(clone(self.estimator), X, label, cv=self.cv, method="predict_proba")[:, 1]
        recalibration = self._learned(outcome, said, "auto", 0.25)
        held_out = Predictor.from_samples(outcome, said)
        self.eps_ = max(dtc_upper_bound(held_out, self.confidence).upper, 1e-9) if self.eps is None else self.eps
        choice = noise_of_kind(self.noise, self.eps_, self.target)
        self.noise_, self.guarantee_ = choice.noise, choice.guarantee
        # Where rows are too few to learn from, nothing was chosen, and all of them may certify.
        self.certificate_ = recalibration.certificate or certify(
            held_out, cast("DecisionProblem", self.problem_), self.confidence
        )
        self.promise_ = min(self.certificate_.decision_loss, choice.guarantee.value)
        self.remedy_ = recalibration.certified(self.certificate_)
        if choice.guarantee.value < self.certificate_.decision_loss:
            self.remedy_ = noise_remedy(choice.noise, _seed(self.random_state), choice.guarantee, self.eps_)
        self.estimator_ = clone(self.estimator).fit(X, label)
        return self

    def _said(self, X: Any) -> FloatArray:  # noqa: N803
        p = self._probability(X)
        return self.remedy_.apply(p, ids=_row_ids(X)) if self.remedy_.random else self.remedy_.apply(p)


def _seed(random_state: object) -> int:
    """A seed from any random_state of scikit-learn."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31 - 1))


def _row_ids(X: Any) -> NDArray[np.int64]:  # noqa: N803
    """An id for each row: a hash of its features."""
    if hasattr(X, "tocsr"):
        table = X.tocsr()
        rows = (table.indices[a:b].tobytes() + table.data[a:b].tobytes() for a, b in pairwise(table.indptr))
    else:
        array = np.ascontiguousarray(X)
        rows = (repr(row.tolist()).encode() if array.dtype == object else row.tobytes() for row in array)
    return np.array([int.from_bytes(blake2b(row, digest_size=7).digest()) for row in rows], dtype=np.int64)
