"""Noise as a step of a scikit-learn pipeline."""

from __future__ import annotations

from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from trustcal.checking import FloatArray, Role, checked_predictions, generator
from trustcal.guarantees import noise_of_kind
from trustcal.inference import dtc_upper_bound
from trustcal.noise import Target
from trustcal.predictor import Predictor


@final
class NoiseSmoother(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Adds noise to probabilities (Theorem 3.1), so that every decision maker is within `guarantee_` of the best use.

    `fit` takes one column of probabilities and the outcomes, 0 or 1, and sets `eps_`, `noise_` and `guarantee_`.
    `transform` draws independent noise for each row.

    Parameters
    ----------
    noise : str
        The family of the noise: "uniform", "laplace", "gaussian", "plateau" or "rounding".
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
        _settle(self, None if y is None or self.eps is not None else Predictor.from_samples(y, column, sample_weight))
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


def _probabilities(smoother: NoiseSmoother, X: ArrayLike, *, reset: bool) -> FloatArray:  # noqa: N803
    table = validate_data(smoother, X, dtype=np.float64, reset=reset)
    if table.shape[1] != 1:
        raise ValueError(
            f"NoiseSmoother takes one column of probabilities, but got {table.shape[1]}. "
            "Of the output of predict_proba, pass the column of class 1: proba[:, [1]]."
        )
    return checked_predictions(table[:, 0])


def _settle(estimator: NoiseSmoother, q: Predictor | None) -> None:
    """Set eps_, noise_ and guarantee_: eps_ as given or, with a predictor, an upper confidence bound on its distance.

    The bound is kept positive: no noise is needed at distance 0, and none is defined.
    """
    estimator.eps_ = estimator.eps if q is None else max(dtc_upper_bound(q, estimator.confidence).upper, 1e-9)
    choice = noise_of_kind(estimator.noise, estimator.eps_, estimator.target)
    estimator.noise_, estimator.guarantee_ = choice.noise, choice.guarantee


def _generator(random_state: object) -> np.random.Generator:
    """A generator from any random_state of scikit-learn."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return generator(check_random_state(random_state).randint(2**31 - 1, size=4), Role.NOISE)
