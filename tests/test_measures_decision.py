"""ECE, CDL, decision loss, U-calibration: exact values, identities, and linear programming."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score

import trustcal as tc
from tests.oracles import profile_by_definition, worst_score
from tests.reference import FINITE_PREDICTORS, REFERENCE, law
from tests.strategies import bounded_problems, predictors, probabilities
from trustcal import DecisionProblem, Predictor

# --- exact values


@pytest.mark.parametrize("case", FINITE_PREDICTORS, ids=lambda case: case["name"])
def test_reference_predictors(case: dict[str, Any]) -> None:
    q = law(case["atoms"])
    assert tc.ece(q) == pytest.approx(float(Fraction(case["ece"])), abs=1e-14)
    witness = tc.cdl_witness(q)
    assert witness.value == tc.cdl(q) == pytest.approx(float(Fraction(case["cdl"])), abs=1e-14)
    assert witness.problem.swap_regret(q) == pytest.approx(float(Fraction(case["cdl"])), abs=1e-14)
    assert tc.umbrella().swap_regret(q) == pytest.approx(float(Fraction(case["swap_half"])), abs=1e-14)
    assert ((q.p - q.p_hat) ** 2 * q.mass).sum() == pytest.approx(float(Fraction(case["l2"])), abs=1e-14)


@pytest.mark.parametrize("case", REFERENCE["decision_loss"], ids=lambda case: case["name"])
def test_reference_decision_losses(case: dict[str, Any]) -> None:
    b, p, y, w = zip(*case["joint_b_p_theta_w"], strict=True)
    weight = [float(Fraction(number)) for number in w]
    reference = Predictor.from_samples(y, [float(Fraction(number)) for number in b], weight)
    q = Predictor.from_samples(y, [float(Fraction(number)) for number in p], weight)
    assert tc.decision_loss(q, reference) == pytest.approx(float(Fraction(case["dl"])), abs=1e-14)


@pytest.mark.parametrize(
    ("q", "thresholds", "weights"),
    [
        (Predictor([0.5], [1], [0.75]), [0.5], [2]),
        (Predictor([0.25], [1], [0.5]), [0.25], [1 / 0.75]),  # one threshold: the other end of the chord loses nothing
        (Predictor([0.0], [1], [0.5]), [0.0], [1]),  # forecasts of exactly 0
        (Predictor([1.0], [1], [0.5]), [1.0], [1]),
        (Predictor([0.0, 1.0], [0.5, 0.5], [0.25, 0.25]), [0.0, 1.0], [1, 1]),
        (Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25]), [0.25, 0.75], [1, 1]),
        (Predictor([0.25, 0.75], [0.5, 0.5], [0.125, 0.375]), [], []),  # calibrated: nobody loses
    ],
)
def test_worst_decision_maker(q: Predictor, thresholds: list[float], weights: list[float]) -> None:
    witness = tc.cdl_witness(q)
    assert witness.thresholds.tolist() == thresholds
    assert witness.weights.tolist() == pytest.approx(weights)


def test_distance_with_extreme_weights() -> None:
    for weight in ([1e308, 1e308], [5e-324, 5e-324]):
        assert tc.distance([0.1, 0.5], [0.2, 0.3], weight) == pytest.approx(0.15, abs=1e-15)


def test_distance() -> None:
    assert tc.distance([0.0, 1.0], [0.5, 0.75], weight=[1, 3]) == (0.5 + 3 * 0.25) / 4
    assert tc.distance([0.3], [0.3]) == 0


# --- the linear program


def random_predictor(rng: np.random.Generator, values: int) -> Predictor:
    """Small predictors full of coincidences: a coarse grid with 0, 1/2 and 1, posteriors on the same grid."""
    grid = np.arange(9) / 8 if rng.random() < 0.7 else np.sort(rng.random(9))
    p = np.sort(rng.choice(grid, size=min(values, 9), replace=False))
    mass = rng.integers(1, 9, len(p)).astype(float)
    mass /= mass.sum()
    p_hat = np.where(rng.random(len(p)) < 0.3, p, rng.integers(0, 9, len(p)) / 8)
    return Predictor(p, mass, mass * p_hat)


@pytest.mark.slow
def test_cdl_against_linear_programming_on_500_predictors() -> None:
    rng = np.random.default_rng(1)
    worst = max(
        abs(tc.cdl(q) - worst_score(q, q.calibrated()))
        for q in (random_predictor(rng, 1 + index % 8) for index in range(500))
    )
    assert worst < 1e-10


@pytest.mark.slow
def test_decision_loss_and_ucal_against_linear_programming_on_500_pairs() -> None:
    rng = np.random.default_rng(2)
    for index in range(500):
        rows = rng.integers(1, 12)
        y, p, b = rng.integers(0, 2, rows), rng.integers(0, 9, rows) / 8, rng.integers(0, 9, rows) / 8
        weight = rng.integers(1, 5, rows)
        q, reference = Predictor.from_samples(y, p, weight), Predictor.from_samples(y, b, weight)
        assert tc.decision_loss(q, reference) == pytest.approx(worst_score(q, reference), abs=1e-10), index
        constant = Predictor([q.base_rate], [1], [q.base_rate])
        assert tc.ucal(q) == pytest.approx(worst_score(q, constant), abs=1e-10), index


@pytest.mark.parametrize("case", FINITE_PREDICTORS, ids=lambda case: case["name"])
def test_paper_instances_against_linear_programming(case: dict[str, Any]) -> None:
    q = law(case["atoms"])
    assert tc.cdl(q) == pytest.approx(worst_score(q, q.calibrated()), abs=1e-10)


# --- properties


@given(predictors())
def test_the_witness_loses_the_cdl(q: Predictor) -> None:
    witness = tc.cdl_witness(q)
    assert witness.problem.swap_regret(q) == pytest.approx(witness.value, abs=1e-12)
    assert witness.weights @ witness.profile(witness.thresholds) == pytest.approx(witness.value, abs=1e-12)
    assert witness.problem.payoff.min() >= -1e-15
    assert witness.problem.payoff.max() <= 1 + 1e-15
    assert len(witness.problem.actions) <= 3


@given(predictors(), probabilities)
def test_the_profile_is_the_regret_at_every_threshold(q: Predictor, mu: float) -> None:
    profile = tc.cdl_witness(q).profile
    for m in [mu, *q.p.tolist(), *q.p_hat.tolist()]:
        assert profile(m) == pytest.approx(tc.threshold(m).swap_regret(q) * max(m, 1 - m), abs=1e-12)
        assert profile(m) == pytest.approx(profile_by_definition(q, m), abs=1e-12)


@given(predictors())
def test_cdl_is_the_decision_loss_against_the_calibrated_version(q: Predictor) -> None:
    assert tc.decision_loss(q, q.calibrated()) == pytest.approx(tc.cdl(q), abs=1e-12)


@given(predictors(), predictors())
def test_profile_takes_any_shape(q: Predictor, other: Predictor) -> None:
    witness = tc.cdl_witness(q)
    assert witness.profile(other.p[:, None]).shape == (len(other), 1)
    assert isinstance(witness.profile(0.5), float)
    np.testing.assert_allclose(witness.profile(q.p), [witness.profile(float(p)) for p in q.p], atol=1e-15)


@given(predictors(), st.lists(bounded_problems(), min_size=1, max_size=3))
def test_decision_loss_over_given_problems(q: Predictor, problems: list[DecisionProblem]) -> None:
    references = [q.calibrated(), q.on_grid(3).calibrated()]
    witness = tc.decision_loss_witness(q, references, problems)
    assert witness.value == tc.decision_loss(q, references, problems)
    assert any(witness.problem is problem for problem in problems)
    assert any(witness.reference is reference for reference in references)
    assert witness.value == pytest.approx(max(tc.decision_loss(q, r, d) for r in references for d in problems))
    for d in problems:
        assert tc.decision_loss(q, references[0], d) == pytest.approx(d.swap_regret(q), abs=1e-12)
        bound = max(tc.decision_loss(q, references), 0) * d.stakes
        assert tc.decision_loss(q, references, d) <= bound + 1e-12


@given(predictors(), bounded_problems())
def test_given_problems_by_the_difference_of_values(q: Predictor, d: DecisionProblem) -> None:
    reference = q.map(lambda p: p**2)
    if not np.isin(np.concatenate([q.p, reference.p]), d.thresholds).any():
        assert tc.decision_loss(q, reference, d) == pytest.approx(d.value(reference) - d.value(q), abs=1e-12)


@given(predictors())
def test_decision_loss_witness(q: Predictor) -> None:
    reference = q.map(lambda p: p**2)
    witness = tc.decision_loss_witness(q, reference)
    assert witness.value == pytest.approx(tc.decision_loss(q, reference, witness.problem), abs=1e-12)
    assert tc.decision_loss(q, q) == 0


@given(predictors())
def test_mirror_image(q: Predictor) -> None:
    """Calling heads tails changes nothing, up to the rounding of 1 − p."""
    if len(np.unique(1 - q.p)) == len(q) and ((1 - (1 - q.p)) == q.p).all():
        mirror = Predictor((1 - q.p)[::-1], q.mass[::-1], (q.mass - q.positive)[::-1])
        for measure in (tc.ece, tc.cdl, tc.ucal):
            assert measure(mirror) == pytest.approx(measure(q), abs=1e-12)


def test_a_million_values() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(10**6)
    q = Predictor.from_samples(rng.random(10**6) < p**2, p)
    witness = tc.cdl_witness(q)
    assert witness.problem.swap_regret(q) == pytest.approx(witness.value, abs=1e-12)
    for mu in (0.1, 0.5, float(q.p[123456])):
        assert witness.profile(mu) == pytest.approx(tc.threshold(mu).swap_regret(q) * max(mu, 1 - mu), abs=1e-12)
    exact = Predictor(q.p, q.mass, q.mass * q.p**2)  # R(mu) → ∫ (p between mu and √mu) |p² − mu| dp
    for mu in (0.2, 0.5):
        root = mu**0.5
        expected = abs((root**3 - mu**3) / 3 - mu * (root - mu))
        assert tc.cdl_witness(exact).profile(mu) == pytest.approx(expected, abs=2e-3)


# --- rows instead of a predictor


def test_rows_and_weights() -> None:
    y, p, w = [0, 1, 1, 0], [0.2, 0.2, 0.7, 0.7], [1, 2, 3, 4]
    q = Predictor.from_samples(y, p, w)
    for measure in (tc.ece, tc.cdl, tc.ucal):
        assert measure(y, p, sample_weight=w, cells=2) == measure(q, cells=2)
        assert measure(y_true=y, y_prob=p, sample_weight=w, cells=2) == measure(q, cells=2)


@pytest.mark.parametrize("measure", [tc.ece, tc.cdl])
def test_sparse_rows_warn_and_name_the_remedy(measure: Any) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(1000)
    y = rng.random(1000) < p
    with pytest.warns(UserWarning, match=r"100 % of the rows .* fewer than 5 .*monotone_cdl.*cells=10") as caught:
        measure(y, p)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        measure(y, p, cells=10)
        measure(y, p.round(1))
        measure(Predictor.from_samples(y, p))
        tc.ucal(y, p)


@pytest.mark.parametrize("measure", [tc.smcal, tc.dtc, tc.smece])
def test_smooth_measures_work_as_scikit_learn_scorers(measure: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 1))
    y = rng.random(300) < 1 / (1 + np.exp(-x[:, 0]))
    scorer = make_scorer(measure, response_method="predict_proba", greater_is_better=False)
    model = LogisticRegression().fit(x, y)
    assert scorer(model, x, y) == -measure(y, model.predict_proba(x)[:, 1])


@pytest.mark.parametrize("measure", [tc.ece, tc.cdl, tc.ucal])
def test_works_as_a_scikit_learn_scorer(measure: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 1))
    y = rng.random(300) < 1 / (1 + np.exp(-x[:, 0]))
    scorer = make_scorer(measure, response_method="predict_proba", greater_is_better=False, cells=5)
    scores = cross_val_score(LogisticRegression(), x, y, scoring=scorer, cv=3)
    assert (scores <= 0).all()
    assert (scores > -1).all()


# --- refusals


def test_bad_arguments() -> None:
    q = Predictor([0.5], [1], [0.5])
    with pytest.raises(ValueError, match="not both"):
        tc.ece(q, [0.5])
    with pytest.raises(ValueError, match="give a Predictor, not"):
        tc.cdl([0, 1])
    with pytest.raises(ValueError, match=r"same base rate, but reference 0 has 0\.25"):
        tc.decision_loss(q, Predictor([0.5], [1], [0.25]))
    with pytest.raises(ValueError, match="at least one reference is needed"):
        tc.decision_loss(q, [])
    with pytest.raises(ValueError, match="at least one problem is needed"):
        tc.decision_loss(q, q, [])
    with pytest.raises(ValueError, match=r"thresholds must lie in \[0, 1\]"):
        tc.cdl_witness(q).profile([0.5, 1.5])
    with pytest.raises(ValueError, match="pair up"):
        tc.distance([0.1], [0.1, 0.2])
    with pytest.raises(ValueError, match=r"\[0, 1\], in b"):
        tc.distance([0.1], [1.2])
    with pytest.raises(ValueError, match="must not be negative"):
        tc.distance([0.1], [0.2], [-1])
    with pytest.raises(ValueError, match="some weight"):
        tc.distance([0.1], [0.2], [0])
