"""Post-processing: exact laws on a grid, draws, and the online algorithm."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad

from tests.reference import REFERENCE
from tests.strategies import calibrated_predictors, costly, predictors, probabilities
from tests.tampering import resealed
from trustcal.checking import Role
from trustcal.kernels.decay import decayed, running_pairs
from trustcal.measures.decision import ece
from trustcal.noise import (
    ClampedGaussian,
    ClampedLaplace,
    ClampedPlateau,
    Noise,
    RandomRounding,
    TruncatedGaussian,
    TruncatedLaplace,
    UniformNoise,
)
from trustcal.predictor import Predictor
from trustcal.smoothing import OnlineSmoother, perturb, smooth
from trustcal.smoothing.draws import uniforms

NOISES: list[Noise] = [
    TruncatedLaplace(0.1),
    TruncatedLaplace(3.0),
    ClampedLaplace(0.2),
    UniformNoise(0.05),
    UniformNoise(0.3),
    UniformNoise(1.7),
    TruncatedGaussian(0.05),
    TruncatedGaussian(0.6),
    ClampedGaussian(0.2),
    ClampedPlateau(0.1),
    ClampedPlateau(2.0),
    RandomRounding(7.5),
    RandomRounding(12),
]
THREE = Predictor([0.1, 0.3, 0.9], [0.375, 0.375, 0.25], [0.125, 0.25, 0.125])

noises = st.one_of(
    st.builds(
        lambda kind, scale: kind(scale),
        st.sampled_from(
            [TruncatedLaplace, ClampedLaplace, UniformNoise, TruncatedGaussian, ClampedGaussian, ClampedPlateau]
        ),
        st.sampled_from([1e-6, 1e-3, 0.03, 0.125, 0.25, 1.0, 40.0, 1e6]),
    ),
    st.sampled_from([0.4, 1.0, 3.0, 4.5, 17.0]).map(RandomRounding),
)


def on_cells(law: Predictor, cells: int, end: str = "left") -> NDArray[np.float64]:
    """Rows mass and positive, with the cells that the predictor leaves out."""
    index = np.round(law.p * cells - (0.5 if end == "middle" else 0)).astype(int)
    table = np.zeros((2, cells))
    table[:, index] = law.mass, law.positive
    return table


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("end", ["left", "middle"])
def test_grid_law_is_the_integral_of_the_density(noise: Noise, end: Any) -> None:
    cells = 7
    found = on_cells(smooth(THREE, noise, cells, end), cells, end)
    expected = np.zeros((2, cells))
    for p, mass, positive in zip(THREE.p, THREE.mass, THREE.positive, strict=True):
        kinks = sorted({p, *(abs(p + s * getattr(noise, "width", 0.0)) for s in (-1, 1))})
        share = np.zeros(cells)
        for i in range(cells):
            cuts = [i / cells, *(x for x in kinks if i / cells < x < (i + 1) / cells), (i + 1) / cells]
            for a, b in pairwise(cuts):
                share[i] += quad(lambda x, p=p: float(noise.density(x, p)), a, b, epsabs=1e-14, epsrel=1e-13)[0]
        atoms = noise.atoms(p)
        for at, weight in zip(atoms.at, atoms.mass, strict=True):
            share[min(int(Fraction(float(at)) * cells), cells - 1)] += weight
        expected += np.outer([mass, positive], share)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_grid_law_against_a_million_draws(noise: Noise) -> None:
    cells, draws = 9, 10**6
    rng = np.random.default_rng(5)
    value = rng.choice(len(THREE), size=draws, p=THREE.mass)
    y = rng.random(draws) < THREE.p_hat[value]
    online = OnlineSmoother(noise, cells=cells, rng=11)
    for drawn in (perturb(THREE.p[value], noise, rng=rng), online.transform_many(THREE.p[value])):
        cell = np.minimum((drawn * cells + 1e-9).astype(int), cells - 1)
        law = on_cells(smooth(THREE, noise, cells), cells)
        for row, chosen in zip(law, (cell, cell[y]), strict=True):
            error = np.sqrt(np.maximum(row * (1 - row), 0) / draws)
            np.testing.assert_array_less(np.abs(np.bincount(chosen, minlength=cells) / draws - row), 5 * error + 1e-12)


@pytest.mark.parametrize("end", ["left", "middle"])
@given(q=predictors(), noise=noises, cells=st.sampled_from([1, 2, 3, 10, 64]))
@example(q=Predictor([5e-324], [1.0], [5e-324]), noise=ClampedLaplace(1e-6), cells=1)
@example(q=Predictor([0, 5e-324, 0.25, 0.5, 1], [0.2] * 5, [0, 0, 0, 0.2, 0.2]), noise=ClampedPlateau(1e-3), cells=1)
def test_grid_law_is_the_difference_of_distribution_functions(q: Predictor, noise: Noise, cells: int, end: Any) -> None:
    law = smooth(q, noise, cells, end)
    assert abs(law.mass.sum() - 1) <= 1e-14
    assert abs(law.base_rate - q.base_rate) <= 1e-14
    edges = np.arange(cells + 1) / cells
    before = np.where(edges > 0, np.nextafter(edges, -1), -1.0)
    before[-1] = 1.0
    share = np.diff(noise.cdf(before, q.p[:, None]), axis=1)
    expected = np.stack([q.mass, q.positive]) @ share / q.mass.sum()
    # nextafter moves a distribution function by the density times 1e-16
    np.testing.assert_allclose(on_cells(law, cells, end), expected, rtol=0, atol=1e-14 + 2e-16 * _steepness(noise))


def _steepness(noise: Noise) -> float:
    return 0.0 if isinstance(noise, RandomRounding) else 1 / float(getattr(noise, "scale", getattr(noise, "width", 1)))


@given(q=calibrated_predictors(), noise=noises, cells=st.integers(1, 200), end=st.sampled_from(["left", "middle"]))
def test_noise_on_calibrated_predictions_costs_the_displacement(
    q: Predictor, noise: Noise, cells: int, end: Any
) -> None:
    wide = 1 / cells if end == "left" else 0.5 / cells
    law = smooth(q, noise, cells, end)
    assert ece(law) <= noise.displacement().value + wide + 1e-12
    assert ece(law) <= law.moved + 1e-12


def test_rounding_needs_no_cells() -> None:
    law = smooth(Predictor([0.3125, 0.5], [0.5, 0.5], [0.5, 0.0]), RandomRounding(4))
    assert law == Predictor([0.25, 0.5], [0.375, 0.625], [0.375, 0.125])
    assert law.moved == pytest.approx(0.5 * (0.75 * 0.0625 + 0.25 * 0.1875))


@pytest.mark.parametrize(
    "noise", [TruncatedLaplace(0.1), ClampedLaplace(1e-3), ClampedPlateau(1e-3), UniformNoise(0.01)], ids=repr
)
def test_many_values_keep_all_digits(noise: Noise) -> None:
    rng = np.random.default_rng(1)
    p = np.unique(rng.random(200_000))
    q = Predictor(p, np.full(len(p), 1 / len(p)), p**2 / len(p))
    law = on_cells(smooth(q, noise, 5), 5)
    below = np.array(
        [[float((row * noise.cdf(edge, p)).sum()) for edge in (0.2, 0.4, 0.6, 0.8)] for row in (q.mass, q.positive)]
    )
    np.testing.assert_allclose(np.cumsum(law, axis=1)[:, :-1], below, rtol=0, atol=1e-14)


@given(st.lists(st.tuples(probabilities, st.floats(0, 1)), min_size=1, max_size=30), st.sampled_from([1e-3, 0.1, 5.0]))
def test_decayed_sums(points: list[tuple[float, float]], scale: float) -> None:
    x, weight = (np.array(column) for column in zip(*sorted(points), strict=True))
    expected = [
        sum(w * np.exp(-(at - b) / scale) for b, w in zip(x[: i + 1], weight, strict=False)) for i, at in enumerate(x)
    ]
    np.testing.assert_allclose(decayed(x, weight, scale), expected, rtol=1e-13, atol=1e-300)
    hi, lo = running_pairs(weight)
    assert float(hi[-1] + lo[-1]) == pytest.approx(float(np.sum(weight)), abs=1e-13)


def test_kernels_compiled_and_plain_agree() -> None:
    rng = np.random.default_rng(2)
    x, weight = np.sort(rng.random(500)), rng.random(500)
    np.testing.assert_allclose(decayed.compiled(x, weight, 0.05), decayed.function(x, weight, 0.05), rtol=1e-14)
    for plain, compiled in zip(running_pairs.function(weight), running_pairs.compiled(weight), strict=True):
        np.testing.assert_array_equal(plain, compiled)


# Draws


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_draws_by_id_repeat_in_any_order(noise: Noise) -> None:
    rng = np.random.default_rng(3)
    p, ids = rng.random(40_000), rng.permutation(10**6)[:40_000]
    whole = perturb(p, noise, ids=ids, seed=9)
    order = rng.permutation(len(p))
    np.testing.assert_array_equal(perturb(p[order], noise, ids=ids[order], seed=9), whole[order])
    np.testing.assert_array_equal([perturb([p[i]], noise, ids=[ids[i]], seed=9)[0] for i in range(20)], whole[:20])
    assert (perturb(p, noise, ids=ids, seed=10) != whole).any()


def test_draws_by_id_are_uniform() -> None:
    for seed in (0, 1, 2**64 - 1):
        u = perturb(np.full(10**6, 0.5), UniformNoise(0.5), ids=np.arange(10**6), seed=seed)
        counts = np.bincount((u * 100).astype(int), minlength=100)
        assert (((counts - 10**4) ** 2) / 10**4).sum() < 99 + 5 * np.sqrt(2 * 99)
        assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 5e-3


def test_draws_by_name() -> None:
    noise = TruncatedLaplace(0.1)
    a = perturb([0.2, 0.7], noise, ids=["ann", "bob"], seed=1)
    assert a.tolist() == perturb([0.7, 0.2], noise, ids=["bob", "ann"], seed=1)[::-1].tolist()


def test_draws_refuse() -> None:
    noise = UniformNoise(0.1)
    with pytest.raises(ValueError, match="seed belongs to ids"):
        perturb([0.5], noise, seed=1)
    with pytest.raises(ValueError, match="need seed="):
        perturb([0.5], noise, ids=[1])
    with pytest.raises(ValueError, match="pair up"):
        perturb([0.5], noise, ids=[1, 2], seed=1)
    with pytest.raises(ValueError, match="integers or strings"):
        perturb([0.5], noise, ids=[1.5], seed=1)
    with pytest.raises(ValueError, match="in \\[0, 1\\]"):
        perturb([1.5], noise, rng=1)
    with pytest.raises(ValueError, match="2\\*\\*64"):
        perturb([0.5], noise, ids=[1], seed=-1)
    with pytest.raises(ValueError, match="noise must be"):
        perturb([0.5], 0.1)  # type: ignore[arg-type]


# Online


@pytest.mark.parametrize("case", REFERENCE["online_exact"], ids=lambda case: f"T={case['T']}")
@pytest.mark.parametrize(("end", "key"), [("left", "expected_ece_left"), ("middle", "expected_ece_mid")])
def test_online_expected_ece(case: dict[str, Any], end: Any, key: str) -> None:
    """E[ECE] is a sum over cells of E|Σ_t 1{in cell}·(v − θ_t)|, each by the law of (zeros, ones) in the cell."""
    noise, m, rounds = TruncatedLaplace(1 / float(case["lam"])), case["m"], case["T"]
    assert OnlineSmoother(noise, horizon=rounds).cells == m
    total = 0.0
    for i in range(m):
        counts = [np.ones(1), np.ones(1)]
        for q, y in zip(case["q"], case["theta"], strict=True):
            law = smooth(Predictor([float(Fraction(q))], [1.0], [0.0]), noise, m, end)
            v, share = float(law.p[i]), float(law.mass[i])
            counts[y] = np.convolve(counts[y], [1 - share, share])
        zeros, ones = np.arange(len(counts[0]))[:, None], np.arange(len(counts[1]))
        total += float((np.outer(*counts) * np.abs(zeros * v + ones * (v - 1))).sum())
    assert total / rounds == pytest.approx(float(case[key]), abs=1e-12)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_one_at_a_time_or_many_is_the_same_stream(noise: Noise) -> None:
    q = np.random.default_rng(4).random(300)
    one, many = (OnlineSmoother(noise, horizon=300, end="middle", rng=8) for _ in range(2))
    stream = [one.transform_one(float(x)) for x in q]
    np.testing.assert_array_equal(stream, np.concatenate([many.transform_many(q[:7]), many.transform_many(q[7:])]))
    assert one.rounds == many.rounds == 300


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@given(cut=st.integers(0, 50))
@costly(10)
def test_saved_state_continues_to_the_same_bits(noise: Noise, cut: int) -> None:
    q = np.linspace(0, 1, 50)
    whole, begun = (OnlineSmoother(noise, cells=23, rng=2**64 - 1) for _ in range(2))
    first = begun.transform_many(q[:cut])
    resumed = OnlineSmoother.from_json(begun.to_json(), noise=noise)
    np.testing.assert_array_equal(np.concatenate([first, resumed.transform_many(q[cut:])]), whole.transform_many(q))
    assert resumed.to_json() == whole.to_json()


def test_stream_is_the_draws_by_round() -> None:
    q = np.linspace(0, 1, 100)
    rounding = RandomRounding(8)
    drawn = rounding.quantile(uniforms(6, Role.ONLINE_NOISE, np.arange(100, dtype=np.uint64)), q)
    np.testing.assert_array_equal(OnlineSmoother(rounding, rng=6).transform_many(q), drawn)


@pytest.mark.parametrize(
    ("horizon", "cells"),
    [(1, 1), (2, 2), (8, 2), (9, 3), (26, 3), (27, 3), (28, 4), (10**6, 100), (10**18 + 1, 10**6 + 1)],
)
def test_cells_for_a_horizon(horizon: int, cells: int) -> None:
    assert OnlineSmoother(UniformNoise(0.1), horizon=horizon).cells == cells


def test_seeds() -> None:
    noise = UniformNoise(0.1)
    a, b = (OnlineSmoother(noise, cells=9, rng=np.random.default_rng(1)) for _ in range(2))
    assert a.seed == b.seed != OnlineSmoother(noise, cells=9).seed
    assert repr(a) == "OnlineSmoother(UniformNoise(width=0.1), cells=9, end='left', rounds=0)"


def test_online_refuses() -> None:
    noise = UniformNoise(0.1)
    wrongs: list[dict[str, Any]] = [{"horizon": 0}, {"cells": 0}, {"horizon": 2.5}, {"cells": True}]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="must be a whole number, 1 or more"):
            OnlineSmoother(noise, **wrong)
    with pytest.raises(ValueError, match="give horizon="):
        OnlineSmoother(noise)
    with pytest.raises(ValueError, match="not both"):
        OnlineSmoother(noise, horizon=8, cells=2)
    with pytest.raises(ValueError, match="end must be"):
        OnlineSmoother(noise, horizon=8, end="right")  # type: ignore[arg-type]
    smoother = OnlineSmoother(noise, horizon=8)
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="probabilities in"):
            smoother.transform_one(bad)
    with pytest.raises(ValueError, match="one dimension"):
        smoother.transform_many([[0.5]])
    assert smoother.rounds == 0


def test_foreign_states_are_refused() -> None:
    smoother = OnlineSmoother(UniformNoise(0.1), horizon=8, rng=1)
    state = json.loads(smoother.to_json())
    with pytest.raises(ValueError, match=r"belongs to UniformNoise\(width=0.1\), not to UniformNoise\(width=0.2\)"):
        OnlineSmoother.from_json(smoother.to_json(), noise=UniformNoise(0.2))
    for change, message in (
        ({"version": 3}, "version 3"),
        ({"trustcal": "Monitor"}, "not a saved OnlineSmoother"),
        ({"noise": {"name": "Cauchy", "scale": 1}}, "does not have"),
        ({"noise": {"name": "Atoms"}}, "does not have"),
        ({"noise": {"name": "Noise"}}, "does not have"),
        ({"noise": {"name": "UniformNoise", "scale": 1}}, "do not fit"),
        ({"noise": {"name": "UniformNoise", "width": -1}}, "width must be"),
        ({"rounds": -1}, "rounds must be"),
        ({"seed": "x"}, "seed must be"),
        ({"cells": 0}, "cells must be"),
    ):
        with pytest.raises(ValueError, match=message):
            OnlineSmoother.from_json(resealed(state | change))
    with pytest.raises(ValueError, match="lacks seed"):
        OnlineSmoother.from_json(json.dumps({key: value for key, value in state.items() if key != "seed"}))
    with pytest.raises(ValueError, match="not JSON"):
        OnlineSmoother.from_json("{")


def test_smooth_refuses() -> None:
    with pytest.raises(ValueError, match="cells must be"):
        smooth(THREE, UniformNoise(0.1), 0)
    with pytest.raises(ValueError, match="end must be"):
        smooth(THREE, UniformNoise(0.1), 3, "right")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="noise must be"):
        smooth(THREE, 0.1, 3)  # type: ignore[call-overload]
