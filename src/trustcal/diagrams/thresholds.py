"""The Murphy diagram and the decision curve, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from trustcal.diagrams.thinning import COLUMNS, kept_points, levels, shown_points
from trustcal.measures.corp import murphy, net_benefit
from trustcal.predictor import Predictor

LAST = 0.99
"""Net benefit is shown up to this threshold: at 1 one false alarm outweighs any number of hits."""


@final
@dataclass(frozen=True)
class MurphyDiagram:
    """The mean loss at thresholds θ, where acting in vain costs θ and a missed event 1 − θ; linear in between."""

    thresholds: tuple[float, ...]
    """The thresholds, from 0 to 1."""
    predictions: tuple[float, ...]
    """The loss of deciding by the predictions."""
    isotonic: tuple[float, ...]
    """The loss of deciding by what they mean: with the best threshold for each θ."""
    base_rate: tuple[float, ...]
    """The loss of the better of always and never acting."""


@final
@dataclass(frozen=True)
class DecisionCurve:
    """Net benefit at thresholds below 1; not treating anybody has 0."""

    thresholds: tuple[float, ...]
    """The thresholds, from 0."""
    net_benefit: tuple[float, ...]
    """The net benefit of treating where the prediction is at least the threshold."""
    treat_all: tuple[float, ...]
    """The net benefit of treating everybody."""


def murphy_diagram(q: Predictor) -> MurphyDiagram:
    """The mean threshold loss of the predictions, of their isotonic version and of the base rate (Ehm et al. 2016).

    Parameters
    ----------
    q : the predictor.

    Returns
    -------
    MurphyDiagram : the three curves, at the same thresholds.

    >>> murphy_diagram(Predictor([0.5], [1.0], [0.25])).base_rate
    (0.0, 0.1875, 0.125, 0.125, 0.0)

    O(n log n).
    """
    theta = np.unique(np.concatenate([[0.0, q.base_rate, 1.0], np.nextafter(q.p, 0), q.p, levels(q)]))
    found = murphy(q, theta)
    kept = shown_points(theta, *found)
    return MurphyDiagram(kept_points(theta, kept), *(kept_points(curve, kept) for curve in found))


def decision_curve(q: Predictor) -> DecisionCurve:
    """The net benefit of the predictions and of treating everybody (Vickers and Elkin 2006).

    Parameters
    ----------
    q : the predictor.

    Returns
    -------
    DecisionCurve : at thresholds from 0 to 0.99.

    >>> decision_curve(Predictor([0.25, 0.75], [0.5, 0.5], [0.125, 0.375])).net_benefit[0]
    0.5

    O(n log n).
    """
    t = np.concatenate([np.linspace(0, LAST, COLUMNS), q.p, np.nextafter(q.p, 1)])
    t = np.unique(t[t <= LAST])
    benefit, everybody = net_benefit(q, t), (q.base_rate - t) / (1 - t)
    kept = shown_points(t, benefit)
    return DecisionCurve(kept_points(t, kept), kept_points(benefit, kept), kept_points(everybody, kept))
