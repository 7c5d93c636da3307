"""Plans worth playing: the paper's comparison of online forecasters, and its game of post-processing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import sqrt
from typing import final

from numpy.typing import ArrayLike

from trustcal.forecasters import adversaries, sequences
from trustcal.forecasters.arena import Contestant, Opponent, Plan, PostProcessor
from trustcal.forecasters.buckets import CalibratedForecaster, DecisionForecaster
from trustcal.forecasters.counting import PerturbedLeader, RunningMean
from trustcal.forecasters.elementary import ElementaryPredictor
from trustcal.forecasters.forecaster import FloatArray, Forecaster
from trustcal.forecasters.hedging import HedgingForecaster
from trustcal.forecasters.known import FORECASTING, POST_PROCESSING
from trustcal.forecasters.smoothed import SmoothedForecaster
from trustcal.guarantees import Bound, online_cdl, online_ece
from trustcal.noise import RandomRounding, TruncatedGaussian, TruncatedLaplace, UniformNoise
from trustcal.smoothing.online import OnlineSmoother

PRESETS = ("paper", "post-processing")


def preset(
    name: str,
    horizons: tuple[int, ...] | None = None,
    seeds: int | None = None,
    replayed: Mapping[str, ArrayLike] | None = None,
) -> Plan:
    """A plan by its name; horizons and seeds may be others than its own, and outcomes of real data join by a name.

    >>> plan = preset("paper", horizons=(100, 1000), seeds=2)
    >>> len(list(plan.games()))
    288
    """
    many, often = horizons or (100, 1_000, 10_000, 100_000), 3 if seeds is None else seeds
    if name == "paper":
        real = {title: partial(adversaries.replay, outcomes) for title, outcomes in (replayed or {}).items()}
        return Plan(_FORECASTERS, _ADVERSARIES | real, many, often, proved, FORECASTING)
    if replayed:
        raise ValueError("outcomes are replayed to forecasters: choose the preset paper.")
    if name == "post-processing":
        return Plan(_POST_PROCESSORS, _WORLDS, many, often, proved, POST_PROCESSING)
    raise ValueError(f"there is no preset {name!r}: choose {' or '.join(PRESETS)}.")


def proved(contestant: Forecaster | PostProcessor, horizon: int) -> tuple[Bound, ...]:
    """A forecaster's own guarantee; for a post-processor Theorem 19 at the adversary's budget."""
    if isinstance(contestant, Forecaster):
        return contestant.guarantee(horizon)
    if isinstance(contestant, OnlineSmoother):
        theorems, eps = (online_ece, online_cdl), sequences.budget(horizon)
        return tuple(theorem(contestant.noise, eps, horizon, cells=contestant.cells) for theorem in theorems)
    return ()


@final
class Untouched:
    """The post-processor that does nothing."""

    def transform_many(self, q: FloatArray) -> FloatArray:
        """The predictions as they are."""
        return q


def _elementary(horizon: int, seed: int) -> Forecaster:  # noqa: ARG001 - it draws nothing
    return ElementaryPredictor(horizon)


def _paper_pipeline(horizon: int, seed: int) -> Forecaster:
    """The elementary predictor on its own grid, whose DTC is 2/√T by the paper it is from, and the paper's noise."""
    noise = TruncatedLaplace.paper(min(2 / sqrt(horizon), 0.5))
    return SmoothedForecaster(ElementaryPredictor(horizon, end="left"), _smoother(noise, horizon, seed))


def _rounded_pipeline(horizon: int, seed: int) -> Forecaster:
    noise = RandomRounding.for_distance(min(sqrt(1.5 / horizon), 0.5), "ece")
    return SmoothedForecaster(ElementaryPredictor(horizon), OnlineSmoother(noise, rng=seed))


def _calibrated(horizon: int, seed: int) -> Forecaster:
    return CalibratedForecaster(horizon, rng=seed)


def _decision(horizon: int, seed: int) -> Forecaster:
    return DecisionForecaster(horizon, rng=seed)


def _decision_square(horizon: int, seed: int) -> Forecaster:
    return DecisionForecaster(horizon, potential="square", rng=seed)


def _leader(horizon: int, seed: int) -> Forecaster:
    return PerturbedLeader(horizon, rng=seed)


def _hedging(horizon: int, seed: int) -> Forecaster:  # noqa: ARG001 - it draws nothing
    return HedgingForecaster(horizon)


def _mean(horizon: int, seed: int) -> Forecaster:  # noqa: ARG001 - it needs neither
    return RunningMean()


def _opposing(horizon: int, seed: int) -> adversaries.Adversary:  # noqa: ARG001 - it needs neither
    return adversaries.Opposing()


def _greedy(horizon: int, seed: int) -> adversaries.Adversary:  # noqa: ARG001 - it needs neither
    return adversaries.Greedy()


def _signs(horizon: int, seed: int) -> adversaries.Adversary:
    return adversaries.SignPreserving(horizon, rng=seed)


def _smoother(noise: UniformNoise | TruncatedLaplace | TruncatedGaussian, horizon: int, seed: int) -> OnlineSmoother:
    return OnlineSmoother(noise, horizon=horizon, rng=seed)


def _uniform(horizon: int, seed: int) -> OnlineSmoother:
    return _smoother(UniformNoise.for_distance(sequences.budget(horizon), "ece"), horizon, seed)


def _laplace(horizon: int, seed: int) -> OnlineSmoother:
    return _smoother(TruncatedLaplace.paper(sequences.budget(horizon)), horizon, seed)


def _gaussian(horizon: int, seed: int) -> OnlineSmoother:
    return _smoother(TruncatedGaussian.for_distance(sequences.budget(horizon), "ece"), horizon, seed)


def _rounding(horizon: int, seed: int) -> OnlineSmoother:
    return OnlineSmoother(RandomRounding.for_distance(sequences.budget(horizon), "ece"), rng=seed)


def _nothing(horizon: int, seed: int) -> PostProcessor:  # noqa: ARG001 - it needs neither
    return Untouched()


_FORECASTERS: dict[str, Contestant] = {
    "elementary": _elementary,
    "elementary + Laplace (paper)": _paper_pipeline,
    "elementary + rounding": _rounded_pipeline,
    "calibrated (Foster)": _calibrated,
    "decision": _decision,
    "decision, square weights": _decision_square,
    "leader": _leader,
    "hedging": _hedging,
    "running mean": _mean,
}
_ADVERSARIES: dict[str, Opponent] = {
    "fair coin": partial(adversaries.iid, 0.5),
    "drift": adversaries.drift,
    "walk": adversaries.walk,
    "switch": adversaries.switch,
    "hard": adversaries.hard,
    "opposing": _opposing,
    "greedy": _greedy,
    "signs": _signs,
}
_POST_PROCESSORS: dict[str, Contestant] = {
    "nothing": _nothing,
    "uniform": _uniform,
    "Laplace (paper)": _laplace,
    "Gaussian": _gaussian,
    "random rounding": _rounding,
}
_WORLDS: dict[str, Opponent] = {
    "hard, up": partial(sequences.hard, 1),
    "hard, down": partial(sequences.hard, -1),
    "paper, one": partial(sequences.hard_paper, 1),
    "paper, other": partial(sequences.hard_paper, -1),
    "rain": sequences.rain,
}
