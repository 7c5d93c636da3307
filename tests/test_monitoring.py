"""The monitor: fair bets, the measures of the window, and states that continue bit for bit."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from math import inf, log, log10

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import trustcal as tc
from tests.bets import Rows, share, slow_e_value
from tests.strategies import costly
from tests.tampering import resealed
from trustcal.inference import combined_test, sampling_floor
from trustcal.kernels.bets import bet, sloped, tilted
from trustcal.measures.pooling import sparse
from trustcal.monitoring import Bet, Monitor
from trustcal.monitoring.betting import _COUNTS, _PRIOR, ODDS, SLOPES, Bets

FloatArray = NDArray[np.float64]


def e_value(rows: Rows) -> float:
    bets = Bets()
    bets.feed([q for q, _ in rows], [y for _, y in rows], inf)
    return float(10**bets.log10_e)


def stream(seed: int, n: int, truth: Callable[[FloatArray], FloatArray] = lambda q: q) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    q = rng.beta(1, 2, n)
    return q, (rng.random(n) < truth(q)).astype(float)


# --- bets: exact values, the definition, fairness -------------------------------------------------------------------


def test_shares_of_the_stake_sum_to_one() -> None:
    assert [share(n) for n in (1, 2, 3, 4)] == [Fraction(1, 2), Fraction(1, 12), Fraction(1, 12), Fraction(1, 48)]
    assert sum(share(n) for n in range(1, 1024)) == 1 - Fraction(1, 11)


def test_a_bets_share_of_the_stake() -> None:
    """All rows, a slope, a learned bet, and any single bin."""
    shares = [count / prior for count, prior in zip(_COUNTS, _PRIOR, strict=True)]
    assert shares == pytest.approx([40, 24, 8, *[480] * 12])
    assert sum(_PRIOR) == pytest.approx(1)


@given(st.floats(0, 1, exclude_min=True, exclude_max=True), st.floats(-12, 12).map(lambda x: 2.0**x))
def test_rounding_hardly_raises_what_a_bet_is_worth(q: float, odds: float) -> None:
    """E[L] of the factors, in rational arithmetic."""
    pairs = [(tilted.function(q, True, other), tilted.function(q, False, other)) for other in (*ODDS, odds)]
    one, zero = [0.0] * len(SLOPES), [0.0] * len(SLOPES)
    sloped.function(q, True, one)
    sloped.function(q, False, zero)
    for happened, not_happened in (*pairs, *zip(one, zero, strict=True)):
        mean = Fraction(q) * Fraction(happened) + (1 - Fraction(q)) * Fraction(not_happened)
        assert mean - 1 <= Fraction(6, 10**16)


@pytest.mark.slow
def test_errors_that_cancel_quickly_at_a_value_are_not_seen() -> None:
    monitor = Monitor(window=1000)
    monitor.learn_many(np.full(20_000, 0.5), np.arange(20_000) % 2)
    assert monitor.alarmed_at is None
    assert monitor.current(draws=0).measures["ece"].value == 0


@pytest.mark.parametrize(("q", "y", "worth"), [(0.5, True, 2 / 1.5), (0.25, False, 1 / 1.25), (0.2, True, 2 / 1.2)])
def test_one_round_of_the_bet_on_twice_the_odds(q: float, y: bool, worth: float) -> None:
    monitor = Monitor()
    monitor.learn_one(q, y)
    bets = [b for b in monitor._bets._bets(0) if b.odds == 2.0 and b.low <= q < b.high]
    assert [10**b.log10_e for b in bets] == pytest.approx([0.5 + 0.5 * worth] * 2, rel=1e-14)


@costly(30)
@given(st.lists(st.tuples(st.floats(0.001, 0.999), st.booleans()), max_size=40))
def test_bets_follow_their_definition(rows: Rows) -> None:
    assert e_value(rows) == pytest.approx(slow_e_value(rows), rel=1e-9)


@pytest.mark.parametrize("rule", ["fixed", "adaptive", "extreme"])
def test_the_stake_is_worth_one_on_average_at_every_time(rule: str) -> None:
    """Exactly, over all strings of outcomes: predictions may depend on everything before."""

    def predicted(past: tuple[bool, ...]) -> float:
        if rule == "adaptive":
            return (sum(past) + 0.5) / (len(past) + 1)
        return (1e-9, 1 - 1e-9, 0.5)[len(past) % 3] if rule == "extreme" else (0.03, 0.3, 0.5, 0.97)[len(past) % 4]

    for n in range(1, 9):
        mean = 0.0
        for outcomes in itertools.product([False, True], repeat=n):
            q = [predicted(outcomes[:t]) for t in range(n)]
            chance = float(np.prod([p if y else 1 - p for p, y in zip(q, outcomes, strict=True)]))
            mean += chance * e_value(list(zip(q, outcomes, strict=True)))
        assert mean == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.01, 0.05, 0.2])
def test_calibrated_streams_rarely_alarm(rate: float) -> None:
    """Over 400 streams of 2,000 rounds, no more than the stated rate and three standard errors."""
    alarms = 0
    for seed in range(400):
        monitor = Monitor(window=1, alarm_rate=rate)
        monitor.learn_many(*stream(seed, 2000))
        alarms += monitor.alarmed_at is not None
    assert alarms <= 400 * rate + 3 * (400 * rate * (1 - rate)) ** 0.5


def test_duplicated_rows_void_the_promise() -> None:
    """Calibrated streams whose rows all come twice: most alarm, at a rate of 0.01; none of them does without copies."""
    rng = np.random.default_rng(5)
    alarms = np.zeros(2)
    for _ in range(20):
        p = rng.random(4000)
        y = rng.random(4000) < p
        for copies in (1, 2):
            monitor = Monitor(window=1, alarm_rate=0.01)
            monitor.learn_many(np.repeat(p, copies), np.repeat(y, copies))
            alarms[copies - 1] += monitor.alarmed_at is not None
    assert alarms[0] <= 1
    assert alarms[1] >= 10


def test_an_adaptive_forecaster_that_is_calibrated_rarely_alarms() -> None:
    """Predictions that copy the last outcome's direction, with outcomes drawn from them."""
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        q, y, p = [], [], 0.5
        for u in rng.random(600):
            q.append(p)
            y.append(u < p)
            p = min(max(p + (0.1 if y[-1] else -0.1), 0.05), 0.95)
        monitor = Monitor(window=1, alarm_rate=0.1)
        monitor.learn_many(q, y)
        alarms += monitor.alarmed_at is not None
    assert alarms <= 10 + 3 * 3


@pytest.mark.parametrize(
    ("truth", "within"),
    [
        (lambda q: q**1.5, 700),  # too high
        (lambda q: q**0.5 / (q**0.5 + (1 - q) ** 0.5), 400),  # too extreme
        (lambda q: q**2 / (q**2 + (1 - q) ** 2), 400),  # not extreme enough
        (lambda q: np.where((q > 0.2) & (q < 0.35), 0.1, q), 1500),  # wrong for some only
    ],
)
@pytest.mark.parametrize("calibrated", [0, 3000])
def test_streams_that_are_not_calibrated_alarm(
    truth: Callable[[FloatArray], FloatArray], within: int, calibrated: int
) -> None:
    """Also for late failures: a later start costs a logarithm."""
    delays = []
    for seed in range(10):
        monitor = Monitor(window=1, alarm_rate=0.001)
        if calibrated:
            monitor.learn_many(*stream(seed + 100, calibrated))
        monitor.learn_many(*stream(seed, 4000, truth))
        assert monitor.alarmed_at is not None
        delays.append(monitor.alarmed_at - calibrated)
    assert min(delays) > 0
    assert np.median(delays) < within * (1 if calibrated == 0 else 2)


def test_the_bet_that_pays_names_who_is_hurt() -> None:
    monitor = Monitor()
    monitor.learn_many(*stream(0, 5000, lambda q: np.where((q >= 0.2) & (q < 0.35), 0.6, q)))
    hurt = monitor.alarm.hurt
    assert (hurt.low, hurt.high) == (0.2, 0.35)
    assert hurt.odds is not None
    assert hurt.odds > 1
    assert "predictions from 0.2 to 0.35 are too low" in str(hurt)


def test_bets_in_words() -> None:
    assert str(Bet(0, 1, None, 0.5, 1.0)) == "predictions are too extreme: the log odds are 1/2 of those predicted"
    assert (
        str(Bet(0, 1, None, 3.0, 1.0)) == "predictions are not extreme enough: the log odds are 3 times those predicted"
    )
    assert "in a way that earlier rows reveal" in str(Bet(0, 1, None, None, 1.0))


# --- degenerate predictions ------------------------------------------------------------------------------------------


def test_certain_predictions_that_come_true_change_nothing() -> None:
    monitor = Monitor()
    monitor.learn_many([0.0, 1.0, -0.0] * 100, [0, 1, 0] * 100)
    assert monitor.alarm.log10_e == pytest.approx(0, abs=1e-15)
    assert monitor.rounds == 300


@pytest.mark.parametrize(("q", "y"), [(0.0, 1), (1.0, 0), (-0.0, 1)])
def test_a_certain_prediction_that_fails_alarms_at_once(q: float, y: int) -> None:
    monitor = Monitor(alarm_rate=1e-12)
    monitor.learn_many([0.5, 0.5, q, 0.5], [0, 1, y, 1])
    alarm = monitor.current().alarm
    assert (alarm.alarmed_at, alarm.failed_at, alarm.log10_e, alarm.e_value) == (3, 3, inf, inf)
    assert json.loads(monitor.current(draws=0).to_json())["alarm"]["log10_e"] is None
    assert Monitor.from_json(monitor.to_json()).alarm == alarm
    monitor.learn_many([0.5] * 1000, [0, 1] * 500)
    assert monitor.alarm.log10_e == inf


def test_wealth_may_grow_beyond_any_float_and_shrink_again() -> None:
    """The bet on slope 3 wins 1.32-fold, 3,000 times, and then loses three quarters, 595 times."""
    monitor, logs = Monitor(), []
    for q, rounds, beyond in ((0.7, 3000, True), (0.3, 595, False)):
        monitor.learn_many([q] * rounds, [1] * rounds)
        logs += [log10(q**2 / (q**3 + (1 - q) ** 3))] * rounds
        ahead = np.cumsum(logs[::-1])[::-1]  # the logarithm of all factors from a round on
        shares = [share(n + 1) for n in range(len(logs))]
        worth = np.append(ahead + np.log10([float(part) for part in shares]), log10(1 - sum(shares)))
        sloped = next(b for b in monitor._bets._bets(0) if b.slope == 3.0)
        assert sloped.log10_e == pytest.approx(np.logaddexp.reduce(worth * log(10)) / log(10), abs=1e-9)
        assert (sloped.log10_e > 309) == beyond
        assert monitor.to_json() == Monitor.from_json(monitor.to_json()).to_json()
    assert monitor.alarm.e_value == inf  # other bets kept theirs
    assert np.isfinite(monitor.alarm.log10_e)


@pytest.mark.parametrize("q", [5e-324, 1e-300, 2.0**-53, 1 - 2.0**-53])
@pytest.mark.parametrize("y", [False, True])
def test_extreme_predictions_keep_numbers_finite(q: float, y: bool) -> None:
    monitor = Monitor()
    for _ in range(30):
        monitor.learn_many([q, 0.5], [y, not y])
    alarm = monitor.alarm
    assert np.isfinite(alarm.log10_e)
    surprising = y == (q < 0.5)
    assert (alarm.alarmed_at == 1) == surprising


# --- the same bits, however rows come --------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30), st.data())
def test_one_by_one_or_many_or_saved_in_between(rows: Rows, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(rows)))
    q, y = [q for q, _ in rows], [y for _, y in rows]
    single, many = Monitor(window=7), Monitor(window=7)
    for a, b in rows:
        single.learn_one(a, b)
    if cut:
        many.learn_many(q[:cut], y[:cut])
    many = Monitor.from_json(many.to_json())
    if cut < len(rows):
        many.learn_many(q[cut:], y[cut:])
    assert single.to_json() == many.to_json()


@pytest.mark.parametrize("kind", [np.float64, np.float32, Fraction, float])
def test_numbers_of_any_kind(kind: Callable[[float], float]) -> None:
    monitor = Monitor()
    monitor.learn_one(kind(0.25), np.True_)
    monitor.learn_one(kind(1), kind(1.0))
    assert monitor.to_json() == fed_by([0.25, 1.0], [1, 1]).to_json()


def fed_by(q: list[float], y: list[int]) -> Monitor:
    monitor = Monitor()
    monitor.learn_many(q, y)
    return monitor


def test_compiled_code_gives_the_same_bits() -> None:
    q, y = stream(3, 3000, lambda q: q**1.3)
    q[::7] = q[::7].round(1)
    plain, compiled = Bets(), Bets()
    compiled.feed(q.tolist(), (y > 0).tolist(), 100.0)
    for a, b in zip(q.tolist(), (y > 0).tolist(), strict=True):
        plain.feed([a], [b], 100.0)
    assert "compiled" in vars(bet)
    assert plain.fields() == compiled.fields()


# --- the window ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decimals", [1, 15])
@pytest.mark.parametrize("n", [3, 150, 400])
def test_the_window_is_measured_as_a_batch(n: int, decimals: int) -> None:
    q, y = stream(1, n)
    q = q.round(decimals)
    monitor = Monitor(window=150)
    monitor.learn_many(q, y)
    shown = monitor.current(draws=5, rng=3)
    batch = tc.Predictor.from_samples(y[-150:], q[-150:])
    assert monitor.predictor() == batch
    assert (shown.measures["dtc"].value, shown.measures["smcal"].value) == (tc.dtc(batch), tc.smcal(batch))
    assert shown.measures["monotone_cdl"].value == tc.monotone_cdl(batch)
    assert shown.p_value == combined_test(batch, draws=5, rng=3).p_value
    assert ("ece" in shown.measures) == ("cdl" in shown.measures) == (not sparse(batch))
    if not sparse(batch):
        assert (shown.measures["ece"].value, shown.measures["cdl"].value) == (tc.ece(batch), tc.cdl(batch))
        assert shown.measures["ece"].quantile_95 == sampling_floor(batch, "ece", draws=5, rng=3).quantile_95
    assert shown.measures["cutoff"].floor == sampling_floor(batch, "cutoff", draws=5, rng=3).mean
    assert (shown.rounds, shown.rows, shown.effective_rows) == (n, min(n, 150), min(n, 150))


@pytest.mark.parametrize("n", [1, 60, 3000])
def test_decay_is_weights(n: int) -> None:
    q, y = stream(2, n)
    monitor = Monitor(decay=0.98)
    monitor.learn_many(q, y)
    weights = 0.98 ** np.arange(n - 1, -1, -1.0)
    batch = tc.Predictor.from_samples(y, q, weights)
    shown = monitor.current(draws=0)
    assert shown.rows == min(n, 1373)  # 0.98^1373 < 2^-40
    assert shown.effective_rows == pytest.approx(batch.effective_rows, rel=1e-9)
    assert shown.measures["dtc"].value == pytest.approx(tc.dtc(batch), abs=1e-10)
    assert shown.measures["smcal"].value == pytest.approx(tc.smcal(batch), abs=1e-10)
    assert shown.base_rate == pytest.approx(batch.base_rate, abs=1e-10)
    assert shown.measures["dtc"].floor is None


@pytest.mark.slow
def test_a_calibrated_window_shows_its_floor_and_another_more() -> None:
    calibrated, off = Monitor(window=400), Monitor(window=400)
    calibrated.learn_many(*stream(5, 400))
    off.learn_many(*stream(5, 400, lambda q: q**2))
    for name in ("monotone_cdl", "cutoff", "dtc", "smcal"):
        good, bad = calibrated.current().measures[name], off.current().measures[name]
        assert good.quantile_95 is not None
        assert bad.quantile_95 is not None
        assert bad.floor is not None
        assert good.value < good.quantile_95
        assert bad.value > bad.quantile_95 > bad.floor > 0


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"window": 5, "decay": 0.9}, "not both"),
        ({"window": 0}, "window must be a whole number, 1 or more"),
        ({"decay": 1.0}, "decay must lie between 0 and 1"),
        ({"decay": float("nan")}, "decay must lie between 0 and 1"),
        ({"alarm_rate": 0.0}, "alarm_rate must be a probability"),
        ({"alarm_rate": 1.0}, "alarm_rate must be a probability"),
    ],
)
def test_settings_are_checked(settings_: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Monitor(**settings_)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("q", "y", "message"),
    [
        (1.2, 0, r"predictions must be probabilities in \[0, 1\]"),
        (float("nan"), 0, "predictions must not be missing or NaN"),
        (None, 0, "predictions must not be missing or NaN"),
        ("0.5", 0, "q must hold numbers"),
        (0.5, None, "outcomes must be 0 or 1"),
        (0.5, 0.5, "outcomes must be 0 or 1"),
        (1, 0.3, "q and y|y and q|swapped"),
    ],
)
def test_rows_are_checked_and_a_refused_row_changes_nothing(q: float, y: float, message: str) -> None:
    monitor = Monitor()
    before = monitor.to_json()
    with pytest.raises(ValueError, match=message):
        monitor.learn_one(q, y)
    with pytest.raises(ValueError, match=message):
        monitor.learn_many([q], [y])
    assert monitor.to_json() == before


def test_nothing_to_measure_yet_and_other_states() -> None:
    with pytest.raises(ValueError, match="no rows to measure yet"):
        Monitor().current()
    with pytest.raises(ValueError, match="not a saved Monitor"):
        Monitor.from_json("{}")
    state = json.loads(Monitor().to_json())
    del state["bets"]["seen"]
    with pytest.raises(ValueError, match="the state's bets are damaged: seen"):
        Monitor.from_json(resealed(state))
    state = json.loads(Monitor().to_json()) | {"predictions": [1.5], "outcomes": "1"}
    with pytest.raises(ValueError, match="the state's rows are damaged"):
        Monitor.from_json(resealed(state))
