"""A Spark master that dies, and a session that is no more."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import trustcal as tc
from tests.engines.conftest import needs_spark
from tests.engines.rows import many_rows, want, written_parts
from tests.engines.standalone import connected, standalone
from tests.traps import same

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),  # one cluster for all
    pytest.mark.filterwarnings("default"),  # Spark's own deprecations are not ours
]


def test_a_dead_master_and_a_stopped_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_spark()
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    rows = many_rows()
    file = written_parts(rows, tmp_path / "rows", 2)
    with standalone(tmp_path, workers=1) as cluster:
        session = connected(cluster.address)
        try:
            frame = session.read.parquet(file)
            assert same(tc.read(frame), want(rows))
            cluster.kill_master()
            assert same(tc.read(frame), want(rows))  # by the executors it has: a master only hands them out
        finally:
            session.stop()
        with pytest.raises(ValueError, match=r"pyspark frame cannot be read: .*Is its session still alive") as refusal:
            tc.read(frame)
        assert "\n" not in str(refusal.value)
