"""All guarantees at one distance to calibration, the paper's beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from trustcal.checking import checked_eps
from trustcal.guarantees.bound import Bound
from trustcal.guarantees.choice import NoiseChoice, choices, noise_of_kind
from trustcal.guarantees.online import online_cdl_paper, online_ece_paper
from trustcal.noise import Target, TruncatedLaplace

_ONLINE: Final[dict[Target, Callable[[TruncatedLaplace, float, int], Bound]]] = {
    "ece": online_ece_paper,
    "cdl": online_cdl_paper,
}
_LEAST: Final = 1e-31


@final
@dataclass(frozen=True)
class BoundTable:
    """What each noise guarantees at a distance to calibration, best first, and the paper's guarantee."""

    eps: float
    choices: tuple[NoiseChoice, ...]
    paper: Bound
    """For the paper's Laplace noise, as stated there."""


def bounds(eps: float, target: Target | None = None, horizon: int | None = None) -> BoundTable:
    """What each noise guarantees for predictions within eps of calibration, and what cannot be beaten.

    Parameters
    ----------
    eps : float
        Distance to calibration, from 1e-31 to 1.
    target : {"ece", "cdl", "decision_loss"}, optional
        The error to bound.  Default "decision_loss"; with a horizon "cdl".
    horizon : int, optional
        Number of rounds, for the online setting.

    Returns
    -------
    BoundTable
        The choices of `choices(eps, target, horizon)`, and the paper's bound.  O(1).

    >>> table = bounds(0.0002)
    >>> print(table.choices[0].guarantee, "|", table.paper)
    decision loss ≤ 0.01 (Theorem 14, sharpening Theorem 3.1) | decision loss ≤ 0.119205 (Theorem 3.1)
    """
    if checked_eps(eps) < _LEAST:
        raise ValueError(
            f"eps must be at least {_LEAST:g}, but is {eps!r}: noise for less is finer than floating-point numbers. "
            "Predictions so close to calibration need none."
        )
    chosen: Target = target or ("decision_loss" if horizon is None else "cdl")
    found = choices(eps, chosen, horizon)
    if horizon is None:
        return BoundTable(eps, found, noise_of_kind("paper", eps, chosen).guarantee)
    return BoundTable(eps, found, _ONLINE[chosen](TruncatedLaplace.paper(eps), eps, horizon))
