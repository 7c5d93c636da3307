"""What do a predictor and the exact decision measures cost, in sorts of the same array?

    make bench                                                  # or: python -m benchmarks.decision --most 6

Continuous predictions (every value its own) and predictions rounded to three decimals, 10^4 to 10^7 rows.  "all" is
everything at once: rows to predictor, ECE, CDL with its witness, and U-calibration.  Beside them peers' *binned* ECE,
another and simpler quantity, as a yardstick.  Trust the ratios, which come from the same run, not the seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

import trustcal as tc
from benchmarks.timing import peak_megabytes, seconds


def ours(y: np.ndarray, p: np.ndarray) -> Iterator[tuple[str, Callable[[], object]]]:
    def everything() -> None:
        fresh = tc.Predictor.from_samples(y, p)
        tc.ece(fresh), tc.cdl_witness(fresh), tc.ucal(fresh)

    q = tc.Predictor.from_samples(y, p)
    yield "Predictor.from_samples", lambda: tc.Predictor.from_samples(y, p)
    yield "ece", lambda: tc.ece(q)
    yield "cdl with witness", lambda: tc.cdl_witness(q)
    yield "ucal", lambda: tc.ucal(q)
    yield "all", everything


def peers(y: np.ndarray, p: np.ndarray) -> Iterator[tuple[str, Callable[[], object]]]:
    import calibration
    import pycalib.metrics
    import relplot.metrics

    label = y.astype(int)
    yield "relplot: binned ECE", lambda: relplot.metrics.binnedECE(p, label)
    yield "pycalib: binned ECE", lambda: pycalib.metrics.binary_ECE(label, p)
    yield "uncertainty-calibration: binned ECE", lambda: calibration.get_ece(p, label)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=7, metavar="K", help="up to 10^K rows (default 7)")
    most = parser.parse_args().most
    rng = np.random.default_rng(0)
    table = Table(title="Exact decision measures, in sorts of the same array")
    for header in ("rows", "predictions", "what", "seconds", "× np.sort", "× at n/10", "peak MB"):
        table.add_column(header, justify="left" if header in ("predictions", "what") else "right")
    before: dict[tuple[str, str], float] = {}
    for n in (10**k for k in range(4, most + 1)):
        continuous = rng.beta(2, 5, n)
        y = rng.random(n) < continuous**1.3
        for kind, p in (("continuous", continuous), ("rounded", continuous.round(3))):
            sort = seconds(partial(np.sort, p))
            table.add_row(f"{n:,}", kind, "np.sort", f"{sort:.4f}", "1.0", "", "")
            for name, work in (*ours(y, p), *peers(y, p)):
                taken = seconds(work)
                growth = f"{taken / before[kind, name]:.1f}" if (kind, name) in before else ""
                before[kind, name] = taken
                table.add_row(
                    "", "", name, f"{taken:.4f}", f"{taken / sort:.1f}", growth, f"{peak_megabytes(work):.1f}"
                )
            table.add_section()
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
