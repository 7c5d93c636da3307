"""Files to predictors: what is read, and what is refused in one line."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import trustcal as tc
from trustcal.sources import read_payoff

P = [0.1, 0.25, 1 / 3, 0.25, 1.0, 0.0]
Y = [0, 1, 1, 0, 1, 0]
W = [1.0, 2.0, 0.5, 0.0, 1.0, 3.0]


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.parquet", "p.csv.gz", "P.CSV", "odd [1] *?.csv"])
def test_reads_every_format_to_the_same_predictor(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    frame = pd.DataFrame({"p": P, "y": Y, "w": W})
    if file.suffix == ".parquet":
        frame.to_parquet(file)
    else:
        frame.to_csv(file, index=False, sep="\t" if file.suffix == ".tsv" else ",")
    assert tc.read(file, prediction="p", outcome="y") == tc.Predictor.from_samples(Y, P)
    assert tc.read(str(file), prediction="p", outcome="y", weight="w") == tc.Predictor.from_samples(Y, P, W)


@pytest.mark.parametrize("outcomes", [["true", "false"], ["True", "False"], ["yes", "no"], ["1", "0"], ["1.0", "0.0"]])
def test_outcomes_in_a_csv(tmp_path: Path, outcomes: list[str]) -> None:
    file = tmp_path / "p.csv"
    file.write_text(f"p,y\n0.5,{outcomes[0]}\n0.25,{outcomes[1]}\n")
    assert tc.read(file, prediction="p", outcome="y") == tc.Predictor.from_samples([1, 0], [0.5, 0.25])


@pytest.mark.parametrize("dtype", [pl.Boolean, pl.Int8, pl.UInt64, pl.Float32, pl.Decimal(3, 1), pl.String])
def test_outcomes_in_parquet(tmp_path: Path, dtype: Any) -> None:
    file = tmp_path / "p.parquet"
    pl.DataFrame({"p": [0.5, 0.25], "y": pl.Series([1, 0]).cast(dtype)}).write_parquet(file)
    assert tc.read(file, prediction="p", outcome="y") == tc.Predictor.from_samples([1, 0], [0.5, 0.25])


def test_column_names_are_taken_literally(tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    file.write_text('"a ""b"", c",the outcome\n0.5,1\n')
    assert tc.read(file, prediction='a "b", c', outcome="the outcome").p.tolist() == [0.5]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.csv", "p,y\n0.5,1\n0.6,\n", r"outcomes must be 0 or 1.*1 of 2 rows.*row 1"),
        ("p.csv", "p,y\n0.5,1\n,0\n", r"NaN: 1 of 2 rows.*row 1"),
        ("p.csv", "p,y\n0.5,1\n1.5,0\n", r"\[0, 1\]: 1 of 2 rows.*row 1.*1\.5"),
        ("p.csv", "p,y\n0.5,1\nabc,0\nxyz,1\n", r"column 'p' must hold numbers: 2 rows hold text.*row 1.*'abc'"),
        ("p.csv", "p,y\n0.5,yes\n0.6,maybe\n", r"column 'y' must hold numbers: 1 rows hold text.*row 1.*'maybe'"),
        ("p.csv", "p,y\n0.5,1\nyes,0\n", r"column 'p' must hold numbers: 1 rows hold text.*'yes'"),
        ("p.csv", "P,y\n0.5,1\n", r"no column 'p'; did you mean 'P'\? Its columns are: P, y"),
        ("p.csv", "prob,y\n0.5,1\n", r"no column 'p'"),
        ("p.csv", "p,y\n", "at least one row"),
        ("p.csv", "", "no column 'p'"),
        ("p.csv", b"\xff\xfe\x00\x81" * 50, "p.csv"),
        ("p.parquet", "no parquet", r"cannot be read: .*"),
        ("p.xlsx", "", r"must be a CSV, TSV or Parquet file.*\.csv, \.tsv, \.parquet"),
        ("p", "", "must be a CSV"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message) as refusal:
        tc.read(file, prediction="p", outcome="y")
    assert str(file) in str(refusal.value)


def test_missing_files_folders_and_corrupt_archives(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        tc.read(tmp_path / "no.csv", prediction="p", outcome="y")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="is a folder"):
        tc.read(tmp_path / "folder.csv", prediction="p", outcome="y")
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(b"p,y\n" + b"0.5,1\n" * 1000)[:-20])
    with pytest.raises(ValueError, match="cannot be read"):
        tc.read(cut, prediction="p", outcome="y")


def test_dates_are_no_predictions(tmp_path: Path) -> None:
    file = tmp_path / "p.parquet"
    pd.DataFrame({"p": pd.to_datetime(["2020-01-01"]), "y": [1]}).to_parquet(file)
    with pytest.raises(ValueError, match="cannot be read"):
        tc.read(file, prediction="p", outcome="y")


def test_payoff_file(tmp_path: Path) -> None:
    file = tmp_path / "payoff.csv"
    file.write_text("action,0,1\nwait,0,0\n\ntreat, -1 ,3\n")
    d = read_payoff(file)
    assert d.actions == ("wait", "treat")
    np.testing.assert_array_equal(d.payoff, [[0, 0], [-1, 3]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("wait,0,0\n", "header is 'wait,0,0'"),
        ("", "header is ''"),
        ("action,0,1\n", "no actions"),
        ("action,0,1\nwait,0\n", "line 2 is 'wait,0'"),
        ("action,0,1\nwait,0,many\n", "line 2 is 'wait,0,many'"),
        ("action,0,1\nwait,0,nan\n", "finite"),
    ],
)
def test_bad_payoff_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "payoff.csv"
    file.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_payoff(file)
    with pytest.raises(ValueError, match="cannot be read"):
        read_payoff(tmp_path / "no.csv")
