"""Forecast hedging: a deterministic forecaster with small smooth calibration error."""

from __future__ import annotations

from math import sqrt
from typing import ClassVar, final

import numpy as np

from trustcal.cells import cells_for
from trustcal.checking import checked_cells, checked_count
from trustcal.forecasters.forecaster import FloatArray, Forecast, Forecaster, IntArray
from trustcal.guarantees import Bound
from trustcal.kernels.forecasting import hedge, play_hedging


@final
class HedgingForecaster(Forecaster):
    """Deterministic, with smCal ≤ √((m + 1)/T) + 1/(2m), about 1.5·T^(−1/3) at m = T^(1/3) (Theorem O.5).

    Each node i/m keeps V[i] = Σ tent_i(p)·(y − p), where tent_i falls linearly from 1 at i/m to 0 at its neighbours.

        announce 0 if V[0] < 0, and 1 if V[m] > 0;  else find V[i] ≥ 0 ≥ V[i + 1], and announce the p between them at
        which tent_i(p)·V[i] + tent_(i+1)(p)·V[i + 1] = 0

    Then ΣV² grows by at most 1 a round.  The elementary predictor has the better proved rate.  ECE and CDL are not
    bounded, since the forecaster is deterministic.  O(log m) per round; m + 1 floats.

    Parameters
    ----------
    horizon : int
        T, the number of rounds.
    cells : int, optional
        m, the number of intervals between nodes.  Default ⌈T^(1/3)⌉.

    References
    ----------
    Foster and Hart, *Forecast hedging and calibration* (2021).

    Examples
    --------
    >>> forecaster = HedgingForecaster(horizon=8)
    >>> forecaster.play([1, 1, 0])
    array([0. , 0.5, 1. ])
    """

    randomised = False
    _STATE: ClassVar[tuple[str, ...]] = ("value", "position")

    def __init__(self, horizon: int, *, cells: int | None = None) -> None:
        self.horizon = checked_count("horizon", horizon)
        self.value = [0.0] * (checked_cells(cells_for(self.horizon) if cells is None else cells) + 1)
        """V, one number per node."""
        self.position = 0

    @property
    def cells(self) -> int:
        """m, the number of intervals between nodes."""
        return len(self.value) - 1

    def __repr__(self) -> str:
        return f"HedgingForecaster(horizon={self.horizon}, cells={self.cells}, rounds={self.rounds})"

    def forecast(self) -> Forecast:
        """One value with probability 1."""
        at, right = hedge(self.value, self.position)
        return Forecast(((at + right) / self.cells,), (1.0,))

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """smCal, and DTC ≤ 2·smCal (Theorem 4)."""
        value = sqrt((self.cells + 1) / checked_count("horizon", horizon)) + 1 / (2 * self.cells)
        return Bound("smCal", value, "Theorem O.5", True), Bound("DTC", 2 * value, "Theorems O.5 and 4", True)

    def _announce(self) -> float:
        self.position, right = hedge(self.value, self.position)
        return (self.position + right) / self.cells

    def _update(self, y: int) -> None:
        at, right = hedge(self.value, self.position)
        p = (at + right) / self.cells
        self.value[at] += (1 - right) * (y - p)
        self.value[at + 1] += right * (y - p)

    def _play(self, y: IntArray) -> FloatArray:
        value, announced = np.array(self.value), np.empty(len(y))
        self.position = int(play_hedging.on(20 * len(y))(value, self.position, y, announced))
        self.value = value.tolist()
        return announced

    def _is_sound(self) -> bool:
        return 0 <= self.position < self.cells
