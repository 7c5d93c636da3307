"""One seed for everything: each role draws from a stream of its own, and bounds hold as with seeds of their own."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import trustcal as tc
from trustcal.checking import Role, generator
from trustcal.forecasters import CalibratedForecaster, SmoothedForecaster, adversaries
from trustcal.forecasters.forecaster import Forecast
from trustcal.forecasters.post_processing import rain
from trustcal.guarantees import online_cdl, online_ece
from trustcal.noise import UniformNoise

N = 20_000
FULL = UniformNoise(0.5)
"""Noise that returns, for the prediction 1/2, the uniform number it draws."""


def drawn(seed: int) -> dict[str, np.ndarray]:
    """What each public way to draw makes of a seed, on a scale that rises or falls with its random numbers."""
    half = np.full(N, 0.5)
    signs, coins = adversaries.SignPreserving(N, rng=seed), Forecast((0.5,), (1.0,))
    tossed = np.empty(N)
    for t in range(N):
        tossed[t] = signs.choose(coins)
        signs.observe(0.5, int(tossed[t]))
    forecaster = CalibratedForecaster(N, rng=seed)
    return {
        "a generator of the user": np.random.default_rng(seed).random(N),
        "noise in the order of rows": tc.perturb(half, FULL, rng=seed),
        "noise by row id": tc.perturb(half, FULL, ids=np.arange(N), seed=seed),
        "online noise": tc.OnlineSmoother(FULL, cells=1000, rng=seed).transform_many(half),
        "forecaster": forecaster._coins.between(0, N),
        "iid": adversaries.iid(0.5, N, rng=seed).outcomes,
        "walk": adversaries.walk(N, rng=seed).outcomes - half,
        "sign preserving": tossed,
        "rain": rain(N, rng=seed).outcomes,
        "resampling": generator(seed).random(N),
        "splits": generator(seed, Role.SPLITS).random(N),
    }


SAME_ROLE = {("iid", "walk"), ("iid", "sign preserving"), ("walk", "sign preserving")}


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_no_two_roles_draw_the_same_numbers_from_one_seed(seed: int) -> None:
    draws = drawn(seed)
    for one, other in combinations(draws, 2):
        if (one, other) not in SAME_ROLE:
            assert abs(np.corrcoef(draws[one], draws[other])[0, 1]) < 5 / np.sqrt(N), (one, other)


def test_no_two_roles_share_a_stream() -> None:
    states = {tuple(role.stream(0).generate_state(4).tolist()) for role in Role}
    children = {tuple(child.generate_state(4).tolist()) for child in np.random.SeedSequence(0).spawn(len(Role))}
    assert len(states) == len(Role)
    assert not states & children


def test_bounds_hold_for_an_adversary_and_a_smoother_of_one_seed() -> None:
    noise, horizon = UniformNoise(0.1), 10_000
    for seed in range(5):
        smoother = tc.OnlineSmoother(noise, horizon=horizon, end="middle", rng=seed)
        outcomes = adversaries.iid(0.5, horizon, rng=seed).outcomes
        said = smoother.transform_many(np.full(horizon, 0.5))
        assert tc.ece(outcomes, said) < online_ece(noise, 1e-9, horizon, end="middle").value
        assert tc.cdl(outcomes, said) < online_cdl(noise, 1e-9, horizon, end="middle").value


@pytest.mark.parametrize("seed", [0, 1])
def test_a_smoothed_forecaster_of_one_seed_draws_what_it_forecasts(seed: int) -> None:
    horizon = 2000
    smoother = tc.OnlineSmoother(UniformNoise(0.2), cells=20, end="middle", rng=seed)
    safe = SmoothedForecaster(CalibratedForecaster(horizon, rng=seed), smoother)
    surplus, outcomes = np.empty((2, horizon)), np.random.default_rng(5).integers(0, 2, horizon)
    for t in range(horizon):
        values, weights = (np.array(x) for x in safe.forecast())
        moments = np.array([values @ weights, values**2 @ weights])
        announced = safe.predict_one()
        surplus[:, t] = [announced, announced**2] - moments
        safe.learn_one(outcomes[t])
    assert (np.abs(surplus.mean(axis=1)) < 4 * surplus.std(axis=1) / np.sqrt(horizon)).all()
