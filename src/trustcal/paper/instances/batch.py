"""The paper's examples and lower bounds in the batch setting, sharper ones, and why its benchmark is a strong one."""

from __future__ import annotations

from math import sqrt

from trustcal.guarantees.bound import root_gap
from trustcal.paper.instances.instance import Answers, Instance, instance_of, refuse_outside


def rain(h: float = 1e-4) -> Instance:
    """The introduction's weather forecaster: 1/2 − h before rain and 1/2 + h before sunshine.

    Everybody is h away from the calibrated forecast 1/2, and whoever takes an umbrella above 1/2 is always wrong.

    >>> rain().answers.dtc, rain().answers.cdl
    (0.0001, 1.0)
    """
    refuse_outside(h, "h", 0.5)
    rows = [(0.5 - h, 1, 0.5, 0.5), (0.5 + h, 0, 0.5, 0.5)]
    return instance_of(rows, Answers(dtc=h, smcal=h / 2 + h * h, ece=0.5 + h, cdl=1.0))


def batch_hard(eps: float) -> Instance:
    """The paper's lower bound for post-processing (Theorem 3.5), 0 < eps ≤ 1/4, with s = √eps.

    Mostly 1/2 ± s is right; with probability s it is said of outcomes that are just the other way, where the reference
    says 1/2.  The best use of the predictor loses s/2 to the reference at the threshold 1/2, and s(1 − s)(1 + 2s)/2
    over all scores.

    >>> batch_hard(0.01).answers.umbrella_loss
    0.05
    """
    refuse_outside(eps, "eps", 0.25)
    s = sqrt(eps)
    rows = []
    for p, wrong in ((0.5 - s, 1), (0.5 + s, 0)):
        rows += [(p, 0, p, (1 - s) * (1 - p) / 2), (p, 1, p, (1 - s) * p / 2), (p, wrong, 0.5, s / 2)]
    known = Answers(
        dtc=eps, ece=s / 2 + eps, cdl=s / 2 + eps, decision_loss=s / 2 * (1 - s) * (1 + 2 * s), umbrella_loss=s / 2
    )
    return instance_of(rows, known)


def batch_hardest(eps: float) -> Instance:
    """A sharper lower bound than Theorem 3.5: 1/2 ± h is said of fair coins, with 2h² = eps·(1 + 2h), eps ≤ 1/4.

    The reference sends just so many outcomes to 1/2 that the rest are calibrated.  The predictor knows nothing, and
    loses (√(eps² + 2·eps) − eps)/2 to the reference at the threshold 1/2: √(eps/2), up to order eps, which uniform
    noise attains.

    >>> round(batch_hardest(0.01).answers.umbrella_loss, 6)
    0.065887
    """
    refuse_outside(eps, "eps", 0.25)
    h = (eps + root_gap(eps)) / 2
    rows = []
    for p, wrong in ((0.5 - h, 1), (0.5 + h, 0)):
        moved = h / (1 + 2 * h)
        rows += [(p, 1 - wrong, p, 0.25), (p, wrong, p, 0.25 - moved), (p, wrong, 0.5, moved)]
    known = Answers(dtc=eps, smcal=h * h, ece=h, cdl=h, umbrella_loss=(root_gap(eps) - eps) / 2)
    return instance_of(rows, known)


def constant_mean(eps: float) -> Instance:
    """Why being calibrated is not enough: always saying the mean prediction needs no outcomes, and is worth nothing.

    A forecaster within eps of calibration says 0 before zeros and 1 − 2·eps before ones, which come equally often.
    Post-processed to its mean, 1/2 − eps, it has an ECE of eps and hardly any CDL, as every forecaster within eps
    has.  But nobody can use it, while the reference knows every outcome: at the threshold 1/2 the loss is 1/2.  So the
    paper asks for a small loss against all calibrated references nearby (Theorem 3.1), not for calibration alone.

    The predictor here is the post-processed one; eps ≤ 1/4.

    >>> known = constant_mean(0.01).answers
    >>> known.ece, known.umbrella_loss
    (0.01, 0.5)
    """
    refuse_outside(eps, "eps", 0.25)
    rows = [(0.5 - eps, 0, 0.0, 0.5), (0.5 - eps, 1, 1.0, 0.5)]
    known = Answers(dtc=eps, smcal=eps, ece=eps, cdl=2 * eps / (1 + 2 * eps), decision_loss=0.5, umbrella_loss=0.5)
    return instance_of(rows, known)
