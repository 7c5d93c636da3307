"""The commands and calls that an audit prints: each can be pasted, and runs."""

from __future__ import annotations

import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import trustcal as tc
from trustcal import remedies
from trustcal.auditing import Audit
from trustcal.cli import main
from trustcal.remedies.methods import METHODS

DRAWS = 20


def rows(count: int = 400) -> pd.DataFrame:
    """Predictions that are far too high, above all in one group; columns with awkward names."""
    rng = np.random.default_rng(0)
    p, group = rng.random(count), rng.choice(["a", "b"], count)
    y = rng.random(count) < np.where(group == "a", p**4, p**2)
    return pd.DataFrame({"my score": p, "it's ill": np.where(y, "yes", "ill no"), "ward no": group, "w": 1 + (p > 0.5)})


def commands(audit: Audit) -> list[str]:
    return [one.command for one in audit.advice if one.command is not None]


def printed(out: str) -> list[str]:
    """The commands that were printed, as a shell reads them: a backslash at the end of a line joins it to the next."""
    joined = out.replace("\\\n", " ").splitlines()
    return [line for line in joined if line.startswith("trustcal ")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with awkward names, and the payoffs in it."""
    place = tmp_path / "a folder; it's long"
    place.mkdir()
    (place / "my payoffs.csv").write_text("action,0,1\nwait,0,0\ntreat,-1,1\n")
    monkeypatch.chdir(place)
    return place


@pytest.mark.parametrize("relative", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_command_with_awkward_names_runs_as_it_is_printed(
    relative: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = rows()
    table.loc[0, "my score"] = 7.0
    first, second, payoff = (
        name if relative else str(folder / name) for name in ("one $HOME.csv", "-two.csv", "my payoffs.csv")
    )
    table[:200].to_csv(folder / "one $HOME.csv", index=False)
    table[200:].to_csv(folder / "-two.csv", index=False)
    second = f"./{second}" if relative else second
    command = ["audit", first, second, "-p", "my score", "-y", "it's ill", "-w", "w", "--by", "ward no"]
    command += ["--positive", "yes", "--resolution", "0.0009765625", "--drop-invalid", "--payoff", payoff]
    assert main([*command, "--draws", str(DRAWS)]) == 0
    out = capsys.readouterr().out
    found = printed(out)
    assert found
    for one in found:
        words = shlex.split(one)
        assert words[:4] == ["trustcal", "fix", first, second]
        assert words[words.index("--payoff") + 1] == payoff
        assert main(words[1:]) == 0
        assert remedies.load(folder / "remedy.json").method != "none"
    applied = printed(capsys.readouterr().out)[-1].replace("NEW", "new.csv").replace("OUT", "out.csv")
    table[1:].to_csv(folder / "new.csv", index=False)
    assert main(shlex.split(applied)[1:]) == 0
    assert len(pd.read_csv(folder / "out.csv")) == len(table) - 1


def test_a_long_command_fits_the_terminal_and_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows().to_csv(folder / "rows.csv", index=False)
    columns = ["-p", "my score", "-y", "it's ill", "--positive", "yes"]
    assert main(["audit", "rows.csv", *columns, "--payoff", "my payoffs.csv"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    (line,) = (line for line in out.splitlines() if line.startswith("trustcal "))
    assert line.endswith(" \\")
    (command,) = printed(out)
    words = shlex.split(command)
    at = words.index("--method")
    assert words[at + 1] in METHODS
    del words[at : at + 2]
    assert words == ["trustcal", "fix", "rows.csv", *columns, "--payoff", "my payoffs.csv", "--save", "remedy.json"]


@pytest.mark.slow
def test_a_table_of_a_database_is_named(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "scores.db")) as connection:
        rows().to_sql("june", connection, index=False)
        rows()[:9].to_sql("july", connection, index=False)
    audit = tc.audit(
        "scores.db", prediction="my score", outcome="it's ill", positive="yes", table="june", draws=DRAWS, rng=0
    )
    (command,) = commands(audit)
    assert " --table june " in command
    assert main(shlex.split(command)[1:]) == 0
    assert Audit.from_json(audit.to_json()).advice == audit.advice


def test_payoffs_without_a_file_have_a_placeholder(folder: Path) -> None:
    rows().to_csv(folder / "rows.csv", index=False)
    problem = tc.DecisionProblem([[0, 0], [-1, 1]])
    audit = tc.audit(
        Path("rows.csv"), prediction="my score", outcome="it's ill", positive="yes", payoff=problem, draws=DRAWS
    )
    assert all(command.endswith("--payoff FILE --save remedy.json") for command in commands(audit))
    assert commands(audit)


@pytest.mark.slow
@pytest.mark.parametrize("payoff", [tc.DecisionProblem([[0, 0], [-1, 1]]), pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "kind", ["frame", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("groups", "weights"))]
)
def test_calls_for_frames_and_arrays_run(kind: str, payoff: tc.DecisionProblem | None) -> None:
    frame = rows()
    y, p, groups, weight = frame["it's ill"] == "yes", frame["my score"], frame["ward no"], frame["w"]
    if kind == "frame":
        columns = {"prediction": "my score", "outcome": "it's ill", "positive": "yes", "by": "ward no"}
        audit = tc.audit(frame, **columns, payoff=payoff, draws=DRAWS)  # type: ignore[call-overload]
    elif kind == "groups":
        by_name = {name: tc.Predictor.from_samples(y[groups == name], p[groups == name]) for name in "ab"}
        audit = tc.audit(y, p, groups=by_name, payoff=payoff, draws=DRAWS)
    else:
        audit = tc.audit(y, p, weight, payoff=payoff, draws=DRAWS)
    given = {"frame": frame, "y_true": y, "y_prob": p, "sample_weight": weight, "groups": groups, "problem": payoff}
    assert commands(audit)
    for call in commands(audit):
        assert isinstance(eval(call, {"trustcal": tc, **given}), remedies.Choice)
        assert ("payoff=problem" in call) == (payoff is not None)
