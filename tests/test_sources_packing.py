"""Rows packed into words: the bits of `Predictor.from_samples`, from every engine that hands rows out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trustcal as tc
from tests.test_sources_engines import FILES, FRAMES
from tests.traps import SOUND, Y, from_rows, same, trap_table
from trustcal.sources import counting, frames, packing, queries, reading
from trustcal.sources.columns import Columns
from trustcal.sources.counting import Request, worth_packing
from trustcal.sources.faults import Faults
from trustcal.sources.packing import Words, pack

ENGINES = {name: opener for name, opener in (FRAMES | FILES).items() if name not in ("dask", "ibis")}
ENGINES["polars scan"] = lambda table, folder: pl.scan_parquet(FILES["rows.parquet"](table, folder))
PREDICTIONS = st.sampled_from([0.0, -0.0, 5e-324, 0.1, 0.1 + 2**-56, 0.5, 1 - 2**-53, 1.0]) | st.floats(0, 1)
ROWS = st.lists(st.tuples(PREDICTIONS, st.booleans()), min_size=1, max_size=30)


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Any rows are packed, a few at a time; the list tells how many rows were, source by source."""
    sizes: list[int] = []
    sort = Words.sort

    def told(words: Words) -> None:
        sizes.append(len(words.memory))
        sort(words)

    monkeypatch.setattr(counting, "FEW", 0)
    monkeypatch.setattr(queries, "BATCH", 2)
    monkeypatch.setattr(frames, "_BLOCK", 2)
    monkeypatch.setattr(Words, "sort", told)
    return sizes


def words_of(rows: list[tuple[float, bool]]) -> Words:
    p, y = (np.array(column) for column in zip(*rows, strict=True))
    words = Words(np.empty(len(rows)))
    pack(p, y, words.memory)
    words.sort()
    return words


@given(rows=ROWS, block=st.integers(1, 8))
def test_words_are_the_rows(rows: list[tuple[float, bool]], block: int) -> None:
    p, y = zip(*rows, strict=True)
    words, want = words_of(rows), tc.Predictor.from_samples(y, p)
    assert words.distinct(block) == len(want)
    assert same(words.predictor(0.0, block), want)


@given(rows=ROWS, block=st.integers(1, 8), bits=st.integers(1, 52))
def test_words_rounded(rows: list[tuple[float, bool]], block: int, bits: int) -> None:
    p, y = zip(*rows, strict=True)
    q = words_of(rows).predictor(2.0**-bits, block)
    near = [np.floor(value * 2.0**bits + 0.5) / 2.0**bits for value in p]
    assert q == tc.Predictor.from_samples(y, near)
    moved = float(np.mean(np.abs(np.subtract(near, p))))
    assert moved * (1 - 1e-13) <= q.moved <= min(moved * (1 + 1e-12), 2.0 ** -(bits + 1))


def test_a_run_longer_than_many_blocks() -> None:
    q = words_of([(0.5, row % 3 == 0) for row in range(90)] + [(1.0, True)]).predictor(0.0, block=4)
    assert (q.p.tolist(), (q.mass * 91).tolist(), (q.positive * 91).tolist()) == ([0.5, 1.0], [90.0, 1.0], [30.0, 1.0])


@given(rows=ROWS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_engine_packs_to_the_same_bits(rows: list[tuple[float, bool]], tmp_path: Path, packed: list[int]) -> None:
    p, y = (list(column) for column in zip(*rows, strict=True))
    want, single = tc.Predictor.from_samples(y, p), np.array(p, dtype=np.float32)
    table = pa.table({"p": p, "y": y})
    for name in ("pandas", "pandas on arrow", "polars", "polars lazy", "pyarrow table", "duckdb relation", "rows.csv"):
        packed.clear()
        assert same(tc.read(ENGINES[name](table, tmp_path)), want), name
        assert packed == [len(rows)], name
    table = pa.table({"p": pa.array(single), "y": pa.array(y).cast(pa.float32())})
    want = tc.Predictor.from_samples(y, single)
    for name in ("pandas", "polars", "pyarrow dataset", "rows.parquet"):
        packed.clear()
        assert same(tc.read(ENGINES[name](table, tmp_path)), want), name
        assert packed == [len(rows)], name


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_at_fault_are_found_as_ever(engine: str, tmp_path: Path, packed: list[int]) -> None:
    source = ENGINES[engine](trap_table(), tmp_path)
    found = reading(source, prediction="p", outcome="y", drop_invalid=True)
    assert same(found.predictor, from_rows(SOUND))
    assert found.rows == len(Y)
    assert (found.dropped.total, found.dropped.below, found.dropped.outcome) == (7, 1, 2)
    with pytest.raises(ValueError, match=r"7 of 17 rows do not: .*1 with a prediction below 0"):
        tc.read(source, prediction="p", outcome="y")
    assert packed == ([] if engine.startswith(("pandas", "polars")) else [len(SOUND)])


@pytest.mark.parametrize("fault", [None, float("nan"), -5e-324, 1 + 2**-52, float("inf"), float("-inf")])
@pytest.mark.parametrize("engine", ["polars scan", "pandas", "pandas on arrow", "pyarrow dataset", "rows.parquet"])
def test_one_row_at_fault_among_sound_ones(engine: str, fault: float | None, tmp_path: Path, packed: list[int]) -> None:
    for table in (
        pa.table({"p": pa.array([0.25, 0.5, fault], pa.float64()), "y": [1.0, 1.0, 1.0]}),
        pa.table({"p": [0.25, 0.5, 0.75], "y": pa.array([1.0, 1.0, fault], pa.float64())}),
    ):
        found = reading(ENGINES[engine](table, tmp_path), drop_invalid=True)
        assert found.dropped.total == 1
        assert same(found.predictor, tc.Predictor.from_samples([1, 1], [0.25, 0.5]))
    assert found.dropped == Faults(outcome=1)


@pytest.mark.parametrize("engine", ["polars lazy", "pandas", "pyarrow table", "rows.jsonl", "rows.parquet"])
def test_rounding_of_packed_rows(
    engine: str, tmp_path: Path, packed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    p = rng.random(50)
    y = rng.random(50) < p
    source = ENGINES[engine](pa.table({"p": p, "y": y}), tmp_path)
    exact = tc.read(source)
    assert tc.read(source, resolution=2**-3) == tc.Predictor.from_samples(y, np.floor(p * 8 + 0.5) / 8)
    monkeypatch.setattr(counting, "MANY", 49)
    found = reading(source)
    assert (found.resolution, found.resolution_asked) == (2**-22, False)
    np.testing.assert_array_equal(found.predictor.p, np.floor(exact.p * 2**22 + 0.5) / 2**22)
    assert same(tc.read(source, resolution=0), exact)
    monkeypatch.setattr(counting, "MANY", 50)
    assert same(tc.read(source), exact)
    assert packed == [50] * 5


def test_labels_are_told_apart(tmp_path: Path, packed: list[int]) -> None:
    table = pa.table({"p": [0.5, 0.25, 0.75], "y": ["sick", "well", "well"], "z": ["a", "b", "c"]})
    for source in (table, ENGINES["rows.csv"](table, tmp_path)):
        assert tc.read(source, "p", "y", positive="sick") == tc.Predictor.from_samples([1, 0, 0], [0.5, 0.25, 0.75])
        with pytest.raises(ValueError, match="beside it has 'b' and 'c'"):
            tc.read(source, "p", "z", positive="a")
    assert packed == [3, 3]


def test_without_pyarrow_the_engine_groups(packed: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = ENGINES["rows.csv"](pa.table({"p": [0.5, 0.25], "y": [0, 1]}), tmp_path)
    monkeypatch.setattr(queries, "find_spec", lambda name: None)
    assert tc.read(source) == tc.Predictor.from_samples([0, 1], [0.5, 0.25])
    assert packed == []


@pytest.mark.parametrize("rows", [1, 3])
def test_rows_that_change_meanwhile(rows: int) -> None:
    with (
        duckdb.connect() as connection,
        pytest.raises(ValueError, match=f"t: rows must not change while they are read, but {rows} became 2"),
    ):
        queries._words("t", connection.sql, "SELECT CAST(0.5 AS DOUBLE) AS p, 1 AS y FROM range(2)", rows)


def request(resolution: float | None, **more: Any) -> Request:
    return Request(Columns("p", "y", **more), None, resolution, False)


def test_when_rows_are_packed() -> None:
    million, billion = 10**6, 10**9
    assert worth_packing(request(0.0), million, million)
    assert worth_packing(request(None), 10**8, 10**8)
    assert worth_packing(request(0.0), billion, billion)
    assert not worth_packing(request(None), billion, billion)  # they will be rounded, and words would outgrow them
    assert not worth_packing(request(0.0), billion, 10**7)
    assert not worth_packing(request(0.0), 10**8, 10**4)
    assert not worth_packing(request(2**-10), million, million)
    assert not worth_packing(request(0.0, weight="w"), million, million)
    assert not worth_packing(request(0.0, by=("g",)), million, million)


def test_many_rows_are_packed_by_themselves(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    p = np.append(rng.random(150_000), np.zeros(70_000))  # a tie longer than a block
    y = rng.random(len(p)) < p
    want = tc.Predictor.from_samples(y, p)
    frame = pd.DataFrame({"p": p, "y": y})
    pl.DataFrame(frame).write_parquet(tmp_path / "rows.parquet")
    for source in (frame, pl.LazyFrame(frame), pa.Table.from_pandas(frame), tmp_path / "rows.parquet"):
        assert same(tc.read(source), want)
    assert packing.Words(np.zeros(3)).distinct() == 1
