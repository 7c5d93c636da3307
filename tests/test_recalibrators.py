"""Online recalibrators: by hand, against plain linear algebra, Theorem O.6, saving, errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import probabilities
from tests.tampering import resealed
from trustcal.forecasters import Calibeating, OnlinePlatt, Recalibrator

scored = st.lists(st.tuples(probabilities, st.integers(0, 1)), min_size=1, max_size=80)
MAKERS: dict[str, Callable[[], Recalibrator]] = {
    "platt": OnlinePlatt,
    "calibeating": lambda: Calibeating(cells=4),
    "tops": lambda: Calibeating(OnlinePlatt(), cells=7),
}
every_recalibrator = pytest.mark.parametrize("kind", list(MAKERS))


def run(recalibrator: Recalibrator, rows: list[tuple[float, int]]) -> list[float]:
    said = []
    for q, y in rows:
        said.append(recalibrator.transform_one(q))
        recalibrator.learn_one(q, y)
    return said


def test_calibeating_by_hand() -> None:
    beat = Calibeating(cells=2)
    assert run(beat, [(0.1, 1), (0.4, 0), (0.5, 0), (1.0, 1), (0.49, 1)]) == [0.25, 1.0, 0.75, 0.0, 0.5]
    assert (beat.n, beat.s, beat.rounds) == ([3, 2], [2, 1], 5)


@given(scored)
def test_platt_is_the_newton_step(rows: list[tuple[float, int]]) -> None:
    platt = OnlinePlatt()
    theta, hessian = np.array([1.0, 0.0]), np.eye(2) * 100
    for q, y in rows:
        clipped = min(max(q, 0.01), 0.99)
        x = np.array([log(clipped / (1 - clipped)), 1.0])
        p = 1 / (1 + exp(-theta @ x))
        assert platt.transform_one(q) == pytest.approx(p, abs=1e-9)
        platt.learn_one(q, y)
        gradient = (p - y) * x
        hessian += np.outer(gradient, gradient)
        theta = theta - 10 * np.linalg.solve(hessian, gradient)
        assert np.linalg.norm(theta) < 100


@given(scored, st.integers(1, 6))
def test_theorem_o6_calibeating(rows: list[tuple[float, int]], cells: int) -> None:
    beat = Calibeating(cells=cells)
    y = np.array([outcome for _, outcome in rows])
    brier = np.mean((run(beat, rows) - y) ** 2)
    refinement = sum(s * (n - s) / n for n, s in zip(beat.n, beat.s, strict=True) if n) / len(rows)
    assert -1e-12 <= brier - refinement <= beat.guarantee(len(rows))[0].value + 1e-12


def test_composition_feeds_the_model_what_came() -> None:
    rows = [(q, int(q > 0.4)) for q in np.random.default_rng(0).random(200).tolist()]
    tops, alone, cells = Calibeating(OnlinePlatt()), OnlinePlatt(), Calibeating()
    for q, y in rows:
        scaled = alone.transform_one(q)
        assert tops.transform_one(q) == cells.transform_one(scaled)
        tops.learn_one(q, y)
        alone.learn_one(q, y)
        cells.learn_one(scaled, y)
    assert tops.model is not None
    assert tops.model.to_json() == alone.to_json()


@every_recalibrator
@given(scored, st.data())
def test_a_saved_run_continues_to_the_same_bits(kind: str, rows: list[tuple[float, int]], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(rows)))
    undisturbed, first = MAKERS[kind](), MAKERS[kind]()
    said = run(undisturbed, rows)
    before = run(first, rows[:cut])
    copy = type(first).from_json(first.to_json())
    assert before + run(copy, rows[cut:]) == said
    assert copy.to_json() == undisturbed.to_json()


@every_recalibrator
def test_refusals(kind: str) -> None:
    recalibrator = MAKERS[kind]()
    for q in (-0.1, 1.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"a prediction must be a probability in \[0, 1\]"):
            recalibrator.transform_one(q)
        with pytest.raises(ValueError, match=r"a prediction must be a probability in \[0, 1\]"):
            recalibrator.learn_one(q, 1)
    for y in (2, 0.5, float("nan")):
        with pytest.raises(ValueError, match="an outcome must be 0 or 1"):
            recalibrator.learn_one(0.5, y)
    assert recalibrator.rounds == 0
    assert recalibrator.to_json() == MAKERS[kind]().to_json()
    with pytest.raises(ValueError, match="horizon"):
        recalibrator.guarantee(0)


def test_foreign_states_are_refused() -> None:
    beat = json.loads(Calibeating(OnlinePlatt(), cells=2).to_json())
    for broken in (
        {"n": [1]},
        {"s": [1, 0]},
        {"n": [-1, 0]},
        {"rounds": None},
        {"model": '{"trustcal": "RunningMean"}'},
    ):
        with pytest.raises(ValueError, match=r"state|must be"):
            Calibeating.from_json(resealed(beat | broken))
    platt = json.loads(OnlinePlatt().to_json())
    with pytest.raises(ValueError, match="the state's numbers are impossible"):
        OnlinePlatt.from_json(resealed(platt | {"inverse": [1.0]}))
    with pytest.raises(ValueError, match="NaN is not a finite number"):
        OnlinePlatt.from_json(json.dumps(platt | {"slope": float("nan")}))
    with pytest.raises(ValueError, match="model must be a recalibrator"):
        Calibeating(0.5)  # type: ignore[arg-type]
