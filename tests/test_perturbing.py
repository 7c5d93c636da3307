"""Noise inside engines: the bits of numpy, whatever the engine, the batches and their order."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import EDGES, costly
from trustcal.noise import (
    ClampedGaussian,
    ClampedLaplace,
    ClampedPlateau,
    Noise,
    RandomRounding,
    TruncatedGaussian,
    TruncatedLaplace,
    UniformNoise,
)
from trustcal.rewriting.frames import perturb_frame
from trustcal.smoothing import perturb

NOISES: list[Noise] = [
    UniformNoise(0.1),
    ClampedLaplace(0.05),
    TruncatedLaplace(0.05),
    TruncatedLaplace(5.0),
    ClampedGaussian(0.05),
    ClampedPlateau(0.05),
    TruncatedGaussian(0.05),
    TruncatedGaussian(0.001),
    RandomRounding(17),
]
N = 5000
RNG = np.random.default_rng(5)
P = np.concatenate([EDGES, RNG.random(N - len(EDGES))])
INTEGERS = RNG.permutation(N) - N // 2
TEXTS = np.array([f"case {i} é" for i in INTEGERS], dtype=object)
TABLE = {"number": INTEGERS, "text": TEXTS, "p": P}


def _ibis(table: dict[str, Any]) -> Any:
    ibis = pytest.importorskip("ibis")
    return ibis.memtable(pa.table(table))


def _dask(table: dict[str, Any]) -> Any:
    return pytest.importorskip("dask.dataframe").from_pandas(pd.DataFrame(table), npartitions=7)


def _duckdb(table: dict[str, Any]) -> Any:
    rows = pa.table(table)
    return duckdb.from_arrow(rows)


ENGINES: dict[str, tuple[Callable[[dict[str, Any]], Any], Callable[[Any], pd.DataFrame]]] = {
    "pandas": (pd.DataFrame, lambda frame: frame),
    "polars": (pl.DataFrame, lambda frame: frame.to_pandas()),
    "polars lazy": (pl.LazyFrame, lambda frame: frame.collect().to_pandas()),
    "polars streaming": (pl.LazyFrame, lambda frame: frame.collect(engine="streaming").to_pandas()),
    "pyarrow": (pa.table, lambda frame: frame.to_pandas()),
    "duckdb": (_duckdb, lambda frame: frame.df()),
    "dask": (_dask, lambda frame: frame.compute(scheduler="threads")),
    "ibis": (_ibis, lambda frame: frame.to_pyarrow().to_pandas()),
}
ORDERED = ["pandas", "polars", "polars lazy", "polars streaming", "pyarrow"]
UNORDERED = ["duckdb", "dask", "ibis"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("row_id", ["number", "text"])
@pytest.mark.parametrize("noise", [TruncatedLaplace(0.05), RandomRounding(17)], ids=lambda noise: type(noise).__name__)
def test_every_engine_draws_what_numpy_draws(engine: str, row_id: str, noise: Noise) -> None:
    make, fetch = ENGINES[engine]
    frame = make(TABLE)
    out = perturb_frame(frame, prediction="p", noise=noise, seed=7, row_id=row_id)
    assert type(out) is type(frame)
    rows = fetch(out)
    assert list(rows.columns) == ["number", "text", "p", "p_noised"]
    expected = dict(zip(INTEGERS, perturb(P, noise, ids=TABLE[row_id], seed=7), strict=True))
    assert rows["p_noised"].tolist() == [expected[i] for i in rows["number"]]
    assert sorted(rows["number"]) == sorted(INTEGERS)


@pytest.mark.parametrize("engine", ORDERED)
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_without_row_ids_a_row_is_its_position(engine: str, noise: Noise) -> None:
    make, fetch = ENGINES[engine]
    rows = fetch(perturb_frame(make(TABLE), prediction="p", noise=noise, seed=2**64 - 1, into="row"))
    np.testing.assert_array_equal(rows["row"], perturb(P, noise, ids=np.arange(N), seed=2**64 - 1))


@pytest.mark.parametrize("engine", UNORDERED)
def test_engines_without_order_demand_row_ids(engine: str) -> None:
    with pytest.raises(ValueError, match="have no order, so row_id= must name"):
        perturb_frame(ENGINES[engine][0](TABLE), prediction="p", noise=UniformNoise(0.1), seed=1)


@given(data=st.data(), noise=st.sampled_from(NOISES))
def test_a_draw_depends_on_nothing_but_seed_id_and_prediction(data: st.DataObject, noise: Noise) -> None:
    """Any order, any cuts, any alignment in memory, backwards and with strides."""
    n = data.draw(st.integers(1, 300))
    order = np.array(data.draw(st.permutations(range(n))))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=4)))
    whole = perturb(P[:n], noise, ids=INTEGERS[:n], seed=3)
    for piece in np.split(order, cuts):
        np.testing.assert_array_equal(perturb(P[piece], noise, ids=INTEGERS[piece], seed=3), whole[piece])
        chunks = pa.table({"p": P[piece], "id": INTEGERS[piece]})
        drawn = perturb_frame(chunks, prediction="p", noise=noise, seed=3, row_id="id")["p_noised"]
        np.testing.assert_array_equal(drawn.to_numpy(), whole[piece])
    np.testing.assert_array_equal(perturb(P[:n][::-1], noise, ids=INTEGERS[:n][::-1], seed=3)[::-1], whole)
    np.testing.assert_array_equal(perturb(P[:n:3], noise, ids=INTEGERS[:n:3], seed=3), whole[::3])


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_vectors_and_their_tails_have_the_same_bits(noise: Noise) -> None:
    """numpy computes the last few values of an array by other instructions than the rest."""
    u, q = RNG.random(3000), RNG.random(3000)
    whole = noise.quantile(u, q)
    alone = [float(noise.quantile(u[i : i + 1], q[i : i + 1])[0]) for i in range(3000)]
    assert whole.tolist() == alone
    for first in range(9):
        for length in (2, 3, 5, 7, 8, 9, 15, 17, 31, 33, 63, 65, 127, 1001):
            piece = slice(first, first + length)
            np.testing.assert_array_equal(noise.quantile(u[piece], q[piece]), whole[piece])
    np.testing.assert_array_equal(noise.quantile(u[::-1], q[::-1])[::-1], whole)
    shifted = np.frombuffer(b"\0" + q.tobytes(), dtype=np.uint8)[1:].view(np.float64)  # not on a multiple of 8 bytes
    np.testing.assert_array_equal(noise.quantile(u, shifted), whole)


@given(sizes=st.lists(st.integers(0, 40), min_size=1, max_size=6), noise=st.sampled_from(NOISES))
@costly(30)
def test_chunks_and_partitions_do_not_matter(sizes: list[int], noise: Noise) -> None:
    n = sum(sizes)
    expected = perturb(P[:n], noise, ids=TEXTS[:n], seed=11)
    ends = np.cumsum(sizes)
    pieces = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    arrow = pa.chunked_array([pa.array(P[piece]) for piece in pieces], pa.float64())
    ids = pa.chunked_array([pa.array(TEXTS[piece], pa.string()) for piece in pieces], pa.string())
    table = perturb_frame(pa.table({"p": arrow, "id": ids}), prediction="p", noise=noise, seed=11, row_id="id")
    np.testing.assert_array_equal(table["p_noised"].to_numpy(), expected)
    frames = [
        pl.DataFrame({"p": P[piece], "id": TEXTS[piece]}, schema={"p": pl.Float64, "id": pl.String}) for piece in pieces
    ]
    lazy = perturb_frame(pl.concat(frames, rechunk=False).lazy(), prediction="p", noise=noise, seed=11, row_id="id")
    np.testing.assert_array_equal(lazy.collect(engine="streaming")["p_noised"].to_numpy(), expected)


def test_lazy_frames_stay_lazy_and_repeat_themselves() -> None:
    """Bad predictions are met when rows are fetched; a second run, a filter or an order changes no draw."""
    noise, bad = TruncatedLaplace(0.05), TABLE | {"p": P + 1}
    for engine in ("polars lazy", "duckdb", "dask", "ibis"):
        make, fetch = ENGINES[engine]
        lazy = perturb_frame(make(bad), prediction="p", noise=noise, seed=7, row_id="number")
        with pytest.raises(Exception, match=r"column 'p' must hold probabilities.*the row whose 'number' is"):
            fetch(lazy)
        good = perturb_frame(make(TABLE), prediction="p", noise=noise, seed=7, row_id="number")
        pd.testing.assert_frame_equal(fetch(good), fetch(good))
    relation = perturb_frame(_duckdb(TABLE), prediction="p", noise=noise, seed=7, row_id="number")
    whole = dict(relation.project("number, p_noised").fetchall())
    some = dict(relation.filter("number % 3 = 0").order("p desc").project("number, p_noised").fetchall())
    assert some == {number: value for number, value in whole.items() if number % 3 == 0}
    plan = perturb_frame(pl.LazyFrame(TABLE), prediction="p", noise=noise, seed=7)
    kept = plan.filter(pl.col("number") > 0).select("p_noised").collect()["p_noised"].to_numpy()
    np.testing.assert_array_equal(kept, plan.collect().filter(pl.col("number") > 0)["p_noised"].to_numpy())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bad", [None, float("nan"), 1.5, -1e-300, float("inf")])
def test_bad_predictions_are_refused(engine: str, bad: float | None) -> None:
    make, fetch = ENGINES[engine]
    frame = make({"id": [4, 8, 9], "p": [0.5, bad, 0.25]})
    came = "missing or NaN" if bad is None or bad != bad else f"is {bad!r}"
    with pytest.raises(Exception, match=rf"column 'p' must hold probabilities in \[0, 1\]: 1 of the .*{came}") as error:
        fetch(perturb_frame(frame, prediction="p", noise=UniformNoise(0.1), seed=1, row_id="id"))
    assert "the row whose 'id' is 8" in str(error.value)


@pytest.mark.parametrize("engine", ORDERED)
def test_bad_predictions_without_ids_are_refused_by_their_row(engine: str) -> None:
    make, fetch = ENGINES[engine]
    with pytest.raises(ValueError, match=r"1 of the \d rows looked at break this, the first is row 1 \(from 0\)"):
        fetch(perturb_frame(make({"p": [0.5, 7.0, 0.25]}), prediction="p", noise=UniformNoise(0.1), seed=1))


@pytest.mark.parametrize("engine", ENGINES)
def test_other_refusals(engine: str) -> None:
    make, fetch = ENGINES[engine]
    frame = make(
        {"id": [4, 8], "p": [0.5, 0.25], "t": ["a", "b"], "x": [0.5, 0.25], "p_noised": [0, 0], "n": ["a", None]}
    )
    good: dict[str, Any] = {"prediction": "p", "noise": UniformNoise(0.1), "seed": 1, "row_id": "id", "into": "s"}
    changes: list[tuple[dict[str, Any], str]] = [
        ({"prediction": "P"}, r"the frame has no column 'P'\. Did you mean 'p'\?"),
        ({"row_id": "case"}, "the frame has no column 'case'"),
        ({"into": None}, "already has a column 'p_noised': name another with into="),
        ({"into": ""}, "into must be the name of a new column, not ''"),
        ({"into": 3}, "into must be the name of a new column, not 3"),
        ({"prediction": "t"}, "column 't' must hold numbers"),
        ({"row_id": "x"}, "column 'x' must hold row ids, integers or text"),
        ({"row_id": "n"}, "column 'n' must hold a row id for every row, but 1 are missing"),
        ({"noise": 0.1}, "noise must be a trustcal noise"),
        ({"seed": -1}, "a seed must be an integer"),
    ]
    for change, message in changes:
        with pytest.raises(Exception, match=message):
            fetch(perturb_frame(frame, **(good | change)))


@pytest.mark.parametrize("frame", [[0.5], {"p": [0.5]}, np.array([0.5]), pd.Series([0.5]), None])
def test_what_is_no_frame_is_refused(frame: object) -> None:
    with pytest.raises(ValueError, match="frame must be a table of pandas, Polars"):
        perturb_frame(frame, prediction="p", noise=UniformNoise(0.1), seed=1)


def test_relations_of_other_connections() -> None:
    noise = UniformNoise(0.1)
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT 0.25 AS p, 17 AS id")
        with pytest.raises(ValueError, match="pass its own as connection="):
            perturb_frame(relation, prediction="p", noise=noise, seed=1, row_id="id")
        for _ in range(2):
            out = perturb_frame(relation, prediction="p", noise=noise, seed=1, row_id="id", connection=connection)
            assert out.fetchall()[0][2] == perturb([0.25], noise, ids=[17], seed=1)[0]
    with pytest.raises(ValueError, match="connection= belongs to DuckDB"):
        perturb_frame(pd.DataFrame(TABLE), prediction="p", noise=noise, seed=1, connection=connection)


@pytest.mark.parametrize("end", ["", "duckdb.close()"])
def test_the_default_connection_ends_quietly(end: str) -> None:
    """DuckDB reports functions that are still registered when Python ends, in sixty lines."""
    script = f"""
import duckdb
from trustcal.noise import UniformNoise
from trustcal.rewriting.frames import perturb_frame
relation = duckdb.sql("SELECT 0.5 AS p, 1 AS id")
print(perturb_frame(relation, prediction="p", noise=UniformNoise(0.1), seed=1, row_id="id").fetchall()[0][2])
{end}"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert float(done.stdout) == perturb([0.5], UniformNoise(0.1), ids=[1], seed=1)[0]


def test_capitals_that_an_engine_ignores_are_refused() -> None:
    frame = pd.DataFrame({"P": [0.1], "p": [0.9], "id": [1]})
    noise = RandomRounding(10)
    assert perturb_frame(frame, prediction="P", noise=noise, seed=1)["P_noised"][0] < 0.2
    assert perturb_frame(pl.from_pandas(frame), prediction="p", noise=noise, seed=1)["p_noised"][0] > 0.8
    relation = duckdb.sql("SELECT 0.5 AS p, 1 AS id")
    with pytest.raises(ValueError, match="already has a column 'P'"):
        perturb_frame(relation, prediction="p", noise=noise, seed=1, row_id="id", into="P")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([0, 1, 1], pa.int8()),
        pa.array([0, 0.7, 0.25], pa.float32()),
        pa.array([Decimal("0.7"), Decimal("0.1"), Decimal("0.29")]),
        pa.array([True, False, True]),
        pa.array([0.25, 0.5, 0.5]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_predictions_of_any_number_type(column: Any) -> None:
    expected = perturb([float(value) for value in column.to_pylist()], UniformNoise(0.1), ids=[0, 1, 2], seed=4)
    table = pa.table({"p": column, "id": [0, 1, 2]})
    by_id: dict[str, Any] = {"prediction": "p", "noise": UniformNoise(0.1), "seed": 4, "row_id": "id"}
    frames = {"pandas": table.to_pandas(), "pyarrow": table, "duckdb": duckdb.from_arrow(table)}
    if not pa.types.is_dictionary(column.type):
        frames |= {"polars": pl.from_arrow(table), "polars lazy": pl.from_arrow(table).lazy()}  # type: ignore[union-attr]
    for engine, frame in frames.items():
        rows = ENGINES[engine][1](perturb_frame(frame, **by_id))
        assert rows["p_noised"].tolist() == expected.tolist(), engine


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "Int32", "category", "str", "object"])
def test_row_ids_of_any_type(dtype: str) -> None:
    frame = pd.DataFrame({"p": [0.25, 0.5, 0.75], "id": pd.Series([1, 2, 100])})
    ids = ["1", "2", "100"] if dtype in ("category", "str", "object") else [1, 2, 100]
    frame["id"] = pd.Series(ids, dtype=dtype)
    noise = TruncatedLaplace(0.1)
    for engine, made in {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "pyarrow": pa.Table.from_pandas(frame),
    }.items():
        rows = ENGINES[engine][1](perturb_frame(made, prediction="p", noise=noise, seed=4, row_id="id"))
        assert rows["p_noised"].tolist() == perturb(frame["p"], noise, ids=ids, seed=4).tolist(), engine


@pytest.mark.parametrize("name", ["^p$", "*", "a b", 'a "quoted", one', "p.q", "", "é"])
def test_names_are_taken_literally(name: str) -> None:
    for engine in ("pandas", "polars", "polars lazy", "pyarrow", "duckdb", "dask"):
        if engine == "duckdb" and name == "":
            continue  # DuckDB has no columns without a name
        make, fetch = ENGINES[engine]
        frame = make({"pp": [0.9], name: [0.25], "id": [1]})
        rows = fetch(perturb_frame(frame, prediction=name, noise=UniformNoise(0.1), seed=1, row_id="id"))
        assert rows[f"{name}_noised"][0] == perturb([0.25], UniformNoise(0.1), ids=[1], seed=1)[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_no_rows(engine: str) -> None:
    make, fetch = ENGINES[engine]
    empty = {"p": np.empty(0), "id": np.empty(0, dtype=np.int64)}
    rows = fetch(perturb_frame(make(empty), prediction="p", noise=UniformNoise(0.1), seed=1, row_id="id"))
    assert list(rows.columns) == ["p", "id", "p_noised"]
    assert len(rows) == 0
    assert rows["p_noised"].dtype == np.float64


def test_minus_zero_is_zero() -> None:
    noise = RandomRounding(10)
    drawn = perturb([-0.0, 0.0], noise, ids=[1, 1], seed=1)
    assert drawn.tobytes() == np.zeros(2).tobytes()


def test_a_bad_row_deep_in_an_array_is_named_by_its_own_number() -> None:
    p = np.full(50000, 0.5)
    p[[40000, 49999]] = 2.0
    with pytest.raises(ValueError, match=r"2 of 50000 rows break this, the first is row 40000"):
        perturb(p, UniformNoise(0.1), ids=np.arange(50000), seed=1)
