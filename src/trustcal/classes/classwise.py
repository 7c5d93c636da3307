"""The measures that need no bins, for each class against the rest and for the top label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import ArrayLike

from trustcal.checking import checked_count, checked_names, generator
from trustcal.class_predictor import ClassPredictor, as_class_predictor
from trustcal.inference import Uncertainty, combined_test, uncertainties
from trustcal.measures.atb import atb
from trustcal.measures.table import MEASURES, audited
from trustcal.predictor import Predictor

TESTED: Final = 30
"""Tests and intervals are made for the top label and this many classes, the most frequent ones."""
_LEAST_DRAWS: Final = 200
_DRAWS_EACH: Final = 40
"""Draws of the combined test for each class that is tested: with fewer, no adjusted p-value could be below 5 %."""
MEASURED: Final = ("monotone_cdl", "cutoff", "atb")
"""The measures of each class, unless others are asked for."""


def classwise(
    y_true: ClassPredictor | ArrayLike,
    proba: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    measure: str = "monotone_cdl",
) -> dict[Any, float]:
    """A measure of each class against the rest.

    Parameters
    ----------
    y_true, proba, sample_weight
        A `ClassPredictor`, or labels, vectors of probabilities and weights.
    measure : str
        The key of a measure, such as monotone_cdl, cutoff, atb or smcal.

    Returns
    -------
    dict
        The measure by the name of the class.

    Examples
    --------
    >>> classwise([0, 0, 1, 2], [[0.5, 0.25, 0.25]] * 4, measure="cutoff")
    {0: 0.0, 1: 0.0, 2: 0.0}

    K times the cost of the measure.
    """
    q = as_class_predictor(y_true, proba, sample_weight)
    (measure,) = checked_names("measure", [measure], MEASURES)
    return {name: MEASURES[measure].value(q.one(name)) for name in q.classes}


def classwise_atb(
    y_true: ClassPredictor | ArrayLike, proba: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """The truthful class-wise calibration error: the mean of ATB over the classes.

    ATB is truthful: whatever the true probabilities are, nobody expects a smaller error by saying others.  A sum of
    truthful errors is truthful, so this one is for K classes.

    Parameters
    ----------
    y_true, proba, sample_weight
        A `ClassPredictor`, or labels, vectors of probabilities and weights.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Hartline, Hu and Wu (2026), A perfectly truthful calibration measure.

    Examples
    --------
    >>> classwise_atb([0, 0, 0, 1], [[0.5, 0.5, 0.0]] * 4)
    0.04166666666666...

    O(n·K log n).
    """
    q = as_class_predictor(y_true, proba, sample_weight)
    return float(np.mean([atb(q.one(name)) for name in q.classes]))


@final
@dataclass(frozen=True)
class ViewMeasures:
    """One class against the rest, or the top label, measured."""

    name: str
    """The class, or "top label"."""
    rows: int | None
    """The number of rows."""
    base_rate: float
    """How often the class occurred, or the top label was right."""
    mean_prediction: float
    """The mean of its probability."""
    values: Mapping[str, float]
    """The measures by their keys."""
    known: tuple[Uncertainty, ...]
    """Their tests and intervals, in the same order; empty without draws, and beyond the 30 most frequent classes."""
    p_value: float | None
    """Of the combined test of calibration, adjusted for the number of classes (Holm); None where there are no tests."""


def view_measures(
    q: ClassPredictor,
    measures: Iterable[str] = MEASURED,
    *,
    draws: int = 0,
    rng: np.random.Generator | int = 0,
) -> tuple[ViewMeasures, ...]:
    """The top label and each class against the rest: measures, intervals, and whether it is chance.

    Parameters
    ----------
    q : ClassPredictor
    measures : iterable of str
        Keys of audited measures.
    draws : int
        Simulations for tests and intervals; 0: none.  A known distribution needs none.
    rng : Generator or int
        Source of the draws.

    Returns
    -------
    tuple of ViewMeasures
        The top label first, then the classes in their order.

    Examples
    --------
    >>> top, *classes = view_measures(ClassPredictor([[0.5, 0.25, 0.25]], [[0.25, 0.5, 0.25]], ["a", "b", "c"]))
    >>> top.values["monotone_cdl"], classes[1].name, classes[1].values["cutoff"]
    (0.5, 'b', 0.25)

    O(K·draws·n log n).
    """
    keys, draws = checked_names("measures", measures, audited()), checked_count("draws", draws, least=0)
    random = generator(rng)
    views = [("top label", q.top()), *((str(name), q.one(name)) for name in q.classes)]
    tested: list[int] = []
    if draws > 0 and q.rows is not None:
        tested = [0, *sorted(1 + np.argsort(-q.frequencies, kind="stable")[:TESTED])]
    count = max(_LEAST_DRAWS, draws, _DRAWS_EACH * len(tested))
    alone = [combined_test(views[i][1], draws=count, rng=random).p_value for i in tested]
    adjusted: dict[int, float] = dict(zip(tested, [*alone[:1], *holm(alone[1:])], strict=True))
    return tuple(
        measured_view(name, view, keys, draws if i in adjusted else 0, adjusted.get(i), random)
        for i, (name, view) in enumerate(views)
    )


def measured_view(
    name: str, view: Predictor, keys: tuple[str, ...], draws: int, p_value: float | None, rng: np.random.Generator
) -> ViewMeasures:
    """A view measured, with tests and intervals unless there are no draws.  O(draws·n log n)."""
    values = {key: MEASURES[key].value(view) for key in keys}
    return ViewMeasures(
        name=name,
        rows=view.rows,
        base_rate=view.base_rate,
        mean_prediction=float((view.p * view.mass).sum() / view.mass.sum()),
        values=values,
        known=uncertainties(view, keys, draws=draws, known=values, rng=rng) if draws else (),
        p_value=p_value,
    )


def holm(alone: list[float]) -> list[float]:
    """P-values adjusted for their number."""
    found, least = list(alone), 0.0
    for rank, i in enumerate(sorted(range(len(alone)), key=lambda i: alone[i])):
        least = max(least, min(1.0, (len(alone) - rank) * alone[i]))
        found[i] = least
    return found
