"""The cost of monitoring per row, per snapshot and per saved state, and the delay of the alarm.

    python -m benchmarks.monitor

Rows are learnt one at a time (plain Python), in batches (compiled), and from a CSV file through `watch`.  The unit is
the work that no monitor can avoid: `float` on the two fields of a line, split in Python.  A snapshot is measured in
sorts of the window; the floors are most of it.  Compare the ratios, which are from the same run.

The delay is the number of rows from the failure of a stream to the alarm, the median over streams.  It is the same on
every machine.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.timing import seconds
from trustcal.monitoring import Monitor, watch

FloatArray = NDArray[np.float64]

STARTS = (0, 1000, 10_000)
"""Number of calibrated rows before the failure."""


def feeding(table: Table) -> None:
    rng = np.random.default_rng(0)
    n = 200_000
    q = rng.beta(2, 5, n)
    y = rng.random(n) < q
    lines = [f"{a},{b}" for a, b in zip(q.tolist(), y.astype(int).tolist(), strict=True)]

    def split() -> None:
        for line in lines:
            a, b = line.split(",")
            float(a), float(b)

    def one_by_one() -> None:
        monitor = Monitor()
        for a, b in zip(q[:20_000].tolist(), y[:20_000].tolist(), strict=True):
            monitor.learn_one(a, b)

    def followed() -> None:
        watch(file, prediction="p", outcome="y", follow=False)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        file.write_text("p,y\n" + "\n".join(lines) + "\n")
        yardstick = seconds(split) / n
        for name, cost in (
            ("two floats from a line", yardstick),
            ("learn_one", seconds(one_by_one, repeat=3) / 20_000),
            ("learn_many", seconds(lambda: Monitor().learn_many(q, y)) / n),
            ("watch a CSV file", seconds(followed, repeat=3) / n),
        ):
            table.add_row("a row", name, f"{1 / cost:,.0f} rows/s", f"{cost / yardstick:.2f} × two floats from a line")
    table.add_section()


def looking(table: Table) -> None:
    rng = np.random.default_rng(1)
    for window in (100, 1000, 10_000, 100_000):
        q = rng.beta(2, 5, window)
        y = rng.random(window) < q
        monitor = Monitor(window=window)
        monitor.learn_many(q, y)
        sort = seconds(lambda q=q: np.sort(q))  # type: ignore[misc]
        for name, cost in (
            ("measures", seconds(lambda monitor=monitor: monitor.current(draws=0))),  # type: ignore[misc]
            ("measures and floors", seconds(lambda monitor=monitor: monitor.current(), repeat=2)),  # type: ignore[misc]
            ("to_json", seconds(monitor.to_json)),
        ):
            ratio = f"{cost / sort:,.0f} × np.sort of the window"
            table.add_row(f"a snapshot of {window:,} rows", name, f"{1000 * cost:,.2f} ms", ratio)
        table.add_section()


def right(q: FloatArray) -> FloatArray:
    return q


def half_the_odds(q: FloatArray) -> FloatArray:
    return q / (2 - q)


def three_quarters_of_the_odds(q: FloatArray) -> FloatArray:
    return 3 * q / (4 - q)


def too_extreme(q: FloatArray) -> FloatArray:
    """The true log odds are half of those predicted."""
    return 1 / (1 + np.sqrt((1 - q) / q))


def high_ones_wrong(q: FloatArray) -> FloatArray:
    """Predictions above 1/2, one in nine, come true half as often."""
    return np.where(q > 0.5, q / 2, q)


FAILURES = (half_the_odds, three_quarters_of_the_odds, too_extreme, high_ones_wrong, right)


def detecting(table: Table, streams: int = 25, rows: int = 20_000) -> None:
    for truth in FAILURES:
        delays = [[_delay(truth, after, rows, seed) for seed in range(streams)] for after in STARTS]
        medians = [f"{np.median(found):,.0f}" if np.isfinite(np.median(found)) else "never" for found in delays]
        table.add_row(truth.__name__.replace("_", " "), *medians)


def _delay(truth: Callable[[FloatArray], FloatArray], after: int, rows: int, seed: int) -> float:
    """Rows from the failure to the alarm; infinite if there is none, or if it is before the failure."""
    rng = np.random.default_rng(seed)
    q = rng.beta(2, 5, after + rows)
    chance = np.concatenate([q[:after], truth(q[after:])])
    monitor = Monitor()
    monitor.learn_many(q, rng.random(len(q)) < chance)
    return np.inf if monitor.alarmed_at is None or monitor.alarmed_at <= after else monitor.alarmed_at - after


def main() -> None:
    table = Table(title="The cost of monitoring")
    for header in ("for", "what", "cost", "ratio"):
        table.add_column(header, justify="left" if header in ("for", "what") else "right")
    feeding(table)
    looking(table)
    Console(width=110).print(table)
    soon = Table(title="Rows until the alarm, median of 25 streams (window 1000, alarm rate 0.01)")
    soon.add_column("failure")
    for after in STARTS:
        soon.add_column(f"after {after:,} calibrated rows" if after else "from the start", justify="right")
    detecting(soon)
    Console(width=110).print(soon)


if __name__ == "__main__":
    main()
