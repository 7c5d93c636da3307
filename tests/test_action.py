"""The GitHub Action, as the runner would call it: its own script, with the inputs as variables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize(("gate", "status"), [("loss>0.5", 0), ("loss>0.5\nloss>0.001", 1), ("lost>0.5", 2)])
def test_the_action_fails_if_a_gate_does(tmp_path: Path, gate: str, status: int) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    step = action["runs"]["steps"][1]
    given = {"file": "rows of $(today).csv", "prediction": "p", "outcome": "y", "fail-if": gate, "html": "a.html"}
    inputs = {name: str(about.get("default", "")) for name, about in action["inputs"].items()} | given
    variables = {name: inputs[text.split("inputs.")[1].split(" ")[0]] for name, text in step["env"].items()}
    rng = np.random.default_rng(0)
    p = rng.random(500)
    rows = [f"{q},{int(o)}" for q, o in zip(p, rng.random(500) < p**2, strict=True)]
    (tmp_path / given["file"]).write_text("\n".join(["p,y", *rows]))
    programs = tmp_path / "trustcal" / "bin"
    programs.mkdir(parents=True)
    program = programs / "trustcal"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m trustcal "$@"\n')
    program.chmod(0o755)
    summary = tmp_path / "summary"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env={**os.environ, **variables, "RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(summary)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done
    assert (tmp_path / "a.html").exists() == (status < 2)
    assert ("loss>0.001: it is 0.0" in summary.read_text()) == (status == 1)
