"""What does the exact law after noise cost, and how does that grow with the number of values?

python -m benchmarks.after_noise                                # or: --values 7 for 10^7

Continuous overconfident predictions; noise as eps = 0.001 asks for.  ECE, profile at 101 thresholds and CDL of the law
without a grid, and the law on 1,000 cells, beside np.sort of as many numbers.  The goal is seconds for 10^6 values.
A second table has the CPU time of the law and its CDL after noise of smaller and smaller scale, of 3,000 and of 20,000
values.  The goal is 2 s for each.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np
from rich.console import Console
from rich.table import Table

import trustcal as tc
from benchmarks.timing import peak_megabytes, seconds
from trustcal.noise import (
    NOISES,
    ClampedGaussian,
    ClampedLaplace,
    ClampedPlateau,
    Noise,
    TruncatedGaussian,
    TruncatedLaplace,
    UniformNoise,
)

SCALES = tuple(lead * 10.0**-k for k in range(1, 8) for lead in (1, 0.3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", type=int, default=6, metavar="K", help="10^K values (default 6)")
    most = parser.parse_args().values
    table = Table(title="The exact law after noise")
    for header in ("noise", "values", "ECE, profile, CDL: s", "× np.sort", "peak MB", "1,000 cells: s", "× np.sort"):
        table.add_column(header, justify="left" if header == "noise" else "right")
    for kind in NOISES.values():
        noise = kind.for_distance(0.001)
        if noise.grid_size() is not None:
            continue
        for k in range(most - 2, most + 1):
            rng = np.random.default_rng(0)
            p = rng.random(10**k)
            q = tc.Predictor.from_samples(rng.random(len(p)) < p**1.3, p)
            sort = seconds(lambda p=p: np.sort(p))  # type: ignore[misc]
            whole = seconds(lambda q=q, noise=noise: measured(q, noise), repeat=3)  # type: ignore[misc]
            cells = seconds(lambda q=q, noise=noise: tc.smooth(q, noise, 1000), repeat=3)  # type: ignore[misc]
            peak = peak_megabytes(lambda q=q, noise=noise: measured(q, noise))  # type: ignore[misc]
            figures = (f"{whole:.2f}", f"{whole / sort:.0f}", f"{peak:,.0f}", f"{cells:.2f}", f"{cells / sort:.0f}")
            table.add_row(kind.__name__, f"{len(q):,}", *figures)
    Console(width=120).print(table)
    small = Table("noise", "values", *(f"{scale:g}" for scale in SCALES), title="CDL by scale: s of CPU")
    for values in (3000, 20_000):
        rng = np.random.default_rng(0)
        p = rng.random(values)
        q = tc.Predictor.from_samples(rng.random(values) < p**2, p)
        for shape in (
            UniformNoise,
            ClampedLaplace,
            TruncatedLaplace,
            ClampedGaussian,
            TruncatedGaussian,
            ClampedPlateau,
        ):
            spent = [cpu_seconds(q, shape(scale)) for scale in SCALES]
            small.add_row(shape.__name__, f"{values:,}", *(f"{one:.2f}" for one in spent))
    Console(width=140).print(small)


def cpu_seconds(q: tc.Predictor, noise: Noise) -> float:
    """Of the law without a grid and its CDL, from the beginning."""
    start = process_time()
    tc.cdl(tc.smooth(q, noise))
    return process_time() - start


def measured(q: tc.Predictor, noise: Noise) -> None:
    after = tc.smooth(q, noise)
    assert isinstance(after, tc.SmoothedPredictor)
    after.ece()
    after.profile(np.linspace(0, 1, 101))
    after.cdl()


if __name__ == "__main__":
    main()
