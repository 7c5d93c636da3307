"""Files with one more column: other values as they were written, types as they were, and all or nothing."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trustcal as tc
import trustcal.rewriting.arrow
from tests.strategies import costly
from trustcal.noise import TruncatedLaplace
from trustcal.rewriting import fix_file, rewrite
from trustcal.smoothing import OnlineSmoother, perturb

NOISE = TruncatedLaplace(0.1)


def flip(q: Any, ids: Any) -> Any:
    return 1 - q


def by_id(q: Any, ids: Any) -> Any:
    return perturb(q, NOISE, ids=ids, seed=3)


def rewritten(folder: Path, content: str | bytes, name: str = "in.csv", out: str = "out.csv", **options: Any) -> bytes:
    source = folder / name
    source.write_bytes(content if isinstance(content, bytes) else content.encode())
    settled: dict[str, Any] = {"prediction": "p", "draw": flip} | options
    rewrite(source, folder / out, **settled)
    return (folder / out).read_bytes()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("p,y\n0.25,1\n", "p,p_noised,y\n0.25,0.75,1\n"),
        ("y,p\n1,0.25", "y,p,p_noised\n1,0.25,0.75\n"),
        ("p\n0.25\n1\n", "p,p_noised\n0.25,0.75\n1,0.0\n"),
        ("\ufeffp,y\r\n0.25,1\r\n", "p,p_noised,y\n0.25,0.75,1\n"),
        ("p,y\r0.25,1\r", "p,p_noised,y\n0.25,0.75,1\n"),
        ("id;p;y\n1;0.25;1,5\n", "id;p;p_noised;y\n1;0.25;0.75;1,5\n"),
        ("id|p\n1|0.25\n", "id|p|p_noised\n1|0.25|0.75\n"),
        ("id\tp\n1\t0.25\n", "id\tp\tp_noised\n1\t0.25\t0.75\n"),
        ('"id","p"\n"a, ""b""","0.25"\n', 'id,p,p_noised\n"a, ""b""",0.25,0.75\n'),
        ('t,p\n"two\nlines",0.25\n"",0.5\n', 't,p,p_noised\n"two\nlines",0.25,0.75\n,0.5,0.5\n'),
        ('t,p\r\n"two\nlines",0.25\r\n', 't,p,p_noised\n"two\nlines",0.25,0.75\n'),
        ('t,p\n5" tall,0.25\n,0.5\n  , 0.5 \n', 't,p,p_noised\n"5"" tall",0.25,0.75\n,0.5,0.5\n  , 0.5 ,0.5\n'),
        ("t,p\n\n1,0.25\n\n\n2,0.5\n\n", "t,p,p_noised\n1,0.25,0.75\n2,0.5,0.5\n"),
        ("naïve 🎲,p\né\u2028x,2.5e-1\n007,+.25\n", "naïve 🎲,p,p_noised\né\u2028x,2.5e-1,0.75\n007,+.25,0.75\n"),
        ("t,p\n#no comment,0.25\n\\,0.5\n", 't,p,p_noised\n"#no comment",0.25,0.75\n\\,0.5,0.5\n'),
        ("P,p\n9,0.25\n", "P,p,p_noised\n9,0.25,0.75\n"),
        ("a,a,p\n9,8,0.25\n", "a,a,p,p_noised\n9,8,0.25,0.75\n"),
        ("p,y\n", "p,p_noised,y\n"),
        (
            "big,e,day,uuid,null,p\n12345678901234567890123,1e400,2024-01-02,6F1F0ED4-4D3C-4B2A-8A43-1F6A4B8F7A02,NULL,1\n",
            "big,e,day,uuid,null,p,p_noised\n"
            "12345678901234567890123,1e400,2024-01-02,6F1F0ED4-4D3C-4B2A-8A43-1F6A4B8F7A02,NULL,1,0.0\n",
        ),
    ],
)
def test_every_other_field_of_a_csv_keeps_its_text(tmp_path: Path, content: str, expected: str) -> None:
    """Quotes stay where they are needed, lines end with a line feed, empty lines and the byte order mark go."""
    assert rewritten(tmp_path, content) == expected.encode()


def test_a_csv_keeps_its_delimiter_and_a_tsv_has_tabs(tmp_path: Path) -> None:
    assert rewritten(tmp_path, "a;p\n1,5;0.25\n", out="out.csv.gz")[:2] == b"\x1f\x8b"
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()) == b"a;p;p_noised\n1,5;0.25;0.75\n"
    assert rewritten(tmp_path, "a;p\n1,5;0.25\n", out="out.tsv") == b"a\tp\tp_noised\n1,5\t0.25\t0.75\n"
    assert rewritten(tmp_path, "a\tp\n1,5\t0.25\n", "in.tsv") == b'a,p,p_noised\n"1,5",0.25,0.75\n'


def test_only_text_in_utf8_is_copied(tmp_path: Path) -> None:
    """As in every other command: what was written can be read again."""
    assert rewritten(tmp_path, b"t,p\n\x7f\x00\xc3\xa4,0.25\n") == b"t,p,p_noised\n\x7f\x00\xc3\xa4,0.25,0.75\n"
    with pytest.raises(ValueError, match="not utf-8 encoded"):
        rewritten(tmp_path, b"t,p\n\xe4,0.25\n")


fields = st.text(st.sampled_from('a"\n\r,;é |\t0'), max_size=5)


@pytest.mark.slow
@given(
    rows=st.lists(st.tuples(fields, st.floats(0, 1), fields, st.booleans(), st.booleans()), max_size=8),
    delimiter=st.sampled_from(",;|"),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    batch=st.integers(1, 4),
)
@costly(150)
def test_a_csv_written_by_hand(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], delimiter: str, end: str, batch: int
) -> None:
    """The oracle writes the text itself, with quotes where they are needed and where they are not."""

    def field(text: str, always: bool) -> str:
        needed = any(letter in text for letter in (delimiter, "\n", "\r")) or text.lstrip().startswith('"')
        return '"' + text.replace('"', '""') + '"' if always or needed else text

    lines = [f"a{delimiter}p{delimiter}b"]
    for a, p, b, quoted, quoted_p in rows:
        lines.append(delimiter.join([field(a, quoted), field(repr(p), quoted_p), field(b, quoted)]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trustcal.rewriting.arrow, "BATCH", batch)
        out = rewritten(tmp_path_factory.mktemp("csv"), end.join([*lines, ""]))
    header, *found = csv.reader(io.StringIO(out.decode(), newline=""), delimiter=delimiter, strict=True)
    assert header == ["a", "p", "p_noised", "b"]
    assert [(a, p, float(safe), b) for a, p, safe, b in found] == [(a, repr(p), 1 - p, b) for a, p, b, *_ in rows]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"p": 0.25, "y": 1}\n', '{"p": 0.25, "y": 1,"p_noised":0.75}\n'),
        ('{"y":1,"p":0.25}', '{"y":1,"p":0.25,"p_noised":0.75}\n'),
        ('{"p": 0.25}\r\n\r\n', '{"p": 0.25,"p_noised":0.75}\n'),
        (
            ' { "x" : {"p": [1.10, "}"]} , "p" : 2.5E-1 } \n{"p": "0.5", "late": 1e400}\n',
            '{ "x" : {"p": [1.10, "}"]} , "p" : 2.5E-1 ,"p_noised":0.75}\n{"p": "0.5", "late": 1e400,"p_noised":0.5}\n',
        ),
        ('{"é\\u00e9": "\\"", "\\u0070": 1}\n', '{"é\\u00e9": "\\"", "\\u0070": 1,"p_noised":0.0}\n'),
        (
            '{"n": 12345678901234567890123, "P": null, "d": "2024-01-02", "p": 1, "z": {"b": {}, "a": []}}\n',
            '{"n": 12345678901234567890123, "P": null, "d": "2024-01-02", "p": 1, "z": {"b": {}, "a": []}'
            ',"p_noised":0.0}\n',
        ),
    ],
)
def test_every_other_byte_of_an_object_stays(tmp_path: Path, content: str, expected: str) -> None:
    assert rewritten(tmp_path, content, "in.jsonl", "out.ndjson") == expected.encode()


keys = st.sampled_from(["p", "q", "a b", 'x"', "\\", "é", "id"])
values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.sampled_from(["p", '"p": 0.5', "{"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(keys, inner, max_size=2)),
    max_leaves=4,
)


@pytest.mark.slow
@given(
    objects=st.lists(
        st.tuples(st.dictionaries(keys, values, max_size=3), st.floats(0, 1), st.integers(0, 3)), min_size=1, max_size=5
    ),
    layout=st.sampled_from([{}, {"separators": (",", ":")}, {"ensure_ascii": False}, {"separators": (" , ", " : ")}]),
    named=st.booleans(),
)
def test_json_lines_of_any_shape(
    tmp_path_factory: pytest.TempPathFactory, objects: list[Any], layout: dict[str, Any], named: bool
) -> None:
    """Every line is the old one with the new key last."""
    rows = []
    for number, (members, p, place) in enumerate(objects):
        pairs = [pair for pair in members.items() if pair[0] not in ("p", "id")]
        pairs.insert(place, ("p", p))
        pairs.append(("id", number))
        rows.append(pairs)
    before = [json.dumps(dict(pairs), **layout) + "\n" for pairs in rows]
    out = rewritten(
        tmp_path_factory.mktemp("json"),
        "".join(before),
        "in.jsonl",
        "out.jsonl",
        row_id="id" if named else None,
        draw=by_id,
    ).decode()
    safe = perturb([p for _, p, _ in objects], NOISE, ids=np.arange(len(objects)), seed=3).tolist()
    after = [f'{line[:-2]},"p_noised":{value!r}}}\n' for line, value in zip(before, safe, strict=True)]
    assert out == "".join(after)
    found = [dict([*pairs, ("p_noised", value)]) for pairs, value in zip(rows, safe, strict=True)]
    assert [json.loads(line) for line in out.splitlines()] == found


def test_parquet_keeps_types_order_and_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trustcal.rewriting.arrow, "BATCH", 2)
    table = pa.table(
        {
            "nested": pa.array([{"a": [1, None], "b": {"c": "x"}}, None, {"a": [], "b": None}]),
            "P": pa.array([9, 8, None], pa.int8()),
            "p": pa.array([0.25, 0.5, 1.0], pa.float32()),
            "money": pa.array([Decimal("1.10"), None, Decimal("-3.00")], pa.decimal128(9, 2)),
            "day": pa.array([date(2020, 1, 2), None, date(1900, 1, 1)]),
            "time": pa.array([datetime(2020, 1, 2), None, None], pa.timestamp("us", tz="Europe/Berlin")),
            "class": pa.array(["a", "b", "a"]).dictionary_encode(),
            "bytes": pa.array([b"\x00", None, b""]),
        }
    ).replace_schema_metadata({"owner": "someone"})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=2)
    seen: list[tuple[int, int]] = []
    done = rewrite(
        tmp_path / "in.parquet",
        tmp_path / "out.parquet",
        prediction="p",
        draw=flip,
        progress=lambda done, total: seen.append((done, total)),
    )
    out = pq.read_table(tmp_path / "out.parquet")
    assert (done.rows, done.predictor) == (3, None)
    assert out.column_names == ["nested", "P", "p", "p_noised", "money", "day", "time", "class", "bytes"]
    assert out["p_noised"].to_pylist() == [0.75, 0.5, 0.0]
    assert out.drop_columns(["p_noised"]).equals(table)
    assert out.schema.metadata[b"owner"] == b"someone"
    assert seen[-1] == (3, 3)
    assert all(total == 3 for _, total in seen)


def test_a_frame_of_pandas_in_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"p": [0.25, 0.5]}, index=pd.Index(["a", "b"], name="case"))
    frame.to_parquet(tmp_path / "in.parquet")
    rewrite(tmp_path / "in.parquet", tmp_path / "in.parquet", prediction="p", draw=flip, row_id="case")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "in.parquet"), frame.assign(p_noised=[0.75, 0.5]))


NAMES = ["x.csv", "x.csv.gz", "x.csv.zst", "x.tsv", "x.jsonl", "x.jsonl.gz", "x.ndjson.zst", "x.parquet"]
ROWS = pd.DataFrame({"id": [17, 4, 99], "p": [0.25, 0.5, 1 / 3], "t": ["a", 'b "c", d', "é\nf"]})


def write(frame: pd.DataFrame, file: Path) -> None:
    if file.suffix == ".parquet":
        frame.to_parquet(file)
        return
    if ".csv" in file.name or ".tsv" in file.name:
        text = frame.to_csv(index=False, sep="\t" if ".tsv" in file.name else ",").encode()
    else:
        text = pl.from_pandas(frame).write_ndjson().encode()
    with pa.output_stream(str(file), compression="detect") as stream:
        stream.write(text)


def load(file: Path) -> pd.DataFrame:
    if file.suffix == ".parquet":
        return pd.read_parquet(file)
    with pa.input_stream(str(file), compression="detect") as stream:
        text = stream.read().decode()
    if ".csv" in file.name or ".tsv" in file.name:
        exact = {"p": float, "p_noised": float}  # to the last bit, which pandas before 3.1 does not give by default
        return pd.read_csv(io.StringIO(text), sep="\t" if ".tsv" in file.name else ",", converters=exact)
    return pd.DataFrame([json.loads(line) for line in text.splitlines()])


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_every_format_to_every_other(tmp_path: Path, source: str, target: str) -> None:
    frame = ROWS
    (tmp_path / "in").mkdir()
    write(frame, tmp_path / "in" / source)
    rewrite(tmp_path / "in" / source, tmp_path / target, prediction="p", draw=by_id, row_id="id")
    out = load(tmp_path / target)
    whole = "json" in source and "json" in target
    assert list(out.columns) == (["id", "p", "t", "p_noised"] if whole else ["id", "p", "p_noised", "t"])
    assert out["p_noised"].astype(float).tolist() == perturb(frame["p"], NOISE, ids=frame["id"], seed=3).tolist()
    assert out["p"].astype(float).tolist() == frame["p"].tolist()
    assert out["id"].astype(int).tolist() == frame["id"].tolist()
    assert out["t"].tolist() == frame["t"].tolist()


def test_the_same_run_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in NAMES:
        write(ROWS, tmp_path / name)
        once, again = tmp_path / f"1{name}", tmp_path / f"2{name}"
        for file in (once, again):
            rewrite(tmp_path / name, file, prediction="p", draw=by_id)
        assert once.read_bytes() == again.read_bytes()


@pytest.mark.slow
@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=30), rows=st.integers(1, 7))
@costly(20)
def test_blocks_do_not_matter(tmp_path_factory: pytest.TempPathFactory, p: list[float], rows: int) -> None:
    """By position and by online smoothing, in blocks of any size."""
    folder = tmp_path_factory.mktemp("blocks")
    pl.DataFrame({"p": p}).write_csv(folder / "in.csv")
    pl.DataFrame({"p": p}).write_parquet(folder / "in.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trustcal.rewriting.arrow, "BATCH", rows)
        for name in ("in.csv", "in.parquet"):
            smoother = OnlineSmoother(NOISE, cells=10, rng=7)
            rewrite(folder / name, folder / f"a{name}", prediction="p", draw=by_id)
            rewrite(folder / name, folder / f"b{name}", prediction="p", draw=lambda q, _: smoother.transform_many(q))  # noqa: B023
            assert (
                load(folder / f"a{name}")["p_noised"].tolist()
                == perturb(p, NOISE, ids=np.arange(len(p)), seed=3).tolist()
            )
            expected = OnlineSmoother(NOISE, cells=10, rng=7).transform_many(p)
            assert load(folder / f"b{name}")["p_noised"].tolist() == expected.tolist()


def test_row_ids_of_a_csv_are_those_of_other_formats(tmp_path: Path) -> None:
    ids: list[Any] = ["17", "-4", "0", "007", "-0", "1.0", "a", " 5", str(2**64 - 1), str(2**64), '"17"']
    rows = "".join(f"{text},0.5\n" for text in ids)
    out = rewritten(tmp_path, f"id,p\n{rows}", draw=by_id, row_id="id")
    meant: list[Any] = [17, -4, 0, "007", "-0", "1.0", "a", " 5", 2**64 - 1, str(2**64), 17]
    expected = [perturb([0.5], NOISE, ids=np.array([name], dtype=object), seed=3)[0] for name in meant]
    assert [float(line.rsplit(b",", 1)[1]) for line in out.splitlines()[1:]] == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "in.csv",
            "p,y\n0.5,1\n,0\n1.5,0\n",
            r"2 of 3 rows break this, the first is row 1 \(from 0\), where it is missing",
        ),
        (
            "in.csv",
            "p,y\n0.5,1\nabc,0\n",
            r"1 of 2 rows break this, the first is row 1 \(from 0\), where it is abc\. Drop",
        ),
        ("in.csv", "p,y\n0.5,1\nnan,0\n", "row 1 .from 0., where it is nan"),
        ("in.csv", "p\n0.5\n\n", "row 1 .from 0., where it is missing"),
        (
            "in.csv",
            "p,y\n0.5,1\n0.5\n",
            "cannot be read: CSV Error on Line: 3; Original Line: 0.5; Expected Number of Columns: 2 Found: 1",
        ),
        ("in.csv", "p,y\n0.5,1,2\n", "CSV Error on Line: 2; .* Expected Number of Columns: 2 Found: 3"),
        ("in.csv", 'p,y\n0.5,1\n0.5,"1\n', "CSV Error on Line: 3; .*"),
        ("in.csv", "P,y\n0.5,1\n", r"no column 'p'\. Did you mean 'P'\?"),
        ("in.csv", "p,p\n0.5,1\n", "2 columns called 'p'"),
        ("in.csv", "p,p_noised\n0.5,1\n", "already has a column 'p_noised'"),
        ("in.csv", "", "must begin with a line that names the columns"),
        ("in.csv", "p,y\n0.5,1\n".encode("utf-16"), "cannot be read: it is not utf-8 encoded"),
        ("in.csv.gz", gzip.compress(b"p,y\n" + b"0.5,1\n" * 1000, mtime=0)[:-20], "cannot be read"),
        ("in.csv.gz", b"no archive", "cannot be read"),
        ("in.csv.zst", b"no archive", "cannot be read"),
        ("in.parquet", b"no parquet", "cannot be read"),
        ("in.jsonl", '{"p": 0.5}\n{"q": 0.5}\n', r"1 of 2 rows break this, the first is row 1 .*, where it is missing"),
        ("in.jsonl", '{"p": 0.5}\n{"p": true}\n', "row 1 .*, where it is true"),
        ("in.jsonl", '{"p": 0.5}\n{"p": NaN}\n', "row 1 .*, where it is NaN"),
        ("in.jsonl", '{"q": 0.5}\n', "no column 'p'"),
        ("in.jsonl", '{"p": 0.5}\n[0.5]\n', r"but row 1 \(from 0\) is not\."),
        ("in.jsonl", '{"p": 0.5} 1\n', "unexpected content after document"),
        ("in.jsonl", '{"p": 0.5, "p": 0.5}\n', "but row 0"),
        ("in.jsonl", '{"p": 0.5\n', "unexpected end of data"),
        ("in.jsonl", '\ufeff{"p": 0.5}\n', "byte order mark"),
        ("in.jsonl", '{"p": 0.5, "p_noised": 1}\n', "p_noised"),
        ("in.txt", "p\n", "must be a CSV, TSV, JSON lines or Parquet file"),
    ],
)
def test_what_is_refused_leaves_nothing_behind(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    (tmp_path / "out.csv").write_text("old")
    for target in ("out.csv", "out.parquet", name):
        with pytest.raises(ValueError, match=message if target == name else "in") as refusal:
            rewritten(tmp_path, content, name, target)
        assert name in str(refusal.value)
        assert set(os.listdir(tmp_path)) == {name, "out.csv"}
        assert (tmp_path / "out.csv").read_text() == "old"
        assert (tmp_path / name).read_bytes() == (content if isinstance(content, bytes) else content.encode())


@pytest.mark.slow
@pytest.mark.parametrize("source", ["in.csv", "in.parquet", "in.jsonl"])
@pytest.mark.parametrize("target", ["out.csv", "out.parquet", "out.jsonl.gz"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError, MemoryError])
def test_an_interrupt_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, target: str, stop: type[BaseException]
) -> None:
    monkeypatch.setattr(trustcal.rewriting.arrow, "BATCH", 10)
    write(pd.DataFrame({"p": np.linspace(0, 1, 5000)}), tmp_path / source)
    calls = 0

    def interrupted(q: Any, ids: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise stop("now")
        return q

    with pytest.raises(stop, match="now"):
        rewrite(tmp_path / source, tmp_path / target, prediction="p", draw=interrupted)
    assert os.listdir(tmp_path) == [source]


def test_bad_rows_are_counted_to_the_end_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trustcal.rewriting.arrow, "BATCH", 10)
    frame = pd.DataFrame({"p": np.where(np.arange(100) % 40 == 35, 2.0, 0.5)})
    for name in ("in.csv", "in.parquet", "in.jsonl"):
        write(frame, tmp_path / name)
        for target in (name, "other.parquet", "other.csv"):
            with pytest.raises(
                ValueError, match=r"2 of 100 rows break this, the first is row 35 \(from 0\), where it is 2"
            ):
                rewrite(tmp_path / name, tmp_path / target, prediction="p", draw=flip)


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet"])
def test_missing_row_ids_are_refused(tmp_path: Path, name: str) -> None:
    write(pd.DataFrame({"id": ["a", None], "p": [0.5, 0.5]}), tmp_path / name)
    with pytest.raises(ValueError, match=r"column 'id' must hold a row id.*but row 1 \(from 0\) has none"):
        rewrite(tmp_path / name, tmp_path / name, prediction="p", draw=by_id, row_id="id")


@pytest.mark.parametrize("target", ["out", "out.txt", "out.parquet.gz", "out.gz", "no/folder/out.csv"])
def test_targets_that_cannot_be_written(tmp_path: Path, target: str) -> None:
    with pytest.raises(ValueError, match="cannot be written"):
        rewritten(tmp_path, "p\n0.5\n", out=target)


@pytest.mark.parametrize("source", ["in.csv", "in.jsonl", "in.parquet"])
@pytest.mark.parametrize("target", ["out.csv", "out.jsonl", "out.parquet"])
def test_the_names_of_folders_are_no_columns(tmp_path: Path, source: str, target: str) -> None:
    folder = tmp_path / "p=1" / "year=2026"
    folder.mkdir(parents=True)
    write(pd.DataFrame({"p": [0.25, 0.5]}), folder / source)
    rewrite(folder / source, folder / target, prediction="p", draw=by_id)
    copy = pq.ParquetFile(folder / target).read().to_pandas() if target == "out.parquet" else load(folder / target)
    assert list(copy.columns) == ["p", "p_noised"]
    assert copy["p"].astype(float).tolist() == [0.25, 0.5]


def test_a_column_without_a_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="into must be the name of a new column, not ''"):
        rewritten(tmp_path, "p\n0.5\n", into="")
    assert os.listdir(tmp_path) == ["in.csv"]


def test_capitals_that_json_lines_would_lose(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="columns that differ from 'P' only in capitals would lose their names"):
        rewritten(tmp_path, "P,p\n9,0.5\n", out="out.jsonl")
    assert rewritten(tmp_path, "P,p\n9,0.5\n", out="out.tsv") == b"P\tp\tp_noised\n9\t0.5\t0.5\n"
    assert rewritten(tmp_path, '{"P":9,"p":0.5}\n', "in.jsonl", "out.csv") == b"P,p,p_noised\n9,0.5,0.5\n"
    assert pq.read_schema(io.BytesIO(rewritten(tmp_path, "P,p\n9,0.5\n", out="x.parquet"))).names == [
        "P",
        "p",
        "p_noised",
    ]


def test_a_draw_of_the_wrong_length_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="draw must give one value per row"):
        rewritten(tmp_path, "p\n0.5\n0.5\n", draw=lambda q, ids: q[:1])


def test_names_that_need_quotes(tmp_path: Path) -> None:
    assert rewritten(tmp_path, "p\n0.25\n", into='a "b", c') == b'p,"a ""b"", c"\n0.25,0.75\n'
    out = rewritten(tmp_path, '{"p": 0.25}\n', "in.jsonl", "out.jsonl", into='a "é"')
    assert json.loads(out) == {"p": 0.25, 'a "é"': 0.75}


def test_progress_never_goes_back_and_ends_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        write(pd.DataFrame({"p": np.linspace(0, 1, 2000)}), tmp_path / name)
        seen: list[tuple[int, int]] = []

        def saw(done: int, total: int, seen: list[tuple[int, int]] = seen) -> None:
            seen.append((done, total))

        rewrite(tmp_path / name, tmp_path / f"out.{name}", prediction="p", draw=flip, progress=saw)
        done = [rows for rows, _ in seen]
        assert done == sorted(done)
        assert all(rows <= total for rows, total in seen)
        assert seen[-1] == (2000, 2000)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet"])
def test_many_rows_keep_their_order(tmp_path: Path, name: str) -> None:
    """DuckDB reads and writes in several threads."""
    n = 300_000
    p = np.random.default_rng(1).random(n)
    texts = [f'"é", {i}' for i in range(n)]
    write(pd.DataFrame({"t": texts, "p": p}), tmp_path / name)
    rewrite(tmp_path / name, tmp_path / name, prediction="p", draw=by_id)
    out = load(tmp_path / name)
    assert out["t"].tolist() == texts
    assert out["p"].tolist() == p.tolist()
    assert out["p_noised"].tolist() == perturb(p, NOISE, ids=np.arange(n), seed=3).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_measured_while_it_is_written(tmp_path: Path, name: str) -> None:
    """The same predictor as if the target were read again, bit for bit."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"p": rng.random(5000).round(2), "y": rng.choice(["yes", "no"], 5000)})
    write(rows, tmp_path / name)
    done = rewrite(tmp_path / name, tmp_path / f"out.{name}", prediction="p", draw=by_id, outcome="y")
    q, again = done.predictor, tc.read(tmp_path / f"out.{name}", "p_noised", "y")
    assert q is not None
    assert (done.rows, q.rows) == (5000, 5000)
    for ours, theirs in ((q.p, again.p), (q.mass, again.mass), (q.positive, again.positive)):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["in.csv", "in.jsonl", "in.parquet"])
def test_outcomes_that_are_missing_are_refused(tmp_path: Path, name: str) -> None:
    write(pd.DataFrame({"p": [0.5, 0.25], "y": [1.0, 0.5]}), tmp_path / name)
    with pytest.raises(ValueError, match=r"column 'y' must hold an outcome, 0 or 1.* in row 1 \(from 0\) it is 0\.5"):
        rewrite(tmp_path / name, tmp_path / "out.csv", prediction="p", draw=flip, outcome="y")
    assert os.listdir(tmp_path) == [name]


def test_a_prediction_is_what_an_audit_reads(tmp_path: Path) -> None:
    """Measuring and rewriting share one parser."""
    content = "p,y\n1e0,1\n 2.5e-1 ,0\n+.5,0\n"
    assert rewritten(tmp_path, content) == b"p,p_noised,y\n1e0,0.0,1\n 2.5e-1 ,0.75,0\n+.5,0.5,0\n"
    assert tc.read(tmp_path / "in.csv").p.tolist() == [0.25, 0.5, 1.0]
    with pytest.raises(ValueError, match=r"must hold probabilities.*the first is row 0"):
        rewritten(tmp_path, "p,y\n0_1,1\n")


def test_outcomes_must_be_in_the_file_before_anything_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "y=1"
    folder.mkdir()
    (folder / "in.csv").write_text("p\n0.5\n0.25\n")
    with pytest.raises(ValueError, match="has no column 'y'"):
        fix_file(folder / "in.csv", tmp_path / "out.csv", prediction="p", outcome="y", seed=1)
    assert os.listdir(tmp_path) == ["y=1"]


def test_integers_of_many_digits_are_ids_of_their_own(tmp_path: Path) -> None:
    ids = [12345678901234567890123, 12345678901234567890123 % 2**64, -1, 2**64 - 1, 2**70]
    names = np.array([str(ids[0]), *ids[1:4], str(ids[4])], dtype=object)
    want = perturb([0.5] * 5, NOISE, ids=names, seed=3).tolist()
    assert len(set(want)) == 4  # an int64 and a uint64 of the same bits
    csv_ = "id,p\n" + "".join(f"{name},0.5\n" for name in ids)
    lines = "".join(f'{{"id": {name}, "p": 0.5}}\n' for name in ids)
    for content, name in ((csv_, "in.csv"), (lines, "in.jsonl")):
        out = tmp_path / f"out{Path(name).suffix}"
        rewritten(tmp_path, content, name, out.name, draw=by_id, row_id="id")
        assert load(out)["p_noised"].tolist() == want
    frame = pl.DataFrame({"id": pl.Series(ids, dtype=pl.Int128), "p": [0.5] * 5})
    assert tc.perturb_frame(frame, prediction="p", noise=NOISE, seed=3, row_id="id")["p_noised"].to_list() == want
    pandas = pd.DataFrame({"id": pd.Series(ids, dtype=object), "p": [0.5] * 5})
    assert tc.perturb_frame(pandas, prediction="p", noise=NOISE, seed=3, row_id="id")["p_noised"].tolist() == want


def test_objects_nested_deeply(tmp_path: Path) -> None:
    inner = f'{{"p": 0.5, "z": {"[" * 200_000}{"]" * 200_000}'
    out = rewritten(tmp_path, inner + "}\n", "in.jsonl", "out.jsonl")
    assert out == f'{inner},"p_noised":0.5}}\n'.encode()


def test_a_key_that_appears_late_or_twice(tmp_path: Path) -> None:
    """Columns are the keys of all objects, and every object is checked."""
    rows = [f'{{"p": 0.5, "k{row // 1500}": {row}}}\n' for row in range(3000)]
    assert rewritten(tmp_path, "".join(rows), "in.jsonl", "out.csv").splitlines()[:2] == [
        b"p,p_noised,k0,k1",
        b"0.5,0.5,0,",
    ]
    for last, message in (
        ('{"p": 0.5, "x": 1, "x": 2}', "every key must occur once in an object, but 1 repeat one"),
        ('{"p": 0.5, "p_noised": 1}', "none called 'p_noised'"),
    ):
        for target in ("out.jsonl", "out.parquet"):
            with pytest.raises(ValueError, match=message):
                rewritten(tmp_path, "".join(rows) + last, "in.jsonl", target)


@pytest.mark.parametrize("target", ["out.csv", "out.parquet"])
def test_json_keeps_its_texts_and_its_large_numbers(tmp_path: Path, target: str) -> None:
    """What DuckDB would take for a UUID, a time, a date, a float or a struct is what was written."""
    objects = [
        {"p": 0.5, "u": "6F1F0ED4-4D3C-4B2A-8A43-1F6A4B8F7A02", "h": "12:00", "n": 12345678901234567890123, "i": 3},
        {"p": 1, "u": "x", "h": "2024-01-01", "n": 12345678901234567890124, "i": -4, "b": None, "o": {"a": 1}},
    ]
    content = "".join(json.dumps(one) + "\n" for one in objects)
    ids: list[Any] = []

    def draw(q: Any, names: Any) -> Any:
        ids.extend(names)
        return q

    rewritten(tmp_path, content, "in.jsonl", target, draw=draw, row_id="u")
    assert ids == [one["u"] for one in objects]
    copy = load(tmp_path / target).astype(object)
    for key in ("u", "h", "n", "i"):
        assert copy[key].astype(str).tolist() == [str(one[key]) for one in objects]
    assert copy["p"].tolist() == copy["p_noised"].tolist() == [0.5, 1.0]
    assert copy["o"].tolist()[1] == '{"a":1}'
