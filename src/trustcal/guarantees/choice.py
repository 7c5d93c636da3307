"""The noise to use when only the distance to calibration is known, its guarantee, and what no method can beat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from trustcal.checking import checked_choice, checked_eps
from trustcal.guarantees.batch import batch_cdl, batch_decision_loss, batch_ece
from trustcal.guarantees.batch_paper import batch_cdl_paper, batch_decision_loss_paper, batch_ece_paper
from trustcal.guarantees.bound import Bound
from trustcal.guarantees.lower import lower_batch_decision_loss, lower_online_cdl, lower_online_ece
from trustcal.guarantees.online import online_cdl, online_ece
from trustcal.noise import NOISES, Noise, Target, TruncatedLaplace
from trustcal.noise.mechanism import TARGETS

Guarantee = Callable[[Noise, float], Bound]

_BATCH: Final[dict[Target, Guarantee]] = {"ece": batch_ece, "cdl": batch_cdl, "decision_loss": batch_decision_loss}
_PAPER: Final[dict[Target, Guarantee]] = {
    "ece": batch_ece_paper,
    "cdl": batch_cdl_paper,
    "decision_loss": batch_decision_loss_paper,
}
_ONLINE: Final[dict[Target, Callable[..., Bound]]] = {"ece": online_ece, "cdl": online_cdl}
_LOWER: Final[dict[Target, Callable[[float], Bound]]] = {
    "ece": lower_online_ece,
    "cdl": lower_online_cdl,
    "decision_loss": lower_batch_decision_loss,
}


@final
@dataclass(frozen=True)
class NoiseChoice:
    """A noise, what it guarantees, and the least that anything else could guarantee instead."""

    noise: Noise
    guarantee: Bound
    lower: Bound

    def __str__(self) -> str:
        least = f"{self.lower.value:.6g} ({self.lower.source})"
        return f"{self.noise}: {self.guarantee}; no method can guarantee less than {least}"


def choices(eps: float, target: Target = "decision_loss", horizon: int | None = None) -> tuple[NoiseChoice, ...]:
    """Every noise at the parameter that `for_distance` gives, the smallest guarantee first (Theorems 13 to 15, 19).

    That parameter is the best for small eps and many rounds, where neither the ends of [0, 1] nor sampling matter.  For
    eps beyond about 1/8, or few rounds, another one may have a smaller guarantee: noise so wide that hardly anything is
    left, a grid so coarse that every value is seen often.

    The lower bound for decision loss is for algorithms that may see all predictions at once (Theorem 20); those for ECE
    and CDL are for algorithms that answer each prediction knowing only it and the earlier ones (Theorem 21).

    Parameters
    ----------
    eps : float
        Distance to calibration, in (0, 1].
    target : {"ece", "cdl", "decision_loss"}
        The error whose guarantee is minimised.
    horizon : int, optional
        The number of rounds, for predictions that arrive one at a time; not for decision loss.

    Returns
    -------
    tuple of NoiseChoice

    >>> for choice in choices(0.0001, "cdl")[:2]:
    ...     print(choice.noise, choice.guarantee)
    UniformNoise(width=0.02) CDL ≤ 0.01 (Theorem 15, sharpening Theorem 3.1)
    ClampedGaussian(scale=0.0153203...) CDL ≤ 0.010416 (Theorem 15, sharpening Theorem 3.1)
    """
    found = [_for_distance(family, eps, target, horizon) for family in NOISES.values()]
    return tuple(sorted(found, key=lambda choice: choice.guarantee.value))


def best_noise(eps: float, target: Target = "decision_loss", horizon: int | None = None) -> NoiseChoice:
    """Of the noises that `for_distance` gives, the one with the smallest proved guarantee (Theorems 13 to 15, 19).

    Parameters
    ----------
    eps, target, horizon
        As in `choices`.

    Returns
    -------
    NoiseChoice
        The first of `choices` whose guarantee is proved.

    >>> print(best_noise(0.0002))
    UniformNoise(width=0.02): decision loss ≤ 0.01 (Theorem 14, sharpening Theorem 3.1); \
no method can guarantee less than 0.0099005 (Theorem 20, sharpening Theorem 3.5)
    """
    # K, which has a caveat for truncated noise, is part of the batch guarantees for CDL and decision loss only.
    proved = [family for family in NOISES.values() if target == "ece" or horizon is not None or not family.caveat]
    found = [_for_distance(family, eps, target, horizon) for family in proved]
    return min(found, key=lambda choice: choice.guarantee.value)


def noise_kinds() -> tuple[str, ...]:
    """The names that `noise_of_kind` and the command line take.

    Returns
    -------
    tuple of str

    >>> noise_kinds()
    ('best', 'uniform', 'laplace', 'gaussian', 'rounding', 'paper')
    """
    return ("best", *_families(), "paper")


def noise_of_kind(kind: str, eps: float, target: Target = "decision_loss", horizon: int | None = None) -> NoiseChoice:
    """The noise of a kind, at the parameter for a distance to calibration, with its guarantee.

    Parameters
    ----------
    kind : str
        "uniform", "laplace", "gaussian" (all three clamped), "rounding"; "best": the one with the smallest guarantee;
        "paper": the paper's truncated Laplace noise (Lemma 3.4), with the paper's guarantee for a batch.
    eps, target, horizon
        As in `choices`.

    Returns
    -------
    NoiseChoice

    >>> noise_of_kind("laplace", 0.01, "ece").noise
    ClampedLaplace(scale=0.1)
    >>> print(noise_of_kind("paper", 0.01, "ece").guarantee)
    ECE ≤ 0.668078 (Theorem 3.1 by Lemmas 3.2 and 3.3)
    """
    checked_choice("noise", kind, noise_kinds())
    if kind == "best":
        return best_noise(eps, target, horizon)
    if kind == "paper":
        return _guaranteed(TruncatedLaplace.paper(eps), _PAPER, eps, target, horizon)
    return _for_distance(_families()[kind], eps, target, horizon)


def _families() -> dict[str, type[Noise]]:
    return {family.kind: family for family in NOISES.values() if family.kind is not None}


def _for_distance(family: type[Noise], eps: float, target: Target, horizon: int | None) -> NoiseChoice:
    return _guaranteed(family.for_distance(eps, target), _BATCH, eps, target, horizon)


def _guaranteed(
    noise: Noise, batch: dict[Target, Guarantee], eps: float, target: Target, horizon: int | None
) -> NoiseChoice:
    """A noise with its guarantee for a batch or, with a horizon, for as many rounds."""
    upper = batch[checked_choice("target", target, TARGETS)]
    if horizon is not None:
        if target not in _ONLINE:
            raise ValueError("with a horizon the target must be 'ece' or 'cdl': decision loss is defined for a batch.")
        upper = partial(_ONLINE[target], horizon=horizon)
    return NoiseChoice(noise, upper(noise, eps), _LOWER[target](checked_eps(eps)))
