"""Do verdicts depend on the sample?  Random halves of the census data, audited one by one.

python -m benchmarks.stability                                  # or: --splits 20

The goals: the same state in at least 95 % of the halves; the estimates of the headline loss of the two halves differ by
no more than their intervals allow, as often as they claim.
"""

from __future__ import annotations

import argparse
from collections import Counter
from importlib.resources import files
from math import sqrt

import numpy as np
from rich.console import Console
from rich.table import Table

import trustcal as tc
from trustcal.auditing import Verdict
from trustcal.reading import reading, rows_in_order


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=100, metavar="N", help="into two halves each (default 100)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the splits (default 0)")
    options = parser.parse_args()
    splits = options.splits
    census = files("trustcal") / "examples" / "census_income.csv"
    y, p = rows_in_order(str(census), reading(str(census)))
    whole = tc.audit(y, p)
    rng = np.random.default_rng(options.seed)
    states: Counter[str] = Counter()
    held = agreed = 0
    for split in range(splits):
        order = rng.permutation(len(y))
        one, two = (tc.audit(y[half], p[half], rng=split).verdict for half in np.array_split(order, 2))
        states.update([one.state, two.state])
        held += sum(_holds(half, whole.verdict.loss) for half in (one, two))
        agreed += _agree(one, two)
    table = Table(title=f"Verdicts on {2 * splits} random halves of the census data")
    table.add_column("what")
    table.add_column("share", justify="right")
    for state, count in states.most_common():
        table.add_row(f"state {state!r} (of all rows: {whole.verdict.state!r})", f"{count / (2 * splits):.1%}")
    table.add_row("interval of a half holds the estimate of all rows", f"{held / (2 * splits):.1%}")
    table.add_row("the two halves agree within the interval of their difference", f"{agreed / splits:.1%}")
    Console().print(table)


def _holds(half: Verdict, truth: float) -> bool:
    return half.lower is not None and half.upper is not None and half.lower <= truth <= half.upper


def _agree(one: Verdict, two: Verdict) -> bool:
    """Whether the difference of the estimates is within the interval of a difference of independent estimates."""
    low, high = sorted((one, two), key=lambda half: half.loss)
    if low.upper is None or high.lower is None:
        return False
    return high.loss - low.loss <= sqrt((low.upper - low.loss) ** 2 + (high.loss - high.lower) ** 2)


if __name__ == "__main__":
    main()
