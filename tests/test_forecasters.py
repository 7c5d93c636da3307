"""Forecasters: rounds by hand, the proved bounds for every string of outcomes, saving, replay, errors."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from functools import cache
from math import ceil, exp, log, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import trustcal as tc
import trustcal.forecasters
from tests.strategies import costly
from tests.tampering import resealed
from trustcal.forecasters import (
    CalibratedForecaster,
    CombinedForecaster,
    DecisionForecaster,
    ElementaryPredictor,
    Forecast,
    Forecaster,
    HedgingForecaster,
    MultiCalibeating,
    NoisyMean,
    PerturbedLeader,
    RunningMean,
    SmoothedForecaster,
    StepForecaster,
)
from trustcal.forecasters.forecaster import Coins, parts_of
from trustcal.guarantees import online_cdl
from trustcal.kernels.forecasting import bucket_pair, drop, exponential_up, fall

MAKERS: dict[str, Callable[[], Forecaster]] = {
    "elementary": lambda: ElementaryPredictor(2500),
    "elementary left": lambda: ElementaryPredictor(2500, end="left"),
    "elementary anytime": ElementaryPredictor,
    "calibrated": lambda: CalibratedForecaster(2500, rng=1),
    "decision": lambda: DecisionForecaster(2500, rng=2),
    "decision square": lambda: DecisionForecaster(2500, potential="square", rng=3),
    "leader": lambda: PerturbedLeader(2500, rng=4),
    "noisy mean": lambda: NoisyMean(rng=8),
    "steps": lambda: StepForecaster(2500, rng=9),
    "hedging": lambda: HedgingForecaster(2500),
    "mean": RunningMean,
    "smoothed": lambda: SmoothedForecaster(
        CalibratedForecaster(2500, rng=5), tc.OnlineSmoother(tc.TruncatedLaplace(0.1), horizon=2500, rng=6)
    ),
    "combined": lambda: CombinedForecaster(
        (RunningMean(), CalibratedForecaster(2500, rng=10), NoisyMean(rng=11)), MultiCalibeating(3)
    ),
    "rounded": lambda: SmoothedForecaster(ElementaryPredictor(), tc.OnlineSmoother(tc.RandomRounding(9.5), rng=7)),
}
every_forecaster = pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))


def one_at_a_time(forecaster: Forecaster, outcomes: list[int]) -> list[float]:
    said = []
    for y in outcomes:
        said.append(forecaster.predict_one())
        forecaster.learn_one(y)
    return said


def strings(rounds: int) -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=rounds))


# Hand-run rounds


def test_elementary_by_hand() -> None:
    forecaster = ElementaryPredictor(12, end="left")  # four cells
    assert one_at_a_time(forecaster, [1, 1, 1, 0, 0, 0]) == [0.0, 0.25, 0.5, 0.75, 0.5, 0.5]
    assert forecaster.balance == [0, 3, -2, -2, 0]
    assert forecaster.certificate().value == pytest.approx(1 / 4 + 7 / (4 * 6))


def test_elementary_refines_by_hand() -> None:
    forecaster = ElementaryPredictor()
    assert one_at_a_time(forecaster, [1, 0, 1, 1, 0, 0]) == [0.5, 0.5, 0.25, 0.75, 0.75, 0.75]
    assert forecaster.cells == 4
    assert forecaster.balance == [0, 0, -2, 0, 0]  # twice what two cells had


def test_calibrated_by_hand() -> None:
    forecaster = CalibratedForecaster(8, rng=0)  # two buckets, from the upper one
    assert forecaster.forecast() == ((0.75,), (1.0,))
    assert one_at_a_time(forecaster, [0]) == [0.75]  # now it is too high by 1/2; the lower one is neither
    assert one_at_a_time(forecaster, [1]) == [0.25]  # now that one is too low by 1/2
    assert forecaster.forecast() == ((0.25, 0.75), (0.5, 0.5))


def test_hedging_by_hand() -> None:
    forecaster = HedgingForecaster(8)
    assert one_at_a_time(forecaster, [1, 0]) == [0.0, 0.5]
    assert forecaster.value == [1.0, -0.5, 0.0]
    assert one_at_a_time(forecaster, [1]) == [pytest.approx(1 / 3)]


def test_running_mean_by_hand() -> None:
    assert one_at_a_time(RunningMean(), [0, 1, 1]) == [0.5, 0.25, 0.5]


# The theorems


@pytest.mark.parametrize("end", ["left", "middle"])
@pytest.mark.parametrize("rounds", [1, 2, 5, 8, pytest.param(11, marks=pytest.mark.slow)])
def test_theorem_o1_for_every_string_of_outcomes(end: tc.cells.End, rounds: int) -> None:
    most = 1.75 if end == "left" else sqrt(1.5)
    assert ElementaryPredictor(rounds, end=end).guarantee(rounds)[0].value <= most / sqrt(rounds) + 1e-12
    for outcomes in strings(rounds):
        forecaster = ElementaryPredictor(rounds, end=end)
        dtc = tc.dtc(tc.Predictor.from_samples(outcomes, one_at_a_time(forecaster, list(outcomes))))
        assert dtc <= forecaster.certificate().value + 1e-12
        assert forecaster.certificate().value <= forecaster.guarantee(rounds)[0].value + 1e-12


@pytest.mark.parametrize("rounds", [1, 2, 3, 6, 7, pytest.param(11, marks=pytest.mark.slow)])
def test_theorem_o1_at_every_time(rounds: int) -> None:
    for outcomes in strings(rounds):
        forecaster = ElementaryPredictor()
        dtc = tc.dtc(tc.Predictor.from_samples(outcomes, one_at_a_time(forecaster, list(outcomes))))
        assert dtc <= forecaster.certificate().value + 1e-12
        assert forecaster.certificate().value <= forecaster.guarantee(rounds)[0].value + 1e-12


@pytest.mark.parametrize(("end", "constant"), [("middle", 2.15), ("left", 3.07)])
def test_theorem_o1_constant_at_every_time(end: tc.cells.End, constant: float) -> None:
    forecaster = ElementaryPredictor(end=end)
    times = [*range(1, 2000), *(3 * 4**k // 2 + extra for k in range(3, 9) for extra in (0, 1, 2))]
    assert constant - 0.02 <= max(sqrt(t) * forecaster.guarantee(t)[0].value for t in times) <= constant


def worst_expected_ece(cells: int, rounds: int) -> float:
    """The game of Foster's forecaster and the best adversary, played out."""

    @cache
    def value(text: str) -> float:
        state = json.loads(text)
        n, s = state["n"], state["s"]
        if state["rounds"] == rounds:
            return float(sum(abs(a - b * (2 * i + 1) / (2 * cells)) for i, (a, b) in enumerate(zip(s, n, strict=True))))
        law = CalibratedForecaster.from_json(text).forecast()
        best = 0.0
        for y in (0, 1):
            total = 0.0
            for p, weight in zip(*law, strict=True):
                i = int(p * cells)
                after = {"n": [*n], "s": [*s], "position": i, "rounds": state["rounds"] + 1}
                after["n"][i] += 1
                after["s"][i] += y
                total += weight * value(resealed(state | after))
            best = max(best, total)
        return best

    return value(CalibratedForecaster(rounds, cells=cells, rng=0).to_json()) / rounds


@pytest.mark.parametrize(("cells", "rounds"), [(1, 4), (2, 8), (3, 7), (5, 6)])
def test_theorem_o2_for_every_adversary(cells: int, rounds: int) -> None:
    bound = CalibratedForecaster(rounds, cells=cells).guarantee(rounds)[0]
    assert bound.value == pytest.approx(1 / (2 * cells) + sqrt(cells / rounds))
    assert worst_expected_ece(cells, rounds) <= bound.value
    assert worst_expected_ece(2, 8) > 0.25  # the game is not empty


@st.composite
def buckets(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    m = draw(st.integers(1, 6))
    n = draw(st.lists(st.one_of(st.integers(0, 9), st.integers(0, 2000)), min_size=m, max_size=m))
    return n, [draw(st.integers(0, many)) for many in n], draw(st.integers(0, m - 1))


def sides(n: list[int], s: list[int]) -> list[int]:
    m = len(n)
    return [(s[i] * m > n[i] * (i + 1)) - (s[i] * m < n[i] * i) for i in range(m)]


@given(buckets())
def test_buckets_are_neither_or_neighbours_of_opposite_sides(state: tuple[list[int], list[int], int]) -> None:
    n, s, at = state
    low, high = bucket_pair(n, s, at)
    where = sides(n, s)
    assert (low == high and where[low] == 0) or (high == low + 1 and where[low] == 1 and where[high] == -1)
    if where[at] == 0:
        assert (low, high) == (at, at)


def potential(n: int, x: float) -> float:
    return sqrt(4 / (n + 4)) * exp(2 * max(x, 0.0) ** 2 / (n + 4))


@given(buckets(), st.integers(0, 1))
def test_theorem_o3_the_potential_does_not_grow(state: tuple[list[int], list[int], int], y: int) -> None:
    n, s, at = state
    m = len(n)
    low, high = bucket_pair(n, s, at)
    steepest = max(2 * max(s[i] - n[i] * (i + 1) / m, n[i] * i / m - s[i], 0) ** 2 / (n[i] + 4) for i in (low, high))
    if steepest > 300:  # the independent formula would overflow; the kernel does not, see below
        assert 0 <= (0.0 if low == high else exponential_up(n, s, low, high)) <= 1
        return
    up = 0.0 if low == high else exponential_up(n, s, low, high)
    growth, scale = 0.0, 1.0
    for i, weight in ((low, 1 - up), (high, up)):
        paid = sqrt(4 / (n[i] + 5)) * (exp(2 / (n[i] + 5)) - 1)
        before = potential(n[i], s[i] - n[i] * (i + 1) / m) + potential(n[i], n[i] * i / m - s[i])
        ones, many = s[i] + y, n[i] + 1
        after = potential(many, ones - many * (i + 1) / m) + potential(many, many * i / m - ones)
        growth += weight * (after - before - paid)
        scale = max(scale, before, after)
    assert growth <= 1e-10 * scale


def test_theorem_o3_constants() -> None:
    n = np.arange(10**6)
    assert 2 + np.sum(np.sqrt(4 / (n + 5)) * np.expm1(2 / (n + 5))) + 8 / sqrt(10**6) < 6.1  # and the tail
    for horizon, bound in ((10**5, 0.0798), (10**6, 0.0291), (10**7, 0.0104)):
        assert DecisionForecaster(horizon).guarantee(horizon)[0].value == pytest.approx(bound, abs=5e-5)


def test_theorem_o3_rate() -> None:
    """The bound times √T/ln T does not grow: with √(T/ln T) buckets it would, as √(ln T)."""
    horizons = [10**k for k in range(4, 15)]
    bounds = [DecisionForecaster(horizon).guarantee(horizon)[0].value for horizon in horizons]
    constants = [bound * sqrt(horizon) / log(horizon) for bound, horizon in zip(bounds, horizons, strict=True)]
    assert constants == sorted(constants, reverse=True)
    assert constants[-1] > 1


def test_extreme_surpluses_do_not_overflow() -> None:
    assert exponential_up([10**6, 10**6], [10**6, 0], 0, 1) == 0.5
    assert exponential_up([10**6, 1], [10**6, 0], 0, 1) == 1.0
    assert exponential_up([1, 10**6], [1, 0], 0, 1) == 0.0


@given(st.one_of(st.floats(0, 2), st.floats(0, 800)))
def test_own_exponential_is_the_exponential(z: float) -> None:
    assert fall(z) == pytest.approx(exp(-z), rel=1e-14, abs=1e-300)
    assert drop(z) == pytest.approx(-np.expm1(-z), rel=1e-14)
    assert fall.compiled(z) == fall(z)
    assert drop.compiled(z) == drop(z)


def test_theorem_o4_for_every_string_of_outcomes() -> None:
    rounds = 6
    rate = PerturbedLeader(rounds).rate
    g = np.arange(60)
    chance = np.outer(rate * (1 - rate) ** g, rate * (1 - rate) ** g)
    bound = PerturbedLeader(rounds).guarantee(rounds)[0].value * rounds
    assert bound <= 2 * sqrt(2 * rounds)
    largest = 0.0
    for outcomes in strings(rounds):
        ones = np.cumsum((0, *outcomes))
        for mu in (0.1, 0.3, 0.5, 0.8):
            stake = 1 / max(mu, 1 - mu)
            gained = 0.0
            for t, y in enumerate(outcomes):
                weight = t + g[:, None] + g[None, :]
                p = np.where(weight > 0, (ones[t] + g[None, :]) / np.maximum(weight, 1), 0.5)
                gained += stake * (y - mu) * chance[p > mu].sum()
            largest = max(largest, stake * max(0.0, ones[-1] - mu * rounds) - gained)
    assert 1.0 < largest <= bound


def test_theorem_o8_for_every_string_of_outcomes() -> None:
    """The exact mean regret of scores with one threshold, or two around 1/2; and of the Brier score."""
    rounds, largest = 9, 0.0
    mu = np.linspace(0, 1, 41)[1:-1]
    t = np.arange(1, rounds + 1)
    width = np.sqrt(2 / t)
    for outcomes in strings(rounds):
        y = np.array(outcomes)
        mean = np.where(t > 1, (np.cumsum(y) - y) / np.maximum(t - 1, 1), 0.5)
        above = np.clip((mean[:, None] - mu + width[:, None]) / (2 * width[:, None]), 0, 1)
        forecaster = NoisyMean(rng=0)
        forecaster.play(y[:-1])
        quantiles = np.array(forecaster.forecast().values)
        assert abs(above[-1] - (quantiles[:, None] > mu).mean(axis=0)).max() <= 1 / 64 + 1e-12
        regret = np.maximum(y.sum() - mu * rounds, 0) - ((y[:, None] - mu) * above).sum(axis=0)
        low, high = np.flatnonzero(mu < 0.5), np.flatnonzero(mu > 0.5)
        i, j = (index.ravel() for index in np.meshgrid(low, high))
        pairs = 2 * ((mu[j] - 0.5) * regret[i] + (0.5 - mu[i]) * regret[j]) / (mu[j] - mu[i])
        largest = max(largest, pairs.max(), (regret / np.maximum(mu, 1 - mu)).max())
        # ∫ (p − y)² over p uniform around the mean, clipped: by quantiles
        u = (np.arange(2000) + 0.5) / 2000
        said = np.clip(mean[:, None] + width[:, None] * (2 * u - 1), 0, 1)
        brier = ((said - y[:, None]) ** 2).mean(axis=1).sum() - rounds * y.var()
        assert brier <= 5 / 3 * (1 + log(rounds))
    assert 0.3 * sqrt(2 * rounds) < largest <= sqrt(2 * rounds)
    assert NoisyMean().guarantee(rounds)[0].value == pytest.approx(sqrt(2 / rounds))


def test_theorem_o8_smooth_scores_pay_a_logarithm() -> None:
    """u'' is 1 on half of [0, 1], in stripes: the mean regret for a coin that drifts, against the bound."""
    rounds, stripes = 2 * 10**4, 16
    rng = np.random.default_rng(5)
    y = (rng.random(rounds) < 0.5 + 0.3 * np.sin(np.arange(rounds) / 2000)).astype(int)
    edges = np.linspace(0, 1, 2 * stripes + 1)

    def score(p: np.ndarray, outcome: np.ndarray) -> np.ndarray:
        """∫ (y − μ)1{p > μ} over the stripes."""
        return np.asarray(
            sum(
                (np.minimum(p, b) - a).clip(0) * (outcome - (np.minimum(p, b).clip(a) + a) / 2)
                for a, b in zip(edges[:-1:2], edges[1::2], strict=True)
            )
        )

    best = max(score(np.full(rounds, c), y).sum() for c in (y.mean(), 0.25, 0.5, 0.75))
    regret = np.mean([best - score(NoisyMean(rng=seed).play(y), y).sum() for seed in range(5)])
    assert regret <= 2.1 + 1.71 * log(rounds)


def test_noisy_mean_by_hand() -> None:
    forecaster = NoisyMean(rng=3)
    u = Coins(3, trustcal.checking.Role.FORECASTER).between(0, 3)
    assert one_at_a_time(forecaster, [1, 0, 1]) == pytest.approx(
        [min(max(m + sqrt(2 / t) * (2 * c - 1), 0), 1) for t, m, c in zip((1, 2, 3), (0.5, 1, 0.5), u, strict=True)]
    )


@given(
    st.integers(1, 6).flatmap(lambda m: st.tuples(*[st.lists(st.floats(0.01, 3), min_size=m + 1, max_size=m + 1)] * 2)),
    st.floats(0.01, 0.5),
)
def test_theorem_o9_the_weights_hardly_grow(weights: tuple[list[float], list[float]], rate: float) -> None:
    """Whatever y is, the sum of weights grows by at most the share η/(4m) on average over the coin."""
    cells = len(weights[0]) - 1
    forecaster = StepForecaster(100, cells=cells, rng=0)
    forecaster.over, forecaster.under = ([log(weight) for weight in side] for side in weights)
    before = sum(map(sum, weights))
    forecast = forecaster.forecast()
    for y in (0, 1):
        mean = 0.0
        for value, chance in zip(*forecast, strict=True):
            at = round(value * cells)
            step = rate * (y - value)
            over, under = (
                sum(side[:at]) + sum(side[at:]) * (1 + s) for side, s in zip(weights, (step, -step), strict=True)
            )
            mean += chance * (over + under)
        assert mean <= before * (1 + rate / (4 * cells)) * (1 + 1e-12)


@pytest.mark.parametrize("rounds", [4, 7])
def test_theorem_o9_for_every_string_of_outcomes(rounds: int) -> None:
    """The mean over all coins of the sum of weights, by following every announcement: what the proof bounds."""

    def mean(forecaster: StepForecaster, outcomes: tuple[int, ...]) -> float:
        if not outcomes:
            return sum(map(exp, [*forecaster.over, *forecaster.under]))
        total = 0.0
        for value, chance in zip(*forecaster.forecast(), strict=True):
            after = StepForecaster(rounds, cells=2, rng=0)
            after.over, after.under = list(forecaster.over), list(forecaster.under)
            after._announced = value
            after.learn_one(outcomes[0])
            total += chance * mean(after, outcomes[1:])
        return total

    start = StepForecaster(rounds, cells=2, rng=0)
    largest = max(mean(start, outcomes) for outcomes in strings(rounds))
    assert largest <= 6 * (1 + start.rate / 8) ** rounds * (1 + 1e-12)  # announcing 0 only, ones would make it larger


def test_theorem_o9_as_it_is_stated() -> None:
    assert StepForecaster(7, cells=2, rng=0).rate == 0.5  # with fewer rounds than 8 the best rate is too large
    assert StepForecaster(8, cells=2, rng=0).guarantee(8)[0].value == pytest.approx(2 * sqrt(log(6) / 8) + 1 / 8)


def test_steps_do_not_overflow_in_long_games() -> None:
    """The sum of weights may grow by the share η/(4m) in each round."""
    forecaster = StepForecaster(100, cells=1, rng=0)
    y = np.arange(40_000) % 2
    said = forecaster.play(y)
    assert np.isfinite(forecaster.forecast().weights).all()
    assert StepForecaster.from_json(forecaster.to_json()).over == forecaster.over
    assert tc.stepcal(tc.Predictor.from_samples(y, said)) <= 0.25  # the bound is 0.368


def test_steps_keep_their_bound_against_an_adversary() -> None:
    rounds, found = 2000, []
    for seed in range(4):
        said, y = trustcal.forecasters.adversaries.duel(
            StepForecaster(rounds, rng=seed), trustcal.forecasters.adversaries.Greedy(), rounds
        )
        q = tc.Predictor.from_samples(y, said)
        found.append(tc.stepcal(q))
        assert tc.monotone_cdl(q) <= 4 * found[-1]
    assert np.mean(found) <= StepForecaster(rounds, rng=0).guarantee(rounds)[0].value


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=60))
@example([(0.2, 0.8, 1)] * 60)  # announcing 1/2 would break the bound
def test_theorem_o10_multi_calibeating(rows: list[tuple[float, float, int]]) -> None:
    beat, cells, errors = MultiCalibeating(2, cells=3), 3, 0.0
    for *scores, y in rows:
        errors += (beat.transform_one(scores) - y) ** 2
        beat.learn_one(scores, y)
    assert MultiCalibeating.from_json(beat.to_json()).to_json() == beat.to_json()
    outcomes = np.array([row[2] for row in rows])
    for k in (0, 1):
        bins = np.array(
            [round(float(tc.cells.announced(np.array([row[k]]), cells, "left")[0]) * cells) for row in rows]
        )
        refinement = sum(outcomes[bins == b].var() * (bins == b).sum() for b in np.unique(bins))
        assert errors <= refinement + beat.guarantee(len(rows))[0].value * len(rows) + 1e-9


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 30))
def test_theorem_o10_the_square_loss_is_mixable(p: float, q: float, behind: float) -> None:
    """(P − y)² ≤ g(y) for both y, if the losses of the first score exceed those of the second by this."""
    beat = MultiCalibeating(2, cells=1000)
    beat._losses = [behind, 0.0]
    share = exp(-2 * behind) / (1 + exp(-2 * behind))
    said = beat.transform_one((p, q))
    p, q = (model.transform_one(score) for model, score in zip(beat._alone, (p, q), strict=True))
    zero, one = (share * exp(-2 * (p - y) ** 2) + (1 - share) * exp(-2 * (q - y) ** 2) for y in (0, 1))
    assert -1e-12 <= 0.5 + log(one / zero) / 4 <= 1 + 1e-12
    assert said == pytest.approx(0.5 + log(one / zero) / 4, abs=1e-12)
    assert said**2 <= -log(zero) / 2 + 1e-12
    assert (1 - said) ** 2 <= -log(one) / 2 + 1e-12


def test_multi_calibeating_needs_all_scores() -> None:
    with pytest.raises(ValueError, match="2 scores are needed in every round, not 1"):
        MultiCalibeating(2).transform_one([0.5])


def test_the_leader_draws_its_law() -> None:
    forecaster = PerturbedLeader(200, rng=8)
    said = forecaster.play(np.zeros(10**4))
    rate = forecaster.rate
    last = said[5000:]  # announced g1/(t + g0 + g1), and E g1 = (1 − ρ)/ρ
    assert np.mean(last > 0) == pytest.approx(1 - rate, abs=5 * sqrt(rate / 5000))
    # five standard errors of 5,000 numbers with variance (1 − ρ)/ρ², and what g0 + g1 beside t ≥ 5000 takes away
    assert np.mean(last * np.arange(5000, 10**4)) == pytest.approx((1 - rate) / rate, rel=0.08)


@pytest.mark.parametrize("rounds", [1, 4, 8])
def test_theorem_o5_for_every_string_of_outcomes(rounds: int) -> None:
    for outcomes in strings(rounds):
        forecaster = HedgingForecaster(rounds)
        said = one_at_a_time(forecaster, list(outcomes))
        smcal = tc.smcal(tc.Predictor.from_samples(outcomes, said))
        assert smcal <= forecaster.guarantee(rounds)[0].value


@given(st.lists(st.integers(0, 1), min_size=1, max_size=300), st.integers(1, 8))
def test_theorem_o5_squares(outcomes: list[int], cells: int) -> None:
    forecaster = HedgingForecaster(len(outcomes), cells=cells)
    said = one_at_a_time(forecaster, outcomes)
    assert sum(v * v for v in forecaster.value) <= len(outcomes) + 1e-9
    tents = np.maximum(0, 1 - np.abs(np.array(said)[:, None] * cells - np.arange(cells + 1)))
    assert forecaster.value == pytest.approx(tents.T @ (np.array(outcomes) - said), abs=1e-9)


@pytest.mark.parametrize("noise", [tc.TruncatedLaplace(0.2), tc.UniformNoise(0.2), tc.RandomRounding(3.5)])
def test_the_pipeline_keeps_theorem_19(noise: tc.noise.Noise) -> None:
    rounds, errors = 2000, []
    for seed in range(5):
        horizon = None if isinstance(noise, tc.RandomRounding) else rounds
        forecaster = SmoothedForecaster(
            ElementaryPredictor(rounds), tc.OnlineSmoother(noise, horizon=horizon, rng=seed)
        )
        y = np.random.default_rng(seed).random(rounds) < 0.5
        q = tc.Predictor.from_samples(y, forecaster.play(y))
        errors.append((tc.ece(q), tc.cdl(q)))
    ece, cdl = forecaster.guarantee(rounds)
    assert (ece.quantity, cdl.quantity) == ("ECE", "CDL")
    assert np.all(np.mean(errors, axis=0) <= [ece.value, cdl.value])


def test_the_pipeline_keeps_theorem_46() -> None:
    """So many rounds that only cells near a threshold may be on its wrong side by chance."""
    rounds, noise, errors = 10**6, tc.UniformNoise(0.02), []
    for seed in range(3):
        forecaster = SmoothedForecaster(ElementaryPredictor(rounds), tc.OnlineSmoother(noise, cells=300, rng=seed))
        y = np.random.default_rng(seed).random(rounds) < 0.5
        errors.append(tc.cdl(tc.Predictor.from_samples(y, forecaster.play(y))))
    cdl = forecaster.guarantee(rounds)[1]
    assert cdl.source.startswith("Theorem 46")
    assert np.mean(errors) <= cdl.value


class Wrapped(Forecaster):
    """A forecaster of a user's, which keeps what it was made from under another name, and cannot be saved."""

    def __init__(self, model: float) -> None:
        self._model = model

    def forecast(self) -> Forecast:
        return Forecast((self._model,), (1.0,))

    def guarantee(self, horizon: int) -> tuple[tc.guarantees.Bound, ...]:
        return ()

    def _announce(self) -> float:
        return self._model

    def _update(self, y: int) -> None: ...

    def _play(self, y: np.ndarray) -> np.ndarray:
        return np.full(len(y), self._model)

    def _is_sound(self) -> bool:
        return True


def test_forecasters_of_users_play_alone_and_inside_others() -> None:
    smoother = tc.OnlineSmoother(tc.RandomRounding(2.0), rng=1)
    assert Wrapped(0.5).play([1, 0]).tolist() == [0.5, 0.5]
    assert SmoothedForecaster(Wrapped(0.5), smoother).play([1, 0]).shape == (2,)
    combined = CombinedForecaster((Wrapped(0.5), RunningMean()), MultiCalibeating(2))
    assert combined.play([1, 0]).shape == (2,)


def test_what_is_proved_of_the_first_rounds_is_said_of_no_others() -> None:
    """One forecaster in two pipelines: neither has its first rounds."""
    base, noise = CalibratedForecaster(100, rng=1), tc.UniformNoise(0.25)
    one, two = (SmoothedForecaster(base, tc.OnlineSmoother(noise, cells=20, rng=seed)) for seed in (1, 2))
    assert len(one.guarantee(100)) == len(two.guarantee(100)) == 2
    one.play(np.arange(100) % 2)
    assert len(one.guarantee(100)) == 2
    late = SmoothedForecaster(base, tc.OnlineSmoother(noise, cells=20, rng=3))
    assert two.guarantee(100) == late.guarantee(100) == ()


def test_why_rounds_elsewhere_void_the_guarantee() -> None:
    """After 4·10^6 zeros in its own rounds Foster's forecaster is too slow for 10^5 ones in those of the pipeline."""
    rounds, base = 10**5, CalibratedForecaster(10**5, rng=1)
    safe = SmoothedForecaster(base, tc.OnlineSmoother(tc.UniformNoise(0.25), cells=20, rng=2))
    bound = safe.guarantee(rounds)[0]
    assert bound.quantity == "ECE"
    assert bound.value == pytest.approx(0.318, abs=1e-3)
    base.play(np.zeros(4 * 10**6))
    assert safe.guarantee(rounds) == ()
    assert tc.ece(np.ones(rounds), safe.play(np.ones(rounds))) == pytest.approx(0.835, abs=1e-3)


class Passing(Wrapped):
    """A forecaster of a user's that passes on what another one proves, whose coins cannot be seen from outside."""

    def guarantee(self, horizon: int) -> tuple[tc.guarantees.Bound, ...]:
        return CalibratedForecaster(horizon, rng=1).guarantee(horizon)


def test_a_forecaster_of_a_users_may_be_randomised() -> None:
    noise, rounds = tc.ClampedLaplace(0.2), 10**6
    proved = next(bound.value for bound in Passing(0.5).guarantee(rounds) if bound.quantity == "DTC")
    found = SmoothedForecaster(Passing(0.5), tc.OnlineSmoother(noise, cells=100, rng=2)).guarantee(rounds)[1]
    assert found == online_cdl(noise, proved, rounds, cells=100, on_average=True)
    assert found.value > online_cdl(noise, proved, rounds, cells=100).value + 0.03


def test_a_pipeline_ahead_of_its_forecaster_is_refused() -> None:
    safe = SmoothedForecaster(RunningMean(), tc.OnlineSmoother(tc.RandomRounding(2.0), rng=1))
    safe.play([1, 1, 0])
    safe.forecaster = RunningMean()
    with pytest.raises(ValueError, match="the state is impossible"):
        SmoothedForecaster.from_json(safe.to_json())


@pytest.mark.parametrize("noise", [tc.ClampedLaplace(0.01), tc.ClampedGaussian(0.01), tc.ClampedPlateau(0.01)])
def test_theorem_44_does_not_take_a_mean_distance(noise: tc.noise.Noise) -> None:
    """Its shift is convex: distances 0 and 2·eps, each half of the time, cost more than eps every time."""
    rounds, cells = 10**4, 500  # so many cells that Theorem 19 is the better one
    for inner, coins in ((CalibratedForecaster(rounds, rng=1), True), (ElementaryPredictor(rounds), False)):
        distance = next(bound.value for bound in inner.guarantee(rounds) if bound.quantity == "DTC")
        found = SmoothedForecaster(inner, tc.OnlineSmoother(noise, cells=cells, rng=2)).guarantee(rounds)[1]
        assert found == online_cdl(noise, distance, rounds, cells=cells, on_average=coins)

    def at(eps: float, *, on_average: bool) -> float:
        return online_cdl(noise, eps, rounds, cells=cells, on_average=on_average).value

    least, most = 1e-12, 2e-4
    middle = (least + most) / 2
    mean = (at(least, on_average=False) + at(most, on_average=False)) / 2
    assert at(middle, on_average=False) < mean - 1e-4
    assert at(middle, on_average=True) >= mean
    assert at(middle, on_average=True) == pytest.approx((at(least, on_average=True) + at(most, on_average=True)) / 2)


@given(st.floats(0, 1), st.integers(1, 7), st.sampled_from(["left", "middle"]))
def test_the_law_of_the_pipeline_is_that_of_smooth(q: float, cells: int, end: tc.cells.End) -> None:
    noise = tc.TruncatedLaplace(0.1)
    base = RunningMean()
    base.rounds, base.ones = 999, round(q * 999)
    law = SmoothedForecaster(base, tc.OnlineSmoother(noise, cells=cells, end=end, rng=0)).forecast()
    said = base.predict_one()
    exact = tc.smooth(tc.Predictor([said], [1.0], [said]), noise, cells=cells)
    assert sum(law.weights) == pytest.approx(1)
    offset = 0.0 if end == "left" else 0.5 / cells
    for value, weight in zip(exact.p, exact.mass, strict=True):
        near = [w for v, w in zip(*law, strict=True) if abs(v - offset - value) < 1e-9]
        assert sum(near) == pytest.approx(weight, abs=1e-9)


# One source, two speeds; saving


@pytest.mark.slow
@every_forecaster
def test_play_gives_the_same_bits(make: Callable[[], Forecaster]) -> None:
    y = np.random.default_rng(3).random(2500) < 0.5 + 0.4 * np.sin(np.arange(2500) / 200)
    slow, fast = make(), make()
    said = one_at_a_time(slow, y.astype(int).tolist())
    assert fast.play(y).tolist() == said
    assert fast.to_json() == slow.to_json()
    assert fast.forecast() == slow.forecast()
    parts = make()
    assert np.concatenate([parts.play(part) for part in np.split(y, [0, 1, 7, 1200])]).tolist() == said


def test_play_crosses_its_blocks() -> None:
    y = np.random.default_rng(4).random(150_000) < 0.3
    whole, halves = ElementaryPredictor(), ElementaryPredictor()
    said = whole.play(y)
    assert np.array_equal(said, np.concatenate([halves.play(y[:70_001]), halves.play(y[70_001:])]))
    assert whole.to_json() == halves.to_json()
    q = tc.Predictor.from_samples(y, said)
    assert tc.dtc(q) <= whole.certificate().value <= 2.15 / sqrt(len(y))


@every_forecaster
@costly(15)
@given(st.lists(st.integers(0, 1), min_size=1, max_size=60), st.data())
def test_a_saved_run_continues_to_the_same_bits(
    make: Callable[[], Forecaster], outcomes: list[int], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(outcomes) - 1))
    undisturbed = make()
    said = one_at_a_time(undisturbed, outcomes)
    forecaster = make()
    before = one_at_a_time(forecaster, outcomes[:cut])
    forecaster.forecast()
    if data.draw(st.booleans()):
        forecaster.predict_one()
    copy = type(forecaster).from_json(forecaster.to_json())
    assert before + one_at_a_time(copy, outcomes[cut:]) == said
    assert copy.to_json() == undisturbed.to_json()


@every_forecaster
def test_what_draws_says_so(make: Callable[[], Forecaster]) -> None:
    """Each of those above that is randomised has coins or a smoother, and no other has."""
    forecaster = make()
    draws = any(isinstance(part, Coins | tc.OnlineSmoother) for part in parts_of(forecaster))
    assert forecaster.randomised == draws


@every_forecaster
def test_asking_twice_changes_nothing(make: Callable[[], Forecaster]) -> None:
    forecaster = make()
    law = forecaster.forecast()
    p = forecaster.predict_one()
    assert forecaster.predict_one() == p
    assert sum(law.weights) == pytest.approx(1)
    assert min(law.weights) >= 0
    assert 0 <= law.mean <= 1


@every_forecaster
def test_every_forecaster_refuses_what_is_not_an_outcome(make: Callable[[], Forecaster]) -> None:
    forecaster = make()
    with pytest.raises(ValueError, match="must follow predict_one"):
        forecaster.learn_one(1)
    forecaster.predict_one()
    for y in (2, -1, 0.5, float("nan")):
        with pytest.raises(ValueError, match="an outcome must be 0 or 1"):
            forecaster.learn_one(y)
    with pytest.raises(ValueError, match="play starts a new round"):
        forecaster.play([0])
    forecaster.learn_one(True)
    assert forecaster.rounds == 1
    with pytest.raises(ValueError, match=r"1 of 3 rows break this, the first is row 1 \(from 0\) with 2"):
        forecaster.play([0, 2, 1])
    with pytest.raises(ValueError, match="outcomes must be a sequence"):
        forecaster.play([[0, 1]])
    assert len(forecaster.play([])) == 0
    with pytest.raises(ValueError, match="horizon must be a whole number, 1 or more"):
        forecaster.guarantee(0)


@every_forecaster
def test_every_forecaster_refuses_foreign_states(make: Callable[[], Forecaster]) -> None:
    forecaster = make()
    state = json.loads(forecaster.to_json())
    for broken in ({"trustcal": "Other"}, {"version": 99}, {"rounds": -1}, {"announced": "x"}):
        with pytest.raises(ValueError, match=r"state|rounds|not a saved"):
            type(forecaster).from_json(resealed(state | broken))
    for name in type(forecaster)._STATE:
        for wrong in (None, [1.5], [], "x", True):
            with pytest.raises(ValueError, match=f"the state's {name} does not match"):
                type(forecaster).from_json(resealed(state | {name: wrong}))
    with pytest.raises(ValueError, match="not JSON"):
        type(forecaster).from_json("{")


DAMAGED: list[tuple[str, dict[str, object]]] = [
    ("elementary", {"position": 41}),
    ("elementary", {"balance": [-1] * 42}),
    ("elementary anytime", {"rounds": 5}),
    ("calibrated", {"position": -1}),
    ("calibrated", {"rounds": 3}),
    ("calibrated", {"s": [1] * 14}),
    ("decision", {"announced": 1.5}),
    ("hedging", {"position": 14}),
    ("mean", {"ones": 1}),
    ("leader", {"ones": -1}),
    ("smoothed", {"announced": 0.5}),
    ("smoothed", {"forecaster": RunningMean().to_json().replace("RunningMean", "Predictor")}),
    ("smoothed", {"forecaster": 7}),
    ("combined", {"announced": 0.5}),
    ("combined", {"members": [RunningMean().to_json()] * 2 + ["x"]}),
    ("combined", {"beat": MultiCalibeating(2).to_json()}),
    ("combined", {"rounds": 3}),
    ("combined", {"heard": [0.5, 1.5, 0.5]}),
    ("combined", {"members": [MultiCalibeating(2).to_json()] * 3}),
]


@pytest.mark.parametrize(("name", "damage"), DAMAGED)
def test_damaged_states_are_refused(name: str, damage: dict[str, object]) -> None:
    forecaster = MAKERS[name]()
    state = json.loads(forecaster.to_json())
    with pytest.raises(ValueError, match=r"the state is impossible|probability in|does not have|not JSON"):
        type(forecaster).from_json(resealed(state | damage))


def test_refused_parameters() -> None:
    for wrong in (0, -3, 2.5, True, "many"):
        for kind in (ElementaryPredictor, CalibratedForecaster, DecisionForecaster, PerturbedLeader, HedgingForecaster):
            with pytest.raises(ValueError, match="horizon must be a whole number"):
                kind(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cells= needs horizon="):
        ElementaryPredictor(cells=4)
    with pytest.raises(ValueError, match="potential must be"):
        DecisionForecaster(10, potential="cubic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="takes a forecaster and an OnlineSmoother"):
        SmoothedForecaster(RunningMean(), None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a seed must be"):
        CalibratedForecaster(10, rng=-1)


def test_numbers_of_cells() -> None:
    for horizon in (1, 2, 3, 6, 7, 1000, 10**6, 10**6 + 1):
        assert ElementaryPredictor(horizon, end="left").cells == ceil(sqrt(horizon))
        assert (
            3 * ElementaryPredictor(horizon).cells ** 2
            >= 2 * horizon
            > 3 * (ElementaryPredictor(horizon).cells - 1) ** 2
        )
        assert CalibratedForecaster(horizon, rng=0).cells == tc.cells.cells_for(horizon)
    assert DecisionForecaster(10**6, rng=0).cells == ceil(1000 / log(10**6))
    assert DecisionForecaster(1, rng=0).cells == 1


def test_the_same_seed_the_same_run_another_seed_another() -> None:
    y = np.random.default_rng(0).random(500) < 0.5
    runs = [CalibratedForecaster(500, rng=seed).play(y).tolist() for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    drawn = [CalibratedForecaster(500, rng=np.random.default_rng(seed)).seed for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_table_of_proofs_is_true() -> None:
    root = Path(__file__).parents[1]
    lines = (root / "docs" / "explanation" / "online.md").read_text().splitlines()
    rows = [line.split("|") for line in lines if line.startswith("| ") and "`test_" in line]
    assert len(rows) == 11
    tests = "".join(path.read_text() for path in (root / "tests").glob("test_*.py"))
    for _, _, _, code, names, _ in rows:
        assert code.strip(" `") in trustcal.forecasters.__all__
        for test in names.split(","):
            assert f"def {test.strip(' `')}(" in tests
