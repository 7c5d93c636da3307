"""What do the smooth measures cost, in sorts of the same array, and how tight are their certificates?

    make bench                                                  # or: python -m benchmarks.smooth --most 6

n = 10^4 to 10^7 rows of six shapes; each row of the table is measured from a ready `Predictor`, witness included.
Below 20,000 values kernels run as plain Python, unless they have been compiled before: that is the first block.
Beside them HiGHS on the same linear programs, for as many values as it finishes in seconds.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

import trustcal as tc
from benchmarks.shapes import shapes
from benchmarks.timing import peak_megabytes, seconds
from tests.oracles import dtc_by_linear_programming, smcal_by_linear_programming


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=7, metavar="K", help="up to 10^K rows (default 7)")
    most = parser.parse_args().most
    console = Console(width=130)
    console.print(ours(most))
    console.print(highs())


def ours(most: int) -> Table:
    table = Table(title="Smooth measures, in sorts of the same array")
    for header in ("rows", "shape", "what", "seconds", "× np.sort", "× at n/10", "width", "shots", "peak MB"):
        table.add_column(header, justify="left" if header in ("shape", "what") else "right")
    before: dict[tuple[str, str], float] = {}
    for n in (10**k for k in range(4, most + 1)):
        for shape, p, y in shapes(n, np.random.default_rng(0)):
            sort = seconds(partial(np.sort, p))
            q = tc.Predictor.from_samples(y, p)
            smcal, dtc = tc.smcal_witness(q), tc.dtc_witness(q)  # also compiles, once
            works = (
                ("smcal", partial(tc.smcal_witness, q), f"{smcal.upper - smcal.lower:.0e}", ""),
                ("dtc", partial(tc.dtc_witness, q), f"{dtc.upper - dtc.lower:.0e}", f"{dtc.shots}"),
                ("smece", partial(tc.smece, q), "1e-09", ""),
            )
            for name, work, width, shots in works:
                taken = seconds(work, repeat=3)
                growth = f"{taken / before[shape, name]:.1f}" if (shape, name) in before else ""
                before[shape, name] = taken
                lead = (f"{n:,}", shape) if name == "smcal" else ("", "")
                memory = f"{peak_megabytes(work):.1f}"
                table.add_row(*lead, name, f"{taken:.4f}", f"{taken / sort:.1f}", growth, width, shots, memory)
        table.add_section()
    return table


def highs() -> Table:
    table = Table(title="The same by linear programming (HiGHS), uniform miscalibrated")
    for header in ("values", "smcal LP, seconds", "× ours", "dtc LP, seconds", "× ours"):
        table.add_column(header, justify="right")
    for n in (100, 300, 1000, 10_000):
        _, p, y = list(shapes(n, np.random.default_rng(0)))[1]
        q = tc.Predictor.from_samples(y, p)
        smcal = seconds(partial(smcal_by_linear_programming, q), repeat=1)
        dtc = seconds(partial(dtc_by_linear_programming, q, q.p), repeat=1) if n <= 300 else None
        fast = seconds(partial(tc.smcal_witness, q)), seconds(partial(tc.dtc_witness, q))
        cells = [f"{n:,}"]
        for slow, quick in zip((smcal, dtc), fast, strict=True):
            cells += ["", ""] if slow is None else [f"{slow:.3f}", f"{slow / quick:.0f}"]
        table.add_row(*cells)
    return table


if __name__ == "__main__":
    main()
