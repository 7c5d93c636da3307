"""Instances on which the sharp bounds of `guarantees` are attained, or attained in the limit.

    uniform_attained       K + L·eps for decision loss, exactly            (Theorem 14, uniform noise)
    decision_loss_tight    K + L·eps, as eps → 0                           (Theorem 14, any clamped noise)
    ece_tight              E|X| + 2·L·eps, as eps → 0                      (Theorem 13)
    cdl_tight              K + 2·L·eps, as eps → 0                         (Theorem 15, uniform noise)
    private_pair           δ + (1 − δ)·tanh(γ·distance/2), exactly         (Theorem 18)

The coupling has E|p − b| = eps.  A nearer calibrated predictor may exist, which does not affect a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, floor, inf, tanh
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import checked_fraction, checked_number
from trustcal.noise import Noise, RandomRounding, UniformNoise
from trustcal.noise.clamped import ClampedNoise
from trustcal.paper.instance import Instance, Row, instance_of


@final
@dataclass(frozen=True, eq=False)
class PrivatePair:
    """The distributions of M(b) and M(q) on four outputs, (γ, δ)-private and at the largest possible distance."""

    one: NDArray[np.float64]
    other: NDArray[np.float64]
    tv: float


def uniform_attained(eps: float) -> Instance:
    """Theorem 14 attained: decision loss √(eps/2) after uniform noise.

    The reference always predicts b = 1/2 + w/2, where w = √(2·eps) is the width of `UniformNoise.for_distance(eps)`.
    The predictor predicts eps less before ones and eps more before zeros.  At the threshold 1/2 noise alone costs w/4,
    and the shift under a flat density eps/(2w) more.

    Parameters
    ----------
    eps : float
        Distance to the reference, in (0, 1/8].

    Returns
    -------
    Instance

    >>> uniform_attained(0.02).reference.p
    array([0.6])
    """
    checked_number("eps", eps, 0, 0.125, "(]")
    return instance_of(_apart(0.5 + UniformNoise.for_distance(eps).width / 2, eps, 1.0))


def decision_loss_tight(noise: ClampedNoise, eps: float) -> Instance:
    """Theorem 14 attained in the limit: decision loss K + L·eps·(1 − o(1)) at the threshold 1/2.

    Mostly the reference and the predictor both predict 1/2 + x, where x maximises x·Pr[Y > x]: this costs K.  On a
    share eps^(1/4) the reference predicts 1/2, and the predictor a little less before ones and more before zeros: this
    costs L·eps, since the density of the noise is highest there.

    Parameters
    ----------
    noise : ClampedNoise
        Of size about √eps.
    eps : float
        Distance to the reference, in (0, 1/1000].

    Returns
    -------
    Instance

    >>> from trustcal.noise import ClampedLaplace
    >>> decision_loss_tight(ClampedLaplace(0.0625), 1e-8).reference.p.round(6)
    array([0.5   , 0.5625])
    """
    from scipy.optimize import minimize_scalar

    checked_number("eps", eps, 0, 1e-3, "(]")
    if not isinstance(noise, ClampedNoise):
        raise ValueError(f"the family is for clamped noise, whose K is in the interior, not {noise!r}.")
    reach = float(noise.quantile(0.99, 0.5)) - 0.5
    x = reach * minimize_scalar(lambda t: -t * float(noise.cdf(0.5 - t * reach, 0.5)), bounds=(0, 1)).x
    few = eps**0.25
    return instance_of([*_apart(0.5 + float(x), 0.0, 1 - few), *_apart(0.5, eps / few, few)])


def ece_tight(noise: Noise, eps: float) -> Instance:
    """Theorem 13 attained in the limit: ECE E|X| + 2·L·eps·(1 − o(1)).

    The reference always predicts β, about eps^(1/4): small, but far from 0 on the scale of the noise (with random
    rounding, the midpoint between two grid points).  The predictor predicts eps/β less before ones.  Below β noise and
    shift err to the same side, and there |p − y| is nearly 1.

    Parameters
    ----------
    noise, eps
        As in `decision_loss_tight`; any noise.

    Returns
    -------
    Instance

    >>> from trustcal.noise import UniformNoise
    >>> ece_tight(UniformNoise(1e-4), 1e-8).predictor.p.round(9)
    array([0.009999, 0.01    ])
    """
    checked_number("eps", eps, 0, 1e-3, "(]")
    beta = eps**0.25
    if isinstance(noise, RandomRounding):
        beta = (floor(beta * noise.cells) + 0.5) / noise.cells
    return instance_of([(beta, 0, beta, 1 - beta), (beta - eps / beta, 1, beta, beta)])


def cdl_tight(eps: float) -> Instance:
    """Theorem 15 attained in the limit: CDL √eps·(1 − o(1)) after uniform noise of width w = 2√eps.

    The noise is `UniformNoise.for_distance(eps, "cdl")`.  Mostly the reference predicts 1/2 + w/2, which costs K = w/4
    at the threshold 1/2.  On a share eps^(1/4) it predicts 1/2 + 3w/4; there the predictor moves ones to the left and
    zeros to the right, so that the ends of their noise stick out on either side and show one kind of outcome each.

    Parameters
    ----------
    eps : float
        Distance to the reference, in (0, 1/1000].

    Returns
    -------
    Instance

    >>> cdl_tight(1e-8).reference.p.round(6)
    array([0.5001 , 0.50015])
    """
    checked_number("eps", eps, 0, 1e-3, "(]")
    width, few = UniformNoise.for_distance(eps, "cdl").width, eps**0.25
    rows = [*_apart(0.5 + width / 2, 0.0, 1 - few), *_apart(0.5 + 0.75 * width, eps / few, few)]
    return instance_of(rows)


def private_pair(gamma: float, delta: float, distance: float) -> PrivatePair:
    """Theorem 18 attained: the output reveals its input with probability δ, else it is a coin of odds exp(γ·distance).

    Parameters
    ----------
    gamma, delta : float
        Privacy parameters, γ ≥ 0 and δ in [0, 1].
    distance : float
        |b − q|, in [0, 1].

    Returns
    -------
    PrivatePair
        Both distributions, and their total variation distance δ + (1 − δ)·tanh(γ·distance/2).

    >>> pair = private_pair(20, 0, 0.01)
    >>> round(pair.tv, 6), pair.one.round(6)
    (0.099668, array([0.      , 0.      , 0.549834, 0.450166]))
    """
    checked_number("gamma", gamma, 0, inf)
    checked_fraction("delta", delta)
    checked_fraction("distance", distance)
    coin = 1 / (1 + exp(-gamma * distance))
    one = np.array([delta, 0, (1 - delta) * coin, (1 - delta) * (1 - coin)])
    return PrivatePair(one, one[[1, 0, 3, 2]], delta + (1 - delta) * tanh(gamma * distance / 2))


def _apart(b: float, moved: float, weight: float) -> list[Row]:
    """Rows where the reference predicts b, and the predictor less before ones and more before zeros."""
    return [(b + moved, 0, b, weight * (1 - b)), (b - moved, 1, b, weight * b)]
