"""Upper bounds for post-processing in the batch setting: the paper's Section 3, as stated and in the sharpest form.

A noise M enters through three numbers: its displacement E|X| = max E|M(q) − q|, its decision displacement K, and its
slope L, the least with TV(M(b), M(q)) ≤ L·|b − q|.  Theorem numbers from 13 on are those of docs/theory.md; smaller
ones with a dot are the paper's.  A function ending in _paper says what the paper says.
"""

from __future__ import annotations

from math import exp, inf, pi, sqrt, tanh
from typing import Final

from trustcal.checking import checked_choice, checked_eps, checked_fraction, checked_number, refuse_other
from trustcal.guarantees.bound import Bound, Quantity
from trustcal.noise import Noise, Target
from trustcal.noise.mechanism import TARGETS, as_noise

_QUANTITY: Final[dict[Target, Quantity]] = {"ece": "ECE", "cdl": "CDL", "decision_loss": "decision loss"}


def batch_ece(noise: Noise, eps: float) -> Bound:
    """ECE after noise, sharpening Theorem 3.1: E|X| + 2·L·eps.

    >>> from trustcal.noise import UniformNoise
    >>> print(batch_ece(UniformNoise.for_distance(0.0002, "ece"), 0.0002))
    ECE ≤ 0.02 (Theorem 13, sharpening Theorem 3.1)
    """
    value = as_noise(noise).displacement().value + 2 * noise.proved_tv_slope() * checked_eps(eps)
    return Bound("ECE", value, "Theorem 13, sharpening Theorem 3.1", True)


def batch_decision_loss(noise: Noise, eps: float) -> Bound:
    """Decision loss against every calibrated predictor within eps, sharpening Theorem 3.1: K + L·eps.

    >>> from trustcal.noise import UniformNoise
    >>> print(batch_decision_loss(UniformNoise.for_distance(0.0002), 0.0002))
    decision loss ≤ 0.01 (Theorem 14, sharpening Theorem 3.1)
    """
    value = as_noise(noise).decision_displacement() + noise.proved_tv_slope() * checked_eps(eps)
    return _by_k("decision loss", noise, value, "Theorem 14, sharpening Theorem 3.1")


def batch_cdl(noise: Noise, eps: float) -> Bound:
    """CDL after noise, sharpening Theorem 3.1 with Lemma 2.13: K + 2·L·eps.

    >>> from trustcal.noise import UniformNoise
    >>> print(batch_cdl(UniformNoise.for_distance(0.0001, "cdl"), 0.0001))
    CDL ≤ 0.01 (Theorem 15, sharpening Theorem 3.1)
    """
    value = as_noise(noise).decision_displacement() + 2 * noise.proved_tv_slope() * checked_eps(eps)
    return _by_k("CDL", noise, value, "Theorem 15, sharpening Theorem 3.1")


def batch_ece_paper(noise: Noise, eps: float, delta: float = 0.0) -> Bound:
    """ECE after (γ, δ)-private noise as Lemmas 3.2 and 3.3 give it: E|X| + 4(1 − exp(−γ·eps) + δ).

    Theorem 3.1 itself rounds this up to twice the displacement.

    >>> from trustcal.noise import TruncatedLaplace
    >>> print(batch_ece_paper(TruncatedLaplace.paper(0.001), 0.001))
    ECE ≤ 0.219666 (Theorem 3.1 by Lemmas 3.2 and 3.3)
    """
    gamma = as_noise(noise).privacy(delta)
    value = as_noise(noise).displacement().value + 4 * total_variation_paper(gamma, delta, eps).value
    return _by_privacy("ECE", gamma, delta, value, "Theorem 3.1 by Lemmas 3.2 and 3.3")


def batch_decision_loss_paper(noise: Noise, eps: float, delta: float = 0.0) -> Bound:
    """Theorem 3.1 as stated, for (γ, δ)-private noise: 2·E|X| + 4(1 − exp(−γ·eps) + δ).

    >>> from trustcal.noise import TruncatedLaplace
    >>> print(batch_decision_loss_paper(TruncatedLaplace.paper(0.001), 0.001))
    decision loss ≤ 0.264387 (Theorem 3.1)
    """
    gamma = as_noise(noise).privacy(delta)
    value = 2 * noise.displacement().value + 4 * total_variation_paper(gamma, delta, eps).value
    return _by_privacy("decision loss", gamma, delta, value, "Theorem 3.1")


def batch_cdl_paper(noise: Noise, eps: float, delta: float = 0.0) -> Bound:
    """Twice `batch_ece_paper`: CDL ≤ 2·ECE is what holds of Lemma 2.13.

    >>> from trustcal.noise import TruncatedLaplace
    >>> print(batch_cdl_paper(TruncatedLaplace.paper(0.001), 0.001))
    CDL ≤ 0.439332 (Theorem 3.1 by Lemmas 3.2 and 3.3, and Lemma 2.13 corrected)
    """
    ece = batch_ece_paper(noise, eps, delta)
    return Bound("CDL", 2 * ece.value, f"{ece.source}, and Lemma 2.13 corrected", ece.proved)


def batch_laplace_paper(eps: float) -> Bound:
    """Lemma 3.4, the constant behind its Θ(√eps): decision loss ≤ 6·√(2·eps) with the paper's Laplace noise.

    >>> print(batch_laplace_paper(0.001))
    decision loss ≤ 0.268328 (Lemma 3.4)
    """
    return Bound("decision loss", 6 * sqrt(2 * checked_eps(eps)), "Lemma 3.4", True)


def batch_best(family: type[Noise], eps: float, target: Target = "decision_loss") -> Bound:
    """c·√eps: what the best parameter of a family of noises guarantees, for every eps (Theorem 17).

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

    >>> from trustcal.noise import UniformNoise
    >>> print(batch_ece_smcal(UniformNoise(0.02), 0.0001))
    ECE ≤ 0.015 (Theorem 16)
    """
    value = as_noise(noise).displacement().value + _smcal_cost(noise, smcal)
    return Bound("ECE", value, "Theorem 16", True)


def batch_cdl_smcal(noise: Noise, smcal: float) -> Bound:
    """CDL after noise from the smooth calibration error: K + 2·max(1, 2·L)·smCal.

    >>> from trustcal.noise import UniformNoise
    >>> print(batch_cdl_smcal(UniformNoise(0.02), 0.0001))
    CDL ≤ 0.015 (Theorem 16)
    """
    value = as_noise(noise).decision_displacement() + 2 * _smcal_cost(noise, smcal)
    return _by_k("CDL", noise, value, "Theorem 16")


def batch_ece_split(noise: Noise, nearby_ece: float, nearby_distance: float) -> Bound:
    """The split bound: a predictor with ECE η at distance δ costs η + E|X| + 2·L·δ, so only δ is square-rooted.

    >>> from trustcal.noise import RandomRounding
    >>> print(batch_ece_split(RandomRounding.for_distance(0.0001, "ece"), 0.01, 0.0001))       # η + 2√δ
    ECE ≤ 0.03 (Theorem 16)
    """
    eta, distance = checked_fraction("nearby_ece", nearby_ece), checked_fraction("nearby_distance", nearby_distance)
    return Bound(
        "ECE",
        eta + as_noise(noise).displacement().value + 2 * noise.proved_tv_slope() * distance,
        "Theorem 16",
        True,
    )


def smece_dtc(eps: float) -> Bound:
    """SmoothECE, which the paper generalises, is Gaussian noise at the scale equal to its error: also O(√eps).

        smECE ≤ (eps + √(eps² + 4·√(2/π)·eps))/2 = 0.893·√eps + O(eps)

    >>> print(smece_dtc(0.01))
    smECE ≤ 0.0944642 (Theorem 24)
    """
    distance = checked_eps(eps)
    return Bound("smECE", (distance + sqrt(distance**2 + 4 * sqrt(2 / pi) * distance)) / 2, "Theorem 24", True)


def total_variation_paper(gamma: float, delta: float, eps: float) -> Bound:
    """Lemma A.2: E TV(M(b), M(q)) ≤ 1 − exp(−γ·eps) + δ for (γ, δ)-private M and E|b − q| ≤ eps.

    >>> print(total_variation_paper(20, 0, 0.01))
    TV ≤ 0.181269 (Lemma A.2)
    """
    checked_number("gamma", gamma, 0, inf)
    return Bound("TV", 1 - exp(-gamma * checked_eps(eps)) + checked_fraction("delta", delta), "Lemma A.2", True)


def total_variation(gamma: float, delta: float, eps: float) -> Bound:
    """Lemma A.2 sharpened: E TV(M(b), M(q)) ≤ δ + (1 − δ)·tanh(γ·eps/2); no smaller bound follows from (γ, δ).

    >>> print(total_variation(20, 0, 0.01))
    TV ≤ 0.099668 (Theorem 18, sharpening Lemma A.2)
    """
    checked_number("gamma", gamma, 0, inf)
    value = checked_fraction("delta", delta) + (1 - delta) * tanh(gamma * checked_eps(eps) / 2)
    return Bound("TV", value, "Theorem 18, sharpening Lemma A.2", True)


def _smcal_cost(noise: Noise, smcal: float) -> float:
    return max(1.0, 2 * noise.proved_tv_slope()) * checked_fraction("smcal", smcal)


def _by_k(quantity: Quantity, noise: Noise, value: float, source: str) -> Bound:
    return Bound(quantity, value, _with_caveat(source, noise.caveat), not noise.caveat)


def _with_caveat(source: str, caveat: str) -> str:
    return f"{source}, {caveat}" if caveat else source


def _by_privacy(quantity: Quantity, gamma: float, delta: float, value: float, source: str) -> Bound:
    """γ is exact at δ = 0 and where it is 0; between, it comes from a numerical search."""
    proved = delta == 0 or gamma == 0
    return Bound(quantity, value, source if proved else f"{source}, with γ by a numerical search", proved)
