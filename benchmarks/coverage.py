"""How often do bounds and intervals hold?  Ten populations with known answers, and others.

    python -m benchmarks.coverage                    # or: --rows 50 500 5000 --samples 200 --draws 39 --population rain

Proved bounds (`monotone_cdl_upper_bound` and so on) must hold in at least 95 % of the samples; `--intervals` leaves
them out.  Intervals should hold in 92 to 99 %.  Predictions are continuous in the first five populations (uniform, or
U²/10 in "rare") and in "sure" (uniform from 0.4 to 0.6, and 97 % come true: 50 rows may all have one outcome), and
repeat in the others; only there ECE and CDL have intervals.  In "one off" one of 41 values is off.  "weighted" is the
grid with ten times the weight at two of its five values, "mixed" the grid with weights 1 to 4 at random, and in
"clusters" each forecast has ten rows.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import pi, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import trustcal as tc
import trustcal.kernels
from trustcal import Predictor
from trustcal.inference import (
    ConfidenceBound,
    action_regret_bounds,
    atb_bounds,
    cutoff_lower_bound,
    cutoff_upper_bound,
    dtc_upper_bound,
    isotonic_band,
    monotone_cdl_lower_bound,
    monotone_cdl_upper_bound,
    profile_band,
    smcal_lower_bound,
    smcal_upper_bound,
    uncertainties,
)
from trustcal.measures.counts import constant_weights, row_counts
from trustcal.measures.table import MEASURES

FloatArray = NDArray[np.float64]
PROBLEM: Final = tc.DecisionProblem([[1.0, 0.0], [0.75, 0.5], [0.0, 1.0]])
"""Three actions, which change at 1/3 and 0.6."""
FINE: Final = 50_000
"""The number of values that stand for a continuous population."""


@dataclass(frozen=True)
class Population:
    """Where rows are drawn from: predictions, the frequency of outcome 1 given a prediction, weights and clusters."""

    predictions: Callable[[np.random.Generator, int], FloatArray]
    frequency: Callable[[FloatArray], FloatArray]
    exact: Predictor
    """The distribution itself where predictions repeat; otherwise on a grid so fine that measures are exact to 1e-5."""
    rising: bool = True
    """Whether the frequency does not decrease with the prediction."""
    weight: Callable[[np.random.Generator, FloatArray], FloatArray] | None = None
    cluster: int = 1
    """The number of rows with the same prediction and outcome in each cluster."""

    def rows(self, rng: np.random.Generator, n: int) -> Predictor:
        """A sample."""
        p = self.predictions(rng, n // self.cluster)
        y = rng.random(len(p)) < self.frequency(p)
        if self.cluster > 1:
            event = np.repeat(np.arange(len(p)), self.cluster)
            return Predictor.from_samples(y[event], p[event], cluster=event)
        return Predictor.from_samples(y, p, None if self.weight is None else self.weight(rng, p))

    @cached_property
    def truth(self) -> dict[str, float]:
        """The measures of the population."""
        return {name: MEASURES[name].value(self.exact) for name in self.measures}

    @cached_property
    def measures(self) -> list[str]:
        """The keys of the measures that rows can estimate."""
        return [name for name in MEASURES if len(self.exact) < FINE or not MEASURES[name].conditional]

    @cached_property
    def profile(self) -> FloatArray:
        """The loss at many thresholds."""
        return tc.monotone_cdl_witness(self.exact).profile(THRESHOLDS)


THRESHOLDS: Final = np.linspace(0, 1, 501)


def continuous(
    frequency: Callable[[FloatArray], FloatArray], of: Callable[[FloatArray], FloatArray], rising: bool = True
) -> Population:
    """Predictions of(U) with U uniform; `of` increases."""
    p = of((np.arange(FINE) + 0.5) / FINE)
    mass = np.full(len(p), 1 / len(p))
    return Population(lambda rng, n: of(rng.random(n)), frequency, Predictor(p, mass, mass * frequency(p)), rising)


def repeated(
    p: list[float],
    mass: list[float],
    frequency: list[float],
    rising: bool = True,
    weight: Callable[[np.random.Generator, FloatArray], FloatArray] | None = None,
    cluster: int = 1,
) -> Population:
    """A few values; weights may depend on the value, and those that do not are random."""
    values, share = np.array(p), np.array(mass)
    counted = share * (1.0 if weight is None else weight(np.random.default_rng(0), values))
    counted = share if weight is mixed else counted / counted.sum()
    law = Predictor(values, counted, counted * np.array(frequency))

    def chance(given: FloatArray) -> FloatArray:
        return np.array(frequency)[np.searchsorted(values, given)]

    return Population(lambda rng, n: rng.choice(values, n, p=share), chance, law, rising, weight, cluster)


def same(p: FloatArray) -> FloatArray:
    """As it is."""
    return p


def heavy(_: np.random.Generator, p: FloatArray) -> FloatArray:
    """Ten times the weight at two of the values."""
    return np.where((p == 0.3) | (p == 0.9), 10.0, 1.0)


def mixed(rng: np.random.Generator, p: FloatArray) -> FloatArray:
    """Weights that have nothing to do with predictions."""
    return rng.integers(1, 5, len(p)).astype(float)


def one_off() -> tuple[list[float], list[float], list[float]]:
    """41 values, of which one with a tenth of the rows comes true 30 % more often than it says."""
    p = np.linspace(0.05, 0.95, 41)
    mass, frequency = np.full(41, 0.9 / 40), p.copy()
    mass[20], frequency[20] = 0.1, p[20] + 0.3
    return p.tolist(), mass.tolist(), frequency.tolist()


GRID: Final = ([0.1, 0.3, 0.5, 0.7, 0.9], [0.2] * 5, [0.05, 0.35, 0.5, 0.6, 0.95])
POPULATIONS: Final = {
    "calibrated": continuous(same, same),
    "square": continuous(lambda p: p**2, same),
    "overconfident": continuous(lambda p: np.sqrt(p) / (np.sqrt(p) + np.sqrt(1 - p)), same),
    "wiggle": continuous(lambda p: p + 0.15 * np.sin(6 * pi * p), same, rising=False),
    "rare": continuous(lambda p: 1.5 * p, lambda u: u**2 / 10),
    "coin": repeated([0.5], [1.0], [0.5]),
    "biased coin": repeated([0.5], [1.0], [0.6]),
    "rain": repeated([0.4999, 0.5001], [0.5, 0.5], [1.0, 0.0], rising=False),
    "grid": repeated(*GRID),
    "one off": repeated(*one_off(), rising=False),
    "weighted": repeated(*GRID, weight=heavy),
    "mixed": repeated(*GRID, weight=mixed),
    "clusters": repeated(*GRID, cluster=10),
    "sure": continuous(lambda p: np.full_like(p, 0.97), lambda u: 0.4 + u / 5),
}


def proved(population: Population, q: Predictor, rng: np.random.Generator) -> Iterator[tuple[str, bool]]:
    """Every proved statement about these rows, and whether it holds."""
    truth, rounding = population.truth, 2e-5 if len(population.exact) == FINE else 1e-12
    regret = PROBLEM.action_regret(population.exact, ties="lower")

    def holds(bound: ConfidenceBound, *sides: str) -> Iterator[tuple[str, bool]]:
        known = regret if bound.statistic == "action_regret" else truth[bound.statistic]
        inside = {"lower": bound.lower - rounding <= known, "upper": known <= bound.upper + rounding}
        yield from ((f"{bound.statistic}, {side}", inside[side]) for side in sides)

    for upper in (monotone_cdl_upper_bound, cutoff_upper_bound, smcal_upper_bound, dtc_upper_bound):
        yield from holds(upper(q), "upper")
    for both in (atb_bounds(q), action_regret_bounds(PROBLEM, q)):
        yield from holds(both, "lower", "upper")
    if constant_weights(q) or q.clusters is not None:
        for lower in (monotone_cdl_lower_bound, cutoff_lower_bound, smcal_lower_bound):
            yield from holds(lower(q, rng=rng), "lower")
    if row_counts(q) is not None:
        found = tc.monotone_cdl_witness(q).profile(THRESHOLDS)
        yield "profile_band", bool(np.abs(found - population.profile).max() <= profile_band(q) + rounding)
        if population.rising:
            band, known = isotonic_band(q), population.frequency(q.p)
            yield "isotonic_band", bool(((band.lower <= known) & (known <= band.upper)).all())


def covered(
    population: Population, n: int, samples: int, draws: int, measures: list[str], bounds: bool
) -> tuple[dict[str, float], dict[str, float]]:
    """The share of samples in which each proved statement, if asked for, and each interval holds."""
    measures = [name for name in measures if name in population.measures]
    rng = np.random.default_rng([n, samples, draws])
    found: tuple[dict[str, list[bool]], dict[str, list[bool]]] = defaultdict(list), defaultdict(list)
    for _ in range(samples):
        q = population.rows(rng, n)
        for name, holds in proved(population, q, rng) if bounds else ():
            found[0][name].append(holds)
        for entry in uncertainties(q, measures, draws=draws, rng=rng):
            known = population.truth[entry.measure]
            rounding = min(2e-5, known / 100)  # of the grid that stands for the population; nothing at 0
            found[1][entry.measure].append(entry.lower - rounding <= known <= entry.upper + rounding)
    share, shares = ({name: float(np.mean(held)) for name, held in kind.items()} for kind in found)
    return share, shares


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[50, 500, 5000])
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--draws", type=int, default=39)
    parser.add_argument("--measures", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument("--population", nargs="+", choices=list(POPULATIONS), default=list(POPULATIONS))
    parser.add_argument("--intervals", action="store_true", help="intervals only, without the proved bounds")
    options = parser.parse_args()
    trustcal.kernels.WORTH_COMPILING = 0  # many small inputs are one large one
    noise = f"of {options.samples} samples, ± {200 * sqrt(0.05 * 0.95 / options.samples):.1f}"
    least: dict[tuple[str, int], list[float]] = defaultdict(list)
    intervals = Table("population", "rows", *MEASURES, title=f"Intervals: covered in %, {noise}")
    for name in options.population:
        for n in options.rows:
            bounds, shares = covered(
                POPULATIONS[name], n, options.samples, options.draws, options.measures, not options.intervals
            )
            for statement, share in bounds.items():
                least[statement, n].append(share)
            shown = (f"{100 * shares[key]:.1f}" if key in shares else "" for key in MEASURES)
            intervals.add_row(name, f"{n:,}", *shown)
        intervals.add_section()
    statements = sorted({statement for statement, _ in least})
    bounds_table = Table("proved", *(f"{n:,} rows" for n in options.rows), title=f"Least coverage in %, {noise}")
    for statement in statements:
        shares_at = [least.get((statement, n), []) for n in options.rows]
        bounds_table.add_row(statement, *(f"{100 * min(found):.1f}" if found else "" for found in shares_at))
    console = Console(width=130)
    if not options.intervals:
        console.print(bounds_table)
    console.print(intervals)


if __name__ == "__main__":
    main()
