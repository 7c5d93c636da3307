"""The paper's examples and lower bounds in the batch setting, and sharper ones."""

from __future__ import annotations

from math import sqrt

from trustcal.checking import checked_number
from trustcal.guarantees.bound import root_gap
from trustcal.paper.instance import Answers, Instance, Row, instance_of


def rain(h: float = 1e-4) -> Instance:
    """The introduction's weather forecaster (Table 1): 1/2 − h before rain and 1/2 + h before sunshine.

    Every prediction is h away from the calibrated forecast 1/2, yet anyone who takes an umbrella above 1/2 is always
    wrong: DTC = h, smCal = h/2 + h², ECE = 1/2 + h, CDL = 1.

    Parameters
    ----------
    h : float, default 1e-4
        Distance to calibration, in (0, 1/2].

    Returns
    -------
    Instance
        The reference always predicts 1/2.

    >>> rain().answers.dtc, rain().answers.cdl
    (0.0001, 1.0)
    """
    checked_number("h", h, 0, 0.5, "(]")
    rows = [(0.5 - h, 1, 0.5, 0.5), (0.5 + h, 0, 0.5, 0.5)]
    return instance_of(rows, Answers(dtc=h, smcal=h / 2 + h * h, ece=0.5 + h, cdl=1.0))


def batch_hard(eps: float) -> Instance:
    """The paper's lower bound for post-processing (Theorem 3.5), with s = √eps.

    The predictions are 1/2 ± s.  With probability 1 − s they are calibrated; with probability s the outcome is the
    opposite one, and the reference predicts 1/2.  The best use of the predictor loses s/2 to the reference at the
    threshold 1/2, and s(1 − s)(1 + 2s)/2 over all scores.

    Parameters
    ----------
    eps : float
        Distance to calibration, in (0, 1/4].

    Returns
    -------
    Instance

    >>> batch_hard(0.01).answers.umbrella_loss
    0.05
    """
    checked_number("eps", eps, 0, 0.25, "(]")
    s = sqrt(eps)
    rows: list[Row] = []
    for p, wrong in ((0.5 - s, 1), (0.5 + s, 0)):
        rows += [(p, 0, p, (1 - s) * (1 - p) / 2), (p, 1, p, (1 - s) * p / 2), (p, wrong, 0.5, s / 2)]
    known = Answers(
        dtc=eps, ece=s / 2 + eps, cdl=s / 2 + eps, decision_loss=s / 2 * (1 - s) * (1 + 2 * s), umbrella_loss=s / 2
    )
    return instance_of(rows, known)


def batch_hardest(eps: float) -> Instance:
    """A sharper lower bound than Theorem 3.5 (Theorem 20): predictions 1/2 ± h of fair coins, 2h² = eps·(1 + 2h).

    The reference moves just enough outcomes to 1/2 for the rest to be calibrated.  The predictor carries no
    information, and loses (√(eps² + 2·eps) − eps)/2 to the reference at the threshold 1/2.  This is √(eps/2) up to
    order eps, which uniform noise attains.

    Parameters
    ----------
    eps : float
        Distance to calibration, in (0, 1/4].

    Returns
    -------
    Instance

    >>> round(batch_hardest(0.01).answers.umbrella_loss, 6)
    0.065887
    """
    checked_number("eps", eps, 0, 0.25, "(]")
    h = (eps + root_gap(eps)) / 2
    rows: list[Row] = []
    for p, wrong in ((0.5 - h, 1), (0.5 + h, 0)):
        moved = h / (1 + 2 * h)
        rows += [(p, 1 - wrong, p, 0.25), (p, wrong, p, 0.25 - moved), (p, wrong, 0.5, moved)]
    known = Answers(dtc=eps, smcal=h * h, ece=h, cdl=h, umbrella_loss=(root_gap(eps) - eps) / 2)
    return instance_of(rows, known)


def constant_mean(eps: float) -> Instance:
    """Why calibration alone is not enough: always predicting the mean needs no outcomes, and is useless.

    A forecaster within eps of calibration predicts 0 before zeros and 1 − 2·eps before ones, which are equally likely.
    Post-processed to its mean, 1/2 − eps, it has ECE eps and almost no CDL.  But it is useless, while the reference
    knows every outcome: at the threshold 1/2 the loss is 1/2.  So the paper asks for a small loss against every nearby
    calibrated reference (Theorem 3.1), not for calibration alone.

    Parameters
    ----------
    eps : float
        Distance to calibration, in (0, 1/4].

    Returns
    -------
    Instance
        The predictor is the post-processed one, which always predicts 1/2 − eps.

    >>> known = constant_mean(0.01).answers
    >>> known.ece, known.umbrella_loss
    (0.01, 0.5)
    """
    checked_number("eps", eps, 0, 0.25, "(]")
    rows = [(0.5 - eps, 0, 0.0, 0.5), (0.5 - eps, 1, 1.0, 0.5)]
    known = Answers(dtc=eps, smcal=eps, ece=eps, cdl=2 * eps / (1 + 2 * eps), decision_loss=0.5, umbrella_loss=0.5)
    return instance_of(rows, known)
