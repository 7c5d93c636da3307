"""Weights on thresholds: a forecaster whose bias below every threshold is small."""

from __future__ import annotations

from math import ceil, log, log1p, sqrt
from typing import ClassVar, final

import numpy as np

from trustcal.checking import Role, checked_cells, checked_count
from trustcal.forecasters.forecaster import Coins, FloatArray, Forecast, Forecaster, IntArray
from trustcal.guarantees import Bound
from trustcal.smoothing.draws import seed_from


@final
class StepForecaster(Forecaster):
    """Step calibration error at most 2·√(ln(2m + 2)/T) + 1/(4m), of the order √(log T/T) (Theorem O.9).

    The step calibration error is the largest |Σ (y − p)|/T over the rounds with p ≤ θ.  Announcements are multiples of
    1/m.  Each threshold i/m has two weights, for too many and for too few ones among announcements up to it:

        after announcing p, multiply the two weights of each threshold ≥ p by 1 + η(y − p) and 1 − η(y − p),
        η = √(ln(2m + 2)/T), at most 1/2;  h(p) = Σ (first − second weight) over thresholds ≥ p
        announce 0 if h(0) ≤ 0, 1 if h(1) ≥ 0, else one of two neighbours between which h changes sign, with
        probabilities for which the mean of h is 0

    So the sum of all weights hardly grows, on average.  Where the bias below every threshold is small, nobody gains by
    moving a threshold: monotone CDL ≤ 2·cutoff ≤ 4·step (Theorems 29 and 30).  O(m) per round; 2m + 2 floats.

    Parameters
    ----------
    horizon : int
        T, the number of rounds.
    cells : int, optional
        m.  Default ⌈√T⌉.
    rng : Generator or int, optional
        Source of the coins.

    References
    ----------
    Qiao and Zhao, *Truthfulness of decision-theoretic calibration measures* (2025), introduce the measure and have this
    rate.  Weights without exponentials: Cesa-Bianchi, Mansour and Stoltz (2007).

    Examples
    --------
    >>> forecaster = StepForecaster(horizon=100, rng=1)
    >>> print(forecaster.guarantee(100)[0])
    step ≤ 0.376627 (Theorem O.9)
    """

    _STATE: ClassVar[tuple[str, ...]] = ("over", "under")

    def __init__(self, horizon: int, *, cells: int | None = None, rng: np.random.Generator | int | None = None) -> None:
        self.horizon = checked_count("horizon", horizon)
        many = checked_cells(ceil(sqrt(self.horizon)) if cells is None else cells) + 1
        self.over, self.under = [0.0] * many, [0.0] * many
        """Logarithms of the weights for too many and too few ones among announcements up to each multiple of 1/m."""
        self.rate = min(sqrt(log(2 * many) / self.horizon), 0.5)
        self.seed = seed_from(rng)
        self._coins = Coins(self.seed, Role.FORECASTER)

    @property
    def cells(self) -> int:
        """m: announcements are multiples of 1/m."""
        return len(self.over) - 1

    def __repr__(self) -> str:
        return f"StepForecaster(horizon={self.horizon}, cells={self.cells}, rounds={self.rounds})"

    def forecast(self) -> Forecast:
        """Two neighbouring multiples of 1/m, or one value."""
        low, up = _balanced(np.array(self.over), np.array(self.under))
        if up == 0:
            return Forecast((low / self.cells,), (1.0,))
        return Forecast((low / self.cells, (low + 1) / self.cells), (1 - up, up))

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """Step calibration, and what follows from it, on average over the coins."""
        after = checked_count("horizon", horizon)
        value = log(2 * self.cells + 2) / (self.rate * after) + self.rate + 1 / (4 * self.cells)
        return (
            Bound("step", value, "Theorem O.9", True),
            Bound("cutoff", 2 * value, "Theorems O.9 and 30", True),
            Bound("monotone CDL", 4 * value, "Theorems O.9, 29 and 30", True),
        )

    def _announce(self) -> float:
        return _drawn(np.array(self.over), np.array(self.under), self._coins.at(self.rounds)) / self.cells

    def _update(self, y: int) -> None:
        assert self._announced is not None
        over, under = np.array(self.over), np.array(self.under)
        _learn(over, under, round(self._announced * self.cells), y, self.rate)
        self.over, self.under = over.tolist(), under.tolist()

    def _play(self, y: IntArray) -> FloatArray:
        over, under, said = np.array(self.over), np.array(self.under), np.empty(len(y))
        coins = self._coins.between(self.rounds, self.rounds + len(y))
        for t, (coin, outcome) in enumerate(zip(coins.tolist(), y.tolist(), strict=True)):
            at = _drawn(over, under, coin)
            said[t] = at / self.cells
            _learn(over, under, at, outcome, self.rate)
        self.over, self.under = over.tolist(), under.tolist()
        return said

    def _is_sound(self) -> bool:
        return len(self.over) == len(self.under)


def _balanced(over: FloatArray, under: FloatArray) -> tuple[int, float]:
    """The lower of two neighbours where h changes sign, and the probability of the upper one; 0 for one value."""
    top = max(over.max(), under.max())  # the weights themselves overflow in long games
    lean = np.cumsum((np.exp(over - top) - np.exp(under - top))[::-1])[::-1]
    if lean[0] <= 0:
        return 0, 0.0
    if lean[-1] >= 0:
        return len(lean) - 1, 0.0
    low = int(np.argmax(lean <= 0)) - 1
    return low, float(lean[low] / (lean[low] - lean[low + 1]))


def _drawn(over: FloatArray, under: FloatArray, coin: float) -> int:
    low, up = _balanced(over, under)
    return low + (coin < up)


def _learn(over: FloatArray, under: FloatArray, at: int, y: int, rate: float) -> None:
    step = rate * (y - at / (len(over) - 1))
    over[at:] += log1p(step)
    under[at:] += log1p(-step)
