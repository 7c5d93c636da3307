"""Classifiers whose probabilities are recalibrated and whose predictions are the best actions."""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise
from typing import Any, Self, cast, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from trustcal.checking import FloatArray
from trustcal.decisions import DecisionProblem, OutcomeProblem
from trustcal.estimators.acting import ActingClassifier
from trustcal.estimators.classes import for_classes, learned_classes
from trustcal.estimators.cross_fitting import cross_fitted
from trustcal.guarantees import noise_of_kind
from trustcal.inference import dtc_upper_bound
from trustcal.noise import Noise, Target
from trustcal.predictor import Predictor
from trustcal.remedies import ClassRemedy, Remedy, certify, noise_remedy
from trustcal.remedies.noising import value_after


@final
class Recalibrated(ActingClassifier):
    """A classifier whose probabilities are recalibrated by what works on held-out rows.

    `fit` predicts each row by the estimator fitted to the other folds.  The recalibrators that help these predictions
    are averaged with weights exp(−n·B/2) for a Brier score B on n rows held out (`remedy_`).  One helps if it beats
    none by payoff, or clearly by Brier score and is not clearly worse by payoff; without payoffs, if it beats none by
    Brier score and does not raise the decision loss.  Models of different folds are differently wrong, so the remedy is
    fitted again to each fold, and new rows get the mean over the folds.  Where nothing helps, the estimator is fitted
    to all rows.  With more than two classes it is too, and the remedy is the one that `remedies.choose` recommends.
    The same row gets the same answer, alone or in a batch.

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
        "auto" for the average of those that help, or the name of one, such as "beta".
    keep_back : float
        The share of rows that are kept back for `certificate_`; 0: none, and `certificate_` is None.
    cv : int, splitter or None
        scikit-learn's choice of folds.

    Attributes
    ----------
    remedy_ : Remedy or ClassRemedy
        The remedy fitted to the predictions of all folds.
    estimators_, remedies_ : list
        The estimator of each fold and its remedy, whose mean is predicted; empty where the remedy is none and for more
        than two classes.
    estimator_ : classifier
        The estimator fitted to all rows, which predicts where they are empty.
    certificate_ : Certificate, ConfidenceBound or None
        What the rows kept back prove about the folds, if the mean over them is no worse calibrated; for more than two
        classes, bounds on the action regret.

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
    ('average', True)

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
        found = cross_fitted(self.estimator, X, label, self.cv)
        self.remedy_: Remedy | ClassRemedy
        self.certificate_: Any  # a Certificate, or a ConfidenceBound for more than two classes
        if isinstance(self.problem_, OutcomeProblem):
            judged = self.payoff is not None
            self.remedy_, self.certificate_ = learned_classes(
                outcome, found.said, self.classes_, self.problem_, judged, self.method, self.keep_back
            )
            self.estimators_, self.remedies_ = [], []
        else:
            self.remedy_ = self._recalibrated(found, outcome, self.method, self.keep_back).chosen
            self.certificate_ = self.remedy_.certificate
        self.estimator_ = clone(self.estimator).fit(X, label)
        return self

    def _said(self, X: Any) -> FloatArray:  # noqa: N803
        check_is_fitted(self)
        return self._averaged(X) if self.estimators_ else self.remedy_.apply(self._probability(X))


@final
class TrustedClassifier(ActingClassifier):
    """A binary classifier with the smallest promise: recalibrated, or with noise where noise promises less.

    `fit` recalibrates as `Recalibrated` does, which comes with a certificate.  It also takes the noise for the distance
    to calibration, `eps`, or for an upper confidence bound on it.  Noise is applied, to the estimator fitted to all
    rows, where it promises a smaller decision loss than the certificate.  A distance that was measured assumes the same
    population as the certificate; noise for it must also earn as much on the rows held out, over all draws.

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
        The recalibration, fitted to the predictions of all folds, or the noise.
    estimators_, remedies_, estimator_
        As in `Recalibrated`; the first two are empty if there is noise.
    promise_ : float
        The decision loss that is promised: the certified one, or the guarantee of noise if noise is applied.
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
        found, problem = cross_fitted(self.estimator, X, label, self.cv), cast("DecisionProblem", self.problem_)
        recalibration = self._recalibrated(found, outcome, "auto", 0.25)
        held_out = Predictor.from_samples(outcome, found.said[:, 1])
        self.eps_ = max(dtc_upper_bound(held_out, self.confidence).upper, 1e-9) if self.eps is None else self.eps
        choice = noise_of_kind(self.noise, self.eps_, self.target)
        self.noise_, self.guarantee_ = choice.noise, choice.guarantee
        # Where rows are too few to learn from, nothing was chosen, and all of them may certify.
        self.certificate_ = recalibration.chosen.certificate or certify(held_out, problem, self.confidence)
        self.remedy_ = recalibration.chosen.certified(self.certificate_)
        self.promise_ = self.certificate_.decision_loss
        pays = self.eps is not None or value_after(held_out, choice.noise, problem) >= problem.value(
            recalibration.after
        )
        if pays and choice.guarantee.value < self.promise_:
            self.remedy_ = noise_remedy(choice.noise, _seed(self.random_state), choice.guarantee, self.eps_)
            self.promise_, self.estimators_, self.remedies_ = choice.guarantee.value, [], []
        self.estimator_ = clone(self.estimator).fit(X, label)
        return self

    def _said(self, X: Any) -> FloatArray:  # noqa: N803
        check_is_fitted(self)
        if self.estimators_:
            return self._averaged(X)
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
