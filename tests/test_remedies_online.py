"""Remedies for streams: refitted when due, on the window, mixed with their regret bound, saved."""

from __future__ import annotations

import json
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import probabilities
from tests.tampering import resealed
from tests.test_remedies import drawn
from trustcal.forecasters import Calibeating, OnlinePlatt, Recalibrator
from trustcal.remedies import Mixed, Refitted, fit

scored = st.lists(st.tuples(probabilities, st.integers(0, 1)), min_size=1, max_size=60)


def run(recalibrator: Recalibrator, rows: list[tuple[float, int]]) -> list[float]:
    said = []
    for q, y in rows:
        said.append(recalibrator.transform_one(q))
        recalibrator.learn_one(q, y)
    return said


def stream(n: int, seed: int) -> list[tuple[float, int]]:
    y, p = drawn(n, seed, distorted=2.0)
    return list(zip(p.tolist(), y.astype(int).tolist(), strict=True))


def test_intervals_double_and_every_is_kept() -> None:
    rows = stream(200, 0)
    doubling = Refitted("beta")
    said = run(doubling, rows)
    assert said[:32] == [q for q, _ in rows[:32]]
    for first, last in ((32, 64), (64, 128), (128, 200)):
        remedy = fit("beta", [y for _, y in rows[:first]], [q for q, _ in rows[:first]])
        assert said[first:last] == remedy.apply([q for q, _ in rows[first:last]]).tolist()
    windowed = Refitted("Platt", every=50, window=60)
    run(windowed, rows)
    assert windowed.remedy is not None
    assert windowed.remedy.map == fit("Platt", [y for _, y in rows[-60:]], [q for q, _ in rows[-60:]]).map
    assert len(windowed.scores) <= 120
    decayed = Refitted("Platt", every=200, decay=0.98)
    run(decayed, rows)
    weight = 0.98 ** np.arange(199.0, -1.0, -1.0)
    assert decayed.remedy is not None
    assert decayed.remedy.map == fit("Platt", [y for _, y in rows], [q for q, _ in rows], weight).map
    assert Refitted(decay=0.5).window == 40  # 2^-40


@settings(deadline=None)
@given(scored)
def test_the_mixture_keeps_its_regret_bound(rows: list[tuple[float, int]]) -> None:
    models: list[Recalibrator] = [Refitted("isotonic", every=7), OnlinePlatt(), Calibeating(cells=3)]
    alone = [run(model, rows) for model in (Refitted("isotonic", every=7), OnlinePlatt(), Calibeating(cells=3))]
    said, y = run(Mixed(models), rows), np.array([outcome for _, outcome in rows])
    best = min(float(np.mean((np.array(one) - y) ** 2)) for one in alone)
    (bound,) = Mixed(models).guarantee(len(rows))
    assert bound.value == 2 * log(3) / len(rows)
    assert np.mean((np.array(said) - y) ** 2) <= best + bound.value + 1e-12


def test_refitting_helps_and_the_mixture_follows() -> None:
    rows = stream(1500, 1)
    y = np.array([outcome for _, outcome in rows])
    plain = float(np.mean((np.array([q for q, _ in rows]) - y) ** 2))
    refitted = float(np.mean((np.array(run(Refitted(), rows)) - y) ** 2))
    mixed = Mixed()
    together = float(np.mean((np.array(run(mixed, rows)) - y) ** 2))
    assert refitted < plain - 0.005
    assert together < refitted + 0.002
    assert sum(mixed.weights) == pytest.approx(1)
    assert mixed.weights[3] < 0.01  # the score itself


@pytest.mark.parametrize("kind", ["windowed", "decayed", "mixed"])
def test_a_saved_state_continues_bit_for_bit(kind: str) -> None:
    rows = stream(150, 2)
    refitted = Refitted("spline", every=40, window=70), Refitted(every=40, decay=0.99)
    one: Recalibrator = dict(zip(("windowed", "decayed", "mixed"), (*refitted, Mixed()), strict=True))[kind]
    run(one, rows[:90])
    again = type(one).from_json(one.to_json())
    assert run(again, rows[90:]) == run(one, rows[90:])
    assert again.to_json() == one.to_json()
    assert repr(again) == repr(one)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="two or more recalibrators"):
        Mixed([OnlinePlatt()])
    with pytest.raises(ValueError, match="every"):
        Refitted(every=0)
    with pytest.raises(ValueError, match="method must be one of"):
        Refitted("magic")
    with pytest.raises(ValueError, match="not both"):
        Refitted(window=10, decay=0.9)
    with pytest.raises(ValueError, match="decay must lie between 0 and 1"):
        Refitted(decay=1.0)
    state = json.loads(Mixed().to_json())
    state["losses"] = [-1.0]
    with pytest.raises(ValueError, match="inconsistent"):
        Mixed.from_json(resealed(state))
    state["models"][0] = json.dumps({"trustcal": "Monitor"})
    with pytest.raises(ValueError, match="does not have: Monitor"):
        Mixed.from_json(resealed(state))
    broken = json.loads(Refitted().to_json())
    broken["outcomes"] = [1]
    with pytest.raises(ValueError, match="inconsistent"):
        Refitted.from_json(resealed(broken))
    assert Refitted().guarantee(10) == ()
