"""Scores split into miscalibration, discrimination and uncertainty (CORP), Murphy diagrams and net benefit.

The isotonic version b of a predictor is the best nondecreasing re-reading of its predictions for every proper loss at
once.  So for every proper loss ℓ, with r the base rate,

    E ℓ(p, y) = MCB − DSC + UNC,   MCB = E ℓ(p, y) − E ℓ(b, y),   DSC = E ℓ(r, y) − E ℓ(b, y),   UNC = E ℓ(r, y),

and none of the three is negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import as_number, unit_numbers
from trustcal.measures.scores import brier, log_loss
from trustcal.predictor import Predictor, predictor_and
from trustcal.rows import running_sum

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Corp:
    """A mean loss, split: loss = mcb − dsc + unc.

    Attributes
    ----------
    mcb : float
        Miscalibration: what the best nondecreasing re-reading of the predictions would save.
    dsc : float
        Discrimination: what that re-reading saves against always predicting the base rate.
    unc : float
        Uncertainty: the loss of always predicting the base rate.
    """

    mcb: float
    dsc: float
    unc: float

    @property
    def loss(self) -> float:
        """The mean loss of the predictions."""
        return self.mcb - self.dsc + self.unc


class Murphy(NamedTuple):
    """Mean threshold losses, at each threshold: of the predictions, of their isotonic version, of the base rate."""

    predictions: FloatArray
    isotonic: FloatArray
    base_rate: FloatArray


def corp(
    y_true: Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    score: Literal["brier", "log"] | float | None = None,
) -> Corp:
    """The CORP decomposition of a mean loss (Dimitriadis, Gneiting and Jordan 2021).

    Parameters
    ----------
    y_true, y_prob, sample_weight
        Outcomes, predictions and weights; or a `Predictor` and the score, as in corp(q, "log").
    score : "brier", "log" or float
        The loss; unless given, the Brier score.  A number is a threshold θ: acting in vain costs θ, a missed event
        costs 1 − θ.

    Returns
    -------
    Corp
        Miscalibration, discrimination and uncertainty, none of them negative.  For the log loss the miscalibration is
        infinite where a prediction of 0 or 1 was wrong.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic classifiers.

    Examples
    --------
    >>> corp(Predictor([0.25, 0.75], [0.5, 0.5], [0.0, 0.5]))
    Corp(mcb=0.0625, dsc=0.25, unc=0.25)

    O(n), after one sort for rows.
    """
    q, score = predictor_and(y_true, y_prob, sample_weight, score)
    score = "brier" if score is None else score
    if isinstance(score, str):
        losses = {"brier": brier, "log": log_loss}
        if score not in losses:
            raise ValueError(f'score must be "brier", "log" or a threshold in [0, 1], not {score!r}.')
        loss = losses[score]
        raw, fitted, constant = loss(q), loss(q.isotonic()), loss(_base_rate(q))
    else:
        if not 0 <= as_number(score) <= 1:
            raise ValueError(f'score must be "brier", "log" or a threshold in [0, 1], not {score!r}.')
        raw, fitted, constant = (float(curve[0]) for curve in murphy(q, [score]))
    # Rounding alone can make a difference of two equal losses negative.
    return Corp(max(0.0, raw - fitted), max(0.0, constant - fitted), constant)


def murphy(
    y_true: Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    theta: ArrayLike | None = None,
) -> Murphy:
    """The Murphy diagram (Ehm et al. 2016): the mean loss at each threshold θ.

        loss(θ) = θ·Pr[p > θ, y = 0] + (1 − θ)·Pr[p ≤ θ, y = 1]

    Twice its integral over θ is the Brier score; every proper loss is a mixture of these.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        Outcomes, predictions and weights; or a `Predictor` and the thresholds, as in murphy(q, theta).
    theta : array_like
        Thresholds in [0, 1].

    Returns
    -------
    Murphy
        The losses of the predictions, of their isotonic version and of the base rate, each of the shape of `theta`.

    References
    ----------
    Ehm, Gneiting, Jordan and Krüger (2016), Of quantiles and expectiles.

    Examples
    --------
    >>> murphy(Predictor([0.25, 0.75], [0.5, 0.5], [0.125, 0.375]), [0.5]).base_rate
    array([0.25])

    O(n + k log n) for k thresholds, after one sort for rows.
    """
    q, thresholds = _with_thresholds(y_true, y_prob, sample_weight, theta, "theta")
    return Murphy(*(_threshold_loss(law, thresholds) for law in (q, q.isotonic(), _base_rate(q))))


def net_benefit(
    y_true: Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    threshold: ArrayLike | None = None,
) -> FloatArray:
    """Net benefit (Vickers and Elkin 2006): true positives less false ones at the threshold's rate of exchange.

        NB(t) = Pr[p ≥ t, y = 1] − Pr[p ≥ t, y = 0]·t/(1 − t)

    Parameters
    ----------
    y_true, y_prob, sample_weight
        Outcomes, predictions and weights; or a `Predictor` and the thresholds, as in net_benefit(q, threshold).
    threshold : array_like
        Thresholds in [0, 1); at 1 the net benefit is not defined, and NaN.

    Returns
    -------
    ndarray
        Of the shape of `threshold`.

    References
    ----------
    Vickers and Elkin (2006), Decision curve analysis.

    Examples
    --------
    >>> net_benefit(Predictor([0.25, 0.75], [0.5, 0.5], [0.125, 0.375]), [0.0, 0.5])
    array([0.5 , 0.25])

    O(n + k log n) for k thresholds, after one sort for rows.
    """
    q, thresholds = _with_thresholds(y_true, y_prob, sample_weight, threshold, "threshold")
    # False positives are summed by themselves: next to 1 their price would magnify the rounding of a difference.
    false_positive = np.zeros(len(q) + 1)
    running_sum((q.mass - q.positive)[::-1], out=false_positive[-2::-1])
    first = np.searchsorted(q.p, thresholds, side="left")
    with np.errstate(divide="ignore", invalid="ignore"):
        found = q.upper_sums[1][first] - false_positive[first] * (thresholds / (1 - thresholds))
    return np.where(thresholds < 1, found, np.nan)[()]


def _with_thresholds(
    y_true: Predictor | ArrayLike,
    y_prob: ArrayLike | None,
    sample_weight: ArrayLike | None,
    given: ArrayLike | None,
    name: str,
) -> tuple[Predictor, FloatArray]:
    q, thresholds = predictor_and(y_true, y_prob, sample_weight, given)
    if thresholds is None:
        raise ValueError(f"{name} is missing: give a Predictor and thresholds, or rows and {name}=.")
    return q, unit_numbers(thresholds, "thresholds")


def _threshold_loss(q: Predictor, theta: FloatArray) -> FloatArray:
    mass, positive = q.upper_sums
    first = np.searchsorted(q.p, theta, side="right")
    in_vain = np.maximum(mass[first] - positive[first], 0.0)  # rounding alone can make it negative
    return np.asarray(theta * in_vain + (1 - theta) * (positive[0] - positive[first]))[()]


def _base_rate(q: Predictor) -> Predictor:
    """The predictor that always says the base rate."""
    return Predictor([q.base_rate], [1.0], [q.base_rate])
