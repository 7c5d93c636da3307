"""The paper's post-processing game: the adversary picks predictions and outcomes, the post-processor sees no outcomes.

The adversary's budget is a distance to calibration of eps = T^(−1/2), that of the elementary predictor; the
post-processor knows eps and T.  The hard sequences come in pairs with the same first half.  They are those of
`paper.online_hard` and `paper.online_hard_paper`, which need whole counts, for any number of rounds.
"""

from __future__ import annotations

from math import floor, sqrt

import numpy as np

from trustcal.checking import Role, checked_count, generator
from trustcal.forecasters.adversaries import Rng
from trustcal.guarantees.bound import root_gap
from trustcal.paper import Sequence


def budget(horizon: int) -> float:
    """The distance to calibration that the adversary may use: T^(−1/2), at most 1/12."""
    return min(1 / sqrt(checked_count("horizon", horizon)), 1 / 12)


def hard(side: int, horizon: int, rng: Rng = None) -> Sequence:
    """Theorem 21's pair: predictions 1/2, then 1/2 ± 2h, with frequency 1/2 ± h throughout.

    h is such that the distance 2h²/(1 + 2h) is the budget.  For each of ECE and CDL the expected error is at least
    h/2 on at least one of the two, which need not be the same.

    >>> rounds = hard(1, 10_000, 0)
    >>> rounds.predictions[[0, -1]].round(3), float(rounds.outcomes.mean())
    (array([0.5  , 0.652]), 0.5758)
    """
    eps = budget(horizon)
    h = (eps + root_gap(eps)) / 2
    return _halves((0.5, 0.5 + side * 2 * h), (0.5 + side * h, 0.5 + side * h), horizon, rng)


def hard_paper(side: int, horizon: int, rng: Rng = None) -> Sequence:
    """Theorem 4.4's pair, with s = √eps.

    One sequence predicts 1/2 − s, then 1/2 + s, with frequencies 1/2 ∓ (s/2 − eps).  The other predicts 1/2 − s
    throughout, with frequency 1/2 − s − eps.
    """
    eps = budget(horizon)
    s = sqrt(eps)
    if side > 0:
        return _halves((0.5 - s, 0.5 + s), (0.5 - s / 2 + eps, 0.5 + s / 2 - eps), horizon, rng)
    return _halves((0.5 - s, 0.5 - s), (0.5 - s - eps, 0.5 - s - eps), horizon, rng)


def rain(horizon: int, rng: Rng = None) -> Sequence:
    """The introduction's forecaster: 1/2 − eps before rain, 1/2 + eps before sunshine, in random order."""
    eps = budget(horizon)
    random = generator(rng, Role.OUTCOMES)
    y = random.permutation(np.arange(horizon) % 2).astype(np.int8)
    return Sequence(np.where(y == 1, 0.5 - eps, 0.5 + eps), y)


def _halves(said: tuple[float, float], frequency: tuple[float, float], horizon: int, rng: Rng) -> Sequence:
    """Two halves, each with the nearest whole number of ones to its frequency, in random order."""
    random, sizes = generator(rng, Role.OUTCOMES), (horizon - horizon // 2, horizon // 2)
    outcomes = [
        random.permutation((np.arange(size) < floor(share * size + 0.5)).astype(np.int8))
        for size, share in zip(sizes, frequency, strict=True)
    ]
    return Sequence(np.repeat(said, sizes), np.concatenate(outcomes))
