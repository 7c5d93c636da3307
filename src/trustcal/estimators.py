"""scikit-learn estimators: noise with a guarantee as a pipeline step, and a classifier that acts on a payoff table.

    NoiseSmoother        takes one column of probabilities and adds noise
    TrustedClassifier    wraps a binary classifier: adds noise to its probabilities, predicts the best actions

Both use outcomes only to bound the distance to calibration; `guarantee_` is the resulting bound.  If outcomes are
available, recalibration (`trustcal.compare`) usually earns more; these classes are for bounding the worst case.  Any
measure can be a scorer:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.metrics import make_scorer
    >>> from sklearn.model_selection import cross_val_score
    >>> import trustcal as tc
    >>> scorer = make_scorer(tc.smcal, response_method="predict_proba", greater_is_better=False)
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 1))
    >>> y = rng.random(300) < 1 / (1 + np.exp(-x[:, 0]))
    >>> bool((cross_val_score(LogisticRegression(), x, y, scoring=scorer) > -0.2).all())
    True
"""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import checked_predictions
from trustcal.decisions import DecisionProblem
from trustcal.guarantees import noise_of_kind
from trustcal.inference import dtc_upper_bound
from trustcal.noise import Target
from trustcal.predictor import Predictor

try:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        MetaEstimatorMixin,
        OneToOneFeatureMixin,
        TransformerMixin,
        clone,
    )
    from sklearn.metrics import accuracy_score
    from sklearn.model_selection import cross_val_predict
    from sklearn.utils import Tags, assert_all_finite, check_random_state, get_tags
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data
except ModuleNotFoundError as missing:
    raise ImportError(
        "trustcal.estimators needs scikit-learn 1.6 or later: pip install 'trustcal[sklearn]'."
    ) from missing

FloatArray = NDArray[np.float64]


@final
class NoiseSmoother(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Adds noise to probabilities (Theorem 3.1), so that every decision maker is within `guarantee_` of the best use.

    `fit` takes one column of probabilities and the outcomes, 0 or 1, and sets `eps_`, `noise_` and `guarantee_`.
    `transform` draws independent noise for each row.

    Parameters
    ----------
    noise : str
        The family of the noise: "uniform", "laplace", "gaussian" or "rounding".
    target : {"ece", "cdl", "decision_loss"}
        The error whose guarantee the noise minimises.
    eps : float, optional
        The distance to calibration.  By default an upper confidence bound from independent rows, which needs outcomes.
    confidence : float
        The confidence level of that bound.
    random_state : int, Generator, RandomState or None
        With an integer every call draws the same noise; for batches of rows pass a Generator or None.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> smoother = NoiseSmoother(target="ece", random_state=0).fit(p[:, None], rng.random(2000) < p)
    >>> print(smoother.guarantee_)
    ECE ≤ 0.244766 (Theorem 13, sharpening Theorem 3.1)
    >>> smoother.transform([[0.25], [0.75]]).shape
    (2, 1)
    """

    def __init__(
        self,
        *,
        noise: str = "uniform",
        target: Target = "decision_loss",
        eps: float | None = None,
        confidence: float = 0.95,
        random_state: object = None,
    ) -> None:
        self.noise = noise
        self.target = target
        self.eps = eps
        self.confidence = confidence
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:  # noqa: N803
        """Set eps_, noise_ and guarantee_.  O(n log n)."""
        if self.eps is None and y is None:
            raise ValueError(
                "NoiseSmoother requires y to be passed, but the target y is None. Pass the outcomes, or eps, a bound "
                "on the distance to calibration."
            )
        column = _probabilities(self, X, reset=True)
        if y is None or self.eps is not None:
            _settle(self, None)
        else:
            _settle(self, Predictor.from_samples(y, column, sample_weight))
        return self

    def transform(self, X: ArrayLike) -> FloatArray:  # noqa: N803
        """Draw noise for each row.  O(n)."""
        check_is_fitted(self)
        column = _probabilities(self, X, reset=False)
        return np.asarray(self.noise_.sample(column, _generator(self.random_state)))[:, None]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.eps is None
        tags.input_tags.positive_only = True
        tags.non_deterministic = True
        return tags


@final
class TrustedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier whose probabilities have a guarantee and whose predictions are the best actions.

    `fit` predicts each row by the estimator fitted to other rows, bounds the distance to calibration from these
    predictions (`eps_`), and fits the estimator again to all rows.  `guarantee_` holds for the final fit if that is no
    worse calibrated on new rows than the cross-validated ones.

    Parameters
    ----------
    estimator : classifier
        Any binary classifier with `predict_proba`.
    payoff : array-like of shape (actions, 2), optional
        The payoff of each action if the class is classes_[0] and if it is classes_[1].  `predict` then returns the
        best action and `score` the mean payoff; without it, the likelier class and the accuracy.
    actions : list of str, optional
        Names of the actions, which `predict` returns instead of row numbers.
    noise, target, eps, confidence, random_state
        As in `NoiseSmoother`.
    cv : int, splitter or None
        scikit-learn's choice of folds.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 1))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-x[:, 0]))
    >>> doctor = TrustedClassifier(LogisticRegression(), [[0, 0], [-1, 3]], actions=["wait", "treat"], random_state=0)
    >>> doctor.fit(x, y).predict([[-5.0], [5.0]])
    array(['wait', 'treat'], dtype='<U5')
    >>> print(doctor.guarantee_)
    decision loss ≤ 0.123441 (Theorem 14, sharpening Theorem 3.1)
    """

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
        """Fit the estimator and set eps_, noise_ and guarantee_.  One fit per fold, and one more."""
        validate_data(
            self, X, y, skip_check_array=True
        )  # X is not converted: the estimator may need column names or text
        label: NDArray[Any] = column_or_1d(y, warn=True)
        if label.dtype.kind == "f":
            assert_all_finite(label, input_name="y")
        check_consistent_length(X, label)
        check_classification_targets(label)
        kind = type_of_target(label, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        self.classes_, outcome = np.unique(label, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("There must be rows of two classes, but there is only one class. Use data with both.")
        self.problem_: DecisionProblem = _problem(self.payoff, self.actions)
        held_out = None
        if self.eps is None:
            said = cross_val_predict(clone(self.estimator), X, label, cv=self.cv, method="predict_proba")[:, 1]
            held_out = Predictor.from_samples(outcome, said)
        _settle(self, held_out)
        self.estimator_ = clone(self.estimator).fit(X, label)
        return self

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """The estimator's probabilities, with noise."""
        p = self._smoothed(X)
        return np.column_stack([1 - p, p])

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The best action for each row, by its probability with noise."""
        smoothed = self._smoothed(X)
        best = self.problem_.best_response(smoothed)
        if self.payoff is None:
            return np.asarray(self.classes_[best])
        return np.asarray(best if self.actions is None else np.asarray(self.actions)[best])

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:  # noqa: N803
        """The mean payoff of the actions taken, or the accuracy if no payoffs were given."""
        if self.payoff is None:
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        label = np.asarray(y)
        unknown = set(label.ravel().tolist()) - set(self.classes_.tolist())
        if unknown:
            raise ValueError(
                f"y must hold the classes {self.classes_.tolist()}, but also has {min(map(repr, unknown))}."
            )
        earned = self.problem_.score(self._smoothed(X), label == self.classes_[1])
        return float(np.average(earned, weights=None if sample_weight is None else np.asarray(sample_weight)))

    def _smoothed(self, X: Any) -> FloatArray:  # noqa: N803
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True, ensure_2d=False)
        said = self.estimator_.predict_proba(X)[:, 1]
        return np.asarray(self.noise_.sample(said, _generator(self.random_state)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.classifier_tags.multi_class = False
        tags.non_deterministic = True
        return tags


def _probabilities(smoother: NoiseSmoother, X: ArrayLike, *, reset: bool) -> FloatArray:  # noqa: N803
    table = validate_data(smoother, X, dtype=np.float64, reset=reset)
    if table.shape[1] != 1:
        raise ValueError(
            f"NoiseSmoother takes one column of probabilities, but got {table.shape[1]}. "
            "Of the output of predict_proba, pass the column of class 1: proba[:, [1]]."
        )
    return checked_predictions(table[:, 0])


def _settle(estimator: NoiseSmoother | TrustedClassifier, q: Predictor | None) -> None:
    """Set eps_, noise_ and guarantee_: eps_ as given, or an upper confidence bound on the distance of q.

    The bound is kept positive: no noise is needed at distance 0, and none is defined.
    """
    if estimator.eps is not None:
        estimator.eps_ = estimator.eps
    else:
        assert q is not None
        estimator.eps_ = max(dtc_upper_bound(q, estimator.confidence).upper, 1e-9)
    choice = noise_of_kind(estimator.noise, estimator.eps_, estimator.target)
    estimator.noise_, estimator.guarantee_ = choice.noise, choice.guarantee


def _problem(payoff: ArrayLike | None, actions: list[str] | None) -> DecisionProblem:
    if payoff is None:
        if actions is not None:
            raise ValueError("actions name the rows of payoff, but no payoff was given. Pass both, or neither.")
        return DecisionProblem([[1, 0], [0, 1]])
    return DecisionProblem(payoff, actions)


def _generator(random_state: object) -> np.random.Generator:
    """A generator from any random_state of scikit-learn."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1, size=4))
