"""One property per statement of the paper, one counterexample per erratum; names carry the paper's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given

import trustcal as tc
from tests.strategies import bounded_problems, calibrated_predictors, predictors
from trustcal import DecisionProblem, Predictor, threshold

GRID = np.linspace(0, 1, 101)
NO, YES = np.zeros(101, int), np.ones(101, int)


# --- Claim 2.4: decision problems and proper scores


@pytest.mark.parametrize(
    ("at_0", "at_1"),
    [
        (1 - GRID**2, 1 - (1 - GRID) ** 2),  # Brier
        (GRID * 0 + 0.5, GRID * 0 + 0.5),  # constant
        ((1 - GRID) / np.hypot(GRID, 1 - GRID), GRID / np.hypot(GRID, 1 - GRID)),  # spherical
        (1.0 * (GRID <= 0.5), 1.0 * (GRID > 0.5)),  # the umbrella
        (threshold(0.3).score(GRID, NO), threshold(0.3).score(GRID, YES)),
    ],
)
def test_claim_2_4_a_proper_score_is_induced_by_a_problem_in_the_same_range(at_0: Any, at_1: Any) -> None:
    d = DecisionProblem.from_score(at_0, at_1, GRID)
    np.testing.assert_allclose(d.score(GRID, NO), at_0, atol=1e-12)
    np.testing.assert_allclose(d.score(GRID, YES), at_1, atol=1e-12)
    assert d.payoff.min() >= min(np.min(at_0), np.min(at_1))
    assert d.payoff.max() <= max(np.max(at_0), np.max(at_1))


@given(bounded_problems())
def test_claim_2_4_an_induced_score_is_proper(d: DecisionProblem) -> None:
    assume((d.weights > 1e-9).all())
    DecisionProblem.from_score(d.score(GRID, NO), d.score(GRID, YES), GRID)


def test_claim_2_4_erratum_onto_but_not_one_to_one() -> None:
    one = DecisionProblem([[1, 0], [0, 1]])
    other = DecisionProblem([[1.0, 0.0], [0.0, 1.0], [0.2, 0.3]])  # with an action that nobody ever takes
    for y in (NO, YES):
        assert one.score(GRID, y).tolist() == other.score(GRID, y).tolist()


# --- Propositions 2.10 and 2.11: swap regret and calibration


@given(bounded_problems(), predictors())
def test_proposition_2_10_calibrating_gains_the_swap_regret(d: DecisionProblem, q: Predictor) -> None:
    gain = d.value(q.calibrated()) - d.value(q)
    assert gain <= d.swap_regret(q) + 1e-13
    if not np.isin(q.p, d.thresholds).any():
        assert gain == pytest.approx(d.swap_regret(q), abs=1e-13)


@given(bounded_problems(), predictors())
def test_proposition_2_10_no_swap_gains_more(d: DecisionProblem, q: Predictor) -> None:
    for swap in (lambda p: 1 - p, lambda p: p**2, lambda p: 0 * p, lambda p: p.round(1)):
        assert d.value(q.map(swap)) - d.value(q) <= d.swap_regret(q) + 1e-13


@given(calibrated_predictors())
def test_proposition_2_11_nobody_regrets_a_calibrated_predictor(q: Predictor) -> None:
    assert tc.cdl(q) <= 1e-12
    assert tc.ece(q) <= 1e-12
    assert tc.ucal(q) <= 1e-12


@given(predictors())
def test_proposition_2_11_somebody_regrets_any_other(q: Predictor) -> None:
    assert tc.cdl(q) >= ((q.p - q.p_hat) ** 2 * q.mass).sum() - 1e-12  # the quantitative form


# --- Definition 2.12 and Lemma 2.13: CDL


@given(predictors(), bounded_problems())
def test_definition_2_12_no_bounded_decision_maker_loses_more_than_the_cdl(q: Predictor, d: DecisionProblem) -> None:
    assert d.swap_regret(q) <= tc.cdl(q) * d.stakes + 1e-12


def test_lemma_2_13_erratum_cdl_exceeds_ece() -> None:
    rain = Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])
    assert tc.ece(rain) == 0.5001
    assert tc.cdl(rain) == 1  # the lemma says at most 0.5001


@given(predictors())
def test_lemma_2_13_corrected(q: Predictor) -> None:
    square = float(((q.p - q.p_hat) ** 2 * q.mass).sum())
    assert tc.ece(q) ** 2 <= square + 1e-12
    assert square <= tc.cdl(q) + 1e-12
    assert tc.cdl(q) <= min(1, 2 * tc.ece(q)) + 1e-12


def test_lemma_2_13_corrected_is_sharp() -> None:
    twice = Predictor([0.5], [1], [0.6])
    assert tc.cdl(twice) == pytest.approx(2 * tc.ece(twice), abs=1e-15)
    one = Predictor([0.0, 1.0], [0.5, 0.5], [0.5, 0.0])
    assert tc.cdl(one) == tc.ece(one) ** 2 == 1
    n, bias = 20_000, 0.005  # a fine comb, every tooth off by the same bias: CDL / E(p − p_hat)² → 1 with the bias
    p = np.arange(n) / n * (1 - bias)
    comb = Predictor(p, np.full(n, 1 / n), (p + bias) / n)
    assert tc.cdl(comb) < 1.02 * bias**2
    assert tc.ece(comb) == pytest.approx(bias, abs=1e-12)


@given(predictors())
def test_ucal_is_at_most_cdl(q: Predictor) -> None:
    """Ignoring the predictor is one of the relabellings."""
    assert tc.ucal(q) <= tc.cdl(q) + 1e-12


# --- Lemma 2.17: smooth calibration error and distance to calibration


@given(predictors(max_values=12))
def test_lemma_2_17_corrected(q: Predictor) -> None:
    assert tc.dtc(q) / 2 - 1e-13 <= tc.smcal(q) <= 2 * tc.dtc(q) + 1e-13


def test_lemma_2_17_erratum_smcal_exceeds_dtc() -> None:
    d = h = 0.1
    q = Predictor([d, d + h], [1 - d, d], [0.0, d])
    assert tc.dtc(q) == pytest.approx(d * h, abs=1e-15)
    assert tc.smcal(q) == pytest.approx(d * h * (2 - d - h), abs=1e-15)  # 1.8 times as much


def test_lemma_2_17_corrected_is_sharp() -> None:
    d = h = 1e-3
    q = Predictor([d, d + h], [1 - d, d], [0.0, d])
    assert tc.smcal(q) / tc.dtc(q) > 1.997
    h = 1e-4
    rain = Predictor([0.5 - h, 0.5 + h], [0.5, 0.5], [0.5, 0.0])
    assert tc.smcal(rain) / tc.dtc(rain) < 0.5002


def test_definition_2_14_erratum_the_range_must_be_bounded() -> None:
    """Without |σ| ≤ 1 constants are 1-Lipschitz: the supremum of c·E[p − y] over constants c is infinite."""
    q = Predictor([0.5], [1.0], [0.25])
    assert all(c * float((q.bias).sum()) > tc.smcal(q) for c in (10, 1e6))
