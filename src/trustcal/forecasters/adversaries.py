"""Adversaries choose the outcomes.  They know the past and the distribution of the next announcement, not its draw.

    Replay(outcomes)       outcomes fixed in advance: real data, or those drawn by one of these functions:
        replay, iid(theta), drift, walk, switch, hard
    Opposing()             1 if the mean announcement is below 1/2
    Greedy()               the outcome that adds most to the expected calibration error
    SignPreserving(T)      coins with a bias that later rounds cannot cancel

`duel` plays a forecaster against an adversary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trustcal.cells import cells_for
from trustcal.checking import Role, checked_count, checked_outcomes, checked_prediction
from trustcal.forecasters.forecaster import Coins, FloatArray, Forecast, Forecaster, IntArray
from trustcal.smoothing.draws import seed_from, uniforms

Rng = np.random.Generator | int | None


class Adversary(ABC):
    """Chooses the outcome of a round before the announcement is drawn, then sees it."""

    @abstractmethod
    def choose(self, forecast: Forecast) -> int:
        """The outcome of the round whose announcement has this distribution."""

    @abstractmethod
    def observe(self, p: float, y: int) -> None:
        """Learn the announcement and the outcome of the round."""


@final
class Replay(Adversary):
    """Outcomes fixed in advance.

    >>> Replay([1, 0, 1]).outcomes
    array([1, 0, 1])
    """

    def __init__(self, outcomes: ArrayLike) -> None:
        self.outcomes = checked_outcomes(outcomes)
        self.outcomes.flags.writeable = False
        self._round = 0

    def choose(self, forecast: Forecast) -> int:  # noqa: ARG002
        """The next outcome."""
        if self._round == len(self.outcomes):
            raise ValueError(f"all {len(self.outcomes)} outcomes have been replayed.")
        return int(self.outcomes[self._round])

    def observe(self, p: float, y: int) -> None:  # noqa: ARG002
        """Move to the next outcome."""
        self._round += 1


def replay(outcomes: ArrayLike, horizon: int, rng: Rng = None) -> Replay:  # noqa: ARG001
    """The first `horizon` of these outcomes, as an adversary of the arena.

    >>> replay([1, 0, 1, 1], 3).outcomes
    array([1, 0, 1])
    """
    return Replay(_first(Replay(outcomes), checked_count("horizon", horizon)))


def iid(theta: float, horizon: int, rng: Rng = None) -> Replay:
    """Independent outcomes, 1 with probability theta.

    >>> int(iid(1.0, 5, rng=1).outcomes.sum())
    5
    """
    return _coins(np.full(checked_count("horizon", horizon), checked_prediction(theta)), rng)


def drift(horizon: int, rng: Rng = None) -> Replay:
    """Independent outcomes whose probability oscillates between 0.1 and 0.9, three periods in all."""
    t = np.arange(checked_count("horizon", horizon))
    return _coins(0.5 + 0.4 * np.sin(6 * np.pi * t / horizon), rng)


def walk(horizon: int, rng: Rng = None) -> Replay:
    """Outcomes whose probability is a random walk with steps T^(−1/2), reflected at 0 and 1."""
    seed = seed_from(rng)
    steps = np.where(_draws(seed, Role.CHANCES, checked_count("horizon", horizon)) < 0.5, -1.0, 1.0) / sqrt(horizon)
    place = np.abs((0.5 + np.cumsum(steps) + 1) % 2 - 1)  # reflection as a fold of a circle of length 2
    return _coins(place, seed)


def switch(horizon: int, rng: Rng = None) -> Replay:
    """Outcomes whose probability switches between 0.2 and 0.8 with probability T^(−1/2) per round."""
    seed = seed_from(rng)
    turns = np.cumsum(_draws(seed, Role.CHANCES, checked_count("horizon", horizon)) < 1 / sqrt(horizon))
    return _coins(np.where(turns % 2, 0.8, 0.2), seed)


def hard(horizon: int, rng: Rng = None) -> Replay:
    """The outcomes of the paper's first hard sequence (Theorem 4.4) with eps = T^(−1/2), s = √eps.

    The first half of the rounds has frequency 1/2 − (s/2 − eps), the second 1/2 + (s/2 − eps).
    """
    eps = 1 / sqrt(checked_count("horizon", horizon))
    gap = sqrt(eps) / 2 - eps
    return _coins(np.where(np.arange(horizon) < horizon // 2, 0.5 - gap, 0.5 + gap), rng)


@final
class Opposing(Adversary):
    """1 if the mean announcement is below 1/2, else 0.  Deterministic forecasters then have ECE ≥ 1/2.

    >>> Opposing().choose(Forecast((0.25, 0.75), (0.75, 0.25)))
    1
    """

    def choose(self, forecast: Forecast) -> int:
        """1 if the mean is below 1/2."""
        return int(forecast.mean < 0.5)

    def observe(self, p: float, y: int) -> None:
        """Nothing to remember."""


@final
class Greedy(Adversary):
    """The outcome that adds more to Σ_v |Σ (y − v)|, on average over the announcement: greedy for ECE.

    >>> greedy = Greedy()
    >>> greedy.observe(0.75, 0)
    >>> greedy.choose(Forecast((0.75,), (1.0,)))
    0
    """

    def __init__(self) -> None:
        self._bias: dict[float, float] = {}

    def choose(self, forecast: Forecast) -> int:
        """The outcome with the larger gain; at a tie, the opposite of the mean announcement."""
        gain = 0.0  # of 1 over 0
        for p, weight in zip(*forecast, strict=True):
            bias = self._bias.get(p, 0.0)
            gain += weight * (abs(bias + 1 - p) - abs(bias - p))
        return int(gain > 0 or (gain == 0 and forecast.mean < 0.5))

    def observe(self, p: float, y: int) -> None:
        """Add the outcome to the bias of the announced value."""
        self._bias[p] = self._bias.get(p, 0.0) + y - p


@final
class SignPreserving(Adversary):
    """Epochs of T^(2/3) coins with bias θ; the next θ cannot cancel the bias of this epoch's announcements.

    Announcements below θ have seen too many ones.  If later coins are above θ, their bias can only grow; likewise for
    announcements above.  So the side with the larger bias is kept, and θ moves into the other half of its interval.
    The interval starts at [1/4, 3/4], and restarts there when it is shorter than T^(−1/3).  In the spirit of the sign
    preservation of Qiao and Valiant (2021) and Dagan et al. (2025), who prove T^(−0.472) and T^(−0.456); this is not
    their optimal strategy.
    """

    def __init__(self, horizon: int, *, rng: Rng = None) -> None:
        self._shortest = 1 / cells_for(checked_count("horizon", horizon))
        self._epoch = max(1, horizon // cells_for(horizon))
        self._coins = Coins(seed_from(rng), Role.OUTCOMES)
        self._low, self._high = 0.25, 0.75
        self._below, self._above, self._round = 0.0, 0.0, 0

    def choose(self, forecast: Forecast) -> int:  # noqa: ARG002
        """A toss of the epoch's coin."""
        return int(self._coins.at(self._round) < (self._low + self._high) / 2)

    def observe(self, p: float, y: int) -> None:
        """Add to the bias on the side of the announcement; at the end of an epoch move θ."""
        theta = (self._low + self._high) / 2
        if p < theta:
            self._below += y - p
        else:
            self._above += p - y
        self._round += 1
        if self._round % self._epoch == 0:
            self._low, self._high = (theta, self._high) if self._below > self._above else (self._low, theta)
            if self._high - self._low < self._shortest:
                self._low, self._high = 0.25, 0.75
            self._below = self._above = 0.0


def duel(forecaster: Forecaster, adversary: Adversary, horizon: int) -> tuple[FloatArray, IntArray]:
    """Play `horizon` rounds: announcements and outcomes.  Compiled if the outcomes are fixed in advance.

    >>> from trustcal.forecasters import RunningMean
    >>> duel(RunningMean(), Opposing(), 4)
    (array([0.5  , 0.25 , 0.5  , 0.375]), array([0, 1, 0, 1]))
    """
    many = checked_count("horizon", horizon)
    if isinstance(adversary, Replay):
        outcomes = _first(adversary, many)
        return forecaster.play(outcomes), outcomes
    announced, outcomes = np.empty(many), np.empty(many, dtype=np.int64)
    for t in range(many):
        y = adversary.choose(forecaster.forecast())
        p = forecaster.predict_one()
        forecaster.learn_one(y)
        adversary.observe(p, y)
        announced[t], outcomes[t] = p, y
    return announced, outcomes


def _first(adversary: Replay, many: int) -> IntArray:
    if len(adversary.outcomes) < many:
        raise ValueError(f"{many} rounds need as many outcomes, but there are {len(adversary.outcomes)} to replay.")
    return adversary.outcomes[:many]


def _coins(theta: FloatArray, rng: Rng) -> Replay:
    return Replay(_draws(seed_from(rng), Role.OUTCOMES, len(theta)) < theta)


def _draws(seed: int, role: Role, many: int) -> FloatArray:
    return uniforms(seed, role, np.arange(many, dtype=np.uint64))
