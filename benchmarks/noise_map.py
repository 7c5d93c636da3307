"""The cost of noise inside an engine, and of a learned remedy, compared with reading and writing the same rows.

python -m benchmarks.noise_map                                  # or: --rows 8 for 10^8; --folder where there is room

The rows (id, prediction, outcome) are in a Parquet file.  Each line runs in a process of its own, so that peak memory
is its own.  Ratios compare CPU seconds with DuckDB's scan of the two columns (for maps), or with a copy of the file by
the same library (for copies): `trustcal fix` reads and writes Parquet by PyArrow.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from trustcal.noise import TruncatedLaplace
from trustcal.remedies import fit
from trustcal.rewriting import fix_file
from trustcal.rewriting.files import rewrite
from trustcal.rewriting.frames import perturb_frame
from trustcal.smoothing import perturb

NOISE = TruncatedLaplace.for_distance(0.001)
BY_ID: dict[str, Any] = {"prediction": "p", "noise": NOISE, "seed": 1, "row_id": "id"}


def scan(file: Path, _: Path) -> None:
    """DuckDB reads the two columns that the noise needs."""
    import duckdb

    duckdb.execute(f"SELECT sum(p), sum(id) FROM read_parquet('{file}')").fetchall()


def numpy_map(file: Path, _: Path) -> None:
    """DuckDB hands the columns over, numpy draws: everything in memory."""
    import duckdb

    with duckdb.connect() as connection:
        columns = connection.execute(f"SELECT id, p FROM read_parquet('{file}')").fetchnumpy()
    perturb(columns["p"], NOISE, ids=columns["id"], seed=1).sum()


def duckdb_map(file: Path, _: Path) -> None:
    """A sum of the drawn column."""
    import duckdb

    perturb_frame(duckdb.read_parquet(str(file)), **BY_ID).aggregate("sum(p_noised)").fetchall()


def polars_map(file: Path, _: Path) -> None:
    """A sum of the drawn column, streaming."""
    import polars as pl

    perturb_frame(pl.scan_parquet(file), **BY_ID).select(pl.col("p_noised").sum()).collect(engine="streaming")


def copy(file: Path, out: Path) -> None:
    """DuckDB copies the file."""
    import duckdb

    duckdb.sql(f"COPY (FROM read_parquet('{file}')) TO '{out}' (COMPRESSION zstd)")


def duckdb_file(file: Path, out: Path) -> None:
    """DuckDB copies the file with one more column."""
    import duckdb

    perturb_frame(duckdb.read_parquet(str(file)), **BY_ID).write_parquet(str(out), compression="zstd")


def polars_file(file: Path, out: Path) -> None:
    """Polars copies the file with one more column."""
    import polars as pl

    perturb_frame(pl.scan_parquet(file), **BY_ID).sink_parquet(out)


def arrow_copy(file: Path, out: Path) -> None:
    """PyArrow copies the file, batch by batch, with the options of `trustcal fix`."""
    import pyarrow.parquet as pq

    options = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 16}
    with pq.ParquetFile(file) as source, pq.ParquetWriter(out, source.schema_arrow, **options) as writer:
        for batch in source.iter_batches():
            writer.write_batch(batch)


def rewritten_file(file: Path, out: Path) -> None:
    """The file rewritten as `trustcal fix` does, in the order of its rows."""
    rewrite(file, out, prediction="p", draw=lambda q, ids: perturb(q, NOISE, ids=ids, seed=1), row_id="id")


def recalibrated_file(method: str, file: Path, out: Path) -> None:
    """`trustcal fix --remedy`, with a remedy learned from 10^5 rows."""
    rng = np.random.default_rng(0)
    p = rng.random(100_000)
    fix_file(file, out, prediction="p", remedy=fit(method, rng.random(100_000) < p**2, p))


WORK: dict[str, tuple[Callable[[Path, Path], None], Callable[[Path, Path], None]]] = {
    "DuckDB, scan": (scan, scan),
    "numpy, map": (numpy_map, scan),
    "DuckDB, map": (duckdb_map, scan),
    "Polars, map": (polars_map, scan),
    "DuckDB, copy": (copy, copy),
    "DuckDB, copy with noise": (duckdb_file, copy),
    "Polars, copy with noise": (polars_file, copy),
    "PyArrow, copy": (arrow_copy, arrow_copy),
    "fix, noise": (rewritten_file, arrow_copy),
    "fix, Platt": (partial(recalibrated_file, "Platt"), arrow_copy),
    "fix, isotonic": (partial(recalibrated_file, "isotonic"), arrow_copy),
    "fix, Venn–Abers": (partial(recalibrated_file, "Venn–Abers"), arrow_copy),
}
"""What is run, and what it is compared with."""


def measured(name: str, file: Path, out: Path) -> tuple[float, float, float]:
    """Seconds on the clock, seconds of processors, peak of memory in megabytes; once on a few rows to warm up."""
    work, _ = WORK[name]
    work(file.with_name("few.parquet"), out)
    begin, busy = time.perf_counter(), time.process_time()
    work(file, out)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return time.perf_counter() - begin, time.process_time() - busy, peak


def write_rows(file: Path, rows: int) -> None:
    import duckdb

    select = f"SELECT range AS id, random() AS p, random() < 0.3 AS y FROM range({rows})"
    duckdb.sql(f"COPY ({select}) TO '{file}' (COMPRESSION zstd)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=7, metavar="K", help="10^K rows (default 7)")
    parser.add_argument("--folder", type=Path, help="where to put the files (40 bytes per row)")
    arguments = parser.parse_args()
    n = 10**arguments.rows
    table = Table(title=f"{NOISE!r} on {n:,} rows of Parquet")
    for header in ("", "seconds", "CPU s", "million rows/s", "ratio", "peak MB"):
        table.add_column(header, justify="right" if header else "left")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        file = Path(folder) / "rows.parquet"
        context = multiprocessing.get_context("spawn")
        for name, rows in (("rows.parquet", n), ("few.parquet", 1000)):
            process = context.Process(target=write_rows, args=(Path(folder) / name, rows))
            process.start()
            process.join()
        spent: dict[Callable[[Path, Path], None], float] = {}
        for name, (work, against) in WORK.items():
            with context.Pool(1) as pool:
                clock, busy, peak = pool.apply(measured, (name, file, Path(folder) / "out.parquet"))
            spent[work] = busy
            ratio = busy / spent[against]
            table.add_row(name, f"{clock:.1f}", f"{busy:.1f}", f"{n / clock / 1e6:.1f}", f"{ratio:.1f}", f"{peak:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
