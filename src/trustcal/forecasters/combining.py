"""Forecasters combined: as good as the best of them, each relabelled in hindsight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import isclose, prod
from typing import Any, ClassVar, Self, final

import numpy as np

from trustcal.checking import refuse_other, several
from trustcal.forecasters.forecaster import FloatArray, Forecast, Forecaster, IntArray, keep_apart, revived
from trustcal.forecasters.multi_calibeating import MultiCalibeating
from trustcal.guarantees import Bound


@final
class CombinedForecaster(Forecaster):
    """Forecasters of the same outcomes, combined by multi-calibeating (Theorem O.11).

        every round each member announces;  announce what `MultiCalibeating` makes of the K announcements;  all learn y

    The Brier score exceeds the refinement of the best member, chosen in hindsight, by at most N·(1 + ln(T/N))/T +
    ln K/(2T), N the number of bins, or T if that is less: no relabelling of the bins of any member's announcements
    would have done much better, and so no constant.  This holds for every string of outcomes and all coins.  ECE and
    CDL are not bounded.  O(K) per round, and what the members need; `forecast` takes the product of the numbers of
    values that members may announce.

    Parameters
    ----------
    members : sequence of Forecaster
        At least two, which share nothing and have different seeds.
    beat : MultiCalibeating
        For as many scores as there are members; new, without rounds, and not used elsewhere.

    References
    ----------
    Foster and Hart, *"Calibeating": beating forecasters at their own game* (2023); Chen, Huang, Jordan and Luo,
    *Calibeating made simple* (2026).

    Examples
    --------
    >>> from trustcal.forecasters import CalibratedForecaster, RunningMean
    >>> members = RunningMean(), CalibratedForecaster(10**6, rng=1)
    >>> forecaster = CombinedForecaster(members, MultiCalibeating(2))
    >>> forecaster.play([1, 1, 1]).round(3)
    array([0.55 , 0.852, 0.92 ])
    >>> print(forecaster.guarantee(10**6)[0])
    Brier regret ≤ 0.000125476 (Theorem O.11)
    """

    _STATE: ClassVar[tuple[str, ...]] = ("heard",)

    def __init__(self, members: Sequence[Forecaster], beat: MultiCalibeating) -> None:
        self.members: tuple[Forecaster, ...] = tuple(several(members))
        self.beat = beat
        refuse_other("beat", beat, MultiCalibeating, "a MultiCalibeating")
        for one in self.members:
            refuse_other("a member", one, Forecaster, "a forecaster")
        many = len(self.members)
        if beat.scores != many or beat.rounds:
            raise ValueError(f"{many} members need a new MultiCalibeating of as many scores, not {beat!r}.")
        keep_apart(*self.members, beat)
        self.heard = [0.0] * many
        """What the members announced last; zeros before that."""

    def __repr__(self) -> str:
        return f"CombinedForecaster({self.members!r}, {self.beat!r})"

    def forecast(self) -> Forecast:
        """The exact distribution, if those of the members are: one value for each combination of their values."""
        values, weights = [], []
        for drawn in product(*(zip(*one.forecast(), strict=True) for one in self.members)):
            values.append(self.beat.transform_one([value for value, _ in drawn]))
            weights.append(prod(weight for _, weight in drawn))
        return Forecast(tuple(values), tuple(weights))

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """A bound on the excess of the Brier score over the best refinement of a member, and so on the regret.

        Nothing if `beat` has learnt elsewhere: its first rounds must be those of the combination.
        """
        if self.beat.rounds != self.rounds:
            return ()
        (beaten,) = self.beat.guarantee(horizon)
        return (Bound("Brier regret", beaten.value, "Theorem O.11", True),)

    def _announce(self) -> float:
        self.heard = [one.predict_one() for one in self.members]
        return self.beat.transform_one(self.heard)

    def _update(self, y: int) -> None:
        self.beat.learn_one(self.heard, y)
        for one in self.members:
            one.predict_one()  # again, if it has learnt elsewhere since
            one.learn_one(y)

    def _play(self, y: IntArray) -> FloatArray:
        scores, said = np.stack([one.play(y) for one in self.members]), np.empty(len(y))
        for t, (row, outcome) in enumerate(zip(scores.T.tolist(), y.tolist(), strict=True)):
            said[t] = self.beat.transform_one(row)
            self.beat.learn_one(row, outcome)
        self.heard = scores[:, -1].tolist() if len(y) else self.heard
        return said

    def _is_sound(self) -> bool:
        learnt = all(one.rounds >= self.rounds for one in self.members) and self.beat.rounds >= self.rounds
        if not learnt or self.beat.scores != len(self.members) or not all(0 <= said <= 1 for said in self.heard):
            return False
        if self._announced is None or self.beat.rounds > self.rounds:  # it may have learnt elsewhere since
            return True
        return isclose(self._announced, self.beat.transform_one(self.heard), abs_tol=1e-9)

    @classmethod
    def _with(cls, parameters: Mapping[str, Any]) -> Self:
        members = [revived(text, Forecaster) for text in parameters["members"]]
        forecaster = cls(members, MultiCalibeating(len(members)))
        forecaster.beat = MultiCalibeating.from_json(str(parameters["beat"]))
        return forecaster
