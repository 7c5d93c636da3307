"""Claims of Section 3 and Appendix A: the batch setting."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, expm1, log, pi, sqrt

import numpy as np

from trustcal.decisions import umbrella
from trustcal.guarantees import (
    batch_cdl,
    batch_decision_loss,
    batch_decision_loss_paper,
    batch_ece,
    batch_ece_paper,
    lower_batch_decision_loss,
    total_variation,
    total_variation_paper,
)
from trustcal.measures.decision import cdl, decision_loss, ece
from trustcal.measures.transport import dtc
from trustcal.noise import Noise, TruncatedGaussian, TruncatedLaplace, UniformNoise
from trustcal.paper.claim import ROUNDING, Claim, couplings
from trustcal.paper.examples import batch_hard, batch_hardest, rain
from trustcal.paper.instance import FloatArray, Instance
from trustcal.predictor import Predictor
from trustcal.smoothing import smooth

_CELLS = 500
_GRID = 1 / _CELLS
"""The discretisation error of a decision loss on these cells (Theorem 19)."""
_SWEEP = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


def lemma_3_2(rng: np.random.Generator) -> Claim:
    """Noise on a calibrated predictor."""
    error, loss, sharp = 0.0, 0.0, 0.0
    for pair in couplings(rng, 60):
        noise = UniformNoise(float(rng.uniform(0.01, 0.5)))
        lost = _decision_loss(pair.reference, noise, pair.reference)
        error = max(error, ece(smooth(pair.reference, noise)) / noise.displacement().value)
        loss = max(loss, (lost - _GRID) / (2 * noise.displacement().value))
        sharp = max(sharp, (lost - _GRID) / noise.decision_displacement())
    return Claim(
        "Lemma 3.2",
        "noise X on a calibrated predictor: ECE ≤ E|X|, decision loss ≤ 2·E|X|",
        error <= 1 + ROUNDING and loss <= 1,
        "decision loss ≤ K, which for uniform noise is a quarter of that",
        sharp <= 1,
        f"60 random calibrated predictors, uniform noise: ECE up to {error:.3f} E|X|, decision loss up to "
        f"{max(loss, 0):.3f} of 2·E|X| and {max(sharp, 0):.3f} of K",
        sharper=True,
    )


def lemma_3_3(rng: np.random.Generator) -> Claim:
    """From the noised reference to the noised predictor."""
    error, loss = 0.0, 0.0
    for pair, noise, tv in _laplace_couplings(rng, 60):
        more = ece(smooth(pair.predictor, noise)) - ece(smooth(pair.reference, noise))
        one, other = (smooth(law, noise, _CELLS, "middle") for law in (pair.predictor, pair.reference))
        error, loss = max(error, more / tv), max(loss, decision_loss(one, other) / tv)
    return Claim(
        "Lemmas 3.3, A.1",
        "from noised reference to noised predictor: decision loss and ECE grow by ≤ 4·E TV",
        max(error, loss) <= 4,
        "decision loss by ≤ 1·E TV, ECE by ≤ 2·E TV, both sharp",
        error <= 2 + ROUNDING and loss <= 1 + ROUNDING,
        f"60 random couplings, Laplace noise: ECE grows by up to {error:.3f}, decision loss by up to {loss:.3f} E TV",
        sharper=True,
    )


def lemma_a_2(rng: np.random.Generator) -> Claim:
    """Total variation from privacy."""
    paper, ours = 0.0, 0.0
    for pair, noise, tv in _laplace_couplings(rng, 300):
        paper = max(paper, tv / total_variation_paper(noise.privacy(), 0.0, pair.eps).value)
        ours = max(ours, tv / total_variation(noise.privacy(), 0.0, pair.eps).value)
    return Claim(
        "Lemma A.2",
        "(γ, δ)-private noise: E TV ≤ 1 − exp(−γε) + δ",
        paper <= 1 + ROUNDING,
        "E TV ≤ δ + (1 − δ)·tanh(γε/2), the best that follows from (γ, δ)",
        ours <= 1 + ROUNDING,
        f"300 random couplings, Laplace noise: E TV up to {paper:.3f} of the paper's bound, {ours:.3f} of ours",
        sharper=True,
    )


def theorem_3_1(rng: np.random.Generator) -> Claim:
    """The main theorem of the batch setting."""
    paper, ours = 0.0, 0.0
    for pair in couplings(rng, 60):
        laplace = TruncatedLaplace.paper(pair.eps)
        loss, error = _decision_loss(pair.predictor, laplace, pair.reference), ece(smooth(pair.predictor, laplace))
        paper = max(
            paper,
            (loss - _GRID) / batch_decision_loss_paper(laplace, pair.eps).value,
            error / batch_ece_paper(laplace, pair.eps).value,
        )
        uniform = UniformNoise.for_distance(pair.eps)
        after = smooth(pair.predictor, uniform)
        ours = max(
            ours,
            (_decision_loss(pair.predictor, uniform, pair.reference) - _GRID)
            / batch_decision_loss(uniform, pair.eps).value,
            ece(after) / batch_ece(uniform, pair.eps).value,
            cdl(after) / batch_cdl(uniform, pair.eps).value,
        )
    return Claim(
        "Theorem 3.1",
        "decision loss, ECE ≤ 2·E|X| + 4(1 − exp(−γε) + δ)",
        paper <= 1,
        "decision loss ≤ K + Lε, ECE ≤ E|X| + 2Lε, CDL ≤ K + 2Lε (L: slope of TV)",
        ours <= 1 + ROUNDING,
        f"60 random couplings: the paper's Laplace noise reaches {paper:.3f} of its bound, uniform noise {ours:.3f} "
        "of ours",
        sharper=True,
    )


def lemma_3_4_laplace(_: np.random.Generator) -> Claim:
    """The paper's Laplace noise."""
    private, moved, constant = 0.0, 0.0, 0.0
    for eps in _SWEEP:
        noise, rate = TruncatedLaplace.paper(eps), -sqrt(1 / (2 * eps))
        private = max(private, abs(noise.privacy() / (-2 * rate) - 1))
        moved = max(moved, noise.displacement().value / (-1 / rate + exp(rate) / expm1(rate)))
        constant = max(constant, batch_decision_loss_paper(noise, eps).value / sqrt(eps))
    best = max(batch_decision_loss(UniformNoise.for_distance(eps), eps).value / sqrt(eps) for eps in _SWEEP)
    return Claim(
        "Lemma 3.4, Laplace",
        "(−2 ln τ, 0)-private, E|X| ≤ −1/ln τ − τ/(1 − τ), so C = Θ(√ε)",
        private < ROUNDING and moved <= 1 + ROUNDING,
        "C = 8.49·√ε there; uniform noise, clamped, guarantees √(ε/2)",
        constant <= 6 * sqrt(2) and best <= sqrt(0.5) + ROUNDING,
        f"ε = 10⁻⁶ … 0.1: γ exact to {private:.0e}, E|X| {moved:.6f} of its bound, C up to {constant:.3f}·√ε; "
        f"uniform noise {best:.4f}·√ε",
        sharper=True,
    )


def lemma_3_4_gaussian(_: np.random.Generator) -> Claim:
    """The paper's Gaussian noise."""
    privacy = {eps: _gaussian_excess(eps) for eps in (0.01, 1e-4)}
    eps = 1e-6
    ratio = batch_ece(TruncatedGaussian.paper(eps), eps).value / sqrt(eps * log(1 / eps))
    return Claim(
        "Lemma 3.4, Gaussian",
        "variance 2ε ln(1.25/√ε) is (γ, √ε)-private with 1 − exp(−γε) ≤ 2√ε",
        max(privacy.values()) <= 1,
        "false below ε ≈ 0.00134; O(√(ε ln 1/ε)) holds all the same, by total variation",
        ratio <= 2,
        f"(1 − exp(−γε))/(2√ε): {privacy[0.01]:.3f} at ε = 0.01, {privacy[1e-4]:.3f} at ε = 0.0001; "
        f"ECE ≤ {ratio:.3f}·√(ε ln 1/ε) at ε = 10⁻⁶",
    )


def lemma_a_3(_: np.random.Generator) -> Claim:
    """The general bound on total variation."""
    cells, width = 1600, 1 / 1600
    x = (np.arange(-cells, cells) + 0.5) * width
    gap = ((x >= -0.25) & (x < 0)) | (x >= 1 / 16)  # increasing on x < 0 and on x ≥ 0
    between = _tv_ratio(gap.astype(np.float64), 0.5, 0.5 + 1 / 16, cells)
    bell = np.exp(-((x / 0.1) ** 2) / 2)
    unimodal = max(_tv_ratio(bell, b, q, cells) for b, q in ((0.0, 0.01), (0.0, 0.5), (0.5, 0.55), (0.2, 1.0)))
    return Claim(
        "Lemma A.3",
        "TV ≤ max density · |b − q| for densities monotone on x ≥ 0 and on x < 0",
        between <= 1,
        "for densities that rise up to 0 and fall from there",
        unimodal <= 1 + ROUNDING,
        f"TV over the bound: {between:.3f} for a density of steps that rises on both sides, at most {unimodal:.3f} "
        "for a bell",
    )


def lemma_a_4(_: np.random.Generator) -> Claim:
    """The improved Gaussian."""
    eps = 1e-6
    variance = batch_ece(TruncatedGaussian(eps**0.25), eps).value / sqrt(eps)
    deviation = max(batch_ece(TruncatedGaussian.paper_improved(e), e).value / sqrt(e) for e in _SWEEP)
    return Claim(
        "Lemma A.4",
        "noise N(0, √ε): ECE ≤ σ + 8ε/σ = 9·√ε",
        variance <= 9,
        "√ε must be the standard deviation; then ECE ≤ 2√(2/π)·√ε = 1.596·√ε",
        deviation <= 2 * sqrt(2 / pi) + ROUNDING,
        f"with √ε as variance {variance:.1f}·√ε at ε = 10⁻⁶; as standard deviation {deviation:.4f}·√ε",
        "a typo",
    )


def theorem_3_5(_: np.random.Generator) -> Claim:
    """The lower bound of the batch setting."""
    paper = [(eps, *_unavoidable(batch_hard(eps))) for eps in (1e-4, 0.01, 0.25)]
    ours = [(eps, *_unavoidable(batch_hardest(eps))) for eps in (1e-4, 0.01, 0.25)]
    sharp = ours[0][2] / batch_decision_loss(UniformNoise.for_distance(1e-4), 1e-4).value
    return Claim(
        "Theorem 3.5",
        "some predictor at distance ε: every post-processing loses √ε/2",
        all(abs(d - eps) < ROUNDING and loss >= sqrt(eps) / 2 - ROUNDING for eps, d, loss in paper),
        "(√(ε² + 2ε) − ε)/2, which uniform noise attains up to ε/2",
        all(
            abs(d - eps) < ROUNDING and abs(loss - lower_batch_decision_loss(eps).value) < ROUNDING
            for eps, d, loss in ours
        ),
        f"ε = 0.01: DTC {paper[1][1]:.6f}, loss {paper[1][2]:.6f} (ours {ours[1][2]:.6f}); "
        f"at ε = 10⁻⁴ {100 * sharp:.1f} % of what uniform noise guarantees",
        sharper=True,
    )


def theorem_3_5_certificate(_: np.random.Generator) -> Claim:
    """The dual certificate in the proof of Theorem 3.5."""
    eps = 0.01
    s = sqrt(eps)
    b = np.union1d(np.linspace(0, 1, 20_001), [0.5 - 1e-12, 0.5, 0.5 + 1e-12])
    height = 2 * s / (1 + 2 * s)
    paper = _dual_value(eps, b, np.where(b < 0.5, height, np.where(b > 0.5, -height, 0.0)))
    slope = np.where(b <= 0.5 - s, height, np.where(b <= 0.5, (0.5 - b) / np.maximum(1 - b, 0.5), 0.0))
    ours = _dual_value(eps, b, slope - slope[::-1])
    return Claim(
        "Theorem 3.5, proof",
        "the dual solution s(b) = ±2√ε/(1 + 2√ε) has value ε",
        abs(paper - eps) < 1e-6,
        "the continuous s with (1/2 − b)/(1 − b) between 1/2 − √ε and 1/2 does",
        abs(ours - eps) < 1e-6,
        f"ε = 0.01: the paper's has the value {paper:.6f}, ours {ours:.6f}",
    )


def corollary_3_6(_: np.random.Generator) -> Claim:
    """Its ECE(Q), CDL(Q) should be ECE(f(Q)), CDL(f(Q))."""
    q = rain().predictor
    eps = dtc(q)
    noise = UniformNoise.for_distance(eps, "cdl")
    before, after = ece(q) / sqrt(eps), ece(smooth(q, noise)) / sqrt(eps)
    return Claim(
        "Corollary 3.6",
        "ECE(Q) and CDL(Q) are Θ(√ε)",
        before <= 2,
        "a typo for those of the post-processed f(Q)",
        after <= 2,
        f"Table 1: ECE is {before:.1f}·√ε before, {after:.2f}·√ε after uniform noise",
        "a typo",
    )


def benchmark(_: np.random.Generator) -> Claim:
    """Why a small calibration error alone is not enough: the constant mean."""
    informed = Predictor([0.1, 0.9], [0.5, 0.5], [0.05, 0.45])
    mean = Predictor([0.5], [1.0], [0.5])
    lost = decision_loss(mean, informed)
    return Claim(
        "Section 3, remark",
        "calibration alone does not make predictions useful",
        cdl(mean) < ROUNDING and lost > 0.1,
        "as stated: hence the benchmark is decision loss against nearby calibrated predictors",
        cdl(mean) < ROUNDING and lost > 0.1,
        f"always the mean: CDL {cdl(mean):g}, and a decision loss of {lost:g} against 0.1 and 0.9",
    )


def _laplace_couplings(rng: np.random.Generator, count: int) -> Iterator[tuple[Instance, TruncatedLaplace, float]]:
    """Random couplings, each with Laplace noise and the expected total variation distance after it."""
    for pair in couplings(rng, count):
        noise, both = TruncatedLaplace(float(rng.uniform(0.02, 0.5))), pair.coupling
        yield pair, noise, float(both.mass @ noise.tv(both.b, both.p))


def _decision_loss(q: Predictor, noise: Noise, reference: Predictor) -> float:
    return decision_loss(smooth(q, noise, _CELLS, "middle"), reference)


def _gaussian_excess(eps: float) -> float:
    gamma = TruncatedGaussian.paper(eps).privacy(delta=sqrt(eps))
    return (1 - exp(-gamma * eps)) / (2 * sqrt(eps))


def _tv_ratio(f: FloatArray, b: float, q: float, cells: int) -> float:
    """TV(M(b), M(q)) over max density · |b − q|, for noise with density f on cells of [−1, 1], truncated."""
    one, other = (f[cells - round(p * cells) : 2 * cells - round(p * cells)] for p in (b, q))
    one, other = one / one.mean(), other / other.mean()
    return float(np.abs(one - other).mean() / 2 / (max(one.max(), other.max()) * abs(b - q)))


def _unavoidable(instance: Instance) -> tuple[float, float]:
    """The distance to calibration, and the umbrella loss of the best post-processing against the reference."""
    best = umbrella().value(instance.predictor.calibrated())
    return dtc(instance.predictor), umbrella().value(instance.reference) - best


def _dual_value(eps: float, b: FloatArray, s: FloatArray) -> float:
    """The dual of DTC's linear program on the paper's instance: E r(q, y), r(q, y) = min_b |b − q| − (b − y)·s(b)."""
    coupling = batch_hard(eps).coupling
    r = [float((np.abs(b - q) - (b - y) * s).min()) for q, y in zip(coupling.p, coupling.y, strict=True)]
    return float(coupling.mass @ np.array(r))


CLAIMS = (
    theorem_3_1,
    lemma_3_2,
    lemma_3_3,
    lemma_3_4_laplace,
    lemma_3_4_gaussian,
    theorem_3_5,
    theorem_3_5_certificate,
    corollary_3_6,
    benchmark,
    lemma_a_2,
    lemma_a_3,
    lemma_a_4,
)
