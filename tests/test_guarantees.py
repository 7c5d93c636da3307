"""Guarantees: reference values, every bound on random couplings, lower-bound instances, and the paper's errata."""

from __future__ import annotations

from dataclasses import asdict
from itertools import combinations
from math import ceil, exp, pi, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import trustcal as tc
from tests.couplings import FAMILIES, FloatArray, Joint, grid_law, joints, known_law, noises, theorem
from tests.reference import REFERENCE
from tests.strategies import examples, predictors, probabilities
from trustcal import Predictor, guarantees, umbrella
from trustcal.cells import cells_for
from trustcal.decisions import soft_response
from trustcal.guarantees import Bound, bounds
from trustcal.noise import (
    ClampedGaussian,
    ClampedLaplace,
    ClampedPlateau,
    Noise,
    RandomRounding,
    Target,
    TruncatedGaussian,
    TruncatedLaplace,
    UniformNoise,
)
from trustcal.paper import batch_hard, batch_hardest, floor_cells, online_hard, private_pair

CELLS = 400
EDGES = np.arange(CELLS + 1) / CELLS
UPPER: dict[Target, Any] = {
    "ece": guarantees.batch_ece,
    "cdl": guarantees.batch_cdl,
    "decision_loss": guarantees.batch_decision_loss,
}


def measured(target: Target, p: Predictor, reference: Predictor) -> float:
    if target == "decision_loss":
        return tc.decision_loss(p, reference)
    return tc.ece(p) if target == "ece" else tc.cdl(p)


def slack(noise: Noise, target: Target) -> float:
    """What cells of width 1/CELLS, each at its middle, may add (Theorem 19)."""
    if isinstance(noise, RandomRounding):
        return 1e-9
    return (0.5 if target == "ece" else 1.0) / CELLS + 1e-9


# --- The reference values


@pytest.mark.parametrize("known", REFERENCE["bounds"], ids=lambda known: known["eps"])
def test_reference_values(known: dict[str, str]) -> None:
    eps = float(known["eps"])
    laplace = TruncatedLaplace.paper(eps)
    assert exp(-1 / laplace.scale) == pytest.approx(float(known["tau_paper"]), rel=1e-12)
    ours = {
        "C_paper_at_tau_paper": guarantees.batch_decision_loss_paper(laplace, eps),
        "ECE_paper_at_tau_paper": guarantees.batch_ece_paper(laplace, eps),
        "C_paper_closed_upper_6sqrt2eps": guarantees.batch_laplace_paper(eps),
        "improved_ECE_laplace_2sqrt": guarantees.batch_best(TruncatedLaplace, eps, "ece"),
        "improved_DL_laplace_2sqrtW": guarantees.batch_best(TruncatedLaplace, eps),
        "improved_ECE_gauss": guarantees.batch_best(TruncatedGaussian, eps, "ece"),
        "ECE_uniform": guarantees.batch_ece(UniformNoise.for_distance(eps, "ece"), eps),
        "DL_uniform": guarantees.batch_decision_loss(UniformNoise.for_distance(eps), eps),
        "CDL_uniform": guarantees.batch_cdl(UniformNoise.for_distance(eps, "cdl"), eps),
        "DL_lower_any": guarantees.lower_batch_decision_loss(eps),
        "online_lower_improved": guarantees.lower_online_ece(eps),
        "online_lower_paper_ECE": guarantees.lower_online_ece_paper(eps),
        "online_lower_paper_CDL_correct": guarantees.lower_online_cdl_step(eps),
        "online_cdl_game_value_paper_sequences": guarantees.lower_online_cdl_game(eps),
    }
    assert set(ours) == set(known) - {"eps", "tau_paper"}
    for name, bound in ours.items():
        assert bound.value == pytest.approx(float(known[name]), rel=1e-12, abs=1e-15), name


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("target", UPPER)
@pytest.mark.parametrize("eps", [1e-6, 1e-3, 0.1, 1.0])
def test_theorem_17_the_best_parameter_reaches_its_constant(family: type[Noise], target: Target, eps: float) -> None:
    if (family is TruncatedGaussian and target != "ece") or (family is ClampedPlateau and target == "cdl"):
        with pytest.raises(ValueError, match=f"no constant is known for {family.__name__}"):
            guarantees.batch_best(family, eps, target)
        return
    closed = guarantees.batch_best(family, eps, target)
    reached = UPPER[target](family.for_distance(eps, target), eps)
    assert reached.value <= closed.value * (1 + 1e-9)
    assert closed.proved == reached.proved
    if eps <= 1e-3 and closed.proved:
        assert reached.value == pytest.approx(closed.value, rel=1e-6)


# --- Upper bounds on random couplings


@pytest.mark.parametrize("target", UPPER)
@theorem
@given(data=st.data(), joint=joints())
def test_theorems_13_14_15_hold(target: Target, data: st.DataObject, joint: Joint) -> None:
    assume(joint.eps > 1e-9)
    noise = data.draw(noises(joint.eps, target))
    value = measured(target, joint.after(noise, EDGES), joint.reference)
    extra = slack(noise, target)
    assert value <= UPPER[target](noise, joint.eps).value + extra
    if isinstance(noise, TruncatedLaplace | ClampedLaplace):
        paper = getattr(guarantees, f"batch_{target}_paper")(noise, joint.eps)
        assert value <= paper.value + extra


@theorem
@given(data=st.data(), joint=joints())
def test_lemma_3_2_noise_on_a_calibrated_reference(data: st.DataObject, joint: Joint) -> None:
    noise = data.draw(noises(0.01, "decision_loss"))
    after = joint.reference_after(noise, EDGES)
    spread, most = noise.decision_displacement(), noise.displacement().value
    assert spread <= 2 * most + 1e-12
    assert tc.decision_loss(after, joint.reference) <= spread + slack(noise, "decision_loss")
    assert tc.cdl(after) <= spread + slack(noise, "cdl")
    assert tc.ece(after) <= most + slack(noise, "ece")


@theorem
@given(data=st.data(), joint=joints())
def test_lemmas_3_3_and_a_1_from_one_noised_predictor_to_the_other(data: st.DataObject, joint: Joint) -> None:
    """Both are on the same cells, which can only bring the laws nearer: no slack."""
    noise = data.draw(noises(0.01, "decision_loss"))
    far = float(joint.mass @ noise.tv(joint.b, joint.q))
    one, other = joint.reference_after(noise, EDGES), joint.after(noise, EDGES)
    assert tc.decision_loss(other, one) <= far + 1e-9
    assert tc.ece(other) <= tc.ece(one) + 2 * far + 1e-9
    assert tc.cdl(other) <= tc.cdl(one) + 2 * far + 1e-9


@theorem
@given(data=st.data(), joint=joints())
def test_lemma_a_2_privacy_bounds_the_total_variation(data: st.DataObject, joint: Joint) -> None:
    assume(joint.eps > 1e-9)
    noise = data.draw(noises(joint.eps, "decision_loss", [TruncatedLaplace, ClampedLaplace]))
    far, gamma = float(joint.mass @ noise.tv(joint.b, joint.q)), noise.privacy()
    assert far <= guarantees.total_variation(gamma, 0.0, joint.eps).value + 1e-12
    assert far <= noise.proved_tv_slope() * joint.eps * (1 + 1e-9) + 1e-12


@theorem
@given(data=st.data(), b=probabilities, q=probabilities)
def test_lemma_a_3_for_noise_that_falls_away_from_0(data: st.DataObject, b: float, q: float) -> None:
    noise = data.draw(noises(0.01, "ece", [family for family in FAMILIES if family is not RandomRounding]))
    densities = [float(noise.density(x, x)) for x in (b, q)]
    assert float(noise.tv(b, q)) <= abs(b - q) * sum(densities) / 2 + 1e-12  # the mean of the two, not only the larger


@theorem
@given(joint=joints())
def test_lemma_3_4_laplace(joint: Joint) -> None:
    assume(1e-9 < joint.eps <= 1 / 8)
    noise = TruncatedLaplace.paper(joint.eps)
    claimed = guarantees.batch_laplace_paper(joint.eps).value
    assert guarantees.batch_decision_loss_paper(noise, joint.eps).value <= claimed
    assert tc.decision_loss(joint.after(noise, EDGES), joint.reference) <= claimed + slack(noise, "decision_loss")


@theorem
@given(joint=joints())
def test_lemma_a_4_gaussian_of_standard_deviation_root_eps(joint: Joint) -> None:
    assume(joint.eps > 1e-9)
    noise = TruncatedGaussian(sqrt(joint.eps))
    found = tc.ece(joint.after(noise, EDGES))
    assert found <= 2 * sqrt(2 / pi * joint.eps) + slack(noise, "ece")
    assert found <= sqrt(joint.eps) + 8 * sqrt(joint.eps) + slack(noise, "ece")  # the paper's


@given(data=st.data(), joint=joints())
def test_theorem_16_smcal_in_place_of_dtc(data: st.DataObject, joint: Joint) -> None:
    smcal = tc.smcal(joint.predictor)
    assume(smcal > 1e-9)
    noise = data.draw(noises(smcal, "ece"))
    after = joint.after(noise, EDGES)
    assert tc.ece(after) <= guarantees.batch_ece_smcal(noise, smcal).value + slack(noise, "ece")
    assert tc.cdl(after) <= guarantees.batch_cdl_smcal(noise, smcal).value + slack(noise, "cdl")


@given(data=st.data(), joint=joints(), tilt=st.floats(-0.2, 0.2))
def test_theorem_16_split(data: st.DataObject, joint: Joint, tilt: float) -> None:
    assume(joint.eps > 1e-9)
    noise = data.draw(noises(joint.eps, "ece"))
    nearby = np.clip(joint.b + tilt, 0, 1)
    eta = tc.ece(known_law(nearby, joint.y, joint.mass))
    shifted = Joint(joint.b, np.clip(joint.q + tilt, 0, 1), joint.y, joint.mass)
    distance = float(joint.mass @ np.abs(shifted.q - nearby))
    bound = guarantees.batch_ece_split(noise, eta, distance)
    assert tc.ece(shifted.after(noise, EDGES)) <= bound.value + slack(noise, "ece")


@theorem
@given(st.floats(0, 50), st.floats(0, 1), st.floats(1e-6, 1))
def test_theorem_18_sharpens_lemma_a_2(gamma: float, delta: float, eps: float) -> None:
    sharp = guarantees.total_variation(gamma, delta, eps).value
    assert sharp <= guarantees.total_variation_paper(gamma, delta, eps).value + 1e-15
    pair = private_pair(gamma, delta, eps)  # attains it
    one, other = pair.one, pair.other
    excess = np.maximum(one - exp(gamma * eps) * other, 0).sum()
    assert excess <= delta + 1e-9 * exp(gamma * eps)  # it is (γ, δ)-private at distance eps
    assert one.sum() == pytest.approx(1)
    assert np.abs(one - other).sum() / 2 == pytest.approx(sharp, abs=1e-12)
    assert pair.tv == pytest.approx(sharp, abs=1e-15)


@given(st.floats(1e-3, 1.0), st.floats(1e-6, 1.0))
def test_theorem_18_bounds_the_true_slope(scale: float, eps: float) -> None:
    noise = TruncatedLaplace(scale)
    assert noise.tv(0.0, eps) <= guarantees.total_variation(noise.privacy(), 0.0, eps).value + 1e-14


GENTLE = st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1), st.floats(0.01, 1)), min_size=1, max_size=9)


def gentle_law(rows: list[tuple[float, float, float]]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Predictions, masses and a 1-Lipschitz bias with values in [−p, 1 − p], built from left to right."""
    p = np.unique(np.round([row[0] for row in rows], 3))
    steps, mass = np.array([row[1] for row in rows])[: len(p)], np.array([row[2] for row in rows])[: len(p)]
    d = np.empty(len(p))
    d[0] = np.clip(2 * steps[0], -p[0], 1 - p[0])
    for k in range(1, len(p)):  # the allowed range moves by at most the step, so clipping keeps the slope
        d[k] = np.clip(d[k - 1] + steps[k] * (p[k] - p[k - 1]), -p[k], 1 - p[k])
    return p, mass / mass.sum(), d


@theorem
@given(GENTLE)
def test_theorem_23_the_distance_is_at_least_the_squared_ece(rows: list[tuple[float, float, float]]) -> None:
    p, mass, d = gentle_law(rows)
    law = Predictor(p, mass, mass * np.clip(p + d, 0, 1))
    assert guarantees.bias_is_lipschitz(law).holds
    assert tc.dtc(law) >= tc.ece(law) ** 2 - 1e-9
    assert tc.ece(law) <= guarantees.lipschitz_ece(tc.dtc(law)).value + 1e-7


def steepest_safe_function(b: FloatArray, p: float, x: float, v: float) -> FloatArray:
    """The φ of Theorem 23: v at p, falling on either side so that (1 − b)φ and b·φ have slopes of at most 1."""
    left = np.minimum(v, np.maximum(b - (p - x), -max(p - x, 0) / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        if v < 2 * p - 1:
            right = p * (1 + v) / b - 1
        else:
            beta = 1 - sqrt((1 - p) * (1 - v) / 2)
            right = np.where(b <= beta, 1 - (1 - p) * (1 - v) / (1 - b), 2 * beta**2 / b - 1)
    return np.where(b <= p, left, right)


@theorem
@given(GENTLE, st.floats(0.01, 0.99))
def test_theorem_23_its_certificate(rows: list[tuple[float, float, float]], level: float) -> None:
    """s is safe, and d·s ≥ 2λ|d| − λ² at all predictions: for every λ, so also for λ = ECE."""
    p, _, d = gentle_law(rows)
    b = np.union1d(np.linspace(0, 1, 401), p)
    s = np.full(len(b), -1.0)
    for place, x in zip(p[d > 0], d[d > 0], strict=True):
        if (1 + 2 * level) * x > level**2:  # v > −1; a tiny x would overflow
            v = 2 * level - level**2 / x
            s = np.maximum(s, steepest_safe_function(b, place, x, v))
    for product in ((1 - b) * s, b * s):
        assert (np.abs(np.diff(product)) <= np.diff(b) + 1e-9).all()
    assert (d * s[np.searchsorted(b, p)] >= 2 * level * np.abs(d) - level**2 - 1e-9).all()


@theorem
@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0.001, 0.999))
def test_theorem_23_two_predictions(start: float, up: float, down: float, level: float) -> None:
    """The three cases of the proof: bias x at p, −z at q = p + x + z, as near as a slope of 1 allows."""
    x, z = up * (1 - start), down * (1 - start) * (1 - up)
    assume(x > 1e-6 and z > 1e-6)
    v, end = 2 * level - level**2 / x, start + x + z
    assume(v > -1 and end < 1)
    found = float(steepest_safe_function(np.array([end]), start, x, v)[0])
    assert found <= -2 * level + level**2 / z + 1e-9


def test_theorem_23_is_sharp() -> None:
    """Predictions 0 and 1, each true half of the time; and one that is always wrong."""
    for law in (Predictor([0.0, 1.0], [0.5, 0.5], [0.25, 0.25]), Predictor([1.0], [1.0], [0.0])):
        assert guarantees.bias_is_lipschitz(law).holds
        assert tc.ece(law) ** 2 == pytest.approx(tc.dtc(law), abs=1e-12)


@given(predictors())
def test_theorem_23_lipschitz_bias(q: Predictor) -> None:
    verdict = guarantees.bias_is_lipschitz(q)
    gentle = Predictor(q.p, q.mass, q.mass * (0.4 + 0.3 * q.p))  # bias 0.4 − 0.7p
    assert guarantees.bias_is_lipschitz(gentle).holds
    for law in [gentle, q] if verdict.holds else [gentle]:
        assert tc.ece(law) <= guarantees.lipschitz_ece_smcal(min(1.0, tc.smcal(law))).value + 1e-7
        assert tc.ece(law) <= guarantees.lipschitz_ece(tc.dtc(law)).value + 1e-7
    assert ("no post-processing is needed" in str(verdict)) == verdict.holds
    assert ("post-process them" in str(verdict)) != verdict.holds


@given(predictors())
def test_theorem_24_smooth_ece(q: Predictor) -> None:
    dtc = tc.dtc(q)
    assume(dtc > 1e-9)
    assert tc.smece(q) <= guarantees.smece_dtc(dtc).value + 1e-8


# --- Online


@pytest.mark.parametrize(
    "noise", [UniformNoise(0.1), TruncatedLaplace(0.05), ClampedGaussian(0.05), RandomRounding(12)]
)
@pytest.mark.parametrize("end", ["left", "middle"])
@pytest.mark.parametrize("horizon", [1000, 9261])
def test_theorem_19_on_hard_sequences(noise: Noise, end: Any, horizon: int) -> None:
    rng = np.random.default_rng(3)
    for eps in (0.001, 0.01):
        law = batch_hardest(eps).coupling
        row = rng.choice(len(law.mass), size=horizon, p=law.mass / law.mass.sum())
        q, y = law.p[row], law.y[row].astype(float)
        realised = tc.dtc(Predictor.from_samples(y.astype(int), q))
        m, shift = ceil(horizon ** (1 / 3) - 1e-9), 0.5 if end == "middle" else 0.0
        ece, cdl = [], []
        for _ in range(10):
            drawn = noise.sample(q, rng)
            if not isinstance(noise, RandomRounding):
                drawn = (np.minimum(np.floor(m * drawn), m - 1) + shift) / m
            out = known_law(drawn, y, np.ones(horizon))
            ece.append(tc.ece(out))
            cdl.append(tc.cdl(out))
        assert np.mean(ece) <= guarantees.online_ece(noise, realised, horizon, end=end).value
        assert np.mean(cdl) <= guarantees.online_cdl(noise, realised, horizon, end=end).value


@given(st.integers(1, 10**12))
def test_theorem_4_1_its_condition_on_the_cells(horizon: int) -> None:
    m = cells_for(horizon)
    assert (m - 1) ** 3 < horizon <= m**3
    assert 1 / m + sqrt(m / horizon) <= 2 * horizon ** (-1 / 3) * (1 + 1e-12)
    noise = TruncatedLaplace(0.1)
    sharp, paper = guarantees.online_ece(noise, 0.01, horizon), guarantees.online_ece_paper(noise, 0.01, horizon)
    assert sharp.value <= paper.value + 1e-12


def test_corollary_4_2_erratum_false_with_the_floor() -> None:
    """T = 26 and two cells: a calibrated sequence, hardly any noise, and the output 1/2 where 25 in 26 come true."""
    noise = TruncatedLaplace(1e-9)
    claimed = guarantees.online_cdl_paper(noise, 1e-30, 26)
    assert claimed.value == pytest.approx(2 * 26 ** (-1 / 3), abs=1e-7)
    assert not claimed.proved

    rounds = floor_cells()
    assert tc.dtc(rounds.predictor) == pytest.approx(0, abs=1e-15)

    def played(cells: int) -> float:
        return tc.cdl(rounds.predictor.on_grid(cells))

    assert played(2) == pytest.approx(24 / 26)
    assert played(2) > claimed.value
    assert played(cells_for(26)) < claimed.value
    assert played(2) <= guarantees.online_cdl(noise, 1e-30, 26, cells=2).value


# --- Lower bounds


@pytest.mark.parametrize("eps", [1e-6, 1e-4, 0.01, 0.1, 0.25])
def test_theorem_20_the_instances_respect_and_nearly_attain(eps: float) -> None:
    lower = guarantees.lower_batch_decision_loss(eps)
    upper = guarantees.batch_decision_loss(UniformNoise.for_distance(eps), eps)
    assert batch_hardest(eps).answers.umbrella_loss == pytest.approx(lower.value, rel=1e-9)
    assert batch_hard(eps).answers.umbrella_loss == pytest.approx(
        guarantees.lower_batch_decision_loss_paper(eps).value, rel=1e-12
    )
    assert guarantees.lower_batch_decision_loss_paper(eps).value <= lower.value * (1 + 1e-12)
    assert upper.value - eps / 2 <= lower.value <= upper.value  # minimax optimal up to eps/2
    if eps <= 1e-4:
        assert lower.value >= 0.97 * upper.value


@theorem
@given(st.floats(1e-6, 0.25), st.lists(st.floats(0, 1), min_size=10, max_size=10))
def test_theorem_20_no_post_processing_does_better(eps: float, weights: list[float]) -> None:
    assume(min(sum(weights[:5]), sum(weights[5:])) > 1e-3)
    instance = batch_hardest(eps)
    kernel = np.array(weights).reshape(2, 5)
    kernel /= kernel.sum(axis=1, keepdims=True)
    law = instance.coupling
    mass = law.mass[:, None] * kernel[(law.p > 0.5).astype(int)]
    after = grid_law(np.array([0.1, 0.4, 0.5, 0.6, 1.0]), mass, law.y.astype(float))
    assert tc.decision_loss(after, instance.reference) >= guarantees.lower_batch_decision_loss(eps).value - 1e-9


def worlds(posteriors: FloatArray, first: FloatArray, places: FloatArray) -> Predictor:
    """Half of the rounds answered at random places, of outcomes with the first frequency; the others calibrated."""
    p = np.concatenate([places, [posteriors[1]]])
    mass = np.concatenate([first / 2, [0.5]])
    frequency = np.concatenate([np.full(len(places), posteriors[0]), [posteriors[1]]])
    rows = np.concatenate([p, p])
    return known_law(rows, np.repeat([0.0, 1.0], len(p)), np.concatenate([mass * (1 - frequency), mass * frequency]))


@theorem
@given(st.floats(1e-5, 1 / 12), st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_theorem_21_nobody_wins_in_both_worlds(eps: float, weights: list[float]) -> None:
    assume(sum(weights) > 1e-3)
    h = (eps + sqrt(eps * (eps + 2))) / 2
    places = np.array([0.5 - h, 0.5 - h / 2, 0.5, 0.5 + h / 2, 0.5 + h, 0.9])
    kernel = np.array(weights) / sum(weights)
    both = [worlds(np.array([c, c]), kernel, places) for c in (0.5 + h, 0.5 - h)]
    assert max(tc.ece(q) for q in both) >= guarantees.lower_online_ece(eps).value - 1e-12
    assert max(tc.cdl(q) for q in both) >= guarantees.lower_online_cdl(eps).value - 1e-12
    assert max(umbrella().swap_regret(q) for q in both) >= guarantees.lower_decision_maker(eps).value - 1e-12


@theorem
@given(st.floats(1e-5, 1 / 12), st.floats(0, 1e3))
def test_theorem_21_soft_responses_do_not_help(eps: float, rate: float) -> None:
    """Corollary 4.5's example: the exponential mechanism over actions, each action standing for an output."""
    h = (eps + sqrt(eps * (eps + 2))) / 2
    regrets = []
    for sign in (1, -1):
        shares = soft_response(umbrella(), [0.5, 0.5 + sign * 2 * h], rate).mean(axis=0)
        outcomes = np.repeat([0.0, 1.0], 2)
        chance = np.repeat([0.5 - sign * h, 0.5 + sign * h], 2)
        regrets.append(
            umbrella().swap_regret(known_law(np.array([0.0, 1.0] * 2), outcomes, chance * np.tile(shares, 2)))
        )
    assert max(regrets) >= guarantees.lower_decision_maker(eps).value - 1e-12


@pytest.mark.parametrize("h", [0.25, 0.1, 0.01])
def test_theorem_21_the_sequences_are_at_distance_eps(h: float) -> None:
    eps = 2 * h * h / (1 + 2 * h)
    assert guarantees.lower_online_ece(eps).value == pytest.approx(h / 2, rel=1e-12)
    pair = online_hard(eps, 2000)
    assert pair.eps == pytest.approx(eps, rel=1e-12)
    for sequence in (pair.one, pair.other):
        assert tc.dtc(sequence.predictor) == pytest.approx(eps, abs=1e-12)


@theorem
@given(st.floats(1e-5, 1 / 12), st.lists(st.floats(0, 1), min_size=15, max_size=15))
def test_corollary_3_6_no_map_of_single_predictions_does_better(eps: float, weights: list[float]) -> None:
    """Each prediction, 1/2 or 1/2 ± 2h, has its law of outputs, and the outputs of different ones may coincide."""
    kernel = np.array(weights).reshape(3, 5) + 1e-6
    kernel /= kernel.sum(axis=1, keepdims=True)
    h = (eps + sqrt(eps * (eps + 2))) / 2
    errors = []
    for sign in (1, -1):
        share = np.repeat(kernel[[1, 1 + sign]] / 2, 2, axis=0)
        y = np.array([0.0, 1.0] * 2)
        mass = share * np.where(y == 1, 0.5 + sign * h, 0.5 - sign * h)[:, None]
        after = grid_law(np.array([0.5 - h, 0.5 - h / 2, 0.5, 0.5 + h / 2, 0.5 + h]), mass, y)
        errors.append((tc.ece(after), tc.cdl(after)))
    ece, cdl = np.max(errors, axis=0)
    assert ece >= guarantees.lower_online_ece(eps).value - 1e-12
    assert cdl >= guarantees.lower_online_cdl(eps).value - 1e-12


@pytest.mark.parametrize("eps", [0.001, 0.01, 0.1])
def test_theorem_4_4_erratum_cdl_is_smaller_on_the_papers_sequences(eps: float) -> None:
    """The strategy of Theorem 22 has a CDL of v* in both worlds: less than Theorem 4.4 says."""
    s, v = sqrt(eps), guarantees.lower_online_cdl_game(eps).value
    low, high, other = 0.5 - s - eps, 0.5 - s / 2 + eps, 0.5 + s / 2 - eps
    grid = np.linspace(low, high, 4001)[1:]
    cdf = np.maximum(0, 1 - 2 * v * (1 - grid) / (grid - low))
    cdf[-1] = 1
    kernel = np.diff(cdf, prepend=0)
    reached = [tc.cdl(worlds(np.array(pair), kernel, grid)) for pair in ((high, other), (low, low))]
    assert max(reached) <= v * 1.002
    assert max(reached) >= v - 1e-12
    claimed = guarantees.lower_online_cdl_paper(eps).value
    assert max(reached) < claimed
    assert guarantees.lower_online_cdl_step(eps).value <= v
    assert v >= s / 8
    assert claimed <= guarantees.lower_online_cdl(eps).value  # true with other sequences


@pytest.mark.parametrize("eps", [0.001, 0.01, 0.1, 1 - sqrt(3) / 2 - 1e-12])
def test_theorem_4_4_its_sequences_are_at_distance_eps(eps: float) -> None:
    s = sqrt(eps)
    low, high = 0.5 - s / 2 + eps, 0.5 + s / 2 - eps
    first = Predictor([0.5 - s, 0.5 + s], [0.5, 0.5], [low / 2, high / 2])
    second = Predictor([0.5 - s], [1.0], [max(0.0, 0.5 - s - eps)])  # the limit of instances.online_hard_paper
    assert tc.dtc(first) == pytest.approx(eps, abs=1e-8)
    assert tc.dtc(second) == pytest.approx(eps, abs=1e-8)


@theorem
@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=4, max_size=8),
    st.integers(0, 4),
    st.integers(0, 4),
)
def test_lemma_b_2_some_order_is_as_bad_as_the_frequencies(outputs: list[float], first: int, second: int) -> None:
    """The mean ECE over all orders within each half is at least the ECE with frequencies in place of outcomes."""
    p, half = np.array(outputs), len(outputs) // 2
    ones = min(first, half), min(second, len(p) - half)
    frequency = np.repeat([ones[0] / half, ones[1] / (len(p) - half)], [half, len(p) - half])
    orders = [
        np.isin(np.arange(len(p)), [*before, *(half + k for k in after)]).astype(float)
        for before in combinations(range(half), ones[0])
        for after in combinations(range(len(p) - half), ones[1])
    ]

    def error(y: FloatArray) -> float:
        return sum(abs(float((p - y)[p == value].sum())) for value in np.unique(p)) / len(p)

    assert max(map(error, orders)) >= np.mean([error(y) for y in orders]) - 1e-12 >= error(frequency) - 2e-12


@given(st.floats(1e-6, 1 - sqrt(3) / 2))
def test_theorem_4_4_holds_as_a_number(eps: float) -> None:
    assert guarantees.lower_online_ece_paper(eps).value <= guarantees.lower_online_ece(eps).value
    assert guarantees.lower_online_cdl_paper(eps).value <= guarantees.lower_online_cdl(eps).value


# --- Lemma 3.4's Gaussian


def test_lemma_3_4_erratum_gaussian_privacy() -> None:
    def claimed(eps: float) -> bool:
        gamma = TruncatedGaussian.paper(eps).privacy(delta=sqrt(eps))
        return 1 - exp(-gamma * eps) <= 2 * sqrt(eps)

    assert claimed(0.01)
    assert not claimed(1e-4)


def test_lemma_3_4_gaussian_conclusion_by_total_variation() -> None:
    for eps in (1e-6, 1e-4, 1e-2):
        noise = TruncatedGaussian.paper(eps)
        assert guarantees.batch_ece(noise, eps).value <= 2 * sqrt(eps * np.log(1 / eps)) + sqrt(eps)


# --- Choosing


@pytest.mark.parametrize("target", UPPER)
@pytest.mark.parametrize("eps", [1e-6, 0.001, 0.05, 0.5, 1.0])
def test_best_noise(target: Target, eps: float) -> None:
    choice = guarantees.best_noise(eps, target)
    assert choice.guarantee.proved
    assert choice.lower.proved
    assert choice.lower.value <= choice.guarantee.value
    for family in FAMILIES:
        other = UPPER[target](family.for_distance(eps, target), eps)
        assert choice.guarantee.value <= other.value or not other.proved
    if eps <= 0.05:
        best_for_cdl = ClampedPlateau if eps <= 0.04 else ClampedGaussian
        assert isinstance(choice.noise, best_for_cdl if target == "cdl" else UniformNoise)
    turn = "sees no outcomes" if target == "decision_loss" else "answers each prediction from it and the earlier ones"
    assert f"; no method that {turn} can guarantee less than {choice.lower.value:.6g} (" in str(choice)


@pytest.mark.parametrize("eps", [1e-4, 0.01])
def test_theorem_21_is_not_about_methods_that_see_all_predictions(eps: float) -> None:
    """The mean prediction, said to all rows of its hard sequences, has ECE ≤ eps and CDL ≤ 2·eps: below its bound."""
    pair = tc.paper.online_hard(eps, 10_000)
    for q in (pair.one.predictor, pair.other.predictor):
        mean = float(q.mass @ q.p)
        constant = tc.Predictor([mean], [1.0], [float(q.mass @ q.p_hat)])
        assert tc.ece(constant) <= eps * (1 + 1e-9) < guarantees.lower_online_ece(eps).value
        assert tc.cdl(constant) <= 2 * eps * (1 + 1e-9) < guarantees.lower_online_cdl(eps).value


@pytest.mark.parametrize(
    ("target", "eps", "horizon", "value"),
    [
        ("ece", 1e-4, 100, 1 / 12 + 12e-4 + sqrt(7 / 200)),  # rounding to sixths
        ("cdl", 1e-4, 1000, 1 / 20 + 20e-4 + sqrt(11 / 1000)),  # rounding to tenths
    ],
)
def test_best_noise_for_few_rounds(target: Target, eps: float, horizon: int, value: float) -> None:
    choice = guarantees.best_noise(eps, target, horizon)
    assert choice.guarantee.value == pytest.approx(value, abs=1e-12)
    assert choice.guarantee.proved


@pytest.mark.parametrize("target", ["ece", "cdl"])
@pytest.mark.parametrize("eps", [1e-9, 1e-6, 1e-3, 0.1, 1.0])
@pytest.mark.parametrize("horizon", [1, 2, 10, 89, 1000, 12_292_627])
def test_the_best_grid_is_the_best_of_all(target: Target, eps: float, horizon: int) -> None:
    """Random rounding to up to 2,000 cells, one by one; the best number is about the cube root of the horizon."""
    upper: Any = {"ece": guarantees.online_ece, "cdl": guarantees.online_cdl}[target]
    found = next(one for one in guarantees.choices(eps, target, horizon) if isinstance(one.noise, RandomRounding))
    best = min(upper(RandomRounding(n), eps, horizon).value for n in range(1, 2001))
    assert found.guarantee.value <= best


@examples(40)
@given(
    target=st.sampled_from(["ece", "cdl"]),
    eps=st.floats(1e-9, 1.0),
    horizon=st.integers(1, 10**9),
    scale=st.floats(0.01, 100.0),
    cells=st.integers(1, 2000),
)
@example(target="cdl", eps=1e-9, horizon=4_092_988, scale=8.0, cells=205)  # more than (2T)^(1/3) cells
@example(target="cdl", eps=0.33203125, horizon=664, scale=0.3125, cells=8)  # the lower of two dips is the narrower
@example(target="cdl", eps=0.3125, horizon=1, scale=0.25, cells=1)  # the bound falls, rises and falls with the scale
@pytest.mark.slow
def test_no_other_parameter_or_number_of_cells_promises_less(
    target: Target, eps: float, horizon: int, scale: float, cells: int
) -> None:
    """Against parameters and cells drawn at random, and against the paper's cells at the parameter for a batch."""
    upper: Any = {"ece": guarantees.online_ece, "cdl": guarantees.online_cdl}[target]
    for choice in guarantees.choices(eps, target, horizon):
        start, family = type(choice.noise).for_distance(eps, target), type(choice.noise)
        (parameter,) = asdict(start).values()
        assert choice.guarantee.value <= upper(start, eps, horizon).value
        most = 1e-9 + 1e-6 * choice.guarantee.value  # what the search leaves
        if choice.cells is None:
            other = family(max(1, min(round(parameter * scale), 10**6)))  # type: ignore[call-arg]
            assert choice.guarantee.value <= upper(other, eps, horizon).value + most
        else:
            other = family(parameter * scale)  # type: ignore[call-arg]
            assert choice.guarantee.value <= upper(other, eps, horizon, cells=cells, end="middle").value + most
            again = upper(choice.noise, eps, horizon, cells=choice.cells, end=choice.end)
            assert again == choice.guarantee


def test_bounds_are_for_distances_that_noise_can_suit() -> None:
    with pytest.raises(ValueError, match="eps must be at least 1e-31, but is 1e-300: noise for less is finer"):
        bounds(1e-300)
    for target in ("ece", "cdl", "decision_loss"):
        assert bounds(1e-31, target).choices[0].guarantee.value < 1e-14


def test_bounds_say_what_they_are() -> None:
    assert Bound("ECE", 1.0, "", True).vacuous
    assert not Bound("ECE", 0.99, "", True).vacuous
    assert guarantees.batch_decision_loss_paper(TruncatedLaplace.paper(0.02), 0.02).vacuous
    assert not guarantees.batch_cdl(TruncatedLaplace(0.1), 0.01).proved  # worst prediction 0: numerical
    assert guarantees.batch_ece(TruncatedLaplace(0.1), 0.01).proved
    assert not guarantees.batch_ece_paper(TruncatedGaussian(0.1), 0.01, delta=0.1).proved  # γ by search
    assert not guarantees.lower_per_prediction_ece(0.01).proved
    assert not guarantees.lower_per_prediction_cdl(0.01).proved
    assert "not proved" in str(guarantees.lower_per_prediction_ece(0.01))


NOISE = UniformNoise(0.1)
UNTYPED: Any = guarantees
BAD_EPS = [0.0, -0.1, 1.5, float("nan")]


@pytest.mark.parametrize("eps", BAD_EPS)
def test_eps_outside_its_range(eps: float) -> None:
    laplace = TruncatedLaplace(0.1)
    calls: list[Any] = [
        *(lambda f=f: f(NOISE, eps) for f in UPPER.values()),
        *(
            lambda f=f: f(laplace, eps)
            for f in (guarantees.batch_ece_paper, guarantees.batch_decision_loss_paper, guarantees.batch_cdl_paper)
        ),
        *(lambda f=f: f(NOISE, eps, 10) for f in (guarantees.online_ece, guarantees.online_cdl)),
        *(lambda f=f: f(laplace, eps, 10) for f in (guarantees.online_ece_paper, guarantees.online_cdl_paper)),
        *(lambda f=f: f(eps) for name, f in vars(guarantees).items() if name.startswith("lower_")),
        lambda: guarantees.best_noise(eps),
        lambda: guarantees.batch_laplace_paper(eps),
        lambda: guarantees.batch_best(UniformNoise, eps),
        lambda: guarantees.total_variation(1, 0, eps),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="eps must be a distance to calibration in"):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: guarantees.online_ece(NOISE, 0.1, 0), "horizon must be a whole number, 1 or more"),
        (lambda: UNTYPED.online_cdl(NOISE, 0.1, 2.5), "horizon must be a whole number, 1 or more"),
        (lambda: guarantees.online_ece(NOISE, 0.1, 10, cells=0), "cells must be a whole number"),
        (lambda: UNTYPED.online_ece(NOISE, 0.1, 10, end="right"), "end must be one of 'left', 'middle'"),
        (lambda: guarantees.online_ece(RandomRounding(5), 0.1, 10, cells=3), "rounds to a grid of its own"),
        (lambda: guarantees.batch_ece_paper(NOISE, 0.1), "differentially private for no γ"),
        (lambda: guarantees.online_cdl_paper(RandomRounding(5), 0.1, 10), "differentially private for no γ"),
        (lambda: guarantees.lower_batch_decision_loss_paper(0.3), "Theorem 3.5 needs eps ≤ 0.25"),
        (lambda: guarantees.lower_online_ece_paper(0.2), "Theorem 4.4 needs eps ≤ 0.133975"),
        (lambda: guarantees.lower_per_prediction_cdl(0.2), "needs eps ≤ 0.125"),
        (lambda: guarantees.batch_ece_smcal(NOISE, -1), "smcal must lie in"),
        (lambda: guarantees.batch_ece_split(NOISE, 0.1, 2), "nearby_distance must lie in"),
        (lambda: guarantees.lipschitz_ece(float("nan")), "dtc must lie in"),
        (lambda: guarantees.total_variation(-1, 0, 0.1), "gamma must be at least 0"),
        (lambda: UNTYPED.best_noise(0.1, "auc"), "target must be one of 'ece'"),
        (lambda: UNTYPED.batch_best(UniformNoise, 0.1, "auc"), "target must be one of 'ece'"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_theorem_21_needs_many_rounds() -> None:
    """Of one round within 0.01 of calibration the outcome is the prediction, rounded: nothing is lost."""
    assert "for many rounds" in str(guarantees.best_noise(0.01, "cdl", horizon=1))
    assert "for many rounds" not in str(guarantees.best_noise(0.01, "cdl"))
