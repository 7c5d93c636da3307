"""The arena's two games: the paper's comparison of online forecasters, and its post-processing game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from hashlib import blake2b
from inspect import signature
from math import sqrt
from pathlib import Path
from typing import Any, final

from numpy.typing import ArrayLike

from trustcal.checking import checked_outcomes
from trustcal.forecasters import adversaries, post_processing
from trustcal.forecasters.buckets import CalibratedForecaster, DecisionForecaster
from trustcal.forecasters.combining import CombinedForecaster
from trustcal.forecasters.elementary import ElementaryPredictor
from trustcal.forecasters.forecaster import FloatArray, Forecaster
from trustcal.forecasters.frequencies import PerturbedLeader, RunningMean
from trustcal.forecasters.games import Contestant, Opponent, Plan, PostProcessor, Progress, play
from trustcal.forecasters.hedging import HedgingForecaster
from trustcal.forecasters.known_rates import FORECASTING, POST_PROCESSING
from trustcal.forecasters.multi_calibeating import MultiCalibeating
from trustcal.forecasters.noisy_mean import NoisyMean
from trustcal.forecasters.pipeline import SmoothedForecaster
from trustcal.forecasters.rates import ArenaResult, result_of
from trustcal.forecasters.steps import StepForecaster
from trustcal.guarantees import Bound, online_cdl, online_ece
from trustcal.noise import Noise, RandomRounding, TruncatedGaussian, TruncatedLaplace, UniformNoise
from trustcal.smoothing.online import OnlineSmoother

PRESETS = ("paper", "post-processing")
_MEASURES = {"paper": ("ece", "cdl", "dtc", "stepcal", "ucal", "brier_regret"), "post-processing": ("ece", "cdl")}


def arena(
    name: str = "paper",
    *,
    horizons: tuple[int, ...] | None = None,
    seeds: int | None = None,
    replay: Mapping[str, ArrayLike] | None = None,
    folder: str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> ArenaResult:
    """Play every contestant against every adversary, and measure how fast the worst errors fall with the horizon.

    Finished games are kept in a folder: a run that was stopped continues there, with the same numbers.

    Parameters
    ----------
    name : {"paper", "post-processing"}
        Online forecasters, or post-processors that see no outcomes.
    horizons : tuple of int, optional
        Numbers of rounds.  Default 100, 1,000, 10,000 and 100,000.
    seeds : int, optional
        Games of each kind.  Default 3.
    replay : mapping of str to array, optional
        Outcomes of real data by name, as further adversaries of the forecasters.
    folder : str or Path, optional
        Where finished games are kept.  Default "arena-" and the name, in the working directory.
    workers : int, optional
        Number of processes.  Default one per core; 1 plays in this process.
    progress : callable, optional
        Called with the number of finished games and the total.

    Returns
    -------
    ArenaResult
        The games, their rates, and the proved bounds.  O(log T) per round for most contestants, O(T log T) to measure.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     result = arena("post-processing", horizons=(20,), seeds=1, folder=folder, workers=1)
    >>> len(result.played), result.exceeded
    (25, 0)
    """
    real = {
        f"{title} {blake2b(checked_outcomes(outcomes).astype(float).tobytes(), digest_size=3).hexdigest()}": outcomes
        for title, outcomes in (replay or {}).items()
    }  # a name that differs for other outcomes: finished games are found by it
    plan = preset(name, horizons, seeds, real)
    played = play(plan, folder or f"arena-{name}", progress, workers=workers)
    return result_of(plan, played, _MEASURES[name])


def preset(
    name: str,
    horizons: tuple[int, ...] | None = None,
    seeds: int | None = None,
    replayed: Mapping[str, ArrayLike] | None = None,
) -> Plan:
    """The plan with this name, with other horizons, seeds and replayed outcomes if given.

    >>> plan = preset("paper", horizons=(100, 1000), seeds=2)
    >>> len(list(plan.games()))
    384
    """
    many, often = horizons or (100, 1_000, 10_000, 100_000), 3 if seeds is None else seeds
    if name == "paper":
        real = {title: partial(adversaries.replay, outcomes) for title, outcomes in (replayed or {}).items()}
        return Plan(_FORECASTERS, _ADVERSARIES | real, many, often, proved, FORECASTING)
    if replayed:
        raise ValueError("only forecasters can play against replayed outcomes: choose the preset paper.")
    if name == "post-processing":
        return Plan(_POST_PROCESSORS, _SEQUENCES, many, often, proved, POST_PROCESSING)
    raise ValueError(f"there is no preset {name!r}: choose {' or '.join(PRESETS)}.")


def proved(contestant: Forecaster | PostProcessor, horizon: int) -> tuple[Bound, ...]:
    """A forecaster's own guarantee; for a post-processor Theorems 19 and 46 at the adversary's budget."""
    if isinstance(contestant, Forecaster):
        return contestant.guarantee(horizon)
    if isinstance(contestant, OnlineSmoother):
        theorems, eps = (online_ece, online_cdl), post_processing.budget(horizon)
        return tuple(theorem(contestant.noise, eps, horizon, cells=contestant.cells) for theorem in theorems)
    return ()


@final
class Untouched:
    """The post-processor that does nothing."""

    def transform_many(self, q: FloatArray) -> FloatArray:
        """The predictions as they are."""
        return q


def _made(kind: Callable[..., Any], horizon: int, seed: int, **options: object) -> Any:
    """The contestant or adversary, given the horizon and the seed if it takes them."""
    known = {"horizon": horizon, "rng": seed}
    taken = signature(kind).parameters
    return kind(**{name: value for name, value in known.items() if name in taken}, **options)


def _smoother(noise_for: Callable[[float], Noise], horizon: int, seed: int) -> OnlineSmoother:
    """The noise for the adversary's budget, on cells unless it is a rounding."""
    noise = noise_for(post_processing.budget(horizon))
    return OnlineSmoother(noise, horizon=horizon if noise.grid_size() is None else None, rng=seed)


def _paper_pipeline(horizon: int, seed: int) -> Forecaster:
    """The elementary predictor on its authors' grid, with their bound DTC ≤ 2/√T, and the paper's noise."""
    noise = TruncatedLaplace.paper(min(2 / sqrt(horizon), 0.5))
    smoother = OnlineSmoother(noise, horizon=horizon, rng=seed)
    return SmoothedForecaster(ElementaryPredictor(horizon, end="left"), smoother)


def _rounded_pipeline(horizon: int, seed: int) -> Forecaster:
    noise = RandomRounding.for_distance(min(sqrt(1.5 / horizon), 0.5), "ece")
    return SmoothedForecaster(ElementaryPredictor(horizon), OnlineSmoother(noise, rng=seed))


def _multi_calibeating(horizon: int, seed: int) -> Forecaster:
    """A member that learns the base rate, one that is calibrated, and one that follows the outcomes."""
    members = RunningMean(), CalibratedForecaster(horizon, rng=seed), ElementaryPredictor(horizon)
    return CombinedForecaster(members, MultiCalibeating(len(members)))


_FORECASTERS: dict[str, Contestant] = {
    "elementary": partial(_made, ElementaryPredictor),
    "elementary + Laplace (paper)": _paper_pipeline,
    "elementary + rounding": _rounded_pipeline,
    "calibrated (Foster)": partial(_made, CalibratedForecaster),
    "decision": partial(_made, DecisionForecaster),
    "decision, square weights": partial(_made, DecisionForecaster, potential="square"),
    "steps": partial(_made, StepForecaster),
    "leader": partial(_made, PerturbedLeader),
    "noisy mean": partial(_made, NoisyMean),
    "hedging": partial(_made, HedgingForecaster),
    "multi-calibeating": _multi_calibeating,
    "running mean": partial(_made, RunningMean),
}
_ADVERSARIES: dict[str, Opponent] = {
    "fair coin": partial(adversaries.iid, 0.5),
    "drift": adversaries.drift,
    "walk": adversaries.walk,
    "switch": adversaries.switch,
    "hard": adversaries.hard,
    "opposing": partial(_made, adversaries.Opposing),
    "greedy": partial(_made, adversaries.Greedy),
    "signs": partial(_made, adversaries.SignPreserving),
}
_POST_PROCESSORS: dict[str, Contestant] = {
    "nothing": partial(_made, Untouched),
    "uniform": partial(_smoother, partial(UniformNoise.for_distance, target="ece")),
    "Laplace (paper)": partial(_smoother, TruncatedLaplace.paper),
    "Gaussian": partial(_smoother, partial(TruncatedGaussian.for_distance, target="ece")),
    "random rounding": partial(_smoother, partial(RandomRounding.for_distance, target="ece")),
}
_SEQUENCES: dict[str, Opponent] = {
    "hard, up": partial(post_processing.hard, 1),
    "hard, down": partial(post_processing.hard, -1),
    "paper, one": partial(post_processing.hard_paper, 1),
    "paper, other": partial(post_processing.hard_paper, -1),
    "rain": post_processing.rain,
}
