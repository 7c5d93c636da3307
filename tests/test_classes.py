"""Measures of class predictors: exact values, identities, slow oracles."""

from __future__ import annotations

from itertools import combinations, product
from math import inf, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import linprog

from tests.strategies import costly, examples
from tests.test_class_predictor import class_rows
from trustcal.class_predictor import ClassPredictor
from trustcal.classes import (
    class_brier,
    class_corp,
    class_log_loss,
    class_regret_bounds,
    class_regret_test,
    classwise,
    classwise_atb,
    pair_losses,
    view_measures,
    worst_payoff,
)
from trustcal.classes.scaling import dirichlet, logs, matrix, temperature, vector
from trustcal.decisions import DecisionProblem, OutcomeProblem
from trustcal.inference import action_regret_bounds
from trustcal.measures.atb import atb
from trustcal.measures.corp import corp
from trustcal.measures.decision import cdl
from trustcal.measures.monotone import monotone_cdl
from trustcal.measures.scores import brier, log_loss
from trustcal.predictor import Predictor


def drawn(rng: np.random.Generator, p: np.ndarray) -> np.ndarray:
    """An outcome for each row of probabilities."""
    return np.asarray((rng.random((len(p), 1)) >= np.cumsum(p, axis=1)[:, :-1]).sum(axis=1))


def random_law(rng: np.random.Generator, values: int, classes: int) -> ClassPredictor:
    p = rng.dirichlet(np.ones(classes), values)
    joint = rng.dirichlet(np.full(classes, 0.7), values) * rng.dirichlet(np.ones(values))[:, None]
    return ClassPredictor(p, joint / joint.sum())


# --- scores


@given(class_rows())
@examples(100)
def test_scores_are_sums_over_rows(rows: Any) -> None:
    y, p, w = rows
    hit = np.eye(p.shape[1])[y]
    assert class_brier(y, p, w) == pytest.approx(np.average(((p - hit) ** 2).sum(axis=1), weights=w), abs=1e-12)
    own = p[np.arange(len(y)), y]
    kept = w > 0
    expected = inf if (own[kept] == 0).any() else np.average(-np.log(own[kept]), weights=w[kept])
    assert class_log_loss(y, p, w) == pytest.approx(expected, abs=1e-12)


@given(class_rows())
@examples(60)
def test_scores_are_split(rows: Any) -> None:
    y, p, w = rows
    q = ClassPredictor.from_samples(y, p, w)
    for score, loss in (("brier", class_brier(q)), ("log", class_log_loss(q))):
        found = class_corp(q, score=score)  # type: ignore[arg-type]
        assert min(found.mcb, found.dsc, found.unc) >= 0
        assert found.loss == pytest.approx(loss, abs=1e-9)
    if p.shape[1] == 2:
        two, binary = class_corp(q), corp(q.one(1))
        assert two.mcb == pytest.approx(2 * binary.mcb, abs=1e-12)
        assert class_brier(q) == pytest.approx(2 * brier(q.one(1)), abs=1e-12)
        assert class_log_loss(q) == pytest.approx(log_loss(q.one(1)), abs=1e-12)


def test_a_constant_prediction_has_no_discrimination() -> None:
    q = ClassPredictor([[0.5, 0.25, 0.25]], [[0.25, 0.5, 0.25]])
    found = class_corp(q, score="log")
    assert found.unc == pytest.approx(1.5 * log(2), abs=1e-12)
    assert found.dsc == pytest.approx(0, abs=1e-9)
    assert found.mcb == pytest.approx(0.25 * log(2), abs=1e-9)


# --- class by class


def test_classwise_measures_are_those_of_the_views() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 50)
    y = drawn(rng, p)
    for measure, function in (("monotone_cdl", monotone_cdl), ("atb", atb)):
        found = classwise(y, p, measure=measure)
        assert found == {k: function(Predictor.from_samples(y == k, p[:, k])) for k in range(3)}
    assert classwise_atb(y, p) == pytest.approx(np.mean(list(classwise(y, p, measure="atb").values())), abs=1e-15)
    with pytest.raises(ValueError, match="measure must be among"):
        classwise(y, p, measure="accuracy")


def test_the_class_wise_error_is_truthful() -> None:
    """In expectation over all outcomes of three rows, nobody gains by saying other vectors than the true ones."""
    rng = np.random.default_rng(0)
    rows, width = 3, 3
    truth = rng.dirichlet(np.ones(width), rows)

    def expected(said: np.ndarray) -> float:
        chances = [np.prod([truth[i, k] for i, k in enumerate(y)]) for y in product(range(width), repeat=rows)]
        errors = [classwise_atb(list(y), said) for y in product(range(width), repeat=rows)]
        return float(np.dot(chances, errors))

    honest = expected(truth)
    for _ in range(10):
        lie = 0.7 * truth + 0.3 * rng.dirichlet(np.ones(width), rows)
        assert expected(lie) > honest - 1e-12


def test_views_with_intervals() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 200)
    y = drawn(rng, np.array([0.9, 0.05, 0.05]) * 0.5 + 0.5 * p)
    top, *classes = view_measures(ClassPredictor.from_samples(y, p, classes=[0, 1, 2]), draws=19, rng=1)
    assert top.name == "top label"
    assert [one.name for one in classes] == ["0", "1", "2"]
    assert all(one.p_value is not None and one.p_value < 0.05 for one in classes)
    for one in classes:
        loss = one.known[0]
        assert loss.measure == "monotone_cdl"
        assert loss.lower <= one.values["monotone_cdl"] <= loss.upper
    again = view_measures(ClassPredictor.from_samples(y, p, classes=[0, 1, 2]), draws=19, rng=1)
    assert [one.p_value for one in again] == [top.p_value, *(one.p_value for one in classes)]
    assert view_measures(ClassPredictor.from_samples(y, p))[0].known == ()


def test_pairs_of_classes() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 300)
    y = drawn(rng, p[:, [1, 0, 2, 3]])  # the first two are mixed up
    found = pair_losses(y, p)
    assert (found[0].a, found[0].b) == (0, 1)
    assert {(one.a, one.b) for one in found} == set(combinations(range(4), 2))
    for one in found:
        kept = (y == one.a) | (y == one.b)
        chance = p[kept, one.a] / (p[kept, one.a] + p[kept, one.b])
        assert one.loss == pytest.approx(monotone_cdl(y[kept] == one.a, chance), abs=1e-12)
        assert one.share == pytest.approx(kept.mean(), abs=1e-12)
    assert {one.a for one in pair_losses(y, p, most=2)} <= set(np.argsort(-np.bincount(y))[:2].tolist())
    assert pair_losses([0, 0], [[0.5, 0.5]] * 2) == ()


# --- scaling


@pytest.mark.parametrize("fit", [temperature, vector, matrix, dirichlet])
def test_scaling_finds_what_distorted_the_vectors(fit: Any) -> None:
    rng = np.random.default_rng(0)
    said = rng.dirichlet(np.ones(3), 4000)
    true = said**0.5
    true /= true.sum(axis=1, keepdims=True)
    q = ClassPredictor.from_samples(drawn(rng, true), said)
    assert np.abs(fit(q)(said) - true).mean() < 0.02


def test_temperature_against_a_grid() -> None:
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 300)
    y = drawn(rng, 0.5 * p + 1 / 6)
    factor = float(temperature(ClassPredictor.from_samples(y, p)).weights[0])
    give = 1 / (np.bincount(y) + 2)[y][:, None]
    target = np.where(np.eye(3)[y] == 1, 1 - give, give / 2)

    def loss(a: float) -> float:
        score = a * logs(p)
        return float((np.logaddexp.reduce(score, axis=1) - (target * score).sum(axis=1)).mean())

    grid = np.linspace(0, 2, 2001)
    assert abs(grid[np.argmin([loss(a) for a in grid])] - factor) <= 1e-3


def test_scaling_is_finite_where_vectors_separate_the_classes() -> None:
    p = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] * 10)
    q = ClassPredictor.from_samples(np.argmax(p, axis=1), p)
    for fit in (temperature, vector, matrix, dirichlet):
        new = fit(q)(p)
        assert np.isfinite(new).all()
        assert (np.argmax(new, axis=1) == np.argmax(p, axis=1)).all()
        assert new.min() > 0


# --- the worst payoffs


def program(q: ClassPredictor) -> float:
    """The linear program with all its constraints: a proper score on all vectors and all frequencies."""
    n, width = q.p.shape
    said = np.concatenate([q.p, q.joint / q.mass[:, None]])
    gain = np.concatenate([-q.joint, q.joint]).ravel()
    rows = []
    for i, r in product(range(2 * n), repeat=2):
        if i != r:
            row = np.zeros((2 * n, width))
            row[r] += said[i]
            row[i] -= said[i]
            rows.append(row.ravel())
    return float(-linprog(-gain, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), bounds=(0, 1)).fun)


def test_the_worst_payoffs_against_the_whole_program() -> None:
    rng = np.random.default_rng(0)
    for _ in range(12):
        q = random_law(rng, int(rng.integers(1, 7)), int(rng.integers(2, 6)))
        found = worst_payoff(q)
        assert found.lower - 1e-9 <= program(q) <= found.upper + 1e-9
        assert found.upper - found.lower < 1e-5
        assert found.score is None
        assert found.problem.action_regret(q) == found.lower
        assert found.problem.payoff.min() >= 0
        assert found.problem.payoff.max() <= 1


@given(class_rows())
@costly(40)
def test_nobody_loses_more_than_the_upper_end(rows: Any) -> None:
    y, p, w = rows
    q = ClassPredictor.from_samples(y, p, w)
    found, rng = worst_payoff(q), np.random.default_rng(0)
    assert found.lower <= found.upper <= min(1.0, np.abs(q.joint - q.mass[:, None] * q.p).sum() + 1e-9)
    for actions in (2, 3, 5):
        for payoff in (rng.random((actions, p.shape[1])), rng.integers(0, 2, (actions, p.shape[1]))):
            assert OutcomeProblem(payoff).action_regret(q) <= found.upper + 1e-9
    if p.shape[1] == 2:
        assert found.lower - 1e-9 <= cdl(q.one(1)) <= found.upper + 1e-9


def test_many_values_are_searched_along_scores() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 500)
    y = drawn(rng, p[:, [1, 0, 2, 3]])
    q = ClassPredictor.from_samples(y, p)
    found = worst_payoff(q)
    assert found.score is not None
    assert found.score[0] != found.score[1]
    assert found.lower > 0.15
    # The witness acts on that score and gains the lower end by moving its thresholds on it.
    score = np.array(found.score)
    view = q.scored(q.p @ score, score[q.outcome])
    assert found.lower == pytest.approx(monotone_cdl(view), abs=1e-9)
    assert found.problem.payoff.min() >= -1e-12
    assert found.problem.payoff.max() <= 1 + 1e-12
    two = ClassPredictor.from_samples(y == 0, np.column_stack([1 - p[:, 0], p[:, 0]]))
    assert worst_payoff(two).lower == pytest.approx(monotone_cdl(two.one(1)), abs=1e-9)


# --- regret of rows


def test_bounds_with_two_outcomes_are_those_of_a_decision_problem() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = rng.random(500) < p**2
    payoff = np.array([[0, 0], [-1, 3], [-0.5, 2]])
    q = ClassPredictor.from_samples(y.astype(int), np.column_stack([1 - p, p]))
    many = class_regret_bounds(OutcomeProblem(payoff), q)
    two = action_regret_bounds(DecisionProblem(payoff), Predictor.from_samples(y, p))
    assert many.estimate == two.estimate
    assert many.lower == pytest.approx(two.lower, abs=1e-12)
    assert many.upper == pytest.approx(two.upper, abs=1e-12)


def test_a_known_law_needs_no_inference() -> None:
    q, problem = ClassPredictor([[0.5, 0.5]], [[0.25, 0.75]]), OutcomeProblem([[1, 0], [0, 1]])
    for bad in (lambda: class_regret_bounds(problem, q), lambda: class_regret_test(problem, q, rng=0)):
        with pytest.raises(ValueError, match="inference needs rows"):
            bad()


def test_heavy_weights_are_not_many_rows() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 400)
    y, w = drawn(rng, p), rng.exponential(size=400) ** 3
    problem = OutcomeProblem(np.eye(3))
    plain, heavy = (class_regret_bounds(problem, ClassPredictor.from_samples(y, p, x)) for x in (None, w))
    assert plain.rigorous
    assert not heavy.rigorous
    assert heavy.upper - heavy.estimate > plain.upper - plain.estimate


@pytest.mark.slow
def test_the_level_of_the_test_and_the_coverage_of_the_bounds() -> None:
    """Calibrated vectors are rejected in at most about 5 % of all data sets; the proved bounds hold always here."""
    rng = np.random.default_rng(0)
    problem = OutcomeProblem(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.4, 0.4]]))
    rejected, rounds = 0, 200
    for _ in range(rounds):
        p = rng.dirichlet(np.ones(3), 300)
        q = ClassPredictor.from_samples(drawn(rng, p), p)
        rejected += class_regret_test(problem, q, draws=99, rng=rng).p_value <= 0.05
        bound = class_regret_bounds(problem, q)
        assert bound.lower == 0  # the population's regret is 0
    assert rejected / rounds <= 0.05 + 3 * (0.05 * 0.95 / rounds) ** 0.5
    covered = 0
    for _ in range(rounds):  # vectors that are wrong: the regret of the population is known from many rows
        p = rng.dirichlet(np.ones(3), 300)
        q = ClassPredictor.from_samples(drawn(rng, p[:, [1, 2, 0]]), p)
        found = class_regret_test(problem, q, draws=99, rng=rng)
        covered += found.lower <= 0.406 <= found.upper
    assert covered / rounds >= 0.9
