"""What does an audit cost: a million rows with a page and 1,000 resamples, and a small file from the command line?

python -m benchmarks.auditing                                   # or: --rows 5 for 10^5

The goals: under a minute for 10^6 continuous rows, page included; under 1.5 s of CPU for a small CSV.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import trustcal as tc
from benchmarks.timing import peak_megabytes, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=6, metavar="K", help="10^K rows (default 6)")
    rows = 10 ** parser.parse_args().rows
    rng = np.random.default_rng(0)
    p = rng.random(rows)
    y = rng.random(rows) < p**1.2
    sort = seconds(lambda: np.sort(p))
    table = Table(title=f"An audit of {rows:,} continuous rows")
    for header in ("what", "seconds", "× np.sort", "peak MB"):
        table.add_column(header, justify="left" if header == "what" else "right")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "audit.html"
        tc.audit(tc.Predictor.from_samples(y[:50_000], p[:50_000]), draws=2, rng=0).to_html(page)  # compiles
        for draws in (0, 200, 1000):
            spent = seconds(lambda draws=draws: whole(y, p, draws, page), repeat=1)  # type: ignore[misc]
            peak = peak_megabytes(lambda: whole(y, p, min(draws, 10), page))  # noqa: B023 - used before it changes
            table.add_row(f"page, {draws:,} resamples", f"{spent:.1f}", f"{spent / sort:,.0f}", f"{peak:,.0f}")
        small = Path(folder) / "small.csv"
        lines = [f"{q!r},{int(x)}" for q, x in zip(p[:500].tolist(), y[:500].tolist(), strict=True)]
        small.write_text("\n".join(["p,y", *lines]))
        table.add_row("trustcal audit, 500 rows of CSV", f"{cpu_seconds(small):.2f} (CPU)", "", "")
    Console().print(table)


def whole(y: np.ndarray, p: np.ndarray, draws: int, page: Path) -> None:
    tc.audit(tc.Predictor.from_samples(y, p), draws=draws, rng=0).to_html(page)


def cpu_seconds(file: Path) -> float:
    """Of a process of its own, the least of five: the first compiles, and others disturb the rest."""
    command = [sys.executable, "-m", "trustcal", "audit", str(file)]
    spent = []
    for _ in range(5):
        before = os.times()
        subprocess.run(command, check=True, capture_output=True)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(spent)


if __name__ == "__main__":
    main()
