"""Upper bounds for post-processing a batch as the paper states them: by the noise's differential privacy.

A noise M enters through its displacement E|X| = max E|M(q) − q| and through (γ, δ), its differential privacy.
"""

from __future__ import annotations

from math import exp, inf, sqrt, tanh

from trustcal.checking import checked_eps, checked_fraction, checked_number
from trustcal.guarantees.bound import Bound, Quantity
from trustcal.noise import Noise
from trustcal.noise.mechanism import as_noise


def batch_ece_paper(noise: Noise, eps: float, delta: float = 0.0) -> Bound:
    """ECE after (γ, δ)-private noise as Lemmas 3.2 and 3.3 give it: E|X| + 4(1 − exp(−γ·eps) + δ).

    Theorem 3.1 itself rounds this up to twice the displacement.

    Parameters
    ----------
    noise : Noise
        Must be (γ, δ)-differentially private for some γ.
    eps : float
        Distance to the nearest calibrated predictor, in (0, 1].
    delta : float
        The δ; 0 for pure privacy.

    Returns
    -------
    Bound
        Proved for δ = 0; otherwise γ comes from a numerical search.

    >>> from trustcal.noise import TruncatedLaplace
    >>> print(batch_ece_paper(TruncatedLaplace.paper(0.001), 0.001))
    ECE ≤ 0.219666 (Theorem 3.1 by Lemmas 3.2 and 3.3)
    """
    gamma = as_noise(noise).privacy(delta)
    value = as_noise(noise).displacement().value + 4 * total_variation_paper(gamma, delta, eps).value
    return _by_privacy("ECE", gamma, delta, value, "Theorem 3.1 by Lemmas 3.2 and 3.3")


def batch_decision_loss_paper(noise: Noise, eps: float, delta: float = 0.0) -> Bound:
    """Theorem 3.1 as stated, for (γ, δ)-private noise: 2·E|X| + 4(1 − exp(−γ·eps) + δ).

    Parameters
    ----------
    noise, eps, delta
        As in `batch_ece_paper`.

    Returns
    -------
    Bound

    >>> from trustcal.noise import TruncatedLaplace
    >>> print(batch_decision_loss_paper(TruncatedLaplace.paper(0.001), 0.001))
    decision loss ≤ 0.264387 (Theorem 3.1)
    """
    gamma = as_noise(noise).privacy(delta)
    value = 2 * noise.displacement().value + 4 * total_variation_paper(gamma, delta, eps).value
    return _by_privacy("decision loss", gamma, delta, value, "Theorem 3.1")


def batch_cdl_paper(noise: Noise, eps: float, delta: float = 0.0) -> Bound:
    """Twice `batch_ece_paper`: CDL ≤ 2·ECE is what holds of Lemma 2.13.

    Parameters
    ----------
    noise, eps, delta
        As in `batch_ece_paper`.

    Returns
    -------
    Bound

    >>> from trustcal.noise import TruncatedLaplace
    >>> print(batch_cdl_paper(TruncatedLaplace.paper(0.001), 0.001))
    CDL ≤ 0.439332 (Theorem 3.1 by Lemmas 3.2 and 3.3, and Lemma 2.13 corrected)
    """
    ece = batch_ece_paper(noise, eps, delta)
    return Bound("CDL", 2 * ece.value, f"{ece.source}, and Lemma 2.13 corrected", ece.proved)


def batch_laplace_paper(eps: float) -> Bound:
    """Lemma 3.4, the constant behind its Θ(√eps): decision loss ≤ 6·√(2·eps) with the paper's Laplace noise.

    Parameters
    ----------
    eps : float
        Distance to calibration, which sets the scale √(2·eps) of the noise.

    Returns
    -------
    Bound
        For `TruncatedLaplace.paper(eps)`.

    >>> print(batch_laplace_paper(0.001))
    decision loss ≤ 0.268328 (Lemma 3.4)
    """
    return Bound("decision loss", 6 * sqrt(2 * checked_eps(eps)), "Lemma 3.4", True)


def total_variation_paper(gamma: float, delta: float, eps: float) -> Bound:
    """Lemma A.2: E TV(M(b), M(q)) ≤ 1 − exp(−γ·eps) + δ for (γ, δ)-private M and E|b − q| ≤ eps.

    Parameters
    ----------
    gamma, delta : float
        Privacy parameters, γ ≥ 0 and δ in [0, 1].
    eps : float
        E|b − q|, in (0, 1].

    Returns
    -------
    Bound

    >>> print(total_variation_paper(20, 0, 0.01))
    TV ≤ 0.181269 (Lemma A.2)
    """
    checked_number("gamma", gamma, 0, inf)
    return Bound("TV", 1 - exp(-gamma * checked_eps(eps)) + checked_fraction("delta", delta), "Lemma A.2", True)


def total_variation(gamma: float, delta: float, eps: float) -> Bound:
    """Lemma A.2 sharpened: E TV(M(b), M(q)) ≤ δ + (1 − δ)·tanh(γ·eps/2); no smaller bound follows from (γ, δ).

    Parameters
    ----------
    gamma, delta, eps
        As in `total_variation_paper`.

    Returns
    -------
    Bound

    >>> print(total_variation(20, 0, 0.01))
    TV ≤ 0.099668 (Theorem 18, sharpening Lemma A.2)
    """
    checked_number("gamma", gamma, 0, inf)
    value = checked_fraction("delta", delta) + (1 - delta) * tanh(gamma * checked_eps(eps) / 2)
    return Bound("TV", value, "Theorem 18, sharpening Lemma A.2", True)


def _by_privacy(quantity: Quantity, gamma: float, delta: float, value: float, source: str) -> Bound:
    """γ is exact at δ = 0 and where it is 0; between, it comes from a numerical search."""
    proved = delta == 0 or gamma == 0
    return Bound(quantity, value, source if proved else f"{source}, with γ by a numerical search", proved)
