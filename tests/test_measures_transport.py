"""The distance to calibration: reference values, the paper's linear programs, and its own certificates."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import trustcal as tc
from tests.degenerate import degenerate_predictor
from tests.oracles import dtc_by_linear_programming, dtc_dual_by_linear_programming
from tests.reference import FINITE_PREDICTORS, law
from tests.strategies import predictors
from trustcal import Predictor
from trustcal.kernels import certificates, curve, kernel
from trustcal.measures.transport import DtcWitness


def checked(q: Predictor, width: float = 1e-9) -> DtcWitness:
    """The witness, after every check it can pass."""
    witness = tc.dtc_witness(q)
    assert 0 <= witness.lower <= witness.upper <= witness.lower + width
    witness.verify()
    if len(q) <= 300:
        witness.verify(exact=True)
    return witness


# --- exact values


@pytest.mark.parametrize("case", FINITE_PREDICTORS, ids=lambda case: case["name"])
def test_reference_values(case: dict[str, Any]) -> None:
    witness = checked(law(case["atoms"]), 1e-14)
    assert float(case["dtc_lower"]) - 1e-12 <= witness.upper
    assert witness.lower <= float(case["dtc_upper"]) + 1e-12
    if "dtc_exact" in case:
        assert witness.upper == pytest.approx(float(Fraction(case["dtc_exact"])), abs=1e-14)


def test_known_values() -> None:
    assert tc.dtc(Predictor([0.3], [1.0], [0.5])) == pytest.approx(0.2, abs=1e-15)
    assert tc.dtc(Predictor([0.25, 0.75], [0.5, 0.5], [0.125, 0.375])) == 0
    assert tc.dtc(Predictor([0.0, 1.0], [0.5, 0.5], [0.5, 0.0])) == 0.5
    one_sign = Predictor([0.1, 0.4, 0.8], [0.3, 0.4, 0.3], [0.2, 0.3, 0.3])
    assert tc.dtc(one_sign) == pytest.approx(0.8 - 0.43, abs=1e-15)  # |E(p − y)|
    assert tc.dtc([0, 1, 1], [0.5, 0.5, 1.0], [1, 1, 5]) == 0


EPS = 2.0**-52


@pytest.mark.parametrize(
    ("p", "w0", "w1"),
    [
        ([0.3], [0.5], [0.5]),
        ([0.25], [0.75], [0.25]),
        ([0.0], [0.0], [1.0]),
        ([0.0], [1.0], [0.0]),
        ([1.0], [0.5], [0.5]),
        ([0.0, 1.0], [0.0, 0.5], [0.5, 0.0]),
        ([0.0, 1.0], [0.5, 0.0], [0.0, 0.5]),
        ([0.0, 1e-12, 1 - 1e-12, 1.0], [0.1, 0.2, 0.1, 0.1], [0.1, 0.1, 0.2, 0.1]),
        ([5e-324, 1e-300, 1e-16, 0.5], [0.1, 0.2, 0.1, 0.1], [0.1, 0.1, 0.2, 0.1]),
        ([0.5 - EPS / 2, 0.5, 0.5 + EPS], [0.0, 0.2, 0.3], [0.3, 0.2, 0.0]),
        ([0.3, 0.3 + 1e-15, 0.3 + 2e-15, 0.7], [0.0, 0.4, 0.0, 0.1], [0.2, 0.0, 0.2, 0.1]),
        ([0.25, 0.375, 0.5, 0.625, 0.75], [0.0, 0.2, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.2, 0.0]),
        ([0.1, 0.9], [0.25, 0.25], [0.25, 0.25]),
        ([0.1, 0.4, 0.8], [0.1, 0.1, 0.0], [0.2, 0.3, 0.3]),
        ([0.1, 0.4, 0.8], [1.0, 1e-15, 1e-300], [1e-15, 1e-12, 0.0]),
        ([0.0, 0.5, 1.0], [2.0, 3.0, 1.0], [2.0, 1.0, 3.0]),  # a flow that is 0, but not in floating point
    ],
)
def test_degenerate(p: list[float], w0: list[float], w1: list[float]) -> None:
    zeros, ones = np.array(w0), np.array(w1)
    checked(Predictor(p, (zeros + ones) / (zeros + ones).sum(), ones / (zeros + ones).sum()), 1e-12)


# --- the paper's linear programs


@pytest.mark.slow
def test_against_linear_programming_on_500_predictors() -> None:
    rng = np.random.default_rng(6)
    for index in range(500):
        q = degenerate_predictor(rng, int(rng.integers(1, 7)))
        witness = checked(q, 1e-12)
        # The nearest predictor's own values make the program exact; the grid makes sure that nothing was missed.
        b = np.unique(np.concatenate([q.p, [0, 1], witness.nearest.p, np.linspace(0, 1, 31)]))
        assert dtc_by_linear_programming(q, b) == pytest.approx(witness.upper, abs=2e-9), index
        if index < 100:
            assert dtc_dual_by_linear_programming(q, b) == pytest.approx(witness.upper, abs=2e-9), index


# --- properties


@given(predictors(max_values=12))
def test_certificates_hold_exactly(q: Predictor) -> None:
    checked(q)


@given(st.integers(0, 2**32))
def test_certificates_hold_exactly_on_degenerate_predictors(seed: int) -> None:
    checked(degenerate_predictor(np.random.default_rng(seed), 40))


@given(predictors(max_values=12))
def test_the_coupling_is_the_witness(q: Predictor) -> None:
    witness = tc.dtc_witness(q)
    rows = witness.coupling
    assert np.abs(rows.p - rows.b) @ rows.mass == pytest.approx(witness.upper, abs=1e-14)
    assert tc.distance(rows.p, rows.b, rows.mass) == pytest.approx(witness.upper, abs=1e-9)
    nearest = Predictor.from_samples(rows.y, rows.b, rows.mass)
    assert tc.ece(nearest) <= 1e-12
    assert tc.ece(witness.nearest) <= 1e-15


@given(predictors(max_values=12))
def test_between_mean_bias_and_ece(q: Predictor) -> None:
    bias = abs((q.bias).sum())
    assert bias - 1e-14 <= tc.dtc(q) <= tc.ece(q) + 1e-14


@given(predictors(max_values=12), st.integers(1, 50), st.sampled_from(["left", "middle"]))
def test_rounding_moves_it_by_at_most_the_movement(q: Predictor, cells: int, end: Any) -> None:
    coarse = q.on_grid(cells, end)
    assert abs(tc.dtc(coarse) - tc.dtc(q)) <= tc.rounding_effect(coarse).dtc + 1e-9


@given(predictors(max_values=12), st.integers(1, 50), st.sampled_from(["left", "middle"]))
def test_theorem_12_the_smooth_calibration_error(q: Predictor, cells: int, end: Any) -> None:
    coarse = q.on_grid(cells, end)
    assert tc.rounding_effect(coarse).smcal == pytest.approx(2 * coarse.moved)
    assert abs(tc.smcal(coarse) - tc.smcal(q)) <= 2 * coarse.moved + 1e-12


@given(predictors(max_values=12))
def test_mirror_image(q: Predictor) -> None:
    if ((1 - (1 - q.p)) == q.p).all():
        mirror = Predictor((1 - q.p)[::-1], q.mass[::-1], (q.mass - q.positive)[::-1])
        assert tc.dtc(mirror) == pytest.approx(tc.dtc(q), abs=1e-12)


def test_small_laws_full_of_ties() -> None:
    """Predictions in mirror pairs and small whole masses: flows and shortfalls that are exactly 0."""
    rng = np.random.default_rng(8)
    for _ in range(1000):
        half = rng.choice(np.arange(9) / 16, size=rng.integers(1, 4), replace=False)
        p = np.unique(np.concatenate([half, 1 - half]))
        counts = rng.integers(0, 4, (2, len(p))) + (rng.random((2, len(p))) < 0.2)
        if counts.sum():
            checked(Predictor(p, counts.sum(axis=0) / counts.sum(), counts[1] / counts.sum()), 1e-12)


# --- certificates


def test_a_false_certificate_is_refused() -> None:
    witness = tc.dtc_witness(Predictor([0.5], [1.0], [1.0]))
    assert witness.lower == witness.upper == 0.5
    for lower, upper in ((0.75, 1.0), (0.0, 0.25)):
        for exact in (False, True):
            with pytest.raises(ArithmeticError, match="not proved"):
                replace(witness, lower=lower, upper=upper).verify(exact)


def test_zero_and_one_must_be_nodes() -> None:
    # Without them r0 = −1, r1 = 1 at 1/2 would pass every other check, and prove 1 where the distance is 1/2.
    z, w0, w1 = np.array([0.0, 0.5, 1.0]), np.zeros(3), np.array([0.0, 1.0, 0.0])
    assert certificates.lower_certificate(z, w0, w1, np.full(3, -1.0), np.full(3, 1.0)) <= 0.5


@given(st.integers(0, 2**32))
def test_any_guess_is_certified_on_its_side_of_the_truth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = degenerate_predictor(rng, 12)
    witness = tc.dtc_witness(q)
    z = np.union1d(q.p, [0.0, 1.0])
    w0, w1 = np.zeros(len(z)), np.zeros(len(z))
    at = np.searchsorted(z, q.p)
    w0[at], w1[at] = q.mass - q.positive, q.positive
    r0, r1 = rng.uniform(-1, 1, (2, len(z))) * rng.choice([1e-6, 0.1, 2.0])
    assert certificates.lower_certificate(z, w0, w1, r0, r1) <= witness.upper
    assert certificates.upper_certificate(z, w0, w1, rng.exponential(size=len(z))) >= witness.lower


def test_compiled_code_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = (lambda kernel, _: kernel.source, lambda kernel, _: kernel.function, lambda kernel, _: kernel.compiled)
    for seed in range(40):
        q = degenerate_predictor(np.random.default_rng(seed), 60)
        z = np.union1d(q.p, [0.0, 1.0])
        w0, w1 = np.zeros(len(z)), np.zeros(len(z))
        at = np.searchsorted(z, q.p)
        w0[at], w1[at] = q.mass - q.positive, q.positive
        results = []
        for version in versions:
            monkeypatch.setattr(kernel, "on", version)
            found = curve.guess(z, w0, w1, True)
            low = certificates.lower_certificate.on(1)(z, w0, w1, found.r0.copy(), found.r1.copy())
            up = certificates.upper_certificate.on(1)(z, w0, w1, found.law.copy())
            results.append((*(array.tobytes() for array in found[:3]), *found[3:], low, up))
        assert results[0] == results[1] == results[2], seed


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1)), min_size=1, max_size=12, unique_by=lambda pair: pair[0]))
@example([(0.5, -0.9999999999999999), (0.5891271876145757, 0.7)])  # off by 2 units of 2^-53
def test_the_slope_excess_is_the_worst_over_all_pairs(pairs: list[tuple[float, float]]) -> None:
    """Each r ± z lies in [−2, 2] and is rounded once, by at most 2^-53, and so is the difference of two of them."""
    z, r = np.array(sorted(pairs)).T
    exactly = [(Fraction(node), Fraction(value)) for node, value in zip(z, r, strict=True)]
    worst = max(abs(r1 - r2) - abs(z1 - z2) for z1, r1 in exactly for z2, r2 in exactly)
    for version in (certificates.slope_excess, certificates.slope_excess.function, certificates.slope_excess.compiled):
        assert abs(Fraction(version(z, r)) - worst) <= Fraction(3, 2**53)


@pytest.mark.slow
def test_a_million_values() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(10**6)
    witness = tc.dtc_witness(Predictor.from_samples(rng.random(10**6) < p, p))
    assert witness.upper - witness.lower <= 1e-11
    witness.verify()
    assert witness.coupling.mass.sum() == pytest.approx(1)


def test_wide_intervals_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    def poor(*arguments: Any) -> curve.Guess:
        found = curve.guess(*arguments)
        return found._replace(r0=found.r0 * 0, r1=found.r1 * 0)

    monkeypatch.setattr("trustcal.measures.transport.guess", poor)
    with pytest.warns(UserWarning, match="only known to lie in"):
        witness = tc.dtc_witness(Predictor([0.5], [1.0], [1.0]))
    assert witness.lower == 0
    assert witness.upper == 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        witness.verify(exact=True)


def test_a_distance_is_at_most_1() -> None:
    """0.2 + 0.8 is a little more than 1, but nobody is further than 1 from the truth."""
    witness = tc.dtc_witness(Predictor([0.0, 1e-254], [0.2, 0.8], [0.2, 0.8]))
    assert (witness.lower, witness.upper) == (1.0, 1.0)
    witness.verify(exact=True)


def test_a_calibrated_predictor_is_at_no_distance() -> None:
    """However lopsided: the first curve left 3.7e-13 here."""
    p, mass = np.array([5e-324, 0.25]), np.array([1e6, 1.0]) / (1e6 + 1)
    witness = tc.dtc_witness(Predictor(p, mass, p * mass))
    assert (witness.lower, witness.shots) == (0.0, 0)
    assert witness.upper < 1e-22
    witness.verify(exact=True)
