"""Brier score and log loss of K classes, split into miscalibration, discrimination and uncertainty."""

from __future__ import annotations

from math import inf
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from trustcal.checking import checked_choice
from trustcal.class_predictor import ClassPredictor, as_class_predictor
from trustcal.classes.scaling import LEAST, vector
from trustcal.measures.corp import Corp, corp


def class_brier(
    y_true: ClassPredictor | ArrayLike, proba: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Brier score of K classes: E Σ_k (p_k − 1{y = k})², lower is better.

    With two classes it is twice `brier`.

    Parameters
    ----------
    y_true, proba, sample_weight
        A `ClassPredictor`, or labels, vectors of probabilities and weights.

    Returns
    -------
    float
        In [0, 2].

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability.

    Examples
    --------
    >>> class_brier([0, 2], [[1.0, 0.0, 0.0], [0.5, 0.0, 0.5]])
    0.25

    O(n·K).
    """
    q = as_class_predictor(y_true, proba, sample_weight)
    own = q.p[q.value, q.outcome]
    return float(q.mass @ (q.p**2).sum(axis=1) + q.share @ (1 - 2 * own))


def class_log_loss(
    y_true: ClassPredictor | ArrayLike, proba: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Log loss of K classes: E[−ln p_y], in nats; infinite if a class of probability 0 occurred, even once.

    Parameters
    ----------
    y_true, proba, sample_weight
        A `ClassPredictor`, or labels, vectors of probabilities and weights.

    Returns
    -------
    float

    Examples
    --------
    >>> class_log_loss([0, 1], [[0.5, 0.25, 0.25]] * 2)
    1.0397207708399179

    O(n·K).
    """
    q = as_class_predictor(y_true, proba, sample_weight)
    own = q.p[q.value, q.outcome]
    return inf if (own == 0).any() else float(-(q.share @ np.log(own))) + 0.0


def class_corp(
    y_true: ClassPredictor | ArrayLike,
    proba: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    score: Literal["brier", "log"] = "brier",
) -> Corp:
    """A mean loss of K classes, split: loss = miscalibration − discrimination + uncertainty, none of them negative.

    The Brier score of K classes is the sum of those of each class against the rest, and so is its split: what the best
    nondecreasing re-reading of each class would save.  The log loss is not such a sum.  There the re-reading is the
    best vector scaling, p' ∝ exp(b_k)·p_k^(a_k), whose family has both the predictions themselves and every constant.

    Parameters
    ----------
    y_true, proba, sample_weight
        A `ClassPredictor`, or labels, vectors of probabilities and weights.
    score : "brier" or "log"
        The loss.

    Returns
    -------
    Corp
        Miscalibration, discrimination and uncertainty; for the log loss the miscalibration is infinite where a class of
        probability 0 occurred.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic classifiers.

    Examples
    --------
    >>> class_corp([0, 0, 1, 2], [[0.75, 0.25, 0.0]] * 3 + [[0.0, 0.0, 1.0]])
    Corp(mcb=0.010416666666666..., dsc=0.29166666666666..., unc=0.625)

    O(n·K log n).
    """
    q = as_class_predictor(y_true, proba, sample_weight)
    if checked_choice("score", score, ("brier", "log")) == "brier":
        parts = [corp(q.one(name)) for name in q.classes]
        return Corp(*(float(sum(getattr(part, name) for part in parts)) for name in ("mcb", "dsc", "unc")))
    came = q.frequencies[q.frequencies > 0]
    raw, constant = class_log_loss(q), float(-(came @ np.log(came))) + 0.0
    read_again = vector(q, smoothed=False)(q.p)[q.value, q.outcome]
    best = min(raw, constant, float(-(q.share @ np.log(np.maximum(read_again, LEAST)))))
    return Corp(raw - best, constant - best, constant)
