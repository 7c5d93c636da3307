"""Where a statement of the paper is false: a predictor, or two numbers of which the paper says the first is the lesser.

    cdl_beyond_ece         Lemma 2.13, CDL ≤ ECE
    smcal_beyond_dtc       Lemma 2.17, smCal ≤ DTC
    gaussian_not_private   Lemma 3.4, the privacy of its Gaussian noise
    gaussian_cut_off       the proof of Lemma 3.4, how much of the noise is cut off
    tv_beyond_density      Lemma A.3, for noise that is monotone on either side, but not around its mode
    weak_certificate       the proof of Theorem 3.5, its dual certificate

Beside them stand, in `sequences`, `floor_cells` (Corollary 4.2 with ⌊T^(1/3)⌋ cells) and `online_hard_paper` (Theorem
4.4's claim on CDL).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, log1p, sqrt
from typing import final

from scipy.special import log_ndtr, ndtr

from trustcal.checking import checked_count
from trustcal.noise import TruncatedGaussian
from trustcal.paper.instances.instance import Answers, Instance, instance_of, refuse_outside


@final
@dataclass(frozen=True)
class Counterexample:
    """The paper says that `less` ≤ `more`; here it is not."""

    statement: str
    less: float
    more: float


def smcal_beyond_dtc(d: float, h: float) -> Instance:
    """Lemma 2.17's right inequality, smCal ≤ DTC, is false here: the ratio is 2 − d − h, for d + h ≤ 1/2.

    Zeros are predicted d, and the ones that would make d calibrated are predicted d + h.

    >>> known = smcal_beyond_dtc(0.1, 0.1).answers
    >>> round(known.smcal / known.dtc, 12)
    1.8
    """
    refuse_outside(d, "d", 0.5)
    refuse_outside(h, "h", 0.5 - d)
    rows = [(d, 0, d, 1 - d), (d + h, 1, d, d)]
    return instance_of(rows, Answers(dtc=d * h, smcal=d * h * (2 - d - h)))


def cdl_beyond_ece(bias: float) -> Instance:
    """Lemma 2.13, CDL ≤ ECE, is false here: always 1/2, of outcomes that come with 1/2 + bias, makes CDL = 2·ECE.

    >>> known = cdl_beyond_ece(0.125).answers
    >>> known.ece, known.cdl
    (0.125, 0.25)
    """
    refuse_outside(bias, "bias", 0.5)
    rows = [(0.5, 0, 0.5 + bias, 0.5 - bias), (0.5, 1, 0.5 + bias, 0.5 + bias)]
    return instance_of(rows, Answers(dtc=bias, smcal=bias, ece=bias, cdl=2 * bias))


def gaussian_not_private(eps: float) -> Counterexample:
    """Lemma 3.4: truncated N(0, σ²), σ² = 2·eps·ln(1.25/√eps), is (γ, √eps)-private with 1 − exp(−γ·eps) ≤ 2√eps.

    Take the largest γ that this allows, q and q' = 1/2 ∓ γσ², and the event M ≤ q.  It has about probability 1/2 under
    M(q), while the normal densities there differ by the factor exp(γ|q − q'|) just at q and by less on the left.  The
    distance shrinks with eps, so no small eps is safe; eps ≤ 1/1000.

    >>> found = gaussian_not_private(1e-4)
    >>> round(found.less, 6), found.more < 0.05
    (0.5, True)
    """
    refuse_outside(eps, "eps", 1e-3)
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
    """The proof of Lemma 3.4: of the noise at most exp(−1/(4√eps)) is cut off.  At q = 0 one half is; eps ≤ 1/10.

    >>> found = gaussian_cut_off(0.01)
    >>> round(found.less, 4), round(found.more, 4)
    (0.5, 0.0821)
    """
    refuse_outside(eps, "eps", 0.1)
    beyond = 0.5 + float(ndtr(-1 / TruncatedGaussian.paper(eps).scale))
    return Counterexample("proof of Lemma 3.4: Pr[q + Y ∉ [0, 1]] ≤ e^(−1/(4√ε))", beyond, exp(-1 / (4 * sqrt(eps))))


def tv_beyond_density(cells: int) -> Counterexample:
    """Lemma A.3: TV(M(b), M(q)) ≤ (the largest density)·|b − q| for noise that is monotone on x < 0 and on x ≥ 0.

    It is true of densities that fall away from 0 (docs, Theorem 17).  But let Y be uniform on [−1, −1/N) ∪ [0, 1/N), N
    the number of cells: a density that falls on either side, with a hole before 0.  Truncated to [0, 1], M(1 − 2/N) is
    uniform on N − 2 cells and M(1 − 1/N) on N − 1, and where one has its hole and its last cell the other has none or
    both.  TV = 2/(N − 1), and the bound is 1/(N − 2): the ratio tends to 2.

    >>> found = tv_beyond_density(4)
    >>> round(found.less / found.more, 12)
    1.333333333333
    """
    checked_count("cells", cells, least=4)
    return Counterexample("Lemma A.3: TV(M(b), M(q)) ≤ max density · |b − q|", 2 / (cells - 1), 1 / (cells - 2))


def weak_certificate(eps: float) -> Counterexample:
    """The proof of Theorem 3.5: its dual certificate s(b) = ±2√eps/(1 + 2√eps) shows that DTC ≥ eps.

    The paper takes r(1/2 − √eps, 1) for √eps; but just above 1/2, where s is negative, the constraint asks for
    2·eps/(1 + 2√eps), and the certificate is worth less than 0.  `weak_certificate(eps).more` is its worth.  The claim,
    DTC = eps, is true: with s(b) = (1/2 − b)/(1 − b) on [1/2 − √eps, 1/2], constant below and odd around 1/2, the same
    r are feasible.

    >>> round(weak_certificate(0.01).more, 12)
    -0.028333333333
    """
    refuse_outside(eps, "eps", 0.25)
    s = sqrt(eps)
    right, wrong = -s * (1 - 2 * s) / (1 + 2 * s), 2 * eps / (1 + 2 * s)
    worth = (0.5 + s / 2 - eps) * right + (0.5 - s / 2 + eps) * wrong
    return Counterexample("proof of Theorem 3.5: ε ≤ the worth of the dual certificate", eps, worth)
