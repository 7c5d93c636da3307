"""Forecasters combined by multi-calibeating: rounds by hand, Theorem O.11, and the definition computed slowly."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import exp, log
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import trustcal as tc
from tests.tampering import resealed
from trustcal.cells import announced, cell_of
from trustcal.checking import Role
from trustcal.forecasters import (
    Calibeating,
    CalibratedForecaster,
    CombinedForecaster,
    ElementaryPredictor,
    Forecast,
    Forecaster,
    HedgingForecaster,
    MultiCalibeating,
    NoisyMean,
    PerturbedLeader,
    RunningMean,
    SmoothedForecaster,
)
from trustcal.forecasters.adversaries import Adversary, Greedy, Opposing, SignPreserving, duel
from trustcal.forecasters.forecaster import Coins


def members(seed: int) -> tuple[Forecaster, ...]:
    return RunningMean(), CalibratedForecaster(200, rng=seed), ElementaryPredictor(200)


def bins(said: np.ndarray, cells: int) -> np.ndarray:
    """The bin of each announcement, by the edges."""
    return np.clip(np.searchsorted(np.arange(1, cells) / cells, said, side="right"), 0, cells - 1)


def refinement(said: np.ndarray, y: np.ndarray, cells: int) -> float:
    """The Brier score of the bins, each relabelled with its frequency."""
    bin_of = bins(said, cells)
    return float(sum(y[bin_of == b].var() * np.mean(bin_of == b) for b in np.unique(bin_of)))


def slowly(scores: np.ndarray, y: np.ndarray, cells: int) -> np.ndarray:
    """The combination of these rows of scores, every round from the whole past."""
    said = []
    relabelled = np.empty(scores.shape)
    for t in range(len(y)):
        for k, row in enumerate(scores):
            bin_of = bins(row, cells)
            alike = y[:t][bin_of[:t] == bin_of[t]]
            relabelled[k, t] = alike.mean() if len(alike) else (bin_of[t] + 0.5) / cells
        loss = ((relabelled[:, :t] - y[:t]) ** 2).sum(axis=1)
        weight = np.exp(-2 * loss) / np.exp(-2 * loss).sum()
        g = [-0.5 * log(weight @ np.exp(-2 * (relabelled[:, t] - outcome) ** 2)) for outcome in (0, 1)]
        said.append((1 + g[0] - g[1]) / 2)
    return np.array(said)


def test_two_rounds_by_hand() -> None:
    forecaster = CombinedForecaster((RunningMean(), ElementaryPredictor(6)), MultiCalibeating(2, cells=2))
    assert forecaster.predict_one() == 0.5  # 1/2 and 1/4 are in new bins with the middles 3/4 and 1/4
    forecaster.learn_one(1)
    # now 3/4 and 3/4: the bin of the first has seen a one, that of the second is new; losses 1/16 and 9/16
    one, zero = 1 + exp(-1 - 1 / 8), exp(-2) + exp(-1 - 9 / 8)
    assert forecaster.predict_one() == pytest.approx(0.5 + log(one / zero) / 4)


def test_the_law_is_that_of_the_members() -> None:
    forecaster = CombinedForecaster(members(3), MultiCalibeating(3))
    forecaster.play([1, 1, 1, 0])
    copy = MultiCalibeating.from_json(forecaster.beat.to_json())
    mean, foster, elementary = (one.forecast() for one in forecaster.members)
    assert foster.weights == pytest.approx((0.8, 0.2))
    expected = [copy.transform_one((mean.values[0], value, elementary.values[0])) for value in foster.values]
    assert forecaster.forecast() == (tuple(expected), foster.weights)
    assert forecaster.predict_one() in expected


@pytest.mark.parametrize("cells", [1, 3, 10])
def test_the_announcements_are_those_of_the_definition(cells: int) -> None:
    y = (np.random.default_rng(cells).random(200) < 0.5 + 0.4 * np.sin(np.arange(200) / 20)).astype(int)
    forecaster = CombinedForecaster(members(5), MultiCalibeating(3, cells=cells))
    scores = np.stack([one.play(y) for one in members(5)])
    assert forecaster.play(y) == pytest.approx(slowly(scores, y, cells), abs=1e-12)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=60), st.integers(1, 12), st.integers(0, 5))
@example([1] * 60, 1, 0)  # announcing 1/2 would break the bound
def test_theorem_o11_for_strings_of_outcomes(outcomes: list[int], cells: int, seed: int) -> None:
    y = np.array(outcomes)
    forecaster = CombinedForecaster(members(seed), MultiCalibeating(3, cells=cells))
    brier = np.mean((forecaster.play(y) - y) ** 2)
    (bound,) = forecaster.guarantee(len(y))
    used = min(cells, len(y))
    assert bound.value == pytest.approx((used * (1 + log(len(y) / used)) + log(3) / 2) / len(y))
    best = min(refinement(one.play(y), y, cells) for one in members(seed))
    assert brier <= best + bound.value + 1e-9
    assert brier <= y.var() + bound.value + 1e-9


@pytest.mark.parametrize("adversary", [Opposing(), Greedy(), SignPreserving(200, rng=1)])
def test_theorem_o11_against_an_adversary(adversary: Adversary) -> None:
    forecaster = CombinedForecaster(members(7), MultiCalibeating(3))
    said, y = duel(forecaster, adversary, 200)
    best = min(refinement(one.play(y), y, 10) for one in members(7))  # the members play as if they were alone
    assert np.mean((said - y) ** 2) <= best + forecaster.guarantee(200)[0].value


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_theorem_o11_a_fair_coin(rounds: int) -> None:
    """The mean regret over all strings of outcomes: 1/(4T), and the squared distance of the announcements from 1/2."""
    strings = (np.arange(2**rounds)[:, None] >> np.arange(rounds)) & 1
    said = np.stack([CombinedForecaster(members(1), MultiCalibeating(3)).play(y) for y in strings])
    regret = ((said - strings) ** 2).mean(axis=1) - strings.var(axis=1)
    assert regret.mean() == pytest.approx(1 / (4 * rounds) + np.mean((said - 0.5) ** 2))


@given(st.one_of(st.floats(0, 1), st.integers(0, 120).map(lambda i: i / 120)), st.integers(1, 120))
def test_the_cell_of_one_value(p: float, cells: int) -> None:
    assert cell_of(p, cells) == round(float(announced(np.array([p]), cells, "left")[0]) * cells)


def test_refusals() -> None:
    two = RunningMean(), HedgingForecaster(10)
    with pytest.raises(ValueError, match="beat must be a MultiCalibeating, not 2"):
        CombinedForecaster(two, 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"a member must be a forecaster, not 0\.5"):
        CombinedForecaster((RunningMean(), 0.5), MultiCalibeating(2))  # type: ignore[arg-type]
    for too_few in (two, two[:1], (), two[0]):
        with pytest.raises(ValueError, match=r"[012] members need a new MultiCalibeating of as many scores, not Multi"):
            CombinedForecaster(too_few, MultiCalibeating(3))  # type: ignore[arg-type]
    used = MultiCalibeating(2)
    used.learn_one((0.5, 0.5), 1)
    with pytest.raises(ValueError, match=r"2 members need a new .* not MultiCalibeating\(2, cells=10, rounds=1\)"):
        CombinedForecaster(two, used)


def noisy(forecaster: Forecaster, seed: int) -> SmoothedForecaster:
    return SmoothedForecaster(forecaster, tc.OnlineSmoother(tc.RandomRounding(20.0), rng=seed))


class Several(Forecaster):
    """A forecaster of a user's, which holds others in private, some of them twice: it announces their mean."""

    def __init__(self, models: list[Forecaster]) -> None:
        self._models = {"first": models[0], "others": models[1:]}
        self._all = models

    def forecast(self) -> Forecast:
        return Forecast((0.5,), (1.0,))

    def guarantee(self, horizon: int) -> tuple[tc.guarantees.Bound, ...]:
        return ()

    def _announce(self) -> float:
        return float(np.mean([one.predict_one() for one in self._all]))

    def _update(self, y: int) -> None:
        for one in self._all:
            one.learn_one(y)

    def _play(self, y: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(np.mean([one.play(y) for one in self._all], axis=0))

    def _is_sound(self) -> bool:
        return True


def test_shared_parts_and_seeds_are_refused() -> None:
    """At any depth: a shared part would learn twice, and the coins of one seed would be announced by another part."""
    mean, smoother, beat = RunningMean(), tc.OnlineSmoother(tc.RandomRounding(20.0), rng=2), MultiCalibeating(2)
    inner = CombinedForecaster((RunningMean(), CalibratedForecaster(10, rng=1)), beat)
    for alike in (
        (mean, mean),
        (mean, noisy(mean, 3)),
        (NoisyMean(rng=1), CalibratedForecaster(10, rng=1)),
        (NoisyMean(rng=1), noisy(CalibratedForecaster(10, rng=1), 3)),
        (NoisyMean(rng=1), inner),
        (noisy(RunningMean(), 3), noisy(ElementaryPredictor(10), 3)),
        tuple(SmoothedForecaster(one, smoother) for one in (RunningMean(), ElementaryPredictor(10))),
    ):
        with pytest.raises(ValueError, match=r"parts must differ, .* make each anew, with its own rng"):
            CombinedForecaster(alike, MultiCalibeating(2))
    with pytest.raises(ValueError, match="parts must differ"):
        CombinedForecaster((inner, HedgingForecaster(10)), beat)
    with pytest.raises(ValueError, match="parts must differ"):
        noisy(noisy(RunningMean(), 3), 3)
    with pytest.raises(ValueError, match="parts must differ"):
        CombinedForecaster((Several([NoisyMean(rng=1)]), CalibratedForecaster(10, rng=1)), MultiCalibeating(2))
    with pytest.raises(ValueError, match="parts must differ"):
        CombinedForecaster((Several([mean]), Several([mean])), MultiCalibeating(2))
    with pytest.raises(ValueError, match="parts must differ"):
        CombinedForecaster((Odd({"a": mean}), Odd((mean,))), MultiCalibeating(2))
    several = Several([RunningMean(), NoisyMean(rng=1)])
    assert CombinedForecaster((several, NoisyMean(rng=2)), MultiCalibeating(2)).play([1]).shape == (1,)
    assert CombinedForecaster((NoisyMean(rng=4), noisy(inner, 4)), MultiCalibeating(2)).play([1]).shape == (1,)
    assert noisy(Seeded(3), 3).play([1]).shape == (1,)  # its seed is that of what it holds
    roles = Odd([Coins(3, Role.FORECASTER), Coins(3, Role.CHANCES)])
    assert noisy(roles, 4).play([1]).shape == (1,)
    with pytest.raises(ValueError, match="parts must differ"):
        noisy(Odd(Coins(3, Role.ONLINE_NOISE)), 3)


class Seeded(Several):
    """It holds a forecaster with coins, and has its seed, as forecasters that are saved do."""

    def __init__(self, rng: int) -> None:
        super().__init__([NoisyMean(rng=rng)])
        self.seed = rng


def test_forecasters_that_all_hold_each_other() -> None:
    peers: list[Forecaster] = [RunningMean() for _ in range(40)]
    for one in peers:
        one.peers = peers  # type: ignore[attr-defined]
    assert peers[0].play([1]).tolist() == [0.5]
    with pytest.raises(ValueError, match="parts must differ"):
        CombinedForecaster(peers, MultiCalibeating(40))


class Odd(Several):
    """It holds what learns nothing, and itself."""

    def __init__(self, thing: object) -> None:
        super().__init__([RunningMean()])
        self.thing, self.me = thing, self


@pytest.mark.parametrize(
    "hide",
    [lambda part: [[part]], lambda part: {"a": ({1: part},)}, lambda part: {part}, lambda part: [{part: 1.0}]],
    ids=["lists", "dicts", "set", "key"],
)
def test_parts_are_found_in_containers(hide: Callable[[object], object]) -> None:
    mean = RunningMean()
    with pytest.raises(ValueError, match="parts must differ"):
        CombinedForecaster((Odd(hide(mean)), mean), MultiCalibeating(2))


class Frequencies(dict[float, Any]):
    """What learns may be a container, too."""

    def learn_one(self, y: float) -> None:
        self[y] = self.get(y, 0) + 1


def test_containers_may_be_parts_and_hold_parts() -> None:
    table, mean = Frequencies(), RunningMean()
    with pytest.raises(ValueError, match="parts must differ"):
        CombinedForecaster((Odd([table]), Odd([table])), MultiCalibeating(2))
    with pytest.raises(ValueError, match="parts must differ"):
        CombinedForecaster((Odd(Frequencies({0.5: mean})), mean), MultiCalibeating(2))
    endless: list[object] = [mean]
    endless.append(endless)
    assert CombinedForecaster((Odd(endless), RunningMean()), MultiCalibeating(2)).play([1]).shape == (1,)


def test_a_member_may_hold_a_part_twice() -> None:
    """A part with a second name is not learnt from twice; two holders that do not hold each other would both use it."""
    base = CalibratedForecaster(10, rng=1)
    member = Odd(noisy(base, 2))
    member.base, member.coins = base, base._coins  # type: ignore[attr-defined]
    assert CombinedForecaster((member, RunningMean()), MultiCalibeating(2)).play([1]).shape == (1,)
    smoother = tc.OnlineSmoother(tc.UniformNoise(0.3), cells=20, rng=2)
    pipelines: list[list[Forecaster]] = [
        [noisy(base, 1), noisy(base, 3)],
        [SmoothedForecaster(RunningMean(), smoother), SmoothedForecaster(ElementaryPredictor(30), smoother)],
    ]
    for sharing in pipelines:
        with pytest.raises(ValueError, match="parts must differ"):
            CombinedForecaster((Several(sharing), RunningMean()), MultiCalibeating(2))
    peers = [Odd(None) for _ in range(3)]
    for one in peers:
        one.peers = peers  # type: ignore[attr-defined]
    assert noisy(peers[0], 1).play([1]).shape == (1,)


def test_a_long_chain_of_forecasters() -> None:
    chain = Odd(None)
    for _ in range(2000):
        chain = Odd(chain)
    assert chain.play([1]).tolist() == [0.5]


@pytest.mark.parametrize("thing", [RunningMean, Mock(), SimpleNamespace(rounds=3, seed=[1]), {"rounds": 1}])
def test_what_does_not_learn_may_be_shared(thing: object) -> None:
    assert CombinedForecaster((Odd(thing), Odd(thing)), MultiCalibeating(2)).play([1, 0]).shape == (2,)


def trained() -> RunningMean:
    mean = RunningMean()
    mean.play(np.ones(10**4))
    return mean


def test_a_combination_guarantees_nothing_if_its_beat_learns_elsewhere() -> None:
    """Two combinations with one `beat`; members may have learnt anything."""
    beat = MultiCalibeating(2)
    one, two = (CombinedForecaster((trained(), trained()), beat) for _ in range(2))
    (bound,) = two.guarantee(100)
    one.play(np.ones(10**4))
    assert one.guarantee(100) == (bound,)
    assert two.guarantee(100) == ()
    copy = CombinedForecaster.from_json(two.to_json())
    assert copy.guarantee(100) == ()
    said = two.play(np.zeros(100))
    assert (bound.value, np.mean(said**2)) == pytest.approx((0.334, 0.990), abs=1e-3)
    assert copy.play(np.zeros(100)).tolist() == said.tolist()


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("elsewhere", ["in another combination", "alone"])
def test_theorem_o11_if_members_learn_between_announcement_and_outcome(elsewhere: str, saved: bool) -> None:
    """What a combination learns is what it heard, whatever its members have learnt since."""
    two: tuple[Forecaster, ...] = ElementaryPredictor(3), ElementaryPredictor(30)
    other, forecaster = (CombinedForecaster(two, MultiCalibeating(2)) for _ in range(2))
    said, heard, y = [], [], np.arange(200) % 2
    for outcome in y.tolist():
        other.predict_one()
        said.append(forecaster.predict_one())
        heard.append(list(forecaster.heard))
        assert heard[-1] == [one.predict_one() for one in two]
        learners: tuple[Forecaster, ...] = (other,) if elsewhere == "in another combination" else two
        for learner in learners:
            learner.learn_one(1 - outcome)
        if saved:
            forecaster = CombinedForecaster.from_json(forecaster.to_json())
            two = other.members = forecaster.members
        forecaster.learn_one(outcome)
    assert [one.rounds for one in two] == [400, 400]
    best = min(refinement(scores, y, 10) for scores in np.array(heard).T)
    (bound,) = forecaster.guarantee(200)
    assert bound.value == pytest.approx(0.202, abs=1e-3)
    assert np.mean((said - y) ** 2) <= best + bound.value


def test_a_pipeline_whose_forecaster_learns_between_announcement_and_outcome() -> None:
    members = RunningMean(), noisy(ElementaryPredictor(30), 2)
    forecaster = CombinedForecaster(members, MultiCalibeating(2))
    forecaster.predict_one()
    members[1].forecaster.learn_one(1)
    for one in (CombinedForecaster.from_json(forecaster.to_json()), forecaster):
        one.learn_one(0)
        assert [one.rounds, one.members[1].rounds, one.beat.rounds] == [1, 1, 1]
        assert len(one.guarantee(30)) == 1
        assert one.members[1].guarantee(30) == ()


@pytest.mark.parametrize(
    "damage",
    [
        {"rounds": 2},
        {"losses": [0.0, 1.5]},
        {"losses": [0.0]},
        {"models": [Calibeating(cells=n).to_json() for n in (9, 10)]},
    ],
)
def test_damaged_states_of_multi_calibeating_are_refused(damage: dict[str, object]) -> None:
    beat = MultiCalibeating(2)
    beat.learn_one((0.5, 0.7), 1)
    with pytest.raises(ValueError, match="the state is inconsistent"):
        MultiCalibeating.from_json(resealed(json.loads(beat.to_json()) | damage))


@pytest.mark.parametrize("seed", [7, 8])
def test_why_members_need_different_seeds(seed: int) -> None:
    """In round t the leader's announcement tells its coins 2t and 2t + 1; with one seed these will be Foster's."""
    rounds, ones = 3000, 0
    foster, leader = CalibratedForecaster(rounds, rng=7), PerturbedLeader(rounds, rng=seed)
    outcomes, said, above = np.empty(rounds, dtype=int), np.empty(rounds), np.empty(rounds, dtype=bool)
    for t in range(rounds):
        y = t % 2 if t < 2 else int(above[t // 2] == (t % 2 == 0))  # by what the leader announced before
        above[t] = leader.predict_one() > (ones / t if t else 0.5)
        said[t], outcomes[t] = foster.predict_one(), y
        ones += y
        for forecaster in (foster, leader):
            forecaster.learn_one(y)
    error, bound = tc.ece(outcomes, said), foster.guarantee(rounds)[0].value
    assert error > 2 * bound if seed == 7 else error <= bound


def test_a_member_that_has_announced_by_itself() -> None:
    """`play` is refused before anybody learns; one round at a time goes on."""
    forecaster = CombinedForecaster((RunningMean(), ElementaryPredictor(10)), MultiCalibeating(2))
    forecaster.members[1].predict_one()
    with pytest.raises(ValueError, match="play starts a new round, but one was announced"):
        forecaster.play([1, 1, 1])
    assert [one.rounds for one in forecaster.members] == [0, 0]
    forecaster.predict_one()
    forecaster.learn_one(1)
    assert [one.rounds for one in forecaster.members] == [1, 1]
    forecaster.members = RunningMean(), forecaster.members[1]  # one that has learnt nothing
    with pytest.raises(ValueError, match="the state is impossible"):
        CombinedForecaster.from_json(forecaster.to_json())


def test_it_combines_what_only_one_member_knows() -> None:
    """The elementary predictor follows a drift, the mean does not: the combination is far below the base rate."""
    y = (np.random.default_rng(1).random(4000) < 0.5 + 0.4 * np.sin(6 * np.pi * np.arange(4000) / 4000)).astype(int)
    forecaster = CombinedForecaster((RunningMean(), ElementaryPredictor(4000)), MultiCalibeating(2))
    assert tc.brier(y, forecaster.play(y)) < 0.2 < y.var()
