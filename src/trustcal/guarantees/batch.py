"""Upper bounds for post-processing a batch: the paper's Section 3, in the sharpest form that is proved.

A noise M enters through three numbers: its displacement E|X| = max E|M(q) − q|, its decision displacement K, and its
slope L, the least with TV(M(b), M(q)) ≤ L·|b − q|.  Theorem numbers from 13 on are those of theory.md; smaller
ones with a dot are the paper's.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Final

from trustcal.checking import checked_choice, checked_eps, checked_fraction, refuse_other
from trustcal.guarantees.bound import Bound, Quantity
from trustcal.noise import Noise, Target
from trustcal.noise.mechanism import TARGETS, as_noise

_QUANTITY: Final[dict[Target, Quantity]] = {"ece": "ECE", "cdl": "CDL", "decision_loss": "decision loss"}


def batch_ece(noise: Noise, eps: float) -> Bound:
    """ECE after noise, sharpening Theorem 3.1: E|X| + 2·L·eps.

    Parameters
    ----------
    noise : Noise
        E|X| and L are its displacement and its slope.
    eps : float
        Distance of the predictor to calibration, in (0, 1].

    Returns
    -------
    Bound
        The ECE after noise is at most this, on average over the noise.

    >>> from trustcal.noise import UniformNoise
    >>> print(batch_ece(UniformNoise.for_distance(0.0002, "ece"), 0.0002))
    ECE ≤ 0.02 (Theorem 13, sharpening Theorem 3.1)
    """
    value = as_noise(noise).displacement().value + 2 * noise.proved_tv_slope() * checked_eps(eps)
    return Bound("ECE", value, "Theorem 13, sharpening Theorem 3.1", True)


def batch_decision_loss(noise: Noise, eps: float) -> Bound:
    """Decision loss against every calibrated predictor within eps, sharpening Theorem 3.1: K + L·eps.

    Parameters
    ----------
    noise, eps
        As in `batch_ece`; K is the decision displacement of the noise.

    Returns
    -------
    Bound
        No decision maker with payoffs in [0, 1] loses more.

    >>> from trustcal.noise import UniformNoise
    >>> print(batch_decision_loss(UniformNoise.for_distance(0.0002), 0.0002))
    decision loss ≤ 0.01 (Theorem 14, sharpening Theorem 3.1)
    """
    value = as_noise(noise).decision_displacement() + noise.proved_tv_slope() * checked_eps(eps)
    return _by_k("decision loss", noise, value, "Theorem 14, sharpening Theorem 3.1")


def batch_cdl(noise: Noise, eps: float) -> Bound:
    """CDL after noise, sharpening Theorem 3.1 with Lemma 2.13: K + 2·L·eps, or less for some noises.

    Parameters
    ----------
    noise, eps
        As in `batch_decision_loss`.

    Returns
    -------
    Bound

    >>> from trustcal.noise import UniformNoise
    >>> print(batch_cdl(UniformNoise.for_distance(0.0001, "cdl"), 0.0001))
    CDL ≤ 0.01 (Theorem 15, sharpening Theorem 3.1)
    >>> from trustcal.noise import ClampedLaplace
    >>> print(batch_cdl(ClampedLaplace.for_distance(0.0001, "cdl"), 0.0001))
    CDL ≤ 0.00909796 (Theorem 44, sharpening Theorem 3.1)
    """
    shift = as_noise(noise).cdl_shift(checked_eps(eps))
    source = "Theorem 15" if shift == 2 * noise.proved_tv_slope() * eps else noise.cdl_source
    value = noise.decision_displacement() + shift
    return _by_k("CDL", noise, value, f"{source}, sharpening Theorem 3.1")


def batch_best(family: type[Noise], eps: float, target: Target = "decision_loss") -> Bound:
    """c·√eps: what the best parameter of a family of noises guarantees, for every eps (Theorem 17).

    Parameters
    ----------
    family : type
        A class of noises, such as UniformNoise.
    eps : float
        Distance to calibration, in (0, 1].
    target : {"ece", "cdl", "decision_loss"}

    Returns
    -------
    Bound
        With the c of `family.per_root`.

    >>> from trustcal.noise import TruncatedLaplace, UniformNoise
    >>> print(batch_best(UniformNoise, 0.02))
    decision loss ≤ 0.1 (Theorem 17)
    >>> print(batch_best(TruncatedLaplace, 0.01, "ece"))
    ECE ≤ 0.2 (Theorem 17)
    """
    refuse_other("family", family, type, "a class of noises, such as UniformNoise")
    constant = getattr(getattr(family, "per_root", None), checked_choice("target", target, TARGETS), None)
    if constant is None:
        raise ValueError(f"no constant is known for {family.__name__} and {target}; use batch_{target} with a noise.")
    caveat = "" if target == "ece" else family.caveat  # the displacement is proved for every noise
    return Bound(_QUANTITY[target], constant * sqrt(checked_eps(eps)), _with_caveat("Theorem 17", caveat), not caveat)


def batch_ece_smcal(noise: Noise, smcal: float) -> Bound:
    """ECE after noise from the smooth calibration error, which is easier to know: E|X| + max(1, 2·L)·smCal.

    Parameters
    ----------
    noise : Noise
    smcal : float
        Smooth calibration error of the predictor before noise.

    Returns
    -------
    Bound

    >>> from trustcal.noise import UniformNoise
    >>> print(batch_ece_smcal(UniformNoise(0.02), 0.0001))
    ECE ≤ 0.015 (Theorem 16)
    """
    value = as_noise(noise).displacement().value + _smcal_cost(noise, smcal)
    return Bound("ECE", value, "Theorem 16", True)


def batch_cdl_smcal(noise: Noise, smcal: float) -> Bound:
    """CDL after noise from the smooth calibration error: K + 2·max(1, 2·L)·smCal.

    Parameters
    ----------
    noise, smcal
        As in `batch_ece_smcal`.

    Returns
    -------
    Bound

    >>> from trustcal.noise import UniformNoise
    >>> print(batch_cdl_smcal(UniformNoise(0.02), 0.0001))
    CDL ≤ 0.015 (Theorem 16)
    """
    value = as_noise(noise).decision_displacement() + 2 * _smcal_cost(noise, smcal)
    return _by_k("CDL", noise, value, "Theorem 16")


def batch_ece_split(noise: Noise, nearby_ece: float, nearby_distance: float) -> Bound:
    """The split bound: a predictor with ECE η at distance δ costs η + E|X| + 2·L·δ, so only δ is square-rooted.

    Parameters
    ----------
    noise : Noise
    nearby_ece, nearby_distance : float
        η and δ: the ECE of some predictor, and its distance to the given one.

    Returns
    -------
    Bound
        The ECE of the given predictor after noise is at most this.

    >>> from trustcal.noise import RandomRounding
    >>> print(batch_ece_split(RandomRounding.for_distance(0.0001, "ece"), 0.01, 0.0001))       # η + 2√δ
    ECE ≤ 0.03 (Theorem 16)
    """
    eta, distance = checked_fraction("nearby_ece", nearby_ece), checked_fraction("nearby_distance", nearby_distance)
    value = eta + as_noise(noise).displacement().value + 2 * noise.proved_tv_slope() * distance
    return Bound("ECE", value, "Theorem 16", True)


def smece_dtc(eps: float) -> Bound:
    """SmoothECE, which the paper generalises, is Gaussian noise at the scale equal to its error: also O(√eps).

        smECE ≤ (eps + √(eps² + 4·√(2/π)·eps))/2 = 0.893·√eps + O(eps)

    Parameters
    ----------
    eps : float
        Distance of the predictor to calibration, in (0, 1].

    Returns
    -------
    Bound

    >>> print(smece_dtc(0.01))
    smECE ≤ 0.0944642 (Theorem 24)
    """
    distance = checked_eps(eps)
    return Bound("smECE", (distance + sqrt(distance**2 + 4 * sqrt(2 / pi) * distance)) / 2, "Theorem 24", True)


def _smcal_cost(noise: Noise, smcal: float) -> float:
    return max(1.0, 2 * noise.proved_tv_slope()) * checked_fraction("smcal", smcal)


def _by_k(quantity: Quantity, noise: Noise, value: float, source: str) -> Bound:
    return Bound(quantity, value, _with_caveat(source, noise.caveat), not noise.caveat)


def _with_caveat(source: str, caveat: str) -> str:
    return f"{source}, {caveat}" if caveat else source
