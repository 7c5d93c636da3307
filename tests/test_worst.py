"""The worst reference: never beyond Theorem 14's bound, near it on the tightness family, and as good as brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import trustcal as tc
from tests.couplings import FAMILIES, FloatArray, Joint, joints, noises
from tests.strategies import costly
from trustcal import Predictor, guarantees
from trustcal.noise import ClampedLaplace, Noise, RandomRounding, TruncatedLaplace, UniformNoise
from trustcal.paper import batch_hardest, decision_loss_tight, rain, uniform_attained
from trustcal.smoothing import WorstReference, smooth, worst_reference

some = settings(max_examples=max(costly(25).max_examples, settings().max_examples // 20))
"""Each example solves some hundred linear programs."""


def check_the_witness(worst: WorstReference, q: Predictor, noise: Noise, eps: float) -> None:
    """The reference is calibrated, coupled and within eps, and its decision maker has payoffs in [0, 1]."""
    rows = worst.coupling
    assert rows.mass @ np.abs(rows.p - rows.b) <= eps * (1 + 1e-6) + 1e-9
    for y, law in ((0, q.mass - q.positive), (1, q.positive)):
        here = rows.y == y
        found = np.bincount(np.searchsorted(q.p, rows.p[here]), rows.mass[here], minlength=len(q))
        np.testing.assert_allclose(found, law, atol=1e-8)
    assert tc.ece(worst.reference) <= 1e-15
    assert abs(worst.reference.base_rate - q.base_rate) <= 1e-8
    assert worst.weights @ worst.thresholds <= 1 + 1e-12
    assert worst.weights @ (1 - worst.thresholds) <= 1 + 1e-12
    gained = worst.weights @ (np.maximum(worst.reference.p - worst.thresholds[:, None], 0) @ worst.reference.mass)
    stake = np.outer(1 - worst.thresholds, q.positive) - np.outer(worst.thresholds, q.mass - q.positive)
    for above in (noise.cdf(worst.thresholds[:, None], q.p), noise.cdf(worst.thresholds[:, None] - 1e-15, q.p)):
        believed = worst.weights @ (stake * (1 - above)).sum(axis=1)
        assert worst.value >= gained - believed - 1e-7  # the worse way of resolving ties
    assert worst.value <= worst.upper + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@settings(some, max_examples=max(costly(6).max_examples, some.max_examples // 4))
@given(data=st.data(), joint=joints(references=2, parts_each=1))
def test_theorem_14_bounds_the_worst_reference(family: type[Noise], data: st.DataObject, joint: Joint) -> None:
    assume(joint.eps > 1e-6)
    noise = data.draw(noises(joint.eps, "decision_loss", [family]))
    q = joint.predictor
    worst = worst_reference(q, noise, joint.eps)
    check_the_witness(worst, q, noise, joint.eps)
    assert worst.value <= guarantees.batch_decision_loss(noise, joint.eps).value + 1e-7
    # The reference of the coupling is one of those over which the supremum is taken; cells change a loss by 1/cells.
    assert tc.decision_loss(smooth(q, noise, 1000, "middle"), joint.reference) <= worst.upper + 1e-3 + 1e-6


@pytest.mark.parametrize("eps", [1e-6, 1e-4, 0.02])
def test_uniform_attained_is_the_worst(eps: float) -> None:
    noise = UniformNoise.for_distance(eps)
    worst = worst_reference(uniform_attained(eps).predictor, noise, eps)
    assert worst.value == pytest.approx(guarantees.batch_decision_loss(noise, eps).value, rel=1e-6)


@pytest.mark.parametrize("family", [UniformNoise, ClampedLaplace])
def test_the_tightness_family_reaches_97_percent(family: type[UniformNoise] | type[ClampedLaplace]) -> None:
    eps = 1e-6
    noise = family.for_distance(eps)
    worst = worst_reference(decision_loss_tight(noise, eps).predictor, noise, eps)
    assert 0.97 <= worst.value / guarantees.batch_decision_loss(noise, eps).value <= 1 + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("eps", [1e-4, 0.01, 0.1])
@pytest.mark.parametrize("family", [UniformNoise, TruncatedLaplace, RandomRounding])
def test_theorem_20_nobody_beats_the_lower_bound(family: type[Noise], eps: float) -> None:
    noise = family.for_distance(eps)
    worst = worst_reference(batch_hardest(eps).predictor, noise, eps)
    assert worst.value >= guarantees.lower_batch_decision_loss(eps).value * (1 - 1e-6)


def brute_force(q: Predictor, noise: RandomRounding, eps: float, b: FloatArray) -> float:
    """Every pair of thresholds among the atoms, 0, 1/2 and 1; for each a linear program over the given b."""
    atoms = noise.atoms(q.p)
    places = np.unique(np.concatenate([[0.0, 0.5, 1.0], atoms.at.ravel()]))
    w = np.concatenate([q.mass - q.positive, q.positive])
    p, y = np.tile(q.p, 2), np.repeat([0.0, 1.0], len(q))
    b = np.union1d(b, np.concatenate([places, q.p]))
    equal = np.zeros((len(w) + len(b), len(b), len(w)))
    for k in range(len(w)):
        equal[k, :, k] = 1
    for j in range(len(b)):
        equal[len(w) + j, j] = y - b[j]
    moved = np.abs(b[:, None] - p).reshape(1, -1)
    best = 0.0
    for low, high in product(places[places <= 0.5], places[places >= 0.5]):
        if (low == 0.5) != (high == 0.5):
            continue
        mu = np.array([low, high])
        weight = np.array([1.0, 1.0]) if low == high else 2 * np.abs(mu[::-1] - 0.5) / (high - low)
        u = np.maximum(b[:, None] - mu, 0) @ weight
        solved = linprog(
            -np.repeat(u, len(w)),
            A_ub=moved,
            b_ub=[eps * (1 + 1e-8)],
            A_eq=equal.reshape(len(equal), -1),
            b_eq=np.append(w, np.zeros(len(b))),
        )
        assert solved.success, solved.message
        believed = []
        for m in mu:
            payoff = (1 - m) * q.positive - m * (q.mass - q.positive)
            hit = [(atoms.mass * compare).sum(axis=1) for compare in (atoms.at > m, atoms.at >= m)]
            believed.append(min(payoff @ share for share in hit))
        best = max(best, -solved.fun - weight @ np.array(believed))
    return best


@pytest.mark.parametrize("seed", range(4))
def test_against_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 3
    mass = rng.dirichlet(np.ones(n))
    q = Predictor(np.sort(rng.random(n).round(2)), mass, mass * rng.random(n))
    noise = RandomRounding(int(rng.integers(2, 5)))
    eps = tc.dtc(q) * float(rng.uniform(1.05, 2))
    worst = worst_reference(q, noise, eps)
    check_the_witness(worst, q, noise, eps)
    coarse = brute_force(q, noise, eps, np.linspace(0, 1, 101))
    assert coarse - 1e-6 <= worst.upper
    assert coarse - 1e-3 * worst.value - 1e-6 <= worst.value <= coarse + 2e-4  # b off the grid gain order h²


def test_one_outcome_only() -> None:
    worst = worst_reference(Predictor([0.75], [1.0], [1.0]), UniformNoise(0.5), 0.25)
    assert worst.reference.p.tolist() == [1.0]
    assert worst.value == pytest.approx(worst.upper, abs=1e-2)
    # D(μ) = (1 − μ)·Pr[M ≤ μ] = (1 − μ)(μ − 1/4) is 1/8 at 1/2, and there the line from 0 touches it
    assert worst.value == pytest.approx(0.25, abs=1e-9)


def test_more_distance_hurts_more() -> None:
    q = rain(0.1).predictor
    noise = UniformNoise(0.2)
    values = [worst_reference(q, noise, eps) for eps in (0.1, 0.15, 0.3)]
    assert values[0].value < values[1].value < values[2].value


def test_refusals() -> None:
    q = rain(0.1).predictor
    with pytest.raises(ValueError, match=r"no calibrated reference is within eps = 0\.05: the distance .* is 0\.1"):
        worst_reference(q, UniformNoise(0.1), 0.05)
    with pytest.raises(ValueError, match="up to 12 prediction values, not 20"):
        worst_reference(Predictor(np.arange(20) / 20, np.full(20, 0.05), np.full(20, 0.025)), UniformNoise(0.1), 0.5)
    with pytest.raises(ValueError, match="eps must be a distance to calibration"):
        worst_reference(q, UniformNoise(0.1), 0.0)
