"""Given a distance to calibration alone: the noise with the best proved guarantee, beside what nobody can beat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from trustcal.guarantees.batch import batch_cdl, batch_decision_loss, batch_ece
from trustcal.guarantees.bound import Bound
from trustcal.guarantees.lower import lower_batch_decision_loss, lower_online_cdl, lower_online_ece
from trustcal.guarantees.online import online_cdl, online_ece
from trustcal.noise import (
    ClampedGaussian,
    ClampedLaplace,
    Noise,
    RandomRounding,
    Target,
    TruncatedGaussian,
    TruncatedLaplace,
    UniformNoise,
)
from trustcal.noise.mechanism import checked_target, distance_to_calibration

_NOISES: Final = (
    UniformNoise,
    ClampedGaussian,
    ClampedLaplace,
    RandomRounding,
    TruncatedGaussian,
    TruncatedLaplace,
)
_BOUNDS: Final[dict[Target, tuple[Callable[[Noise, float], Bound], Callable[[float], Bound]]]] = {
    "ece": (batch_ece, lower_online_ece),
    "cdl": (batch_cdl, lower_online_cdl),
    "decision_loss": (batch_decision_loss, lower_batch_decision_loss),
}
_ONLINE: Final[dict[Target, Callable[..., Bound]]] = {"ece": online_ece, "cdl": online_cdl}


FAMILIES: Final[dict[str, type[Noise]]] = {
    "uniform": UniformNoise,
    "laplace": ClampedLaplace,
    "gaussian": ClampedGaussian,
    "rounding": RandomRounding,
}
"""The kinds of noise whose guarantees are all proved."""


@final
@dataclass(frozen=True)
class NoiseChoice:
    """A noise, what it guarantees, and the least that anything else could guarantee instead."""

    noise: Noise
    guarantee: Bound
    lower: Bound

    def __str__(self) -> str:
        return (
            f"{self.noise}: {self.guarantee}; nobody can promise less than {self.lower.value:.6g} ({self.lower.source})"
        )


def choices(eps: float, target: Target = "decision_loss", horizon: int | None = None) -> tuple[NoiseChoice, ...]:
    """Each family of noises as `for_distance` has it, the smallest guarantee first; with a horizon, for so many rounds.

    That is the best parameter for small eps and many rounds, where neither the ends of [0, 1] nor sampling matter.  For
    eps beyond about 1/8, or few rounds, another may prove less: noise so wide that hardly anything is left, a grid so
    coarse that every value is seen often.

    The lower bound for decision loss is for algorithms that may see all predictions at once (Theorem 20), those for ECE
    and CDL are for algorithms that answer each prediction knowing only it and the earlier ones (Theorem 21).

    >>> for choice in choices(0.0001, "cdl")[:2]:
    ...     print(choice.noise, choice.guarantee)
    UniformNoise(width=0.02) CDL ≤ 0.01 (Theorem 15, sharpening Theorem 3.1)
    ClampedGaussian(scale=0.0153203...) CDL ≤ 0.010416 (Theorem 15, sharpening Theorem 3.1)
    """
    found = [_for_distance(family, eps, target, horizon) for family in _NOISES]
    return tuple(sorted(found, key=lambda choice: choice.guarantee.value))


def best_noise(eps: float, target: Target = "decision_loss", horizon: int | None = None) -> NoiseChoice:
    """Of the noises that `for_distance` gives, the one with the smallest proved guarantee (Theorems 13 to 15, 19).

    >>> print(best_noise(0.0002))
    UniformNoise(width=0.02): decision loss ≤ 0.01 (Theorem 14, sharpening Theorem 3.1); \
nobody can promise less than 0.0099005 (Theorem 20, sharpening Theorem 3.5)
    """
    # K, and with it the batch guarantees for CDL and decision loss, is proved of clamped noise and rounding only.
    proved = _NOISES if target == "ece" or horizon is not None else tuple(FAMILIES.values())
    return min((_for_distance(family, eps, target, horizon) for family in proved), key=lambda one: one.guarantee.value)


def noise_of_kind(kind: str, eps: float, target: Target = "decision_loss", horizon: int | None = None) -> NoiseChoice:
    """What `for_distance` gives of a kind: "uniform", "laplace", "gaussian" (clamped, all three) or "rounding".

    >>> noise_of_kind("laplace", 0.01, "ece").noise
    ClampedLaplace(scale=0.1)
    """
    if str(kind) not in FAMILIES:
        raise ValueError(f"noise must be one of {', '.join(map(repr, FAMILIES))}, not {kind!r}.")
    return _for_distance(FAMILIES[kind], eps, target, horizon)


def _for_distance(family: type[Noise], eps: float, target: Target, horizon: int | None) -> NoiseChoice:
    """A family at the parameter for eps and target."""
    distance_to_calibration(eps)
    upper, lower = _BOUNDS[checked_target(target)]
    if horizon is not None:
        if target not in _ONLINE:
            raise ValueError(
                "with a horizon the target must be 'ece' or 'cdl': decision loss is a matter of one batch."
            )
        upper = partial(_ONLINE[target], horizon=horizon)
    noise = family.for_distance(eps, target)
    return NoiseChoice(noise, upper(noise, eps), lower(eps))
