"""Clusters on this machine, of several processes each, which live as long as the tests of this folder.

They are skipped where Java or a package is missing, and for no other reason: a cluster that fails to start is an error.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engines.standalone import Standalone, connected, standalone


@pytest.fixture(scope="package")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A standalone master and two workers."""
    needs_spark()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        with standalone(tmp_path_factory.mktemp("spark"), workers=2) as cluster:
            yield cluster


@pytest.fixture(scope="module")
def spark(spark_cluster: Standalone) -> Iterator[Any]:
    """A session on the cluster."""
    session = connected(spark_cluster.address)
    yield session
    session.stop()


@pytest.fixture(scope="package")
def dask_client() -> Iterator[Any]:
    """The client of a Dask cluster of two worker processes, which Dask uses for whatever it computes."""
    distributed = pytest.importorskip("distributed", reason="SKIPPED ENGINE: the package distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", memory_limit="1GiB",
            dashboard_address="127.0.0.1:0",  # any free port: with None it would be 8787, which may be in use
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        yield client


def needs_spark() -> None:
    """Skip, and say so, where Spark cannot run."""
    pytest.importorskip("pyspark", reason="SKIPPED ENGINE: the package pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("SKIPPED ENGINE: Spark needs Java, which is not installed")
