"""Pictured: an audit, as the pictures see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import unit_numbers
from trustcal.curves import AfterNoise, Histogram, Movement
from trustcal.decisions import DecisionProblem
from trustcal.diagrams import DecisionCurve, LossProfile, ReliabilityDiagram
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]


class Thresholds(Protocol):
    """The user's decision problem."""

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Where the best action changes."""


@runtime_checkable
class Pictured(Protocol):
    """What the pictures read from an audit."""

    @property
    def diagram(self) -> ReliabilityDiagram:
        """The reliability diagram."""

    @property
    def profile(self) -> LossProfile:
        """The loss at every threshold."""

    @property
    def net_benefit(self) -> DecisionCurve:
        """The net benefit at every threshold."""

    @property
    def histogram(self) -> Histogram:
        """How predictions are spread."""

    @property
    def movement(self) -> Movement:
        """The way to the nearest calibrated predictor."""

    @property
    def after_noise(self) -> AfterNoise | None:
        """The predictor after noise."""

    @property
    def problem(self) -> Thresholds | None:
        """The user's decision problem."""


def marked(thresholds: ArrayLike | DecisionProblem | None, shown: object) -> FloatArray:
    """The thresholds to mark: as given, or those of the user's problem in an audit."""
    if isinstance(thresholds, DecisionProblem):
        return np.unique(thresholds.thresholds)
    if thresholds is None and isinstance(shown, Pictured) and shown.problem is not None:
        return np.unique(shown.problem.thresholds)
    return np.unique(unit_numbers(() if thresholds is None else thresholds, "thresholds"))


def by_name(
    shown: Predictor | Mapping[str, Predictor] | ArrayLike, y_prob: ArrayLike | None, sample_weight: ArrayLike | None
) -> dict[str, Predictor]:
    """Predictors by their names; one alone is called "predictions"."""
    if not isinstance(shown, Mapping):
        return {"predictions": as_predictor(shown, y_prob, sample_weight)}
    if not shown or y_prob is not None or sample_weight is not None:
        raise ValueError('several predictors are given as one dict, such as {"old": q_old, "new": q_new}, and no more.')
    return {str(name): as_predictor(q) for name, q in shown.items()}
