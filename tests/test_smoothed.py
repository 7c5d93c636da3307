"""The exact law after noise, without a grid."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import erf, fsum, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from tests.noise_oracles import ece_after, regret_after
from tests.oracles import rounding
from tests.reference import REFERENCE, law
from tests.strategies import calibrated_predictors, costly, predictors
from trustcal import DecisionProblem, cdl_witness, dtc, smcal, smece, ucal
from trustcal.decisions.envelope import bridge, over_half
from trustcal.kernels.decay import absolute_area
from trustcal.measures.decision import cdl, ece
from trustcal.noise import (
    NOISES,
    ClampedGaussian,
    ClampedLaplace,
    ClampedPlateau,
    Noise,
    RandomRounding,
    TruncatedGaussian,
    TruncatedLaplace,
    UniformNoise,
    bells,
    gaussian,
)
from trustcal.noise.bells import Bells
from trustcal.noise.decays import Decays, Exponentials
from trustcal.noise.density import Density, range_sums
from trustcal.paper import batch_hardest
from trustcal.predictor import Predictor
from trustcal.smoothing import SmoothedPredictor, smooth

FloatArray = NDArray[np.float64]

KINDS: list[Any] = [kind for kind in NOISES.values() if kind is not RandomRounding]
noises = st.builds(
    lambda kind, scale: kind(scale), st.sampled_from(KINDS), st.sampled_from([0.03, 0.1, 0.25, 1.0, 10.0])
)


def name(case: dict[str, Any]) -> str:
    return f"{case['name']}-{case.get('lam', case.get('w', case.get('sigma')))}"


@pytest.mark.parametrize("case", REFERENCE["postprocessed_truncated_laplace"], ids=name)
def test_laplace_references(case: dict[str, Any]) -> None:
    smoothed = SmoothedPredictor(law(case["atoms"]), TruncatedLaplace(1 / float(case["lam"])))
    assert smoothed.ece() == pytest.approx(float(case["ece"]), abs=1e-12)
    for mu, value in case["R"].items():
        assert float(smoothed.profile(float(mu))) == pytest.approx(float(value), abs=1e-12)
    assert smoothed.cdl() == pytest.approx(float(case["cdl"]), abs=2e-13)
    assert smoothed.cdl_thresholds == pytest.approx([float(mu) for mu in case["cdl_chord"]], abs=1e-6)


@pytest.mark.parametrize("case", REFERENCE["postprocessed_clamped_uniform"], ids=name)
def test_uniform_references(case: dict[str, Any]) -> None:
    smoothed = SmoothedPredictor(law(case["atoms"]), UniformNoise(float(Fraction(case["w"]))))
    assert smoothed.ece() == pytest.approx(float(Fraction(case["ece"])), abs=1e-12)
    assert float(smoothed.profile(0.5)) == pytest.approx(float(Fraction(case["R_half"])), abs=1e-12)
    assert smoothed.cdl() == pytest.approx(float(case["cdl_float"]), abs=2e-13)


@pytest.mark.parametrize("case", REFERENCE["postprocessed_truncated_gaussian"], ids=name)
def test_gaussian_references(case: dict[str, Any]) -> None:
    smoothed = SmoothedPredictor(law(case["atoms"]), TruncatedGaussian(float(case["sigma"])))
    assert smoothed.ece() == pytest.approx(float(case["ece"]), abs=1e-12)


@given(q=predictors(max_values=5), noise=noises)
def test_agrees_with_a_fine_grid(q: Predictor, noise: Noise) -> None:
    """The grid moves predictions by half a cell and pools cells, which lowers ECE where the bias changes its sign."""
    cells = 100_000
    smoothed, grid = SmoothedPredictor(q, noise), smooth(q, noise, cells, "middle")
    pooled = 8 * (len(q) + 1) * float(q.mass @ noise.density(q.p, q.p)) / cells
    assert ece(grid) - 0.5 / cells - 1e-12 <= smoothed.ece() <= ece(grid) + 0.5 / cells + pooled
    assert abs(smoothed.cdl() - cdl(grid)) <= 2 / cells + pooled
    assert smoothed.base_rate == q.base_rate


@given(q=predictors(max_values=5), noise=noises)
def test_cdl_is_the_envelope_of_the_profile(q: Predictor, noise: Noise) -> None:
    smoothed = SmoothedPredictor(q, noise)
    kinks = [x for x in (q.p[:, None] + np.array([-1, 1]) * getattr(noise, "width", 0.0)).ravel() if 0 <= x <= 1]
    x = np.union1d(np.linspace(0, 1, 1001), kinks)
    r = smoothed.profile(x)
    left, right = x < 0.5, x > 0.5
    a, b = x[left][:, None], x[right]
    chords = (r[left][:, None] * (b - 0.5) + r[right] * (0.5 - a)) / (b - a)
    best = 2 * max(float(chords.max()), float(smoothed.profile(0.5)))
    assert min(1, best) - 2e-13 <= smoothed.cdl() <= best + 1e-3  # between neighbours R rises by K·h²/8 at most
    low, high = smoothed.cdl_thresholds
    weight = [1.0, 1.0] if low == high else [2 * (high - 0.5) / (high - low), 2 * (0.5 - low) / (high - low)]
    assert float(smoothed.profile([low, high]) @ weight) == pytest.approx(smoothed.cdl(), abs=1e-12)


@given(q=calibrated_predictors(), noise=noises)
def test_noise_on_calibrated_predictions(q: Predictor, noise: Noise) -> None:
    smoothed = SmoothedPredictor(q, noise)
    assert smoothed.ece() <= noise.displacement().value + 1e-12
    assert smoothed.cdl() <= noise.decision_displacement() + 1e-12


THREE = Predictor([0.1, 0.3, 0.9], [0.375, 0.375, 0.25], [0.125, 0.25, 0.125])
CORNERS = Predictor([0.0, 0.45, 0.5, 1.0], [0.125, 0.25, 0.375, 0.25], [0.125, 0.0, 0.375, 0.125])


@pytest.mark.parametrize("q", [THREE, CORNERS], ids=["three", "corners"])
@pytest.mark.parametrize("scale", [0.03, 0.3, 5.0])
@pytest.mark.parametrize("kind", KINDS)
def test_ece_and_profile_against_quadrature(kind: Callable[[float], Noise], scale: float, q: Predictor) -> None:
    noise = kind(scale)
    smoothed = SmoothedPredictor(q, noise)
    atoms = noise.atoms(q.p).mass
    (zero, one), (zero_1, one_1) = (q.mass @ atoms, q.positive @ atoms) if atoms.shape[-1] else ((0, 0), (0, 0))
    reach = q.p[:, None] + scale * np.array([-1.0, 0.0, 1.0])

    def integral(f: Callable[[FloatArray, FloatArray, FloatArray], FloatArray], *cuts: float) -> float:
        """By Gauss's rule on many pieces: |·| leaves an error of the square of a piece's length at each root."""
        inside = reach[(reach > 0) & (reach < 1)]
        edges = np.unique(np.concatenate([np.linspace(0, 1, 4001), inside, cuts]))
        node, weight = np.polynomial.legendre.leggauss(5)
        x = (edges[:-1] + edges[1:])[:, None] / 2 + np.diff(edges)[:, None] / 2 * node
        density = np.stack([noise.density(x, p) for p in q.p])
        w, v = np.tensordot(q.mass, density, 1), np.tensordot(q.positive, density, 1)
        return float((f(x, w, v) * weight * np.diff(edges)[:, None] / 2).sum())

    expected = integral(lambda x, w, v: np.abs(x * w - v)) + zero_1 + abs(one - one_1)
    assert smoothed.ece() == pytest.approx(expected, abs=1e-6)
    for mu in (0.0, 0.1, 0.37, 0.5, 0.77, 1.0):

        def loss(x: FloatArray, w: FloatArray, v: FloatArray, mu: float = mu) -> FloatArray:
            return np.where(x < mu, np.maximum(v - mu * w, 0), np.maximum(mu * w - v, 0))

        expected = integral(loss, mu)
        expected += max(zero_1 - mu * zero, 0) + max(mu * one - one_1, 0)
        assert float(smoothed.profile(mu)) == pytest.approx(expected, abs=1e-6)


@given(q=predictors(max_values=6), kind=st.sampled_from(KINDS), scale=st.sampled_from([1e-6, 1e-4, 1e-2, 1e2, 1e6]))
@example(q=Predictor([0.0], [1.0], [0.0]), kind=TruncatedGaussian, scale=1e6)
def test_extreme_scales(q: Predictor, kind: Callable[[float], Noise], scale: float) -> None:
    smoothed, moved = SmoothedPredictor(q, kind(scale)), kind(scale).displacement().value
    assert 0 <= smoothed.ece() <= min(1, ece(q) + moved) + 1e-9
    assert 0 <= float(smoothed.profile(0.5)) <= 1


def test_small_scales_approach_the_predictor() -> None:
    for kind in KINDS:
        smoothed = SmoothedPredictor(THREE, kind(1e-6))
        assert smoothed.ece() == pytest.approx(ece(THREE), abs=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("eps", [1e-9, 1e-12, 1e-15])
def test_the_search_finds_what_is_small_and_far_apart(kind: type[Noise], eps: float) -> None:
    """Close up every hard instance looks the same: its CDL is a multiple of √eps, however little √eps is."""
    assert multiple_of_root(kind, eps) == pytest.approx(multiple_of_root(kind, 1e-6), rel=1e-3)


@cache
def multiple_of_root(kind: type[Noise], eps: float) -> float:
    return cdl(smooth(batch_hardest(eps).predictor, kind.for_distance(eps))) / sqrt(eps)


@pytest.mark.parametrize("noise", [TruncatedLaplace(0.01), ClampedPlateau(0.01)])
def test_compiled_and_plain_agree(noise: Noise) -> None:
    rng = np.random.default_rng(1)
    p = np.sort(rng.random(300))
    density: Any = SmoothedPredictor(Predictor(p, np.full(300, 1 / 300), rng.random(300) / 300), noise)._density
    apart = np.zeros(len(density.edges) - 1, dtype=bool)
    both = [
        area(density.edges, density.scale, density.level, density.left, density.right, apart)
        for area in (absolute_area.compiled, absolute_area.function)
    ]
    assert both[0] == pytest.approx(both[1], abs=1e-14)
    assert density.absolute_bias() == pytest.approx(both[0], abs=1e-14)


@given(
    st.floats(0.2, 0.8),
    st.floats(-20.0, 20.0),
    st.floats(-17.0, -6.5).map(np.exp),
    st.lists(st.floats(-100.0, -9.0), max_size=3),
    st.sampled_from([ClampedLaplace, TruncatedLaplace, ClampedPlateau]),
)
@example(0.75, -1.5, 1e-3, [], ClampedLaplace)
@example(0.75, -3.0, 1e-3, [], ClampedPlateau)
@example(0.75, 2.0, 1e-6, [-80.0, -9.0], ClampedLaplace)
def test_one_prediction_a_few_scales_off(
    p: float, scales: float, scale: float, traces: list[float], kind: Callable[[float], Noise]
) -> None:
    """ECE = E|Y − δ| of the noise Y, δ = p_hat − p, hundreds of scales from 0 and 1; traces elsewhere do not matter."""
    away = abs(scales)
    error = away + np.exp(-away)
    if kind is ClampedPlateau:
        error = 1.25 + away**2 / 4 if away <= 1 else away + np.exp(1 - away) / 2
    mass = scale * 10.0 ** np.array(traces)
    rest = 1 - mass.sum()
    q = Predictor(
        np.array([p, *np.linspace(0.9, 1.0, len(traces))]),
        np.array([rest, *mass]),
        np.array([rest * (p + scales * scale), *np.zeros(len(traces))]),
    )
    slack = mass.sum() + 1e-15  # and the rounding of p_hat
    assert SmoothedPredictor(q, kind(scale)).ece() == pytest.approx(scale * error, rel=1e-12, abs=slack)


@given(st.data())
def test_plateau_noise_as_little_as_it_likes_is_the_same_close_up(data: st.DataObject) -> None:
    """Next to 0 noise with the scale 2^−300 shows what noise with 2^−100 does."""
    places = np.array(sorted(data.draw(st.sets(st.integers(0, 12_000), min_size=1, max_size=6)))) / 1000
    mass = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=len(places), max_size=len(places))))
    share = np.array(data.draw(st.lists(st.floats(0, 1), min_size=len(places), max_size=len(places))))
    mass /= mass.sum()
    far, near = (
        SmoothedPredictor(Predictor(places * 2.0**exponent, mass, share * mass), ClampedPlateau(2.0**exponent))
        for exponent in (-300, -100)
    )
    mu = np.linspace(0.02, 0.98, 49)
    assert far.profile(mu) == pytest.approx(near.profile(mu), abs=1e-12)


@given(
    st.lists(st.one_of(st.just(0.0), st.floats(-40, 40).map(lambda exponent: 10.0**exponent)), min_size=1, max_size=70),
    st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), min_size=1),
)
def test_sums_over_ranges(values: list[float], ranges: list[tuple[int, int]]) -> None:
    begin, stop = np.array([[min(end, len(values)) for end in pair] for pair in ranges]).T
    exact = [fsum(values[a:b]) for a, b in zip(begin, stop, strict=True)]
    assert range_sums(np.array(values), begin, np.maximum(begin, stop)) == pytest.approx(exact, rel=1e-14, abs=0)


def test_a_profile_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many thresholds cross many pieces: they are taken in parts, so that memory does not grow with their product."""
    rng, pairs = np.random.default_rng(3), []
    p, mu = rng.random(200), rng.random(101)
    q = Predictor.from_samples(rng.random(200) < p, p)
    partly = Exponentials.partly

    def counted(self: Exponentials, piece: NDArray[np.intp], thresholds: FloatArray) -> FloatArray:
        pairs.append(len(piece) if len(np.unique(thresholds)) > 1 else 1)
        return partly(self, piece, thresholds)

    monkeypatch.setattr(Exponentials, "partly", counted)
    whole = SmoothedPredictor(q, ClampedLaplace(1e-3)).profile(mu)
    assert max(pairs) > 1000
    pairs.clear()
    monkeypatch.setattr("trustcal.noise.density._AT_ONCE", 500)
    assert SmoothedPredictor(q, ClampedLaplace(1e-3)).profile(mu) == pytest.approx(whole, abs=1e-15)
    assert max(pairs) <= 500


def test_sums_over_ranges_of_a_million_values() -> None:
    """Half of them small, by nearly the factor at which sums of neighbours are taken."""
    values = np.random.default_rng(5).uniform(0.5, 1.0, 10**6)
    values[::2] *= 2e-8
    one = np.arange(0, 10**6, 2)
    assert abs(range_sums(values, one, one + 1) / values[one] - 1).max() <= 1e-14


def test_many_rows_against_a_grid() -> None:
    rng = np.random.default_rng(7)
    p = rng.random(20_000)
    q = Predictor.from_samples(rng.random(20_000) < p**1.5, p)
    for noise in (TruncatedLaplace(0.02), ClampedLaplace(0.1), ClampedPlateau(0.03), UniformNoise(0.05)):
        smoothed, grid = SmoothedPredictor(q, noise), smooth(q, noise, 5000, "middle")
        assert abs(smoothed.ece() - ece(grid)) <= 1e-4
        assert abs(smoothed.cdl() - cdl(grid)) <= 4e-4


def test_refusals() -> None:
    smoothed = SmoothedPredictor(Predictor([0.5], [1.0], [0.5]), UniformNoise(0.1))
    with pytest.raises(ValueError, match="thresholds must lie"):
        smoothed.profile(1.5)
    with pytest.raises(ValueError, match="use smooth"):
        SmoothedPredictor(THREE, RandomRounding(3)).ece()


@given(predictors(), st.sampled_from([UniformNoise(0.1), TruncatedLaplace(0.05), ClampedPlateau(0.2)]))
def test_decision_measures_take_the_law_after_noise(q: Predictor, noise: Noise) -> None:
    smoothed = smooth(q, noise)
    assert isinstance(smoothed, SmoothedPredictor)
    assert ece(smoothed) == smoothed.ece()
    assert cdl(smoothed) == smoothed.cdl()
    problem = DecisionProblem([[3, 0], [2, 2], [0, 3]])
    assert problem.swap_regret(smoothed) == pytest.approx(smoothed.profile([1 / 3, 2 / 3]) @ problem.weights)
    assert problem.swap_regret(smoothed) <= 3 * smoothed.cdl() + 1e-11


def test_other_measures_ask_for_a_grid() -> None:
    smoothed: Any = smooth(Predictor([0.5], [1], [0.25]), UniformNoise(0.1))
    for measure in (smcal, dtc, smece, ucal, cdl_witness):
        with pytest.raises(ValueError, match="cells=100"):
            measure(smoothed)
    with pytest.raises(ValueError, match="cells=100"):
        ece(smoothed, cells=3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise", [TruncatedGaussian(0.05), ClampedGaussian(0.05), TruncatedGaussian(2.0), ClampedGaussian(0.3)]
)
@pytest.mark.parametrize("shape", ["spread", "rare", "two heaps"])
def test_many_predictions_are_as_good_as_a_few(
    noise: TruncatedGaussian | ClampedGaussian, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Gaussian noise: 12 places for each half of a scale serve as all predictions there."""
    rng = np.random.default_rng(3)
    p = {"spread": rng.random(3000), "rare": rng.random(3000) ** 8, "two heaps": np.append(rng.random(1500), 3) / 3}[
        shape
    ]
    p = np.append(p, 1 - p[:500] / 9)
    q = Predictor.from_samples(rng.random(len(p)) < np.clip(p**1.3 + 0.03 * np.sin(9 * p), 0, 1), p)
    mu = np.linspace(0, 1, 41)

    def measured() -> tuple[float, float, FloatArray, FloatArray]:
        after, on_grid = smooth(q, noise), smooth(q, noise, cells=30)
        assert isinstance(after, SmoothedPredictor)
        return after.ece(), after.cdl(), after.profile(mu), np.stack([on_grid.mass, on_grid.positive])

    assert len(bells.condensed(q.p, np.stack([q.mass, q.positive]), noise.scale)[0]) < len(q)
    few = measured()
    for room in (bells, gaussian):
        monkeypatch.setattr(room, "condensed", lambda p, weights, scale: (p, weights))
    every = measured()
    assert few[0] == pytest.approx(every[0], abs=1e-14)
    assert few[1] == pytest.approx(every[1], abs=2e-12)
    for index in (2, 3):
        np.testing.assert_allclose(few[index], every[index], rtol=0, atol=1e-14)


@given(st.integers(1, 400), st.floats(0.05, 5), st.integers(0, 2**32))
def test_condensed_weights_integrate_what_is_smooth(n: int, scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, weights = np.sort(rng.random(n)), rng.random((2, n)) / n
    places, fewer = bells.condensed(p, weights, scale)
    assert len(places) <= max(n, 12 * int(np.ceil(2 / scale)))
    assert np.all((places >= 0) & (places <= 1))
    assert np.all(np.diff(places) > 0)
    for x in (0.0, 0.3, 1.0):
        bell = [np.exp(-(((x - at) / scale) ** 2) / 2) for at in (places, p)]
        np.testing.assert_allclose(fewer @ bell[0], weights @ bell[1], rtol=0, atol=1e-14)


@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-10, 1e-14, 1e-16, 1e-17, 1e-100])
def test_uniform_noise_as_narrow_as_it_likes_loses_no_mass(width: float) -> None:
    """Alone, a value keeps its bias under noise that stays on one side of its posterior: ECE is what it was."""
    q = Predictor([0.2, 0.5, 0.7], [0.3, 0.4, 0.3], [0.2, 0.0, 0.1])
    law = smooth(q, UniformNoise(width))
    assert ece(law) == pytest.approx(0.45, rel=1e-15)
    # Without noise the bridge lies over 0.2 and 1/2 and is 0.6 high; noise moves its end from 1/2 to 1/2 + width.
    assert cdl(law) == pytest.approx(0.6 - 2 * width / (1 + 2 * width), rel=1e-14)
    for p in (0.0, 1.0):
        alone = smooth(Predictor([p], [1.0], [0.9]), UniformNoise(width))
        assert ece(alone) == pytest.approx(abs(p - 0.9), abs=width)


NARROW = [1e-3, 1e-6, 1e-10, 1e-14, 1e-16, 1e-17, 1e-18, 1e-30, 1e-100]
FLOAT = 2.0**-53
"""Between 1/2 and the next float."""


@pytest.mark.parametrize("scale", NARROW)
@pytest.mark.parametrize("kind", [ClampedGaussian, TruncatedGaussian])
def test_gaussian_noise_as_narrow_as_it_likes_loses_no_mass(kind: Callable[[float], Noise], scale: float) -> None:
    """Alone, a value far from its posterior keeps its bias on average, but for those at 0 and 1, which are moved.

    CDL: with its thresholds moved by 8.5 scales, the worst decision maker loses less by twice that, and all but 2e-17
    of the outputs are on the same side of them as the predictions were.
    """
    q = Predictor([0.2, 0.5, 0.7], [0.3, 0.4, 0.3], [0.2, 0.0, 0.1])
    assert ece(smooth(q, kind(scale))) == pytest.approx(0.45, rel=1e-15)
    assert cdl(smooth(q, kind(scale))) == pytest.approx(0.6, abs=17 * scale + 1e-14)
    assert ece(smooth(CORNERS, kind(scale))) == pytest.approx(0.55, abs=scale + 1e-15)
    for p in (0.0, 1.0):
        alone = smooth(Predictor([p], [1.0], [0.9]), kind(scale))
        assert ece(alone) == pytest.approx(abs(p - 0.9), abs=scale + 1e-15)
        assert cdl(alone) == pytest.approx(cdl(Predictor([p], [1.0], [0.9])), abs=17 * scale + 1e-14)
    calibrated = smooth(Predictor([0.25, 0.5], [0.5, 0.5], [0.125, 0.25]), kind(scale))
    assert ece(calibrated) == pytest.approx(sqrt(2 / np.pi) * scale, rel=1e-14)


@pytest.mark.parametrize("scale", [*NARROW, 3e-16, 1e-15, 0.1])
@pytest.mark.parametrize("kind", [ClampedGaussian, TruncatedGaussian])
def test_two_neighbouring_floats_after_gaussian_noise(kind: Callable[[float], Noise], scale: float) -> None:
    """Ones at 1/2, zeros at the next float: ECE is half the total variation between the two, and what noise adds."""
    q = Predictor([0.5, 0.5 + FLOAT], [0.5, 0.5], [0.5, 0.0])
    found, apart = ece(smooth(q, kind(scale))), erf(FLOAT / (2 * sqrt(2) * scale)) / 2
    assert apart - rounding(4) <= found <= apart + scale + FLOAT + rounding(4)
    if scale <= 1e-16:
        assert found == pytest.approx(apart, rel=1e-13)


@pytest.mark.parametrize("scale", [1e4, 1e6, 1e8, 1e10, 1e12, 1e15, 1e20])
@pytest.mark.parametrize(
    "q",
    [
        Predictor([0.5, 0.6, 0.9], [0.4, 0.4, 0.2], [0.4, 0.0, 0.1]),
        Predictor([0.0, 0.5, 1.0], [0.3, 0.4, 0.3], [0.2, 0.1, 0.2]),
        Predictor([0.7], [1.0], [0.5]),
    ],
)
def test_very_wide_gaussian_noise_is_uniform(q: Predictor, scale: float) -> None:
    """Half of the outcomes are 1, so ECE is ∫|x − 1/2|dx = 1/4; the density is within 1/scale² of 1."""
    assert ece(smooth(q, TruncatedGaussian(scale))) == pytest.approx(0.25, abs=1 / scale**2 + 1e-14)


exponents = st.floats(-100, 1) | st.floats(-19, -12) | st.sampled_from([-100.0, -18.0, -16.0])


REACH = {ClampedGaussian: 18, TruncatedGaussian: 18, ClampedLaplace: 76, TruncatedLaplace: 76, ClampedPlateau: 78}
"""Values this many scales apart share less than 1e-16 of their outputs."""


def calibrated_but_for_rounding(p: float, mass: float) -> Predictor:
    """The root of p_hat(x) − x is at a value, and rounding may place it beyond."""
    return Predictor([p, 1.0], [mass, 1 - mass], [mass * p, 1 - mass])


@given(q=predictors(), kind=st.sampled_from(list(REACH)), exponent=exponents)
@example(q=Predictor([0.23], [1.0], [0.0]), kind=ClampedGaussian, exponent=-18)
@example(q=Predictor([0.25, 0.5, 0.75], [0.2, 0.3, 0.5], [0.1, 0.1, 0.4]), kind=ClampedLaplace, exponent=-20)
@example(q=Predictor([0.0, 1e-15, 0.25], [0.25, 0.25, 0.5], [0.0, 0.25, 0.0]), kind=ClampedPlateau, exponent=-47)
@example(q=Predictor([0.59375, 1 - 1e-15], [0.5, 0.5], [0.3125, 0.0]), kind=ClampedPlateau, exponent=-19)
@example(q=calibrated_but_for_rounding(0.461, 0.22), kind=ClampedLaplace, exponent=-18.7)
@example(q=calibrated_but_for_rounding(0.67, 0.88), kind=ClampedLaplace, exponent=-21.6)
def test_noise_of_any_scale_moves_ece_as_little_as_predictions(
    q: Predictor, kind: type[Noise], exponent: float
) -> None:
    """E|M − p_hat| is within E|M − p| of |p − p_hat|; values may share outputs, which lowers ECE, if they are near."""
    noise = kind(max(10.0**exponent, 1e-100))  # type: ignore[call-arg]
    scale: float = noise.scale  # type: ignore[attr-defined]
    found, moved = ece(smooth(q, noise)), float(noise.mean_displacement(q.p) @ q.mass)
    assert 0 <= found <= ece(q) + moved + 1e-14
    assert found >= abs(float(q.bias.sum())) - moved - 1e-14
    if len(q) == 1 or np.diff(q.p).min() > REACH[kind] * scale:
        assert found >= ece(q) - moved - 1e-14


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Predictor, float]:
    """Values a few floats apart, and a scale that is some floats wide, or anything."""
    start = draw(st.sampled_from([0.0, 1e-17, 0.1, 0.5, 0.75, 1 - 2.0**-50]))
    steps = sorted(draw(st.sets(st.integers(0, 8), min_size=1, max_size=4)))
    p = np.minimum(start + np.array(steps) * max(float(np.spacing(start)), 1e-19), 1.0)
    p = np.unique(p)
    mass = np.array([draw(st.integers(1, 4)) for _ in p], dtype=float)
    positive = np.array([draw(st.integers(0, 4)) for _ in p]) / 4
    scale = 10.0 ** draw(st.floats(-100, 1)) if draw(st.booleans()) else 10.0 ** draw(st.floats(-20, -13))
    return Predictor(p, mass / mass.sum(), mass / mass.sum() * positive), max(scale, 1e-100)


@given(neighbours(), st.sampled_from([UniformNoise, ClampedLaplace, ClampedPlateau]))
def test_no_mass_is_lost_between_neighbouring_floats(case: tuple[Predictor, float], kind: type[UniformNoise]) -> None:
    q, scale = case
    density = kind(scale).density_after(q.p, np.stack([q.mass, q.positive]))
    assert density.mass.sum(axis=1) + density.atoms.sum(axis=0) == pytest.approx([1.0, q.positive.sum()], abs=1e-12)


@pytest.mark.parametrize("kind", [UniformNoise, ClampedLaplace, ClampedGaussian, ClampedPlateau])
@pytest.mark.parametrize("exponent", range(-100, -2, 7))
def test_values_many_scales_apart(kind: type[UniformNoise], exponent: int) -> None:
    """Ones at 0.3, zeros at 0.7: whoever acts from 1/2 on loses everything, and narrow noise changes nothing there."""
    after = smooth(Predictor([0.3, 0.7], [0.5, 0.5], [0.5, 0.0]), kind(10.0**exponent))
    assert isinstance(after, SmoothedPredictor)
    assert float(after.profile(0.5)) == pytest.approx(0.5, abs=1e-13)
    assert cdl(after) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize(
    ("values", "scale"), [(50, 0.05), (50, 0.004), pytest.param(400, 0.02, marks=pytest.mark.slow)]
)
def test_plateau_noise_on_a_calibrated_comb(values: int, scale: float) -> None:
    """p_hat is nearly p on most of [0, 1]: |p·W − V| is small and changes its sign often."""
    p, noise = (np.arange(values) + 0.5) / values, ClampedPlateau(scale)
    q = Predictor(p, np.full(values, 1 / values), p / values)
    x = (np.arange(400_000) + 0.5) / 400_000
    inside = np.zeros(len(x))
    for value in p:
        inside += (x - value) * noise.density(x, value) / values
    zero, one = noise.atoms(p).mass.T
    outside = float(p @ zero + (1 - p) @ one) / values
    assert ece(smooth(q, noise)) == pytest.approx(outside + float(np.abs(inside).mean()), abs=1e-9)


@costly(40)
@given(neighbours(), st.sampled_from([ClampedGaussian, TruncatedGaussian]))
def test_gaussian_ece_of_neighbouring_floats_in_many_digits(
    case: tuple[Predictor, float], kind: type[ClampedGaussian] | type[TruncatedGaussian]
) -> None:
    q, scale = case
    noise = kind(scale)
    # Roots are found to 1e-10 of a step, 1/8: the areas are off by its square; 1e-14 is for roundings.
    assert ece(smooth(q, noise)) == pytest.approx(ece_after(noise, q), rel=1e-12, abs=1e-14)


@costly(60)
@given(
    st.lists(
        st.tuples(st.floats(0.1, 12), st.floats(0.05, 1), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=5
    ),
    st.integers(-45, -9).map(lambda k: 10 ** (k / 3)),
    st.sampled_from([ClampedGaussian, TruncatedGaussian]),
    st.sampled_from([0.25, 0.5, 0.75]) | st.floats(-2, 20),
)
@example([(0.1, 0.5, 0.0), (2.06430789, 0.5, 1.0)], 1e-8, ClampedGaussian, 0.5)
@example([(0.1, 0.5, 0.0), (1.0989, 0.5, 1.0)], 1e-12, TruncatedGaussian, 0.25)
@example([(0.1, 0.5, 0.0), (2.0, 0.5, 1.0)], 1e-15, ClampedGaussian, 0.75)
@example([(0.1, 0.5, 0.0), (2.0, 0.5, 1.0)], 1e-15, ClampedGaussian, 1.0)
@example([(0.5, 1.0, share) for share in (0.0, 1.0, 0.5, 1.0, 0.0) * 4], 1e-12, ClampedGaussian, 0.5)
@example([(0.4, 1.0, share) for share in (1.0, 0.0, 0.5, 0.0) * 5], 1e-14, TruncatedGaussian, 4.0)
def test_gaussian_profile_of_neighbouring_floats_in_many_digits(
    rows: list[tuple[float, float, float]], scale: float, kind: Callable[[float], Any], at: float
) -> None:
    """Values near 1/2, some scales apart; the threshold is a number, or so many scales from 1/2."""
    p, place = np.unique(0.5 + scale * np.cumsum([gap for gap, _, _ in rows]), return_inverse=True)
    mass = np.bincount(place, [mass for _, mass, _ in rows])
    q = Predictor(p, mass / mass.sum(), np.bincount(place, [mass * share for _, mass, share in rows]) / mass.sum())
    mu = at if at in (0.25, 0.5, 0.75) else 0.5 + scale * at
    after = smooth(q, kind(scale))
    assert isinstance(after, SmoothedPredictor)
    # Pieces that are left out count 1e-13 at most.
    assert float(after.profile(mu)) == pytest.approx(regret_after(kind(scale), q, mu), rel=0, abs=1.5e-13)


def test_gaussian_cdl_of_neighbouring_floats_in_many_digits() -> None:
    q, noise = Predictor([0.5, 0.50000000000002], [0.5, 0.5], [0.0, 0.5]), ClampedGaussian(1e-14)
    after = smooth(q, noise)
    assert isinstance(after, SmoothedPredictor)
    low, high = after.cdl_thresholds
    (a, r), (b, s) = ((mu, regret_after(noise, q, mu)) for mu in (low, high))
    chord = 2 * r if low == high else 2 * over_half((a, r), (b, s))
    assert after.cdl() == pytest.approx(chord, abs=1e-12)
    assert after.cdl() == pytest.approx(0.341151, abs=1e-6)


def test_a_law_next_to_a_point_warns_of_nothing() -> None:
    assert 0 <= cdl(smooth(Predictor([0.92], [1.0], [0.82]), ClampedGaussian(0.02))) <= 1


@given(
    predictors(),
    st.sampled_from([ClampedGaussian, TruncatedGaussian]),
    st.sampled_from([1e-8, 1e-3, 0.01, 0.1, 1.0]),
    st.floats(0, 1),
    st.floats(-60, 60),
)
@example(Predictor([0.5], [1.0], [1.0]), ClampedGaussian, 1e-8, 0.5, 1.5)
@example(Predictor([0.5], [1.0], [1.0]), ClampedGaussian, 1e-8, 0.5 + 13.5e-8, -2.0)
@example(Predictor([0.5], [1.0], [1.0]), ClampedGaussian, 1e-8, 0.5 + 3.5e-8, -2.0)
@example(Predictor([0.5], [1.0], [0.0]), TruncatedGaussian, 1e-8, 0.5 - 3.5e-8, 2.0)
@example(Predictor([0.5], [1.0], [1.0]), ClampedGaussian, 1e-8, 0.5 + 9.5e-8, -2.0)
@example(Predictor([0.0, 0.5], [1 - 1e-15, 1e-15], [0.0, 5e-16]), ClampedGaussian, 1e-8, 0.5, 0.0)
@example(Predictor([0.0, 0.25, 0.75], [0.5, 0.5, 3e-18], [0.0, 0.0625, 0.0]), ClampedGaussian, 1e-8, 0.75, -1.5)
@example(Predictor([0.5, 0.5 + 13e-8], [1 - 1e-12, 1e-12], [0.0, 0.0]), ClampedGaussian, 1e-8, 0.5 + 13.5e-8, -2.0)
@example(Predictor([0.5], [1.0], [1.0]), ClampedGaussian, 0.01, 0.5, 1.5)
def test_gaussian_curvature_is_at_least_what_it_bounds(
    q: Predictor, kind: Callable[[float], Noise], scale: float, near: float, scales: float
) -> None:
    density = kind(scale).density_after(q.p, np.stack([q.mass, q.positive]))
    assert isinstance(density, Bells)
    left, right = np.sort(np.clip([near, near + scales * scale], 0, 1))
    x = np.linspace(left, right, 50)
    (w, _), (w_slope, v_slope) = density._densities(x), density._slopes(x)
    bound = density.curvature(np.array([left]), np.array([right]))[0]
    rounded = 1e-15 * w.max() / scale + 1e-9
    assert (2 * w + x * w_slope - v_slope).max() <= bound * (1 + 1e-6) + rounded


@given(
    predictors(),
    st.sampled_from([ClampedLaplace, TruncatedLaplace, ClampedPlateau]),
    st.sampled_from([1e-9, 1e-3, 0.01, 0.1, 1.0]),
    st.floats(0, 1),
    st.floats(-60, 60),
)
@example(Predictor([0.5], [1.0], [0.5]), ClampedLaplace, 1e-9, 0.5, 1.0)
@example(Predictor([0.0], [1.0], [0.0]), TruncatedLaplace, 1e-9, 0.0, 60.0)
@example(Predictor([0.25], [1.0], [0.25]), ClampedPlateau, 0.1, 0.5, 1.0)
@example(Predictor([0.75], [1.0], [0.0]), ClampedLaplace, 0.001, 0.0, 5.0)
@example(Predictor([0.5], [1.0], [1.0]), ClampedLaplace, 1e-9, 0.5, 1.5)
@example(Predictor([0.5], [1.0], [1.0]), TruncatedLaplace, 1e-9, 0.5, -1.5)
@example(Predictor([0.5], [1.0], [1.0]), ClampedPlateau, 1e-9, 0.5, 1.5)
@example(Predictor([0.75], [1.0], [0.0]), ClampedLaplace, 0.001, 0.0, 50.0)
def test_curvature_is_at_least_what_it_bounds(
    q: Predictor, kind: Callable[[float], Noise], scale: float, near: float, scales: float
) -> None:
    density = kind(scale).density_after(q.p, np.stack([q.mass, q.positive]))
    assert isinstance(density, Decays)
    left, right = np.sort(np.clip([near, near + scales * scale], 0, 1))
    x = np.concatenate([np.linspace(left, right, 50), q.p[(left <= q.p) & (q.p <= right)]])
    for piece in (density.piece_of(x), density.piece_of(np.nextafter(x, -1))):  # densities have kinks at values
        start, stop = density.edges[piece], density.edges[piece + 1]
        falling = density.left[piece].T * np.exp((start - x) / scale)
        rising = density.right[piece].T * np.exp((x - stop) / scale)
        (w, _), (w_slope, v_slope) = density.at(piece, x), (rising - falling) / scale
        bound = density.curvature(np.array([left]), np.array([right]))[0]
        rounded = 1e-15 * w.max() / scale + 1e-300  # a slope of 1/s times a p_hat that is rounded; subnormal numbers
        assert (2 * w + x * w_slope - v_slope).max() <= bound * (1 + 1e-6) + rounded


@costly(300)
@given(
    predictors(),
    st.sampled_from([ClampedGaussian, TruncatedGaussian, ClampedLaplace, TruncatedLaplace, ClampedPlateau]),
    st.sampled_from([1e-11, 1e-9, 1e-7, 1e-4]),
    st.booleans(),
)
@example(Predictor([0.0, 0.9], [0.5, 0.5], [0.0, 0.45]), ClampedLaplace, 1e-9, False)
@example(Predictor([0.0, 0.9], [0.5, 0.5], [0.0, 0.45]), ClampedGaussian, 1e-9, False)
@example(Predictor([0.0, 0.7, 1.0], [0.1, 0.4, 0.5], [0.0, 0.28, 0.5]), ClampedPlateau, 1e-9, False)
@example(Predictor([1e-11, 1.14397e-07, 1.0], [0.93, 3.7e-14, 0.07], [0.93, 0.0, 0.07]), ClampedGaussian, 8.5e-9, False)
def test_no_chord_is_above_cdl_after_narrow_noise(
    q: Predictor, kind: Callable[[float], Noise], scale: float, calibrated: bool
) -> None:
    """CDL may be as small as the scale, where the posterior of a value is its prediction."""
    after = SmoothedPredictor(q.calibrated() if calibrated else q, kind(scale))
    steps = np.concatenate([-np.geomspace(20, 0.01, 60), [0.0], np.geomspace(0.01, 20, 60)])
    x = np.unique(np.clip(np.append(q.p[:, None] + scale * steps, [0.0, 0.5, 1.0]), 0, 1))
    r = after.profile(x)
    chord = over_half(*bridge(x, r, ((0.0, float(r[0])), (1.0, float(r[-1])))))
    assert 2 * max(chord, float(after.profile(0.5))) <= after.cdl() + 1e-12


@given(predictors(), st.sampled_from([0.003, 0.03, 0.3]), st.floats(0, 1))
@example(Predictor([0.0, 2.0**-14, 0.18], [5e-11, 0.277, 0.723 - 5e-11], [0.0, 0.277, 0.0]), 0.03, 0.44921875)
def test_gaussian_pieces_are_integrated(q: Predictor, scale: float, mu: float) -> None:
    density = ClampedGaussian(scale).density_after(q.p, np.stack([q.mass, q.positive]))
    assert isinstance(density, Bells)
    low, high = density.ends.min(axis=0), density.ends.max(axis=0)
    piece = np.flatnonzero((low < mu) & (high > mu))[:20]
    found = density.partly(piece, np.full(len(piece), mu))
    for one, value in zip(piece, found, strict=True):
        x = np.linspace(density.edges[one], density.edges[one + 1], 2001)
        w, v = density._densities(x)
        gain = v - mu * w
        left, right = gain[:-1], gain[1:]
        # Straight lines between the points, cut where they change sign: of a short positive part a point is much.
        cut = np.maximum(left, right) ** 2 / (2 * np.maximum(np.abs(right - left), 1e-300))
        above = np.where(left * right < 0, cut, np.maximum((left + right) / 2, 0.0))
        assert value == pytest.approx(float(above @ np.diff(x)), rel=1e-4, abs=1e-12)


@given(
    st.lists(
        st.tuples(st.floats(0.1, 30) | st.floats(15, 23), st.booleans(), st.floats(0.1, 1)), min_size=1, max_size=8
    ),
    st.sampled_from([1e-3, 1e-5, 1e-7]),
)
@example([(1.0, False, 1.0), (1.5625, True, 0.953125), (0.53125, False, 1.0)], 1e-5)  # two roots between nodes
def test_coarse_nodes_are_as_good_as_fine_ones(rows: list[tuple[float, bool, float]], scale: float) -> None:
    """Values some scales apart: where only one is near, the grid of an eighth of the scale may be left out."""
    p = 0.45 + scale * np.cumsum([gap for gap, _, _ in rows])
    mass = np.array([mass for _, _, mass in rows])
    weights = np.stack([mass, mass * [y for _, y, _ in rows]]) / mass.sum()
    coarse = ClampedGaussian(scale).density_after(p, weights)
    fine = np.arange(p[0] - 12 * scale, p[-1] + 12 * scale, scale / 8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bells, "_nodes", lambda *_: np.concatenate([[0.0], fine, [1.0]]))
        whole = ClampedGaussian(scale).density_after(p, weights)
    mu = np.concatenate([np.linspace(0, 1, 21), p, p + scale, [1e-9, 1e-6, 1e-3, 1 - 1e-3, 1 - 1e-6, 1 - 1e-9]])
    np.testing.assert_allclose(coarse.regret(mu), whole.regret(mu), rtol=0, atol=3e-13)
    # A place near 1/2 is rounded by up to 2^-54, and a density of this scale changes there by that part of the scale.
    rounded = 2.0**-53 / scale
    assert coarse.absolute_bias() == pytest.approx(bias_on_a_grid(fine, p, weights, scale), abs=1e-12 + rounded)


def bias_on_a_grid(x: FloatArray, p: FloatArray, weights: FloatArray, scale: float) -> float:
    """∫ |p·W − V| of bells, cut wherever its sign changes between points of a fine grid."""
    mass, positive = weights

    def bias(t: float) -> float:
        return float((t * mass - positive) @ np.exp(-(((t - p) / scale) ** 2) / 2))

    def slope(t: float) -> float:
        z = (t - p) / scale
        return float((scale * mass - (t * mass - positive) * z) @ np.exp(-z * z / 2))

    def integral(t: FloatArray) -> FloatArray:
        z = (t[:, None] - p) / scale
        return np.asarray(ndtr(z) @ (p * mass - positive) - np.exp(-z * z / 2) @ mass * scale / sqrt(2 * np.pi))

    def roots(f: Callable[[float], float], x: FloatArray) -> list[float]:
        signs = np.sign([f(t) for t in x])
        pairs = zip(x[:-1][signs[:-1] * signs[1:] < 0], x[1:][signs[:-1] * signs[1:] < 0], strict=True)
        return [brentq(f, left, right, xtol=1e-10 * scale) for left, right in pairs]

    x = np.sort(np.append(x, roots(slope, x)))  # so that two roots between points are seen
    return float(np.abs(np.diff(integral(np.sort(np.append(x, roots(bias, x)))))).sum())


@pytest.mark.parametrize("kind", [ClampedLaplace, TruncatedLaplace, ClampedGaussian, TruncatedGaussian, ClampedPlateau])
@pytest.mark.parametrize("scale", [1e-2, 1e-4, 1e-6])
def test_the_convex_part_is_asked_for_rarely(kind: type[Noise], scale: float) -> None:
    """It costs a root in every gap between rows; the thresholds themselves are many."""
    rng = np.random.default_rng(3)
    p = rng.random(400)
    q = Predictor.from_samples(rng.random(400) < p**2, p)
    asked, gain = [], Density.gain

    def counted(density: Density, mu: FloatArray) -> FloatArray:
        asked.append(len(mu))
        return gain(density, mu)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Density, "gain", counted)
        smoothed = SmoothedPredictor(q, kind(scale))  # type: ignore[call-arg]
        found, (low, high) = smoothed.cdl(), smoothed.cdl_thresholds
    assert sum(asked) <= 100
    mu = np.union1d(np.linspace(0, 1, 2001), np.concatenate([q.p, q.p - scale, q.p + scale]).clip(0, 1))
    r = smoothed.profile(mu)
    assert 2 * cav_at_half(mu, r) <= found + 1e-12
    at_low, at_high = smoothed.profile([low, high])
    share = (high - 0.5) / (high - low) if high > low else 1.0
    assert 2 * (share * at_low + (1 - share) * at_high) == pytest.approx(found, abs=1e-12)


def cav_at_half(x: FloatArray, y: FloatArray) -> float:
    """The highest chord over 1/2, by all pairs."""
    left, right = x <= 0.5, x >= 0.5
    a, b = x[left][:, None], x[right]
    with np.errstate(divide="ignore", invalid="ignore"):
        chords = ((b - 0.5) * y[left][:, None] + (0.5 - a) * y[right]) / (b - a)
    return float(np.nanmax(chords))
