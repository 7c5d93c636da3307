"""Theorems 29 to 36: every row of the tables of theory.md by its number, in exact arithmetic where there is one.

smCal and DTC are computed in floats, with certificates to 1e-11.  Where a row is sharp, an example reaches equality or
tends to it.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import prod

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import trustcal as tc
from tests.exact_laws import HALF, ONE, ZERO, Law, comb, laws, rain, spikes
from tests.strategies import bounded_problems, predictors
from trustcal import DecisionProblem, Predictor

FLOAT = Fraction(1, 10**11)
H = Fraction(1, 10**4)
WRONG = Law.of((ONE, 1, 0))
"""The prediction 1, and it never happens."""
CONSTANT = Law.of((HALF, 1, Fraction(3, 5)))
SWITCHED = Law.of((ZERO, 3, 1), (ONE, 1, 0))
"""Always certain and always wrong."""
ENDS = Law.of((H, 1, 0), (1 - H, 1, 1))
"""Right, but short of 0 and 1."""


def smcal(law: Law) -> Fraction:
    return Fraction(tc.smcal(law.predictor))


def dtc(law: Law) -> Fraction:
    return Fraction(tc.dtc(law.predictor))


def near(a: Fraction, b: Fraction, within: float = 0.01) -> bool:
    return abs(a - b) <= Fraction(within) * abs(b)


# --- Theorem 29: monotone CDL


@given(laws())
@example(rain(H))
@example(WRONG)
def test_29_1_between_u_calibration_and_cdl(law: Law) -> None:
    m, cdl, spread = law.monotone_cdl, law.worst(law.swap), law.mean(lambda p, chance, b: abs(chance - b))
    assert law.worst(law.constant) <= m <= cdl <= m + spread
    if all(a <= b for a, b in pairwise(law.posterior)):
        assert m == cdl


def test_29_1_is_sharp() -> None:
    law = rain(H)
    assert law.worst(law.constant) == law.monotone_cdl == HALF + H
    assert law.worst(law.swap) == 1
    assert law.mean(lambda p, chance, b: abs(chance - b)) == HALF


@given(laws())
def test_29_2_the_height_of_the_profile(law: Law) -> None:
    top = max(map(law.monotone, law.places))
    assert top <= law.monotone_cdl <= min(ONE, 2 * top)


def test_29_2_is_sharp() -> None:
    assert max(map(WRONG.monotone, WRONG.places)) == WRONG.monotone_cdl == 1
    assert 2 * max(map(CONSTANT.monotone, CONSTANT.places)) == CONSTANT.monotone_cdl == Fraction(1, 5)


@given(laws())
def test_29_3_miscalibration_of_the_brier_score(law: Law) -> None:
    distance = law.mean(lambda p, chance, b: (p - b) ** 2)
    assert distance <= law.mcb <= law.monotone_cdl
    if all(a <= b for a, b in pairwise(law.posterior)):
        assert distance == law.mcb


def test_29_3_is_sharp() -> None:
    assert WRONG.mcb == WRONG.monotone_cdl == 1


@given(laws())
@example(rain(H))
def test_29_4_at_most_twice_the_cutoff_error(law: Law) -> None:
    assert max(map(law.monotone, law.places)) <= law.cutoff
    assert law.monotone_cdl <= 2 * law.cutoff <= law.ece + law.total


def test_29_4_is_sharp() -> None:
    assert CONSTANT.monotone_cdl == 2 * CONSTANT.cutoff == CONSTANT.ece + CONSTANT.total == Fraction(1, 5)


@given(laws())
@example(WRONG)
@example(comb(Fraction(1, 10), 20))
def test_29_5_the_square_of_the_bias_over_any_range(law: Law) -> None:
    m = law.monotone_cdl
    for i, k in product(range(len(law.p)), repeat=2):
        assert sum(law.bias[i : k + 1], ZERO) ** 2 <= m * sum(law.mass[i : k + 1], ZERO)
    assert law.cutoff**2 <= m


def test_29_5_is_sharp() -> None:
    assert WRONG.cutoff**2 == WRONG.monotone_cdl == 1
    p, delta = np.linspace(0.01, 1, 10_001), 0.01
    fine = Predictor(p, np.full(len(p), 1 / len(p)), (p - delta) / len(p))
    assert tc.cutoff(fine) == pytest.approx(delta)
    assert tc.monotone_cdl(fine) == pytest.approx(delta**2, rel=0.02)


@given(laws())
def test_29_6_the_distance_to_calibration(law: Law) -> None:
    distance = law.mean(lambda p, chance, b: abs(p - b))
    assert dtc(law) - FLOAT <= distance
    assert distance**2 <= law.monotone_cdl


def test_29_6_is_sharp() -> None:
    assert dtc(WRONG) == WRONG.monotone_cdl == 1


def test_29_7_no_function_of_the_distance_bounds_it() -> None:
    law = rain(H)
    assert dtc(law) == pytest.approx(1e-4, abs=1e-11)
    assert smcal(law) < Fraction(1, 10**4)
    assert law.monotone_cdl > HALF


# --- Theorem 30: cutoff and step


@given(laws())
def test_30_1_cutoff_and_step(law: Law) -> None:
    assert law.total <= law.stepcal <= law.cutoff <= 2 * law.stepcal


def test_30_1_is_sharp() -> None:
    c = Fraction(1, 20)
    law = Law.with_biases((Fraction(2, 5), -c), (Fraction(3, 5), 2 * c))
    assert law.total == law.stepcal == c
    assert law.cutoff == 2 * c


@given(laws())
def test_30_2_at_most_half_of_ece_and_total_bias(law: Law) -> None:
    assert 2 * law.cutoff <= law.ece + law.total
    signs = [c > 0 for c in law.bias if c]
    if sum(a != b for a, b in pairwise(signs)) <= 1:
        assert 2 * law.cutoff == law.ece + law.total


@given(laws())
def test_30_3_changes_of_sign(law: Law) -> None:
    signs = [c > 0 for c in law.bias if c]
    assert law.ece <= (1 + sum(a != b for a, b in pairwise(signs))) * law.cutoff


def test_30_3_is_sharp() -> None:
    c = Fraction(1, 20)
    law = Law.with_biases(*((Fraction(i, 10), c if i % 2 else -c) for i in range(3, 7)))
    assert law.ece == 4 * law.cutoff == 4 * c


@given(laws())
@example(spikes(ZERO, ONE, 10))
def test_30_4_smcal(law: Law) -> None:
    assert smcal(law) - FLOAT <= max(law.cutoff, law.total + law.cutoff / 2) <= law.cutoff * 3 / 2


def test_30_4_is_sharp() -> None:
    law = spikes(ZERO, ONE, 100)
    assert near(smcal(law), law.cutoff * 3 / 2)


@given(laws())
@example(ENDS)
def test_30_5_the_distance_to_calibration(law: Law) -> None:
    assert dtc(law) - FLOAT <= 2 * law.cutoff - law.total


def test_30_5_is_sharp() -> None:
    assert near(dtc(ENDS), 2 * ENDS.cutoff - ENDS.total)


@given(laws(), st.lists(st.integers(-8, 8), min_size=6, max_size=6))
def test_30_6_functions_of_bounded_variation(law: Law, heights: list[int]) -> None:
    sigma = [Fraction(x, 8) for x in heights[: len(law.p)]]
    variation = sum((abs(b - a) for a, b in pairwise(sigma)), ZERO)
    value = sum((c * s for c, s in zip(law.bias, sigma, strict=True)), ZERO)
    assert abs(value) <= max(variation, 1 + variation / 2) * law.cutoff


def test_30_6_is_sharp() -> None:
    law = rain(H)
    assert law.bias[1] - law.bias[0] == 2 * law.cutoff  # σ = (−1, 1), of variation 2


@given(laws())
def test_30_7_u_calibration(law: Law) -> None:
    assert all(law.constant(mu) <= law.monotone(mu) <= law.cutoff for mu in law.places)
    assert law.worst(law.constant) <= 2 * law.cutoff <= 4 * law.stepcal


def test_30_7_is_sharp() -> None:
    c = Fraction(1, 20)
    law = Law.with_biases((HALF - H, -c), (HALF, 2 * c))
    assert law.worst(law.constant) == 4 * law.stepcal == 4 * c


# --- Theorems 31 and 32: action regret


@given(laws(), st.integers(0, 48))
def test_31_a_two_actions_at_one_threshold(law: Law, place: int) -> None:
    mu = Fraction(place, 48)
    r, gain = law.action(mu), max(ZERO, law.constant(mu))
    assert gain <= r <= 2 * gain
    assert r <= min(law.swap(mu), 2 * law.monotone(mu), 2 * law.cutoff)


def test_31_a_is_sharp_and_one_is_not_enough() -> None:
    law = rain(H)
    assert law.action(HALF) == law.swap(HALF) == 2 * law.monotone(HALF) == 2 * law.constant(HALF) == HALF
    assert near(law.action(HALF), 2 * law.cutoff)


@given(laws(), st.integers(0, 240))
def test_31_b_two_actions(law: Law, place: int) -> None:
    mu, most = Fraction(place, 240), law.two_action_regret
    assert law.action(mu) / max(mu, 1 - mu) <= most
    assert most <= min(law.worst(law.swap), 2 * law.monotone_cdl, 4 * law.cutoff)
    assert tc.two_action_regret(law.predictor) == pytest.approx(float(most), abs=1e-13)


@given(laws())
def test_31_c_many_actions_tell_the_prediction(law: Law) -> None:
    q = law.predictor
    worst, tiny = tc.cdl_witness(q), 1e-9
    between = (q.p[1:] + q.p[:-1]) / 2
    thresholds = np.concatenate([worst.thresholds, between])
    weights = np.concatenate([(1 - tiny * len(q)) * worst.weights, np.full(len(between), tiny)])
    order = np.argsort(thresholds, kind="stable")
    problem = DecisionProblem.from_thresholds(thresholds[order], weights[order])
    assert problem.action_regret(q) == pytest.approx(tc.cdl(q), abs=2e-8)


@given(bounded_problems(), predictors())
def test_32_action_regret_and_the_gaps_of_actions(d: DecisionProblem, q: Predictor) -> None:
    taken = np.searchsorted(d.thresholds, q.p, side="left")
    gaps = np.abs(np.bincount(taken, q.bias, len(d.responses)))
    assert gaps.max() <= tc.cutoff(q) + 1e-13
    assert d.action_regret(q, ties="lower") <= d.weights.sum() * gaps.sum() + 1e-12


# --- Theorems 33 to 35: ATB


@given(laws())
@example(rain(H))
@example(spikes(ZERO, ONE, 10))
def test_33_smcal(law: Law) -> None:
    length, smooth = law.p[-1] - law.p[0], smcal(law)
    assert (law.atb_l1 + law.total) / 2 <= smooth + FLOAT
    assert smooth - FLOAT <= (law.atb_l1 + (1 + length) * law.total) / 2 <= law.atb_l1 * 3 / 2


def test_33_is_sharp() -> None:
    assert smcal(rain(H)) == pytest.approx(float(rain(H).atb_l1 / 2), rel=1e-9)
    law = spikes(ZERO, ONE, 100)
    assert near(smcal(law), law.atb_l1 * 3 / 2)


@given(laws())
@example(ENDS)
def test_34_the_distance_to_calibration(law: Law) -> None:
    far = dtc(law)
    assert far - FLOAT <= law.atb_l1 <= 3 * far + FLOAT
    assert far + law.total <= 2 * smcal(law) + FLOAT
    low, high = sorted([ZERO, law.sums[-1]])
    if all(low <= s <= high for s in law.sums):
        assert abs(far - law.total) <= FLOAT


def test_34_is_sharp() -> None:
    assert near(dtc(ENDS), ENDS.atb_l1)
    d, h = Fraction(1, 1000), Fraction(1, 1000)
    law = Law.of((d, 1 - d, 0), (d + h, d, 1))
    assert law.atb_l1 == d * h * (3 - 2 * d - 2 * h)
    assert near(law.atb_l1, 3 * dtc(law))


@given(laws())
@example(WRONG)
@example(SWITCHED)
def test_35_1_the_square_and_the_absolute_value(law: Law) -> None:
    assert law.atb_l1**2 / 2 <= law.atb <= law.atb_l1


@given(laws())
def test_35_2_the_square_of_the_distance(law: Law) -> None:
    assert dtc(law) ** 2 - FLOAT <= 2 * law.atb


@given(laws())
def test_35_3_the_square_of_smcal(law: Law) -> None:
    assert smcal(law) ** 2 - FLOAT <= law.atb * 5 / 2


@given(laws())
def test_35_4_smcal(law: Law) -> None:
    error = law.mean(lambda p, chance, b: p * (1 - chance) + (1 - p) * chance)
    assert law.atb <= error * smcal(law) + FLOAT


@given(laws())
@example(SWITCHED)
def test_35_5_the_distance(law: Law) -> None:
    assert law.atb <= dtc(law) + FLOAT


THIRDS = st.integers(0, 60).map(lambda i: Fraction(i, 60))


@given(THIRDS, THIRDS, THIRDS)
def test_35_5_for_one_calibrated_value(b: Fraction, p0: Fraction, p1: Fraction) -> None:
    """The case to which the proof of ATB ≤ DTC reduces all others: zeros at p0 and ones at p1, all calibrated at b."""
    zeros, ones = (1 - b) * p0, -b * (1 - p1)
    assert (zeros + ones) ** 2 - 2 * zeros * ones * abs(p0 - p1) <= (1 - b) * abs(p0 - b) + b * abs(p1 - b)


@given(laws())
def test_35_6_cutoff(law: Law) -> None:
    assert law.atb <= law.cutoff**2 + (law.cutoff - law.total) ** 2


def test_35_is_sharp() -> None:
    assert WRONG.atb == WRONG.atb_l1 == 1
    assert near(ENDS.atb_l1**2 / 2, ENDS.atb)
    assert near(dtc(ENDS) ** 2, 2 * ENDS.atb)
    law = spikes(Fraction(1, 4), Fraction(3, 4), 100)
    assert near(smcal(law) ** 2, law.atb * 5 / 2, 0.02)
    assert WRONG.atb == smcal(WRONG) == 1
    assert SWITCHED.atb == pytest.approx(dtc(SWITCHED), abs=1e-11)
    assert SWITCHED.atb == Fraction(1, 16) + Fraction(9, 16)
    assert CONSTANT.atb == CONSTANT.cutoff**2 + (CONSTANT.cutoff - CONSTANT.total) ** 2


# --- Theorem 36: chance


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(1, 4)), min_size=1, max_size=5))
def test_36_the_mean_over_all_outcomes(rows: list[tuple[int, int, int]]) -> None:
    p, chance = [Fraction(i, 8) for i, _, _ in rows], [Fraction(i, 8) for _, i, _ in rows]
    share = [Fraction(w, sum(w for *_, w in rows)) for *_, w in rows]

    def value(outcomes: list[Fraction]) -> Fraction:
        bias = [w * (x - y) for w, x, y in zip(share, p, outcomes, strict=True)]
        pairs = product(zip(bias, p, strict=True), repeat=2)
        return sum((a * b * (1 - abs(x - z)) for (a, x), (b, z) in pairs), ZERO)

    mean = sum(
        (
            prod((c if y else 1 - c for c, y in zip(chance, outcomes, strict=True)), start=ONE) * value(list(outcomes))
            for outcomes in product((ZERO, ONE), repeat=len(rows))
        ),
        ZERO,
    )
    assert mean == value(chance) + sum((w * w * c * (1 - c) for w, c in zip(share, chance, strict=True)), ZERO)
