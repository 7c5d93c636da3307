"""What does reading cost in each engine, beside a bare scan of the same Parquet file in DuckDB?

python -m benchmarks.engines                                    # or: --rows 8 for 10^8, --engines duckdb polars

Each engine runs in a process of its own, which imports it, reads a small file once to warm up, and then the large one,
up to ten times in ten seconds.  All engines take turns three times, those that need over ten seconds once.  The least
time of each kind counts, and the highest peak: a shared machine has slow minutes, which should affect all alike.  CPU
seconds and memory are those of that process and its children (Spark's JVM included), from /proc.  The goals: rounded
predictions within 3 times the scan in DuckDB and Polars, continuous ones within twice a packed sort in numpy.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import trustcal as tc


def scan(file: str) -> Callable[[], object]:
    import duckdb

    return lambda: duckdb.execute(f"SELECT sum(p), sum(y) FROM '{file}'").fetchall()


def packed_sort(file: str) -> Callable[[], object]:
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(file)
    p, y = (table.column(name).to_numpy() for name in ("p", "y"))
    words = p.view(np.uint64) << np.uint64(1) | y.astype(np.uint64)
    return lambda: np.sort(words)


def with_duckdb(file: str) -> Callable[[], object]:
    return lambda: tc.read(file, "p", "y")


def with_duckdb_exact(file: str) -> Callable[[], object]:
    return lambda: tc.read(file, "p", "y", resolution=0)


def with_duckdb_relation(file: str) -> Callable[[], object]:
    import duckdb

    return lambda: tc.read(duckdb.read_parquet(file), "p", "y")


def with_polars(file: str) -> Callable[[], object]:
    import polars as pl

    return lambda: tc.read(pl.scan_parquet(file), "p", "y")


def with_pyarrow(file: str) -> Callable[[], object]:
    import pyarrow.dataset as ds

    return lambda: tc.read(ds.dataset(file), "p", "y")


def with_pandas(file: str) -> Callable[[], object]:
    import pandas as pd

    return lambda: tc.read(pd.read_parquet(file), "p", "y")


def with_dask(file: str, resolution: float | None = None) -> Callable[[], object]:
    import dask.dataframe as dd

    return lambda: tc.read(dd.read_parquet(file), "p", "y", resolution=resolution)


def with_spark(file: str, resolution: float | None = None) -> Callable[[], object]:
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder: Any = SparkSession.builder
    spark = builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "4g")
    session = spark.getOrCreate()
    return lambda: tc.read(session.read.parquet(file), "p", "y", resolution=resolution)


ENGINES: dict[str, Callable[[str], Callable[[], object]]] = {
    "scan": scan,
    "packed sort": packed_sort,
    "duckdb": with_duckdb,
    "duckdb, exact": with_duckdb_exact,
    "duckdb relation": with_duckdb_relation,
    "polars": with_polars,
    "pyarrow": with_pyarrow,
    "pandas": with_pandas,
    "dask": with_dask,
    "dask, 2^-16": partial(with_dask, resolution=2**-16),
    "spark": with_spark,
    "spark, 2^-16": partial(with_spark, resolution=2**-16),
}


YARDSTICKS = ("scan", "packed sort")
ROUNDS, LONG = 3, 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=7, metavar="K", help="10^K rows (default 7)")
    parser.add_argument("--engines", nargs="+", choices=[*ENGINES][2:], default=[*ENGINES][2:])
    parser.add_argument("--folder", help="where the files go (a temporary folder)")
    parser.add_argument("--work", nargs=3, metavar=("ENGINE", "SMALL", "LARGE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(*options.work)
        return
    console = Console(width=120)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for shape in ("rounded", "continuous"):
            small, large = write(folder, shape, 10**4), write(folder, shape, 10**options.rows)
            size = os.path.getsize(large) / 1e6
            table = Table(title=f"10^{options.rows} rows, {shape} predictions, {size:,.0f} MB of Parquet")
            headers = ("seconds", "CPU seconds", "peak MB", "× scan", "CPU × scan", "× sort", "CPU × sort", "values")
            table.add_column("engine")
            for header in headers:
                table.add_column(header, justify="right")
            found = compared([*YARDSTICKS, *options.engines], small, large)
            for engine, figures in found.items():
                if not figures:
                    table.add_row(engine, "failed")
                    continue
                ratios = [figures[time] / found[one][time] for one in YARDSTICKS for time in ("seconds", "cpu")]
                table.add_row(
                    engine,
                    f"{figures['seconds']:.2f}",
                    f"{figures['cpu']:.2f}",
                    f"{figures['peak']:,.0f}",
                    *(f"{ratio:.1f}" for ratio in ratios),
                    f"{figures['values']:,.0f}" if figures["values"] else "",
                )
            console.print(table)


def write(folder: str, shape: str, rows: int) -> str:
    """A file of overconfident predictions; rounded ones have four decimals, as scores in a data base often do."""
    import duckdb

    file = str(Path(folder) / f"{shape}_{rows}.parquet")
    p = "random()" if shape == "continuous" else "round(random(), 4)"
    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute("SET memory_limit = '2GB'")
        connection.execute(
            f"COPY (SELECT p, (random() < p * p)::UTINYINT AS y FROM (SELECT {p} AS p FROM range({rows}))) "
            f"TO '{file}' (FORMAT parquet)"
        )
    return file


def compared(engines: list[str], small: str, large: str) -> dict[str, dict[str, float]]:
    """The figures of each engine, from several rounds; none where it failed."""
    rounds: dict[str, list[dict[str, float]]] = {engine: [] for engine in engines}
    for _ in range(ROUNDS):
        for engine, found in rounds.items():
            if not found or 0 < found[0].get("seconds", 0.0) <= LONG:
                found.append(measured(engine, small, large))
    return {
        engine: {name: (max if name == "peak" else min)(one[name] for one in found if one) for name in found[0]}
        for engine, found in rounds.items()
    }


def measured(engine: str, small: str, large: str) -> dict[str, float]:
    """What the engine's process prints; nothing if it failed and said so itself."""
    command = [sys.executable, "-m", "benchmarks.engines", "--work", engine, small, large]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return {} if done.returncode else json.loads(done.stdout.splitlines()[-1])


def work(engine: str, small: str, large: str) -> None:
    ENGINES[engine](small)()
    run = ENGINES[engine](large)
    runs: list[tuple[float, float]] = []
    values, start = 0, time.perf_counter()
    while len(runs) < 10 and time.perf_counter() - start < LONG:
        begin, before = time.perf_counter(), used()[0]
        result = run()
        values = len(result) if isinstance(result, tc.Predictor) else 0
        del result
        runs.append((used()[0] - before, time.perf_counter() - begin))
    cpu, seconds = map(min, zip(*runs, strict=True))
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": used()[1], "values": values}))


def used() -> tuple[float, float]:
    """CPU seconds so far, and the sum of peaks of memory in megabytes, of this process and all below it."""
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
    family = {os.getpid()}
    while grown := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= grown
    cpu, peak = 0.0, 0.0
    for pid in family:
        with suppress(OSError):
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            ticks = int(stat[11]) + int(stat[12])
            cpu += time.process_time() if pid == os.getpid() else ticks / os.sysconf("SC_CLK_TCK")
            peak += sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024  # the dead have none
    return cpu, peak


if __name__ == "__main__":
    main()
