"""Spark in one process, which starts in a few seconds: reading and noise give the bits of numpy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trustcal as tc
from tests.engines.conftest import needs_spark
from tests.engines.rows import check_groups_weights_and_refusals, many_rows, want, written_parts
from tests.engines.standalone import connected
from tests.test_segments import planted
from tests.traps import trap_table
from trustcal.inference import combined_test, monotone_cdl_upper_bound
from trustcal.noise import TruncatedLaplace
from trustcal.rewriting.frames import perturb_frame
from trustcal.smoothing import perturb

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("default"),  # Spark's own deprecations are not ours
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    needs_spark()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = connected("local[2]")
        yield session
        session.stop()


@pytest.mark.slow
def test_groups_weights_and_refusals(spark: Any, tmp_path: Path) -> None:
    check_groups_weights_and_refusals(spark.read.parquet(written_parts(trap_table().drop_columns("P"), tmp_path, 2)))


@pytest.mark.slow
def test_spark_draws_what_numpy_draws(spark: Any, tmp_path: Path) -> None:
    rows, noise = many_rows(), TruncatedLaplace(0.05)
    frame = spark.read.parquet(written_parts(rows, tmp_path, 2))
    drawn = perturb_frame(frame, prediction="p", noise=noise, seed=7, row_id="id").orderBy("id").toArrow()
    safe = perturb(rows["p"].to_numpy(), noise, ids=rows["id"].to_numpy(), seed=7)
    np.testing.assert_array_equal(drawn["p_noised"].to_numpy(), safe[np.argsort(rows["id"].to_numpy())])


@pytest.mark.slow
def test_measures_without_bins_have_the_bits_of_numpy(spark: Any, tmp_path: Path) -> None:
    rows = many_rows()
    frame = spark.read.parquet(written_parts(rows, tmp_path, 3))
    read, expected = tc.read(frame, "p", "y"), want(rows)
    for measure in (tc.monotone_cdl, tc.cutoff, tc.stepcal, tc.atb, tc.two_action_regret, tc.corp, tc.atb_floor):
        assert measure(read) == measure(expected)
    assert tc.umbrella().recommendations(read) == tc.umbrella().recommendations(expected)
    assert monotone_cdl_upper_bound(read) == monotone_cdl_upper_bound(expected)
    assert combined_test(read, draws=19, rng=0) == combined_test(expected, draws=19, rng=0)
    weighted = tc.monotone_cdl(tc.read(frame, "p", "y", weight="w"))  # engines add up weights in their own order
    assert weighted == pytest.approx(tc.monotone_cdl(want(rows, "w")), abs=1e-13)


@pytest.mark.slow
def test_spark_finds_the_segments_that_arrow_finds(spark: Any) -> None:
    rows = planted(6000)
    frame, found = spark.createDataFrame(rows.to_pandas()), tc.segments(rows)
    assert found.found
    assert tc.segments(frame) == found
    np.testing.assert_array_equal(found.members(frame), found.members(rows))
