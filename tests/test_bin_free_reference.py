"""The bin-free measures against exact values, computed by enumeration in rational arithmetic."""

from __future__ import annotations

import json
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trustcal.decisions import DecisionProblem
from trustcal.measures.actions import two_action_regret, two_action_regret_witness
from trustcal.measures.atb import atb, atb_floor, atb_l1
from trustcal.measures.corp import corp, murphy, net_benefit
from trustcal.measures.interval_bias import cutoff, cutoff_witness, stepcal
from trustcal.measures.monotone import monotone_cdl, monotone_cdl_witness
from trustcal.predictor import Predictor

FILE = Path(__file__).parent / "bin_free_reference_values.json"
EXACT = json.loads(FILE.read_text())


def number(text: str) -> float:
    return inf if text == "inf" else float(Fraction(text))


def numbers(texts: list[str]) -> list[float]:
    return [number(text) for text in texts]


def predictor(case: dict[str, Any]) -> Predictor:
    if "y" in case:
        weight = None if case["sample_weight"] is None else numbers(case["sample_weight"])
        return Predictor.from_samples(case["y"], numbers(case["y_prob"]), weight)
    return Predictor(*(numbers(case[name]) for name in ("p", "mass", "positive")))


CASES = [pytest.param(case, id=case["name"]) for case in [*EXACT["laws"], *EXACT["rows"]]]


@pytest.mark.parametrize("case", CASES)
def test_measures(case: dict[str, Any]) -> None:
    q = predictor(case)
    for name, measure in (
        ("monotone_cdl", monotone_cdl),
        ("cutoff", cutoff),
        ("step", stepcal),
        ("atb", atb),
        ("atb_l1", atb_l1),
    ):
        assert measure(q) == pytest.approx(number(case[name]), abs=1e-14), name
    np.testing.assert_allclose(q.fitted, numbers(case["isotonic"]), rtol=0, atol=1e-14)
    found = cutoff_witness(q)
    if found.value > 1e-14:  # else rounding alone chose the range
        listed = [(number(low), number(high), sign) for low, high, sign in case["cutoff_intervals"]]
        assert any(
            (found.low, found.high) == pytest.approx((low, high), abs=1e-15) and found.sign == sign
            for low, high, sign in listed
        )


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in EXACT["rows"]])
def test_rows(case: dict[str, Any]) -> None:
    """The scikit-learn triple gives what its predictor gives, and the floor of ATB is that over all outcomes."""
    rows = case["y"], numbers(case["y_prob"]), case["sample_weight"] and numbers(case["sample_weight"])
    q = Predictor.from_samples(*rows)
    floor = atb_floor(*rows)
    assert floor.mean == pytest.approx(number(case["atb_floor"]), abs=1e-15)
    assert floor.sd**2 == pytest.approx(number(case["atb_variance_if_calibrated"]), abs=1e-15)
    for measure in (monotone_cdl, cutoff, stepcal, atb, atb_l1, two_action_regret, corp):
        assert measure(*rows) == measure(q)
    assert cutoff_witness(*rows).value == cutoff(q)
    assert monotone_cdl_witness(*rows).value == monotone_cdl(q)
    assert two_action_regret_witness(*rows) == two_action_regret_witness(q)
    assert corp(*rows, score="log") == corp(q, "log") == corp(q, score="log")
    assert net_benefit(*rows, threshold=0.25) == net_benefit(q, 0.25)
    assert murphy(*rows, theta=0.25) == murphy(q, 0.25)
    problem = DecisionProblem([numbers(row) for row in EXACT["problems_payoff"]["three actions"]])
    assert problem.action_regret(*rows) == problem.action_regret(q)
    assert problem.recommendations(*rows, ties="lower") == problem.recommendations(q, "lower")


def test_thresholds_must_be_given() -> None:
    for measure in (murphy, net_benefit):
        with pytest.raises(ValueError, match="is missing: give a Predictor and thresholds"):
            measure([0, 1], [0.2, 0.7])
        with pytest.raises(ValueError, match="not both"):
            measure(Predictor.from_samples([0, 1], [0.2, 0.7]), [0.2], [1.0])


@pytest.mark.parametrize("case", CASES)
def test_profiles_and_scores(case: dict[str, Any]) -> None:
    q, mu = predictor(case), np.array(numbers(case["mu"]))
    witness = monotone_cdl_witness(q)
    np.testing.assert_allclose(witness.profile(mu), numbers(case["monotone_profile"]), rtol=0, atol=1e-14)
    assert witness.gains.sum() == pytest.approx(witness.value, abs=1e-14)
    for score in ("brier", "log"):
        found = corp(q, score)
        assert [found.mcb, found.dsc, found.unc] == pytest.approx(
            [inf if text == "inf" else float(Fraction(text)) for text in case[f"corp_{score}"]], abs=1e-13
        )
    for theta, split in case["corp_threshold"].items():
        at = corp(q, number(theta))
        assert [at.mcb, at.dsc, at.unc] == pytest.approx(numbers(split), abs=1e-14)
    expected = [np.nan if text is None else number(text) for text in case["net_benefit"]]
    np.testing.assert_allclose(net_benefit(q, mu), expected, rtol=1e-13, atol=1e-14)
    assert murphy(q, mu).predictions.shape == mu.shape


@pytest.mark.parametrize("case", CASES)
def test_action_regret(case: dict[str, Any]) -> None:
    q = predictor(case)
    assert two_action_regret(q) == pytest.approx(number(case["two_action_regret"]), abs=1e-14)
    for name, payoff in EXACT["problems_payoff"].items():
        problem, exact = DecisionProblem([numbers(row) for row in payoff]), case["problems"][name]

        def near(text: str, problem: DecisionProblem = problem) -> Any:
            return pytest.approx(number(text), rel=1e-13, abs=1e-13 * problem.stakes)

        assert problem.action_regret(q) == near(exact["action_regret"])
        assert problem.action_regret(q, ties="lower") == near(exact["action_regret_lower"])
        assert problem.swap_regret(q) == near(exact["swap_regret"])
        listed = problem.recommendations(q, ties="lower")
        assert sum(one.promised for one in listed) == near(exact["promised"])
        assert sum(one.earned for one in listed) == near(exact["earned"])
        assert sum(one.mass for one in listed) == pytest.approx(1, abs=1e-14)
