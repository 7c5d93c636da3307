"""The paper's post-processing game: an adversary picks predictions and outcomes, the post-processor sees no outcomes.

The adversary's budget is a distance to calibration of eps = T^(−1/2), what the elementary predictor spends; the
post-processor knows eps and T.  Each hard instance is a pair of worlds that look alike for half of the rounds: those of
`instances.online_hard` and `online_hard_paper`, which want whole counts at exactly eps, here for any number of rounds.
"""

from __future__ import annotations

from math import floor, sqrt

import numpy as np

from trustcal.checking import checked_count, generator
from trustcal.forecasters.adversaries import Rng
from trustcal.guarantees.bound import root_gap
from trustcal.paper import Sequence


def budget(horizon: int) -> float:
    """The distance to calibration that the adversary may spend: T^(−1/2), at most 1/12."""
    return min(1 / sqrt(checked_count("horizon", horizon)), 1 / 12)


def hard(side: int, horizon: int, rng: Rng = None) -> Sequence:
    """Theorem 21's pair: 1/2 is said first, then 1/2 + 2h or 1/2 − 2h, of frequencies 1/2 ± h throughout.

    h is such that the distance, 2h²/(1 + 2h), is the budget; nobody has less than h/2 of ECE and of CDL in both worlds.

    >>> rounds = hard(1, 10_000, 0)
    >>> rounds.predictions[[0, -1]].round(3), float(rounds.outcomes.mean())
    (array([0.5  , 0.652]), 0.5758)
    """
    eps = budget(horizon)
    h = (eps + root_gap(eps)) / 2
    return _halves((0.5, 0.5 + side * 2 * h), (0.5 + side * h, 0.5 + side * h), horizon, rng)


def hard_paper(side: int, horizon: int, rng: Rng = None) -> Sequence:
    """Theorem 4.4's pair, with s = √eps.

    One world says 1/2 − s, then 1/2 + s, of frequencies 1/2 ∓ (s/2 − eps); the other 1/2 − s throughout, of frequency
    1/2 − s − eps.
    """
    eps = budget(horizon)
    s = sqrt(eps)
    if side > 0:
        return _halves((0.5 - s, 0.5 + s), (0.5 - s / 2 + eps, 0.5 + s / 2 - eps), horizon, rng)
    return _halves((0.5 - s, 0.5 - s), (0.5 - s - eps, 0.5 - s - eps), horizon, rng)


def rain(horizon: int, rng: Rng = None) -> Sequence:
    """The introduction's forecaster: 1/2 − eps before rain, 1/2 + eps before sunshine, in any order."""
    eps = budget(horizon)
    random = generator(rng)
    y = random.permutation(np.arange(horizon) % 2).astype(np.int8)
    return Sequence(np.where(y == 1, 0.5 - eps, 0.5 + eps), y)


def _halves(said: tuple[float, float], frequency: tuple[float, float], horizon: int, rng: Rng) -> Sequence:
    """Two halves, each with the whole number of ones next to its frequency, in random order."""
    random, sizes = generator(rng), (horizon - horizon // 2, horizon // 2)
    outcomes = [
        random.permutation((np.arange(size) < floor(share * size + 0.5)).astype(np.int8))
        for size, share in zip(sizes, frequency, strict=True)
    ]
    return Sequence(np.repeat(said, sizes), np.concatenate(outcomes))
