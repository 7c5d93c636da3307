"""Counterexamples to statements of the paper: a predictor, or two numbers that violate a claimed inequality.

    cdl_beyond_ece         Lemma 2.13, CDL ≤ ECE
    smcal_beyond_dtc       Lemma 2.17, smCal ≤ DTC
    gaussian_not_private   Lemma 3.4, the privacy of its Gaussian noise
    gaussian_cut_off       the proof of Lemma 3.4, the probability of truncation
    tv_beyond_density      Lemma A.3, for a density that is monotone on either side of 0 but not unimodal
    weak_certificate       the proof of Theorem 3.5, its dual certificate
    ceiling_cells          Corollary 4.2 with ⌈T^(1/3)⌉ cells, for some private noise
    additive_cells         the same for additive noise

Two more are in `hard_sequences`: `floor_cells` (Corollary 4.2 with ⌊T^(1/3)⌋ cells) and `online_hard_paper` (Theorem
4.4's claim about CDL).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, exp, log, log1p, sqrt
from typing import final

from scipy.special import log_ndtr, ndtr

from trustcal.checking import checked_count, checked_number
from trustcal.noise import TruncatedGaussian
from trustcal.paper.instance import Answers, Instance, instance_of


@final
@dataclass(frozen=True)
class Counterexample:
    """Two numbers with `less` > `more`, although the paper claims `less` ≤ `more`."""

    statement: str
    less: float
    more: float


def smcal_beyond_dtc(d: float, h: float) -> Instance:
    """Lemma 2.17 claims smCal ≤ DTC; here smCal/DTC = 2 − d − h.

    Zeros are predicted d, and the ones that would make d calibrated are predicted d + h.

    Parameters
    ----------
    d : float
        The reference's prediction, in (0, 1/2].
    h : float
        The distance by which the ones are moved, in (0, 1/2 − d].

    Returns
    -------
    Instance

    >>> known = smcal_beyond_dtc(0.1, 0.1).answers
    >>> round(known.smcal / known.dtc, 12)
    1.8
    """
    checked_number("d", d, 0, 0.5, "(]")
    checked_number("h", h, 0, 0.5 - d, "(]")
    rows = [(d, 0, d, 1 - d), (d + h, 1, d, d)]
    return instance_of(rows, Answers(dtc=d * h, smcal=d * h * (2 - d - h)))


def cdl_beyond_ece(bias: float) -> Instance:
    """Lemma 2.13 claims CDL ≤ ECE; here CDL = 2·ECE.  The prediction is always 1/2, the base rate 1/2 + bias.

    Parameters
    ----------
    bias : float
        The base rate minus 1/2, in (0, 1/2].

    Returns
    -------
    Instance
        With DTC = smCal = ECE = bias and CDL = 2·bias.

    >>> known = cdl_beyond_ece(0.125).answers
    >>> known.ece, known.cdl
    (0.125, 0.25)
    """
    checked_number("bias", bias, 0, 0.5, "(]")
    rows = [(0.5, 0, 0.5 + bias, 0.5 - bias), (0.5, 1, 0.5 + bias, 0.5 + bias)]
    return instance_of(rows, Answers(dtc=bias, smcal=bias, ece=bias, cdl=2 * bias))


def gaussian_not_private(eps: float) -> Counterexample:
    """Lemma 3.4: truncated N(0, σ²), σ² = 2·eps·ln(1.25/√eps), is (γ, √eps)-private with 1 − exp(−γ·eps) ≤ 2√eps.

    Take the largest γ that this allows, q and q' = 1/2 ∓ γσ², and the event M ≤ q.  Its probability under M(q) is
    about 1/2, while the ratio of the two normal densities is exp(γ|q − q'|) only at q, and smaller to its left.  The
    distance shrinks with eps, so the statement fails for every small eps.

    Parameters
    ----------
    eps : float
        Distance to calibration, in (0, 1/1000].

    Returns
    -------
    Counterexample
        Both sides of the definition of privacy for that event.

    >>> found = gaussian_not_private(1e-4)
    >>> round(found.less, 6), found.more < 0.05
    (0.5, True)
    """
    checked_number("eps", eps, 0, 1e-3, "(]")
    noise = TruncatedGaussian.paper(eps)
    gamma = -log1p(-2 * sqrt(eps)) / eps
    half = gamma * noise.scale**2
    q, other = 0.5 - half, 0.5 + half
    # e^(γ|q − q'|) is huge and Pr[M(q') ≤ q] tiny: both in logarithms.
    near, far, kept = -2 * half / noise.scale, -other / noise.scale, (1 - other) / noise.scale
    tail = log_ndtr(near) + log1p(-exp(log_ndtr(far) - log_ndtr(near))) - log(ndtr(kept) - ndtr(far))
    return Counterexample(
        "Lemma 3.4, Gaussian: Pr[M(q) ∈ I] ≤ e^(γ|q − q'|) Pr[M(q') ∈ I] + √ε",
        float(noise.cdf(q, q)),
        float(exp(gamma * 2 * half + tail)) + sqrt(eps),
    )


def gaussian_cut_off(eps: float) -> Counterexample:
    """The proof of Lemma 3.4: at most exp(−1/(4√eps)) of the noise is truncated.  At q = 0 one half is.

    Parameters
    ----------
    eps : float
        Distance to calibration, in (0, 1/10].

    Returns
    -------
    Counterexample
        The truncated mass at q = 0, and the claimed bound.

    >>> found = gaussian_cut_off(0.01)
    >>> round(found.less, 4), round(found.more, 4)
    (0.5, 0.0821)
    """
    checked_number("eps", eps, 0, 0.1, "(]")
    beyond = 0.5 + float(ndtr(-1 / TruncatedGaussian.paper(eps).scale))
    return Counterexample("proof of Lemma 3.4: Pr[q + Y ∉ [0, 1]] ≤ e^(−1/(4√ε))", beyond, exp(-1 / (4 * sqrt(eps))))


def tv_beyond_density(cells: int) -> Counterexample:
    """Lemma A.3: TV(M(b), M(q)) ≤ max density · |b − q| for noise with a density monotone on x < 0 and on x ≥ 0.

    This holds for densities that decrease away from 0 (theory.md, Theorem 17).  But let Y be uniform on [−1, −1/N)
    ∪ [0, 1/N): a density that decreases on either side, with a gap just below 0.  Truncated to [0, 1], M(1 − 2/N) is
    uniform on N − 2 intervals of length 1/N and M(1 − 1/N) on N − 1 of them.  TV = 2/(N − 1), and the bound is
    1/(N − 2): the ratio tends to 2.

    Parameters
    ----------
    cells : int
        N, at least 4.

    Returns
    -------
    Counterexample

    >>> found = tv_beyond_density(4)
    >>> round(found.less / found.more, 12)
    1.333333333333
    """
    checked_count("cells", cells, least=4)
    return Counterexample("Lemma A.3: TV(M(b), M(q)) ≤ max density · |b − q|", 2 / (cells - 1), 1 / (cells - 2))


def weak_certificate(eps: float) -> Counterexample:
    """The proof of Theorem 3.5 claims that the dual certificate s(b) = ±2√eps/(1 + 2√eps) proves DTC ≥ eps.

    The paper takes r(1/2 − √eps, 1) = √eps.  But just above 1/2, where s is negative, the constraint requires
    2·eps/(1 + 2√eps), and the certificate's value is negative.  The claim DTC = eps is true: s(b) = (1/2 − b)/(1 − b)
    on [1/2 − √eps, 1/2], constant below and odd around 1/2, makes the same r feasible.

    Parameters
    ----------
    eps : float
        Distance to calibration, in (0, 1/4].

    Returns
    -------
    Counterexample
        eps, and the value of the certificate.

    >>> round(weak_certificate(0.01).more, 12)
    -0.028333333333
    """
    checked_number("eps", eps, 0, 0.25, "(]")
    s = sqrt(eps)
    right, wrong = -s * (1 - 2 * s) / (1 + 2 * s), 2 * eps / (1 + 2 * s)
    worth = (0.5 + s / 2 - eps) * right + (0.5 - s / 2 + eps) * wrong
    return Counterexample("proof of Theorem 3.5: ε ≤ the value of the dual certificate", eps, worth)


def ceiling_cells(cells: int) -> Counterexample:
    """Corollary 4.2 claims E CDL ≤ 2·E|X| + 8(1 − exp(−γ·eps) + δ) + 2·T^(−1/3): false with ⌈T^(1/3)⌉ cells too.

    T = n³ rounds for an even number n of cells, all calibrated: n of them at 1/2, the others at 1/2 + 1/n.  The noise
    has a small scale around a map that takes 1/2 + 1/n just below its border and leaves 1/2 on its own: it is private,
    and E|X| is as small as one likes.  The others answer 1/2, and rows at 1/2 fall on either side by chance.  At the
    threshold 1/2, with weight 2, E CDL is at least

        2/n − 2/n³ + E(Z − J)⁺/n³,        Z − J the surplus of zeros over ones among the rows that fall below

    Parameters
    ----------
    cells : int
        n, even and at least 2; from 102 on the claim fails.

    Returns
    -------
    Counterexample
        The lower bound on E CDL, and 2·T^(−1/3); as the noise shrinks, the other terms of the claim tend to 0.

    >>> found = ceiling_cells(102)
    >>> f"{found.less - found.more:.2e}"
    '9.07e-09'
    """
    return _beside_a_border(cells, 1)


def additive_cells(cells: int) -> Counterexample:
    """Corollary 4.2 is false on ⌈T^(1/3)⌉ cells for additive noise as well, such as the paper's.

    As in `ceiling_cells`, but the others, N = n³ − n rounds, are at 1/2 + 1/n − 1/N, below their border by themselves:
    one of them fewer is a one.  Noise that is small against 1/N leaves them in their cell.  E CDL is at least

        2/n − 4/n³ + E(Z − J)⁺/n³

    Parameters
    ----------
    cells : int
        n, even and at least 2; from 404 on the claim fails.

    Returns
    -------
    Counterexample
        The lower bound on E CDL, and 2·T^(−1/3); as the noise shrinks, the other terms of the claim tend to 0.

    >>> found = additive_cells(404)
    >>> f"{found.less - found.more:.2e}"
    '1.04e-10'
    """
    return _beside_a_border(cells, 2)


def _beside_a_border(cells: int, missing: int) -> Counterexample:
    """The others lose n² less what is missing, rows at 1/2 what falls below their border by chance; both over T/2."""
    n = checked_count("cells", cells, least=2)
    if n % 2:
        raise ValueError(f"the number of cells must be even, so that 1/2 is a border, not {cells!r}.")
    surplus = Fraction((n // 2 + 1) * comb(n, n // 2 + 1), 4 * 2**n)  # De Moivre's mean deviation
    least = Fraction(2, n) - Fraction(2, n**3) * (missing - surplus)
    return Counterexample("Corollary 4.2, with ⌈T^(1/3)⌉ cells: E CDL ≤ 2·T^(−1/3)", float(least), 2 / n)
