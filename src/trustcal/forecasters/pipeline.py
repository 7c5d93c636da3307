"""The paper's pipeline: a forecaster close to calibration, followed by noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, final

import numpy as np

from trustcal.cells import announcements
from trustcal.forecasters.forecaster import FloatArray, Forecast, Forecaster, IntArray, keep_apart, revived
from trustcal.guarantees import Bound, online_cdl, online_ece
from trustcal.smoothing.online import OnlineSmoother


@final
class SmoothedForecaster(Forecaster):
    """A forecaster whose announcements pass through an `OnlineSmoother` (Section 4): ECE and CDL O(√DTC).

    The forecaster learns the outcomes; the smoother sees none.  If DTC ≤ eps is proved of the forecaster,
    Theorems 19 and 46 hold with eps for the announcements: T^(−1/4) after the elementary predictor's T^(−1/2).

    Parameters
    ----------
    forecaster : Forecaster
        Makes the predictions.  Nothing is guaranteed if it learns outcomes elsewhere, before or besides.
    smoother : OnlineSmoother
        Adds the noise.

    Examples
    --------
    >>> from trustcal.forecasters import ElementaryPredictor
    >>> from trustcal.noise import RandomRounding
    >>> base = ElementaryPredictor(10**6)
    >>> eps = base.guarantee(10**6)[0].value
    >>> safe = SmoothedForecaster(base, OnlineSmoother(RandomRounding.for_distance(eps, "ece"), rng=1))
    >>> print(safe.guarantee(10**6)[0])
    ECE ≤ 0.0727926 (Theorem 19, sharpening Theorem 4.1)
    """

    _STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, forecaster: Forecaster, smoother: OnlineSmoother) -> None:
        for thing, kind in ((forecaster, Forecaster), (smoother, OnlineSmoother)):
            if not isinstance(thing, kind):
                raise ValueError(f"a SmoothedForecaster takes a forecaster and an OnlineSmoother, not {thing!r}.")
        keep_apart(forecaster, smoother)
        self.forecaster = forecaster
        self.smoother = smoother
        self._laws: dict[float, Forecast] = {}

    def __repr__(self) -> str:
        return f"SmoothedForecaster({self.forecaster!r}, {self.smoother!r})"

    def forecast(self) -> Forecast:
        """The exact distribution: the mass of the noise in each cell, or at each grid point of random rounding."""
        inner = self.forecaster.forecast()
        if len(inner.values) == 1:
            return self._law(inner.values[0])
        mass: dict[float, float] = {}
        for q, weight in zip(*inner, strict=True):
            for value, share in zip(*self._law(q), strict=True):
                mass[value] = mass.get(value, 0.0) + weight * share
        return Forecast(tuple(mass), tuple(mass.values()))

    def _law(self, q: float) -> Forecast:
        """The distribution of M(q), cached: forecasters repeat their values."""
        if q not in self._laws:
            if len(self._laws) >= 4096:
                self._laws.clear()
            noise, cells = self.smoother.noise, self.smoother.cells
            if cells is None:
                values, weights = noise.atoms(q)
            else:
                below = np.nextafter(np.arange(1, cells) / cells, 0.0)  # cells are closed on the left
                values = announcements(cells, self.smoother.end)
                weights = np.diff(noise.cdf(below, q), prepend=0.0, append=1.0)
            possible = weights > 0
            self._laws[q] = Forecast(tuple(values[possible].tolist()), tuple(weights[possible].tolist()))
        return self._laws[q]

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """Theorems 19 and 46 with the proved distance to calibration of the forecaster; nothing if there is none.

        If it is randomised, the bound is on its mean distance, so that CDL has the linear shift (`on_average`).  What
        is proved of the forecaster is about its first rounds, so they must be those of the pipeline.
        """
        proved = [bound.value for bound in self.forecaster.guarantee(horizon) if bound.quantity == "DTC"]
        noise, cells, end = self.smoother.noise, self.smoother.cells, self.smoother.end
        if noise.grid_size() is not None and cells is not None:
            return ()  # nothing is proved of two grids in succession
        if not proved or self.forecaster.rounds != self.rounds:
            return ()
        eps = min(proved[0], 1.0)
        return (
            online_ece(noise, eps, horizon, cells=cells, end=end),
            online_cdl(noise, eps, horizon, cells=cells, end=end, on_average=self.forecaster.randomised),
        )

    def _announce(self) -> float:
        return self.smoother.transform_one(self.forecaster.predict_one())

    def _update(self, y: int) -> None:
        self.forecaster.predict_one()  # again, if it has learnt elsewhere since
        self.forecaster.learn_one(y)

    def _play(self, y: IntArray) -> FloatArray:
        return self.smoother.transform_many(self.forecaster.play(y))

    def _is_sound(self) -> bool:
        ahead = self.forecaster.rounds - self.rounds  # it may have learnt elsewhere since
        return ahead > 0 or (ahead == 0 and (self._announced is None or self.forecaster._announced is not None))

    @classmethod
    def _with(cls, parameters: Mapping[str, Any]) -> Self:
        return cls(revived(parameters["forecaster"], Forecaster), OnlineSmoother.from_json(str(parameters["smoother"])))
