"""DecisionProblem: thresholds, best responses, ties, regret, scores, soft responses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracles import rounding, swap_regret_by_enumeration
from tests.strategies import bounded_problems, eighths, predictors, probabilities
from trustcal import DecisionProblem, Predictor, UniformNoise, smooth, threshold, umbrella
from trustcal.decisions import soft_regret, soft_response, soft_value

# --- exact values


@pytest.mark.parametrize(
    ("payoff", "thresholds", "responses"),
    [
        ([[1, 0], [0, 1]], [0.5], [0, 1]),
        ([[0, 1], [1, 0]], [0.5], [1, 0]),
        ([[0, 0], [-1, 9]], [0.1], [0, 1]),  # a tenth, correctly rounded
        ([[0, 0], [-0.1, 0.9]], [0.1], [0, 1]),
        ([[0, 0], [-1, 2]], [1 / 3], [0, 1]),
        ([[3, 0], [2, 2], [0, 3]], [1 / 3, 2 / 3], [0, 1, 2]),
        ([[2, 0], [1, 1], [0, 2]], [0.5], [0, 2]),  # the middle one only touches
        ([[1, 1], [0, 0]], [], [0]),  # dominated
        ([[1, 1], [1, 1]], [], [0]),  # duplicates: the first
        ([[5, -5]], [], [0]),
        ([[1, 0], [1, 1]], [0.0], [0, 1]),  # indifferent at 0
        ([[1, 1], [0, 1]], [1.0], [0, 1]),  # indifferent at 1: the steeper line comes last
        ([[1, 0], [1, 0.5], [1, 1]], [0.0], [0, 2]),
        ([[1e300, -1e300], [-1e300, 1e300]], [0.5], [0, 1]),
        ([[1, 0], [1 - 2**-53, 2**-53]], [0.5], [0, 1]),  # nearly parallel lines
    ],
)
def test_thresholds_and_best_actions(payoff: Any, thresholds: list[float], responses: list[int]) -> None:
    d = DecisionProblem(payoff)
    assert d.thresholds.tolist() == thresholds
    assert d.responses.tolist() == responses


def test_a_tie_takes_the_lower_action_and_the_regret_the_worst() -> None:
    d = umbrella()
    assert d.best_response([0.5, np.nextafter(0.5, 1)]).tolist() == [0, 1]
    for p_hat, taken, regret in ((0.75, 0, 0.5), (0.25, 1, 0.5)):
        q = Predictor([0.5], [1.0], [p_hat])
        swaps = d.swaps(q)
        assert (swaps.taken.tolist(), swaps.better.tolist()) == ([taken], [1 - taken])
        assert swaps.gain.tolist() == [regret]
        assert d.swap_regret(q) == regret


def test_ties_at_the_ends() -> None:
    d = DecisionProblem([[1, 0], [1, 1]])  # indifferent at 0 only
    assert d.swap_regret(Predictor([0.0], [1], [0.25])) == 0.25
    assert d.swap_regret(Predictor([5e-324], [1], [0.25])) == 0.0


def test_user_units() -> None:
    treat = DecisionProblem([[0, 0], [-100, 300]], ["wait", "treat"])
    assert treat.thresholds.tolist() == [0.25]
    assert treat.stakes == 300
    assert treat.weights.tolist() == [400]
    q = Predictor([0.125, 0.5], [0.5, 0.5], [0.25, 0.25])
    assert treat.value(q) == 0.5 * (0.5 * -100 + 0.5 * 300)
    assert treat.swap_regret(q) == 0.5 * (0.5 * -100 + 0.5 * 300)
    assert treat.score([0.1, 0.9], [1, 1]).tolist() == [0, 300]
    assert repr(treat) == "DecisionProblem(wait | 0.25 | treat)"


def test_threshold_is_the_papers_bounded_rule() -> None:
    for mu in (0.0, 0.125, 0.5, 0.75, 1.0):
        d = threshold(mu)
        scale = max(mu, 1 - mu)
        for a, sign in ((0, -1), (1, 1)):
            for y in (0, 1):
                assert d.payoff[a, y] == pytest.approx(0.5 + sign * 0.5 * (y - mu) / scale, abs=1e-15)
        assert d.thresholds.tolist() == [mu]
        assert d.stakes == pytest.approx(1)
    assert umbrella().payoff.tolist() == threshold(0.5).payoff.tolist()


def test_from_score_takes_the_lower_report_on_a_threshold() -> None:
    d = DecisionProblem.from_score([1, 0, 0], [0, 1, 1], [0, 0.5, 1])  # this umbrella is taken at 1/2
    assert d.thresholds.tolist() == [0.5]
    assert d.score([0.5, 0.6], [1, 1]).tolist() == [0, 1]


def test_names_need_not_be_text() -> None:
    assert repr(DecisionProblem([[1, 0], [0, 1]], [1, 2])) == "DecisionProblem(1 | 0.5 | 2)"  # type: ignore[list-item]


def test_thresholds_are_kept_exactly() -> None:
    for mu in (0.1, 1 / 3, 0.7, np.nextafter(0.5, 1), 1e-300):
        d = threshold(mu)
        assert d.best_response([mu, np.nextafter(mu, 1)]).tolist() == [0, 1]


# --- properties


@given(bounded_problems(), predictors())
def test_swap_regret_agrees_with_enumeration(d: DecisionProblem, q: Predictor) -> None:
    # Enumeration decides ties by expected payoffs and a tolerance: compare where no action is nearly as good.
    believed = np.column_stack([1 - q.p, q.p]) @ d.payoff.T
    behind = believed.max(axis=1, keepdims=True) - believed
    used = np.isin(np.arange(len(d.payoff)), d.responses)
    assume(((behind > 1e-9) | (behind == behind.min(axis=1, keepdims=True)))[:, used].all())
    assume(not (np.abs(d.thresholds[:, None] - q.p) < 1e-9).any())
    assert d.swap_regret(q) == pytest.approx(swap_regret_by_enumeration(d.payoff[used], q), abs=1e-11)


@given(bounded_problems(eighths), st.integers(0, 4))
def test_swap_regret_agrees_with_enumeration_on_ties(d: DecisionProblem, quarters: int) -> None:
    assume(len(d.thresholds) > 0)
    mass = np.full(len(d.thresholds), 1 / len(d.thresholds))
    q = Predictor(d.thresholds, mass, mass * quarters / 4)  # every prediction on a threshold
    assert d.swap_regret(q) == pytest.approx(swap_regret_by_enumeration(d.payoff, q), abs=1e-12)


@given(bounded_problems(), probabilities)
def test_best_response_is_best_exactly(d: DecisionProblem, p: float) -> None:
    table = [[Fraction(u) for u in row] for row in d.payoff.tolist()]
    expected = [(1 - Fraction(p)) * at_0 + Fraction(p) * at_1 for at_0, at_1 in table]
    chosen = expected[int(d.best_response(p))]
    assert max(expected) - chosen <= Fraction(1, 10**15)  # thresholds are rounded once, to the nearest float


@given(bounded_problems(), predictors())
def test_swaps_account_for_the_regret(d: DecisionProblem, q: Predictor) -> None:
    swaps = d.swaps(q)
    assert swaps.gain.sum() == pytest.approx(d.swap_regret(q), abs=rounding(len(q)))
    assert (swaps.gain >= 0).all()
    before, after = (
        ((q.mass - q.positive) * d.payoff[action, 0] + q.positive * d.payoff[action, 1]).sum()
        for action in (swaps.taken, swaps.better)
    )
    assert after - before == pytest.approx(swaps.gain.sum(), abs=1e-13)


@given(bounded_problems())
def test_weights_and_thresholds_rebuild_the_problem(d: DecisionProblem) -> None:
    assume((d.weights > 1e-9).all())
    again = DecisionProblem.from_thresholds(d.thresholds, d.weights)
    used = d.payoff[d.responses]
    slack = rounding(len(used) + 2)  # weights are differences of differences
    np.testing.assert_allclose(np.diff(again.payoff, axis=0), np.diff(used, axis=0), atol=slack)


@given(bounded_problems(), predictors(), st.sampled_from([0.0, 0.3, 2.0, 50.0, 1e4]))
def test_soft_response(d: DecisionProblem, q: Predictor, rate: float) -> None:
    response = soft_response(d, q.p, rate)
    np.testing.assert_allclose(response.sum(axis=1), 1)
    belief = np.column_stack([1 - q.p, q.p]) @ d.payoff.T
    np.testing.assert_allclose(  # odds are exp(rate · difference)
        response,
        response.max(axis=1, keepdims=True) * np.exp(rate * (belief - belief.max(axis=1, keepdims=True))),
        atol=1e-12,
    )
    if rate:
        forgone = belief.max(axis=1) - (response * belief).sum(axis=1)
        assert (forgone <= np.log(len(d.payoff)) / rate + 1e-12).all()
    assert 0 <= soft_regret(d, q, rate) <= np.ptp(d.payoff, axis=0).max() + 1e-12  # dominated actions too
    best = d.value(q.calibrated())
    assert soft_regret(d, q, rate) == pytest.approx(max(0, best - soft_value(d, q, rate)), abs=1e-12)


def test_soft_response_tends_to_the_best_response() -> None:
    q = Predictor([0.2, 0.7], [0.5, 0.5], [0.4, 0.2])
    assert soft_regret(umbrella(), q, 1e5) == pytest.approx(umbrella().swap_regret(q), abs=1e-12)
    assert soft_response(umbrella(), 0.5, 1.0).tolist() == [0.5, 0.5]


# --- proper scores

GRID = np.linspace(0, 1, 101)


@pytest.mark.parametrize(
    ("at_0", "at_1"),
    [
        (1 - GRID, GRID),  # linear: pays to exaggerate
        (-(GRID**2), (1 - GRID) ** 2),  # Brier the wrong way round
        (1 - GRID**4, 1 - (1 - GRID) ** 4),
    ],
)
def test_scores_that_are_not_proper_are_refused(at_0: Any, at_1: Any) -> None:
    with pytest.raises(ValueError, match="reward the truth"):
        DecisionProblem.from_score(at_0, at_1, GRID)


# --- refusals


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DecisionProblem([1, 2]), "row per action and two columns"),
        (lambda: DecisionProblem([[1, 2, 3], [1, 2, 3]]), r"two columns.*\(2, 3\)"),
        (lambda: DecisionProblem(np.empty((0, 2))), "row per action"),
        (lambda: DecisionProblem([[1.0, np.nan]]), "finite"),
        (lambda: DecisionProblem([[1.0, np.inf], [0.0, 0.0]]), "finite"),
        (lambda: DecisionProblem([[1, 0], [0, 1]], ["a"]), "2 names, one for each row"),
        (lambda: DecisionProblem([[1, 0], [0, 1]], thresholds=[0.6]), "pay the same"),
        (lambda: DecisionProblem([[0, 1], [1, 0]], thresholds=[0.5]), "above it the later one more"),
        (lambda: DecisionProblem([[1, 0], [0, 1]], thresholds=[]), "have 1 thresholds between them, not 0"),
        (lambda: DecisionProblem.from_thresholds([0.2, 0.1], [1, 1]), "must not decrease"),
        (lambda: DecisionProblem.from_thresholds([1.2], [1]), r"lie in \[0, 1\]"),
        (lambda: DecisionProblem.from_thresholds([0.2], [0]), "positive"),
        (lambda: DecisionProblem.from_thresholds([0.2], [1, 2]), "pair up"),
        (lambda: DecisionProblem.from_score([0, 1], [0, 1], [0.5, 0.2]), "strictly increasing"),
        (lambda: DecisionProblem.from_score([0, 1], [0, 1], [0.5, 1.2]), r"\[0, 1\]"),
        (lambda: DecisionProblem.from_score([0, 1], [0, -np.inf], [0.1, 0.2]), "finite"),
        (lambda: DecisionProblem.from_score([0, 1], [0, 1], [0.1]), "pair up"),
        (lambda: threshold(1.5), r"\[0, 1\]"),
        (lambda: threshold(float("nan")), r"\[0, 1\]"),
        (lambda: DecisionProblem([[0.0, 1.7e308], [1.0, -1.7e308]]), "Use larger units"),
        (lambda: DecisionProblem([[0.0, 1.0], [np.nan, 1.0]]), r"1 of 2 rows.*row 1 .*nan"),
        (lambda: DecisionProblem.from_score([0, 1], [0], [0.1, 0.2]), "lengths 2, 2 and 1"),
        (lambda: umbrella().best_response([0.5, np.nan]), r"beliefs must lie in \[0, 1\].*row 1"),
        (lambda: umbrella().score([0.8], [-1]), "outcomes must be 0 or 1.*-1"),
        (lambda: umbrella().score([0.8], [0.7]), "outcomes must be 0 or 1"),
        (lambda: soft_response(umbrella(), [0.5], -1), "0 or more"),
        (lambda: soft_response(umbrella(), [0.5], float("inf")), "finite"),
    ],
)
def test_bad_problems_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_rows_in_the_place_of_a_predictor_are_refused() -> None:
    d = umbrella()
    takers: list[Any] = [d.value, d.swap_regret, d.swaps, lambda q: smooth(q, UniformNoise(0.1))]
    for take in takers:
        with pytest.raises(ValueError, match="give a Predictor"):
            take(np.array([0.2, 0.7]))
    with pytest.raises(ValueError, match="Put the output on a grid"):
        d.value(smooth(Predictor([0.5], [1.0], [0.5]), UniformNoise(0.1)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"p and y must have shapes that broadcast, but have \(3,\) and \(2,\)"):
        d.score([0.1, 0.2, 0.3], [0, 1])


@pytest.mark.parametrize("offset", [0.0, 1.0, 2.0**50, -(2.0**50)])
@pytest.mark.parametrize("sentinel", [None, -1e15, -1e300])
def test_only_differences_between_best_responses_matter(offset: float, sentinel: float | None) -> None:
    q = Predictor([0.2, 0.6], [0.5, 0.5], [0.3, 0.1])
    payoff = [[0.0, 0.0], [-1.0, 3.0]] + ([] if sentinel is None else [[sentinel, sentinel]])
    problem = DecisionProblem(np.array(payoff) + offset)
    assert problem.swap_regret(q) == pytest.approx(0.8, rel=1e-15)
    assert problem.swaps(q).better.tolist() == [1, 0]


def test_two_actions_have_two_names() -> None:
    with pytest.raises(ValueError, match="every action must have a name of its own, but 2 are 'wait'"):
        DecisionProblem([[0, 0], [-1, 3]], actions=["wait", "wait"])
