"""The smooth calibration error: exact values, certificates, linear programming, and what may move it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trustcal as tc
from tests.degenerate import degenerate_predictor
from tests.oracles import rounding, smcal_by_linear_programming
from tests.reference import FINITE_PREDICTORS, law
from tests.strategies import predictors
from trustcal import Predictor
from trustcal.kernels.isotonic import smooth_error, smooth_error_value
from trustcal.measures.continuous import SmcalWitness


def check_certificates(q: Predictor, witness: SmcalWitness) -> None:
    """Both sides of the witness, re-computed in exact rational arithmetic from what it shows."""
    p = [Fraction(value) for value in q.p.tolist()]
    mass, positive = ([Fraction(value) for value in array.tolist()] for array in (q.mass, q.positive))
    bias = [x * m - one for x, m, one in zip(p, mass, positive, strict=True)]
    sigma = [Fraction(value) for value in witness.sigma.tolist()]
    slack = Fraction(1, 2**52)
    assert all(abs(value) <= 1 for value in sigma)
    assert all(abs(sigma[i] - sigma[j]) <= abs(p[i] - p[j]) + 4 * slack for i in range(len(p)) for j in range(i))
    assert abs(sum(c * s for c, s in zip(bias, sigma, strict=True)) - Fraction(witness.lower)) <= 4 * slack
    fit = [Fraction(0), *(Fraction(value) for value in witness.fit.tolist()), sum(bias, Fraction(0))]
    variation = sum((abs(after - before) for before, after in pairwise(fit)), Fraction(0))
    cost, cumulative = Fraction(0), Fraction(0)
    for i in range(len(p) - 1):
        cumulative += bias[i]
        cost += (p[i + 1] - p[i]) * abs(cumulative - fit[i + 1])
    assert abs(variation + cost - Fraction(witness.upper)) <= 4 * slack


@pytest.mark.parametrize("case", FINITE_PREDICTORS, ids=lambda case: case["name"])
def test_reference_values(case: dict[str, Any]) -> None:
    witness = tc.smcal_witness(law(case["atoms"]))
    assert witness.value == pytest.approx(float(Fraction(case["smcal"])), abs=1e-15)
    assert witness.lower == pytest.approx(float(Fraction(case["smcal"])), abs=1e-15)


@pytest.mark.parametrize(
    ("q", "value", "sigma"),
    [
        (Predictor([0.3], [1], [0.3]), 0, None),
        (Predictor([0.75], [1], [0.25]), 0.5, [1]),  # one value: plain bias
        (Predictor([0.25], [1], [0.75]), 0.5, [-1]),
        (Predictor([0, 1], [0.5, 0.5], [0.5, 0]), 0.5, None),
        (Predictor([0.25, 0.5], [0.5, 0.5], [0.0, 0.0]), 0.375, [1, 1]),  # bias of one sign: its mean
    ],
)
def test_exact_values(q: Predictor, value: float, sigma: list[float] | None) -> None:
    witness = tc.smcal_witness(q)
    assert (witness.lower, witness.upper) == pytest.approx((value, value), abs=1e-16)
    if sigma is not None:
        assert witness.sigma.tolist() == sigma


@given(predictors(max_values=20))
def test_certificates_hold_exactly_and_agree(q: Predictor) -> None:
    witness = tc.smcal_witness(q)
    check_certificates(q, witness)
    assert abs(witness.upper - witness.lower) <= 1e-14


def test_against_linear_programming_on_500_predictors() -> None:
    rng = np.random.default_rng(4)
    for index in range(500):
        q = degenerate_predictor(rng, int(rng.integers(1, 15)))
        assert tc.smcal(q) == pytest.approx(smcal_by_linear_programming(q), abs=1e-9), index


@given(predictors(max_values=12))
def test_between_mean_bias_and_ece(q: Predictor) -> None:
    slack = rounding(len(q))
    assert abs((q.bias).sum()) - slack <= tc.smcal(q) <= tc.ece(q) + slack


@given(predictors(max_values=12))
def test_mirror_image(q: Predictor) -> None:
    if ((1 - (1 - q.p)) == q.p).all():
        mirror = Predictor((1 - q.p)[::-1], q.mass[::-1], (q.mass - q.positive)[::-1])
        assert tc.smcal(mirror) == pytest.approx(tc.smcal(q), abs=rounding(len(q)))


@given(predictors(max_values=12), st.integers(1, 50), st.sampled_from(["left", "middle"]))
def test_rounding_moves_it_by_at_most_twice_the_movement(q: Predictor, cells: int, end: Any) -> None:
    coarse = q.on_grid(cells, end)
    assert coarse.moved <= 1 / cells + rounding(len(q))
    assert abs(tc.smcal(coarse) - tc.smcal(q)) <= 2 * coarse.moved + 1e-14


@given(predictors(max_values=12), st.integers(1, 5))
def test_movement_adds_up(q: Predictor, cells: int) -> None:
    assert q.moved == 0
    grid = q.on_grid(7)
    assert grid.coarsen(cells).moved >= grid.moved
    assert q.calibrated().moved == pytest.approx(tc.ece(q), abs=rounding(len(q)))
    assert q.map(lambda p: p).moved == 0
    assert q.coarsen(1).moved == pytest.approx(np.abs(q.p - q.p @ q.mass / q.mass.sum()) @ q.mass, abs=1e-14)


@given(predictors(max_values=20))
def test_compiled_code_gives_the_same_bits(q: Predictor) -> None:
    bias = q.bias
    source = smooth_error(q.p, bias)
    for version in (smooth_error.function, smooth_error.compiled):
        found = version(q.p, bias)
        assert found[:2] == source[:2]
        for one, other in zip(found[2:], source[2:], strict=True):
            assert one.tolist() == other.tolist()


@given(predictors(max_values=20))
def test_the_value_alone_is_that_of_the_upper_certificate(q: Predictor) -> None:
    for version in (smooth_error_value.source, smooth_error_value.function, smooth_error_value.compiled):
        assert version(q.p, q.bias) == tc.smcal_witness(q).value
    assert tc.smcal(q) == tc.smcal_witness(q).value


def test_degenerate_predictors_of_all_sizes() -> None:
    rng = np.random.default_rng(5)
    for index in range(1000):
        q = degenerate_predictor(rng, int(10 ** rng.uniform(0, 3)))
        lower, upper, sigma, _ = smooth_error.compiled(q.p, q.bias)
        assert abs(upper - lower) <= 1e-14, index
        assert (np.abs(sigma) <= 1).all()
        # The Lipschitz condition over all pairs, by running extremes.
        assert (sigma - q.p <= np.minimum.accumulate(sigma - q.p) + 1e-15).all()
        assert (sigma + q.p >= np.maximum.accumulate(sigma + q.p) - 1e-15).all()


@pytest.mark.parametrize("n", [10**5, 10**6])
def test_equal_gaps_and_masses_do_not_drift(n: int) -> None:
    p = np.arange(n) / n
    witness = tc.smcal_witness(Predictor.from_samples(p < 0.5, p))
    assert abs(witness.upper - witness.lower) <= 1e-14
    assert (witness.sigma - p <= np.minimum.accumulate(witness.sigma - p) + 1e-15).all()


def test_a_million_values() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(10**6)
    witness = tc.smcal_witness(Predictor.from_samples(rng.random(10**6) < p**2, p))
    assert witness.upper - witness.lower == pytest.approx(0, abs=1e-14)
    assert witness.value == pytest.approx(1 / 6, abs=2e-3)  # bias of one sign: E[p − p²]


# --- the subsampled smooth calibration error


def test_ssce_against_all_subsets() -> None:
    y, p = np.array([0, 1, 1, 0, 1, 0]), np.array([0.2, 0.2, 0.5, 0.5, 0.5, 0.9])
    q = Predictor.from_samples(y, p)
    exact = 0.0
    for kept in product([0, 1], repeat=6):
        rows = np.array(kept) / 6
        bias = np.array([(rows * (p - y))[p == value].sum() for value in q.p])
        exact += smooth_error(q.p, bias)[1] / 64
    found = tc.ssce_estimate(q, samples=400, rng=1)
    assert found.samples == 400
    assert abs(found.value - exact) <= 4 * found.standard_error
    assert found == tc.ssce_estimate(q, samples=400, rng=1)
    drawn = [tc.ssce_estimate(q, samples=400, rng=np.random.default_rng(1)) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert found.value == tc.ssce(y, p, samples=400, rng=1) == tc.ssce(q, samples=400, rng=1)
    assert found != tc.ssce_estimate(q, samples=400, rng=2)


def test_ssce_is_at_least_half_of_smcal() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        p = rng.random(50).round(1)
        q = Predictor.from_samples(rng.random(50) < rng.random(), p)
        found = tc.ssce_estimate(q, samples=100, rng=rng)
        assert found.value >= tc.smcal(q) / 2 - 4 * found.standard_error


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (Predictor([0.5], [1], [0.5]), "known law"),
        (Predictor.from_samples([0, 1, 1], [0.1, 0.2, 0.3], [1, 2, 1]), "different weights"),
        (Predictor.from_samples([1, 1], [0.3, 0.3], [0.5, 1.5]), "different weights"),
    ],
)
def test_ssce_needs_rows_that_count_alike(q: Predictor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tc.ssce(q, rng=0)


def test_ssce_needs_two_samples() -> None:
    with pytest.raises(ValueError, match="2 or more"):
        tc.ssce([0, 1], [0.2, 0.4], samples=1, rng=0)
