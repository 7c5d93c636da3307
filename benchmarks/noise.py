"""How fast are noises drawn, beside the uniform numbers that each draw starts from?

python -m benchmarks.noise                                      # or: --values 7 for 10^7

Predictions are uniform on [0, 1]; the parameter is what eps = 0.001 asks for.  The goal for Laplace and uniform noise
is 20 million values per second and core.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.timing import seconds
from trustcal.noise import NOISES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", type=int, default=7, metavar="K", help="10^K values (default 7)")
    n = 10 ** parser.parse_args().values
    rng = np.random.default_rng(0)
    q = rng.random(n)
    table = Table(title=f"Drawing {n:,} values, one core")
    for header in ("noise", "million values / s", "× rng.random"):
        table.add_column(header, justify="left" if header == "noise" else "right")
    uniforms = seconds(lambda: rng.random(n))
    table.add_row("rng.random", f"{n / uniforms / 1e6:.0f}", "1.0")
    for kind in NOISES.values():
        noise = kind.for_distance(0.001)
        spent = seconds(lambda noise=noise: noise.sample(q, rng))  # type: ignore[misc]
        table.add_row(kind.__name__, f"{n / spent / 1e6:.0f}", f"{spent / uniforms:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
