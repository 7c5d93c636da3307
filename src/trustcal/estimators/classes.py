"""What `Recalibrated` learns of more than two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import FloatArray, Role, checked_fraction, generator
from trustcal.class_predictor import ClassPredictor
from trustcal.classes import class_regret_bounds
from trustcal.decisions import OutcomeProblem
from trustcal.inference import ConfidenceBound
from trustcal.remedies import ClassRemedy, choose, fit
from trustcal.remedies.class_remedy import CLASS_METHODS
from trustcal.rows.classes import ClassRows

_FEWEST = 10
"""With fewer rows of a class than this nothing is learned: the vectors stay as they are."""


def for_classes(method: str) -> bool:
    """Whether a method is one for more than two classes; "auto" is."""
    return str(method).lower() in {"auto", *map(str.lower, CLASS_METHODS)}


def learned_classes(
    outcome: NDArray[np.intp],
    said: FloatArray,
    classes: NDArray[Any],
    problem: OutcomeProblem,
    judged: bool,
    method: str,
    keep_back: float,
) -> tuple[ClassRemedy, ConfidenceBound | None]:
    """The remedy for vectors of rows that the estimator had not seen, and what rows kept back prove about it.

    With `judged` remedies are judged by the payoffs of the problem, otherwise by the Brier score.
    """
    names = tuple(classes.tolist())
    said = said / said.sum(axis=1, keepdims=True)
    if np.bincount(outcome, minlength=len(names)).min() < _FEWEST:
        return fit("none", _rows(names, outcome, said)), None
    kept = np.zeros(len(outcome), dtype=bool)
    if keep_back:
        share = checked_fraction("keep_back", keep_back)
        kept = generator(0, Role.SPLITS).permutation(len(outcome)) < share * len(outcome)
    rest = _rows(names, outcome[~kept], said[~kept])
    payoff = problem if judged else None
    remedy = choose(rest, payoff=payoff, folds=3).fitted if method == "auto" else fit(method, rest)
    if not kept.any():
        return remedy, None
    return remedy, class_regret_bounds(problem, remedy.predictor(_rows(names, outcome[kept], said[kept])))


def _rows(names: tuple[Any, ...], outcome: NDArray[np.intp], said: FloatArray) -> ClassPredictor:
    return ClassPredictor.from_rows(ClassRows(names, np.ascontiguousarray(said), outcome, None))
