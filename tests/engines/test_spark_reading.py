"""Reading on a Spark cluster: the predictor of numpy, bit for bit, also when a worker is killed on the way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import trustcal as tc
from tests.engines.rows import check_groups_weights_and_refusals, check_many_rows, many_rows, written_parts
from tests.engines.standalone import Standalone
from tests.traps import SOUND, P, from_rows, same, trap_table
from trustcal.noise import TruncatedLaplace
from trustcal.reading import reading
from trustcal.reading.faults import Faults
from trustcal.rewriting.frames import perturb_frame
from trustcal.smoothing import perturb

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),  # one cluster for all
    pytest.mark.filterwarnings("default"),  # Spark's own deprecations are not ours
]


@pytest.fixture(scope="module")
def traps(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The trap table in three files, without the column that Spark cannot tell from p."""
    return spark.read.parquet(written_parts(trap_table().drop_columns("P"), tmp_path_factory.mktemp("traps"), 3))


def test_the_trap_table(traps: Any) -> None:
    found = reading(traps, prediction="p", outcome="y", drop_invalid=True)
    assert same(found.predictor, from_rows(SOUND))
    assert found.provenance.rows == len(P)
    assert found.provenance.dropped == Faults(1, 1, below=1, above=2, outcome=2)


def test_groups_weights_and_refusals(traps: Any) -> None:
    check_groups_weights_and_refusals(traps)


def test_many_rows(spark: Any, tmp_path: Path) -> None:
    rows = many_rows()
    check_many_rows(rows, spark.read.parquet(written_parts(rows, tmp_path, 4)))


def test_a_worker_killed_on_the_way(spark: Any, spark_cluster: Standalone, tmp_path: Path) -> None:
    (tmp_path / "begun").mkdir()
    begun, free = str(tmp_path / "begun"), str(tmp_path / "free")

    def waits(batches: Iterator[Any]) -> Iterator[Any]:
        import time
        from pathlib import Path

        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        (Path(begun) / f"{context.partitionId()}-{context.attemptNumber()}").touch()
        while not Path(free).exists():
            time.sleep(0.05)
        yield from batches

    rows, noise = many_rows(), TruncatedLaplace(0.05)
    frame = spark.read.parquet(written_parts(rows, tmp_path / "rows", 4)).repartition(4)
    slow = perturb_frame(frame.mapInArrow(waits, frame.schema), prediction="p", noise=noise, seed=7, row_id="id")
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(tc.read, slow, "p_noised", "y", resolution=0)
        try:
            deadline = time.monotonic() + 120
            while len(list(Path(begun).iterdir())) < 2:  # one task in each executor
                assert not job.done()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            spark_cluster.kill_worker()
        finally:
            Path(free).touch()
        found = job.result(timeout=120)
    spark_cluster.add_workers(1)
    assert {file.name.split("-")[1] for file in Path(begun).iterdir()} == {"0", "1"}  # a task was tried again
    safe = perturb(rows["p"].to_numpy(), noise, ids=rows["id"].to_numpy(), seed=7)
    assert same(found, tc.Predictor.from_samples(rows["y"].to_numpy(), safe))
