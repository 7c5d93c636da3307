"""Reading on a Dask cluster: the predictor of numpy, bit for bit, also when a worker is killed on the way."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import trustcal as tc
from tests.engines.rows import check_groups_weights_and_refusals, check_many_rows, many_rows, written_parts
from tests.traps import SOUND, P, from_rows, same, trap_table
from trustcal.noise import TruncatedLaplace
from trustcal.reading import reading
from trustcal.reading.faults import Faults
from trustcal.rewriting.frames import perturb_frame
from trustcal.smoothing import perturb

dataframe: Any = pytest.importorskip("dask.dataframe", reason="SKIPPED ENGINE: the package dask is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("dask"),  # one cluster for all
    pytest.mark.filterwarnings("default"),  # Dask's own deprecations are not ours
    pytest.mark.usefixtures("dask_client"),
]


@pytest.fixture(scope="module")
def traps(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return dataframe.read_parquet(written_parts(trap_table(), tmp_path_factory.mktemp("traps"), 3))


def test_the_trap_table(traps: Any) -> None:
    found = reading(traps, prediction="p", outcome="y", drop_invalid=True)
    assert same(found.predictor, from_rows(SOUND))
    assert found.provenance.rows == len(P)
    assert found.provenance.dropped == Faults(2, below=1, above=2, outcome=2)  # to Dask, NaN is missing


def test_groups_weights_and_refusals(traps: Any) -> None:
    check_groups_weights_and_refusals(traps)


def test_many_rows(tmp_path: Path) -> None:
    rows = many_rows()
    check_many_rows(rows, dataframe.read_parquet(written_parts(rows, tmp_path, 4)))


def waits(part: Any, begun: str, free: str) -> Any:
    """The rows of a partition, once they may go; who works on it leaves a mark."""
    if len(part):  # not where Dask asks for the types
        (Path(begun) / f"{part['id'].iloc[0]}-{os.getpid()}").touch()
        while not Path(free).exists():
            time.sleep(0.05)
    return part


def test_a_worker_killed_on_the_way(dask_client: Any, tmp_path: Path) -> None:
    (tmp_path / "begun").mkdir()
    begun, free = tmp_path / "begun", tmp_path / "free"
    rows, noise = many_rows(), TruncatedLaplace(0.05)
    frame = dataframe.read_parquet(written_parts(rows, tmp_path / "rows", 4))
    slow = frame.map_partitions(waits, str(begun), str(free), meta=frame._meta)
    safe = perturb_frame(slow, prediction="p", noise=noise, seed=7, row_id="id")
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(tc.read, safe, "p_noised", "y", resolution=0)
        try:
            deadline = time.monotonic() + 120
            while len(marks := [file.name for file in begun.iterdir()]) < 2:  # one partition in each worker
                assert not job.done()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            partition, pid = marks[0].split("-")
            assert int(pid) in dask_client.run(os.getpid).values()
            os.kill(int(pid), signal.SIGKILL)
        finally:
            free.touch()
        found = job.result(timeout=120)
    tries = {file.name.split("-")[1] for file in begun.iterdir() if file.name.startswith(f"{partition}-")}
    assert len(tries) == 2  # another process took the partition over
    drawn = perturb(rows["p"].to_numpy(), noise, ids=rows["id"].to_numpy(), seed=7)
    assert same(found, tc.Predictor.from_samples(rows["y"].to_numpy(), drawn))
