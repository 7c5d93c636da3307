"""The list of recalibrators, from the simplest to the least simple: what `choose`, the command line and tables read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, final, overload

import numpy as np
from numpy.typing import ArrayLike

from trustcal.checking import checked_choice
from trustcal.class_predictor import ClassPredictor, as_class_predictor
from trustcal.decisions import DecisionProblem
from trustcal.predictor import Predictor, as_predictor
from trustcal.remedies import recalibrators
from trustcal.remedies.class_remedy import ClassRemedy, named_class_method
from trustcal.remedies.maps import Map, Unchanged
from trustcal.remedies.remedy import Learned, Remedy
from trustcal.rows.classes import is_table


@final
@dataclass(frozen=True)
class Method:
    """A way to learn a map from outcomes."""

    name: str
    """Its name in tables and on the command line."""
    title: str
    """Its name in sentences."""
    learn: Callable[[Predictor, DecisionProblem | None], Map]
    """Fits the map to a predictor."""
    needs_payoffs: bool = False
    """Whether it makes sense for one decision problem only."""

    def fit(self, q: Predictor, problem: DecisionProblem | None = None, prediction: str | None = None) -> Remedy:
        """The remedy learned from a predictor, read from a column of this name.  The cost is that of `learn`."""
        return Remedy(self.name, self.title, self.learn(q, problem), Learned.from_predictor(q, prediction))


def _moved(q: Predictor, problem: DecisionProblem | None) -> Map:
    if problem is None:
        raise ValueError("the method 'threshold' moves the thresholds of your payoffs: give them (--payoff).")
    return recalibrators.moved_thresholds(q, problem)


METHODS: Final = {
    method.name: method
    for method in (
        Method("none", "No remedy", lambda _, __: Unchanged()),
        Method("temperature", "Temperature scaling", lambda q, _: recalibrators.temperature(q)),
        Method("Platt", "Platt scaling", lambda q, _: recalibrators.platt(q)),
        Method("beta", "Beta calibration", lambda q, _: recalibrators.beta(q)),
        Method("threshold", "Moved thresholds", _moved, needs_payoffs=True),
        Method("spline", "Monotone spline", lambda q, _: recalibrators.spline(q)),
        Method("centred isotonic", "Centred isotonic regression", lambda q, _: recalibrators.centred_isotonic(q)),
        Method("isotonic", "Isotonic regression", lambda q, _: recalibrators.isotonic(q)),
        Method("Venn–Abers", "Venn–Abers calibration", lambda q, _: recalibrators.venn_abers(q)),
        Method("histogram", "Histogram binning", lambda q, _: recalibrators.histogram(q)),
    )
}
"""Every recalibrator by its name."""


def named(method: str) -> Method:
    """The method of this name, in capitals or not; "venn-abers" is the same as "Venn–Abers"."""
    plain = {name.lower().replace("–", "-").replace(" ", "-"): name for name in METHODS}
    asked = str(method).lower().replace("–", "-").replace(" ", "-")
    return METHODS[plain[checked_choice("method", asked, plain)]]


@overload
def fit(
    method: str,
    y_true: ClassPredictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    classes: Iterable[Any],
) -> ClassRemedy: ...
@overload
def fit(method: str, y_true: ClassPredictor) -> ClassRemedy: ...
@overload
def fit(
    method: str,
    y_true: Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    payoff: DecisionProblem | None = None,
    by: ArrayLike | None = None,
) -> Remedy: ...
def fit(
    method: str,
    y_true: Predictor | ClassPredictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    classes: Iterable[Any] | None = None,
    payoff: DecisionProblem | None = None,
    by: ArrayLike | None = None,
) -> Remedy | ClassRemedy:
    """Learn a remedy of one kind.

    Parameters
    ----------
    method : str
        "temperature", "Platt", "beta", "threshold" (which needs payoffs), "spline", "centred isotonic", "isotonic",
        "Venn–Abers", "histogram" or "none"; for classes "temperature", "vector", "matrix", "Dirichlet", "isotonic" or
        "none".
    y_true, y_prob, sample_weight : Predictor, ClassPredictor, or array-likes
        A predictor alone, or rows in scikit-learn's order.  A table of probabilities has a column per class.
    classes : iterable, optional
        The labels of the columns of such a table; 0, 1, 2, … unless given.
    payoff : DecisionProblem, optional
        The problem whose thresholds the method "threshold" moves.
    by : array-like, optional
        The group of each row: each gets a map of its own, shrunk towards the common one.  Or a line of memberships for
        each row, as `Segments.members` gives it: the rows of each segment are calibrated, although segments overlap.
        For rows of equal weight.

    Returns
    -------
    Remedy
        For classes, a `ClassRemedy`.

    References
    ----------
    For classes: Guo et al. (2017), On calibration of modern neural networks.  Kull et al. (2019), Beyond temperature
    scaling.  Zadrozny and Elkan (2002), Transforming classifier scores into accurate multiclass probability estimates.

    Examples
    --------
    >>> remedy = fit("isotonic", [0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9])
    >>> remedy.apply([0.1, 0.3, 0.5, 0.9])
    array([0. , 0.5, 0.5, 1. ])
    >>> remedy = fit("isotonic", ["a", "b"] * 2, [[0.75, 0.25], [0.5, 0.5]] * 2, classes=["a", "b"])
    >>> remedy.apply([[0.75, 0.25]])
    array([[1., 0.]])

    O(n), after one sort for rows; for classes O(n·K) per step of the fit, O(n·K²) for a matrix.
    """
    if isinstance(y_true, ClassPredictor) or classes is not None or is_table(y_prob):
        if payoff is not None or by is not None or isinstance(y_true, Predictor):
            raise ValueError("payoff, by and a Predictor are for two outcomes: with classes leave them out.")
        return named_class_method(method).fit(as_class_predictor(y_true, y_prob, sample_weight, classes))
    chosen, q = named(method), as_predictor(y_true, y_prob, sample_weight)
    if by is None:
        return chosen.fit(q, payoff)
    from trustcal.remedies.grouping import group_map

    labels, y, p = np.asarray(by), np.asarray(y_true), np.asarray(y_prob)
    if isinstance(y_true, Predictor) or sample_weight is not None or labels.shape[:1] != y.shape:
        raise ValueError("by names the group of each row: give y_true and y_prob as arrays, without weights.")
    if labels.ndim == 2:
        from trustcal.remedies.multicalibration import segment_map

        title = "Multicalibration" if chosen.name == "none" else f"{chosen.title} and multicalibration"
        return Remedy(chosen.name, title, segment_map(chosen, y, p, labels, payoff), Learned.from_predictor(q))
    labels = labels.astype(str)
    laws = {name: Predictor.from_samples(y[labels == name], p[labels == name]) for name in np.unique(labels).tolist()}
    return Remedy(chosen.name, chosen.title, group_map(chosen, laws, payoff), Learned.from_predictor(q))
