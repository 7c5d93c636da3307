"""Every number that the paper prints, computed."""

import pytest

import trustcal as tc

RAIN = tc.Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])
"""Table 1: half of the days 50.01 %, and it never rains; half of the days 49.99 %, and it always does."""


def test_introduction_ece_is_50_01_percent() -> None:
    assert tc.ece(RAIN) == 0.5001


def test_introduction_the_umbrella_is_taken_on_the_wrong_days() -> None:
    d = tc.umbrella()
    assert d.best_response(RAIN.p).tolist() == [0, 1]
    assert d.value(RAIN) == 0
    assert d.swap_regret(RAIN) == 1
    assert d.swaps(RAIN).better.tolist() == [1, 0]


def test_introduction_cdl_is_1() -> None:
    witness = tc.cdl_witness(RAIN)
    assert witness.value == 1
    assert witness.problem.payoff.tolist() == tc.umbrella().payoff.tolist()


def test_introduction_the_nearest_calibrated_predictor_is_a_hundredth_of_a_percent_away() -> None:
    witness = tc.dtc_witness(RAIN)
    assert witness.upper == pytest.approx(1e-4, abs=1e-16)
    assert witness.nearest.p.tolist() == [0.5]
    assert tc.cdl(witness.nearest) == 0


def test_introduction_erratum_smcal_is_half_of_what_is_printed() -> None:
    """The paper says "about 0.01 %", with weights −0.01 % and 0.01 %, which have the wrong sign."""
    witness = tc.smcal_witness(RAIN)
    assert witness.value == pytest.approx(5.001e-5, abs=1e-16)
    assert witness.sigma[1] > witness.sigma[0]
