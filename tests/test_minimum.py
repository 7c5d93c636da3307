"""The core of the package on whatever versions are installed: `make minimum` runs this on the oldest that are declared.

Nothing here needs more than the package's own dependencies and pytest.
"""

from __future__ import annotations

import json
import os
import re
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import trustcal as tc
from trustcal.cli import main

CENSUS = str(files("trustcal") / "examples" / "census_income.csv")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More rows than one batch of Arrow, more than 4 MB, and enough to be compiled for."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, 200_000)
    y = (rng.random(len(p)) < p**1.2).astype(int)
    file = tmp_path_factory.mktemp("large") / "large.csv"
    np.savetxt(file, np.column_stack([p, y]), fmt="%.17g,%d", header="p,y", comments="")
    assert file.stat().st_size > 4_000_000
    return file


def test_the_oldest_versions_are_the_declared_ones() -> None:
    """With MINIMUM set: what is tested is what pyproject.toml promises."""
    for pin in os.environ.get("MINIMUM", "").split():
        name, least = pin.split("==")
        assert re.sub(r"(\.0)+$", "", version(name)) == re.sub(r"(\.0)+$", "", least)


def test_a_large_file(large: Path) -> None:
    q = tc.read(large)
    rows = np.loadtxt(large, delimiter=",", skiprows=1)
    assert q == tc.Predictor.from_samples(rows[:, 1], rows[:, 0])
    assert 0 < tc.monotone_cdl(q) < 0.1


@pytest.mark.slow
def test_fix_in_every_format(large: Path, tmp_path: Path) -> None:
    remedy = tc.remedies.noise_remedy(tc.UniformNoise(0.1), seed=1)
    want = None
    for name in ("out.csv", "out.jsonl", "out.parquet", "out.csv.gz", "out.tsv.zst"):
        fix = tc.fix_file(large, tmp_path / name, prediction="p", remedy=remedy, into="q")
        assert fix.rows == 200_000
        found = tc.read(tmp_path / name, prediction="q", outcome="y")
        want = want or found
        assert found == want
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 200_000


@pytest.mark.slow
def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, learnt = tmp_path / "page.html", tmp_path / "remedy.json"
    assert main(["audit", CENSUS, "--html", str(page), "--draws", "20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 16_281
    assert "sha256-" in page.read_text(encoding="utf-8")
    assert main(["audit", CENSUS, "--draws", "0", "--fail-if", "loss>0.001"]) == 1
    assert main(["fix", CENSUS, "-p", "prediction", "-y", "outcome", "--method", "beta", "--save", str(learnt)]) == 0
    assert main(["fix", CENSUS, "--remedy", str(learnt), "-o", str(tmp_path / "out.csv")]) == 0
    command = ["watch", CENSUS, "-p", "prediction", "-y", "outcome", "--no-follow", "--state", str(tmp_path / "s.json")]
    assert main(command) in (0, 3)
    assert main(["bound", "0.01"]) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_a_relation_and_a_table(large: Path) -> None:
    import duckdb
    import pyarrow.csv

    want = tc.read(large)
    connection = duckdb.connect()
    assert tc.read(connection.read_csv(str(large)), prediction="p", outcome="y") == want
    assert tc.read(pyarrow.csv.read_csv(large), prediction="p", outcome="y") == want


def test_frames(large: Path) -> None:
    want = tc.read(large)
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    assert tc.read(pandas.read_csv(large, float_precision="round_trip")) == want
    assert tc.read(polars.read_csv(large)) == want


def test_a_classifier() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    y = (x[:, 0] + rng.normal(size=400) > 0).astype(int)
    model = tc.estimators.Recalibrated(linear.LogisticRegression()).fit(x, y)
    assert model.predict_proba(x).shape == (400, 2)
