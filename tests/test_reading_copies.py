"""Standard input, JSON arrays, Excel sheets and databases are audited like the CSV file with the same rows."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import trustcal as tc
from trustcal.cli import main

RNG = np.random.default_rng(0)
P = RNG.random(60).round(4)  # Excel keeps 15 digits
ROWS = [(float(p), int(y)) for p, y in zip(P, RNG.random(60) < P, strict=True)]
FRAME = pl.DataFrame({"p": [p for p, _ in ROWS], "y": [y for _, y in ROWS]})


def json_array(folder: Path) -> Path:
    file = folder / "rows.json"
    file.write_text(json.dumps([{"p": p, "y": y} for p, y in ROWS]))
    return file


def excel(folder: Path) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [("p", "y"), *ROWS]:
        book.active.append(row)
    book.create_sheet("notes").append(["nothing here"])
    book.save(folder / "rows.xlsx")
    return folder / "rows.xlsx"


def duckdb_file(folder: Path) -> Path:
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.execute("CREATE TABLE scores (p DOUBLE, y INTEGER)")
        connection.executemany("INSERT INTO scores VALUES (?, ?)", ROWS)
    return folder / "rows.duckdb"


def sqlite_file(folder: Path) -> Path:
    with sqlite3.connect(folder / "rows.db") as connection:
        connection.execute("CREATE TABLE scores (p REAL, y INTEGER)")
        connection.executemany("INSERT INTO scores VALUES (?, ?)", ROWS)
    connection.close()
    return folder / "rows.db"


@pytest.mark.parametrize("written", [json_array, excel, duckdb_file, sqlite_file])
def test_every_format_gives_the_same_rows(written: Callable[[Path], Path], tmp_path: Path) -> None:
    file = written(tmp_path)
    audit = tc.audit(file, draws=0)
    assert audit.measures == tc.audit(FRAME, draws=0).measures
    assert audit.provenance is not None
    assert audit.provenance.source == str(file)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "parquet"])
def test_standard_input_is_recognised(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    buffer = io.BytesIO()
    if kind == "json":
        buffer.write(json.dumps([{"p": p, "y": y} for p, y in ROWS]).encode())
    else:
        write: Callable[[io.BytesIO], Any] = getattr(FRAME, f"write_{kind.replace('jsonl', 'ndjson')}")
        write(buffer)
    buffer.seek(0)
    monkeypatch.setattr(sys, "stdin", type("Input", (), {"buffer": buffer}))
    assert main(["audit", "-", "--draws", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["measures"] == tc.audit(FRAME, draws=0).measures
    assert found["provenance"]["source"] == "standard input"


@pytest.mark.slow
def test_weights_of_a_copy_are_kept_for_the_comparison(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([{"p": p, "y": y, "w": 1 + i % 3} for i, (p, y) in enumerate(ROWS)]))
    assert tc.audit(file, weight="w", compare=True, draws=0).comparison is not None


def refused(source: Any, **options: Any) -> str:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the caller looks at the message
        tc.audit(source, draws=0, **options)
    return str(error.value)


def test_tables_are_named_where_there_are_several(tmp_path: Path) -> None:
    file = sqlite_file(tmp_path)
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE other (x REAL)")
    connection.close()
    assert "say which table to read, by table='…' (--table). It has: scores, other." in refused(file)
    assert "has no table 'score'. It has: scores, other." in refused(file, table="score")
    assert tc.audit(file, table="scores", draws=0).rows == 60
    assert "databases and Excel files, but a DataFrame is neither. Leave out table='s'" in refused(FRAME, table="s")
    assert "but rows.csv is neither. Leave out table='s' (--table)." in refused("rows.csv", table="s")
    assert "must be different columns" in refused(file, table="scores", prediction="y", outcome="y")


def test_messages_name_the_source_and_not_its_copy(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('[{"p": 63.7, "y": 1}, {"p": 20, "y": 0}]')
    said = refused(tmp_path / "bad.json")
    assert said.startswith(f"{tmp_path / 'bad.json'}: every row must")
    assert "The predictions look like percentages: divide them by 100." in said
    (tmp_path / "object.json").write_text('{"p": {"0": 0.5}}')
    assert "must hold a JSON array of objects, as pandas writes by orient='records'" in refused(
        tmp_path / "object.json"
    )
    (tmp_path / "twice.json").write_text('[{"p": 0.1, "p": 0.2, "y": 1}]')
    assert "with each key once" in refused(tmp_path / "twice.json")
    assert "save the sheet as CSV or .xlsx" in refused(tmp_path / "old.xls")
    assert "does not exist" in refused(tmp_path / "none.json")
    (tmp_path / "broken.duckdb").write_bytes(b"nothing")
    assert "broken.duckdb cannot be read" in refused(tmp_path / "broken.duckdb")


@pytest.mark.parametrize("address", ["s3://bucket/rows.parquet", "https://host/rows.csv"])
def test_addresses_are_refused_with_what_to_do(address: str) -> None:
    said = refused(address)
    assert said.startswith(f"{address} is not a local file. Copy it first (")
    assert "DuckDB relation" in refused(Path(address))


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("p,y\n63.7,1\n20,0\n", "The predictions look like percentages: divide them by 100."),
        ("p,y\n-1.2,0\n2.3,1\n", "turn log odds x into 1/(1 + exp(−x))."),
        ("p,y\n120,0\n640,1\n", "look like scores: turn them into probabilities."),
        ("p,y\n0.5,0\n1.0000001,1\n", "by rounding errors only: cut them off at 0 and 1."),
        ("p,y\n0.5,-1\n0.7,1\n", "The outcomes look like −1 and 1: say positive=1 (--positive 1)."),
        ("p,y\n0.5,1\n0.7,2\n", "positive=2 (--positive 2)"),
        ("p,y\n0.5,0\n0.7,1\n0.7,2\n", "The outcomes have more than two labels: recode them as 0 and 1."),
        ("p,y\n0.5,-1\n0.7,1\n0.7,0\n", "The outcomes have more than two labels: recode them as 0 and 1."),
        ("p,y\n0.5,0\n0.7,1\n30,1\n", "Divide percentages by 100; turn scores or logits into probabilities. To leave"),
        ("p,y\n" + "0.5,0\n" * 20 + "-3,1\n", "Divide percentages by 100; turn scores or logits into probabilities."),
        ("p,y\n0.5,won\n0.7,lost\n", "outcome that is missing or not 0 or 1. The first:"),
        ("p,y\n0.5,1\n1.4,0\n", "Divide percentages by 100; turn scores or logits into probabilities. To leave"),
        ("p;y\n0,637;1\n0,2;0\n", "decimal comma: write 0.5 for 0,5."),
        ("p,y\n63.7%,1\n20 %,0\n", "percent sign: remove it, and divide by 100."),
        ("0.2,0\n0.7,1\n", "must begin with a line that names the columns, but begins with '0.2,0'. Add one"),
        (" p,y\n0.2,0\n", "' p' has spaces around its name"),
    ],
)
def test_the_message_names_the_cause_and_the_remedy(text: str, cause: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(text)
    assert cause in refused(tmp_path / "rows.csv")


def test_words_are_no_numbers_and_most_rows_are_not_to_be_left_out(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("p,y\n0.5,won\n0.7,lost\n")
    said = refused(file)
    assert "−1" not in said
    assert "name the positive one: positive='…' (--positive)" in said
    file.write_text("p,y\n" + "0.5,-1\n0.7,1\n" * 20)
    assert "drop_invalid" not in refused(file)  # only ones would be left
    for systematic in ("-3,1\n4,0\n0.5,1\n" * 20 + ",1\n", "70,1\n0.5,0\n35,1\n", "1.5,1\n"):
        file.write_text(f"p,y\n{systematic}")
        assert "drop_invalid" not in refused(file)
    file.write_text("p,y\n0.5,-1\n" + "0.7,1\n0.2,0\n" * 20)
    assert "To leave them out: drop_invalid=True" in refused(file)


def test_a_leading_space_in_a_name_is_seen(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(" p,y\n0.2,0\n")
    assert "has no column 'p', but one with other spaces, ' p'" in refused(tmp_path / "rows.csv", prediction="p")


def test_rows_are_named_by_their_line(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("p,y,note\n0.5,1,a\n0.5,,b\n1.5,0,c")
    assert "line 3 with p '0.5', y missing; line 4 with p '1.5', y '0'" in refused(file)
    file.write_text('p,y,note\n0.5,1,"two\nlines"\n1.5,0,c\n')
    assert "row 1 (from 0) with p '1.5'" in refused(file)
    (tmp_path / "rows.jsonl").write_text('{"p": 0.5, "y": 1}\n{"p": 7, "y": 1}\n')
    assert "line 2 with p '7'" in refused(tmp_path / "rows.jsonl")


def test_what_the_reader_must_know_about_the_data() -> None:
    def caveats(*rows: Any, **options: Any) -> str:
        return " ".join(tc.audit(*rows, **options).verdict.caveats)

    assert "All outcomes are 0" in caveats([0, 0, 0], [0.2, 0.7, 0.3])
    assert "All predictions are 0 or 1: these are decisions" in caveats([0, 1, 0, 1], [0.0, 1.0, 1.0, 1.0])
    assert "one action" in caveats([0, 1, 0], [0.2, 0.7, 0.3], payoff=tc.DecisionProblem([[0, 1]], ["wait"]))
    assert caveats([0, 1, 0], [0.2, 0.7, 0.3]) == ""
