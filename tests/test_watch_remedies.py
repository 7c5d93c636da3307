"""trustcal watch with a remedy: what is served is monitored, alarms act, and a new remedy is suggested."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import trustcal as tc
from tests.test_remedies import drawn
from trustcal.cli import main
from trustcal.monitoring import Monitor, watch
from trustcal.noise import UniformNoise
from trustcal.remedies import Remedy, fit, noise_remedy, refit_advice
from trustcal.report.terminal.watch_lines import JsonLinesView

FloatArray = NDArray[np.float64]


def written(file: Path, y: NDArray[np.bool_], p: FloatArray) -> Path:
    file.write_text("p,y\n" + "".join(f"{a!r},{int(b)}\n" for a, b in zip(p.tolist(), y.tolist(), strict=True)))
    return file


@pytest.fixture(scope="module")
def overconfident() -> tuple[NDArray[np.bool_], FloatArray]:
    return drawn(3000, 0, distorted=2.0)


@pytest.fixture
def remedy() -> Remedy:
    y, p = drawn(5000, 1, distorted=2.0)
    return fit("temperature", y, p)


def test_what_is_served_is_monitored(
    overconfident: tuple[NDArray[np.bool_], FloatArray], remedy: Remedy, tmp_path: Path
) -> None:
    y, p = overconfident
    file, monitor = written(tmp_path / "rows.csv", y, p), Monitor()
    watch(file, prediction="p", outcome="y", remedy=remedy, monitor=monitor, follow=False)
    twin = Monitor()
    twin.learn_many(remedy.apply(p), y)
    assert monitor.to_json() == twin.to_json()
    assert monitor.alarmed_at is None
    outcomes, served = monitor.recent
    assert (outcomes == y[-1000:]).all()
    assert (served == remedy.apply(p)[-1000:]).all()


def test_a_state_is_only_for_the_same_remedy(
    overconfident: tuple[NDArray[np.bool_], FloatArray], remedy: Remedy, tmp_path: Path
) -> None:
    file, state = written(tmp_path / "rows.csv", *overconfident), tmp_path / "state.json"
    watch(file, prediction="p", outcome="y", remedy=remedy, state=state, follow=False)
    watch(file, prediction="p", outcome="y", remedy=remedy, state=state, follow=False)
    with pytest.raises(ValueError, match="was saved with other remedy"):
        watch(file, prediction="p", outcome="y", state=state, follow=False)


def test_alarms_act_and_exit_with_3(
    overconfident: tuple[NDArray[np.bool_], FloatArray],
    remedy: Remedy,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file, saved, told = written(tmp_path / "rows.csv", *overconfident), tmp_path / "remedy.json", tmp_path / "told"
    remedy.save(saved)
    rows = [str(file), "-p", "p", "-y", "y", "--no-follow", "--every", "500"]
    command = f'echo "row $TRUSTCAL_ROW of $TRUSTCAL_SOURCE" >> {told}; cat >> {told}'
    assert main(["watch", *rows, "--remedy", str(saved), "--on-alarm", command]) == 0
    assert not told.exists()
    state = ["--state", str(tmp_path / "state.json")]
    assert main(["watch", *rows, *state, "--json", "--on-alarm", command]) == 3
    first, *rest = told.read_text().splitlines()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    events = [line["event"] for line in lines]
    assert events == ["alarm", "rows", "suggestion", *["rows"] * 5, "report"]
    assert first == f"row {lines[0]['alarm']['alarmed_at']} of {file}"
    assert json.loads("\n".join(rest))["alarm"]["alarmed_at"] == lines[0]["alarm"]["alarmed_at"]
    assert lines[2]["method"] == "temperature"
    assert lines[2]["refitted_brier"] < lines[2]["brier"]
    assert main(["watch", *rows, *state, "--on-alarm", command]) == 3  # resumed: told again, but not acted on
    assert told.read_text().splitlines() == [first, *rest]
    printed = capsys.readouterr()
    assert "Learn a remedy from recent rows" in printed.out
    assert main(["watch", *rows, "--on-alarm", "exit 7"]) == 3
    assert "ended with status 7" in capsys.readouterr().err


def test_the_column_is_that_of_the_remedy(
    overconfident: tuple[NDArray[np.bool_], FloatArray], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, saved = written(tmp_path / "rows.csv", *overconfident), tmp_path / "remedy.json"
    assert main(["fix", str(file), "-p", "p", "-y", "y", "--save", str(saved)]) == 0
    assert main(["watch", str(file), "-y", "y", "--no-follow", "--remedy", str(saved)]) == 0
    assert main(["watch", str(file), "-y", "y", "--no-follow"]) == 2
    assert "name the column of predictions" in capsys.readouterr().err
    noise_remedy(UniformNoise(0.1), 1).save(saved)
    assert main(["watch", str(file), "-y", "y", "-p", "p", "--no-follow", "--remedy", str(saved)]) == 2
    assert "depends on more than the score" in capsys.readouterr().err
    with pytest.raises(ValueError, match="noise depends on the row"):
        noise_remedy(UniformNoise(0.1), 1).apply_to_scores(np.array([0.5]))


def test_faults_are_lines_too(tmp_path: Path) -> None:
    file, out = tmp_path / "rows.csv", io.StringIO()
    file.write_text("p,y\n0.5,1\n2,1\n")
    tc.watch(file, prediction="p", outcome="y", follow=False, view=JsonLinesView(10, out))
    fault, report = map(json.loads, out.getvalue().splitlines())
    assert (fault["event"], fault["kind"], fault["line"]) == ("fault", "bad prediction", 3)
    assert report["rounds"] == 1


@pytest.mark.parametrize("size", [0, 1, 5, 40])
def test_few_rows_suggest_nothing(size: int) -> None:
    assert refit_advice(np.ones(size), np.full(size, 0.5)) is None


def test_calibrated_rows_suggest_nothing() -> None:
    """After a false alarm nothing should be suggested: at most a tenth of calibrated windows may ask for a remedy."""
    asked = [refit_advice(*drawn(1000, seed)) is not None for seed in range(30)]
    assert sum(asked) <= 3
