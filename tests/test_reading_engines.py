"""Every engine reads the same rows to the same predictor, bit for bit, whatever traps the rows hold."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trustcal as tc
from tests.strategies import costly
from tests.traps import SOUND, G, P, W, from_rows, same, trap_table
from trustcal.reading import duckdb as by_duckdb
from trustcal.reading import reading
from trustcal.reading.faults import Faults
from trustcal.tally import tally

dask_frames: Any = pytest.importorskip("dask.dataframe")
ibis: Any = pytest.importorskip("ibis")


def written(table: pa.Table, folder: Path, name: str) -> str:
    """The table in a file, by the name of which its format is told."""
    file = str(folder / name)
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(table, file)
        return file
    frame = pl.DataFrame(table)
    text = frame.write_ndjson() if "json" in name else frame.write_csv(separator="\t" if "tsv" in name else ",")
    codec = {"gz": "gzip", "zst": "zstd"}.get(name.rsplit(".")[-1])
    with pa.CompressedOutputStream(file, codec) if codec else Path(file).open("wb") as out:
        out.write(text.encode())
    return file


def relation(table: pa.Table) -> Any:
    """The table with its own names: DuckDB makes p_1 of a p beside a P."""
    called = [f"c{index}" for index in range(table.num_columns)]
    names = ", ".join(f'{place} AS "{name}"' for place, name in zip(called, table.column_names, strict=True))
    return duckdb.connect().from_arrow(table.rename_columns(called)).query("rows", f"SELECT {names} FROM rows")


def dask_source(table: pa.Table) -> pd.DataFrame:
    """Dask makes text of Python's decimals; of Arrow's it does not."""
    decimals = any(pa.types.is_decimal(field.type) for field in table.schema)
    return table.to_pandas(types_mapper=pd.ArrowDtype if decimals else None)


Opener = Callable[[pa.Table, Path], Any]
FRAMES: dict[str, Opener] = {
    "pandas": lambda table, folder: table.to_pandas(),
    "pandas on arrow": lambda table, folder: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda table, folder: pl.DataFrame(table),
    "polars lazy": lambda table, folder: pl.DataFrame(table).lazy(),
    "pyarrow table": lambda table, folder: table,
    "pyarrow dataset": lambda table, folder: pyarrow.dataset.dataset(table),
    "duckdb relation": lambda table, folder: relation(table),
    "dask": lambda table, folder: dask_frames.from_pandas(dask_source(table), npartitions=2),
    "ibis": lambda table, folder: ibis.memtable(table.drop_columns("P") if "P" in table.column_names else table),
}
FILES: dict[str, Opener] = {
    name: lambda table, folder, name=name: written(table, folder, name)  # type: ignore[misc]
    for name in ("rows.csv", "rows.tsv", "rows.csv.gz", "rows.csv.zst", "rows.jsonl", "rows.jsonl.gz", "rows.parquet")
}
ENGINES = FRAMES | FILES
MERGES_NAN = ("pandas", "dask")


@pytest.fixture(params=ENGINES, scope="module")
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def source(engine: str, tmp_path: Path) -> Any:
    return ENGINES[engine](trap_table(), tmp_path)


def test_the_trap_table(engine: str, source: Any) -> None:
    found = reading(source, prediction="p", outcome="y", drop_invalid=True)
    assert same(found.predictor, from_rows(SOUND))
    assert found.provenance.rows == len(P)
    missing, nan, above = (3, 0, 1) if "json" in engine else (2, 0, 2) if engine in MERGES_NAN else (1, 1, 2)
    assert found.provenance.dropped == Faults(missing, nan, below=1, above=above, outcome=2)  # no NaN in JSON
    assert found.provenance.dropped.total == 7


def test_weights(source: Any) -> None:
    found = reading(source, prediction="p", outcome="y", weight="w", drop_invalid=True)
    want = from_rows(SOUND, W)
    assert found.predictor == want
    assert (found.predictor.rows, found.predictor.effective_rows) == (want.rows, want.effective_rows)


def test_groups(source: Any) -> None:
    found = tc.read(source, prediction="p", outcome="y", by="g", drop_invalid=True)
    assert list(found) == ["a", "b", None]
    for group, q in found.items():
        assert same(q, from_rows([index for index in SOUND if G[index] == group]))
    pairs = tc.read(source, prediction="p", outcome="y", by=["g", "w"], drop_invalid=True)
    assert {(group, float(weight)) for group, weight in pairs} == {(G[index], W[index]) for index in SOUND}


@pytest.mark.parametrize("weight", [None, "w"])
def test_resolution(source: Any, weight: str | None) -> None:
    q = tc.read(source, prediction="p", outcome="y", weight=weight, resolution=2**-3, drop_invalid=True)
    want = from_rows(SOUND, None if weight is None else W)
    rounded = want.map(lambda p: np.floor(p * 8 + 0.5) / 8)
    np.testing.assert_array_equal(q.p, rounded.p)
    np.testing.assert_allclose(q.mass, rounded.mass, rtol=1e-15)
    np.testing.assert_allclose(q.positive, rounded.positive, rtol=1e-15)
    assert rounded.moved * (1 - 1e-15) <= q.moved <= rounded.moved * (1 + 1e-12)


@pytest.mark.slow
def test_rounding_by_default_is_announced(source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "MANY", 4)
    monkeypatch.setattr(by_duckdb, "BATCH", 3)
    found = reading(source, prediction="p", outcome="y", drop_invalid=True)
    assert found.provenance.resolution == 2**-22
    assert not found.provenance.resolution_asked
    assert 0 < found.predictor.moved <= 2**-23
    assert "because more than" in found.provenance.sentences[-1]
    exact = reading(source, prediction="p", outcome="y", resolution=0, drop_invalid=True)
    assert same(exact.predictor, from_rows(SOUND))
    by_group = tc.read(source, prediction="p", outcome="y", by="g", resolution=0, drop_invalid=True)
    assert same(by_group["b"], from_rows([index for index in SOUND if G[index] == "b"]))


def test_faults_are_counted_and_shown(engine: str, source: Any) -> None:
    with pytest.raises(ValueError, match=r"7 of 17 rows do not: .*1 with a prediction below 0") as refusal:
        tc.read(source, prediction="p", outcome="y")
    message = str(refusal.value)
    assert "drop_invalid" in message
    assert "\n" not in message
    if engine in FILES:
        place = {"rows.csv": "line 11", "rows.tsv": "line 11", "rows.jsonl": "line 10"}.get(engine, "row 9 (from 0)")
        assert f"{place} with p missing, y '1'" in message


@pytest.mark.slow
def test_columns_that_look_swapped(engine: str, tmp_path: Path) -> None:
    """Also where something is missing; but outcomes that are no probabilities, or predictions that are, are not."""
    table = pa.table({
        "rained": [1.0, 0.0, None, 1.0],
        "forecast": [0.75, 0.0, 0.25, None],
        "stars": [0.75, 0.0, 5.0, 1.0],
        "words": ["0.75", "0", "wet", "1"],
    })  # fmt: skip
    source = ENGINES[engine](table, tmp_path)
    with pytest.raises(ValueError, match=r"swapped\. Exchange column 'forecast' and column 'rained'\.$"):
        tc.read(source, prediction="rained", outcome="forecast")
    for prediction, outcome in (("rained", "stars"), ("rained", "words"), ("forecast", "forecast2")):
        again = ENGINES[engine](table.append_column("forecast2", table["forecast"]), tmp_path)
        with pytest.raises(ValueError, match=r"rows do not: "):
            tc.read(again, prediction=prediction, outcome=outcome)


def test_a_column_that_is_not_there(source: Any) -> None:
    with pytest.raises(ValueError, match=r"no column 'W'\. Did you mean 'w'\?"):
        tc.read(source, prediction="p", outcome="y", weight="W")


OUTCOMES = [
    pa.array([True, False]), pa.array([1, 0], pa.uint64()), pa.array([1, 0], pa.float32()),
    pa.array([Decimal("1.0"), Decimal("0.0")]), pa.array(["yes", "no"]), pa.array(["True", "false"]),
    pa.array(["1", "0"]), pa.array(["yes", "no"]).dictionary_encode(),
]  # fmt: skip


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda array: f"{array.type}-{array[0]}")
def test_what_an_outcome_may_be(engine: str, outcome: pa.Array, tmp_path: Path) -> None:
    table = pa.table({"p": [0.5, 0.25], "y": outcome})
    assert tc.read(ENGINES[engine](table, tmp_path)) == tc.Predictor.from_samples([1, 0], [0.5, 0.25])


def test_a_positive_label(engine: str, tmp_path: Path) -> None:
    table = pa.table({"p": [0.5, 0.25, 0.5], "y": ["sick", "well", "well"], "k": [1, 2, 2], "many": ["a", "b", "c"]})
    source = ENGINES[engine](table, tmp_path)
    want = tc.Predictor.from_samples([1, 0, 0], [0.5, 0.25, 0.5])
    assert tc.read(source, outcome="y", positive="sick") == want
    assert tc.read(source, outcome="k", positive=1) == want
    with pytest.raises(ValueError, match="must have two labels, 'Sick' and one other, but beside it has 'sick' and 'w"):
        tc.read(source, outcome="y", positive="Sick")
    with pytest.raises(ValueError, match="beside it has 'b' and 'c'"):
        tc.read(source, outcome="many", positive="a", drop_invalid=True)


@pytest.mark.parametrize("type_", [pa.decimal128(5, 2), pa.float32(), pa.float64(), pa.decimal128(38, 30)], ids=str)
def test_predictions_are_read_at_their_exact_value(engine: str, type_: pa.DataType, tmp_path: Path) -> None:
    hundredths = [Decimal(k).scaleb(-2) for k in range(101)]
    column = pa.array(hundredths if pa.types.is_decimal(type_) else [float(k) for k in hundredths], type_)
    want = [float(np.float32(k)) if type_ == pa.float32() else float(k) for k in hundredths]
    q = tc.read(ENGINES[engine](pa.table({"p": column, "y": [0] * 101}), tmp_path))
    if type_ == pa.float32() and engine.startswith("rows.") and "parquet" not in engine:
        want = [float(str(np.float32(k))) for k in hundredths]  # text holds the digits that were written
    assert q.p.tolist() == want


ROWS = st.lists(
    st.tuples(
        st.sampled_from([0.0, -0.0, 5e-324, 0.1, 0.1 + 2**-56, 1 / 3, 0.5, 1 - 2**-53, 1.0]) | st.floats(0, 1),
        st.booleans(),
        st.sampled_from(["a", "b c", "d'", ""]),
    ),
    min_size=1,
    max_size=12,
)
SLOW = ("dask", "ibis")


def check_engines(rows: list[tuple[float, bool, str]], folder: Path, names: list[str]) -> None:
    p, y, g = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"p": p, "y": y, "g": g})
    want = tc.Predictor.from_samples(y, p)
    groups = {
        name: tc.Predictor.from_samples(
            [b for b, other in zip(y, g, strict=True) if other == name],
            [a for a, other in zip(p, g, strict=True) if other == name],
        )
        for name in g
    }
    for name in names:
        source = ENGINES[name](table, folder)
        assert same(tc.read(source), want), name
        if name not in FILES:  # in a CSV, "" is missing
            assert tc.read(source, by="g") == groups, name


@given(rows=ROWS)
@settings(costly(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_rows_give_the_same_predictor(rows: list[tuple[float, bool, str]], tmp_path: Path) -> None:
    quick = [name for name in FRAMES if name not in SLOW]
    check_engines(rows, tmp_path, [*quick, "rows.csv", "rows.jsonl", "rows.parquet"])


@given(rows=ROWS)
@settings(costly(3), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_rows_give_the_same_predictor_from_slow_engines(
    rows: list[tuple[float, bool, str]], tmp_path: Path
) -> None:
    check_engines(rows, tmp_path, list(SLOW))
