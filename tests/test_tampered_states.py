"""Saved states, tampered with in a thousand ways: refused in one sentence, or as good as any; never saved over."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trustcal as tc
from tests.tampering import resealed
from trustcal import remedies
from trustcal.cli import main
from trustcal.forecasters import Calibeating, CalibratedForecaster, OnlinePlatt
from trustcal.monitoring import Monitor, watch
from trustcal.monitoring.watch_state import WatchState
from trustcal.noise import UniformNoise
from trustcal.remedies import Mixed, Refitted, fit
from trustcal.remedies.averaging import mean_of
from trustcal.smoothing import OnlineSmoother

ODD: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2**53 + 1, 2**63, 10**40, -0.5, 0.5, 1.5, 1e308, 5e-324, "", "x", "1", "\u202e", [],
    [0], [[]], {}, {"x": 1},
)  # fmt: skip
"""What a value is replaced by."""
SHOWN = 2
"""How many entries of a list are tampered with."""

Q = [0.2, 0.7, 0.4, 0.9, 0.1, 0.6]
Y = [0, 1, 0, 1, 1, 0]


def monitor() -> Monitor:
    made = Monitor(window=4)
    made.learn_many(Q, Y)
    return made


def use_monitor(text: str) -> str:
    made = Monitor.from_json(text)
    made.learn_many(Q, Y)
    assert np.isfinite([measure.value for measure in made.current(draws=0).measures.values()]).all()
    str(made.alarm.verdict(made.rounds))
    return made.to_json()


def use_recalibrator(kind: Any) -> Callable[[str], str]:
    def use(text: str) -> str:
        made = kind.from_json(text)
        assert 0 <= made.transform_one(0.3) <= 1
        made.learn_one(0.3, 1)
        return str(made.to_json())

    return use


def use_forecaster(text: str) -> str:
    made = CalibratedForecaster.from_json(text)
    assert ((made.play(Y) >= 0) & (made.play(Y) <= 1)).all()
    return made.to_json()


def use_smoother(text: str) -> str:
    made = OnlineSmoother.from_json(text)
    assert ((made.transform_many(Q) >= 0) & (made.transform_many(Q) <= 1)).all()
    return made.to_json()


def use_remedy(text: str) -> str:
    made = remedies.from_json(text)
    p = np.asarray(made.apply(Q))
    assert ((p >= 0) & (p <= 1)).all()
    str(made)
    return made.to_json()


def learnt(made: Any) -> str:
    for q, y in zip(Q, Y, strict=True):
        made.learn_one(q, y)
    return str(made.to_json())


def forecaster() -> str:
    made = CalibratedForecaster(20, rng=0)
    made.play(Y)
    return made.to_json()


def smoother() -> str:
    made = OnlineSmoother(UniformNoise(0.1), cells=8, rng=1)
    made.transform_many(Q)
    return made.to_json()


def average() -> remedies.Remedy:
    return mean_of(["beta", "isotonic"], [0.5, 0.5]).fit(tc.Predictor.from_samples(Y * 20, Q * 20))


STATES: dict[str, tuple[Callable[[], str], Callable[[str], str]]] = {
    "monitor": (lambda: monitor().to_json(), use_monitor),
    "decay": (lambda: Monitor(decay=0.9).to_json(), use_monitor),
    "forecaster": (forecaster, use_forecaster),
    "smoother": (smoother, use_smoother),
    "platt": (lambda: learnt(OnlinePlatt()), use_recalibrator(OnlinePlatt)),
    "calibeating": (lambda: learnt(Calibeating()), use_recalibrator(Calibeating)),
    "refitted": (lambda: learnt(Refitted()), use_recalibrator(Refitted)),
    "mixed": (lambda: learnt(Mixed()), use_recalibrator(Mixed)),
    "beta": (lambda: fit("beta", Y * 20, Q * 20).to_json(), use_remedy),
    "isotonic": (lambda: fit("isotonic", Y * 20, Q * 20).to_json(), use_remedy),
    "average": (lambda: average().to_json(), use_remedy),
    "noise": (lambda: remedies.noise_remedy(UniformNoise(0.1), seed=1).to_json(), use_remedy),
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something can be replaced: every value of a state, and the first entries of its lists."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for index in range(min(len(value), SHOWN)):
            yield from places(value[index], (*path, index))


def replaced(state: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = deepcopy(state)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return changed


def tampered(text: str) -> Iterator[str]:
    """States with one value replaced, removed or repeated, and a checksum that fits."""
    state = json.loads(text)
    for path in places(state):
        if path[:1] in ((), ("checksum",)):
            continue
        for value in ODD:
            yield resealed(replaced(state, path, value))
    for key in state:
        yield resealed({name: value for name, value in state.items() if name != key})


def damaged(text: str) -> Iterator[str]:
    """Texts that no longer are what was saved: cut off, a byte changed, numbers that are none."""
    for end in range(0, len(text), max(1, len(text) // 20)):
        yield text[:end]
    for place in range(1, len(text), max(1, len(text) // 40)):
        yield text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]
    yield from (text + "x", f"[{text}]", "", "null", "3", '"x"', "[" * 100_000, text.replace("0.", "NaN", 1))
    yield from (text.replace("1", "1e999", 1), text.replace("1", "9" * 5000, 1))


def same(changed: str, text: str) -> bool:
    """Whether a text means the same as another: the last digit of a number may not."""
    try:
        return bool(json.loads(changed) == json.loads(text))
    except (ValueError, RecursionError):
        return False


def count_refused(name: str) -> tuple[int, int]:
    """How many states were tried, and how many refused; those that were not must work, and be saved again."""
    make, use = STATES[name]
    tried, refused = 0, 0
    for text in tampered(make()):
        tried += 1
        try:
            use(text)
        except ValueError:
            refused += 1
    return tried, refused


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n == "decay" else []) for n in STATES])
def test_tampered_states_are_refused_or_work(name: str) -> None:
    tried, refused = count_refused(name)
    assert tried >= 100
    assert refused >= 0.5 * tried  # the others are possible states, such as another seed


@pytest.mark.parametrize("name", STATES)
def test_damaged_texts_are_refused(name: str) -> None:
    make, use = STATES[name]
    text = make()
    for changed in damaged(text):
        if same(changed, text):
            continue
        with pytest.raises(ValueError, match=r"state|remedy|rounds|must"):
            use(changed)


def test_an_alarm_cannot_be_taken_back_by_accident() -> None:
    made = Monitor()
    made.learn_many([1.0], [0])
    text = made.to_json()
    assert '"alarmed_at": 1' in text
    with pytest.raises(ValueError, match="its checksum does not fit"):
        Monitor.from_json(text.replace('"alarmed_at": 1', '"alarmed_at": null'))


# --- the state of a watch, through the command line


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("watched")
    lines = [f"{i},{q},{y}\n" for i, (q, y) in enumerate(zip(Q, Y, strict=True))]
    (folder / "rows.csv").write_text("id,p,y\n" + "".join(lines) + "7,0.5,\n8,x,1\n9,0.25,\n")
    state = folder / "state.json"
    watch(folder / "rows.csv", prediction="p", outcome="y", row_id="id", state=state, follow=False)
    return folder, state.read_text()


def watch_states(text: str) -> Iterator[str]:
    state = json.loads(text)
    yield from tampered(text)
    inner = json.loads(state["monitor"])
    for path in places(inner):
        if len(path) == 1 and path[0] != "checksum":
            for value in ODD[::3]:
                yield resealed({**state, "monitor": resealed(replaced(inner, path, value))})


def test_tampered_states_of_a_watch_are_refused_or_work(watched: tuple[Path, str]) -> None:
    tried, refused = 0, 0
    for text in watch_states(watched[1]):
        tried += 1
        try:
            again = WatchState.from_json(text)
            again.to_json()
            again.monitor.current(draws=0)
        except ValueError:
            refused += 1
    assert tried >= 700
    assert refused >= 0.8 * tried


@pytest.mark.slow
def test_a_refused_state_is_left_alone(watched: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, text = watched
    file = folder / "tampered.json"
    command = [
        "watch",
        str(folder / "rows.csv"),
        "-p",
        "p",
        "-y",
        "y",
        "--id",
        "id",
        "--no-follow",
        "--state",
        str(file),
    ]
    for changed in [*watch_states(text)][::9]:
        file.write_text(changed)
        status = main(command)
        said = capsys.readouterr()
        assert status in (0, 2), said
        if status == 2:
            assert said.err.count("\n") == 1
            assert len(said.err) <= 501
            assert file.read_text() == changed
        else:
            WatchState.from_json(file.read_text())
    assert {path.name for path in folder.iterdir()} == {"rows.csv", "state.json", "tampered.json"}


@pytest.mark.slow
def test_games_of_the_arena(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["arena", "--preset", "post-processing", "--horizons", "40", "--seeds", "1", "--workers", "1", "--out"]
    assert main([*command, str(tmp_path)]) == 0
    capsys.readouterr()
    file = min(tmp_path.iterdir())
    text = file.read_text()
    state = json.loads(text)
    changes: list[dict[str, Any]] = []
    changes += [
        replaced(state, path, value) for path in places(state) if path and path != ("checksum",) for value in ODD[::5]
    ]
    changes += [{**state, "scores": []}, {**state, "scores": state["scores"][:1]}, {**state, "scores": 3 * [{}]}]
    refused = 0
    for changed in changes:
        file.write_text(resealed(changed))
        status = main([*command, str(tmp_path)])
        said = capsys.readouterr()
        assert status in (0, 2), said
        assert said.err.count("\n") == (status == 2)
        refused += status == 2
    assert refused >= 0.6 * len(changes)
    file.write_text(text)
    assert main([*command, str(tmp_path)]) == 0


def test_an_audit_is_not_read_back_with_numbers_that_are_none() -> None:
    text = tc.audit(tc.Predictor([0.25, 0.5], [0.5, 0.5], [0.25, 0.0])).to_json()
    state = json.loads(text)
    tried = 0
    for path in places(state):
        inside = state
        for key in path:
            inside = inside[key]
        if isinstance(inside, float):
            tried += 1
            for number in (float("nan"), float("inf")):
                with pytest.raises(ValueError, match="is not a finite number"):
                    tc.auditing.Audit.from_json(json.dumps(replaced(state, path, number)))
    assert tried >= 20
    with pytest.raises(ValueError, match="is not a finite number"):
        tc.auditing.Audit.from_json(text.replace(": 0.5", ": 1e999", 1))
