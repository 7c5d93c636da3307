"""Forecasters that randomise between two neighbouring buckets of probabilities, for ECE and for CDL."""

from __future__ import annotations

from math import ceil, isqrt, log, sqrt
from typing import ClassVar, Literal, final

import numpy as np

from trustcal.cells import cells_for
from trustcal.checking import Role, checked_cells, checked_choice, checked_count
from trustcal.forecasters.forecaster import Coins, FloatArray, Forecast, Forecaster, IntArray
from trustcal.guarantees import Bound
from trustcal.kernels.forecasting import bucket_pair, exponential_up, play_buckets, square_up
from trustcal.smoothing.draws import seed_from

Potential = Literal["exponential", "square"]


class BucketForecaster(Forecaster):
    """Buckets [i/m, (i + 1)/m] count their rounds n[i] and ones s[i], and announce their midpoint (i + 1/2)/m.

    A bucket is too high if s < n·i/m and too low if s > n·(i + 1)/m.  From the bucket played last move up while too low
    and down while too high, to a bucket that is neither, or to two neighbours, the lower one too low and the upper one
    too high.  A coin weighted by a potential chooses between the two so that, to first order, the potential does not
    grow, whatever the outcome.
    """

    _STATE: ClassVar[tuple[str, ...]] = ("n", "s", "position")
    potential: Potential

    @property
    def cells(self) -> int:
        """m, the number of buckets."""
        return len(self.n)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(horizon={self.horizon}, cells={self.cells}, rounds={self.rounds})"

    @final
    def forecast(self) -> Forecast:
        """One midpoint, or those of two neighbours with the coin's probabilities."""
        low, high, up = self._mix()
        if low == high:
            return Forecast((self._middle(low),), (1.0,))
        return Forecast((self._middle(low), self._middle(high)), (1 - up, up))

    @final
    def _begin(self, horizon: int, cells: int, rng: np.random.Generator | int | None) -> None:
        self.horizon = checked_count("horizon", horizon)
        self.n = [0] * checked_cells(cells)
        self.s = [0] * len(self.n)
        self.position = len(self.n) // 2
        self.seed = seed_from(rng)
        self._coins = Coins(self.seed, Role.FORECASTER)
        self._mixture: tuple[int, int, float] | None = None

    @final
    def _mix(self) -> tuple[int, int, float]:
        """The two buckets of the round, and the probability of the upper one."""
        if self._mixture is None:
            low, high = bucket_pair(self.n, self.s, self.position)
            weigh = square_up if self.potential == "square" else exponential_up
            self._mixture = low, high, 0.0 if low == high else weigh(self.n, self.s, low, high)
        return self._mixture

    @final
    def _announce(self) -> float:
        low, high, up = self._mix()
        self.position = high if low != high and self._coins.at(self.rounds) < up else low
        return self._middle(self.position)

    @final
    def _update(self, y: int) -> None:
        self.n[self.position] += 1
        self.s[self.position] += y
        self._mixture = None

    @final
    def _play(self, y: IntArray) -> FloatArray:
        n, s, bucket = np.array(self.n), np.array(self.s), np.empty(len(y), dtype=np.int64)
        coins = self._coins.between(self.rounds, self.rounds + len(y))
        run = play_buckets.on(20 * len(y))
        self.position = int(run(n, s, self.position, y, coins, self.potential == "exponential", bucket))
        self.n, self.s, self._mixture = n.tolist(), s.tolist(), None
        return np.asarray((2 * bucket + 1) / (2 * self.cells))

    @final
    def _is_sound(self) -> bool:
        counted = all(0 <= ones <= many for many, ones in zip(self.n, self.s, strict=True))
        return counted and sum(self.n) == self.rounds and 0 <= self.position < self.cells

    @final
    def _middle(self, i: int) -> float:
        return (2 * i + 1) / (2 * self.cells)

    @final
    def _square_ece(self, horizon: int) -> float:
        """Theorem O.2: half the width of a bucket, and the surplus that their number allows."""
        return 1 / (2 * self.cells) + sqrt(self.cells / checked_count("horizon", horizon))


@final
class CalibratedForecaster(BucketForecaster):
    """Foster's forecaster: E ECE ≤ 1/(2m) + √(m/T), which is 1.5·T^(−1/3) at m = T^(1/3) (Theorem O.2).

    If the lower bucket is too low by e = s − n·(i + 1)/m and the upper one too high by d = n·i/m − s, the upper one is
    announced with probability e/(e + d).  Then Σ e² + d² grows by at most 1 a round on average.  The outcome may depend
    on everything but the coin.  O(log m) per round; 2m integers.

    Parameters
    ----------
    horizon : int
        T, the number of rounds.
    cells : int, optional
        m, the number of buckets.  Default ⌈T^(1/3)⌉.
    rng : Generator or int, optional
        Source of the coins.

    References
    ----------
    Foster, *A proof of calibration via Blackwell's approachability theorem* (1999); the search is ours.

    Examples
    --------
    >>> forecaster = CalibratedForecaster(horizon=27, rng=1)
    >>> _ = forecaster.play([1, 0])
    >>> forecaster.n, forecaster.s, forecaster.forecast().weights
    ([0, 1, 1], [0, 1, 0], (0.6666666666666667, 0.3333333333333333))
    >>> print(CalibratedForecaster(10**6).guarantee(10**6)[0])
    ECE ≤ 0.015 (Theorem O.2)
    """

    potential: Potential = "square"

    def __init__(self, horizon: int, *, cells: int | None = None, rng: np.random.Generator | int | None = None) -> None:
        self._begin(horizon, cells_for(checked_count("horizon", horizon)) if cells is None else cells, rng)

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """ECE ≤ 1/(2m) + √(m/T), CDL ≤ 2·ECE and DTC ≤ ECE, in expectation."""
        value = self._square_ece(horizon)
        return (
            Bound("ECE", value, "Theorem O.2", True),
            Bound("CDL", 2 * value, "Theorems O.2 and 2", True),
            Bound("DTC", value, "Theorem O.2", True),
        )


@final
class DecisionForecaster(BucketForecaster):
    """Buckets for decision makers: E CDL = O(log T/√T) with the exponential potential (Theorem O.3).

        F_n(x) = √(4/(n + 4))·exp(2·max(x, 0)²/(n + 4)) of each surplus x;  β = its increase from the better outcome to
        the worse;  the upper neighbour has probability β_lower/(β_lower + β_upper)

    The surplus of every bucket is then of order √(n·log T), and distant buckets do not affect a threshold.  O(log m)
    per round; 2m integers.

    Parameters
    ----------
    horizon : int
        T, the number of rounds.
    cells : int, optional
        m, the number of buckets.  Default ⌈√T/ln T⌉; ⌈√T⌉ for the square potential.
    potential : {"exponential", "square"}
        "square" uses Foster's weights: in the games of the arena its worst CDL is several times smaller, but only
        CDL ≤ 2·T^(−1/4)·(1 + o(1)) is proved.  We know of no proof of T^(−1/2).
    rng : Generator or int, optional
        Source of the coins.

    References
    ----------
    Hu and Wu, *Predict to minimize swap regret for all payoff-bounded tasks* (2024), have the same rate by another
    algorithm.

    Examples
    --------
    >>> print(DecisionForecaster(10**6).guarantee(10**6)[0])
    CDL ≤ 0.0291105 (Theorem O.3)
    >>> print(DecisionForecaster(10**6, potential="square").guarantee(10**6)[0])
    CDL ≤ 0.0642456 (Theorems O.2 and 2)
    """

    def __init__(
        self,
        horizon: int,
        *,
        cells: int | None = None,
        potential: Potential = "exponential",
        rng: np.random.Generator | int | None = None,
    ) -> None:
        self.potential = checked_choice("potential", potential, ("exponential", "square"))
        if cells is None:
            many = checked_count("horizon", horizon)
            cells = isqrt(many - 1) + 1 if potential == "square" else ceil(sqrt(many) / max(1.0, log(many)))
        self._begin(horizon, cells, rng)

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """CDL in expectation: Theorem O.3, or twice the ECE of Theorem O.2."""
        if self.potential == "square":
            return (Bound("CDL", 2 * self._square_ece(horizon), "Theorems O.2 and 2", True),)
        m, after = self.cells, checked_count("horizon", horizon)
        harmonic = sum(1 / k for k in range(1, m + 1))
        chance = min(1.0, m * harmonic / (2 * after))  # with probability 1 − chance every surplus is ≤ √(c2·(n + 4))
        c2 = (log(6.1 * m / chance) + 0.5 * log(1 + after / 4)) / 2
        regret = sqrt(3 * c2 * (after + 12)) + after / (2 * m) + c2 * m * harmonic / 2 + 2 * m + 2
        return (Bound("CDL", 2 * regret / after + chance, "Theorem O.3", True),)
