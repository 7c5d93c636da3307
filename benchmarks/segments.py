"""Does the search find the segment that is hurt, and nothing where nobody is?  What does counting cost?

python -m benchmarks.segments planted                       # or: null; --populations 100 --first 0
python -m benchmarks.segments statistic                     # why the search tests bias, not the decision loss
python -m benchmarks.segments scale                         # or: --rows 10000000 --engine polars
python -m benchmarks.segments repair --populations 10       # needs the package mcgrad

Populations have 12 features with 5 levels of probability 0.1, 0.15, 0.2, 0.25 and 0.3.  Predictions are uniform, bell
shaped or mostly low, between 0.1 and 0.9.  In a planted population one segment has outcomes that are 0.1 more or less
frequent than predicted: two conditions (2 % of the rows), or three (1.9 %).  Goals: the segment is found first in at
least 95 of 100 planted populations of 10^5 rows, nothing in at least 95 of 100 calibrated ones; 10^7 rows with 8
features and depth 2 take at most 20 times as long as one grouping by all features in the same engine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

import trustcal as tc
from trustcal.reading import reading
from trustcal.reading.crosstab import crosstab
from trustcal.segmenting.conjunctions import families
from trustcal.segmenting.harm import criterion

LEVELS = (0.1, 0.15, 0.2, 0.25, 0.3)
"""The probabilities of the levels a to e."""
PLANTED = ({"f0": "a", "f1": "c"}, {"f2": "d", "f5": "d", "f9": "e"})
LAWS: tuple[Callable[[np.random.Generator, int], Any], ...] = (
    lambda rng, n: 0.1 + 0.8 * rng.random(n),
    lambda rng, n: 0.1 + 0.8 * rng.beta(4, 4, n),
    lambda rng, n: 0.1 + 0.8 * rng.beta(1, 4, n),
)


def population(
    seed: int, rows: int, wrong: float, features: int = 12, again: bool = False
) -> tuple[pa.Table, dict[str, str], str]:
    """A population, the conditions of its planted segment, and what was done; `again` draws other rows from it."""
    rng = np.random.default_rng([2027 if again else 2026, seed])
    names = np.array(list("abcde"))
    columns = {f"f{place}": names[rng.choice(5, rows, p=LEVELS)] for place in range(features)}
    p = LAWS[seed % 3](rng, rows)
    segment, sign = PLANTED[seed % 2], 1 if seed % 4 < 2 else -1
    inside = np.all([columns[name] == level for name, level in segment.items() if name in columns], axis=0)
    y = rng.random(rows) < p + sign * wrong * inside
    return pa.table({"prediction": p, "outcome": y, **columns}), segment, f"law {seed % 3}, {sign * wrong:+}"


def search(first: int, populations: int, rows: int, wrong: float) -> None:
    """Search populations, and count how often the right thing is found."""
    right = began = others = 0.0
    began = time.process_time()
    for seed in range(first, first + populations):
        table, segment, about = population(seed, rows, wrong)
        found = tc.segments(table, features=[f"f{place}" for place in range(12)], rng=seed)
        named = [{one.feature: one.level for one in each.conditions} for each in found.found]
        good = (named[0] == segment) if wrong and named else not wrong and not named
        others += len(named) > (1 if wrong else 0)
        right += good
        if not good:
            print(f"  {seed} ({about}): p = {found.p_value:.2f}, {[str(each) for each in found.found[:2]]}")
    spent = (time.process_time() - began) / populations
    what = "found first" if wrong else "nothing found"
    print(
        f"{what} in {right:.0f} of {populations} populations of {rows:,} rows ({first} to {first + populations - 1});"
    )
    print(f"something else found in {others:.0f}; {spent:.1f} s of CPU each.")


def statistic(first: int, populations: int, rows: int) -> None:
    """The planted segment by two statistics, beside the largest of all segments of a calibrated population.

    Both are standardised: the decision loss (monotone CDL) by its mean and spread in calibrated segments of the same
    size and law, the bias by its variance.  Two thirds of the rows choose, as in the search.
    """
    ours: dict[str, list[float]] = {"decision loss": [], "bias": []}
    largest: dict[str, list[float]] = {"decision loss": [], "bias": []}
    standard = [_standard(law, rows) for law in range(3)]
    for seed in range(first, first + populations):
        for wrong, found in ((0.1, ours), (0.0, largest)):
            table, segment, _ = population(seed, rows, wrong)
            p, y = table["prediction"].to_numpy(), table["outcome"].to_numpy()
            columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names[2:]}
            chosen = np.random.default_rng(seed).random(rows) < 2 / 3
            parts = [np.all([columns[name] == level for name, level in segment.items()], axis=0)]
            if not wrong:
                parts = [
                    (columns[one] == a) & (columns[other] == b)
                    for one, other in combinations(columns, 2)
                    for a in "abcde"
                    for b in "abcde"
                ]
            both = [_scores(y[part & chosen], p[part & chosen], standard[seed % 3]) for part in parts]
            for name, score in zip(found, np.max(both, axis=0).tolist(), strict=True):
                found[name].append(score)
    print(f"{populations} populations of {rows:,} rows; standardised statistics on the rows that choose")
    for name, planted in ours.items():
        critical = float(np.median(largest[name]))
        above = int(np.sum(np.array(planted) > critical))
        print(f"  {name:<14} planted segment {np.median(planted):5.1f} (smallest {min(planted):.1f}); ", end="")
        print(f"largest of {len(parts):,} calibrated ones {critical:.1f} (median); above it in {above} populations")


def _standard(law: int, rows: int) -> Any:
    """Sizes of segments, and mean and standard deviation of their decision loss if they are calibrated."""
    rng = np.random.default_rng(law)
    sizes = np.geomspace(100, rows, 10).astype(int)
    found = []
    for size in sizes:
        drawn = []
        for _ in range(100 if size < 10_000 else 25):
            p = LAWS[law](rng, size)
            drawn.append(tc.monotone_cdl(rng.random(size) < p, p))
        found.append((np.log(size), np.log(np.mean(drawn)), np.log(np.std(drawn))))
    return np.array(found).T


def _scores(y: Any, p: Any, standard: Any) -> tuple[float, float]:
    """The decision loss and the bias of a segment, standardised."""
    sizes, means, spreads = standard
    mean, spread = (np.exp(np.interp(np.log(len(p)), sizes, line)) for line in (means, spreads))
    bias = abs(float((y - p).sum())) / float(np.sqrt((p * (1 - p)).sum()))
    return (tc.monotone_cdl(y, p) - mean) / spread, bias


def scale(rows: int, engine: str) -> None:
    """The cost of counting and of the whole search, beside one grouping by all features."""
    drawn, _, _ = population(0, rows, 0.1, features=8)
    names = [f"f{place}" for place in range(8)]
    columns = reading(drawn).provenance.columns
    q = tc.read(drawn)
    if engine == "polars":
        import polars as pl

        source: Any = pl.from_arrow(drawn)

        def grouped() -> object:
            sums = [pl.len(), pl.col("prediction").sum(), pl.col("outcome").sum()]
            return source.lazy().group_by(names).agg(sums).collect(engine="streaming")

    else:
        import duckdb

        connection = duckdb.connect(config={"threads": "2"})
        connection.execute("CREATE TABLE rows AS FROM drawn")
        source = connection.sql("FROM rows")

        def grouped() -> object:
            sums = "count(*), sum(prediction), sum(outcome)"
            return connection.sql(f"SELECT {', '.join(names)}, {sums} FROM rows GROUP BY ALL").to_arrow_table()

    edges = criterion(q, None).edges

    def counted() -> object:
        found = crosstab(source, columns, names, edges, rows // 1000)
        columns_ = np.column_stack([found.rows, found.told, found.positive])
        return [family.sums(found, columns_) for family in families(found, 2, rows // 1000)]

    work = {
        f"one grouping by all features, {engine}": grouped,
        "counting all conjunctions of depth 2": counted,
        "the whole search, with 99 draws": lambda: tc.segments(source, features=names, depth=2),
    }
    base = 0.0
    print(f"{rows:,} rows, 8 features with 5 levels")
    for name, do in work.items():
        spent = min(_both(do) for _ in range(1 if "search" in name else 2))
        base = base or spent
        print(f"  {name:<45} {spent:8.2f} s of CPU  {spent / base:6.1f} times")


def repair(first: int, populations: int, rows: int) -> None:
    """Multicalibration on found segments beside MCGrad: losses on new rows beyond those of the true probabilities."""
    names = [f"f{place}" for place in range(12)]
    losses: dict[str, list[list[float]]] = {}
    spent: dict[str, float] = {}
    for seed in range(first, first + populations):
        (old, segment, _), (new, _, _) = (population(seed, rows, 0.1), population(seed, rows, 0.1, again=True))
        p, y = new["prediction"].to_numpy(), new["outcome"].to_numpy()
        inside = np.all([new[name].to_numpy(zero_copy_only=False) == level for name, level in segment.items()], axis=0)
        truth = p + (0.1 if seed % 4 < 2 else -0.1) * inside
        answers = {"none": p}
        for name, learn in {"segments": _ours, "MCGrad": _mcgrad}.items():
            began = time.process_time()
            answers[name] = learn(old, new, names)
            spent[name] = spent.get(name, 0.0) + time.process_time() - began
        for name, said in answers.items():
            beyond = (y - said) ** 2 - (y - truth) ** 2
            gap = abs((said - truth)[inside].mean())
            losses.setdefault(name, []).append([beyond.mean(), beyond[inside].mean(), beyond[~inside].mean(), gap])
    print(f"{populations} populations of {rows:,} rows, judged on new ones: Brier score beyond the truth, x 10^-5")
    print(f"  {'':<10} {'all rows':>9} {'segment':>9} {'others':>9} {'gap':>9} {'s of CPU':>9}")
    for name, lines in losses.items():
        every, inner, outer, gap = np.mean(lines, axis=0)
        numbers = f"{1e5 * every:9.1f} {1e5 * inner:9.1f} {1e5 * outer:9.1f} {gap:9.4f}"
        print(f"  {name:<10} {numbers} {spent.get(name, 0.0) / populations:9.1f}")


def _ours(old: pa.Table, new: pa.Table, names: list[str]) -> Any:
    found = tc.segments(old, features=names)
    y, p = old["outcome"].to_numpy(), old["prediction"].to_numpy()
    remedy = tc.remedies.fit("none", y, p, by=found.members(old))
    return remedy.apply(new["prediction"].to_numpy(), groups=found.members(new))


def _mcgrad(old: pa.Table, new: pa.Table, names: list[str]) -> Any:
    model = (
        import_module("mcgrad.methods")
        .MCGrad()
        .fit(old.to_pandas(), "prediction", "outcome", categorical_feature_column_names=names)
    )
    return model.predict(new.to_pandas(), "prediction", categorical_feature_column_names=names)


def _both(do: Callable[[], object]) -> float:
    began = time.process_time()
    do()
    return time.process_time() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", choices=["planted", "null", "statistic", "scale", "repair"])
    parser.add_argument("--populations", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--engine", choices=["duckdb", "polars"], default="duckdb")
    asked = parser.parse_args()
    if asked.question == "scale":
        scale(asked.rows or 10_000_000, asked.engine)
    elif asked.question == "statistic":
        statistic(asked.first, asked.populations, asked.rows or 100_000)
    elif asked.question == "repair":
        repair(asked.first, asked.populations, asked.rows or 100_000)
    else:
        search(asked.first, asked.populations, asked.rows or 100_000, 0.1 if asked.question == "planted" else 0.0)
