"""Predictors with known answers: the paper's examples and lower bounds, sharper ones, and counterexamples.

Tests and documents share them.  An instance is a predictor, a calibrated reference, the coupling between the two, and
the measures that are known in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np

from trustcal.measures.transport import Coupling
from trustcal.predictor import Predictor


@final
@dataclass(frozen=True, kw_only=True)
class Answers:
    """What is known in closed form; None where it is not."""

    dtc: float | None = None
    smcal: float | None = None
    ece: float | None = None
    cdl: float | None = None
    decision_loss: float | None = None
    """Of the best post-processing of the predictor against the reference, over all scores in [0, 1]."""
    umbrella_loss: float | None = None
    """The same for the umbrella alone: no post-processing that sees no outcomes can lose less."""


@final
@dataclass(frozen=True, eq=False)
class Instance:
    """A predictor, a calibrated reference, how the two go together, and what is known of them."""

    predictor: Predictor
    reference: Predictor
    coupling: Coupling
    """Who is predicted p by the predictor and b by the reference, per outcome."""
    answers: Answers


def rain(h: float = 1e-4) -> Instance:
    """The introduction's weather forecaster: 1/2 − h before rain and 1/2 + h before sunshine.

    Everybody is h away from the calibrated forecast 1/2, and whoever takes an umbrella above 1/2 is always wrong.

    >>> rain().answers.dtc, rain().answers.cdl
    (0.0001, 1.0)
    """
    _refuse_outside(h, "h", 0.5)
    rows = [(0.5 - h, 1, 0.5, 0.5), (0.5 + h, 0, 0.5, 0.5)]
    return _instance(rows, Answers(dtc=h, smcal=h / 2 + h * h, ece=0.5 + h, cdl=1.0))


def batch_hard(eps: float) -> Instance:
    """The paper's lower bound for post-processing (Theorem 3.5), 0 < eps ≤ 1/4, with s = √eps.

    Mostly 1/2 ± s is right; with probability s it is said of outcomes that are just the other way, where the reference
    says 1/2.  The best use of the predictor loses s/2 to the reference at the threshold 1/2, and s(1 − s)(1 + 2s)/2
    over all scores.

    >>> batch_hard(0.01).answers.umbrella_loss
    0.05
    """
    _refuse_outside(eps, "eps", 0.25)
    s = sqrt(eps)
    rows = []
    for p, wrong in ((0.5 - s, 1), (0.5 + s, 0)):
        rows += [(p, 0, p, (1 - s) * (1 - p) / 2), (p, 1, p, (1 - s) * p / 2), (p, wrong, 0.5, s / 2)]
    known = Answers(
        dtc=eps, ece=s / 2 + eps, cdl=s / 2 + eps, decision_loss=s / 2 * (1 - s) * (1 + 2 * s), umbrella_loss=s / 2
    )
    return _instance(rows, known)


def batch_hardest(eps: float) -> Instance:
    """A sharper lower bound than Theorem 3.5: 1/2 ± h is said of fair coins, with 2h² = eps·(1 + 2h), eps ≤ 1/4.

    The reference sends just so many outcomes to 1/2 that the rest are calibrated.  The predictor knows nothing, and
    loses (√(eps² + 2·eps) − eps)/2 to the reference at the threshold 1/2: √(eps/2), up to order eps, which uniform
    noise attains.

    >>> round(batch_hardest(0.01).answers.umbrella_loss, 6)
    0.065887
    """
    _refuse_outside(eps, "eps", 0.25)
    h = (eps + sqrt(eps * (eps + 2))) / 2
    rows = []
    for p, wrong in ((0.5 - h, 1), (0.5 + h, 0)):
        moved = h / (1 + 2 * h)
        rows += [(p, 1 - wrong, p, 0.25), (p, wrong, p, 0.25 - moved), (p, wrong, 0.5, moved)]
    known = Answers(dtc=eps, smcal=h * h, ece=h, cdl=h, umbrella_loss=(sqrt(eps * (eps + 2)) - eps) / 2)
    return _instance(rows, known)


def smcal_beyond_dtc(d: float, h: float) -> Instance:
    """Lemma 2.17's right inequality, smCal ≤ DTC, is false here: the ratio is 2 − d − h, for d + h ≤ 1/2.

    Zeros are predicted d, and the ones that would make d calibrated are predicted d + h.

    >>> known = smcal_beyond_dtc(0.1, 0.1).answers
    >>> round(known.smcal / known.dtc, 12)
    1.8
    """
    _refuse_outside(d, "d", 0.5)
    _refuse_outside(h, "h", 0.5 - d)
    rows = [(d, 0, d, 1 - d), (d + h, 1, d, d)]
    return _instance(rows, Answers(dtc=d * h, smcal=d * h * (2 - d - h)))


def cdl_beyond_ece(bias: float) -> Instance:
    """Lemma 2.13, CDL ≤ ECE, is false here: always 1/2, of outcomes that come with 1/2 + bias, makes CDL = 2·ECE.

    >>> known = cdl_beyond_ece(0.125).answers
    >>> known.ece, known.cdl
    (0.125, 0.25)
    """
    _refuse_outside(bias, "bias", 0.5)
    rows = [(0.5, 0, 0.5 + bias, 0.5 - bias), (0.5, 1, 0.5 + bias, 0.5 + bias)]
    return _instance(rows, Answers(dtc=bias, smcal=bias, ece=bias, cdl=2 * bias))


def _instance(rows: list[tuple[float, int, float, float]], answers: Answers) -> Instance:
    """From rows (p, y, b, mass)."""
    p, y, b, mass = (np.array(column) for column in zip(*sorted(rows, key=lambda row: (row[1], row[0])), strict=True))
    coupling = Coupling(p, y.astype(np.int8), b, mass)
    return Instance(_law(p, y, mass), _law(b, y, mass), coupling, answers)


def _law(p: np.ndarray, y: np.ndarray, mass: np.ndarray) -> Predictor:
    law = Predictor.from_samples(y, p, mass)
    return Predictor(law.p, law.mass, law.positive)  # a known law, not a sample


def _refuse_outside(value: float, name: str, most: float) -> None:
    if not 0 < value <= most:
        raise ValueError(f"{name} must lie in (0, {most:g}], not {value!r}.")
