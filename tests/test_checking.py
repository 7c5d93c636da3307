"""Wrong arguments: whatever is passed where a number, a predictor or a noise belongs, the answer is a ValueError."""

from __future__ import annotations

import inspect
import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import trustcal
from trustcal import decisions
from trustcal.checking import as_number, as_numbers, generator

tc: Any = trustcal  # wrong types on purpose
SOFT: Any = decisions

Q = tc.Predictor([0.2, 0.7], [0.5, 0.5], [0.1, 0.2])
ROWS = tc.Predictor.from_samples([0, 1, 1, 0], [0.2, 0.2, 0.7, 0.7])
NOISE = tc.UniformNoise(0.1)
UMBRELLA = tc.umbrella()

NO_NUMBERS = [
    "a",
    "0.5",
    b"x",
    None,
    True,
    [1, 2],
    [[1, 2], [3, 4]],
    {},
    object(),
    1 + 2j,
    np.nan,
    -0.5,
    10**400,
    Q,
    len,
]
NO_COUNTS = [*NO_NUMBERS, np.inf, 1.5, 0, -1]
NO_ARRAYS = ["a", b"x", None, {}, object(), 1 + 2j, np.nan, [0.5, np.nan], [[0.5], [0.5, 0.6]], -0.5, 10**400, Q, len]
STRANGERS = ["a", None, True, 0.5, [1, 2], [[1, 2], [3, 4]], {}, object(), np.array([0.1, 0.2])]
NO_SEEDS = ["a", -1, 1.5, np.nan, {}, object(), Q]

NUMBERS: list[Callable[[Any], object]] = [
    tc.UniformNoise, tc.ClampedLaplace, tc.ClampedGaussian, tc.ClampedPlateau, tc.TruncatedLaplace,
    tc.TruncatedGaussian, tc.RandomRounding, tc.UniformNoise.for_distance, tc.RandomRounding.for_distance,
    tc.TruncatedGaussian.paper, tc.threshold, lambda x: SOFT.soft_response(UMBRELLA, 0.5, x),
    lambda x: tc.dtc_witness(Q, tol=x),
    lambda x: tc.Monitor(decay=x or 0), lambda x: tc.Monitor(alarm_rate=x), tc.TruncatedLaplace(0.1).privacy,
    lambda x: tc.guarantees.batch_cdl(NOISE, x), tc.guarantees.best_noise, tc.guarantees.lower_online_cdl,
    tc.guarantees.lipschitz_ece, lambda x: tc.guarantees.total_variation(x, 0, 0.1),
    lambda x: tc.guarantees.total_variation(1, x, 0.1), lambda x: tc.guarantees.batch_ece_split(NOISE, x, 0.1),
    tc.paper.rain, tc.paper.batch_hard, lambda x: tc.paper.online_hard(x, 100),
    lambda x: tc.paper.private_pair(x, 0, 0.1),
]  # fmt: skip
COUNTS: list[Callable[[Any], object]] = [
    lambda x: tc.OnlineSmoother(NOISE, horizon=x or 0), lambda x: tc.Monitor(window=x or 0), Q.on_grid, Q.coarsen,
    lambda x: tc.guarantees.online_ece(NOISE, 0.1, x), lambda x: tc.paper.online_hard(0.1, x),
    lambda x: tc.remedies.choose(ROWS, folds=x, rng=0), lambda x: tc.ssce(ROWS, samples=x, rng=0),
]  # fmt: skip
PREDICTORS: list[Callable[[Any], object]] = [
    tc.ece, tc.cdl, tc.smcal, tc.dtc, tc.smece, tc.ucal, tc.brier, tc.log_loss, tc.auc, tc.audit, tc.cdl_witness,
    tc.rounding_effect, tc.guarantees.bias_is_lipschitz, UMBRELLA.value, UMBRELLA.swap_regret,
    lambda x: tc.ssce_estimate(x, rng=0), lambda x: tc.smooth(x, NOISE), lambda x: tc.decision_loss(x, Q),
    lambda x: tc.decision_loss(Q, x), lambda x: tc.audit(Q, groups={"a": x}), lambda x: SOFT.soft_value(UMBRELLA, x, 1),
    lambda x: SOFT.soft_regret(UMBRELLA, x, 1), lambda x: tc.remedies.choose(x, rng=0),
]  # fmt: skip
NOISES: list[Callable[[Any], object]] = [
    lambda x: tc.smooth(Q, x), lambda x: tc.perturb([0.5], x), lambda x: tc.OnlineSmoother(x, cells=5),
    lambda x: tc.guarantees.batch_ece(x, 0.1), lambda x: tc.guarantees.batch_cdl_paper(x, 0.1),
    lambda x: tc.guarantees.batch_decision_loss(x, 0.1), lambda x: tc.guarantees.batch_ece_split(x, 0.1, 0.1),
    lambda x: tc.guarantees.online_cdl(x, 0.1, 100), lambda x: tc.guarantees.online_ece_paper(x, 0.1, 100),
    lambda x: tc.guarantees.batch_best(x, 0.1),
]  # fmt: skip


def refused(call: Callable[[Any], object], wrong: object) -> None:
    """By our own words: neither numpy nor Python would speak of the argument."""
    with pytest.raises(ValueError, match=r"must|give|is missing|known|does not exist|cannot be read") as refusal:
        call(wrong)
    assert "/trustcal/" in str(refusal.traceback[-1].path)


@pytest.mark.parametrize("wrong", NO_NUMBERS, ids=lambda wrong: type(wrong).__name__)
@pytest.mark.parametrize("call", NUMBERS)
def test_a_number_is_a_number(call: Callable[[Any], object], wrong: object) -> None:
    refused(call, wrong)


@pytest.mark.parametrize("wrong", NO_COUNTS, ids=lambda wrong: type(wrong).__name__)
@pytest.mark.parametrize("call", COUNTS)
def test_a_count_is_a_whole_number(call: Callable[[Any], object], wrong: object) -> None:
    refused(call, wrong)


FORECASTERS = [
    kind
    for kind in (getattr(tc.forecasters, name) for name in tc.forecasters.__all__)
    if inspect.isclass(kind) and "horizon" in inspect.signature(kind).parameters
]


@pytest.mark.parametrize("horizon", [0, -1, 1.5, np.nan, np.inf, "a", True, [10], 10**400], ids=str)
@pytest.mark.parametrize("kind", FORECASTERS)
def test_every_forecaster_refuses_a_wrong_horizon(kind: Callable[..., object], horizon: object) -> None:
    with pytest.raises(ValueError, match="horizon must be a whole number"):
        kind(horizon=horizon)


def test_there_are_forecasters_with_a_horizon() -> None:
    assert len(FORECASTERS) >= 4


@pytest.mark.parametrize("wrong", [*STRANGERS, NOISE, UMBRELLA], ids=lambda wrong: type(wrong).__name__)
@pytest.mark.parametrize("call", PREDICTORS)
def test_a_predictor_is_a_predictor(call: Callable[[Any], object], wrong: object) -> None:
    refused(call, wrong)


@pytest.mark.parametrize("wrong", [*STRANGERS, Q], ids=lambda wrong: type(wrong).__name__)
@pytest.mark.parametrize("call", NOISES)
def test_a_noise_is_a_noise(call: Callable[[Any], object], wrong: object) -> None:
    refused(call, wrong)


def _audit_with(name: str, value: object) -> object:
    return tc.audit(Q, **{name: value})


@pytest.mark.parametrize("wrong", ["a", True, 0.5, [[1, 2], [3, 4]], {"payoff": 1}, Q])
def test_what_an_audit_is_given_beside_the_predictions(wrong: object) -> None:
    accepted = {"payoff": isinstance(wrong, str), "compare": wrong is True, "groups": isinstance(wrong, dict)}
    for name in ("payoff", "noise", "compare", "groups"):
        if not accepted.get(name, False):
            refused(partial(_audit_with, name), wrong)
    for call in (tc.audit, partial(tc.remedies.choose, rng=0)):
        with pytest.raises(ValueError, match="no-such-file cannot be read"):
            call(ROWS, payoff="no-such-file")
    if not isinstance(wrong, str):
        refused(lambda x: tc.remedies.choose(ROWS, rng=0, payoff=x), wrong)
    refused(lambda x: tc.decision_loss(Q, Q, x), wrong)
    refused(lambda x: tc.audit(ROWS, draws=x), "many")
    with pytest.raises(ValueError, match=r"problem must be a DecisionProblem, such as .*, not \[\[1, 2\], \[3, 4\]\]"):
        tc.audit(Q, payoff=[[1, 2], [3, 4]])


@pytest.mark.parametrize("wrong", [*NO_ARRAYS, 0.5, [1, 2]], ids=lambda wrong: type(wrong).__name__)
def test_a_decision_problem_is_made_of_payoffs(wrong: object) -> None:
    refused(tc.DecisionProblem, wrong)
    if wrong is not None:
        refused(lambda x: tc.DecisionProblem([[1, 0], [0.5, 0.5], [0, 1]], thresholds=x), wrong)
        refused(lambda x: tc.DecisionProblem([[1, 0], [0.5, 0.5], [0, 1]], x), wrong)
    refused(lambda x: tc.ClassPredictor.from_samples([0, 1], [[0.5, 0.5], [0.5, 0.5]], classes=x), 1.5)


EVERY_NOISE = [NOISE, tc.ClampedLaplace(0.1), tc.ClampedGaussian(0.1), tc.ClampedPlateau(0.1), tc.TruncatedLaplace(0.1),
               tc.TruncatedGaussian(0.1), tc.RandomRounding(4)]  # fmt: skip


@pytest.mark.parametrize("wrong", NO_ARRAYS, ids=lambda wrong: type(wrong).__name__)
@pytest.mark.parametrize("noise", EVERY_NOISE, ids=repr)
def test_every_noise_refuses_what_is_no_prediction(noise: Any, wrong: object) -> None:
    for about in (noise.sample, noise.atoms, noise.mean_displacement, lambda q: noise.density(0.5, q),
                  lambda q: noise.cdf(0.5, q), lambda q: noise.quantile(0.5, q), lambda q: noise.tv(0.5, q),
                  lambda q: noise.tv(q, 0.5), lambda u: noise.quantile(u, 0.5)):  # fmt: skip
        refused(about, wrong)
    if wrong != -0.5:  # outside [0, 1] there are places too: nothing lies there
        refused(lambda x: noise.density(x, 0.5), wrong)
        refused(lambda x: noise.cdf(x, 0.5), wrong)


@pytest.mark.parametrize("noise", EVERY_NOISE, ids=repr)
def test_every_noise_knows_that_nothing_lies_outside(noise: Any) -> None:
    assert noise.cdf([-np.inf, -1, 1, 2, np.inf], 0.5).tolist() == [0, 0, 1, 1, 1]
    assert noise.density([-np.inf, -1, 2, np.inf], 0.5).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("wrong", NO_SEEDS, ids=lambda wrong: type(wrong).__name__)
def test_a_generator_or_a_seed(wrong: object) -> None:
    for call in (generator, lambda x: NOISE.sample(0.5, x), lambda x: tc.audit(Q, rng=x),
                 lambda x: tc.ssce(ROWS, rng=x), lambda x: tc.paper.online_hard(0.01, 100, x),
                 lambda x: tc.remedies.choose(ROWS, rng=x)):  # fmt: skip
        with pytest.raises(ValueError, match="rng must be a numpy Generator or a seed"):
            call(wrong)


def test_states_are_texts() -> None:
    for wrong in (None, 5, [], object(), "a", b"\xff"):
        with pytest.raises(ValueError, match=r"the state|not a saved"):
            tc.Monitor.from_json(wrong)


def test_numbers_of_every_type_are_numbers() -> None:
    value: Any
    for value in (0.5, Fraction(1, 2), Decimal("0.5"), np.float32(0.5), np.float16(0.5), np.array(0.5)):
        assert as_number(value) == 0.5
        assert tc.UniformNoise(value) == tc.UniformNoise(0.5)
        assert as_numbers(value, "p") == 0.5
        assert as_numbers([value, 1], "p").tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    "use",
    [
        lambda m: trustcal.perturb(m, trustcal.UniformNoise(0.1), rng=1),
        lambda m: trustcal.OnlineSmoother(trustcal.UniformNoise(0.1), cells=5, rng=1).transform_many(m),
        lambda m: trustcal.umbrella().best_response(m),
        lambda m: trustcal.umbrella().score([0.2, 0.8], m),
        lambda m: trustcal.forecasters.RunningMean().play(m),
        lambda m: trustcal.ClassPredictor.from_samples(m, [[0.5, 0.5], [0.2, 0.8]]),
    ],
)
def test_masked_entries_are_not_data(use: Callable[[Any], object]) -> None:
    with pytest.raises(ValueError, match="some are masked"):
        use(np.ma.array([1, 0], mask=[False, True]))
    use(np.ma.array([1, 0]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "status", "said"),
    [("bound 0.01 >&-", 0, ""), ("watch - -p p -y y <&-", 2, "the standard input is closed")],
)
def test_standard_streams_that_are_closed(line: str, status: int, said: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m trustcal {line}"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr, said in done.stderr) == (status, False, True)


@pytest.mark.slow
def test_numbers_of_any_kind_can_be_saved() -> None:
    monitor = trustcal.Monitor(decay=np.float32(0.5), alarm_rate=Fraction(1, 10))  # type: ignore[arg-type]
    monitor.learn_many([0.5] * 30_000, [1] * 30_000)
    assert trustcal.Monitor.from_json(monitor.to_json()).alarm_rate == 0.1


def _with_state() -> list[Any]:
    """Everything that can be saved, after a few rounds."""
    rooms = trustcal.forecasters
    played: list[Any] = [
        rooms.ElementaryPredictor(100),
        rooms.CalibratedForecaster(100, rng=1),
        rooms.DecisionForecaster(100, rng=1),
        rooms.PerturbedLeader(100, rng=1),
        rooms.HedgingForecaster(100),
        rooms.NoisyMean(rng=1),
        rooms.StepForecaster(100, rng=1),
        rooms.CombinedForecaster(
            (rooms.RunningMean(), rooms.CalibratedForecaster(100, rng=1)), rooms.MultiCalibeating(2)
        ),
        rooms.RunningMean(),
    ]
    for forecaster in played:
        for y in (1, 0, 1):
            forecaster.predict_one()
            forecaster.learn_one(y)
    monitor = trustcal.Monitor(window=3)
    monitor.learn_many([0.5, 0.25, 1.0], [1, 0, 0])
    recalibrated: list[Any] = [rooms.OnlinePlatt(), rooms.Calibeating(rooms.OnlinePlatt())]
    for recalibrator in recalibrated:
        recalibrator.transform_one(0.3)
        recalibrator.learn_one(0.3, 1)
    smoother = trustcal.OnlineSmoother(trustcal.UniformNoise(0.1), cells=5, rng=1)
    smoother.transform_one(0.5)
    return [*played, *recalibrated, monitor, smoother]


@pytest.mark.parametrize("thing", _with_state(), ids=lambda thing: type(thing).__name__)
@pytest.mark.parametrize("damage", [None, -1, "x", [], {}, 2**70, 1e308, [[None]], True, float("nan")])
def test_a_damaged_state_is_refused_or_goes_on(thing: Any, damage: Any) -> None:
    text = thing.to_json()
    for name in json.loads(text):
        try:
            twin = type(thing).from_json(json.dumps(json.loads(text) | {name: damage}))
        except ValueError as refusal:
            assert "\n" not in str(refusal)  # noqa: PT017 - or it goes on
        else:
            twin.to_json()
    with pytest.raises(ValueError, match=r"state|not a saved"):
        type(thing).from_json("[" * 100_000)
