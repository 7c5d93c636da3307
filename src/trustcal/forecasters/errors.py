"""The errors of a game: the measures of the table that are played, and the Brier regret."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trustcal.forecasters.forecaster import FloatArray
from trustcal.measures.table import MEASURES, played, values_of
from trustcal.predictor import Predictor


def symbols() -> dict[str, str]:
    """The symbol of every error by its key, as guarantees use it."""
    return {key: MEASURES[key].symbol for key in played()} | {"brier_regret": "Brier regret"}


def errors_of(predictions: FloatArray, outcomes: NDArray[np.integer[Any]]) -> dict[str, float]:
    """All errors of these rounds by their keys, exact and on the distinct predictions.

    >>> list(errors_of(np.array([0.5, 0.5]), np.array([0, 1]))) == list(symbols())
    True
    """
    q = Predictor.from_samples(outcomes, predictions)
    return values_of(played(), q, q) | {"brier_regret": brier_regret(predictions, outcomes)}


def brier_regret(predictions: FloatArray, outcomes: NDArray[np.integer[Any]]) -> float:
    """How much the Brier score exceeds that of the best constant, the base rate; 0 if it does not.

    >>> brier_regret(np.array([0.5, 0.5, 0.5, 0.5]), np.array([1, 1, 1, 0]))
    0.0625
    """
    base = float(np.mean(outcomes))
    return max(0.0, float(np.mean((predictions - outcomes) ** 2)) - base * (1 - base))
