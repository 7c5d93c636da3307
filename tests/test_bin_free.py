"""The bin-free measures: oracles by enumeration, witnesses and traps.  Their relations are in test_relations.py."""

from __future__ import annotations

from itertools import pairwise, product
from math import inf

import numpy as np
import pytest
from hypothesis import example, given

import trustcal as tc
from tests.exact_laws import Law
from tests.strategies import bounded_problems, calibrated_predictors, predictors, samples
from trustcal import DecisionProblem, Predictor
from trustcal.measures import worst_loss
from trustcal.measures.actions import two_action_regret, two_action_regret_witness
from trustcal.measures.atb import atb, atb_l1, atb_unbiased
from trustcal.measures.corp import corp, murphy, net_benefit
from trustcal.measures.interval_bias import cutoff, cutoff_witness, stepcal
from trustcal.measures.monotone import monotone_cdl, monotone_cdl_witness
from trustcal.measures.worst_loss import loss_profile

TINY = 1e-13
RAIN = Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])
CONSTANT = Predictor([0.001], [1.0], [0.5])
OPPOSITE = Predictor([0.5, 1.0], [0.5, 0.5], [0.5, 0.0])


def mirrored(q: Predictor) -> Predictor:
    return Predictor(1 - q.p[::-1], q.mass[::-1], (q.mass - q.positive)[::-1])


# --- Oracles


@given(predictors())
@example(RAIN)
@example(CONSTANT)
@example(OPPOSITE)
def test_monotone_cdl_is_the_largest_over_upper_sets_and_scores(q: Predictor) -> None:
    assert monotone_cdl(q) == pytest.approx(float(Law.exactly(q).monotone_cdl), abs=TINY)


@given(predictors())
@example(CONSTANT)
def test_isotonic_is_the_nondecreasing_fit_with_the_least_brier_score(q: Predictor) -> None:
    fit, levels = q.fitted, q.isotonic()
    assert (np.diff(fit) >= 0).all()
    np.testing.assert_allclose(levels.p, levels.p_hat, rtol=0, atol=1e-12)
    # Optimality (Barlow et al.): block by block the fit is the mean, and no upper part of a block has a larger mean.
    starts = np.flatnonzero(np.append(True, np.diff(fit) > 0))
    for start, end in pairwise([*starts.tolist(), len(q)]):
        excess = q.positive[start:end] - fit[start] * q.mass[start:end]
        assert abs(excess.sum()) <= TINY
        assert np.cumsum(excess[::-1]).max() <= TINY


@given(predictors())
@example(RAIN)
def test_cutoff_is_the_largest_bias_over_intervals(q: Predictor) -> None:
    best = max(abs(q.bias[i:k].sum()) for i in range(len(q) + 1) for k in range(i, len(q) + 1))
    found = cutoff_witness(q)
    assert found.value == pytest.approx(best, abs=TINY)
    if found.sign:
        inside = (q.p >= found.low) & (q.p <= found.high)
        assert found.sign * q.bias[inside].sum() == pytest.approx(found.value, abs=TINY)
        assert q.mass[inside].sum() == pytest.approx(found.mass, abs=TINY)


@given(predictors())
def test_atb_is_a_kernel_calibration_error(q: Predictor) -> None:
    kernel = 1 - np.abs(q.p[:, None] - q.p)
    assert atb(q) == pytest.approx(float(q.bias @ kernel @ q.bias), abs=TINY)


@given(bounded_problems(), predictors(max_values=5))
def test_action_regret_is_the_worst_assignment_of_ties(d: DecisionProblem, q: Predictor) -> None:
    on = (
        [int(np.searchsorted(d.thresholds, x, side="left")) for x in q.p],
        [int(np.searchsorted(d.thresholds, x, side="right")) for x in q.p],
    )
    worst = -inf
    for choice in product(*(range(low, high + 1) for low, high in zip(*on, strict=True))):
        joint = np.zeros((len(d.responses), 2))
        for j, w, one in zip(choice, q.mass, q.positive, strict=True):
            joint[j] += w - one, one
        earned = joint @ d.payoff.T
        worst = max(worst, sum(earned[j].max() - earned[j, a] for j, a in enumerate(d.responses)))
    assert d.action_regret(q) == pytest.approx(worst, abs=1e-12)
    assert d.action_regret(q, ties="lower") <= d.action_regret(q) + TINY
    assert d.action_regret(q) <= d.swap_regret(q) + 1e-12


@given(predictors())
@example(RAIN)
def test_two_action_regret_is_that_of_its_threshold(q: Predictor) -> None:
    found = two_action_regret_witness(q)
    assert tc.threshold(found.threshold).action_regret(q) == pytest.approx(found.value, abs=1e-12)
    for mu in np.linspace(0, 1, 41):
        assert tc.threshold(mu).action_regret(q) <= found.value + 1e-12


# --- Witnesses


@given(predictors())
@example(RAIN)
@example(OPPOSITE)
def test_the_witness_gains_what_it_says(q: Predictor) -> None:
    found = monotone_cdl_witness(q)
    assert found.weights @ found.thresholds <= 1 + TINY
    assert found.weights @ (1 - found.thresholds) <= 1 + TINY
    total = 0.0
    for mu, weight, instead, gain, changed, on in zip(
        found.thresholds, found.weights, found.instead, found.gains, found.reversed, found.acts_on, strict=True
    ):
        acts = q.p >= mu if on else q.p > mu
        better = q.p >= instead
        gained = ((q.positive - mu * q.mass) * (better.astype(float) - acts)).sum()
        assert weight * gained == pytest.approx(gain, abs=TINY)
        assert q.mass[acts != better].sum() == pytest.approx(changed, abs=TINY)
        total += gain
    assert total == pytest.approx(found.value, abs=TINY)
    assert found.problem.value(q.isotonic()) - found.problem.value(q) <= found.value + TINY


@given(predictors())
def test_monotone_cdl_is_the_decision_loss_against_the_isotonic_predictor(q: Predictor) -> None:
    assert tc.decision_loss(q, q.isotonic()) == pytest.approx(monotone_cdl(q), abs=1e-15)


def test_rereading_the_scale() -> None:
    q = Predictor([0.2, 0.4, 0.6], [0.25, 0.25, 0.5], [0.25, 0.0, 0.5])
    found = monotone_cdl_witness(q)
    assert found.reread([0.3, 0.5, 0.9, 1.0]).tolist() == [-inf, 0.4, 0.4, 0.6]


def test_rain() -> None:
    assert monotone_cdl(RAIN) == pytest.approx(0.5001, abs=1e-15)
    assert RAIN.isotonic().p.tolist() == [0.5]
    assert monotone_cdl_witness(RAIN).profile([0.4999, 0.5, 0.5001]) == pytest.approx([0.25005, 0.25, 0.25005])
    assert cutoff(RAIN) == pytest.approx(0.25005, abs=1e-15)


# --- Symmetry, order, degenerate cases


@given(predictors().filter(lambda q: np.unique(1 - q.p).size == len(q)))
def test_the_mirror_image_has_the_same_measures(q: Predictor) -> None:
    other = mirrored(q)
    for measure in (monotone_cdl, cutoff, atb, atb_l1, two_action_regret):
        assert measure(other) == pytest.approx(measure(q), abs=1e-12)


@given(samples())
def test_the_same_bits_in_any_order_of_rows(rows: tuple[list[int], list[float], list[float]]) -> None:
    y, p, w = rows
    for measure in (monotone_cdl, cutoff, stepcal, atb, atb_l1, two_action_regret):
        assert measure(y, p, w) == measure(y[::-1], p[::-1], w[::-1])


@given(calibrated_predictors())
def test_calibrated_predictors_have_none_of_it(q: Predictor) -> None:
    for measure in (monotone_cdl, cutoff, stepcal, atb, atb_l1, two_action_regret):
        assert measure(q) == pytest.approx(0, abs=1e-14)


def test_a_constant_prediction_far_from_one_half() -> None:
    assert monotone_cdl(CONSTANT) == pytest.approx(tc.cdl(CONSTANT), abs=1e-15)
    assert monotone_cdl(CONSTANT) > 0.4


def test_the_best_upper_sets_are_the_ends_of_a_block() -> None:
    assert monotone_cdl(OPPOSITE) == pytest.approx(float(Law.exactly(OPPOSITE).monotone_cdl), abs=1e-15)


def test_a_million_continuous_rows() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(10**6)
    q = Predictor.from_samples(rng.random(10**6) < p**2, p)
    assert monotone_cdl(q) == pytest.approx(np.sqrt(2) / 3 - 5 / 12, abs=0.002)
    assert cutoff(q) == pytest.approx(1 / 6, abs=0.002)


# --- CORP, Murphy diagram, net benefit


@given(predictors())
def test_corp_adds_up_and_nothing_is_negative(q: Predictor) -> None:
    found = corp(q)
    assert min(found.mcb, found.dsc, found.unc) >= 0
    assert found.loss == pytest.approx(tc.brier(q), abs=1e-13)


@given(predictors())
def test_the_brier_score_is_twice_the_area_under_the_murphy_curve(q: Predictor) -> None:
    edges = np.unique(np.concatenate([[0.0, 1.0], q.p]))
    inside = [np.linspace(a, b, 4)[1:-1] for a, b in pairwise(edges)]  # linear between predictions: two points will do
    area = sum(
        (b - a) * float(murphy(q, x).predictions.mean()) for (a, b), x in zip(pairwise(edges), inside, strict=True)
    )
    assert 2 * area == pytest.approx(tc.brier(q), abs=1e-12)


def test_net_benefit_of_treating_all_and_none() -> None:
    q = Predictor([0.3], [1.0], [0.2])
    assert net_benefit(q, [0.0, 0.25, 0.3]).tolist() == pytest.approx([0.2, (0.2 - 0.25) / 0.75, (0.2 - 0.3) / 0.7])
    assert net_benefit(q, 0.5) == 0
    assert np.isnan(net_benefit(q, 1.0))


def test_net_benefit_next_to_1_has_all_its_digits() -> None:
    """The price t/(1 − t) of a false positive grows to 9e15, but there is none."""
    q = Predictor([0.2, 1.0], [0.7, 0.3], [0.1, 0.3])
    assert net_benefit(q, [0.9, 1 - 1e-13, 1 - 2.0**-53]).tolist() == [0.3, 0.3, 0.3]
    some = Predictor([0.2, 1.0], [0.75, 0.25], [0.25, 0.1875])
    t = 1 - 2.0**-40
    assert net_benefit(some, t) == 0.1875 - 0.0625 * (2.0**40 - 1)


def test_atb_unbiased_over_all_outcomes() -> None:
    """The mean over all outcomes of n = 4 independent rows is the ATB of the population, here two values."""
    p, chance = np.array([0.25, 0.75]), np.array([0.5, 0.5])
    truth = atb(Predictor(p, [0.5, 0.5], chance / 2))
    mean = 0.0
    for picks in product(range(2), repeat=4):
        for y in product(range(2), repeat=4):
            weight = np.prod([0.5 * (chance[i] if one else 1 - chance[i]) for i, one in zip(picks, y, strict=True)])
            mean += float(weight) * atb_unbiased(list(y), p[list(picks)])
    assert mean == pytest.approx(truth, abs=1e-14)


def test_atb_unbiased_needs_rows_of_equal_weight() -> None:
    for q in (RAIN, Predictor.from_samples([0, 1], [0.5, 0.5], [1, 2]), Predictor.from_samples([1], [0.5])):
        with pytest.raises(ValueError, match="two or more rows of equal weight"):
            atb_unbiased(q)


def test_the_profile_of_many_values_has_the_bits_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worst_loss, "_MANY", 1)
    rng = np.random.default_rng(0)
    p = np.round(rng.random(40_000), 5)
    q = Predictor.from_samples(rng.random(40_000) < p**2, p)
    for reference in (q.isotonic(), q.calibrated(), Predictor([q.base_rate], [1.0], [q.base_rate]), q):
        copied = loss_profile(q, reference, q.p.copy())  # thresholds that are not known to be the predictions
        np.testing.assert_array_equal(loss_profile(q, reference, q.p), copied)


def test_rounding_does_not_widen_the_range_of_cutoff() -> None:
    """Only one of five values is off; the others are calibrated up to rounding, which had chosen three of them."""
    p = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 1000)
    ones = {0.1: 100, 0.3: 300, 0.5: 900, 0.7: 700, 0.9: 900}
    found = cutoff_witness(np.concatenate([np.arange(1000) < count for count in ones.values()]), p)
    assert (found.low, found.high, found.sign, found.mass) == (0.5, 0.5, -1, 0.2)
    ones[0.5] = 500
    fine = cutoff_witness(np.concatenate([np.arange(1000) < count for count in ones.values()]), p)
    assert (fine.value, fine.sign, fine.mass) == (0.0, 0, 0.0)
    assert cutoff(Predictor([1e-300], [1.0], [0.0])) == 1e-300


@given(predictors())
def test_no_narrower_range_attains_cutoff(q: Predictor) -> None:
    found = cutoff_witness(q)
    width = int(((q.p >= found.low) & (q.p <= found.high)).sum())
    best = max(abs(q.bias[i:k].sum()) for i in range(len(q) + 1) for k in range(i, len(q) + 1))
    assert all(abs(q.bias[i : i + less].sum()) < best for less in range(1, width) for i in range(len(q) - less + 1))


def test_atb_unbiased_takes_equal_weights_only() -> None:
    y, p = [0, 1, 1, 0], [0.5, 0.4, 0.5, 0.2]
    assert atb_unbiased(y, p, [2.0] * 4) == atb_unbiased(y, p)
    with pytest.raises(ValueError, match="rows of equal weight"):
        atb_unbiased(y, p, [1, 1, 1, 2])
