"""What do the measures that need no bins cost, in sorts of the same array, and how far off is what an audit prints?

    python -m benchmarks.bin_free             # --most 6 for fewer rows, --samples 4 for more samples, --only cost scale

Cost: continuous predictions, 10^5 to 10^7 rows, on a predictor whose sums are not yet known.  "goal" is the most that
10^6 rows may take, in sorts.  Then from rows, sorting included: ours, scikit-learn's IsotonicRegression, and the
cumulative statistics of probcal and mcgrad where they are installed.  Everything runs in one thread, and CPU time is
measured, so other work on the machine disturbs little.

Scale: 10^8 rows that DuckDB makes, p uniform and y ~ Bernoulli(p²), read on a grid of width 2^-22 as by default.

Bias: five populations whose monotone CDL is known, 10^2 to 10^5 rows.  What is printed for continuous predictions is
(M_n − mean floor)⁺: the monotone CDL on the rows, less what calibrated predictions show by chance.  From 10^3 rows on
its bias may be a tenth of the truth plus 0.003.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from time import process_time

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import trustcal as tc
from trustcal.inference import held_out, monotone_cdl_lower_bound, monotone_cdl_upper_bound, sampling_floor

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Rows = tuple[NDArray[np.bool_], FloatArray]

OURS: dict[str, tuple[Callable[[tc.Predictor], object], float]] = {
    "isotonic": (lambda q: q.isotonic(), 2),
    "cutoff": (tc.cutoff, 2),
    "atb": (tc.atb, 2),
    "monotone_cdl with witness": (tc.monotone_cdl_witness, 6),
    "monotone_cdl_lower_bound": (lambda q: monotone_cdl_lower_bound(q, rng=0), 10),
    "monotone_cdl_upper_bound": (monotone_cdl_upper_bound, 60),
}
"""What is measured, and the goal in sorts."""

LAWS: dict[str, tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], FloatArray], float]] = {
    "calibrated": (lambda u: u, lambda p: p, 0.0),
    "square": (lambda u: u, lambda p: p**2, 2**0.5 / 3 - 5 / 12),
    "overconfident": (lambda u: u, lambda p: p**0.5 / (p**0.5 + (1 - p) ** 0.5), 0.0211603),
    "wiggle": (lambda u: u, lambda p: p + 0.15 * np.sin(6 * np.pi * p), 0.015818),
    "rare": (lambda u: u**2 / 10, lambda p: 1.5 * p, 2 * 6**0.5 / 81 - 1 / 18),
}
"""The prediction as a function of a uniform, Pr[y = 1 | p], and the monotone CDL (theory.md)."""

ESTIMATES = ("bins", "same rows", "2 folds", "5 folds", "middle", "printed")
"""CDL on bins of equal mass; M on the same rows; held out; the mean of the last two; M less the mean floor."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=7, metavar="K", help="up to 10^K rows (default 7)")
    parser.add_argument("--samples", type=float, default=1.0, metavar="X", help="X times as many samples (default 1)")
    parser.add_argument("--only", nargs="+", choices=("cost", "scale", "bias"), default=("cost", "scale", "bias"))
    given = parser.parse_args()
    console = Console(width=160)
    if "cost" in given.only:
        console.print(cost(given.most, console))
    if "scale" in given.only:
        console.print(scale())
    if "bias" in given.only:
        console.print(bias(min(given.most, 5), given.samples))


def cost(most: int, console: Console) -> Table:
    """CPU seconds in sorts of the same array."""
    table = Table(title="Measures without bins, in sorts of the same array")
    for header in ("rows", "what", "seconds", "× np.sort", "goal", "× at n/10"):
        table.add_column(header, justify="left" if header == "what" else "right")
    rng, before = np.random.default_rng(0), dict[str, float]()
    others = list(from_rows(console))
    for n in (10**k for k in range(5, most + 1)):
        p = rng.random(n)
        rows = rng.random(n) < p**2, p
        q = tc.Predictor.from_samples(*rows)
        sort = cpu_seconds(p.copy, np.sort)
        table.add_row(f"{n:,}", "np.sort", f"{sort:.4f}", "1.0", "", "")
        ours = [(name, cpu_seconds(partial(fresh, q), work), goal) for name, (work, goal) in OURS.items()]
        theirs = [(name, cpu_seconds(partial(tuple, rows), work), None) for name, work in others]
        for name, taken, goal in (*ours, *theirs):
            growth = f"{taken / before[name]:.1f}" if name in before else ""
            before[name] = taken
            limit = f"{goal:g}" if goal is not None and n == 10**6 else ""
            table.add_row("", name, f"{taken:.4f}", f"{taken / sort:.1f}", limit, growth)
        table.add_section()
    return table


def scale(rows: int = 10**8) -> Table:
    """CPU seconds, and what is measured, of very many rows."""
    import duckdb

    table = Table("what", "CPU seconds", "value", "truth", title=f"{rows:,} rows from DuckDB")
    unit = "hash({}) / 18446744073709551616.0"
    made = duckdb.sql(
        f"SELECT p, ({unit.format('2 * i + 1')} < p * p)::TINYINT AS y "
        f"FROM (SELECT i, {unit.format('2 * i')} AS p FROM range({rows}) t(i))"
    )
    begin = process_time()
    q = tc.read(made, "p", "y")
    table.add_row("making and reading the rows", f"{process_time() - begin:.1f}", f"{len(q):,} values", "")
    measures: dict[str, tuple[Callable[[tc.Predictor], float], float]] = {
        "monotone_cdl": (tc.monotone_cdl, LAWS["square"][2]),
        "cutoff": (tc.cutoff, 1 / 6),
        "atb": (tc.atb, 13 / 630),
        "Brier miscalibration": (lambda q: tc.corp(q).mcb, 1 / 30),
    }
    for name, (measure, truth) in measures.items():
        given = fresh(q)
        begin = process_time()
        value = measure(given)
        table.add_row(name, f"{process_time() - begin:.2f}", f"{value:.6f}", f"{truth:.6f}")
    return table


def fresh(q: tc.Predictor) -> tc.Predictor:
    """The same predictor without what it has computed before."""
    return tc.Predictor(q.p, q.mass, q.positive, rows=q.rows, effective_rows=q.effective_rows)


def cpu_seconds(prepare: Callable[[], object], work: Callable[..., object], repeat: int = 5) -> float:
    """The least CPU time of several runs, each on something prepared anew."""
    found = []
    for _ in range(repeat):
        given = prepare()
        begin = process_time()
        work(given)
        found.append(process_time() - begin)
    return min(found)


def from_rows(console: Console) -> Iterator[tuple[str, Callable[[Rows], object]]]:
    """What is measured from rows: ours, and other packages that are installed."""
    from sklearn.isotonic import IsotonicRegression

    yield "isotonic, from rows", lambda rows: tc.Predictor.from_samples(*rows).isotonic()
    yield "cutoff, from rows", lambda rows: tc.cutoff(*rows)
    yield "scikit-learn: IsotonicRegression", lambda rows: IsotonicRegression().fit(rows[1], rows[0].astype(float))
    for package in ("probcal", "mcgrad"):
        try:
            yield f"{package}: ecce", partial(cumulative, import_module(f"{package}.metrics").ecce)
        except ImportError as missing:
            console.print(f"{package} is left out: {missing}. Install it with pip install {package}.")


def cumulative(ecce: Callable[[IntArray, FloatArray], object], rows: Rows) -> object:
    """The empirical cumulative calibration error, another name for cutoff or stepcal."""
    return ecce(rows[0].astype(np.int64), rows[1])


def bias(most: int, more: float) -> Table:
    """Mean and standard deviation of estimates of the monotone CDL."""
    table = Table(title="Estimates of the monotone CDL: mean (standard deviation)")
    for header in ("population", "rows", "truth", *ESTIMATES, "bias", "allowed"):
        table.add_column(header, justify="left" if header == "population" else "right")
    rng = np.random.default_rng(1)
    for name, (prediction, chance, truth) in LAWS.items():
        for n, samples in ((100, 400), (1000, 200), (10_000, 60), (100_000, 12)):
            if n > 10**most:
                continue
            found = np.array([estimates(n, prediction, chance, rng) for _ in range(max(2, round(more * samples)))])
            shown = [f"{m:.4f} ({s:.4f})".replace("0.", ".") for m, s in zip(found.mean(0), found.std(0), strict=True)]
            off = float(found[:, -1].mean()) - truth
            allowed = f"{0.1 * truth + 0.003:.4f}" if n >= 1000 else ""
            table.add_row(name, f"{n:,}", f"{truth:.4f}", *shown, f"{off:+.4f}", allowed)
        table.add_section()
    return table


def estimates(
    n: int,
    prediction: Callable[[FloatArray], FloatArray],
    chance: Callable[[FloatArray], FloatArray],
    rng: np.random.Generator,
) -> list[float]:
    """The estimates from one sample."""
    p = prediction(rng.random(n))
    q = tc.Predictor.from_samples(rng.random(n) < chance(p), p)
    same, two, five = tc.monotone_cdl(q), held_out(q, 2, rng=rng), held_out(q, 5, rng=rng)
    floor = sampling_floor(q, "monotone_cdl", draws=20, rng=rng).mean
    return [tc.cdl(q, cells=q.suggested_cells), same, two, five, (same + five) / 2, max(0.0, same - floor)]


if __name__ == "__main__":
    main()
