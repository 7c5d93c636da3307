"""Payoffs of very different magnitudes: regrets depend on differences of payoffs only, and keep their digits."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import costly, predictors
from trustcal import DecisionProblem, Predictor, decision_loss
from trustcal.decisions import soft_regret, soft_response

RAIN = Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])
EPS = 2.0**-52

magnitudes = st.builds(
    lambda digits, exponent: digits * 10.0**exponent,
    st.sampled_from([-3.0, -1.5, -1.0, -0.1, 0.0, 0.1, 1.0, 1.5, 3.0]),
    st.sampled_from([-300, -15, -3, 0, 0, 0, 3, 15, 300]),
)
problems = st.lists(st.tuples(magnitudes, magnitudes), min_size=2, max_size=4).map(DecisionProblem)


def exact(payoff: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(value) for value in row] for row in payoff.tolist()]


def step(table: list[list[Fraction]], taken: int, other: int, zero: Fraction, one: Fraction) -> tuple[Fraction, float]:
    """What the other action earns more, and the sum of the absolute values of what is added up for it."""
    terms = [(b - a) * mass for a, b, mass in zip(table[taken], table[other], (zero, one), strict=True)]
    return sum(terms, Fraction(0)), float(sum(map(abs, terms)))


def masses(q: Predictor, part: slice = slice(None)) -> tuple[Fraction, Fraction]:
    mass, one = (sum(map(Fraction, array[part].tolist()), Fraction(0)) for array in (q.mass, q.positive))
    return mass - one, one


# --- exact values


@pytest.mark.parametrize("payoff", [[[0, 0], [-1, 1], [-1e15, 1.5]], [[1.5, -1e15], [1, -1], [0, 0]]])
def test_a_huge_best_response_hides_no_gain(payoff: list[list[float]]) -> None:
    d = DecisionProblem(payoff)
    assert d.swap_regret(RAIN) == d.action_regret(RAIN) == 1.25
    assert decision_loss(RAIN, RAIN.calibrated(), d) == 1.25
    assert decision_loss(RAIN, RAIN, d) == 0


def test_a_soft_response_to_huge_payoffs_is_the_best_one() -> None:
    huge = DecisionProblem([[1e200, 0], [0, 1e200]])
    assert soft_response(huge, [0.3, 0.7], 1e150).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("offset", [0.0, 1e12, -(2.0**50)])
def test_a_constant_added_to_all_payoffs_changes_no_response(offset: float) -> None:
    d = DecisionProblem(np.array([[1.0, 0.0], [0.0, 1.0]]) + offset)
    assert soft_response(d, 0.75, 4.0) == pytest.approx([1 / (1 + exp(2)), 1 / (1 + exp(-2))], rel=1e-15)
    plain = DecisionProblem([[1, 0], [0, 1]])
    assert soft_regret(d, RAIN, 3.0) == soft_regret(plain, RAIN, 3.0)
    assert d.action_regret(RAIN) == plain.action_regret(RAIN) == 1.0
    assert decision_loss(RAIN, RAIN.calibrated(), d) == 1.0
    assert [one.gain for one in d.recommendations(RAIN)] == [0.5, 0.5]


def test_a_posterior_within_rounding_of_a_huge_threshold() -> None:
    d = DecisionProblem([[-1.0, 1.0], [-1e15, 1.5]])  # the threshold is 1 − 5e-16, half-way between two floats
    q = Predictor([0.5], [1.0], [1 - 2.0**-51])
    gain, _ = step(exact(d.payoff), 0, 1, *masses(q))
    assert 0.05 < gain < 0.06
    assert d.swap_regret(q) == d.action_regret(q) == pytest.approx(float(gain), rel=1e-14)


# --- against rational arithmetic


@costly(60)
@given(problems, predictors(max_values=4))
def test_swap_and_action_regret_in_rational_arithmetic(d: DecisionProblem, q: Predictor) -> None:
    table, swaps = exact(d.payoff), d.swaps(q)
    for i in range(len(q)):
        zero, one = masses(q, slice(i, i + 1))
        tied = {
            int(d.responses[j])
            for j in range(len(d.responses))
            if (j == 0 or d.thresholds[j - 1] <= q.p[i]) and (j == len(d.thresholds) or q.p[i] <= d.thresholds[j])
        }
        assert swaps.taken[i] in tied
        for taken in tied:
            for other in range(len(table)):
                gain, size = step(table, taken, other, zero, one)
                _, between = step(table, int(swaps.better[i]), other, zero, one)
                assert swaps.gain[i] >= float(gain) - 16 * EPS * (size + between)
        gain, size = step(table, int(swaps.taken[i]), int(swaps.better[i]), zero, one)
        assert swaps.gain[i] == pytest.approx(float(gain), rel=0, abs=4 * EPS * size)
    place = 0
    for a in d.responses:  # ranges of recommendations, ties to the lower action
        one_action = d.recommendations(q, ties="lower")[a]
        end = place
        while end < len(q) and d.best_response(q.p[end]) == a:
            end += 1
        zero, one = masses(q, slice(place, end))
        for other in range(len(table)):
            gain, size = step(table, int(a), other, zero, one)
            _, between = step(table, d.actions.index(one_action.better), other, zero, one)
            assert one_action.gain >= float(gain) - 32 * EPS * (size + between)
        gain, size = step(table, int(a), d.actions.index(one_action.better), zero, one)
        assert one_action.gain == pytest.approx(float(gain), rel=0, abs=16 * EPS * size)
        place = end
    assert place == len(q)


@costly(60)
@given(problems, predictors(max_values=4), predictors(max_values=4))
def test_decision_loss_in_rational_arithmetic(d: DecisionProblem, q: Predictor, other: Predictor) -> None:
    for reference in (q, q.calibrated(), q.isotonic(), q.map(lambda p: np.full_like(p, other.p[0]))):
        total, slack = Fraction(0), 0.0
        table = exact(d.payoff[d.responses])
        for j, mu in enumerate(d.thresholds.tolist()):
            found = []
            for side in ("left", "right"):
                ways = []  # above the threshold, or below it with the other sign: the totals are the same
                for sign, above in ((1, True), (-1, False)):
                    lost, size = Fraction(0), 0.0
                    for law, minus in ((reference, 1), (q, -1)):
                        first = int(np.searchsorted(law.p, mu, side=side))
                        part = slice(first, None) if above else slice(0, first)
                        gain, terms = step(table, j, j + 1, *masses(law, part))
                        lost, size = lost + sign * minus * gain, size + terms
                    ways.append((size, lost))
                found.append(min(ways))
            total += max(lost for _, lost in found)
            slack += max(size for size, _ in found)
        assert decision_loss(q, reference, d) == pytest.approx(float(total), rel=0, abs=64 * EPS * slack)


@given(problems, st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.sampled_from([0.5, 4.0]))
def test_soft_response_in_rational_arithmetic(d: DecisionProblem, p: float, rate: float) -> None:
    belief = Fraction(p)
    best = int(d.best_response(p))
    more = [step(exact(d.payoff), best, a, 1 - belief, belief) for a in range(len(d.payoff))]
    highest = max(gain for gain, _ in more)
    odds = np.array([exp(max(-740.0, float(Fraction(rate) * (gain - highest)))) for gain, _ in more])
    # An action that is not hopeless is compared with the best one: how exactly, their difference in payoffs decides.
    slack = 8 * EPS * rate * max(size for (gain, size), odd in zip(more, odds, strict=True) if odd > 1e-300)
    assert soft_response(d, p, rate) == pytest.approx(odds / odds.sum(), abs=8 * EPS + slack)
