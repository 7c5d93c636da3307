"""What do noise and recalibration do to real predictions, and what does comparing them cost?

python -m benchmarks.comparing                                  # or: --values 6 for 10^6

Prints the comparison of the census demo and of a synthetic overconfident model, then the time of a comparison as a
ratio to sorting as many predictions.
"""

from __future__ import annotations

import argparse
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import expit, logit

from benchmarks.timing import seconds
from trustcal.predictor import Predictor
from trustcal.reading import read
from trustcal.remedies import compare


def overconfident(n: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Outcomes, and predictions with twice the logits that they should have."""
    truth = rng.beta(1.2, 2.0, n)
    return rng.random(n) < truth, np.asarray(expit(2 * logit(truth)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", type=int, default=5, metavar="K", help="up to 10^K values (default 5)")
    most = parser.parse_args().values
    census = read(str(files("trustcal") / "examples" / "census_income.csv"), prediction="prediction", outcome="outcome")
    assert isinstance(census, Predictor)
    print(f"Census income\n\n{compare(census, rng=0)}\n")
    rng = np.random.default_rng(0)
    print(f"A synthetic overconfident model\n\n{compare(*overconfident(20_000, rng), rng=0)}\n")
    table = Table(title="Comparing, five folds")
    for header in ("distinct values", "seconds", "× np.sort"):
        table.add_column(header, justify="right")
    for n in (10**k for k in range(4, most + 1)):
        y, p = overconfident(n, rng)
        q = Predictor.from_samples(y, p)
        spent, sort = seconds(lambda q=q: compare(q, rng=0), repeat=2), seconds(lambda p=p: np.sort(p))  # type: ignore[misc]
        table.add_row(f"{n:,}", f"{spent:.2f}", f"{spent / sort:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
