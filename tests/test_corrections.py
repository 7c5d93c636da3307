"""What a second reading of theory.md corrected: each refutation and each new certificate in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import trustcal as tc
from tests.exact_laws import HALF, ZERO, Law
from trustcal import guarantees
from trustcal.noise import (
    ClampedGaussian,
    ClampedLaplace,
    ClampedPlateau,
    Noise,
    RandomRounding,
    TruncatedLaplace,
    UniformNoise,
)
from trustcal.paper import additive_cells, cdl_beyond_ece, ceiling_cells, floor_cells, rain

TENTHS = st.integers(1, 24).map(lambda i: Fraction(i, 100))


# --- Corollary 4.2 and Lemma 4.3


@pytest.mark.parametrize("n", [2, 4, 10, 102])
def test_corollary_4_2_erratum_false_with_the_ceiling(n: int) -> None:
    """The mean, over which rows at 1/2 fall below their border, of the regret at the threshold 1/2 with weight 2."""
    rounds, expected = n**3, ZERO
    for zeros, ones in product(range(n // 2 + 1), repeat=2):  # of the rows at 1/2, those that answer 1/2 − 1/n
        chance = Fraction(comb(n // 2, zeros) * comb(n // 2, ones), 2**n)
        below = Fraction(ones - zeros, 2)  # Σ (y − 1/2) of rows that answer 1/2 − 1/n
        at = Fraction(rounds - n, n) - below  # of rows that answer 1/2
        expected += chance * 2 * (max(ZERO, below) + max(ZERO, at)) / rounds
    found = ceiling_cells(n)
    assert found.less == float(expected)
    assert (expected > Fraction(2, n)) == (n >= 102)
    assert found.more == 2 / n


@pytest.mark.parametrize("n", [2, 4, 10, 402, 404])
def test_corollary_4_2_erratum_false_for_additive_noise(n: int) -> None:
    """The rows are calibrated and lie in their cells; the mean regret is that of the rows as they are counted."""
    others = n**3 - n
    ones = (HALF + Fraction(1, n)) * others - 1
    q = HALF + Fraction(1, n) - Fraction(1, others)
    assert ones.denominator == 1  # a whole number
    assert ones == q * others  # of frequency q: eps = 0
    assert HALF <= q < HALF + Fraction(1, n)  # on the cell that announces 1/2, 1/others from its end
    expected = ZERO
    for surplus in range(-n // 2, n // 2 + 1):  # of ones over zeros among the rows at 1/2 that answer 1/2 − 1/n
        chance = Fraction(comb(n, n // 2 + surplus), 2**n)  # Vandermonde
        below = Fraction(surplus, 2)
        expected += chance * 2 * (max(ZERO, below) + max(ZERO, ones - HALF * others - below)) / n**3
    found = additive_cells(n)
    assert found.less == float(expected)
    assert (expected > Fraction(2, n)) == (n >= 404)


def test_corollary_4_2_erratum_with_noise_that_is_not_0() -> None:
    """Clamped Laplace noise of scale s = 1/(100N) is 1/s-private; with probability exp(−99) or less a row leaves.

    A row that leaves changes the regret by at most 2/T, so what is claimed, 2·E|X| ≤ 2s more, is still exceeded.
    """
    n = 420
    others = n**3 - n
    surplus = Fraction((n // 2 + 1) * comb(n, n // 2 + 1), 4 * 2**n)
    scale = Fraction(1, 100 * others)
    assert ClampedLaplace(float(scale)).displacement().value <= float(scale) * (1 + 1e-12)
    leaving = n**3 * Fraction(1, 2**99)  # exp(−99) < 2^−99
    assert Fraction(2, n**3) * (surplus - 2 - leaving) > 2 * scale


def test_lemma_4_3_erratum_its_cdl() -> None:
    """The lemma repeats Corollary 4.2: 24/26 against 2·26^(−1/3), that is 24³·26 against 2³·26³."""
    law = floor_cells().predictor.on_grid(2)
    assert tc.cdl(law) == pytest.approx(24 / 26, abs=1e-15)
    assert Fraction(24, 26) ** 3 * 26 > 8


def test_ceiling_cells_need_a_border_at_one_half() -> None:
    with pytest.raises(ValueError, match="number of cells must be even"):
        ceiling_cells(3)


# --- Theorem 21


def test_theorem_21_no_single_world_is_bad_for_all_three() -> None:
    """60 % of the first half say a little more than 1/2, 40 % say 1/2 − h; the second half is answered rightly."""
    h, tiny = Fraction(1, 10), Fraction(1, 10**6)
    unit, found = h / 2, []
    for c in (HALF + h, HALF - h):
        shares = ((HALF + tiny, Fraction(3, 10)), (HALF - h, Fraction(2, 10)), (c, HALF))
        merged: dict[Fraction, Fraction] = {}
        for p, mass in shares:
            merged[p] = merged.get(p, ZERO) + mass
        law = Law.of(*((p, mass, c) for p, mass in merged.items()))
        found.append((law.ece / unit, 2 * law.swap(HALF) / unit))
    (ece_up, swap_up), (ece_down, swap_down) = found
    assert (swap_up, swap_down) == (Fraction(8, 10), Fraction(12, 10))
    assert ece_up > 1 > ece_down
    assert abs(ece_up - Fraction(14, 10)) < 10**-4 > abs(ece_down - Fraction(6, 10))


# --- Theorems 20 and 21: the distance is exactly ε


def worth(rows: dict[tuple[Fraction, int], tuple[Fraction, Fraction]], b: Fraction) -> Fraction:
    """(1 − b)·r_0(b) + b·r_1(b), r_y(b) the largest r(p, y) − |b − p|; rows (p, y) have a mass and r."""
    best = [max(r - abs(b - p) for (p, y), (_, r) in rows.items() if y == outcome) for outcome in (0, 1)]
    return (1 - b) * best[0] + b * best[1]


@given(TENTHS, st.integers(0, 240))
def test_theorem_20_the_distance_is_exactly_eps(h: Fraction, place: int) -> None:
    wrong = -h * (1 - 2 * h) / (1 + 2 * h)
    quarter = Fraction(1, 4)
    rows = {
        (HALF - h, 1): (quarter, h),
        (HALF - h, 0): (quarter, wrong),
        (HALF + h, 0): (quarter, h),
        (HALF + h, 1): (quarter, wrong),
    }
    assert worth(rows, Fraction(place, 240)) <= 0
    assert sum((mass * r for mass, r in rows.values()), ZERO) == 2 * h**2 / (1 + 2 * h)


@given(TENTHS, st.integers(0, 240))
def test_theorem_21_the_distance_is_exactly_eps(h: Fraction, place: int) -> None:
    first, second = 4 * h * (1 + h) / (1 + 2 * h) ** 2, -4 * h**2 / (1 + 2 * h) ** 2  # s at 1/2 and at 1/2 + 2h
    one = (HALF + h) / 2
    rows = {
        (HALF, 1): (one, first / 2),
        (HALF, 0): (HALF - one, -first / 2),
        (HALF + 2 * h, 1): (one, (HALF - 2 * h) * second),
        (HALF + 2 * h, 0): (HALF - one, -(HALF + 2 * h) * second),
    }
    assert worth(rows, Fraction(place, 240)) <= 0
    middle = (1 + 4 * h) / (2 * (1 + 2 * h))
    assert worth(rows, middle) == 0
    assert sum((mass * r for mass, r in rows.values()), ZERO) == 2 * h**2 / (1 + 2 * h)


# --- Corollary 3.6 and Theorem B.1: the best mechanism on a grid, by linear programming


def least_error(worlds: list[list[tuple[int, float]]], laws: int, grid: np.ndarray, measure: str) -> float:
    """The least that the larger error of several worlds can be.

    Each world is a list of halves: which of the laws of outputs on the grid answers it, and its frequency of ones.
    """
    n = len(grid)
    sums, slopes = laws * n, laws * n + len(worlds) * n  # where the unknowns |bias at v| and slopes begin
    size = slopes + len(worlds) + 1  # the last is the error
    above, below, equal = [], [], np.zeros((laws, size))
    for law in range(laws):
        equal[law, law * n : (law + 1) * n] = 1
    for k, halves in enumerate(worlds):
        if measure == "ece":
            total = np.zeros(size)
            total[sums + k * n : sums + (k + 1) * n], total[-1] = 1, -1
            above.append(total)
            below.append(0.0)
            for v, sign in product(range(n), (1, -1)):
                row = np.zeros(size)
                for law, frequency in halves:
                    row[law * n + v] += sign * (grid[v] - frequency) / len(halves)
                row[sums + k * n + v] = -1
                above.append(row)
                below.append(0.0)
        else:  # the profile at each μ is at most error/2 + slope·(μ − 1/2); all halves of a world have one frequency
            frequency = halves[0][1]
            for mu in grid:
                row = np.zeros(size)
                for law, _ in halves:
                    wrong = grid <= mu if frequency > mu else grid >= mu
                    row[law * n : (law + 1) * n] += np.where(wrong, abs(frequency - mu), 0.0) / len(halves)
                row[-1], row[slopes + k] = -0.5, 0.5 - mu
                above.append(row)
                below.append(0.0)
    cost = np.zeros(size)
    cost[-1] = 1
    bounds = [(0, None)] * slopes + [(None, None)] * len(worlds) + [(0, None)]
    found = linprog(cost, A_ub=np.array(above), b_ub=below, A_eq=equal, b_eq=np.ones(laws), bounds=bounds)
    return float(found.fun)


@pytest.mark.parametrize("h", [0.05, 0.2])
def test_corollary_3_6_the_best_map_of_single_predictions(h: float) -> None:
    """Laws of outputs for 1/2, 1/2 + 2h and 1/2 − 2h: none has a smaller error in both worlds."""
    grid = np.unique(np.concatenate([np.linspace(0, 1, 41), 0.5 + np.linspace(-h, h, 41)]))
    worlds = [[(0, 0.5 + h), (1, 0.5 + h)], [(0, 0.5 - h), (2, 0.5 - h)]]
    eps = 2 * h * h / (1 + 2 * h)
    ece, cdl = (least_error(worlds, 3, grid, measure) for measure in ("ece", "cdl"))
    assert ece == pytest.approx(guarantees.lower_online_ece(eps).value, abs=1e-9)
    bound = guarantees.lower_online_cdl(eps).value
    assert bound - 1e-9 <= cdl <= 1.1 * bound  # the best strategy has a density, the grid has steps of h/20


@pytest.mark.parametrize("eps", [0.01, 0.0625])
def test_theorem_b_1_the_best_strategy_against_the_papers_pair(eps: float) -> None:
    """One law for the shared half and one for each second half, whose outputs may coincide with those of the first."""
    s = np.sqrt(eps)
    first, second, other = 0.5 - s / 2 + eps, 0.5 + s / 2 - eps, 0.5 - s - eps
    grid = np.unique(np.concatenate([np.linspace(0, 1, 101), [first, second, other, (first + other) / 2]]))
    least = least_error([[(0, first), (1, second)], [(0, other), (2, other)]], 3, grid, "ece")
    assert least == pytest.approx(guarantees.lower_online_ece_paper(eps).value, abs=1e-9)


# --- Theorem 43, and rates


@pytest.mark.parametrize(
    "noise",
    [UniformNoise(0.02), ClampedLaplace(0.01), ClampedGaussian(0.01), ClampedPlateau(0.01), RandomRounding(40)],
    ids=str,
)
def test_theorem_43_displacement_and_slope(noise: Noise) -> None:
    """The mean displacement over predictions is at least 1/(4L); uniform noise attains it."""
    q = np.linspace(0.3, 0.7, 4001)
    mean = float(noise.mean_displacement(q).mean())
    assert 4 * noise.proved_tv_slope() * mean >= 1 - 1e-3
    if isinstance(noise, UniformNoise):
        assert 4 * noise.proved_tv_slope() * mean == pytest.approx(1, abs=1e-9)


def test_introduction_the_rate_of_smooth_ece_is_exact() -> None:
    for eps in (1e-2, 1e-3, 1e-4):
        assert tc.smece(rain(eps).predictor) >= 0.6 * guarantees.smece_dtc(eps).value


def test_introduction_not_every_predictor_at_a_distance_is_hard() -> None:
    """Always off by ε: left alone it has ECE = DTC = ε, far below the Ω(√ε) of the hard sequences."""
    law = cdl_beyond_ece(1e-4).predictor
    assert tc.ece(law) == pytest.approx(tc.dtc(law), abs=1e-11)
    assert tc.ece(law) < guarantees.lower_online_ece(1e-4).value / 30


def test_lemma_4_3_without_a_logarithm() -> None:
    """T^(1/4)·ECE stays bounded with Gaussian noise of standard deviation √ε."""
    rates = []
    for horizon in (10**6, 10**9, 10**12):
        eps = 2 / np.sqrt(horizon)
        rates.append(
            guarantees.online_ece(tc.TruncatedGaussian.paper_improved(eps), eps, horizon).value * horizon**0.25
        )
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("eps", [1e-6, 0.01, 0.125])
def test_theorem_14_is_attained_where_there_is_room(eps: float) -> None:
    """q = b + ε must be a probability: w/2 + ε ≤ 1/2, which holds up to ε = 1/8 for the width of Theorem 17."""
    assert UniformNoise.for_distance(eps).width / 2 + eps <= 0.5
    assert tc.paper.uniform_attained(eps).predictor.p.max() <= 1


@given(st.floats(1e-3, 10), st.floats(0, 1), st.floats(0, 1))
def test_theorem_19_truncated_laplace_beyond_its_prediction(scale: float, b: float, x: float) -> None:
    """Pr[M(b) > b + x] ≤ Pr[M(0) > x] ≤ exp(−x/s), so that K ≤ 2s/e, less than 2·E|X| for small scales."""
    noise = TruncatedLaplace(scale)
    beyond, from_zero = (1 - float(noise.cdf(min(1.0, q + x), q)) for q in (b, 0.0))
    assert beyond <= from_zero + 1e-12 <= np.exp(-x / scale) + 2e-12
    assert noise.decision_displacement() <= noise.proved_decision_displacement() * (1 + 1e-9)
    assert noise.proved_decision_displacement() <= 2 * noise.displacement().value
