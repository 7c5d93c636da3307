"""Files to predictors: what is read, and what is refused in one line."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import trustcal as tc
from trustcal.reading import read_payoff
from trustcal.reading.files import refusals

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
        (
            "p.csv",
            "p,y\n0.5,1\n0.6,\n",
            r"1 of 2 rows does not: 1 with an outcome that is missing or not 0 or 1.*line 3 .*0\.6', y missing",
        ),
        ("p.csv", "p,y\n0.5,1\n,0\n", r"1 of 2 rows does not: 1 without a prediction.*line 3"),
        (
            "p.csv",
            "p,y\n0.5,1\n1.5,0\n",
            r"1 of 2 rows does not: 1 with a prediction above 1.*line 3 with p '1\.5', y '0'",
        ),
        ("p.csv", "p,y\n0.5,1\nabc,0\nxyz,1\n", r"2 with a prediction that is not a number.*line 3 .*'abc'"),
        ("p.csv", "p,y\n0.5,yes\n0.6,maybe\n", r"1 with an outcome.*line 3 .*'maybe'.*positive="),
        ("p.csv", "p,y\n0.5,1\nyes,0\n", r"1 with a prediction that is not a number.*'yes'"),
        ("p.csv", "P,y\n0.5,1\n", r"no column 'p'\. Did you mean 'P'\? Its columns are: P, y"),
        ("p.csv", "prob,y\n0.5,1\n", r"no column 'p'\. Its columns are: prob, y"),
        ("p.csv", "p,p,y\n0.5,0.6,1\n", r"2 columns called 'p': rename"),
        ("p.csv", "p,y\n", "at least one row"),
        ("p.csv", "", "is empty: it must begin with a line that names the columns"),
        ("p.csv", "p,y\n0.1,1\n0.2\n0.3,0\n", r"Line: 3; Original Line: 0\.2; Expected Number of Columns: 2 Found: 1"),
        ("p.csv", "p,y\n0.1,1\n0.2,1,7\n", r"Line: 3; .*Expected Number of Columns: 2 Found: 3"),
        ("p.csv", "p,y\n0.1,1\n\u00e4,1\n".encode("latin-1"), "not utf-8 encoded"),
        ("p.csv", "p,y\n0.1,1\n".encode("utf-16"), "not utf-8 encoded"),
        ("p.csv", b"\xff\xfe\x00\x81" * 50, "p.csv"),
        (
            "p.jsonl",
            '{"p": 0.1, "y": 1}\n\n{"p": 0.1, "y":}\n{"p": 0.1, "y": 0}\n',
            r"Malformed JSON in .*p\.jsonl in line 3:",
        ),
        ("p.parquet", "no parquet", r"cannot be read: .*"),
        ("p.xlsx", "", r"must be a CSV, TSV, JSON lines or Parquet file.*\.csv, \.tsv, \.jsonl, \.ndjson, \.parquet"),
        ("p", "", r"must be a CSV.*to compare predictions of two classes, also \.json, \.xlsx"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message) as refusal:
        tc.read(file, prediction="p", outcome="y")
    assert str(file) in str(refusal.value)


@pytest.mark.parametrize(
    "content",
    [
        "id,p,y\n" + "#1,0.5,1\n2,0.25,0\n" * 30,  # nothing is a comment
        "\ufeffid,p,y\n" + "1,0.5,1\n2,0.25,0\n" * 30,
        "id,p,y\r\n" + "1,0.5,1\r\n\r\n2,0.25,0\r\n" * 30,
        "id;p;y\n" + "1;0.5;1\n2;0.25;0\n" * 30,
        "id|p|y\n" + "1|0.5|1\n2|0.25|0\n" * 30,
        '"id, number","p","y"\n' + '"1,2","0.5",1\n2,0.25,"0"\n' * 30,
        "P,p,y\n" + "9,0.5,1\n8,0.25,0\n" * 30,  # capitals are letters of their own
    ],
)
def test_every_line_is_a_row(tmp_path: Path, content: str) -> None:
    file = tmp_path / "p.csv"
    file.write_bytes(content.encode())
    q = tc.read(file, prediction="p", outcome="y")
    assert q.rows == 60
    assert q == tc.Predictor.from_samples([1, 0], [0.5, 0.25])


def test_columns_of_parquet_that_differ_only_in_capitals(tmp_path: Path) -> None:
    file = tmp_path / "p.parquet"
    nested = pl.Series([{"a": 1, "b": {"c": 2}}] * 2)
    pl.DataFrame({"n": nested, "P": [0.1, 0.2], "p": [0.5, 0.25], "y": [1, 0]}).write_parquet(file)
    assert tc.read(file, prediction="p", outcome="y").p.tolist() == [0.25, 0.5]
    assert tc.read(file, prediction="P", outcome="y").p.tolist() == [0.1, 0.2]


def test_missing_files_folders_and_corrupt_archives(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        tc.read(tmp_path / "no.csv", prediction="p", outcome="y")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="is a folder"):
        tc.read(tmp_path / "folder.csv", prediction="p", outcome="y")
    with pytest.raises(ValueError, match="cannot be read: File name too long"):
        tc.read(tmp_path / ("x" * 300 + ".csv"), prediction="p", outcome="y")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="is not a regular file"):
        tc.read(tmp_path / "pipe.csv", prediction="p", outcome="y")
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(b"p,y\n" + b"0.5,1\n" * 1000)[:-20])
    with pytest.raises(ValueError, match="cannot be read"):
        tc.read(cut, prediction="p", outcome="y")


def test_dates_are_no_predictions(tmp_path: Path) -> None:
    file = tmp_path / "p.parquet"
    pd.DataFrame({"p": pd.to_datetime(["2020-01-01"]), "y": [1]}).to_parquet(file)
    with pytest.raises(ValueError, match="column 'p' must hold numbers, but holds TIMESTAMP"):
        tc.read(file, prediction="p", outcome="y")


def test_payoff_file(tmp_path: Path) -> None:
    file = tmp_path / "payoff.csv"
    file.write_text("\ufeffaction,0,1\nwait,0,0\n\ntreat, -1 ,3\n", encoding="utf-8")
    d = read_payoff(file)
    assert d.actions == ("wait", "treat")
    np.testing.assert_array_equal(d.payoff, [[0, 0], [-1, 3]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("wait,0,0\n", "header is 'wait,0,0'"),
        ("", "is empty: it must begin with a line that names the columns"),
        ("action,0,1\n", "no actions"),
        ("action,0,1\nwait,0\n", "Line: 2; Original Line: wait,0; Expected Number of Columns: 3 Found: 2"),
        ("action,0,1\nwait,0,many\n", r"row 0 \(from 0\) is 'wait,0,many'"),
        ("action,0,1\n\nwait,0,1_0\n", r"row 0 \(from 0\) is 'wait,0,1_0'"),
        ("action,0,1\nwait,0,nan\n", r"payoff\.csv: payoffs must be finite"),
    ],
)
def test_bad_payoff_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "payoff.csv"
    file.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_payoff(file)
    with pytest.raises(ValueError, match="cannot be read"):
        read_payoff(tmp_path / "no.csv")


@pytest.mark.parametrize("error", [RuntimeError("Query interrupted"), duckdb.InterruptException("INTERRUPT Error")])
def test_an_interrupt_inside_duckdb_is_an_interrupt(error: Exception) -> None:
    """DuckDB makes an error of it, which would be a traceback, or a file that cannot be read."""
    with pytest.raises(KeyboardInterrupt), refusals("a.csv"):
        raise error
    with pytest.raises(RuntimeError, match="something else"), refusals("a.csv"):
        raise RuntimeError("something else")


def test_what_duckdb_says_is_said_without_the_names_of_its_errors(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    file.write_bytes(b"no")
    with pytest.raises(
        ValueError, match=r"a.parquet cannot be read: File '.*a.parquet' too small to be a Parquet file"
    ):
        tc.read(file, "p", "y")
