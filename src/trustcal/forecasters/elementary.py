"""The elementary predictor: distance to calibration T^(−1/2) from a few integers."""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import Any, ClassVar, Self, final

import numpy as np

from trustcal.cells import ENDS, End
from trustcal.checking import checked_cells, checked_choice, checked_count
from trustcal.forecasters.forecaster import FloatArray, Forecast, Forecaster, IntArray
from trustcal.guarantees import Bound
from trustcal.kernels.forecasting import crossing, play_elementary


@final
class ElementaryPredictor(Forecaster):
    """A deterministic forecaster with DTC ≤ √(3/(2T)), or ≤ 2.15/√T at every T without knowing T (Theorem O.1).

    Grid points 0, 1/m, …, 1 each keep a balance A[j] = Σ (m·y − j) of the outcomes booked there.

        find i with A[i] ≥ 0 ≥ A[i + 1];  announce (i + 1/2)/m;  then book the outcome at i + y

    The point where an outcome is booked is 1/(2m) from the announcement, and these points are nearly calibrated because
    no balance exceeds m: A[j] stays in [−j, m − j].  Nothing is proved about ECE and CDL: an adversary who knows the
    announcement makes them 1/2 and 1.  O(log m) per round; m + 1 integers.

    Parameters
    ----------
    horizon : int, optional
        T, the number of rounds.  Without it the grid is refined, m doubled, once ⌈3m²/2⌉ rounds have been played
        in all.
    cells : int, optional
        m, the number of cells.  Default ⌈√(2T/3)⌉; ⌈√T⌉ with end="left".
    end : {"middle", "left"}
        Announce the middle of a cell, which has the better constant, or its left end, as the authors do.

    References
    ----------
    Arunachaleswaran, Collina, Roth and Shi, *An elementary predictor obtaining distance to calibration 2√T* (2025),
    re-derived.

    Examples
    --------
    >>> forecaster = ElementaryPredictor(horizon=6)
    >>> said = []
    >>> for y in (1, 1, 0, 1):
    ...     said.append(forecaster.predict_one())
    ...     forecaster.learn_one(y)
    >>> said, forecaster.balance
    ([0.25, 0.75, 0.75, 0.75], [0, 0, 0])
    >>> print(forecaster.guarantee(6)[0])
    DTC ≤ 0.333333 (Theorem O.1)
    """

    randomised = False
    _STATE: ClassVar[tuple[str, ...]] = ("balance", "position")

    def __init__(self, horizon: int | None = None, *, cells: int | None = None, end: End = "middle") -> None:
        self.end = checked_choice("end", end, ENDS)
        self.horizon = None if horizon is None else checked_count("horizon", horizon)
        if cells is not None and horizon is None:
            raise ValueError("cells= needs horizon=: without a horizon the number of cells grows with time.")
        if cells is None:
            cells = 1 if self.horizon is None else cells_elementary(self.horizon, end)
        self.balance = [0] * (checked_cells(cells) + 1)
        """A[j], of the outcomes booked at j/m, in units of 1/m."""
        self.position = 0
        """The cell [i/m, (i + 1)/m] of the latest announcement."""

    @property
    def cells(self) -> int:
        """m, the current number of cells."""
        return len(self.balance) - 1

    def __repr__(self) -> str:
        return (
            f"ElementaryPredictor(horizon={self.horizon}, cells={self.cells}, end={self.end!r}, rounds={self.rounds})"
        )

    def forecast(self) -> Forecast:
        """One value with probability 1."""
        return Forecast((self._said(crossing(self.balance, self.position)),), (1.0,))

    def certificate(self) -> Bound:
        """The bound that the state alone proves: DTC ≤ mean distance to the booked points + Σ|A|/(mT).

        Examples
        --------
        >>> forecaster = ElementaryPredictor()
        >>> _ = forecaster.play([1, 0] * 500)
        >>> print(forecaster.certificate())
        DTC ≤ 0.0281563 (Theorem O.1, from the state)
        """
        value = self._moved(self.rounds) + sum(map(abs, self.balance)) / self.cells
        return Bound("DTC", value / max(self.rounds, 1), "Theorem O.1, from the state", True)

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """DTC ≤ mean distance to the booked points + Σ max(j/m, 1 − j/m)/T; smCal ≤ 2·DTC (Theorem 4)."""
        after = checked_count("horizon", horizon)
        m = self._schedule(after)[-1][1]
        value = (self._moved(after) + sum(max(j, m - j) for j in range(1, m)) / m) / after
        return Bound("DTC", value, "Theorem O.1", True), Bound("smCal", 2 * value, "Theorems O.1 and 4", True)

    def _announce(self) -> float:
        self.position = crossing(self.balance, self.position)
        return self._said(self.position)

    def _update(self, y: int) -> None:
        if y:
            self.balance[self.position + 1] += self.cells - (self.position + 1)
        else:
            self.balance[self.position] -= self.position
        self._refine(self.rounds + 1)

    def _play(self, y: IntArray) -> FloatArray:
        announced, first = np.empty(len(y)), 0
        while first < len(y):
            room = len(y) if self.horizon is not None else self._last(self.cells) - self.rounds
            last = min(len(y), max(room, first + 1))
            balance, cell = np.array(self.balance), np.empty(last - first, dtype=np.int64)
            run = play_elementary.on(20 * len(y))
            self.position = int(run(balance, self.position, y[first:last], cell))
            self.balance = balance.tolist()
            announced[first:last] = cell / self.cells if self.end == "left" else (2 * cell + 1) / (2 * self.cells)
            first = last
            self._refine(self.rounds + first)
        return announced

    def _said(self, i: int) -> float:
        return i / self.cells if self.end == "left" else (2 * i + 1) / (2 * self.cells)

    def _refine(self, after: int) -> None:
        """Halve the cells when it is time: what is booked at j/m is booked at 2j/(2m)."""
        if self.horizon is None and after >= self._last(self.cells):
            fine = [0] * (2 * self.cells + 1)
            fine[::2] = [2 * balance for balance in self.balance]
            self.balance, self.position = fine, 2 * self.position

    @staticmethod
    def _last(cells: int) -> int:
        """Without a horizon: the round after which the cells are halved, ⌈3m²/2⌉."""
        return (3 * cells * cells + 1) // 2

    def _schedule(self, after: int) -> list[tuple[int, int]]:
        """Pairs (rounds, cells): the number of rounds played with each number of cells."""
        if self.horizon is not None:
            return [(after, self.cells)]
        m, played, phases = 1, 0, []
        while self._last(m) < after:
            phases.append((self._last(m) - played, m))
            m, played = 2 * m, self._last(m)
        return [*phases, (after - played, m)]

    def _moved(self, after: int) -> float:
        """An upper bound on the sum of the distances between announcements and booked points."""
        share = 1 if self.end == "left" else 2
        return sum(played / (share * m) for played, m in self._schedule(after)) if after else 0.0

    def _is_sound(self) -> bool:
        within = all(-j <= balance <= self.cells - j for j, balance in enumerate(self.balance))
        return within and 0 <= self.position < self.cells and self._schedule(self.rounds + 1)[-1][1] == self.cells

    @classmethod
    def _with(cls, parameters: Mapping[str, Any]) -> Self:
        horizon, cells = parameters["horizon"], checked_cells(parameters["cells"])
        forecaster = cls(horizon, cells=None if horizon is None else cells, end=parameters["end"])
        forecaster.balance = [0] * (cells + 1)
        return forecaster


def cells_elementary(horizon: int, end: End) -> int:
    """⌈√T⌉ for left ends, ⌈√(2T/3)⌉ for middles, exactly.

    >>> cells_elementary(100, "left"), cells_elementary(101, "left"), cells_elementary(150, "middle")
    (10, 11, 10)
    """
    return isqrt(horizon - 1) + 1 if end == "left" else isqrt((2 * horizon - 1) // 3) + 1
