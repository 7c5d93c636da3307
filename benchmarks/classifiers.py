"""Do Recalibrated and TrustedClassifier earn less than the plain classifier, or than scikit-learn's recalibration?

python -m benchmarks.classifiers                          # or: --seeds 5, --data 3

Real data sets that ship inside packages (benchmarks/datasets.py); naive Bayes; half of the rows, at most 4,000, are
learned from and the others judge.  The payoffs are wait (0, 0) and act (-1, 3).  For every data set the mean payoff
over the seeds, and the difference to the better of the plain classifier and CalibratedClassifierCV (sigmoid and
isotonic), with its standard error over seeds.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.calibration import CalibratedClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import RealTable, real_tables
from trustcal.decisions import DecisionProblem
from trustcal.estimators import Recalibrated, TrustedClassifier

PAYOFF = [[0, 0], [-1, 3]]
PROBLEM = DecisionProblem(PAYOFF, ["wait", "act"])
MOST = 4000
PLAIN = ("plain", "sigmoid", "isotonic")

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "plain": GaussianNB,
    "sigmoid": lambda: CalibratedClassifierCV(GaussianNB(), method="sigmoid"),
    "isotonic": lambda: CalibratedClassifierCV(GaussianNB(), method="isotonic"),
    "Recalibrated": lambda: Recalibrated(GaussianNB(), PAYOFF, keep_back=0),
    "Recalibrated, certified": lambda: Recalibrated(GaussianNB(), PAYOFF),
    "TrustedClassifier": lambda: TrustedClassifier(GaussianNB(), PAYOFF, random_state=0),
}


def earned(table: RealTable, seeds: int) -> dict[str, NDArray[np.float64]]:
    """The mean payoff of each classifier, as a share of the payoff range, for each seed."""
    found: dict[str, list[float]] = {name: [] for name in CLASSIFIERS}
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(table.y))
        half = min(len(order) // 2, MOST)
        learn, judge = order[:half], order[half : half + 2 * MOST]
        scale = StandardScaler().fit(table.x[learn])
        x, new = scale.transform(table.x[learn]), scale.transform(table.x[judge])
        for name, make in CLASSIFIERS.items():
            p = make().fit(x, table.y[learn]).predict_proba(new)[:, 1]
            found[name].append(float(PROBLEM.score(p, table.y[judge]).mean() / PROBLEM.stakes))
    return {name: np.array(values) for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, metavar="N", help="splits of each data set (default 20)")
    parser.add_argument("--data", type=int, default=100, metavar="N", help="at most so many data sets")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = Table(title=f"Mean payoff, % of the range; {options.seeds} seeds")
    for header in ("data", *CLASSIFIERS, *(f"{name} − best peer" for name in list(CLASSIFIERS)[3:])):
        table.add_column(header, justify="left" if header == "data" else "right")
    for data in list(real_tables())[: options.data]:
        found = earned(data, options.seeds)
        best = max(PLAIN, key=lambda name: float(found[name].mean()))
        cells = [f"{100 * values.mean():.2f}" for values in found.values()]
        for name in list(CLASSIFIERS)[3:]:
            gap = 100 * (found[name] - found[best])
            cells.append(f"{gap.mean():+.2f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.2f}")
        table.add_row(data.name, *cells)
    Console(width=170).print(table)


if __name__ == "__main__":
    main()
