"""Rates: how fast the worst error falls with the horizon, measured over all games of an arena."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.forecasters.arena import Game, Plan, Played
from trustcal.guarantees import Bound
from trustcal.measures import table as measures

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
    """Which adversary that was."""
    slope: float
    """Of ln(worst) on ln(T), by least squares; NaN for fewer than two horizons or an error of 0."""
    low: float
    """The slope's 2.5 % quantile over 999 bootstrap resamples of the seeds; NaN with a single seed."""
    high: float
    """The 97.5 % quantile."""


def rate(played: Sequence[Played], contestant: str, measure: str, rng: np.random.Generator | int = 0) -> Rate:
    """The rate of one contestant in one measure, from all games of an arena.

    The interval resamples seeds, within every horizon and adversary alike, and takes the worst adversary afresh.  It
    knows nothing of curvature: over few decades a slope is not yet an exponent.
    """
    if measure not in measures.played():
        raise ValueError(f"measure must be one of {', '.join(measures.played())}, not {measure!r}.")
    own = {one.game: getattr(one.scores[-1], measure) for one in played if one.game.contestant == contestant}
    if not own:
        raise ValueError(f"nobody called {contestant!r} played. Choose among {', '.join(contestants(played))}.")
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
        random = np.random.default_rng(rng)
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
    )


def proved_and_played(plan: Plan, played: Sequence[Played]) -> Iterator[tuple[Game, Bound, float]]:
    """Every game with each bound proved of its contestant that says something, and the error the game ended with.

    Bounds on randomised contestants hold in expectation: now and then a single game may exceed one.
    """
    names = {measures.MEASURES[key].symbol: key for key in measures.played()}
    whole = {(one.game.contestant, one.game.horizon) for one in played}
    bounds = {key: [bound for bound in plan.guarantees(*key) if not bound.vacuous] for key in whole}
    for one in played:
        for bound in bounds[one.game.contestant, one.game.horizon]:
            if bound.quantity in names:
                yield one.game, bound, getattr(one.scores[-1], names[bound.quantity])


def contestants(played: Sequence[Played]) -> tuple[str, ...]:
    """Who played, in order of appearance."""
    return tuple(dict.fromkeys(one.game.contestant for one in played))


def _slope(horizons: Sequence[int], worst: NDArray[np.float64]) -> float:
    if len(horizons) < 2 or not np.all(worst > 0):
        return float("nan")
    x = np.log(horizons) - np.mean(np.log(horizons))
    return float(x @ np.log(worst) / (x @ x))
