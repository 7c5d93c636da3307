"""Is the recommended remedy as good as the best, and never worse than none, on real predictions?

python -m benchmarks.remedies                     # or: --splits 3, --seeds 5, --values 6 for the cost at 10^6 values

Every data set ships inside a package (benchmarks/datasets.py).  Predictions are out of fold.  A remedy is chosen and
fitted on one half of the rows and judged on the other, by Brier score and by the payoffs wait (0, 0) and act (-1, 3).
Tables with times are streams too: a model is fitted to the first third of the rows and predicts the others, and a
remedy is learned from the rows before a cut and judged on those after.
A method is within noise of the best if the paired difference is at most two standard errors; it is worse than none if
the difference to none is more than two.  "best" is chosen with hindsight in each split, so that even the one method
with the least mean loss over all splits of a data set ("best over all splits") is not always within noise of it.
Recalibrators of scikit-learn, and of betacal, venn_abers and netcal where they are installed, are fitted to the same
rows.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import real_tables
from benchmarks.timing import seconds
from trustcal.decisions import DecisionProblem
from trustcal.measures.monotone import monotone_cdl
from trustcal.predictor import Predictor
from trustcal.remedies import choose, fit
from trustcal.remedies.methods import METHODS

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Fitted = Callable[[FloatArray], FloatArray]
PROBLEM = DecisionProblem([[0, 0], [-1, 3]], ["wait", "act"])
MODELS = {
    "Bayes": GaussianNB(),
    "forest": RandomForestClassifier(100, min_samples_leaf=2, random_state=0),
    "boosted": GradientBoostingClassifier(n_estimators=100, max_depth=4, random_state=0),
}


@final
@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of one model on rows of one table that it was not fitted to."""

    name: str
    y: BoolArray
    p: FloatArray


def predictions() -> Iterator[Predictions]:
    """Naive Bayes, which is overconfident, on every table, and in turn a forest or boosted trees."""
    for index, table in enumerate(real_tables()):
        x = StandardScaler().fit_transform(table.x)
        for name in ("Bayes", ("forest", "boosted")[index % 2]):
            p = cross_val_predict(clone(MODELS[name]), x, table.y, cv=5, method="predict_proba")[:, 1]
            yield Predictions(f"{table.name}, {name}", table.y, p)
    census = np.genfromtxt(
        str(files("trustcal") / "examples" / "census_income.csv"), delimiter=",", names=True, usecols=(0, 1)
    )
    yield Predictions("census, Bayes", census["outcome"] > 0, census["prediction"])


def streams() -> Iterator[Predictions]:
    """Every table with times, in time order: what models say that were fitted to its first third.

    Rows of the same time (a year) have no order of their own, so they are shuffled: some files are sorted by outcome.
    """
    for table in real_tables():
        if table.time is None:
            continue
        order = np.lexsort((np.random.default_rng(0).random(len(table.y)), table.time))
        first, later = np.split(order, [len(order) // 3])
        scale = StandardScaler().fit(table.x[first])
        for name, model in MODELS.items():
            fitted = clone(model).fit(scale.transform(table.x[first]), table.y[first])
            p = fitted.predict_proba(scale.transform(table.x[later]))[:, 1]
            yield Predictions(f"{table.name}, {name}", table.y[later], p)


def others(y: BoolArray, p: FloatArray) -> dict[str, Fitted]:
    """Recalibrators of other packages, fitted to rows."""

    def inside(q: FloatArray) -> FloatArray:
        return np.clip(q, 1e-15, 1 - 1e-15)

    sigmoid = LogisticRegression(C=np.inf).fit(p[:, None], y)
    made: dict[str, Fitted] = {
        "scikit-learn sigmoid": lambda q: np.asarray(sigmoid.predict_proba(q[:, None])[:, 1]),
        "scikit-learn isotonic": IsotonicRegression(out_of_bounds="clip").fit(p, y).predict,
    }
    if betacal := _imported("betacal"):
        beta = betacal.BetaCalibration("abm").fit(inside(p)[:, None], y)
        made["betacal"] = lambda q: np.asarray(beta.predict(inside(q)[:, None]))
    if venn_abers := _imported("venn_abers"):
        abers = venn_abers.VennAbers()
        abers.fit(np.column_stack([1 - p, p]), y)
        made["venn_abers"] = lambda q: np.asarray(abers.predict_proba(np.column_stack([1 - q, q]))[0][:, 1])
    for home, kind in (
        ("scaling", "LogisticCalibration"),
        ("scaling", "BetaCalibration"),
        ("binning", "HistogramBinning"),
    ):
        if netcal := _imported(f"netcal.{home}"):
            model = getattr(netcal, kind)().fit(inside(p), y.astype(int))
            made[f"netcal {kind}"] = lambda q, model=model: np.asarray(model.transform(inside(q))).ravel()  # type: ignore[misc]
    return made


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def losses(y: BoolArray, p: FloatArray, payoff: bool) -> FloatArray:
    """What each row loses: minus the payoff as a share of the stakes, or the Brier score."""
    return -PROBLEM.score(p, y) / PROBLEM.stakes if payoff else (p - y) ** 2


def z_score(difference: FloatArray) -> float:
    """The mean in standard errors."""
    error = difference.std() / np.sqrt(len(difference))
    return float(difference.mean() / error) if error > 0 else 0.0


@final
@dataclass
class Tallied:
    """What a method did over splits."""

    loss: list[float] = field(default_factory=list)
    decision_loss: list[float] = field(default_factory=list)
    within: int = 0
    worse: int = 0


def halves(rows: Predictions, splits: int, ordered: bool) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The rows to learn from and those to judge by: random halves, or before and after cuts in time."""
    if ordered:
        order = np.arange(len(rows.y))
        for cut in np.linspace(0.3, 0.75, splits):
            at = int(cut * len(order))
            yield order[:at], order[at : at + len(order) // 4]
        return
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(rows.y))
        yield order[: len(order) // 2], order[len(order) // 2 :]


def judged(rows: Predictions, splits: int, payoff: bool, ordered: bool) -> tuple[dict[str, Tallied], Counter[str]]:
    """Every method, the recommended one and the best of ours, on rows that they have not seen."""
    found: dict[str, Tallied] = {}
    names: Counter[str] = Counter()
    problem = PROBLEM if payoff else None
    usable = [name for name, method in METHODS.items() if payoff or not method.needs_payoffs]
    for learn, judge in halves(rows, splits, ordered):
        y, p, new = rows.y[learn], rows.p[learn], rows.p[judge]
        order = np.arange(len(learn)) if ordered else None
        chosen = choose(y, p, payoff=problem, order=order, keep_back=0).recommended
        names[chosen] += 1
        said = {name: fit(name, y, p, payoff=problem).apply(new) for name in usable}
        said |= {name: fitted(new) for name, fitted in others(y, p).items()}
        lost = {name: losses(rows.y[judge], after, payoff) for name, after in said.items()}
        best = min(usable, key=lambda name: lost[name].mean())
        for name, method in {**dict(zip(lost, lost, strict=True)), "recommended": chosen, "best": best}.items():
            tallied = found.setdefault(name, Tallied())
            tallied.loss.append(float(lost[method].mean()))
            tallied.decision_loss.append(monotone_cdl(rows.y[judge], np.clip(said[method], 0, 1)))
            tallied.within += z_score(lost[method] - lost[best]) <= 2
            tallied.worse += z_score(lost[method] - lost["none"]) > 2
    found["best over all splits"] = min((found[name] for name in usable), key=lambda one: float(np.mean(one.loss)))
    return found, names


def seeds_agree(rows: Predictions, seeds: int) -> int:
    """How many of so many seeds give the commonest recommendation."""
    advice = Counter(choose(rows.y, rows.p, keep_back=0, rng=seed).recommended for seed in range(seeds))
    return advice.most_common(1)[0][1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10, metavar="N", help="halves for each data set (default 10)")
    parser.add_argument("--seeds", type=int, default=0, metavar="N", help="seeds for each data set (default 0: skip)")
    parser.add_argument("--values", type=int, default=0, metavar="K", help="cost of a choice at 10^K values")
    parser.add_argument("--criterion", choices=("Brier", "payoff", "both"), default="both")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    console = Console(width=150)
    rows = list(predictions()) if options.splits or options.seeds else []
    timed = list(streams()) if options.splits else []
    for payoff in (False, True) if options.splits else ():
        if options.criterion in ("both", "payoff" if payoff else "Brier"):
            _report(console, rows, options.splits, payoff, ordered=False)
            _report(console, timed, options.splits, payoff, ordered=True)
    if options.seeds:
        agreed = {one.name: seeds_agree(one, options.seeds) for one in rows}
        for name, count in agreed.items():
            console.print(f"{name}: {count} of {options.seeds} seeds agree")
        console.print(f"{sum(count == options.seeds for count in agreed.values())} of {len(agreed)} agree on all seeds")
    if options.values:
        rng = np.random.default_rng(0)
        truth = rng.beta(1.2, 2.0, 10**options.values)
        y, p = rng.random(len(truth)) < truth, truth**2 / (truth**2 + (1 - truth) ** 2)
        q = Predictor.from_samples(y, p)
        spent, sort = seconds(lambda: choose(q), repeat=2), seconds(lambda: np.sort(p))
        console.print(f"{len(truth):,} values: {spent:.1f} s, {spent / sort:.0f} × np.sort")


def _report(console: Console, rows: list[Predictions], splits: int, payoff: bool, ordered: bool) -> None:
    """A line for each data set, then a line for each method over all of them."""
    title = "Payoff lost, % of the range" if payoff else "Brier score, %"
    table = Table(title=f"{title}; {splits} {'cuts in time' if ordered else 'random halves'} each")
    for header in ("data", "rows", "none", "recommended", "best", "decision loss", "within", "worse", "recommended"):
        table.add_column(header, justify="left" if header == "data" else "right")
    total: dict[str, Tallied] = {}
    for one in rows:
        found, names = judged(one, splits, payoff, ordered)
        for name, tallied in found.items():
            summed = total.setdefault(name, Tallied())
            summed.loss += (np.array(tallied.loss) - np.array(found["none"].loss)).tolist()
            summed.decision_loss += tallied.decision_loss
            summed.within += tallied.within
            summed.worse += tallied.worse
        means = [f"{100 * np.mean(found[name].loss):.2f}" for name in ("none", "recommended", "best")]
        change = " → ".join(f"{100 * np.mean(found[name].decision_loss):.1f}" for name in ("none", "recommended"))
        advice = ", ".join(f"{method} {count}" for method, count in names.most_common(3))
        shown = found["recommended"]
        table.add_row(one.name, str(len(one.y)), *means, change, str(shown.within), str(shown.worse), advice)
    console.print(table)
    console.print(_by_method(total, splits * len(rows)))


def _by_method(total: dict[str, Tallied], splits: int) -> Table:
    table = Table(title=f"All {splits} splits")
    for header in (
        "method",
        "mean gain over none, %",
        "decision loss, %",
        "within noise of the best",
        "worse than none",
    ):
        table.add_column(header, justify="left" if header == "method" else "right")
    for name in sorted(total, key=lambda name: float(np.mean(total[name].loss))):
        one = total[name]
        means = f"{-100 * np.mean(one.loss):.3f}", f"{100 * np.mean(one.decision_loss):.2f}"
        table.add_row(name, *means, f"{one.within} ({100 * one.within / splits:.0f} %)", str(one.worse))
    return table


if __name__ == "__main__":
    main()
