"""Forecasters that announce the frequency of ones: the running mean, and the perturbed leader for U-calibration."""

from __future__ import annotations

from math import log1p, sqrt
from typing import ClassVar, final

import numpy as np

from trustcal.checking import Role, checked_count
from trustcal.forecasters.forecaster import Coins, FloatArray, Forecast, Forecaster, IntArray
from trustcal.guarantees import Bound
from trustcal.smoothing.draws import seed_from


@final
class RunningMean(Forecaster):
    """The frequency so far, (ones + 1/2)/(rounds + 1): the baseline, without a guarantee.  O(1) per round.

    Examples
    --------
    >>> forecaster = RunningMean()
    >>> forecaster.play([1, 1, 0])
    array([0.5       , 0.75      , 0.83333333])
    """

    randomised = False
    _STATE: ClassVar[tuple[str, ...]] = ("ones",)

    def __init__(self) -> None:
        self.ones = 0
        """Number of ones so far."""

    def __repr__(self) -> str:
        return f"RunningMean(ones={self.ones}, rounds={self.rounds})"

    def forecast(self) -> Forecast:
        """One value with probability 1."""
        return Forecast((self._announce(),), (1.0,))

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """Nothing: an adversary who opposes makes ECE and CDL large.  The Brier regret is not bounded here."""
        checked_count("horizon", horizon)
        return ()

    def _announce(self) -> float:
        return (self.ones + 0.5) / (self.rounds + 1)

    def _update(self, y: int) -> None:
        self.ones += y

    def _play(self, y: IntArray) -> FloatArray:
        before = self.ones + np.cumsum(y) - y
        self.ones += int(y.sum())
        return np.asarray((before + 0.5) / (np.arange(self.rounds, self.rounds + len(y)) + 1))

    def _is_sound(self) -> bool:
        return 0 <= self.ones <= self.rounds


@final
class PerturbedLeader(Forecaster):
    """Every decision maker does nearly as well as with the best constant: regret ≤ 2√(2/T) (Theorem O.4).

        announce (ones + g1)/(rounds + g0 + g1) with fresh g0, g1,   Pr[g = k] = ρ(1 − ρ)^k,   ρ = √(2/T)

    The expected regret of every proper score in [0, 1] is at most ρ + 2(1 − ρ)/(ρT) per round.  ECE and CDL are not
    bounded.  O(1) per round; one integer.

    Parameters
    ----------
    horizon : int
        T, the number of rounds, at least 3.
    rng : Generator or int, optional
        Source of the perturbations.

    References
    ----------
    Kleinberg, Paes Leme, Schneider and Teng (2023) introduce U-calibration; Luo, Senapati and Sharan (2024) show that
    one perturbation serves all scores.

    Examples
    --------
    >>> print(PerturbedLeader(10**6, rng=1).guarantee(10**6)[0])
    pseudo-U-calibration ≤ 0.00282643 (Theorem O.4)
    """

    _STATE: ClassVar[tuple[str, ...]] = ("ones",)

    def __init__(self, horizon: int, *, rng: np.random.Generator | int | None = None) -> None:
        self.horizon = checked_count("horizon", horizon, least=3)
        self.rate = sqrt(2 / self.horizon)
        """ρ, the parameter of the geometric perturbations."""
        self.ones = 0
        self.seed = seed_from(rng)
        self._coins = Coins(self.seed, Role.FORECASTER)

    def __repr__(self) -> str:
        return f"PerturbedLeader(horizon={self.horizon}, ones={self.ones}, rounds={self.rounds})"

    def forecast(self) -> Forecast:
        """The mean announcement given g0 + g1 (given the sum, g1 is uniform), at 32 quantiles of the sum.

        The distribution has too many values to list.  Each of these means is on the same side of 1/2 as the
        mean announcement.
        """
        from scipy.special import gammaincinv

        total = np.floor(gammaincinv(2.0, (np.arange(32) + 0.5) / 32) / self.rate)  # ρ·(g0 + g1) is nearly Gamma(2)
        values = (self.ones + total / 2) / np.maximum(self.rounds + total, 1.0)
        values[self.rounds + total == 0] = 0.5
        return Forecast(tuple(values.tolist()), (1 / 32,) * 32)

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """The largest expected regret of a proper score in [0, 1] against the best constant."""
        value = self.rate + 2 * (1 - self.rate) / (self.rate * checked_count("horizon", horizon))
        return (Bound("pseudo-U-calibration", value, "Theorem O.4", True),)

    def _announce(self) -> float:
        u = np.array([self._coins.at(2 * self.rounds), self._coins.at(2 * self.rounds + 1)])
        g0, g1 = self._geometric(u).tolist()
        weight = self.rounds + g0 + g1
        return (self.ones + g1) / weight if weight else 0.5

    def _update(self, y: int) -> None:
        self.ones += y

    def _play(self, y: IntArray) -> FloatArray:
        drawn = self._geometric(self._coins.between(2 * self.rounds, 2 * (self.rounds + len(y))))
        g0, g1 = drawn[::2], drawn[1::2]
        ones = self.ones + np.cumsum(y) - y + g1
        weight = np.arange(self.rounds, self.rounds + len(y)) + g0 + g1
        self.ones += int(y.sum())
        return np.where(weight > 0, ones / np.maximum(weight, 1.0), 0.5)

    def _geometric(self, u: FloatArray) -> FloatArray:
        """⌊ln u/ln(1 − ρ)⌋: at least k with probability (1 − ρ)^k."""
        return np.floor(np.log(u) / log1p(-self.rate))

    def _is_sound(self) -> bool:
        return 0 <= self.ones <= self.rounds
