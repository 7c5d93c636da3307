"""The running mean with noise: no regret for every decision maker, and logarithmic regret for smooth scores."""

from __future__ import annotations

from math import log, sqrt
from typing import ClassVar, final

import numpy as np

from trustcal.checking import Role, checked_count
from trustcal.forecasters.forecaster import Coins, FloatArray, Forecast, Forecaster, IntArray
from trustcal.guarantees import Bound
from trustcal.smoothing.draws import seed_from


@final
class NoisyMean(Forecaster):
    """The frequency so far with uniform noise that shrinks: regret ≤ √(2/T) for every score, any T (Theorem O.8).

        in round t announce clip(mean of y_1, …, y_(t−1) + √(2/t)·U, 0, 1) with a fresh U, uniform on [−1, 1]

    The expected regret of every proper score in [0, 1] against the best constant is at most √(2/T) per round, half of
    what `PerturbedLeader` guarantees, and without knowing T.  That of the Brier score is at most (5/3)(1 + ln T)/T, and
    that of a score with u'' ≤ β at most β(2.1 + 1.71·ln T)/T.  ECE and CDL are not bounded.  O(1) per round; one
    integer.

    Parameters
    ----------
    rng : Generator or int, optional
        Source of the noise.

    References
    ----------
    Frongillo, Luo, Mehta and Schneider, *Toward simultaneously optimal regret in U-calibration* (2026), have these
    rates for any number of outcomes, with self-concordant noise.  Noise and proof here are simpler, for two outcomes.

    Examples
    --------
    >>> print(*NoisyMean(rng=1).guarantee(10**6), sep="; ")
    pseudo-U-calibration ≤ 0.00141421 (Theorem O.8); Brier regret ≤ 2.46925e-05 (Theorem O.8)
    """

    _STATE: ClassVar[tuple[str, ...]] = ("ones",)

    def __init__(self, *, rng: np.random.Generator | int | None = None) -> None:
        self.ones = 0
        self.seed = seed_from(rng)
        self._coins = Coins(self.seed, Role.FORECASTER)

    def __repr__(self) -> str:
        return f"NoisyMean(ones={self.ones}, rounds={self.rounds})"

    def forecast(self) -> Forecast:
        """32 quantiles of the next announcement, which is continuous but for atoms at 0 and 1."""
        u = (np.arange(32) + 0.5) / 32
        said = _announced(np.full(32, float(self.ones)), np.full(32, float(self.rounds)), u)
        return Forecast(tuple(said.tolist()), (1 / 32,) * 32)

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """The largest expected regret of a proper score in [0, 1] against the best constant, and that of Brier's."""
        after = checked_count("horizon", horizon)
        return (
            Bound("pseudo-U-calibration", sqrt(2 / after), "Theorem O.8", True),
            Bound("Brier regret", 5 / 3 * (1 + log(after)) / after, "Theorem O.8", True),
        )

    def _announce(self) -> float:
        u = self._coins.at(self.rounds)
        return float(_announced(np.array([float(self.ones)]), np.array([float(self.rounds)]), np.array([u]))[0])

    def _update(self, y: int) -> None:
        self.ones += y

    def _play(self, y: IntArray) -> FloatArray:
        before = np.arange(self.rounds, self.rounds + len(y), dtype=float)
        ones = (self.ones + np.cumsum(y) - y).astype(float)
        self.ones += int(y.sum())
        return _announced(ones, before, self._coins.between(self.rounds, self.rounds + len(y)))

    def _is_sound(self) -> bool:
        return 0 <= self.ones <= self.rounds


def _announced(ones: FloatArray, before: FloatArray, u: FloatArray) -> FloatArray:
    """The mean of the rounds before with noise of half-width √(2/t), t = before + 1."""
    mean = np.where(before > 0, ones / np.maximum(before, 1.0), 0.5)
    return np.clip(mean + np.sqrt(2 / (before + 1)) * (2 * u - 1), 0.0, 1.0)
