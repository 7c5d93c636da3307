"""The noise to use when only the distance to calibration is known, its guarantee, and what cannot be beaten."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from math import ceil, exp, inf, log, sqrt
from typing import Final, final

from trustcal.cells import End, cells_for
from trustcal.checking import checked_choice, checked_count, checked_eps
from trustcal.guarantees.batch import batch_cdl, batch_decision_loss, batch_ece
from trustcal.guarantees.batch_paper import batch_cdl_paper, batch_decision_loss_paper, batch_ece_paper
from trustcal.guarantees.bound import Bound, Quantity
from trustcal.guarantees.lower import lower_batch_decision_loss, lower_online_cdl, lower_online_ece
from trustcal.guarantees.online import best_online_cdl, online_cdl, online_ece
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
_BLIND: Final = "no method that sees no outcomes"
_EACH_IN_TURN: Final = "no method that answers each prediction from it and the earlier ones"
_BARRED: Final[dict[Quantity, str]] = {"ECE": _EACH_IN_TURN, "CDL": _EACH_IN_TURN, "decision loss": _BLIND}


@final
@dataclass(frozen=True)
class NoiseChoice:
    """A noise, what it guarantees, and the least that the methods of `barred` could guarantee instead."""

    noise: Noise
    guarantee: Bound
    lower: Bound
    cells: int | None = None
    """Online, the number of cells for `OnlineSmoother`; None for a batch, and for noise on a grid of its own."""
    end: End = "left"
    """Online, what is announced for a cell."""

    @property
    def barred(self) -> str:
        """The methods that cannot guarantee less than the lower bound.

        For decision loss they are all that see no outcomes (Theorem 20).  Theorem 21, for ECE and CDL, is about those
        that do not know what comes next: the mean prediction, said to all rows of a batch, has an ECE of at most eps.

        >>> best_noise(0.0001, "cdl").barred
        'no method that answers each prediction from it and the earlier ones'
        """
        return _BARRED[self.lower.quantity]

    def __str__(self) -> str:
        least = f"{self.lower.value:.6g} ({self.lower.source})"
        on = "" if self.cells is None else f" on {self.cells} cells"
        return f"{self.noise}{on}: {self.guarantee}; {self.barred} can guarantee less than {least}"


def choices(eps: float, target: Target = "decision_loss", horizon: int | None = None) -> tuple[NoiseChoice, ...]:
    """Every noise at its best parameter, the smallest guarantee first (Theorems 13 to 15, 19, 44, 47).

    For a batch the parameter is that of `for_distance`, which is the best for small eps, where the ends of [0, 1] have
    no effect; for eps beyond about 0.01 another one may have a smaller guarantee.  With a horizon, parameter and number
    of cells are searched: with few rounds the grid must be so coarse that every value is seen often.

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
    ClampedPlateau(scale=0.01) CDL ≤ 0.007539 (Theorem 47, sharpening Theorem 3.1)
    ClampedGaussian(scale=0.0155...) CDL ≤ 0.00790455 (Theorem 44, sharpening Theorem 3.1)
    """
    found = [_for_distance(family, eps, target, horizon) for family in NOISES.values()]
    return tuple(sorted(found, key=_size))


def best_noise(eps: float, target: Target = "decision_loss", horizon: int | None = None) -> NoiseChoice:
    """The noise with the smallest proved guarantee, of those that `choices` compares (Theorems 13 to 15, 19, 44, 47).

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
no method that sees no outcomes can guarantee less than 0.0099005 (Theorem 20, sharpening Theorem 3.5)
    >>> best_noise(0.0001, "ece", horizon=100).guarantee.value < 0.272
    True
    """
    # K, which has a caveat for truncated noise, is part of the batch guarantees for CDL and decision loss only.
    proved = [family for family in NOISES.values() if target == "ece" or horizon is not None or not family.caveat]
    return min((_for_distance(family, eps, target, horizon) for family in proved), key=_size)


def _size(choice: NoiseChoice) -> float:
    """The guarantee to 12 digits: of noises that are as good but for rounding, the first is taken."""
    return float(f"{choice.guarantee.value:.12g}")


def noise_kinds() -> tuple[str, ...]:
    """The names that `noise_of_kind` and the command line take.

    Returns
    -------
    tuple of str

    >>> noise_kinds()
    ('best', 'uniform', 'laplace', 'gaussian', 'plateau', 'rounding', 'paper')
    """
    return ("best", *_families(), "paper")


def noise_of_kind(kind: str, eps: float, target: Target = "decision_loss", horizon: int | None = None) -> NoiseChoice:
    """The noise of a kind, at the parameter for a distance to calibration, with its guarantee.

    Parameters
    ----------
    kind : str
        "uniform", "laplace", "gaussian", "plateau" (all four clamped), "rounding"; "best": the one with the smallest
        guarantee; "paper": the paper's truncated Laplace noise (Lemma 3.4), with the paper's guarantee for a batch.
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
    noise = family.for_distance(eps, target)
    if horizon is None:
        return _guaranteed(noise, _BATCH, eps, target, None)
    found = [_on_cells(noise, eps, target, horizon)]
    if len(parameters := fields(noise)) == 1:
        found += _searched(noise, parameters[0].name, partial(_on_cells, eps=eps, target=target, horizon=horizon))
    return min(found, key=lambda choice: choice.guarantee.value)


def _searched(noise: Noise, name: str, choice: Callable[[Noise], NoiseChoice]) -> list[NoiseChoice]:
    """Choices at other parameters: from every power of two times the given one that is better than its neighbours, the
    best quarter of a step beside it, golden sections of the logarithm around that, and for a grid the best integer.

    Between neighbours the bound falls and then rises with the parameter; farther away it need not: Theorem 46 is the
    least of several bounds, and a bound above 1 may fall again towards infinity.  For random rounding it jumps up after
    every integer, where the grid gets one more point; between two it is least at the parameter of `for_distance`, or at
    an end.  At integers it is a/N + b·N + c·√(N + 1), which falls and then rises, as N² times its slope grows with N.
    """
    start = log(float(getattr(noise, name)))

    def at(parameter: float) -> NoiseChoice:
        return choice(replace(noise, **{name: min(max(parameter, 1e-100), noise.largest)}))

    def value(logarithm: float) -> float:
        return at(exp(logarithm)).guarantee.value

    step, tried = log(2), []
    powers = [(value(x), x) for x in (start + k * step for k in range(-10, 11))]
    for before, power, after in zip([(inf, 0.0), *powers], powers, [*powers[1:], (inf, 0.0)], strict=False):
        if before[0] >= power[0] <= after[0]:
            best = min((power[1] + k * step / 4 for k in range(-3, 4)), key=value)
            tried += [exp(best), exp(_golden(value, best - step / 4, best + step / 4))]
    if noise.grid_size() is not None:
        whole = range(1, min(ceil(exp(start + 10 * log(2))), int(noise.largest)) + 1)
        least = bisect_left(whole, True, key=lambda n: at(n).guarantee.value <= at(n + 1).guarantee.value)
        tried.append(whole[min(least, len(whole) - 1)])
    return [at(parameter) for parameter in tried]


def _golden(f: Callable[[float], float], low: float, high: float) -> float:
    """The least of a function that falls and then rises, to 1e-7 of the interval."""
    ratio = (sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = f(left), f(right)
    for _ in range(32):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = f(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = f(right)
    return (low + high) / 2


def _on_cells(noise: Noise, eps: float, target: Target, horizon: int) -> NoiseChoice:
    """A noise on the best number of cells, announced by their middles."""
    bound, horizon = _online(target), checked_count("horizon", horizon)
    if noise.grid_size() is not None:
        return NoiseChoice(noise, bound(noise, eps, horizon), _many_rounds(_LOWER[target](eps)))
    if target == "cdl":
        guarantee, cells = best_online_cdl(noise, eps, horizon)
        return NoiseChoice(noise, guarantee, _many_rounds(_LOWER[target](eps)), cells, "middle")
    near = cells_for(horizon)  # where 1/(2m) + √(m/T) is least
    tried = [(bound(noise, eps, horizon, cells=m, end="middle"), m) for m in range(max(1, near - 2), near + 2)]
    guarantee, cells = min(tried, key=lambda one: one[0].value)
    return NoiseChoice(noise, guarantee, _many_rounds(_LOWER[target](eps)), cells, "middle")


def _many_rounds(lower: Bound) -> Bound:
    """Theorem 21 is about sequences so long that counts of outcomes are whole numbers."""
    return replace(lower, source=f"{lower.source}, for many rounds")


def _online(target: Target) -> Callable[..., Bound]:
    if checked_choice("target", target, TARGETS) not in _ONLINE:
        raise ValueError("with a horizon the target must be 'ece' or 'cdl': decision loss is defined for a batch.")
    return _ONLINE[target]


def _guaranteed(
    noise: Noise, batch: dict[Target, Guarantee], eps: float, target: Target, horizon: int | None
) -> NoiseChoice:
    """A noise with its guarantee for a batch or, with a horizon, for as many rounds on the paper's cells."""
    lower = _LOWER[checked_choice("target", target, TARGETS)](checked_eps(eps))
    if horizon is None:
        return NoiseChoice(noise, batch[target](noise, eps), lower)
    guarantee, cells = _online(target)(noise, eps, horizon), cells_for(checked_count("horizon", horizon))
    return NoiseChoice(noise, guarantee, _many_rounds(lower), cells)
