"""Claims of the introduction and the discussion."""

from __future__ import annotations

from math import sqrt

import numpy as np

from trustcal.decisions import DecisionProblem
from trustcal.guarantees import best_noise, lipschitz_ece, smece_dtc
from trustcal.measures.decision import decision_loss, ece
from trustcal.measures.kernel_smoothing import smece
from trustcal.measures.transport import dtc
from trustcal.noise.plateau import CDL_CONSTANT, CDL_SLOPE
from trustcal.paper.claim import ROUNDING, Claim, couplings, predictors
from trustcal.paper.counterexamples import cdl_beyond_ece
from trustcal.paper.examples import rain
from trustcal.predictor import Predictor


def lipschitz_bias(rng: np.random.Generator) -> Claim:
    """The discussion: predictors with 1-Lipschitz bias."""
    worst = 0.0
    for q in predictors(rng, 200):
        a, b = rng.uniform(0, 1, 2)
        gentle = Predictor(q.p, q.mass, q.mass * (a + (b - a) * q.p))
        bias = abs(b - a - 1)
        if bias <= 1:
            worst = max(worst, ece(gentle) / lipschitz_ece(dtc(gentle)).value)
    sharp = Predictor([0.0, 1.0], [0.5, 0.5], [0.25, 0.25])
    reached = ece(sharp) / lipschitz_ece(dtc(sharp)).value
    return Claim(
        "Discussion",
        "where the bias is 1-Lipschitz, ECE ≤ O(√DTC)",
        worst <= 1 + ROUNDING,
        "ECE ≤ √smCal and ECE ≤ √DTC, and no smaller constant will do: no post-processing is needed",
        worst <= 1 + ROUNDING and abs(reached - 1) <= ROUNDING,
        f"200 random predictors with gentle bias: ECE up to {worst:.3f}·√DTC; "
        f"predictions 0 and 1, each true half of the time: {reached:.3f}·√DTC",
        sharper=True,
    )


def omniprediction(rng: np.random.Generator) -> Claim:
    """The introduction: a small decision loss for all problems at once is omniprediction."""
    most, pairs = 0.0, list(couplings(rng, 30))
    for pair in pairs:
        problems = [DecisionProblem.from_thresholds([mu], [1 / max(mu, 1 - mu)]) for mu in rng.random(5)]
        own = max(problem.value(pair.reference) - problem.value(pair.predictor) for problem in problems)
        most = max(most, own - decision_loss(pair.predictor, pair.reference))
    return Claim(
        "Introduction, omniprediction",
        "decision loss bounds the loss of every decision maker with payoffs in [0, 1] to the reference",
        most <= ROUNDING,
        "as stated: the references are the calibrated predictors within ε",
        most <= ROUNDING,
        f"{len(pairs)} random couplings, 5 random problems each: none loses more than the decision loss",
    )


def closing_question(_: np.random.Generator) -> Claim:
    """The discussion asks for a property of predictors under which post-processing is optimal."""
    eps = 1e-6
    found, additive, least = best_noise(eps, "cdl").guarantee.value / sqrt(eps), 0.75, sqrt(0.5)
    return Claim(
        "Discussion, question",
        "which property of predictors makes noise optimal for ECE and CDL?",
        True,
        "a question. For all predictors, one prediction at a time: ECE √(2ε) exactly, to first order; CDL c·√ε",
        least <= additive <= found <= CDL_CONSTANT + CDL_SLOPE * sqrt(eps) + ROUNDING,
        f"uniform noise attains √(2ε) (Theorem 43); for CDL plateau noise has at most {CDL_CONSTANT}·√ε + "
        f"{CDL_SLOPE}·ε, additive noise at least {additive}·√ε, any at least {least:.3f}·√ε (Theorems 42, 45, 47). Not "
        f"recomputed here: {CDL_CONSTANT} and {CDL_SLOPE}, which test_theorem_47_the_certified_numbers certifies",
        known=f"{least:.3f} ≤ c ≤ {CDL_CONSTANT}",
    )


def smooth_ece(rng: np.random.Generator) -> Claim:
    """SmoothECE, which the paper generalises."""
    worst = max(smece(q) / smece_dtc(dtc(q)).value for q in predictors(rng, 100))
    return Claim(
        "Introduction, SmoothECE",
        "Gaussian noise at the scale of its own error: O(√DTC)",
        worst <= 1 + 1e-8,
        "smECE ≤ (ε + √(ε² + 4√(2/π)ε))/2 = 0.893·√ε + O(ε)",
        worst <= 1 + 1e-8,
        f"100 random predictors: up to {worst:.3f} of it",
        sharper=True,
    )


def rate_of_smooth_ece(_: np.random.Generator) -> Claim:
    """SmoothECE is not only O(√DTC): the rain table needs a constant."""
    shares = [smece(rain(eps).predictor) / smece_dtc(eps).value for eps in (1e-2, 1e-3, 1e-4)]
    return Claim(
        "Introduction, Θ(√ε)",
        "the bound on SmoothECE is Θ(√DTC)",
        min(shares) >= 0.5,
        "the rain table reaches a constant share of the bound of Theorem 24",
        min(shares) >= 0.5,
        f"rain at distance 10⁻², 10⁻³, 10⁻⁴: {', '.join(f'{share:.3f}' for share in shares)} of it",
    )


def rate_of_post_processing(_: np.random.Generator) -> Claim:
    """The introduction concludes Ω(T^(−1/3)) for all post-processing from DTC = Ω(T^(−2/3)); that does not follow."""
    eps = 1e-4  # T^(−2/3) at T = 10⁶
    untouched = ece(cdl_beyond_ece(eps).predictor)
    return Claim(
        "Introduction, Ω(T^(−1/3))",
        "as DTC = Ω(T^(−2/3)), any post-processing can only achieve ECE, CDL = Ω(T^(−1/3))",
        untouched >= sqrt(eps) / 8,
        "for each distance ε, some sequence forces Ω(√ε); other sequences at that distance do not",
        untouched <= eps + ROUNDING,
        f"a prediction that is always off by ε = {eps:.0e}, left alone, has ECE {untouched:.0e}, against √ε/8 = "
        f"{sqrt(eps) / 8:.0e}",
        "incomplete",
    )


CLAIMS = (
    lipschitz_bias,
    closing_question,
    omniprediction,
    smooth_ece,
    rate_of_smooth_ece,
    rate_of_post_processing,
)
