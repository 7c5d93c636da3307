"""Scores that also measure sharpness: Brier score, log loss, AUC.

Calibration alone does not make predictions useful: always predicting the base rate is calibrated.  These scores
distinguish what the calibration measures cannot.  All are exact sums over the law, so rows are never needed.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import ArrayLike

from trustcal.predictor import Predictor, as_predictor


def brier(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Brier score: E(p − y)², lower is better.

    It is the loss of a decision maker whose threshold is uniform on [0, 1], and the sum of E(p − p_hat)², for
    calibration, and E[p_hat·(1 − p_hat)], for what the predictions leave open.

    Parameters
    ----------
    y_true, y_prob, sample_weight : Predictor, or array-likes
        A predictor alone, or rows in scikit-learn's order.

    Returns
    -------
    float

    >>> brier(Predictor([0.25, 0.75], [0.5, 0.5], [0.0, 0.5]))
    0.0625

    O(n).
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    negative = q.mass - q.positive
    return float(((1 - q.p) ** 2 @ q.positive + q.p**2 @ negative) / q.mass.sum())


def log_loss(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Log loss: E[−ln of the probability given to the outcome], lower is better, in nats.

    Nothing is clipped: it is infinite if 0 or 1 was predicted and the other outcome occurred, even once.

    Parameters
    ----------
    y_true, y_prob, sample_weight : Predictor, or array-likes
        A predictor alone, or rows in scikit-learn's order.

    Returns
    -------
    float

    >>> log_loss(Predictor([0.5], [1.0], [0.5]))
    0.6931471805599453
    >>> log_loss(Predictor([0.0], [1.0], [0.5]))
    inf

    O(n).
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    negative = q.mass - q.positive
    came, stayed = q.positive > 0, negative > 0
    if (q.p[came] == 0).any() or (q.p[stayed] == 1).any():
        return inf
    total = np.log(q.p[came]) @ q.positive[came] + np.log1p(-q.p[stayed]) @ negative[stayed]
    return float(-total / q.mass.sum()) + 0.0


def auc(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Area under the ROC curve: how often a positive outcome got the higher prediction, ties counting half.

        AUC = Pr[p⁺ > p⁻] + Pr[p⁺ = p⁻]/2   for independent p⁺ given y = 1 and p⁻ given y = 0

    Parameters
    ----------
    y_true, y_prob, sample_weight : Predictor, or array-likes
        A predictor alone, or rows in scikit-learn's order.

    Returns
    -------
    float

    >>> auc(Predictor([0.25, 0.5, 0.75], [0.25, 0.5, 0.25], [0.0, 0.25, 0.25]))
    0.875

    O(n).
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    negative = q.mass - q.positive
    positives, negatives = float(q.positive.sum()), float(negative.sum())
    if positives == 0 or negatives == 0:
        raise ValueError(
            f"AUC compares positive with negative outcomes, but all outcomes are {int(negatives == 0)}. "
            "Use data with both outcomes."
        )
    below = np.cumsum(negative) - negative / 2
    return min(1.0, float(q.positive @ below) / (positives * negatives))
