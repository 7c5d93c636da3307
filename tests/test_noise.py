"""Noise: exact tables, fifty-digit oracles, identities by Hypothesis, and the paper's slips."""

from __future__ import annotations

from itertools import pairwise
from math import e, exp, inf, log1p, nan, pi, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import differential_evolution
from scipy.special import lambertw, ndtr

from tests import noise_oracles as oracle
from tests.reference import REFERENCE
from tests.strategies import costly, probabilities
from trustcal.checking import Role, generator
from trustcal.noise import (
    NOISES,
    ClampedGaussian,
    ClampedLaplace,
    ClampedPlateau,
    Displacement,
    Noise,
    RandomRounding,
    Target,
    TruncatedGaussian,
    TruncatedLaplace,
    UniformNoise,
)

ALL_KINDS: list[Any] = list(NOISES.values())
KINDS = [kind for kind in ALL_KINDS if kind is not RandomRounding]
SCALES = [1e-6, 1e-3, 0.05, 0.3, 1.0, 7.0, 1e3, 1e6]
ENDS = [0.0, 1e-300, 1e-12, 1e-6, 0.1, 0.3, 0.5, 0.9, 1 - 1e-12, 1.0]

scales = st.one_of(st.sampled_from(SCALES), st.floats(-6, 6).map(lambda k: 10**k))
noises = st.builds(lambda kind, scale: kind(scale), st.sampled_from(ALL_KINDS), scales)
continuous_noises = st.builds(lambda kind, scale: kind(scale), st.sampled_from(KINDS), scales)
moderate_noises = st.builds(lambda kind, k: kind(10**k), st.sampled_from(ALL_KINDS), st.floats(-2, 2))


def places_around(q: float, scale: float) -> list[float]:
    """Places in [0, 1) at distances from q of all sizes, down to where the density is 1e-300."""
    reach = [k * scale for k in (-600.0, -37.0, -5.0, -1.0, -0.01, 0.0, 0.01, 1.0, 5.0, 37.0, 600.0)]
    candidates = [q + r for r in reach] + [0.0, 1e-12, 0.2, 0.77, 1 - 1e-12]
    return [x for x in candidates if 0 <= x < 1]


# --- the reference tables

LAPLACE: list[dict[str, Any]] = REFERENCE["truncated_laplace"]
GAUSSIAN: list[dict[str, Any]] = REFERENCE["truncated_gaussian"]


def to_the_last_digits(value: float) -> Any:
    return pytest.approx(value, rel=1e-13, abs=1e-15)


def pair(key: str) -> tuple[float, float]:
    first, second = key.split("|")
    return float(first), float(second)


@pytest.mark.parametrize("row", LAPLACE, ids=lambda row: f"lambda={row['lam']}")
def test_truncated_laplace_table(row: dict[str, Any]) -> None:
    noise = TruncatedLaplace(1 / float(row["lam"]))
    assert noise.displacement().value == to_the_last_digits(float(row["EabsX_max_q0"]))
    assert noise.displacement().at == 0
    assert noise.privacy() == to_the_last_digits(float(row["gamma_best"]))
    assert noise.tv_slope() == to_the_last_digits(float(row["tv_slope_max"]))
    assert noise.decision_displacement() == to_the_last_digits(float(row["K"]))
    for q, value in row["EabsX"].items():
        assert noise.mean_displacement(float(q)) == to_the_last_digits(float(value))
    for key, value in row["pdf"].items():
        assert noise.density(*pair(key)) == to_the_last_digits(float(value))
    for key, value in row["cdf"].items():
        assert noise.cdf(*pair(key)) == to_the_last_digits(float(value))
    for key, value in row["tv"].items():
        assert noise.tv(*pair(key)) == to_the_last_digits(float(value))
    for q, value in row["local_tv_slope"].items():
        step = 1e-7
        slope = noise.tv(float(q), float(q) + step) / step
        assert slope == pytest.approx(float(value), abs=1e-4)  # a difference quotient: good to its step


@pytest.mark.parametrize("row", GAUSSIAN, ids=lambda row: f"sigma={row['sigma']}")
def test_truncated_gaussian_table(row: dict[str, Any]) -> None:
    noise = TruncatedGaussian(float(row["sigma"]))
    for q, value in row["EabsX"].items():
        assert noise.mean_displacement(float(q)) == to_the_last_digits(float(value))
    assert noise.displacement().value == to_the_last_digits(float(row["EabsX"]["0"]))
    assert noise.tv_slope() == to_the_last_digits(float(row["tv_slope"]["0.5"]))
    for key, value in row["tv"].items():
        assert noise.tv(*pair(key)) == to_the_last_digits(float(value))
    for q, value in row["mean"].items():
        mean = quad(lambda x, q=float(q): 1 - float(noise.cdf(x, q)), 0, 1, epsabs=1e-13, points=[float(q)])[0]
        assert mean - float(q) == pytest.approx(float(value), abs=1e-12)


@pytest.mark.parametrize("row", REFERENCE["bounds"], ids=lambda row: f"eps={row['eps']}")
def test_guarantees_table(row: dict[str, Any]) -> None:
    eps = float(row["eps"])
    paper = TruncatedLaplace.paper(eps)
    assert exp(-1 / paper.scale) == pytest.approx(float(row["tau_paper"]), rel=1e-12)
    leak = 4 * (1 - exp(-paper.privacy() * eps))
    assert 2 * paper.displacement().value + leak == pytest.approx(float(row["C_paper_at_tau_paper"]), rel=1e-12)
    assert paper.displacement().value + leak == pytest.approx(float(row["ECE_paper_at_tau_paper"]), rel=1e-12)
    exact: list[tuple[Any, Target, str]] = [
        (TruncatedLaplace, "ece", "improved_ECE_laplace_2sqrt"),
        (TruncatedGaussian, "ece", "improved_ECE_gauss"),
        (UniformNoise, "ece", "ECE_uniform"),
        (UniformNoise, "decision_loss", "DL_uniform"),
        (UniformNoise, "cdl", "CDL_uniform"),
    ]
    for kind, target, name in exact:
        assert guarantee(kind.for_distance(eps, target), eps, target) == pytest.approx(float(row[name]), rel=1e-12)
    laplace = guarantee(TruncatedLaplace.for_distance(eps), eps, "decision_loss")
    assert laplace <= float(row["improved_DL_laplace_2sqrtW"])
    assert TruncatedGaussian.paper_improved(eps) == TruncatedGaussian.for_distance(eps, "ece")


def guarantee(noise: Noise, eps: float, target: Target) -> float:
    """The sharpest proved bound for a predictor within eps of calibration."""
    moved = noise.displacement().value if target == "ece" else noise.decision_displacement()
    shift = noise.cdl_shift(eps) if target == "cdl" else (2 if target == "ece" else 1) * noise.tv_slope() * eps
    return moved + shift


# --- fifty digits


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", KINDS)
def test_density_and_cdf_to_1e_14(kind: Any, scale: float) -> None:
    noise = kind(scale)
    for q in ENDS:
        for x in places_around(q, scale):
            exact = oracle.density(noise, x, q)
            if exact > 1e-300 or exact == 0:  # below, doubles have fewer digits
                edge = isinstance(noise, UniformNoise) and abs(abs(x - q) - scale) <= 1e-15
                assert edge or abs(noise.density(x, q) - exact) <= 1e-14 * exact, (x, q)
            assert abs(noise.cdf(x, q) - oracle.cdf(noise, x, q)) <= 1e-14, (x, q)


@pytest.mark.parametrize("cells", [1e-6, 0.4, 1, 2.5, 3, 7, 1e3 / 3, 1e6, 1e6 + 0.1])
def test_rounding_to_1e_14(cells: float) -> None:
    noise = RandomRounding(cells)
    for q in [*ENDS, 0.123456789, 1 / 3, 2 / 3]:
        atoms = noise.atoms(q)
        for x in [*atoms.at.tolist(), 0.0, 0.5, 0.999]:
            if x < 1:
                assert abs(noise.cdf(x, q) - oracle.cdf(noise, x, q)) <= 1e-14, (x, q)
        if q <= np.floor(cells) / cells:
            assert atoms.at @ atoms.mass == pytest.approx(q, rel=1e-14)  # unbiased


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "scale"),
    [(kind, scale) for kind in KINDS for scale in SCALES],
)
def test_mean_displacement_to_1e_14(kind: Any, scale: float) -> None:
    noise = kind(scale)
    for q in (0.0, 1e-12, 0.3, 0.5, 1.0):
        exact = oracle.mean_displacement(noise, q)
        assert abs(noise.mean_displacement(q) - exact) <= 1e-14 * exact + 1e-14 * noise.displacement().value


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", KINDS)
def test_tv_to_1e_14(kind: Any, scale: float) -> None:
    noise = kind(scale)
    for b, q in [(0, 1), (0, 1e-12), (0, scale), (0.3, 0.3 + scale / 2), (0.3, 0.7), (0.5, 0.5 + 1e-9), (0.9, 1)]:
        if q <= 1:
            assert abs(noise.tv(b, q) - oracle.tv(noise, b, q)) <= 1e-14, (b, q)


# --- identities


@given(moderate_noises, probabilities)
def test_densities_and_atoms_make_a_probability(noise: Noise, q: float) -> None:
    scale = 1 / noise.tv_slope()  # the plateau ends at a quarter of it
    steps = (-20, -3, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 3, 20)
    kinks = sorted({min(max(q + k * scale, 0.0), 1.0) for k in steps} | {0.0, 1.0})
    integral = sum(
        quad(lambda x: float(noise.density(x, q)), low, high, epsabs=1e-12, epsrel=1e-12)[0]
        for low, high in pairwise(kinks)
        if high - low > 1e-12
    )
    assert integral + noise.atoms(q).mass.sum() == pytest.approx(1, abs=1e-10)


@given(noises, probabilities)
def test_the_cdf_rises_from_0_to_1_and_jumps_at_the_atoms(noise: Noise, q: float) -> None:
    x = np.linspace(-0.1, 1.1, 201)
    values = noise.cdf(x, q)
    assert (np.diff(values) >= -1e-15).all()
    assert values[0] == 0
    assert values[-1] == noise.cdf(1, q) == 1
    for at, mass in zip(*noise.atoms(q), strict=True):
        jump = noise.cdf(at, q) - noise.cdf(np.nextafter(at, -1), q)
        crowded = float(noise.density(at, q)) * np.spacing(1.0) + 1e-15
        assert jump >= mass - crowded


@given(noises, probabilities, st.floats(0, 1))
def test_quantiles_invert_the_cdf(noise: Noise, q: float, u: float) -> None:
    x = float(noise.quantile(u, q))
    assert 0 <= x <= 1
    # A double in [0, 1] is placed to half a spacing, and the noise's law may be steep, most at q.
    slack = 1e-14 + 2 * float(noise.density(q, q)) * np.spacing(max(x, q))
    assert noise.cdf(x, q) >= u - slack
    before = np.nextafter(x, -1)
    assert before < 0 or noise.cdf(before, q) <= u + slack


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not TruncatedGaussian])
def test_very_small_quantiles_are_far_away(kind: Any) -> None:
    """The chance of less is u, to all its digits, where 1 − u would be 1."""
    noise = kind(0.02)
    for u in (1e-8, 1e-17, 1e-19):
        x = float(noise.quantile(u, 0.95))
        assert 0 < x < 0.95
        below, above = (float(noise.cdf(np.nextafter(x, end), 0.95)) for end in (0, 1))
        assert below * (1 - 1e-9) <= u <= above * (1 + 1e-9)


@given(st.floats(-4, 0.35).map(np.exp), probabilities, st.sampled_from([-0.5, 0.5]))
@example(1.1383720791600727, 0.961736748159922, -0.5)
def test_quantiles_of_truncated_laplace_noise_rise(scale: float, q: float, branch: float) -> None:
    """Where two formulas meet."""
    noise = TruncatedLaplace(scale)
    below, above = np.expm1(-q / scale), np.expm1((q - 1) / scale)
    assume(0 < (u := (branch - below) / -(below + above)) < 1)
    near = u + np.arange(-20, 21) * np.spacing(u)
    assert (np.diff(noise.quantile(near[(near > 0) & (near < 1)], q)) >= 0).all()


@pytest.mark.parametrize("kind", [ClampedLaplace, ClampedPlateau, UniformNoise])
def test_tv_of_neighbours_keeps_its_digits(kind: Any) -> None:
    noise = kind(100.0)
    for gap in (2.0**-52, 2.0**-40, 1e-12):
        apart = (0.5 + gap) - 0.5
        assert noise.tv(0.5, 0.5 + gap) == pytest.approx(noise.tv_slope() * apart, rel=1e-12)


@given(noises, st.lists(probabilities, min_size=1, max_size=5, unique=True), st.integers(1, 3))
def test_the_mass_of_all_bins_is_the_mass_of_all_rows(noise: Noise, values: list[float], bins: int) -> None:
    p = np.sort(values)
    weights = np.stack([np.full(len(p), 1 / len(p)), np.linspace(0, 1, len(p)) / len(p)])
    found = noise.bin_masses(p, weights, np.linspace(0, 1, bins + 1))
    assert found.sum(axis=1) == pytest.approx(weights.sum(axis=1), rel=1e-12, abs=1e-15)


@given(noises, st.lists(probabilities, min_size=1, max_size=20), st.integers(0, 2**32))
def test_samples_are_quantiles_of_uniforms(noise: Noise, q: list[float], seed: int) -> None:
    drawn = noise.sample(q, np.random.default_rng(seed))
    assert drawn.tolist() == noise.quantile(np.random.default_rng(seed).random(len(q)), q).tolist()
    assert noise.sample(q, seed).tolist() == noise.sample(q, generator(seed, Role.NOISE)).tolist()
    random = np.random.default_rng(seed)
    assert drawn.tolist() == [noise.sample(value, random) for value in q]  # one at a time: the same bits


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_many_samples_follow_the_cdf(kind: Any) -> None:
    noise, n = kind(0.3), 200_000
    for q in (0.0, 0.2, 0.5):
        drawn = noise.sample(np.full(n, q), 7)
        for x in (0.0, 0.1, 0.45, 0.8):
            p = float(noise.cdf(x, q))
            assert abs((drawn <= x).mean() - p) <= 5 * sqrt(p * (1 - p) / n)
        mean, spread = float(noise.mean_displacement(q)), np.abs(drawn - q).std()
        assert abs(np.abs(drawn - q).mean() - mean) <= 5 * spread / sqrt(n) + 1e-15


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_blocks_and_shapes_do_not_change_samples(kind: Any) -> None:
    noise, q = kind(0.3), np.random.default_rng(0).random((3, 7_000))
    drawn = noise.sample(q, 5)
    assert drawn.shape == q.shape
    assert drawn.ravel().tolist() == noise.quantile(generator(5, Role.NOISE).random(q.size), q.ravel()).tolist()


@given(noises, probabilities, probabilities, probabilities)
def test_tv_is_a_metric_below_its_slope(noise: Noise, a: float, b: float, c: float) -> None:
    assert noise.tv(a, b) == noise.tv(b, a)
    assert noise.tv(a, a) == 0
    assert 0 <= noise.tv(a, b) <= 1
    assert noise.tv(a, c) <= noise.tv(a, b) + noise.tv(b, c) + 1e-14
    assert noise.tv(a, b) <= noise.tv_slope() * abs(a - b) * (1 + 1e-12) + 1e-14


@given(scales, probabilities, probabilities)
def test_truncation_does_not_raise_the_tv_of_laplace_noise(scale: float, b: float, q: float) -> None:
    """Observed, not proved: conditioning on [0, 1] tells predictions apart no better than the whole line."""
    assert TruncatedLaplace(scale).tv(b, q) <= ClampedLaplace(scale).tv(b, q) + 1e-14


@given(noises, probabilities, probabilities, st.lists(probabilities, min_size=2, max_size=8))
def test_no_set_tells_predictions_apart_better_than_tv(noise: Noise, b: float, q: float, ends: list[float]) -> None:
    edges = np.array(sorted(ends))
    gap = np.diff(noise.cdf(edges, b) - noise.cdf(edges, q))
    assert np.maximum(gap, 0).sum() <= noise.tv(b, q) + 1e-13


@given(moderate_noises)
def test_the_slope_of_tv_is_reached(noise: Noise) -> None:
    middle = 0.5 if not isinstance(noise, RandomRounding) else min(0.5 / noise.cells, 0.5)
    step = 1e-5 * min(1 / noise.tv_slope(), 1)
    assert noise.tv(middle - step, middle + step) >= noise.tv_slope() * 2 * step * (1 - 1e-4) - 1e-15


@given(scales)
def test_the_slope_of_the_truncated_gaussian_is_largest_in_the_middle(scale: float) -> None:
    """Proved is only the bound by 1/(√(2π)σ)."""
    noise = TruncatedGaussian(scale)
    assert noise.tv_slope() <= 1 / (sqrt(2 * pi) * scale) * (1 + 1e-14)
    q = np.linspace(0, 1, 101)
    assume(scale <= 10)  # beyond, differences drown in rounding
    assert (noise.tv(q[:-1], q[1:]) <= noise.tv_slope() * 0.01 + 1e-14).all()


@given(noises)
def test_displacement_dominates_every_prediction(noise: Noise) -> None:
    largest = noise.displacement()
    assert noise.mean_displacement(largest.at) == pytest.approx(largest.value, rel=1e-15)
    q = np.unique(np.concatenate([np.linspace(0, 1, 1001), largest.at + np.linspace(-1, 1, 101) * 1e-3]).clip(0, 1))
    assert (noise.mean_displacement(q) <= largest.value * (1 + 1e-13)).all()


@given(noises)
def test_symmetry(noise: Noise) -> None:
    assume(not isinstance(noise, RandomRounding))
    q, x = np.arange(9) / 8, np.arange(1, 16)[:, None] / 16
    assert noise.density(x, q) == pytest.approx(noise.density(1 - x, 1 - q), rel=1e-14)
    assert noise.mean_displacement(q) == pytest.approx(noise.mean_displacement(1 - q), rel=1e-14)


# --- decision displacement


def worst_decision_displacement(noise: Noise, places: int = 201) -> tuple[float, float]:
    """The largest 2·cav(D_b)(1/2) over a grid of b and chords between thresholds, and the b that has it."""
    mu = np.unique(np.concatenate([np.linspace(0, 1, places), np.geomspace(1e-4, 0.5, 60)]))
    left, right = mu[mu <= 0.5][:, None], mu[mu >= 0.5]
    share = np.divide(0.5 - left, right - left, out=np.zeros((len(left), len(right))), where=right > left)
    best = (-1.0, nan)
    for b in np.unique(np.concatenate([np.linspace(0, 0.5, 41), np.geomspace(1e-4, 0.5, 20)])).tolist():
        below = np.asarray(noise.cdf(np.nextafter(mu, -1), b))  # Pr[M(b) < μ]
        d = np.where(mu < b, (b - mu) * noise.cdf(mu, b), (mu - b) * (1 - below))  # ties count against b
        chord = d[mu <= 0.5][:, None] * (1 - share) + d[mu >= 0.5] * share
        best = max(best, (2 * float(chord.max()), b))
    return best


@pytest.mark.parametrize("scale", [0.01, 0.03, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0, 3.0, 100.0])
@pytest.mark.parametrize("kind", KINDS)
def test_decision_displacement_is_the_worst_over_predictions_and_thresholds(kind: Any, scale: float) -> None:
    noise = kind(scale)
    found, at = worst_decision_displacement(noise)
    assert found <= noise.decision_displacement() * (1 + 1e-12)
    assert found >= noise.decision_displacement() * 0.99
    if isinstance(noise, TruncatedLaplace | TruncatedGaussian):
        assert at == 0  # what truncated.py takes from here


@pytest.mark.parametrize("cells", [0.2, 0.5, 1, 1.5, 2, 3, 4.7, 10])
def test_decision_displacement_of_rounding(cells: float) -> None:
    noise = RandomRounding(cells)
    found, _ = worst_decision_displacement(noise, places=401)
    assert found <= noise.decision_displacement() * (1 + 1e-12)
    if cells >= 1:
        assert noise.displacement() == Displacement(value=0.5 / cells, at=0.5 / cells)


@given(scales)
def test_decision_displacement_on_the_line(scale: float) -> None:
    assert UniformNoise(scale).decision_displacement() <= scale / 4 * (1 + 1e-15)
    assert ClampedLaplace(scale).decision_displacement() <= scale / e * (1 + 1e-15)
    # Eight roundings at most: √2, its product, the quotient, two in erfc, two products and the constant.
    assert ClampedGaussian(scale).decision_displacement() <= 0.3399424149598074 * scale * (1 + 1e-15)
    assert TruncatedLaplace(scale).decision_displacement() <= 2 * lambertw(1 / e).real * scale * (1 + 1e-14)
    for kind in ALL_KINDS:
        assert kind(scale).decision_displacement() <= 2 * kind(scale).displacement().value * (1 + 1e-14)


def test_decision_displacement_closed_forms() -> None:
    assert UniformNoise(0.5).decision_displacement() == 0.125
    assert ClampedLaplace(0.25).decision_displacement() == pytest.approx(0.25 / e, rel=1e-15)
    assert ClampedGaussian(0.1).decision_displacement() == pytest.approx(0.03399424149598073233877, rel=1e-15)
    worst = 1 / (2 * (1 + lambertw(1 / e).real))
    assert TruncatedLaplace(worst).decision_displacement() == pytest.approx(0.556929 * worst, rel=1e-6)


# --- privacy


def gammas(noise: Noise, delta: float) -> list[float]:
    """What random pairs and sets demand of γ: half-lines and unions of intervals."""
    rng = np.random.default_rng(0)
    demands = []
    for _ in range(300):
        q, other = rng.choice([0.0, 1.0, *rng.random(3), *(10 ** rng.uniform(-4, 0, 3))], 2, replace=False)
        edges = np.sort(rng.choice([rng.random(6), 10 ** rng.uniform(-4, 0, 6)]))
        p = np.diff(noise.cdf(edges, q), prepend=0, append=1)
        p_other = np.diff(noise.cdf(edges, other), prepend=0, append=1)
        for chosen in (rng.random(7) < 0.5, np.arange(7) < rng.integers(1, 7)):
            one, two = p[chosen].sum(), p_other[chosen].sum()
            if one - delta > 1e-9 and two > 1e-9:
                demands.append(float(np.log((one - delta) / two) / abs(q - other)))
    return demands


private = st.builds(
    lambda kind, k: kind(10**k),
    st.sampled_from([TruncatedLaplace, TruncatedGaussian, ClampedLaplace, ClampedGaussian]),
    st.floats(-1.5, 1),
)


@given(private, st.one_of(st.just(0.0), st.floats(-4, -0.3).map(lambda k: 10**k)))
@costly(30)
def test_privacy_is_respected(noise: Noise, delta: float) -> None:
    assert max(gammas(noise, delta), default=0) <= noise.privacy(delta) * (1 + 1e-6) + 1e-6


def relative_cdf(noise: Noise, t: Any, q: Any) -> Any:
    """Pr[M(q) ≤ t] with all its digits, however small: both tails of the line's law are taken at the left."""
    assert isinstance(noise, TruncatedLaplace | ClampedLaplace | TruncatedGaussian | ClampedGaussian)

    def cumulative(y: Any) -> Any:
        if isinstance(noise, TruncatedGaussian | ClampedGaussian):
            return ndtr(y / noise.scale)
        half = np.exp(-np.abs(y) / noise.scale) / 2
        return np.where(y < 0, half, 1 - half)

    if isinstance(noise, ClampedLaplace | ClampedGaussian):
        return cumulative(t - q)
    return (cumulative(t - q) - cumulative(-q)) / (cumulative(1 - q) - cumulative(-q))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "delta"),
    [
        (TruncatedLaplace(0.05), 1e-3),
        (TruncatedLaplace(0.3), 0.03),
        (TruncatedLaplace(1.0), 0.1),
        (TruncatedGaussian(0.05), 0.1),
        (TruncatedGaussian(0.3), 1e-3),
        (TruncatedGaussian(1.0), 0.03),
        (ClampedLaplace(0.3), 0.03),
        (ClampedGaussian(0.1), 1e-3),
        (ClampedGaussian(0.3), 0.1),
        (ClampedGaussian(1.0), 0.03),
    ],
    ids=str,
)
def test_privacy_cannot_be_improved(noise: Noise, delta: float) -> None:
    """Another global search, over another formula, finds no worse pair, and one that a millionth less would break."""

    def exponent(point: Any) -> Any:
        q, t = point[0], point[2]
        other = q + point[1] * (1 - q)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log((relative_cdf(noise, t, q) - delta) / relative_cdf(noise, t, other)) / (other - q)
        return np.where(np.isfinite(value), -value, 1e9)

    found = differential_evolution(
        exponent, [(0, 1), (1e-6, 1), (0, 1)], rng=1, popsize=40, tol=1e-12, maxiter=400, vectorized=True,
        updating="deferred", polish=False,
    )  # fmt: skip
    gamma = noise.privacy(delta)
    assert -float(found.fun) <= gamma * (1 + 1e-9)
    q, other, t = found.x[0], found.x[0] + found.x[1] * (1 - found.x[0]), found.x[2]
    allowed = exp(gamma * (1 - 1e-6) * (other - q)) * relative_cdf(noise, t, other) + delta
    assert relative_cdf(noise, t, q) > allowed


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 0.05, 0.3, 1.0, 1e3, 1e6])
def test_privacy_in_closed_form(scale: float) -> None:
    assert TruncatedLaplace(scale).privacy() == pytest.approx(2 / scale, rel=1e-15)
    assert ClampedLaplace(scale).privacy() == pytest.approx(1 / scale, rel=1e-15)
    for delta in (1e-6, 1e-3, 0.1, 0.4):
        expected = max(0.0, 1 / scale + 2 * log1p(-delta))  # the worst pair is 0 and 1
        assert ClampedLaplace(scale).privacy(delta) == pytest.approx(expected, rel=1e-9)
    mean = 1 - float(TruncatedGaussian(scale).mean_displacement(1))
    assert TruncatedGaussian(scale).privacy() == pytest.approx(mean / scale**2, rel=1e-14)


def test_pure_privacy_is_approached_by_neighbours() -> None:
    """Truncated to [0, 1] or clamped, a Gaussian is privately pure: only on the whole line no γ suffices."""
    step = 1e-5
    for noise, likelihood, q, other in [
        (TruncatedLaplace(0.3), TruncatedLaplace(0.3).density, 0.0, step),
        (TruncatedGaussian(0.3), TruncatedGaussian(0.3).density, 1 - step, 1.0),
        (ClampedGaussian(0.3), ClampedGaussian(0.3).cdf, 1 - step, 1.0),  # of the atom at 0
        (UniformNoise(1.5), UniformNoise(1.5).cdf, 1 - step, 1.0),
    ]:
        ratio = float(np.log(likelihood(0.0, q) / likelihood(0.0, other)) / step)
        assert ratio == pytest.approx(noise.privacy(), rel=1e-3)
        assert ratio <= noise.privacy() * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        TruncatedLaplace,
        TruncatedGaussian,
        ClampedLaplace,
        ClampedGaussian,
    ],
)
def test_privacy_falls_with_delta_to_0_at_tv(kind: Any) -> None:
    noise = kind(0.4)
    furthest = float(noise.tv(0, 1))
    gamma = [noise.privacy(delta) for delta in (0, 1e-9, 1e-4, 0.1, furthest - 1e-3, furthest - 1e-6, furthest)]
    assert (np.diff(gamma) < 0).all()
    assert gamma[-2] < 1e-3
    assert gamma[-1] == 0


def test_wide_uniform_noise_is_private_and_narrow_is_not() -> None:
    assert UniformNoise(3.0).privacy() == 0.5
    d = np.linspace(1e-3, 1, 100_001)
    by_formula = np.log((d + 1 - 4 * 0.05) / 1) / d  # the atom at 0, q' = 1, at every distance d
    assert UniformNoise(2.0).privacy(0.05) == pytest.approx(by_formula.max(), rel=1e-9)
    for noise, most in [(UniformNoise(0.1), 1.0), (UniformNoise(0.8), 0.625), (RandomRounding(5), 1.0)]:
        assert noise.tv(0, 1) == most
        for delta in (0.0, 0.1, most - 1e-9):
            with pytest.raises(ValueError, match=r"for no γ unless δ ≥ .*another never takes"):
                noise.privacy(delta)
        assert noise.privacy(most) == 0


# --- the choice of parameters


@pytest.mark.parametrize("target", ["ece", "cdl", "decision_loss"])
@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("eps", [1e-6, 1e-4, 1e-3])
def test_for_distance_minimises_the_guarantee(kind: Any, target: Target, eps: float) -> None:
    noise = kind.for_distance(eps, target)
    (parameter,) = vars(noise).values()
    best = guarantee(noise, eps, target)
    for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2):
        assert best <= guarantee(kind(parameter * factor), eps, target) * (1 + 1e-12)
    constants: dict[Any, tuple[float, float, float]] = {  # the guarantees in units of √eps, as eps tends to 0
        UniformNoise: (sqrt(2), 1, sqrt(0.5)),
        ClampedLaplace: (2, 1.5 / sqrt(e), sqrt(2 / e)),
        TruncatedLaplace: (2, 2 / sqrt(e), sqrt(2 / e)),
        ClampedGaussian: (2 * sqrt(2 / pi), 0.7904554, 0.7365254),
        TruncatedGaussian: (2 * sqrt(2 / pi), 1.0416042, 0.7365254),
        ClampedPlateau: (sqrt(2.5), 0.752 + 0.19 * sqrt(eps), sqrt(0.5)),
        RandomRounding: (2, 2, sqrt(2)),
    }
    expected = constants[kind][("ece", "cdl", "decision_loss").index(target)]
    boundary = 2 * sqrt(eps) if kind in (TruncatedLaplace, TruncatedGaussian) else 0.0  # where K exceeds the line's
    assert expected * (1 - 1e-6) <= best / sqrt(eps) <= expected * (1 + 1e-6) + boundary


@given(st.floats(1e-6, 1), st.sampled_from(ALL_KINDS))
@costly(40)
def test_guarantees_hold_their_constants_for_every_eps(eps: float, kind: Any) -> None:
    """The table of constants: what is proved on the line holds at every eps."""
    limits: dict[Any, tuple[float, float, float]] = {
        UniformNoise: (sqrt(2), 1, sqrt(0.5)),
        ClampedLaplace: (2, 1.5 / sqrt(e), sqrt(2 / e)),
        ClampedGaussian: (1.5957692, 0.7904554, 0.7365254),
        TruncatedLaplace: (2, 1.493, 1.0554),
        TruncatedGaussian: (1.5957692, inf, inf),
        ClampedPlateau: (1.5811389, min(0.752 + 0.19 * sqrt(eps), 0.863), sqrt(0.5)),
        RandomRounding: (2, 2, sqrt(2)),
    }
    targets: tuple[Target, ...] = ("ece", "cdl", "decision_loss")
    for target, limit in zip(targets, limits[kind], strict=True):
        assert guarantee(kind.for_distance(eps, target), eps, target) <= limit * sqrt(eps) * (1 + 1e-6)


# --- the paper's slips (claims 18, 19, 22, 23)


def test_the_papers_gaussian_is_not_private_as_claimed() -> None:
    """Lemma 3.4: (γ, √eps)-private with 1 − exp(−γ·eps) ≤ 2√eps; Dwork and Roth speak of one fixed distance."""

    def excess(eps: float) -> float:
        gamma = TruncatedGaussian.paper(eps).privacy(delta=sqrt(eps))
        return 1 - exp(-gamma * eps) - 2 * sqrt(eps)

    assert all(excess(eps) > 0 for eps in (1e-6, 1e-5, 1e-4, 1e-3, 0.00134))
    assert all(excess(eps) < 0 for eps in (0.00135, 0.002, 0.01, 0.1, 0.24))
    # One pair and one set suffice: with the largest γ allowed, δ would have to be far above √eps.
    eps = 1e-5
    noise, allowed = TruncatedGaussian.paper(eps), -log1p(-2 * sqrt(eps)) / eps
    gap = oracle.cdf(noise, 0.02, 0) - exp(allowed * 0.3) * oracle.cdf(noise, 0.02, 0.3)
    assert gap > 100 * sqrt(eps)


def test_truncation_near_the_ends_is_not_rare() -> None:
    """The proof of Lemma 3.4 bounds what truncation removes by exp(−1/(4√eps)); at q = 0 it removes one half."""
    for eps in (1e-6, 1e-4, 1e-2):
        removed = ClampedGaussian(TruncatedGaussian.paper(eps).scale).atoms(0.0).mass.sum()
        assert removed >= 0.5 > exp(-1 / (4 * sqrt(eps)))
    assert exp(-1 / (4 * sqrt(0.0134))) < sqrt(0.0134)
    assert exp(-1 / (4 * sqrt(0.0136))) > sqrt(0.0136)


def test_monotone_on_each_side_does_not_bound_tv() -> None:
    """Lemma A.3 needs the mode at 0.  Noise of density 1 on [−1/4, 0) and [1/4, 1), monotone on each side:

    M(1/2) is uniform on [4/16, 8/16] ∪ [12/16, 1], M(9/16) on [5/16, 9/16] ∪ [13/16, 1].
    """
    sixteenths = np.arange(16)
    at_b = np.isin(sixteenths, [4, 5, 6, 7, 12, 13, 14, 15]) * 2.0
    at_q = np.isin(sixteenths, [5, 6, 7, 8, 13, 14, 15]) * 16 / 7
    tv = np.abs(at_b - at_q).sum() / 32
    assert tv == pytest.approx(1 / 4)
    assert tv > 1.7 * max(at_b.max(), at_q.max()) / 16  # the lemma: at most the largest density times |q − b|


@given(continuous_noises, probabilities, probabilities)
def test_noise_with_its_mode_at_0_satisfies_lemma_a3(noise: Noise, b: float, q: float) -> None:
    """And more: the mean of the two largest densities is enough (the clamped ones have their line's density)."""
    peaks = float(noise.density(b, b) + noise.density(q, q)) / 2
    assert noise.tv(b, q) <= peaks * abs(b - q) * (1 + 1e-12) + 1e-14


def test_the_improved_gaussian_needs_a_standard_deviation_of_root_eps() -> None:
    """Lemma A.4 writes N(0, √eps), which would make √eps the variance, and the bound eps^(1/4)."""
    for eps in (1e-8, 1e-6, 1e-4):
        deviation = guarantee(TruncatedGaussian.paper_improved(eps), eps, "ece") / sqrt(eps)
        variance = guarantee(TruncatedGaussian(eps**0.25), eps, "ece") / sqrt(eps)
        assert deviation == pytest.approx(2 * sqrt(2 / pi))
        assert variance > 0.75 * eps**-0.25


# --- bad input


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("parameter", [0, -1.0, nan, inf, -inf])
def test_parameters_must_be_positive(kind: Any, parameter: float) -> None:
    with pytest.raises(ValueError, match=r"(scale|width|cells) must be a positive, finite number .* for_distance"):
        kind(parameter)


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("eps", [0, -0.1, 1.1, nan])
def test_eps_must_be_a_distance(kind: Any, eps: float) -> None:
    with pytest.raises(ValueError, match=r"eps must be a distance to calibration in \(0, 1\]"):
        kind.for_distance(eps)


def test_the_papers_choices_check_eps() -> None:
    for choice in (TruncatedLaplace.paper, TruncatedGaussian.paper, TruncatedGaussian.paper_improved):
        with pytest.raises(ValueError, match="eps must be"):
            choice(0)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_targets_and_predictions_are_checked(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"target must be one of 'ece', 'cdl', 'decision_loss', not 'brier'"):
        kind.for_distance(0.1, "brier")
    noise = kind(0.5)
    for bad in (-0.1, 1.5, nan):
        for call in (
            lambda q: noise.density(0.5, q),
            lambda q: noise.cdf(0.5, q),
            lambda q: noise.quantile(0.5, q),
            lambda q: noise.sample([0.5, q], 0),
            noise.mean_displacement,
            noise.atoms,
            lambda q: noise.tv(0.5, q),
        ):
            with pytest.raises(ValueError, match=r"predictions must be probabilities in \[0, 1\]"):
                call(bad)
        with pytest.raises(ValueError, match=r"quantile levels must lie in \[0, 1\]"):
            noise.quantile(bad, 0.5)
        with pytest.raises(ValueError, match=r"delta must be a probability"):
            noise.privacy(bad)


def test_empty_and_scalar_inputs() -> None:
    noise = UniformNoise(0.1)
    assert noise.sample([], 0).shape == (0,)
    assert isinstance(float(noise.sample(0.5, 0)), float)
    assert noise.density(2.0, 0.5) == noise.cdf(-1e-9, 0.5) == 0
    with pytest.raises(TypeError, match="abstract"):
        Noise()  # type: ignore[abstract]
