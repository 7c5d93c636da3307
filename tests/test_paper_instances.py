"""Instances: the closed forms equal the measures."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import trustcal as tc
from tests.couplings import known_law
from tests.oracles import worst_score
from trustcal import Predictor, guarantees, umbrella
from trustcal.paper import (
    Instance,
    SequencePair,
    batch_hard,
    batch_hardest,
    cdl_beyond_ece,
    constant_mean,
    gaussian_cut_off,
    gaussian_not_private,
    online_hard,
    online_hard_paper,
    private_pair,
    rain,
    smcal_beyond_dtc,
    tv_beyond_density,
    weak_certificate,
)

INSTANCES = [
    rain(),
    rain(0.3),
    *(make(eps) for make in (batch_hard, batch_hardest) for eps in (1e-6, 1e-3, 0.01, 1 / 9, 0.25)),
    *(smcal_beyond_dtc(d, h) for d, h in ((0.1, 0.1), (1e-3, 1e-3), (0.25, 0.25), (0.01, 0.4))),
    cdl_beyond_ece(0.1),
    cdl_beyond_ece(0.5),
]
CONSTANTS = [constant_mean(eps) for eps in (1e-6, 0.01, 0.25)]


@pytest.mark.parametrize("instance", INSTANCES + CONSTANTS, ids=repr)
def test_answers_are_what_the_measures_say(instance: Instance) -> None:
    q, known = instance.predictor, instance.answers
    for name, measure in (("dtc", tc.dtc), ("smcal", tc.smcal), ("ece", tc.ece), ("cdl", tc.cdl)):
        answer = getattr(known, name)
        if answer is not None:
            assert measure(q) == pytest.approx(answer, abs=1e-14), name


@pytest.mark.parametrize("instance", INSTANCES, ids=repr)
def test_the_reference_is_calibrated_and_nearest(instance: Instance) -> None:
    assert tc.ece(instance.reference) <= 1e-15
    rows = instance.coupling
    assert tc.distance(rows.p, rows.b, rows.mass) == pytest.approx(tc.dtc(instance.predictor), abs=1e-14)
    for law, values in ((instance.predictor, rows.p), (instance.reference, rows.b)):
        assert tc.Predictor.from_samples(rows.y, values, rows.mass).p.tolist() == law.p.tolist()


@pytest.mark.parametrize("make", [batch_hard, batch_hardest])
@pytest.mark.parametrize("eps", [1e-4, 0.01, 0.25])
def test_theorem_3_5_what_no_post_processing_can_avoid(make: Callable[[float], Instance], eps: float) -> None:
    """The best post-processing predicts the posterior (proof of Theorem 3.5); its loss to the reference."""
    instance = make(eps)
    best = instance.predictor.calibrated()
    loss = tc.decision_loss(best, instance.reference)
    assert tc.decision_loss(best, instance.reference, tc.umbrella()) == pytest.approx(
        instance.answers.umbrella_loss, abs=1e-13
    )
    assert loss == pytest.approx(worst_score(best, instance.reference), abs=1e-9)
    if instance.answers.decision_loss is not None:
        assert loss == pytest.approx(instance.answers.decision_loss, abs=1e-13)
    assert loss >= np.sqrt(eps) / 2 - 1e-13


def test_batch_hardest_beats_the_paper() -> None:
    for eps in (1e-6, 1e-4, 0.01):
        paper, ours = batch_hard(eps).answers.umbrella_loss, batch_hardest(eps).answers.umbrella_loss
        assert paper is not None
        assert ours is not None
        assert ours > paper * 1.3
        assert ours == pytest.approx(np.sqrt(eps / 2), abs=eps)


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (rain, (0, 0.6, float("nan"))),
        (batch_hard, (0, 0.3, -1)),
        (batch_hardest, (0, 0.3)),
        (cdl_beyond_ece, (0, 0.6)),
        (constant_mean, (0, 0.3, float("nan"))),
        (gaussian_not_private, (0, 0.002)),
        (gaussian_cut_off, (0, 0.2)),
        (weak_certificate, (0, 0.3)),
        (lambda eps: online_hard(eps, 100), (0, 0.1)),
        (lambda eps: online_hard_paper(eps, 100), (0, 0.14)),
        (lambda d: smcal_beyond_dtc(d, 0.4), (0.2, 0)),
    ],
)
def test_parameters_out_of_range_are_refused(make: Callable[[float], object], values: tuple[float, ...]) -> None:
    for value in values:
        with pytest.raises(ValueError, match="must lie in"):
            make(value)


# --- The constant mean: almost calibrated, and of no use


@pytest.mark.parametrize("instance", CONSTANTS, ids=repr)
def test_the_constant_mean_is_almost_calibrated_and_worth_nothing(instance: Instance) -> None:
    q, reference, known = instance.predictor, instance.reference, instance.answers
    assert len(q) == 1
    assert tc.ece(reference) == 0
    assert umbrella().value(q) == 0.5  # what anybody gets who knows nothing
    assert umbrella().value(reference) == 1
    for law in (q, q.calibrated()):  # not even who knew the frequencies could use it
        assert tc.decision_loss(law, reference) == pytest.approx(known.decision_loss, abs=1e-12)
        assert tc.decision_loss(law, reference, umbrella()) == known.umbrella_loss
    eps = known.ece
    assert eps is not None
    before = Predictor([0.0, 1 - 2 * eps], [0.5, 0.5], [0.0, 0.5])  # the forecaster whose mean it is
    assert float(before.mass @ before.p) == pytest.approx(float(q.p[0]), abs=1e-15)
    assert tc.dtc(before) == pytest.approx(eps, abs=1e-12)
    noise = tc.UniformNoise.for_distance(eps)
    assert guarantees.batch_decision_loss(noise, eps).value <= sqrt(eps / 2) * (1 + 1e-12)  # against 1/2


# --- Counterexamples, recomputed


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 1e-4, 1e-3])
def test_lemma_3_4_erratum_a_pair_and_an_event(eps: float) -> None:
    found = gaussian_not_private(eps)
    assert found.less > 1.7 * found.more
    with mp.workdps(40):
        variance = 2 * eps * mp.log(1.25 / mp.sqrt(eps))
        gamma = -mp.log(1 - 2 * mp.sqrt(eps)) / eps
        q, other = 0.5 - gamma * variance, 0.5 + gamma * variance

        def below(x: Any, centre: Any) -> Any:
            at, low, high = (mp.ncdf((place - centre) / mp.sqrt(variance)) for place in (x, 0, 1))
            return (at - low) / (high - low)

        assert found.less == pytest.approx(float(below(q, q)), rel=1e-6)
        more = mp.exp(gamma * (other - q)) * below(q, other) + mp.sqrt(eps)
        assert found.more == pytest.approx(float(more), rel=1e-5)


@pytest.mark.parametrize("eps", [1e-6, 0.01, 0.1])
def test_lemma_3_4_erratum_half_of_the_noise_is_cut_off(eps: float) -> None:
    found = gaussian_cut_off(eps)
    assert found.less >= 0.5 > found.more == exp(-1 / (4 * sqrt(eps)))
    drawn = np.random.default_rng(0).normal(0, sqrt(2 * eps * log(1.25 / sqrt(eps))), 10**5)
    assert np.mean((drawn < 0) | (drawn > 1)) == pytest.approx(found.less, abs=0.01)


@pytest.mark.parametrize("cells", [4, 6, 50])
def test_lemma_a_3_erratum_a_hole_before_0(cells: int) -> None:
    density = np.zeros(2 * cells)  # of the noise, on cells of [−1, 1]
    density[: cells - 1] = density[cells] = 1
    for side in (density[:cells], density[cells:]):
        assert (np.diff(side) <= 0).all()
    truncated = [density[cells - at : 2 * cells - at] for at in (cells - 2, cells - 1)]
    b, q = (window / window.sum() for window in truncated)
    found = tv_beyond_density(cells)
    assert np.abs(b - q).sum() / 2 == pytest.approx(found.less, abs=1e-15)
    assert max(b.max(), q.max()) == pytest.approx(found.more, abs=1e-15)  # per cell, and |b − q| is one cell
    assert found.less >= 4 / 3 * found.more - 1e-15


@pytest.mark.parametrize("s", [0.05, 0.1, 0.25, 0.5])
def test_theorem_3_5_erratum_its_certificate_proves_nothing_and_another_one_does(s: float) -> None:
    eps = s * s
    law = batch_hard(eps).predictor
    b = np.union1d(np.linspace(0, 1, 20_001), [0.5 - s, 0.5 + s, 0.5 - 1e-12, 0.5 + 1e-12])

    def worth(certificate: np.ndarray) -> float:
        total = 0.0
        for p, mass, positive in zip(law.p, law.mass, law.positive, strict=True):
            for y, weight in ((0, mass - positive), (1, positive)):
                total += weight * float((np.abs(b - p) + (y - b) * certificate).min())
        return total

    a = 2 * s / (1 + 2 * s)
    papers = np.where(b == 0.5, 0.0, np.where(b < 0.5, a, -a))
    found = weak_certificate(eps)
    assert worth(papers) == pytest.approx(found.more, abs=1e-9)
    assert found.more < found.less == eps
    left = np.minimum(b, 1 - b)
    right = np.sign(0.5 - b) * np.where(left <= 0.5 - s, a, (0.5 - left) / (1 - left))
    assert worth(right) == pytest.approx(eps, abs=1e-9)


# --- Sequences


@pytest.mark.parametrize("eps", [1e-3, 0.01, 1 / 12])
@pytest.mark.parametrize("horizon", [10**3, 10**4 + 2])
def test_the_hard_pair_is_at_its_distance(eps: float, horizon: int) -> None:
    pair = online_hard(eps, horizon)
    assert pair.eps <= eps * (1 + 1e-9)
    h = 2 * pair.ece
    assert (eps + sqrt(eps * (eps + 2))) / 2 - h <= 1 / horizon * 2 + 1e-12
    assert pair.ece == pair.cdl == pair.swap_regret
    check_the_pair(pair, horizon)
    assert guarantees.lower_online_ece(pair.eps).value == pytest.approx(pair.ece, rel=1e-9)


@pytest.mark.parametrize(("eps", "horizon"), [(0.01, 400), (1 / 9, 36), (0.0004, 20_000)])
def test_the_papers_pair_is_at_its_distance(eps: float, horizon: int) -> None:
    pair = online_hard_paper(eps, horizon)
    check_the_pair(pair, horizon)
    assert pair.eps == eps
    assert pair.cdl < guarantees.lower_online_cdl_paper(eps).value == pytest.approx(pair.ece)  # Theorem 4.4's mistake


def check_the_pair(pair: SequencePair, horizon: int) -> None:
    for sequence in (pair.one, pair.other):
        assert len(sequence.predictions) == len(sequence.outcomes) == horizon
        assert tc.dtc(sequence.predictor) == pytest.approx(pair.eps, abs=1e-12)
    assert (pair.one.predictions[: pair.shared] == pair.other.predictions[: pair.shared]).all()
    assert (pair.one.predictions[pair.shared :] != pair.other.predictions[pair.shared :]).all()


def answered(sequence: Predictor, first: float, places: np.ndarray, share: np.ndarray) -> Predictor:
    """In the limit: the first half, with this frequency, answered at random, the second half by its frequency."""
    second = 2 * sequence.base_rate - first
    p, mass = np.append(places, second), np.append(share / 2, 0.5)
    chance = np.append(np.full(len(places), first), second)
    rows = np.concatenate([p, p]), np.repeat([0.0, 1.0], len(p)), np.concatenate([mass * (1 - chance), mass * chance])
    return known_law(*rows)


@pytest.mark.parametrize("eps", [0.01, 1 / 12])
def test_theorem_21_the_value_of_the_game_is_attained(eps: float) -> None:
    """For ECE by always saying 1/2; for CDL by F(1/2 + t) = min(1, h(1/2 − t)/(h − t)), which makes the profile of one
    world h(1 − μ)/2 at most, and that of the other hμ/2."""
    pair = online_hard(eps, 24 * 10**4)
    h = 2 * pair.ece
    grid = np.linspace(-h, h, 8001)
    with np.errstate(divide="ignore"):
        cdf = np.minimum(1.0, h * (0.5 - grid) / (h - grid))
    share = np.diff(cdf, prepend=0)
    constant = np.array([0.5]), np.array([1.0])
    for answers, measure, value in (((0.5 + grid, share), tc.cdl, pair.cdl), (constant, tc.ece, pair.ece)):
        worlds = [
            answered(sequence.predictor, 0.5 + sign * h, *answers)
            for sequence, sign in ((pair.one, 1), (pair.other, -1))
        ]
        assert max(measure(law) for law in worlds) == pytest.approx(value, rel=2e-3)


def test_theorem_4_4_the_value_of_the_game_for_ece_is_attained() -> None:
    """On the paper's pair by predicting the mean of the two frequencies in the first half."""
    pair, s = online_hard_paper(0.01, 400), 0.1
    first = [0.5 - s / 2 + 0.01, 0.5 - s - 0.01]
    middle = np.array([sum(first) / 2]), np.array([1.0])
    for sequence, frequency in zip((pair.one, pair.other), first, strict=True):
        assert tc.ece(answered(sequence.predictor, frequency, *middle)) == pytest.approx(pair.ece, abs=1e-12)


def test_the_same_seed_gives_the_same_order() -> None:
    one, again, other = (online_hard(0.01, 1000, rng).one.outcomes for rng in (5, 5, 6))
    assert one.tolist() == again.tolist() != other.tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: online_hard(0.01, 7), "horizon must be even"),
        (lambda: online_hard(0.01, 0), "horizon must be a whole number"),
        (lambda: online_hard(1e-6, 10), "10 rounds are too few for whole counts"),
        (lambda: online_hard_paper(0.01, 402), r"counts of ones must be whole, but 402 rounds .* ask for 92\.46"),
        (lambda: tv_beyond_density(3), "cells must be a whole number, 4 or more"),
        (lambda: private_pair(-1, 0, 0.1), "gamma must be at least 0"),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
