"""Noise inside Spark: the bits of numpy in any partitioning, and after a task that failed and was tried again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from trustcal.noise import TruncatedGaussian, TruncatedLaplace, UniformNoise
from trustcal.remedies import fit
from trustcal.rewriting.frames import fix_frame, perturb_frame
from trustcal.smoothing import perturb

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),  # one cluster for all
    pytest.mark.filterwarnings("default"),  # Spark's own deprecations are not ours
]

N = 2000
RNG = np.random.default_rng(9)
ROWS = pd.DataFrame({"id": RNG.permutation(N), "P": RNG.random(N), "p": RNG.random(N)})
ROWS["text"] = [f"case {i}" for i in ROWS["id"]]


@pytest.mark.parametrize("partitions", [1, 5])
@pytest.mark.parametrize("row_id", ["id", "text"])
def test_spark_draws_what_numpy_draws(spark: Any, partitions: int, row_id: str) -> None:
    for noise in (TruncatedLaplace(0.05), TruncatedGaussian(0.05)):
        frame = spark.createDataFrame(ROWS.drop(columns="P")).repartition(partitions)
        out = perturb_frame(frame, prediction="p", noise=noise, seed=7, row_id=row_id)
        assert out.columns == ["id", "p", "text", "p_noised"]
        drawn = out.orderBy("id").toPandas()
        rows = ROWS.sort_values("id")
        np.testing.assert_array_equal(drawn["p_noised"], perturb(rows["p"], noise, ids=rows[row_id], seed=7))


def test_a_remedy_without_row_ids_gives_the_same_bits(spark: Any) -> None:
    remedy = fit("spline", ROWS["P"] < ROWS["p"], ROWS["p"])
    frame = spark.createDataFrame(ROWS.drop(columns="P")).repartition(3)
    out = fix_frame(frame, remedy, prediction="p").orderBy("id").toPandas()
    np.testing.assert_array_equal(out["p_recalibrated"], remedy.apply(ROWS.sort_values("id")["p"]))


def test_a_task_that_fails_and_is_tried_again_draws_the_same(spark: Any, tmp_path: Path) -> None:
    def fails_once(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        (tmp_path / f"{context.partitionId()}-{context.attemptNumber()}").touch()
        yield from batches
        if context.attemptNumber() == 0:
            raise RuntimeError("the first attempt fails, after its rows")

    noise = TruncatedLaplace(0.05)
    frame = spark.createDataFrame(ROWS.drop(columns="P")).repartition(3)
    out = perturb_frame(frame, prediction="p", noise=noise, seed=7, row_id="id")
    drawn = out.mapInArrow(fails_once, out.schema).toPandas().sort_values("id")
    assert {file.name for file in tmp_path.iterdir()} == {
        f"{part}-{attempt}" for part in range(3) for attempt in (0, 1)
    }
    rows = ROWS.sort_values("id")
    np.testing.assert_array_equal(drawn["p_noised"], perturb(rows["p"], noise, ids=rows["id"], seed=7))


def test_other_columns_keep_their_types(spark: Any) -> None:
    frame = spark.sql(
        "SELECT 1 AS id, 0.5D AS p, 1.10BD AS money, DATE'2020-01-02' AS day, TIMESTAMP'2020-01-02 03:04:05' AS time,"
        " array(1, NULL) AS list, map('a', 1) AS map, struct(1 AS x, 'y' AS y) AS pair, X'00FF' AS bytes,"
        " CAST(NULL AS INT) AS none"
    )
    out = perturb_frame(frame, prediction="p", noise=UniformNoise(0.1), seed=1, row_id="id", into="q")
    assert out.schema.fields[:-1] == frame.schema.fields
    assert out.drop("q").collect() == frame.collect()


def test_refusals(spark: Any) -> None:
    frame = spark.createDataFrame(ROWS.drop(columns="P"))
    noise = UniformNoise(0.1)
    with pytest.raises(ValueError, match="PySpark have no order, so row_id= must name"):
        perturb_frame(frame, prediction="p", noise=noise, seed=1)
    with pytest.raises(ValueError, match="column 'text' must hold numbers, but its type is string"):
        perturb_frame(frame, prediction="text", noise=noise, seed=1, row_id="id")
    with pytest.raises(ValueError, match="column 'p' must hold row ids, integers or text, but its type is double"):
        perturb_frame(frame, prediction="p", noise=noise, seed=1, row_id="p")
    with pytest.raises(ValueError, match=r"no column 'P'\. Did you mean 'p'\?"):
        perturb_frame(frame, prediction="P", noise=noise, seed=1, row_id="id")
    with pytest.raises(ValueError, match="already has a column 'TEXT'"):
        perturb_frame(frame, prediction="p", noise=noise, seed=1, row_id="id", into="TEXT")
    both = spark.createDataFrame(ROWS)
    with pytest.raises(ValueError, match="differ from 'p' only in capitals"):
        perturb_frame(both, prediction="p", noise=noise, seed=1, row_id="id")
    for bad in ("2.0D", "CAST('NaN' AS DOUBLE)", "CAST(NULL AS DOUBLE)"):
        lazy = perturb_frame(
            spark.sql(f"SELECT 17 AS id, {bad} AS p"), prediction="p", noise=noise, seed=1, row_id="id"
        )
        with pytest.raises(Exception, match=r"column 'p' must hold probabilities in \[0, 1\].*whose 'id' is 17"):
            lazy.collect()
