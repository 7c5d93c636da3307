"""One rule for input: audit, fix and watch read the same rows as DuckDB and Python's csv and json, or refuse them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trustcal as tc
from trustcal.monitoring import Monitor, watch
from trustcal.monitoring.following import FileChunks
from trustcal.monitoring.line_parser import StreamColumns
from trustcal.monitoring.watch_state import WatchState
from trustcal.reading.numbers import number, number_sql
from trustcal.reading.outcomes import decoded
from trustcal.rewriting.files import rewrite

Pairs = list[tuple[float, int]]

NUMBERS = (
    "0.5", " 0.5 ", "\t0.5", "0.5\n", "+0.5", "-0.0", ".5", "5.", "1e-3", "1E-3", "1e-400", "1e400", "-1e400", "inf",
    "Infinity", "-inf", "+inf", "INF", "nan", "NaN", "-nan", "0_1", "1_000", "_1", "1_", "1e-1_0", "0x10", "0b1", "1e",
    "e1", "true", "1d", "0.5f", "", "  ", "0,5", "1 2", "--1", "1e-5.5", "null", "0.1e", "infinit", "\u00a00.5",
    "0.5\u2003", "\uff11", "\u0660.\u0665", "\u221e", "1e0000000000000001", "0" * 400 + "1", "0." + "1" * 500,
    "\x1c0.5",
)  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_the_same_in_sql_and_in_python(text: str) -> None:
    (found,) = duckdb.connect().execute(f"SELECT {number_sql('t')} FROM (SELECT ? AS t)", [text]).fetchall()[0]
    mine = number(text)
    assert (found is None) == (mine is None)
    assert mine is None or found == mine or (found != found and mine != mine)


def python_csv(data: bytes, delimiter: str) -> Pairs:
    """The rows by Python's csv, with every field."""
    text, limit = data.decode("utf-8-sig"), csv.field_size_limit(10**6)
    try:
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        return [pair(row["p"], row["y"]) for row in rows]
    finally:
        csv.field_size_limit(min(limit, 131_072))


def python_json(data: bytes) -> Pairs:
    return [pair(row["p"], row["y"]) for row in map(json.loads, data.decode().splitlines())]


def pair(p: Any, y: Any) -> tuple[float, int]:
    outcome = decoded(y)
    assert outcome is not None
    return (float(p), outcome)


def audited(file: Path) -> list[tuple[float, float, float]]:
    """The rows of a file, as an audit counts them: predictions, how many rows have each, and how many are 1."""
    q = tc.read(file, prediction="p", outcome="y")
    assert q.rows is not None
    return [(p, m * q.rows, s * q.rows) for p, m, s in zip(q.p, q.mass, q.positive, strict=True)]


def counted(pairs: Pairs) -> list[tuple[float, float, float]]:
    values = sorted({p for p, _ in pairs})
    return [(p, sum(a == p for a, _ in pairs), sum(y for a, y in pairs if a == p)) for p in values]


def watched(file: Path) -> Pairs:
    monitor = Monitor(window=10**6)
    watch(file, prediction="p", outcome="y", monitor=monitor, follow=False)
    return [(q, int(y)) for q, y in zip(monitor._q, monitor._y, strict=True)]


def fixed(file: Path) -> Pairs:
    """The rows that fix reads, by those that it writes."""
    target = file.with_name("out.parquet")
    rewrite(file, target, prediction="p", outcome="y", into="same", draw=lambda p, _: p)
    table = pq.read_table(target)
    return [pair(p, y) for p, y in zip(table["same"].to_pylist(), table["y"].to_pylist(), strict=True)]


WORDS = (
    "plain",
    "a, b",
    'say "yes"',
    "two\nlines",
    "three\r\nlines\n",
    "",
    " ",
    "ünïcode",
    '"',
    "a;b|c\td",
    "'",
    "\u2028",
)


def random_csv(rng: random.Random, delimiter: str, end: str, mark: bool, quoting: int) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting)  # type: ignore[arg-type]
    names = ["n", "p", "y", rng.choice(["note", 'a "name"', "a, name", "x" * 140_000])]
    rng.shuffle(names)
    writer.writerow(names)
    for _ in range(rng.randint(1, 12)):
        p = rng.choice([str(rng.random()), "0", "1", "0.5", "1e-3", f" {rng.random():.3f} "])
        y = rng.choice(["0", "1", "0.0", "1.0", "true", "False", "YES", "n"])
        row = {"p": p, "y": y}
        writer.writerow([row.get(name) or rng.choice(WORDS) for name in names])
    return (b"\xef\xbb\xbf" if mark else b"") + text.getvalue().encode()


def seeds(quick: int, all_: int) -> list[Any]:
    """Seeds of which all but the first few are slow."""
    return [pytest.param(seed, marks=[] if seed < quick else [pytest.mark.slow]) for seed in range(all_)]


@pytest.mark.parametrize("seed", seeds(24, 120))
def test_csv_as_python_reads_it(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    delimiter = ",;|\t"[seed % 4]
    end, quoting = ("\n", "\r\n")[seed // 4 % 2], (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)[seed // 8 % 2]
    data = random_csv(rng, delimiter, end, seed % 3 == 0, quoting)
    want = python_csv(data, delimiter)
    file = tmp_path / "rows.csv"
    file.write_bytes(data)
    assert audited(file) == counted(want)
    assert fixed(file) == want
    assert watched(file) == want
    if seed % 5 == 0:
        packed = tmp_path / "rows.csv.gz"
        packed.write_bytes(gzip.compress(data[: len(data) // 2]) + gzip.compress(data[len(data) // 2 :]))
        assert audited(packed) == counted(want)
        assert fixed(packed) == want


@pytest.mark.parametrize("seed", seeds(10, 60))
def test_json_as_python_reads_it(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    lines = []
    for _ in range(rng.randint(1, 12)):
        row: dict[str, Any] = {
            "p": rng.choice([rng.random(), 0, 1, 0.0, "0.25", 1e-300]),
            "y": rng.choice([0, 1, True, False, "1", "yes", 1.0]),
            rng.choice(WORDS) or "k": rng.choice([None, [1, {"p": 2}], {"y": 3}, *WORDS]),
        }
        keys = list(row)
        rng.shuffle(keys)
        lines.append(json.dumps({key: row[key] for key in keys}, ensure_ascii=rng.random() < 0.5))
    data = "\n".join(lines).replace("\u2028", "\\u2028").encode() + b"\n" * (seed % 2)
    file = tmp_path / "rows.jsonl"
    file.write_bytes(data)
    want = python_json(data)
    assert audited(file) == counted(want)
    assert fixed(file) == want
    assert watched(file) == want


REFUSED = {
    "underscores": ("rows.csv", b"p,y\n0_1,1\n0.5,0\n", 1),
    "underscores in an outcome": ("rows.csv", b"p,y\n0.1,0_1\n0.5,0\n", 1),
    "other digits": ("rows.csv", "p,y\n٠.٥,1\n0.5,0\n".encode(), 1),
    "truth": ("rows.csv", b"p,y\ntrue,1\n0.5,0\n", 1),
    "truth in JSON": ("rows.jsonl", b'{"p": true, "y": 1}\n{"p": 0.5, "y": 0}\n', 1),
    "underscores in JSON": ("rows.jsonl", b'{"p": "0_1", "y": 1}\n{"p": 0.5, "y": 0}\n', 1),
    "a key twice": ("rows.jsonl", b'{"p": 0.5, "y": 0}\n{"p": 0.1, "p": 0.2, "y": 1}\n', 1),
    "a quote that is never closed": ("rows.csv", b'n,p,y\n"a,0.5,1\nb,0.5,0\n', 1),
    "a line feed after carriage returns": ("rows.csv", b"p,y\r\n0.5,0\r\n0.25,1\n", 1),
    "a carriage return after line feeds": ("rows.csv", b"p,y\n0.5,0\n0.25,1\r\n0.5,0\n", 2),
    "another end after a row of two lines": ("rows.csv", b'n,p,y\n"a\r\nb",0.5,0\n"c\nd",0.25,1\r\n', 1),
    "no end like that of the header": ("rows.csv", b"p,y\r\n0.25,0\n0.25,1\n", 0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_audit_and_fix_refuse_watch_skips(name: str, tmp_path: Path) -> None:
    kind, data, good = REFUSED[name]
    file = tmp_path / kind
    file.write_bytes(data)
    for read in (audited, fixed):
        with pytest.raises(ValueError, match=r"rows\.(csv|jsonl)"):
            read(file)
    assert watched(file) == [(0.5, 0)] * good


def test_truth_is_no_prediction_in_parquet(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"p": [True, False], "y": [1, 0]}), file)
    for read in (audited, fixed):
        with pytest.raises(ValueError, match="must hold numbers, but holds truth values"):
            read(file)


def test_columns_have_the_same_names_everywhere(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("p, y\n0.5,1\n")
    for read in (audited, fixed, watched):
        with pytest.raises(ValueError, match="has no column 'y'"):
            read(file)


def test_a_row_of_several_lines_survives_an_interrupted_watch(tmp_path: Path) -> None:
    """The state keeps the beginning of the row."""
    file = tmp_path / "rows.csv"
    whole = b'n,p,y\n"a\nb",0.25,1\n"c\n\nd",0.5,0\n"e",0.75,1\n'
    for cut in range(len(whole)):
        first = WatchState(StreamColumns("p", "y", None), 10, Monitor())
        pairs = first.pairs(first.lines.cut(whole[:cut]))
        again = WatchState.from_json(first.to_json())
        assert again.resumed is not None
        file.write_bytes(whole)
        chunks = FileChunks(file, follow=False)
        again.lines.resume(chunks, again.resumed, "rows.csv")
        while chunk := chunks.read(0.0):
            pairs += again.pairs(again.lines.cut(chunk))
        pairs += again.pairs(again.lines.last(), ended=True)
        chunks.close()
        assert pairs == [(0.25, True), (0.5, False), (0.75, True)]


# --- Parquet: damage is refused, or what is read is what was written


def damaged(data: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        return data[: rng.randrange(len(data))]
    if kind == 1:
        place = rng.randrange(len(data))
        return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
    if kind == 2:
        place = rng.randrange(len(data))
        return data[:place] + bytes(rng.randrange(1, 40)) + data[place + 20 :]
    place = rng.randrange(len(data))
    return data[:place] + data[place + rng.randrange(1, 9) :]


def parquet(seed: int) -> bytes:
    rng = random.Random(seed)
    rows = {"p": [rng.random() for _ in range(50)], "y": [rng.randrange(2) for _ in range(50)], "n": ["ab"] * 50}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(rows), sink, compression=("snappy", "zstd", "none")[seed % 3], write_page_checksum=True)
    return bytes(sink.getvalue())


@pytest.mark.parametrize("seed", seeds(3, 40))
def test_damaged_parquet_is_refused_or_read(seed: int, tmp_path: Path) -> None:
    """Fifteen kinds of damage for each seed; nothing but a ValueError, and predictions that are some."""
    rng, data, refused = random.Random(seed), parquet(seed), 0
    for _ in range(15):
        file = tmp_path / "rows.parquet"
        file.write_bytes(damaged(data, rng))
        for read in (audited, fixed):
            try:
                found = read(file)
                assert all(0 <= row[0] <= 1 for row in found)
            except ValueError:
                refused += 1
        (tmp_path / "out.parquet").unlink(missing_ok=True)
        assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]
    assert refused > 10
