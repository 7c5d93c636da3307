"""The audit: its numbers, its words, and the commands that show them."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trustcal as tc
from trustcal.cli import main
from trustcal.report.terminal import verdict

RAIN = tc.Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])


def test_numbers_are_those_of_the_measures() -> None:
    audit = tc.audit(RAIN, problem=tc.DecisionProblem([[0, 0], [-100, 100]], ["stay", "go"]))
    assert (audit.ece, audit.cdl, audit.cells, audit.rows) == (tc.ece(RAIN), 1.0, None, None)
    assert audit.worst.thresholds == (0.5,)
    assert audit.worst_threshold == next(loss for loss in audit.losses if loss.threshold == 0.5)
    assert audit.worst_threshold.reversed == 1
    for loss in audit.losses:
        assert loss.loss == tc.threshold(loss.threshold).swap_regret(RAIN)
    assert audit.problem is not None
    assert audit.problem.swap_regret == 100
    assert audit.problem.stakes == 100
    assert audit.mean_prediction == pytest.approx(0.5)


def test_continuous_predictions_are_measured_on_cells_and_rounded_ones_as_they_are() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(8000)
    y = rng.random(8000) < p
    audit = tc.audit(y, p)
    q = tc.Predictor.from_samples(y, p)
    assert audit.cells == 20
    assert audit.values == 8000
    assert audit.ece == tc.ece(q.coarsen(20))
    assert audit.cdl == tc.cdl(q.coarsen(20))
    rounded = tc.audit(y, p.round(1))
    assert rounded.cells is None
    assert rounded.ece == tc.ece(y, p.round(1))
    assert tc.audit(y, p.round(1), cells=3).cells == 3


def test_worst_threshold_is_the_worst_of_all() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        p = np.sort(rng.random(6))
        mass = rng.dirichlet(np.ones(6))
        q = tc.Predictor(p, mass, mass * rng.random(6))
        audit = tc.audit(q)
        others = max(tc.threshold(mu).swap_regret(q) for mu in [*np.linspace(0, 1, 201), *q.p, *q.p_hat])
        assert audit.worst_threshold.loss == pytest.approx(others, abs=1e-12)
        assert audit.worst_threshold.loss <= audit.cdl + 1e-12


def test_the_verdict_names_who_is_hurt() -> None:
    one = tc.Predictor([0.32], [1], [0.25])
    assert verdict(tc.audit(one)) == (
        "By believing these predictions, a decision maker who acts above 0.32 loses 10.3 % of the payoff range. "
        "Nobody loses more."
    )
    two = tc.Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25])
    assert "The most anyone loses is 25.0 %: with three actions, changing at 0.25 and at 0.75." in verdict(
        tc.audit(two)
    )
    assert verdict(tc.audit(tc.Predictor([0.5], [1], [0.5]))).startswith("No decision maker loses anything")


def test_printing_shows_every_measure() -> None:
    rows = [0, 1] * 10, [0.25, 0.75] * 10, [1.0, 2.0] * 10
    audit, text = tc.audit(*rows), str(tc.audit(*rows))
    assert re.search(r"Rows\s+\|\s+20 \| worth 18 equal ones", text)
    for name, value in (
        ("Distance to calibration", tc.dtc(*rows)),
        ("Smooth calibration error", tc.smcal(*rows)),
        ("SmoothECE", tc.smece(*rows)),
        ("Expected calibration error", tc.ece(*rows)),
        ("Calibration decision loss", tc.cdl(*rows)),
    ):
        assert re.search(rf"{name}\s+\|\s+{value:.4f}", text), name
    assert audit.dtc_lower <= tc.dtc(*rows) == audit.dtc_upper


def test_nothing_is_reversed_for_the_sake_of_rounding() -> None:
    p = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
    y = np.concatenate([np.arange(100) < round(100 * value) for value in p])
    audit = tc.audit(y, np.repeat(p, 100))  # exactly calibrated, on the thresholds
    assert {loss.reversed for loss in audit.losses} == {0.0}
    assert {loss.loss for loss in audit.losses} == {0.0}


def test_the_verdict_at_the_ends_and_for_small_losses() -> None:
    assert "acts only if the prediction is 1 loses 10.0 %" in verdict(tc.audit([0] * 5 + [1] * 45, [1.0] * 50))
    assert "acts unless the prediction is 0 loses 10.0 %" in verdict(tc.audit([1] * 5 + [0] * 45, [0.0] * 50))
    assert "loses 0.02 % of the payoff range" in verdict(tc.audit(tc.Predictor([0.5], [1], [0.5001])))


def test_json_holds_every_number() -> None:
    audit = tc.audit(RAIN)
    data = json.loads(audit.to_json())
    assert data["cdl"] == 1.0
    assert data["worst"]["thresholds"] == [0.5]
    assert data["worst"]["payoff"] == [[1, 0], [0, 1]]
    assert data["losses"][5] == {"threshold": 0.5, "loss": 1.0, "reversed": 1.0}
    assert data["problem"] is None


# --- the command line


@pytest.fixture
def rain(tmp_path: Path) -> Path:
    file = tmp_path / "rain.csv"
    file.write_text("forecast,rained\n" + "0.4999,1\n0.5001,0\n" * 50)
    return file


def test_audit_command(rain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    payoff = tmp_path / "payoff.csv"
    payoff.write_text("action,0,1\nleave,10,0\ntake,0,10\n")
    assert main(["audit", str(rain), "-p", "forecast", "-y", "rained", "--payoff", str(payoff)]) == 0
    out, err = capsys.readouterr()
    assert "a decision maker who acts above 0.5 loses 100.0 % of the payoff range" in " ".join(out.split())
    assert re.search(r"swap regret\) \|\s+10 \|", out)
    assert "leave | 0.5 | take" in out
    assert err == ""
    assert main(["audit", str(rain), "-p", "forecast", "-y", "rained", "-w", "forecast", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 100


def test_demo_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert "16,281" in out
    assert "on 25 cells of equal mass" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "no.csv", "-p", "p", "-y", "y"], "no.csv does not exist"),
        (["audit", "RAIN", "-p", "forecasts", "-y", "rained"], "Did you mean 'forecast'?"),
        (["audit", "RAIN", "-p", "rained", "-y", "forecast"], "Exchange column 'forecast' and column 'rained'"),
        (["audit", "RAIN", "-p", "rained", "-y", "rained"], "must be different columns"),
        (["audit", "RAIN", "-p", "forecast", "-y", "rained", "--payoff", "RAIN"], "action,0,1"),
        (["audit", "RAIN", "-p", "forecast"], "required: -y/--outcome (see trustcal audit --help)"),
        (["audit"], "required"),
        (["audits"], "invalid choice"),
        ([], "required: COMMAND"),
        (["audit", "RAIN", "-p", "forecast", "-y", "rained", "--nonsense"], "unrecognized arguments: --nonsense"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, rain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(rain) if word == "RAIN" else word for word in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("trustcal: ")
    assert message in err


def test_a_pipe_that_closes_early_is_no_error(rain: Path) -> None:
    command = f"{sys.executable} -m trustcal audit {rain} -p forecast -y rained --json | head -n 1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "{\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full, a disk that is always full, here")
def test_a_full_disk_is_one_line_too(rain: Path) -> None:
    command = f"{sys.executable} -m trustcal audit {rain} -p forecast -y rained --json > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "trustcal: No space left on device\n")


def test_a_terminal_gets_colours_and_a_pipe_none(rain: Path) -> None:
    command = [sys.executable, "-m", "trustcal", "audit", str(rain), "-p", "forecast", "-y", "rained"]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "\x1b" not in piped.stdout
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"}) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:
                break
            if not chunk:
                break
            shown += chunk
        assert process.wait() == 0
    os.close(ours)
    assert b"\x1b[1m" in shown
