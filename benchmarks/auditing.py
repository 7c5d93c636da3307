"""What does an audit cost: a million rows with a page and 1,000 resamples or in 10^4 groups, and a small file?

python -m benchmarks.auditing                                   # or: --rows 5 for 10^5; --small for small files only

The goals: under a minute for 10^6 continuous rows, page included; under 1.5 s of CPU for a CSV of 1,000 rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

import trustcal as tc
from benchmarks.timing import peak_megabytes, seconds

SMALL = (
    ("100",),
    ("1000",),
    ("5000",),
    ("1000", "--payoff", "PAYOFF"),
    ("1000", "--by", "group"),
    ("1000", "--html", "PAGE"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=6, metavar="K", help="10^K rows (default 6)")
    parser.add_argument("--small", action="store_true", help="small files only")
    options = parser.parse_args()
    if options.small:
        print_small()
        return
    rows = 10**options.rows
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
        parts = groups(y, p, rows // 100)
        for draws in (0, 40):
            spent = seconds(lambda draws=draws: tc.audit(y, p, groups=parts, draws=draws), repeat=1)  # type: ignore[misc]
            table.add_row(f"{rows // 100:,} groups, {draws} resamples", f"{spent:.1f}", f"{spent / sort:,.0f}", "")
    Console().print(table)
    print_small()


def print_small() -> None:
    """What small files take from the command line, as a new user runs it."""
    table = Table(title="trustcal audit of small files: seconds of CPU, imports included")
    for header in ("rows", "options", "least of 5", "median"):
        table.add_column(header, justify="left" if header == "options" else "right")
    with tempfile.TemporaryDirectory() as folder:
        payoff = Path(folder) / "payoff.csv"
        payoff.write_text("action,0,1\nwait,0,0\ntreat,-1,4\n")
        for rows, *options in SMALL:
            file = Path(folder) / f"{rows}.csv"
            file.write_text(rows_of_csv(int(rows)))
            places = {"PAYOFF": str(payoff), "PAGE": str(Path(folder) / "page.html")}
            spent = cpu_seconds([str(file), *(places.get(option, option) for option in options)])
            table.add_row(f"{int(rows):,}", " ".join(options), f"{min(spent):.2f}", f"{median(spent):.2f}")
    Console().print(table)


def rows_of_csv(count: int) -> str:
    """Continuous predictions, outcomes y ~ Bernoulli(p^1.3), and four groups."""
    rng = np.random.default_rng(1)
    p = rng.random(count)
    y, group = rng.random(count) < p**1.3, rng.integers(0, 4, count)
    lines = [f"{a!r},{int(b)},g{c}" for a, b, c in zip(p.tolist(), y, group, strict=True)]
    return "\n".join(["p,y,group", *lines])


def whole(y: np.ndarray, p: np.ndarray, draws: int, page: Path) -> None:
    tc.audit(tc.Predictor.from_samples(y, p), draws=draws, rng=0).to_html(page)


def groups(y: np.ndarray, p: np.ndarray, count: int) -> dict[str, tc.Predictor]:
    """As many groups of equal size."""
    parts = enumerate(zip(np.split(y, count), np.split(p, count), strict=True))
    return {str(name): tc.Predictor.from_samples(*rows) for name, rows in parts}


def cpu_seconds(arguments: list[str]) -> list[float]:
    """Of five processes of their own, after one that compiles, with bytecode kept on disk as after an install."""
    command = [sys.executable, "-m", "trustcal", "audit", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    spent = []
    for _ in range(6):
        before = os.times()
        subprocess.run(command, check=True, capture_output=True, env=environment)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return spent[1:]


if __name__ == "__main__":
    main()
