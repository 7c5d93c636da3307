"""A Spark cluster on this machine: a standalone master and workers, each a process that a test may kill."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Processes that live for a minute are quicker with less of a compiler."""
PATIENCE = 120.0
"""Seconds after which a process that has not come up never will: machines that run tests can be busy."""


@final
@dataclass(frozen=True)
class Standalone:
    """A running master, its address, and its processes: the master first, then the workers."""

    folder: Path
    address: str
    processes: list[subprocess.Popen[bytes]]

    def add_workers(self, count: int) -> None:
        """More workers of one core and one gigabyte each, once they have registered with the master."""
        options = ["--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / "work"), self.address]
        fresh = []
        for _ in range(count):
            name = f"worker{len(self.processes)}"
            fresh.append(_started("worker.Worker", self.folder, name, options))
            self.processes.append(fresh[-1][0])
        for worker, log in fresh:
            _told(worker, log, r"Successfully registered with master")

    def kill_worker(self) -> None:
        """The oldest worker with its executor and the executor's Python: all gone at once, as when a machine goes."""
        _kill(self.processes.pop(1))

    def kill_master(self) -> None:
        """The master, gone at once."""
        _kill(self.processes[0])


@contextmanager
def standalone(folder: Path, workers: int) -> Iterator[Standalone]:
    """A master and its workers; whatever happens, none of their processes is left."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        master, log = _started("master.Master", folder, "master", ["--port", "0"])
        processes.append(master)
        address = _told(master, log, r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        cluster = Standalone(folder, address, processes)
        cluster.add_workers(workers)
        yield cluster
    finally:
        for process in processes:
            _kill(process)


def connected(address: str) -> Any:
    """A session on the cluster at this address; its executors import trustcal from where this process does."""
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    options = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.driver.extraJavaOptions": JAVA,
        "spark.executor.extraJavaOptions": JAVA,
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
        "spark.sql.shuffle.partitions": "3",
        "spark.log.level": "OFF",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.master(address).getOrCreate()


def spark_home() -> Path:
    """Where pip has put Spark."""
    import pyspark

    return Path(pyspark.__file__).parent


def _started(role: str, folder: Path, name: str, options: list[str]) -> tuple[subprocess.Popen[bytes], Path]:
    command = [str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}"]
    environment = os.environ | {
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": JAVA,
    }
    log = folder / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--webui-port", "0", *options],
            env=environment,
            stdout=out,
            stderr=out,
        )
    return process, log


def _told(process: subprocess.Popen[bytes], log: Path, pattern: str) -> str:
    """What the log says, as soon as it does."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found.group(found.lastindex or 0)
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"Spark did not come up: {log.read_text(errors='replace')[-2000:]}")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The process and all below it.  One that has ended meanwhile needs no killing."""
    for pid in _below(process.pid) if process.poll() is None else []:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _below(pid: int) -> list[int]:
    """The children of a process, and theirs: a worker's executor, and its Python."""
    found = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], stdout=subprocess.PIPE, text=True, check=True).stdout
    parents = {int(child): int(parent) for child, parent in map(str.split, found.splitlines())}
    family: list[int] = [pid]
    for member in family:
        family += [child for child, parent in parents.items() if parent == member]
    return family[1:]
