"""The most that moving the predictions can have changed the smooth measures, without another look at the data."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import final

from trustcal.measures.kernel_smoothing import smece
from trustcal.predictor import Predictor, as_predictor


@final
@dataclass(frozen=True)
class RoundingEffect:
    """The measures of the original predictor are within these distances of the rounded one's."""

    dtc: float
    """Distance to calibration."""
    smcal: float
    """Smooth calibration error."""
    smece: float
    """SmoothECE."""


def rounding_effect(q: Predictor) -> RoundingEffect:
    """How far the smooth measures of q can be from those of the predictor it was made from (Theorem 12).

    With m = q.moved, the mean movement:  DTC moves by at most m, smCal by at most 2m, and SmoothECE, s for q, stays
    between s − m·(1 + k/s) and the positive root x of x² = (s + m)·x + m·k, where k = √(2/π).  ECE and CDL have no such
    bound: 49.99 % and 50.01 % rounded to 50 % are a different forecast to a decision maker.

    Parameters
    ----------
    q : Predictor
        Made from another by `on_grid`, `coarsen` or reading with a resolution.

    Returns
    -------
    RoundingEffect

    >>> rounding_effect(Predictor([0.25, 0.5], [0.5, 0.5], [0.25, 0.25]))             # nothing was moved
    RoundingEffect(dtc=0.0, smcal=0.0, smece=0.0)
    >>> rounding_effect(Predictor([0.25, 0.375], [0.5, 0.5], [0.125, 0.25]).on_grid(4))
    RoundingEffect(dtc=0.0625, smcal=0.125, smece=0.2109...)

    O(n), for SmoothECE.
    """
    q = as_predictor(q)
    return RoundingEffect(dtc_change(q), smcal_change(q), smece_change(q))


def dtc_change(q: Predictor) -> float:
    """The most that the distance to calibration can have moved.  O(1)."""
    return q.moved


def smcal_change(q: Predictor) -> float:
    """The most that the smooth calibration error can have moved.  O(1)."""
    return 2 * q.moved


def smece_change(q: Predictor) -> float:
    """The most that SmoothECE can have moved.  O(n)."""
    m = q.moved
    if m == 0:
        return 0.0
    s, k = smece(q), sqrt(2 / pi)
    root = (s + m + sqrt((s + m) ** 2 + 4 * m * k)) / 2
    fall = min(s, m * (1 + k / s)) if s > 0 else 0.0
    return max(root - s, fall)
