"""Confidence bounds and bootstrap intervals: exact coverage by enumeration, and the inequalities behind the proofs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import comb, e, exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom

import trustcal as tc
from tests.strategies import costly, predictors, samples
from trustcal import Predictor
from trustcal.inference import (
    ConfidenceBound,
    bootstrap_interval,
    dtc_upper_bound,
    smcal_lower_bound,
    smcal_upper_bound,
    uncertainties,
)
from trustcal.inference.bootstrap import inverted
from trustcal.inference.deviations import bennett, largest_mean, relative_entropy
from trustcal.inference.sampler import RowSampler
from trustcal.inference.significance import TIE
from trustcal.measures.table import MEASURES


def rows(n: int, ones: int, p: float) -> Predictor:
    return Predictor.from_samples([1] * ones + [0] * (n - ones), [p] * n)


def sampled(n: int, power: float, seed: int) -> Predictor:
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return Predictor.from_samples(rng.random(n) < p**power, p)


def test_bennett_and_chernoff_exactly() -> None:
    assert bennett(0.25, 0.25) == pytest.approx(0.25 * (e - 1), rel=1e-12)  # h(e − 1) = 1
    assert largest_mean(0.0, 0.5) == pytest.approx(1 - exp(-0.5), rel=1e-12)
    assert largest_mean(1.0, 0.5) == 1
    assert relative_entropy(0.25, 0.25) == 0


@given(st.floats(1e-9, 1), st.floats(1e-6, 5))
def test_bennett_and_chernoff_against_a_root_finder(mean: float, rate: float) -> None:
    t = bennett(mean, rate)
    assert mean * ((1 + t / mean) * np.log1p(t / mean) - t / mean) == pytest.approx(rate, rel=1e-6)
    if mean < 0.999:
        top = 1 - 1e-15
        if relative_entropy(mean, top) > rate:
            root = brentq(lambda b: relative_entropy(mean, b) - rate, mean, top, xtol=1e-14)
            assert largest_mean(mean, rate) == pytest.approx(root, abs=1e-10)


@pytest.mark.parametrize("bound", [smcal_upper_bound, dtc_upper_bound])
@pytest.mark.parametrize(("p", "p_hat"), [(0.5, 0.5), (0.5, 0.9), (0.2, 0.05), (0.9, 0.6), (0.0, 0.02)])
@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.9])
def test_upper_bound_holds_as_often_as_it_says(
    bound: Callable[[Predictor, float], ConfidenceBound], p: float, p_hat: float, confidence: float
) -> None:
    """One value and forty rows: the exact chance of all outcomes on which the bound holds."""
    n = 40
    law = Predictor([p], [1.0], [p_hat])
    truth = tc.smcal(law) if bound is smcal_upper_bound else tc.dtc(law)
    holds = [bound(rows(n, k, p), confidence).upper >= truth for k in range(n + 1)]
    chance = sum(comb(n, k) * p_hat**k * (1 - p_hat) ** (n - k) for k in range(n + 1) if holds[k])
    assert chance >= confidence


def test_upper_bound_can_fail() -> None:
    """At a confidence of 10 % the bound is nearly the estimate: it is not just always right."""
    assert smcal_upper_bound(rows(40, 20, 0.5), 0.1).upper < 0.1
    assert smcal_upper_bound(rows(40, 20, 0.5), 0.95).upper > 0.2


@given(samples(), st.floats(0.01, 0.98), st.floats(0.001, 0.01))
@costly(40)
def test_order_of_bounds(drawn: tuple[list[int], list[float], list[float]], confidence: float, more: float) -> None:
    q = Predictor.from_samples(drawn[0], drawn[1])
    for bound in (smcal_upper_bound, dtc_upper_bound):
        found, surer = bound(q, confidence), bound(q, confidence + more)
        assert found.rigorous
        assert 0 == found.lower <= found.estimate <= found.upper <= surer.upper <= 1
    assert dtc_upper_bound(q, confidence).upper <= 2 * smcal_upper_bound(q, confidence).upper + 1e-9
    found, surer = (smcal_lower_bound(q, x, rng=0) for x in (confidence, confidence + more))
    assert 0 <= surer.lower <= found.lower <= found.estimate <= found.upper == 1
    assert found == smcal_lower_bound(q, confidence, rng=0)
    weighted = smcal_upper_bound(Predictor.from_samples(*drawn), confidence)
    assert weighted.estimate <= weighted.upper <= 1


def test_the_formula() -> None:
    """n rows, Brier score v at most: v·h(t/v) = ln(1/(0.9·a))/n."""
    q = sampled(1000, 1.0, 0)
    t = smcal_upper_bound(q, 0.9).upper - tc.smcal(q)
    brier = float(np.mean((q.p - q.p_hat) ** 2))  # every value once
    v = brentq(
        lambda b: brier * log(brier / b) + (1 - brier) * log((1 - brier) / (1 - b)) - log(100) / 1000, brier, 0.9
    )
    assert v * ((1 + t / v) * log(1 + t / v) - t / v) == pytest.approx(log(1 / 0.09) / 1000, rel=1e-6)
    assert t == pytest.approx(sqrt(2 * brier * log(10) / 1000), rel=0.2)


@given(predictors(max_values=12))
def test_potentials_are_at_most_the_residual(q: Predictor) -> None:
    """Theorem 27: at the optimum |r_y(p)| ≤ |p − y|, after raising r0 to −p and r1 to p − 1, which costs nothing."""
    found = tc.dtc_witness(q).potentials
    z = found.nodes
    assert np.all(found.r0 <= z + 1e-9)
    assert np.all(found.r1 <= 1 - z + 1e-9)
    r0, r1 = np.maximum(found.r0, -z), np.maximum(found.r1, z - 1)
    assert np.all((1 - z) * r0 + z * r1 <= 1e-9)
    assert np.all(np.abs(np.diff([r0, r1])) <= np.diff(z) + 1e-9)


def test_predictions_that_were_moved_cost_what_they_moved() -> None:
    q = sampled(500, 1.0, 1)
    coarse = q.on_grid(10)
    assert dtc_upper_bound(coarse).upper >= tc.dtc(coarse) + coarse.moved
    assert smcal_upper_bound(coarse).upper >= tc.smcal(coarse) + 2 * coarse.moved
    with pytest.raises(ValueError, match=r"needs the predictions as they were.*before it was rounded"):
        smcal_lower_bound(coarse, rng=0)


def test_lower_bound_finds_what_is_there_and_holds() -> None:
    assert 0.05 < smcal_lower_bound(sampled(4000, 2.0, 0), rng=0).lower < 1 / 6  # the mean of p − p²
    law = Predictor(np.linspace(0.05, 0.95, 10), np.full(10, 0.1), 0.1 * np.linspace(0.05, 0.95, 10) ** 1.3)
    truth, rng, wrong = tc.smcal(law), np.random.default_rng(1), 0
    for _ in range(300):
        index = rng.integers(10, size=100)
        q = Predictor.from_samples(rng.random(100) < law.p_hat[index], law.p[index])
        wrong += smcal_lower_bound(q, 0.5, rng=rng).lower > truth
    assert wrong <= 150


def test_lower_bound_of_one_row_says_nothing() -> None:
    for seed in range(8):  # the row learns or judges
        assert smcal_lower_bound(rows(1, 1, 0.0), rng=seed).lower == 0


def test_bound_of_impossible_outcomes() -> None:
    """Forty ones at a prediction of 0: everything is wrong, and the bounds say so."""
    q = rows(40, 40, 0.0)
    assert smcal_upper_bound(q).upper == dtc_upper_bound(q).upper == 1
    assert smcal_lower_bound(q, rng=0).lower > 0.4
    certain = rows(4000, 0, 0.0)
    assert (smcal_upper_bound(certain).estimate, dtc_upper_bound(certain).estimate) == (0, 0)
    assert smcal_upper_bound(certain).upper < 0.005  # the Brier score is 0


def test_weights_are_not_called_rigorous() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(400)
    q = Predictor.from_samples(rng.random(400) < p, p, rng.random(400))
    bound = smcal_upper_bound(q)
    assert q.effective_rows is not None
    assert bound.upper - bound.estimate == pytest.approx(sqrt(2 * log(20) / q.effective_rows), abs=1e-9)
    assert not bound.rigorous
    assert "Hoeffding" in bound.method
    below = smcal_lower_bound(q, rng=0)
    assert not below.rigorous
    assert "Hoeffding" in below.method
    mixed = Predictor.from_samples([0, 1, 1], [0.2, 0.2, 0.7], [1.0, 2.0, 1.0])
    with pytest.raises(ValueError, match=r"same prediction have the same weight.*cluster=range"):
        smcal_lower_bound(mixed, rng=0)
    clustered = Predictor.from_samples([0, 1, 1], [0.2, 0.2, 0.7], [1.0, 2.0, 1.0], cluster=range(3))
    assert smcal_lower_bound(clustered, rng=0).lower == 0


@pytest.mark.parametrize("statistic", ["smcal", "dtc", "ece", "cdl", "smece", "monotone_cdl", "cutoff"])
def test_bootstrap_of_the_degenerate(statistic: str) -> None:
    certain = bootstrap_interval(rows(5, 0, 0.0), statistic, draws=99, rng=0)
    assert certain.lower == certain.estimate == 0 < certain.upper < 0.7  # five rows do not rule out a rate of 0.1
    assert bootstrap_interval(rows(5000, 0, 0.0), statistic, draws=99, rng=0).upper < 0.01
    wrong = bootstrap_interval(rows(5, 5, 0.0), statistic, draws=99, rng=0)
    assert 0.3 < wrong.lower < wrong.estimate == wrong.upper == 1
    single = bootstrap_interval(rows(1, 1, 0.5), statistic, draws=9, rng=0)
    assert single.lower == 0
    assert single.upper == single.estimate


@given(samples(), st.sampled_from(["smcal", "ece", "cdl", "monotone_cdl"]), st.integers(0, 2**32))
@costly(40)
def test_bootstrap_holds_its_estimate_and_repeats(
    drawn: tuple[list[int], list[float], list[float]], statistic: str, seed: int
) -> None:
    q = Predictor.from_samples(*drawn)
    found = bootstrap_interval(q, statistic, 0.8, draws=9, rng=seed)
    assert 0 <= found.lower <= found.estimate <= found.upper <= 1
    assert found == bootstrap_interval(q, statistic, 0.8, draws=9, rng=seed)


@pytest.mark.parametrize(
    ("estimate", "floor", "high", "root", "truth"),
    [
        (0.5, 0.25, 0.75, False, 0.25),  # a truth of 1/4 is half way: it shows at most 1/2
        (0.5, 0.25, 1.0, False, 1 / 6),
        (0.5, 0.5, 1.0, False, 0.0),  # as much as calibrated rows show
        (0.5, 0.6, 1.0, True, 0.0),
        (1.0, 0.25, 0.75, False, 1.0),  # next to the largest value rows drawn again can show only less
        (1.0, 0.25, 1.25, True, 0.75),  # always 1/4 more than the truth
        (1.0, 0.0, 2.0, True, (3 - sqrt(5)) / 2),  # t + √t = 1
        (1.0, 0.5, 1.0, True, 1.0),
    ],
)
def test_the_truth_that_shows_as_much(estimate: float, floor: float, high: float, root: bool, truth: float) -> None:
    assert inverted(estimate, floor, high, root=root) == pytest.approx(truth, rel=1e-14, abs=0)


@given(st.floats(1e-9, 1), st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_what_a_truth_shows_is_what_was_observed(estimate: float, floor: float, more: float, root: bool) -> None:
    """`inverted` solves Q(t) = T; a dozen roundings of numbers of at most 4 are below 1e-13."""
    truth = inverted(estimate, floor, estimate + more, root=root)
    assert 0 <= truth <= estimate * (1 + 1e-12)
    assert (truth > 0) == (estimate - floor > TIE)
    if truth > 0 and more > 0:
        share = truth / estimate
        shown = floor + share * (estimate + more - floor)
        if root:
            shown = truth + floor + sqrt(share) * (more - floor)
        assert shown == pytest.approx(estimate, abs=1e-13)


@given(
    samples(),
    st.sampled_from(["smcal", "ece", "cdl", "monotone_cdl", "cutoff", "atb", "ucal"]),
    st.sampled_from([0.5, 0.8, 0.9]),
    st.integers(0, 2**32),
)
@costly(40)
def test_the_interval_agrees_with_the_estimate_and_the_p_value(
    drawn: tuple[list[int], list[float], list[float]], statistic: str, confidence: float, seed: int
) -> None:
    """What is printed lies inside, and 0 lies outside only if the p-value is at most 1 − confidence."""
    q = Predictor.from_samples(*drawn)
    (found,) = uncertainties(q, [statistic], confidence, draws=19, rng=seed)
    assert 0 <= found.lower <= found.excess <= found.value <= found.upper <= 1
    if found.lower > 0:
        assert found.p_value <= 1 - confidence + 1e-12


@pytest.mark.parametrize("statistic", ["ece", "monotone_cdl", "smcal", "atb"])
def test_the_interval_of_a_coin_excludes_0_as_the_exact_test_does(statistic: str) -> None:
    """50 calibrated rows: 33 ones or more, 17 or fewer, have a probability of 0.033, and with 32 and 18 it is 0.065."""
    assert 2 * binom.sf([31, 32], 50, 0.5) == pytest.approx([0.0649, 0.0328], abs=1e-4)
    for ones in (25, 30, 32, 33, 35, 50):
        (found,) = uncertainties(rows(50, ones, 0.5), [statistic], draws=199, rng=ones)
        assert (found.lower > 0) == (found.p_value <= 0.05)
        if ones not in (32, 33):  # the others are three standard errors from 0.05
            assert (found.lower > 0) == (ones > 33)


def test_bootstrap_draws_rows_of_the_rows() -> None:
    q = Predictor.from_samples([0, 1, 1, 1, 0, 0, 1, 1, 1, 1], [0.2] * 4 + [0.6] * 6)
    design, rng, draws = RowSampler.of(q), np.random.default_rng(0), 2000
    total = np.zeros(4)
    for _ in range(draws):
        drawn = design.resampled(rng)
        assert drawn.rows == 10
        at = np.searchsorted(q.p, drawn.p)
        total[at] += drawn.mass
        total[at + 2] += drawn.positive
    law = np.concatenate([q.mass, q.positive])
    law[2] = q.mass[0] * (0.75 * 0.9 + 0.25 * 0.1)  # 0.5/(4 + 1) of the four other rows take the other outcome
    law[3] = q.mass[1] * 4.5 / 7  # the value with six rows repeats: the mean of Jeffreys' posterior for 4 of 6
    assert np.all(np.abs(total / draws - law) <= 5 * np.sqrt(law * (1 - law) / (10 * draws)))


@pytest.mark.parametrize("statistic", ["monotone_cdl", "cutoff", "smcal", "dtc", "atb", "stepcal", "atb_l1", "ucal"])
@pytest.mark.parametrize("n", [10, 50, 400])
def test_rows_with_one_outcome_do_not_rule_out_the_other(statistic: str, n: int) -> None:
    """All of n rows come true with probability 5 % if a share 0.05^(1/n) does, so the interval must hold that truth."""
    p = np.linspace(0.4, 0.6, n)
    mass, frequency = np.full(n, 1 / n), 0.05 ** (1 / n)
    truth = getattr(tc, statistic)(Predictor(p, mass, mass * frequency))
    for cluster in (None, range(n)):
        q = Predictor.from_samples(np.ones(n), p, cluster=cluster)
        found = bootstrap_interval(q, statistic, draws=199, rng=n)
        assert found.lower <= truth <= found.upper


@pytest.mark.slow
def test_bootstrap_covers_the_truth_near_and_far_from_calibration() -> None:
    """Fifty samples each; the percentile interval would never cover the calibrated truth."""
    for power, truth in ((1.0, 0.0), (1.5, 0.5 - 1 / 2.5)):
        covered = 0
        for seed in range(50):
            found = bootstrap_interval(sampled(150, power, seed), "smcal", 0.9, draws=39, rng=seed)
            covered += found.lower <= truth <= found.upper
        assert covered >= 41  # 45 expected, less two standard errors


@pytest.mark.slow
@pytest.mark.parametrize("frequency", [lambda p: p, lambda p: np.sqrt(p) / (np.sqrt(p) + np.sqrt(1 - p))])
def test_intervals_hold_neither_too_seldom_nor_always(frequency: Callable[[np.ndarray], np.ndarray]) -> None:
    """800 samples of 50 rows at a truth of 0, and near 0: 92 to 99 %, within two standard errors of each."""
    fine = (np.arange(20_000) + 0.5) / 20_000
    mass = np.full(len(fine), 1 / len(fine))
    law, rng, samples_drawn = Predictor(fine, mass, mass * frequency(fine)), np.random.default_rng(3), 800
    names = ("monotone_cdl", "cutoff", "smcal", "atb", "stepcal")
    covered = np.zeros(len(names))
    truth = [getattr(tc, name)(law) for name in names]
    for _ in range(samples_drawn):
        p = rng.random(50)
        found = uncertainties(Predictor.from_samples(rng.random(50) < frequency(p), p), names, draws=39, rng=rng)
        covered += [one.lower <= known + 1e-9 and known <= one.upper for one, known in zip(found, truth, strict=True)]
    least, most = (
        share + side * 2 * sqrt(share * (1 - share) / samples_drawn) for share, side in ((0.92, -1), (0.99, 1))
    )
    assert most < 1
    assert (least <= covered / samples_drawn).all()
    assert (covered / samples_drawn <= most).all()


@pytest.mark.slow
def test_intervals_hold_where_one_value_of_many_is_off() -> None:
    """Values without bias add to what rows show, but rows drawn again hardly show it: chance must be subtracted."""
    values = np.linspace(0.05, 0.95, 41)
    mass, frequency = np.full(41, 0.9 / 40), values.copy()
    mass[20], frequency[20] = 0.1, values[20] + 0.3
    law, rng = Predictor(values, mass, mass * frequency), np.random.default_rng(5)
    names, missed = ("ece", "cdl", "monotone_cdl", "cutoff"), np.zeros(4)
    truth = [getattr(tc, name)(law) for name in names]
    for _ in range(100):
        at = rng.choice(41, 2000, p=mass)
        q = Predictor.from_samples(rng.random(2000) < frequency[at], values[at])
        found = uncertainties(q, names, draws=39, rng=rng)
        missed += [one.lower > known for one, known in zip(found, truth, strict=True)]
    assert (missed <= 9).all()  # at 2.5 % ten or more have a probability of 0.03 %


@pytest.mark.parametrize("statistic", ["ece", "smcal", "ucal"])
def test_too_few_draws_exclude_nothing(statistic: str) -> None:
    """Of 9 draws no p-value is below 1/10."""
    (found,) = uncertainties(rows(50, 45, 0.5), [statistic], draws=9, rng=0)
    assert found.p_value == 0.1
    assert found.lower == 0


@given(
    samples(),
    st.sampled_from([name for name in MEASURES if name != "smece"]),
    st.integers(0, 2**32),
)
@costly(40)
def test_intervals_are_nested(drawn: tuple[list[int], list[float], list[float]], statistic: str, seed: int) -> None:
    """The same draws, and more confidence: the interval is no narrower."""
    q = Predictor.from_samples(*drawn)
    found = [bootstrap_interval(q, statistic, confidence, draws=39, rng=seed) for confidence in (0.5, 0.8, 0.9, 0.95)]
    for narrow, wide in pairwise(found):
        assert wide.lower <= narrow.lower + 1e-12
        assert narrow.upper <= wide.upper + 1e-12


def test_intervals_of_predictions_that_say_too_little_are_as_narrow_as_the_rows_vary() -> None:
    """In "rain" outcomes follow from predictions near 1/2, and vary less than those of calibrated ones."""
    p = np.repeat([0.4999, 0.5001], 250)
    (found,) = uncertainties(Predictor.from_samples(p < 0.5, p), ["cutoff"], draws=199, rng=0)
    assert found.value == pytest.approx(0.5001 / 2, abs=1e-12)
    assert found.value - found.lower < found.test.floor.quantile_95


@pytest.mark.parametrize("statistic", ["ece", "monotone_cdl"])
def test_bootstrap_of_rare_events(statistic: str) -> None:
    """30 predictions of 0.001 and a rate of 0.05: coverage over the numbers of events, all but 0.3 % of them."""
    truth, covered = getattr(tc, statistic)(Predictor([0.001], [1.0], [0.05])), 0.0
    for ones in range(6):
        found = [bootstrap_interval(rows(30, ones, 0.001), statistic, draws=39, rng=seed) for seed in range(2)]
        covered += binom.pmf(ones, 30, 0.05) * np.mean([one.lower <= truth <= one.upper for one in found])
    assert covered >= 0.92


def test_refusals() -> None:
    law, q = Predictor([0.5], [1.0], [0.5]), rows(4, 2, 0.5)
    for call in (
        lambda: smcal_upper_bound(law),
        lambda: dtc_upper_bound(law),
        lambda: smcal_lower_bound(law, rng=0),
        lambda: bootstrap_interval(law, "ece", rng=0),
    ):
        with pytest.raises(ValueError, match="known law"):
            call()
    for confidence in (0.0, 1.0, 95, float("nan")):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            smcal_upper_bound(q, confidence)
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            bootstrap_interval(q, "ece", confidence, rng=0)
    with pytest.raises(ValueError, match="statistics must be among"):
        bootstrap_interval(q, "brier", rng=0)
