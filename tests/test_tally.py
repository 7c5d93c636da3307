"""Rows counted as they stream by: the bits of `Predictor.from_samples`, from every engine that hands rows out."""

from __future__ import annotations

from collections import Counter as Multiset
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trustcal as tc
from tests.strategies import costly
from tests.test_reading_engines import FILES, FRAMES
from tests.traps import SOUND, Y, from_rows, same, trap_table
from trustcal.kernels.counting import LINE, count_cells, count_values, count_words
from trustcal.reading import duckdb as by_duckdb
from trustcal.reading import narwhals as by_narwhals
from trustcal.reading import reading
from trustcal.reading.faults import Faults
from trustcal.tally import Tally, tables, tally
from trustcal.tally import words as packing
from trustcal.tally.tables import Grid
from trustcal.tally.words import Words

Rows = list[tuple[float, bool]]

ENGINES = {name: opener for name, opener in (FRAMES | FILES).items() if name not in ("dask", "ibis")}
ENGINES["polars scan"] = lambda table, folder: pl.scan_parquet(FILES["rows.parquet"](table, folder))
PREDICTIONS = st.sampled_from([0.0, -0.0, 5e-324, 0.1, 0.1 + 2**-56, 0.5, 1 - 2**-53, 1.0]) | st.floats(0, 1)
ROWS = st.lists(st.tuples(PREDICTIONS, st.booleans()), min_size=1, max_size=40)
FAULTS = [(float("nan"), 0), (-5e-324, 0), (1 + 2**-52, 0), (float("inf"), 1), (float("-inf"), 1), (0.5, 2), (0.5, 255)]


def columns(rows: Rows) -> tuple[Any, Any]:
    p, y = zip(*rows, strict=True)
    return np.array(p), np.array(y, dtype=np.uint8)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every limit is met after a few rows."""
    for room, name, size in (
        (tally, "START", 4), (tally, "FULL", 8), (tally, "ROOM", 16), (tally, "FEW", 2), (tables, "FEW", 2),
        (tables, "MOST", 20), (tables, "BLOCK", 3), (packing, "BLOCK", 3), (packing, "_QUICK", 3),
        (by_duckdb, "BATCH", 2), (by_narwhals, "_BLOCK", 2),
    ):  # fmt: skip
        monkeypatch.setattr(room, name, size)


@pytest.fixture
def streamed(small: None, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were counted here, source by source."""
    sizes: list[int] = []
    from_duckdb, from_frame = by_duckdb._stream, by_narwhals._streamed

    def told_by_duckdb(run: Any, sql: str, counting_rows: Tally) -> bool:
        valid = from_duckdb(run, sql, counting_rows)
        sizes.extend([counting_rows.rows] if valid else [])
        return valid

    def told_by_frame(*args: Any) -> Tally | None:
        found = from_frame(*args)
        sizes.extend([found.rows] if found else [])
        return found

    monkeypatch.setattr(by_duckdb, "_stream", told_by_duckdb)
    monkeypatch.setattr(by_narwhals, "_streamed", told_by_frame)
    return sizes


# --- the kernels, against a multiset


@pytest.mark.slow
@given(ROWS)
def test_kernels_count(rows: Rows) -> None:
    p, y = columns(rows)
    want = Multiset((float(value) + 0.0, bool(one)) for value, one in rows)
    for values, cells, words in (
        (count_values, count_cells, count_words),
        (count_values.compiled, count_cells.compiled, count_words.compiled),
    ):
        table = np.zeros(128 * LINE, dtype=np.uint64)
        assert values(p, y, table, 0, 64) == (len(p), len({value for value, _ in want}))
        lines = table.reshape(-1, LINE)
        lines = lines[lines[:, 0] > 0]
        keys = (lines[:, 0] >> np.uint64(1)).view(np.float64)
        assert want == Multiset({(k, bool(o)): int(n) for k, line in zip(keys, lines, strict=True)
                                 for o, n in enumerate(line[1:3]) if n})  # fmt: skip
        counts = np.zeros(18, dtype=np.int32)
        taken, moved = cells(p, y, counts, 8.0)
        near = np.floor(p * 8 + 0.5)
        assert taken == len(p)
        assert moved == pytest.approx(np.abs(near - p * 8).sum(), rel=1e-12)
        assert counts.tolist() == np.bincount(2 * near.astype(int) + y, minlength=18).tolist()
        packed = np.sort(((p + 0.0).view(np.uint64) << np.uint64(1)) | y)
        weight, positive = np.empty(len(p)), np.empty(len(p))
        d = words(packed, packed.view(np.float64), weight, positive, 1.0)
        found = zip(packed[:d].view(np.float64).tolist(), weight[:d].tolist(), positive[:d].tolist(), strict=True)
        assert [(v, n, o) for v, n, o in found] == [
            (v, want[v, False] + want[v, True], want[v, True]) for v in sorted({v for v, _ in want})
        ]


@pytest.mark.parametrize("fault", FAULTS)
def test_kernels_stop_at_a_row_at_fault(fault: tuple[float, int]) -> None:
    p, y = np.array([0.25, 0.5, fault[0], 0.5]), np.array([1, 0, fault[1], 1], dtype=np.uint8)
    for values, cells in ((count_values, count_cells), (count_values.compiled, count_cells.compiled)):
        assert values(p, y, np.zeros(8 * LINE, dtype=np.uint64), 0, 4) == (2, 2)
        assert cells(p, y, np.zeros(10, dtype=np.int32), 4.0) == (2, 0.0)
    assert Words(4).add(p, y) == 2


def test_a_table_that_is_full() -> None:
    p, y = np.array([0.5, 0.25, 0.5, 0.75, 0.25]), np.zeros(5, dtype=np.uint8)
    for kernel in (count_values, count_values.compiled):
        assert kernel(p, y, np.zeros(8 * LINE, dtype=np.uint64), 0, 2) == (3, 2)


def test_values_whose_hashes_collide() -> None:
    """Lines are looked for in order from where the hash points, past the end of the table to its beginning."""
    p = np.random.default_rng(0).random(60)
    table = np.zeros(64 * LINE, dtype=np.uint64)
    assert count_values.compiled(p, np.ones(60, dtype=np.uint8), table, 0, 63) == (60, 60)
    assert sorted((table[table[::LINE].nonzero()[0] * LINE] >> np.uint64(1)).view(np.float64)) == sorted(p)


# --- one way after the other


@given(rows=ROWS, cuts=st.lists(st.integers(0, 40), max_size=4), most=st.sampled_from([1, 5, 9, 100]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_rows_in_any_blocks(rows: Rows, cuts: list[int], most: int, small: None) -> None:
    p, y = columns(rows)
    blocks = [slice(*pair) for pair in pairwise(sorted([0, *cuts, len(p)]))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally, "MANY", most)
        patch.setattr(tally, "DEFAULT", 2.0**-6)
        for resolution in (None, 0.0, 2.0**-3, 2.0**-6, 2.0**-30):
            counting_rows = Tally(resolution)
            for block in blocks:
                assert counting_rows.add(p[block], y[block])
            q = tc.Predictor.from_tally(counting_rows)
            exact = tc.Predictor.from_samples(y, p)
            used = resolution if resolution is not None else 2.0**-6 if len(exact) > most else 0.0
            near = np.floor(p / used + 0.5) * used if used else p
            assert counting_rows.resolution == used
            assert q == tc.Predictor.from_samples(y, near)
            assert q.rows == counting_rows.rows == len(p)
            moved = float(np.mean(np.abs(near - p)))
            assert moved * (1 - 1e-13) <= q.moved <= min(moved * (1 + 1e-12), used / 2)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("resolution", [None, 0.0, 2.0**-3, 2.0**-30])
@pytest.mark.parametrize("at", [0, 1, 5, 9, 30])
def test_a_row_at_fault_ends_it(fault: tuple[float, int], resolution: float | None, at: int, small: None) -> None:
    rng = np.random.default_rng(1)
    p, y = rng.random(31), rng.integers(0, 2, 31).astype(np.uint8)
    p[at], y[at] = fault
    counting_rows = Tally(resolution)
    sound = [counting_rows.add(p[block : block + 2], y[block : block + 2]) for block in range(0, 2 * (at // 2) + 1, 2)]
    assert sound == [True] * (at // 2) + [False]


def test_few_values_after_many_rows_and_the_other_way_round(small: None) -> None:
    few, many = np.tile([0.25, 0.5], 20), np.random.default_rng(0).random(40)
    for p in (np.append(few, many), np.append(many, few), np.append(np.append(few, many), few)):
        y = (np.arange(len(p)) % 3 == 0).astype(np.uint8)
        for resolution in (None, 0.0):
            counting_rows = Tally(resolution)
            assert counting_rows.add(p, y)
            assert same(tc.Predictor.from_tally(counting_rows), tc.Predictor.from_samples(y, p))


def test_ways_are_chosen_by_what_comes(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def way(resolution: float | None, p: Any) -> str:
        counting_rows = Tally(resolution)
        assert counting_rows.add(np.asarray(p), np.zeros(len(p), dtype=np.uint8))
        return type(counting_rows._way).__name__

    spread = np.linspace(0, 1, 60)
    assert way(None, [0.5] * 4) == "Words"
    assert way(None, [0.5] * 5) == way(0.0, [0.5] * 5) == "Values"
    assert way(2**-3, [0.5] * 4) == "Words"
    assert way(2**-3, [0.5] * 5) == way(2**-3, spread) == "Grid"
    assert way(None, spread) == way(0.0, spread) == way(2**-30, spread) == "Words"
    monkeypatch.setattr(tally, "MANY", 7)
    assert way(None, spread) == "Grid"
    assert way(0.0, spread) == "Words"


def test_words_that_grow_move_house(small: None) -> None:
    words = Words(2)
    assert words.add(np.array([0.5, 0.25, 0.75]), np.zeros(3, dtype=np.uint8)) == 2
    words.allow(3)
    assert words.add(np.array([0.75]), np.ones(1, dtype=np.uint8)) == 1
    words.sort()
    assert words.distinct() == 3
    found = words.counts()
    assert (found.p.tolist(), found.weight.tolist(), found.positive.tolist()) == ([0.25, 0.5, 0.75], [1] * 3, [0, 0, 1])


@given(rows=ROWS, threads=st.integers(1, 9))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_number_of_threads_sorts_and_counts_the_same(rows: Rows, threads: int, small: None) -> None:
    p, y = columns(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "THREADS", threads)
        patch.setattr(packing, "_SHARE", 2)
        words = Words(len(p))
        assert words.add(p, y) == len(p)
        words.sort()
        assert words.packed.tolist() == np.sort(((p + 0.0).view(np.uint64) << np.uint64(1)) | y).tolist()
        counting_rows = Tally(expected=len(p))
        assert counting_rows.add(p, y)
        q = tc.Predictor.from_tally(counting_rows)
    assert same(q, tc.Predictor.from_samples(y, p))
    assert same(q, tc.Predictor(q.p, q.mass, q.positive, rows=q.rows, effective_rows=q.effective_rows))
    assert not any(array.flags.writeable for array in (q.p, q.mass, q.positive))


@pytest.mark.parametrize("tied", [0.0, 1e-3, 0.3, 0.6, 1.0])
def test_threads_share_millions_of_rows_with_ties_about_their_middle(
    tied: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "THREADS", 3)
    rng = np.random.default_rng(0)
    n = 3 << 20
    p = np.where(rng.random(n) < tied, 0.5, rng.random(n))
    y = (rng.random(n) < p).astype(np.uint8)
    counting_rows = Tally(expected=n)
    assert counting_rows.add(p, y)
    q = tc.Predictor.from_tally(counting_rows)
    assert same(q, tc.Predictor.from_samples(y, p))
    assert same(q, tc.Predictor(q.p, q.mass, q.positive, rows=q.rows, effective_rows=q.effective_rows))


def test_a_grid_counts_beyond_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST", 3)
    grid = Grid(0.5)
    for _ in range(4):
        assert grid.add(np.array([0.5, 0.5]), np.array([0, 1], dtype=np.uint8)) == 2
    assert (grid.counts().p.tolist(), grid.counts().weight.tolist(), grid.counts().positive.tolist()) == (
        [0.5],
        [8],
        [4],
    )
    assert int(np.abs(grid._lately).sum()) == 2  # the rest was put aside


def test_a_million_rows_of_every_kind() -> None:
    rng = np.random.default_rng(0)
    n = 1_000_000
    shapes = {"few": np.round(rng.random(n), 3), "middling": np.round(rng.random(n), 5), "all": rng.random(n)}
    for p in shapes.values():
        y = (rng.random(n) < p).astype(np.uint8)
        for resolution in (None, 0.0, 2.0**-10):
            counting_rows = Tally(resolution)
            for block in range(0, n, 130_000):
                assert counting_rows.add(p[block : block + 130_000], y[block : block + 130_000])
            near = np.floor(p * 1024 + 0.5) / 1024 if resolution else p
            assert tc.Predictor.from_tally(counting_rows) == tc.Predictor.from_samples(y, near)


# --- every engine


@given(rows=ROWS)
@settings(costly(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_engine_streams_to_the_same_bits(rows: Rows, tmp_path: Path, streamed: list[int]) -> None:
    p, y = (list(column) for column in zip(*rows, strict=True))
    want, single = tc.Predictor.from_samples(y, p), np.array(p, dtype=np.float32)
    table = pa.table({"p": p, "y": y})
    for name in ("pandas", "pandas on arrow", "polars", "polars lazy", "pyarrow table", "duckdb relation", "rows.csv"):
        streamed.clear()
        assert same(tc.read(ENGINES[name](table, tmp_path)), want), name
        assert streamed == [len(rows)], name
    table = pa.table({"p": pa.array(single), "y": pa.array(y).cast(pa.float32())})
    want = tc.Predictor.from_samples(y, single)
    for name in ("pandas", "polars", "pyarrow dataset", "rows.parquet"):
        streamed.clear()
        assert same(tc.read(ENGINES[name](table, tmp_path)), want), name
        assert streamed == [len(rows)], name


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_at_fault_are_found_as_ever(engine: str, tmp_path: Path, streamed: list[int]) -> None:
    source = ENGINES[engine](trap_table(), tmp_path)
    found = reading(source, prediction="p", outcome="y", drop_invalid=True)
    assert same(found.predictor, from_rows(SOUND))
    assert found.provenance.rows == len(Y)
    assert (found.provenance.dropped.total, found.provenance.dropped.below, found.provenance.dropped.outcome) == (
        7,
        1,
        2,
    )
    with pytest.raises(ValueError, match=r"7 of 17 rows do not: .*1 with a prediction below 0"):
        tc.read(source, prediction="p", outcome="y")
    assert streamed == ([] if engine.startswith(("pandas", "polars")) else [len(SOUND)])


@pytest.mark.parametrize("fault", [None, float("nan"), -5e-324, 1 + 2**-52, float("inf"), float("-inf")])
@pytest.mark.parametrize("engine", ["polars scan", "pandas", "pandas on arrow", "pyarrow dataset", "rows.parquet"])
def test_one_row_at_fault_among_sound_ones(
    engine: str, fault: float | None, tmp_path: Path, streamed: list[int]
) -> None:
    for table in (
        pa.table({"p": pa.array([0.25, 0.5, fault], pa.float64()), "y": [1.0, 1.0, 1.0]}),
        pa.table({"p": [0.25, 0.5, 0.75], "y": pa.array([1.0, 1.0, fault], pa.float64())}),
    ):
        found = reading(ENGINES[engine](table, tmp_path), drop_invalid=True)
        assert found.provenance.dropped.total == 1
        assert same(found.predictor, tc.Predictor.from_samples([1, 1], [0.25, 0.5]))
    assert found.provenance.dropped == Faults(outcome=1)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["polars lazy", "pandas", "pyarrow table", "rows.jsonl", "rows.parquet"])
def test_rounding_of_streamed_rows(
    engine: str, tmp_path: Path, streamed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    p = rng.random(50)
    y = rng.random(50) < p
    source = ENGINES[engine](pa.table({"p": p, "y": y}), tmp_path)
    exact = tc.read(source)
    assert tc.read(source, resolution=2**-3) == tc.Predictor.from_samples(y, np.floor(p * 8 + 0.5) / 8)
    monkeypatch.setattr(tally, "MANY", 49)
    found = reading(source)
    assert (found.provenance.resolution, found.provenance.resolution_asked) == (2**-22, False)
    np.testing.assert_array_equal(found.predictor.p, np.floor(exact.p * 2**22 + 0.5) / 2**22)
    assert same(tc.read(source, resolution=0), exact)
    monkeypatch.setattr(tally, "MANY", 50)
    assert same(tc.read(source), exact)
    assert streamed == [50] * 5


def test_labels_are_told_apart(tmp_path: Path, streamed: list[int]) -> None:
    table = pa.table({"p": [0.5, 0.25, 0.75], "y": ["sick", "well", "well"], "z": ["a", "b", "c"]})
    for source in (table, ENGINES["rows.csv"](table, tmp_path)):
        assert tc.read(source, "p", "y", positive="sick") == tc.Predictor.from_samples([1, 0, 0], [0.5, 0.25, 0.75])
        with pytest.raises(ValueError, match="beside it has 'b' and 'c'"):
            tc.read(source, "p", "z", positive="a")
    assert streamed == [3, 3]


def test_an_older_polars(streamed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    assert tc.read(pl.LazyFrame({"p": [0.5, 0.25, 0.5], "y": [0, 1, 1]})) == tc.Predictor.from_samples(
        [0, 1, 1], [0.5, 0.25, 0.5]
    )
    assert streamed == [3]


def test_rows_that_change_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = ENGINES["rows.parquet"](pa.table({"p": [0.5, 0.25, 1.5], "y": [0, 1, 1]}), tmp_path)
    monkeypatch.setattr(by_duckdb, "_stream", lambda *_: False)
    with pytest.raises(ValueError, match="rows must not change while they are read"):
        tc.read(source, drop_invalid=True)


def test_many_rows_stream_by_themselves(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    p = np.append(rng.random(700_000), np.zeros(70_000))  # a tie longer than a block
    y = rng.random(len(p)) < p
    want = tc.Predictor.from_samples(y, p)
    frame = pd.DataFrame({"p": p, "y": y})
    pl.DataFrame(frame).write_parquet(tmp_path / "rows.parquet")
    across = pd.DataFrame(np.column_stack([p, y]), columns=["p", "y"])
    for source in (frame, across, pl.LazyFrame(frame), pa.Table.from_pandas(frame), tmp_path / "rows.parquet"):
        assert same(tc.read(source), want)


@pytest.mark.parametrize("fault", [2, -1, 256, 257, None])
def test_whole_numbers_that_are_no_outcome(fault: int | None, tmp_path: Path, streamed: list[int]) -> None:
    table = pa.table({"p": [0.25, 0.5, 0.75], "y": pa.array([1, 0, fault], pa.int64())})
    for name in ("pyarrow table", "duckdb relation", "rows.parquet"):
        found = reading(ENGINES[name](table, tmp_path), drop_invalid=True)
        assert found.provenance.dropped == Faults(outcome=1)
        assert same(found.predictor, tc.Predictor.from_samples([1, 0], [0.25, 0.5]))
