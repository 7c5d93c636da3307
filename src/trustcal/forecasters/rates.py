"""Rates: how fast the worst error falls with the horizon, over all games of an arena."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import checked_choice, generator
from trustcal.forecasters.errors import symbols
from trustcal.forecasters.games import Game, Plan, Played
from trustcal.guarantees import Bound

_RESAMPLES = 999


@final
@dataclass(frozen=True)
class Rate:
    """The worst error of a contestant by horizon, and the slope of its logarithm."""

    contestant: str
    measure: str
    horizons: tuple[int, ...]
    worst: tuple[float, ...]
    """At each horizon the largest, over adversaries, of the mean over seeds."""
    against: tuple[str, ...]
    """The adversary of each worst error."""
    slope: float
    """Of ln(worst) on ln(T), by least squares; NaN for fewer than two horizons or an error of 0."""
    low: float
    """2.5 % quantile of the slope over 999 bootstrap resamples of the seeds; NaN with a single seed."""
    high: float
    """97.5 % quantile."""
    slopes: dict[str, float]
    """The slope against each adversary alone."""

    @property
    def symbol(self) -> str:
        """The abbreviation of the measure."""
        return symbols()[self.measure]


@final
@dataclass(frozen=True)
class ArenaResult:
    """The games of a plan, their rates, and the comparison with what is proved."""

    plan: Plan
    played: tuple[Played, ...]
    rates: dict[str, tuple[Rate, ...]]
    """By measure, for each contestant."""
    compared: tuple[tuple[Game, Bound, float], ...]
    """Every game with each non-vacuous bound of its contestant, and the error at its end."""

    @property
    def exceeded(self) -> int:
        """The number of comparisons in which the error exceeds the bound.

        Bounds on randomised contestants hold in expectation: a single game may exceed one.
        """
        return sum(error > bound.value for _, bound, error in self.compared)

    @property
    def nearest(self) -> tuple[Game, Bound, float]:
        """The comparison in which the error is the largest share of the bound."""
        return max(self.compared, key=lambda one: one[2] / one[1].value)

    def proved(self, rate: Rate) -> float | None:
        """The smallest non-vacuous proved bound on a rate's error at its last horizon; None if there is none."""
        bounds = self.plan.guarantees(rate.contestant, rate.horizons[-1])
        own = (bound.value for bound in bounds if bound.quantity == rate.symbol and not bound.vacuous)
        return min(own, default=None)


def result_of(plan: Plan, played: Sequence[Played], keys: Sequence[str]) -> ArenaResult:
    """The rates of these measures, each computed once, and the comparison with what is proved."""
    rates = {key: tuple(rate(played, name, key) for name in contestants(played)) for key in keys}
    return ArenaResult(plan, tuple(played), rates, tuple(proved_and_played(plan, played)))


def rate(played: Sequence[Played], contestant: str, measure: str, rng: np.random.Generator | int = 0) -> Rate:
    """The rate of one contestant in one measure, from all games of an arena.

    The interval resamples seeds, within every horizon and adversary, and takes the worst adversary of each resample.
    It ignores curvature: over a few decades a slope is not yet an exponent.  O(resamples · games).
    """
    checked_choice("measure", measure, tuple(symbols()))
    own = {one.game: one.scores[-1].errors[measure] for one in played if one.game.contestant == contestant}
    if not own:
        raise ValueError(f"no contestant {contestant!r} played. Choose among {', '.join(contestants(played))}.")
    horizons, adversaries, seeds = (
        sorted({getattr(game, field) for game in own}) for field in ("horizon", "adversary", "seed")
    )
    table = np.full((len(horizons), len(adversaries), len(seeds)), np.nan)
    for game, error in own.items():
        at = horizons.index(game.horizon), adversaries.index(game.adversary), seeds.index(game.seed)
        table[at] = error
    if np.isnan(table).any():
        raise ValueError(f"{contestant!r} has not played every adversary at every horizon with every seed.")
    means = table.mean(axis=2)
    low, high = np.nan, np.nan
    if len(seeds) > 1:
        random = generator(rng)
        again = random.integers(0, len(seeds), (_RESAMPLES, len(horizons), len(adversaries), len(seeds)))
        resampled = np.take_along_axis(table[None], again, axis=3).mean(axis=3).max(axis=2)
        low, high = np.quantile([_slope(horizons, worst) for worst in resampled], [0.025, 0.975])
    return Rate(
        contestant,
        measure,
        tuple(horizons),
        tuple(means.max(axis=1).tolist()),
        tuple(adversaries[i] for i in means.argmax(axis=1)),
        _slope(horizons, means.max(axis=1)),
        float(low),
        float(high),
        {name: _slope(horizons, means[:, index]) for index, name in enumerate(adversaries)},
    )


def proved_and_played(plan: Plan, played: Sequence[Played]) -> Iterator[tuple[Game, Bound, float]]:
    """Every game with each non-vacuous bound of its contestant, and the error at its end."""
    names = {symbol: key for key, symbol in symbols().items()}
    whole = {(one.game.contestant, one.game.horizon) for one in played}
    bounds = {key: [bound for bound in plan.guarantees(*key) if not bound.vacuous] for key in whole}
    for one in played:
        for bound in bounds[one.game.contestant, one.game.horizon]:
            if bound.quantity in names:
                yield one.game, bound, one.scores[-1].errors[names[bound.quantity]]


def contestants(played: Sequence[Played]) -> tuple[str, ...]:
    """The contestants, in order of appearance."""
    return tuple(dict.fromkeys(one.game.contestant for one in played))


def _slope(horizons: Sequence[int], worst: NDArray[np.float64]) -> float:
    if len(horizons) < 2 or not np.all(worst > 0):
        return float("nan")
    x = np.log(horizons) - np.mean(np.log(horizons))
    return float(x @ np.log(worst) / (x @ x))
