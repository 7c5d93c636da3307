"""Do Recalibrated and TrustedClassifier earn less than the plain classifier, or than scikit-learn's recalibration?

python -m benchmarks.classifiers                          # or: --seeds 5, --data 3

Real data sets that ship inside packages (benchmarks/datasets.py); naive Bayes; half of the rows, at most 4,000, are
learned from and the others judge.  The payoffs are wait (0, 0) and act (-1, 3).  For every data set the mean payoff
over the seeds, and the difference to the better of the plain classifier and CalibratedClassifierCV (sigmoid and
isotonic), with its standard error over seeds.  The last lines count the data sets on which a classifier is worse by
more than two standard errors, and those on which it is significantly worse: one-sided t-tests at 5 % over all data
sets together (Holm's correction).
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
from scipy.stats import ttest_1samp
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
    gaps: dict[str, list[NDArray[np.float64]]] = {name: [] for name in list(CLASSIFIERS)[3:]}
    for data in list(real_tables())[: options.data]:
        found = earned(data, options.seeds)
        best = max(PLAIN, key=lambda name: float(found[name].mean()))
        cells = [f"{100 * values.mean():.2f}" for values in found.values()]
        for name in list(CLASSIFIERS)[3:]:
            gap = 100 * (found[name] - found[best])
            gaps[name].append(gap)
            cells.append(f"{gap.mean():+.2f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.2f}")
        table.add_row(data.name, *cells)
    console = Console(width=170)
    console.print(table)
    for name, differences in gaps.items():
        below = sum(gap.mean() < -2 * gap.std(ddof=1) / np.sqrt(len(gap)) for gap in differences)
        told = f"worse by two standard errors on {below}, significantly on {significant(differences)}"
        console.print(f"{name}: {told}; {np.mean(differences):+.2f} on average")


def significant(differences: list[NDArray[np.float64]]) -> int:
    """On how many data sets the mean difference is below 0, at 5 % for all of them together (Holm 1979)."""
    p_values = sorted(
        float(ttest_1samp(gap, 0, alternative="less").pvalue) if gap.std() > 0 else float(gap.mean() >= 0)
        for gap in differences
    )
    count = 0
    while count < len(p_values) and p_values[count] <= 0.05 / (len(p_values) - count):
        count += 1
    return count


if __name__ == "__main__":
    main()
