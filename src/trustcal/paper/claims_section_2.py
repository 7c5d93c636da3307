"""Claims of the introduction and Section 2: decisions, scores, calibration errors and how they relate."""

from __future__ import annotations

import numpy as np

from trustcal.decisions import DecisionProblem, threshold, umbrella
from trustcal.measures.continuous import smcal
from trustcal.measures.decision import cdl, ece
from trustcal.measures.transport import dtc
from trustcal.paper.claim import ROUNDING, Claim, predictors
from trustcal.paper.counterexamples import cdl_beyond_ece, smcal_beyond_dtc
from trustcal.paper.examples import rain
from trustcal.predictor import Predictor


def introduction(_: np.random.Generator) -> Claim:
    """The numbers of Table 1."""
    q = rain().predictor
    smooth, distance, error, loss = smcal(q), dtc(q), ece(q), cdl(q)
    return Claim(
        "Table 1",
        "DTC 0.01 %, smCal about 0.01 %, ECE 50.01 %",
        abs(smooth - 1e-4) < 1e-5,
        "smCal is half of that, 0.005 %; CDL is 100 %",
        max(abs(distance - 1e-4), abs(smooth - 5.001e-5), abs(error - 0.5001), abs(loss - 1)) < 1e-12,
        f"DTC {distance:.6g}, smCal {smooth:.6g}, ECE {error:.6g}, CDL {loss:.6g}",
    )


def claim_2_4(_: np.random.Generator) -> Claim:
    """Decision problems and proper scores."""
    p = np.linspace(0, 1, 101)
    no, yes = np.zeros(101, int), np.ones(101, int)
    idle = DecisionProblem([[1.0, 0.0], [0.0, 1.0], [0.2, 0.3]])
    apart = max(float(np.abs(umbrella().score(p, y) - idle.score(p, y)).max()) for y in (no, yes))
    error, length = 0.0, np.hypot(p, 1 - p)
    for at_0, at_1 in ((1 - p**2, 1 - (1 - p) ** 2), ((1 - p) / length, p / length)):
        induced = DecisionProblem.from_score(at_0, at_1, p)
        error = max(error, np.abs(induced.score(p, no) - at_0).max(), np.abs(induced.score(p, yes) - at_1).max())
    return Claim(
        "Claim 2.4",
        "decision problems and proper scores correspond one to one",
        apart > ROUNDING,
        "onto, not one to one: an action that nobody takes changes no score",
        error < ROUNDING,
        f"an idle third action changes the umbrella's score by {apart:g}; "
        f"Brier and spherical score induced within {error:.0e}",
    )


def proposition_2_10(rng: np.random.Generator) -> Claim:
    """Swap regret is the gain from replacing p by p_hat."""
    worst = 0.0
    for q in predictors(rng, 300):
        d = threshold(float(rng.random()))
        worst = max(worst, abs(d.value(q.calibrated()) - d.value(q) - d.swap_regret(q)))
    return Claim(
        "Proposition 2.10",
        "swap regret is the payoff gained by believing Pr[y = 1 | p]",
        worst < ROUNDING,
        "as stated",
        worst < ROUNDING,
        f"300 random predictors and problems: they differ by at most {worst:.0e}",
    )


def proposition_2_11(rng: np.random.Generator) -> Claim:
    """Calibration is equivalent to zero swap regret for every decision maker."""
    calm, ratio = 0.0, np.inf
    for q in predictors(rng, 300):
        calm = max(calm, cdl(q.calibrated()))
        ratio = min(ratio, cdl(q) / float((q.p - q.p_hat) ** 2 @ q.mass))
    return Claim(
        "Proposition 2.11",
        "calibrated if and only if nobody has swap regret",
        calm < ROUNDING and ratio > 0,
        "CDL ≥ E(p − p̂)² ≥ ECE²",
        ratio >= 1 - ROUNDING,
        f"CDL of 300 calibrated predictors ≤ {calm:.0e}; of 300 others ≥ {ratio:.3f} E(p − p̂)²",
        sharper=True,
    )


def lemma_2_13(rng: np.random.Generator) -> Claim:
    """CDL and ECE."""
    q = rain().predictor
    pairs = [(ece(r), cdl(r)) for r in predictors(rng, 1000)]
    larger = sum(loss > error + ROUNDING for error, loss in pairs)
    ratio = max(loss / error for error, loss in pairs)
    sharp = cdl_beyond_ece(0.125).predictor
    return Claim(
        "Lemma 2.13",
        "CDL ≤ ECE",
        cdl(q) <= ece(q),
        "ECE² ≤ CDL ≤ 2·ECE, and 2 is attained",
        all(error**2 - ROUNDING <= loss <= 2 * error + ROUNDING for error, loss in pairs)
        and abs(cdl(sharp) - 2 * ece(sharp)) < ROUNDING,
        f"Table 1: ECE {ece(q):g}, CDL {cdl(q):g}; CDL > ECE in {larger} of 1000 random predictors, "
        f"CDL/ECE up to {ratio:.3f}; always 1/2 of a coin of 5/8: {cdl(sharp) / ece(sharp):g}",
    )


def definition_2_14(_: np.random.Generator) -> Claim:
    """The weights of the smooth calibration error."""
    q = Predictor([0.5], [1.0], [0.25])
    unbounded = 1e6 * abs(float(q.bias.sum()))
    return Claim(
        "Definition 2.14",
        "smCal: the supremum over 1-Lipschitz weights",
        unbounded <= 1,
        "over 1-Lipschitz weights with values in [−1, 1]",
        smcal(q) <= 1,
        f"always 1/2 of a coin of 1/4: the constant weight 10⁶ gives {unbounded:g}; bounded by 1, {smcal(q):g}",
        "incomplete",
    )


def lemma_2_17(rng: np.random.Generator) -> Claim:
    """Smooth calibration error and distance to calibration."""
    known = smcal_beyond_dtc(0.001, 0.001).predictor
    ratios = [smcal(q) / dtc(q) for q in predictors(rng, 300)]
    low, high = smcal(rain().predictor) / dtc(rain().predictor), smcal(known) / dtc(known)
    return Claim(
        "Lemma 2.17",
        "DTC/2 ≤ smCal ≤ DTC",
        high <= 1 + ROUNDING,
        "DTC/2 ≤ smCal ≤ 2·DTC, both sharp",
        min(ratios) >= 0.5 - ROUNDING and max(ratios) <= 2 + ROUNDING and low < 0.501 and high > 1.99,
        f"smCal/DTC: {low:.4f} for Table 1, {high:.4f} for zeros predicted 0.001 and the ones 0.002, "
        f"{min(ratios):.3f} … {max(ratios):.3f} for 300 random predictors",
    )


CLAIMS = (introduction, claim_2_4, proposition_2_10, proposition_2_11, lemma_2_13, definition_2_14, lemma_2_17)
