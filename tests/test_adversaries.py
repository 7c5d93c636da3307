"""Adversaries: their choices by hand and by definition; they never see the draw."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trustcal as tc
from trustcal.forecasters import (
    CalibratedForecaster,
    CombinedForecaster,
    DecisionForecaster,
    ElementaryPredictor,
    Forecast,
    Forecaster,
    MultiCalibeating,
    NoisyMean,
    PerturbedLeader,
    RunningMean,
    SmoothedForecaster,
    StepForecaster,
)
from trustcal.forecasters.adversaries import (
    Adversary,
    Greedy,
    Opposing,
    Replay,
    SignPreserving,
    drift,
    duel,
    hard,
    iid,
    replay,
    switch,
    walk,
)

OBLIVIOUS: dict[str, Callable[[int, int], Replay]] = {
    "iid": lambda horizon, seed: iid(0.3, horizon, seed),
    "drift": drift,
    "walk": walk,
    "switch": switch,
    "hard": hard,
}


@pytest.mark.parametrize("make", OBLIVIOUS.values(), ids=list(OBLIVIOUS))
def test_the_same_seed_the_same_outcomes(make: Callable[[int, int], Replay]) -> None:
    one, same, other = (make(1000, seed).outcomes for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert set(one) == {0, 1}
    assert not one.flags.writeable


def test_frequencies() -> None:
    n = 48_000
    sd = 5 * 0.5 / np.sqrt(n / 10)
    assert iid(0.3, n, 1).outcomes.mean() == pytest.approx(0.3, abs=sd)
    waves = drift(n, 1).outcomes.reshape(12, -1).mean(axis=1)  # quarter waves
    assert waves[0] == pytest.approx(0.5 + 0.8 / np.pi, abs=sd)
    assert waves[2] == pytest.approx(0.5 - 0.8 / np.pi, abs=sd)
    halves = hard(n, 1).outcomes.reshape(2, -1).mean(axis=1)
    assert halves == pytest.approx([0.5 - (n**-0.25 / 2 - n**-0.5), 0.5 + (n**-0.25 / 2 - n**-0.5)], abs=sd)
    long = switch(n, 1).outcomes
    assert (long[1:] != long[:-1]).mean() == pytest.approx(0.32, abs=sd)
    assert np.abs(np.diff(walk(n, 1).outcomes.reshape(200, -1).mean(axis=1))).mean() < 0.15


def test_opposing_and_greedy_by_hand() -> None:
    assert [Opposing().choose(Forecast((p,), (1.0,))) for p in (0.0, 0.49, 0.5, 1.0)] == [1, 1, 0, 0]
    greedy = Greedy()
    assert greedy.choose(Forecast((0.25,), (1.0,))) == 1
    greedy.observe(0.25, 0)
    assert greedy.choose(Forecast((0.25,), (1.0,))) == 1  # |−1/4 + 3/4| = |−1/4 − 1/4|: against the mean
    greedy.observe(0.25, 0)
    assert greedy.choose(Forecast((0.25,), (1.0,))) == 0


values = st.integers(0, 4).map(lambda i: i / 4)


@given(
    st.lists(st.tuples(values, st.integers(0, 1)), max_size=20), st.dictionaries(values, st.integers(1, 5), min_size=1)
)
def test_greedy_is_greedy(past: list[tuple[float, int]], law: dict[float, int]) -> None:
    greedy = Greedy()
    for p, y in past:
        greedy.observe(p, y)
    total = sum(law.values())

    def expected(y: int) -> float:
        error = 0.0
        for p, weight in law.items():
            rows = [*past, (p, y)]
            error += weight / total * sum(abs(sum(z - v for u, z in rows if u == v)) for v in {u for u, _ in rows})
        return error

    chosen = greedy.choose(Forecast(tuple(law), tuple(weight / total for weight in law.values())))
    assert expected(chosen) >= expected(1 - chosen) - 1e-9


@pytest.mark.parametrize("make", [lambda: ElementaryPredictor(400), RunningMean])
def test_deterministic_forecasters_lose_to_the_opposite(make: Callable[[], Forecaster]) -> None:
    said, y = duel(make(), Opposing(), 400)
    assert np.array_equal(y, said < 0.5)
    assert tc.ece(tc.Predictor.from_samples(y, said)) >= 0.5 - 1e-12


def test_sign_preserving_moves_away_from_the_bias() -> None:
    adversary = SignPreserving(125, rng=0)  # epochs of 25 coins
    for _ in range(25):
        adversary.choose(Forecast((0.4,), (1.0,)))
        adversary.observe(0.4, 1)  # below 1/2, too many ones: from now on the coin is above
    assert (adversary._low, adversary._high) == (0.5, 0.75)
    for _ in range(25):
        adversary.observe(0.7, 0)  # above 0.625, too many zeros: from now on below; but that is too short
    assert (adversary._low, adversary._high) == (0.25, 0.75)


@pytest.mark.parametrize("adversary", [Opposing, Greedy, lambda: SignPreserving(300, rng=1), lambda: iid(0.5, 300, 2)])
@pytest.mark.parametrize(
    "make",
    [
        lambda seed: CalibratedForecaster(300, rng=seed),
        lambda seed: DecisionForecaster(300, rng=seed),
        lambda seed: PerturbedLeader(300, rng=seed),
        lambda seed: NoisyMean(rng=seed),
        lambda seed: StepForecaster(300, rng=seed),
        lambda seed: CombinedForecaster((RunningMean(), CalibratedForecaster(300, rng=seed)), MultiCalibeating(2)),
        lambda seed: SmoothedForecaster(
            CalibratedForecaster(300, rng=seed), tc.OnlineSmoother(tc.TruncatedLaplace(0.1), horizon=300, rng=seed)
        ),
    ],
)
def test_the_outcome_does_not_depend_on_the_draw(
    make: Callable[[int], Forecaster], adversary: Callable[[], Adversary]
) -> None:
    first = [duel(make(seed), adversary(), 1)[1].tolist() for seed in range(8)]
    assert first == first[:1] * 8
    one, same = (duel(make(1), adversary(), 300) for _ in range(2))
    assert np.array_equal(one[0], same[0])
    assert np.array_equal(one[1], same[1])


def test_replay_is_the_same_one_at_a_time() -> None:
    outcomes = iid(0.4, 2000, 1).outcomes
    said, y = duel(CalibratedForecaster(2000, rng=1), Replay(outcomes), 2000)
    forecaster, replay, slow = CalibratedForecaster(2000, rng=1), Replay(outcomes), []
    for _ in range(2000):
        z = replay.choose(forecaster.forecast())
        slow.append(forecaster.predict_one())
        forecaster.learn_one(z)
        replay.observe(slow[-1], z)
    assert said.tolist() == slow
    assert np.array_equal(y, outcomes)
    with pytest.raises(ValueError, match="all 2000 outcomes have been replayed"):
        replay.choose(forecaster.forecast())


def test_refusals() -> None:
    with pytest.raises(ValueError, match="outcomes must be 0 or 1: 1 of 2 rows"):
        Replay([0, np.nan])
    with pytest.raises(ValueError, match="5 rounds need as many outcomes, but there are 2"):
        duel(RunningMean(), Replay([0, 1]), 5)
    with pytest.raises(ValueError, match="5 rounds need as many outcomes, but there are 2"):
        replay([0, 1], 5)
    with pytest.raises(ValueError, match=r"probability in \[0, 1\]"):
        iid(float("nan"), 10)
    for make in (drift, walk, switch, hard, SignPreserving):
        with pytest.raises(ValueError, match="horizon must be a whole number"):
            make(0)
