"""Do the tests keep their level, what do they find, and how often do bounds and intervals cover the truth?

    python -m benchmarks.inference                              # under three minutes; --repeat 4 for four times as many

Level: calibrated predictors of 60 rows on ten values and of 300 rows on continuous ones, 300 of each, 19 draws a test.
Power: 500 fixed continuous predictions, 999 draws for each statistic's null law, 200 sets of outcomes an alternative.
Coverage: rows of four worlds with known answers; 200 sets for proved bounds, 40 sets of 79 draws for the bootstrap.
Beside ours, at the 5 % level as well: SmoothECE as a statistic in the same simulation, Hosmer and Lemeshow's
chi-square on ten groups and Spiegelhalter's z.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.stats import chi2, norm

import trustcal as tc
from trustcal.inference import (
    bootstrap_interval,
    calibration_tests,
    dtc_upper_bound,
    smcal_lower_bound,
    smcal_upper_bound,
)
from trustcal.inference.sampler import RowSampler
from trustcal.kernels.isotonic import smooth_error
from trustcal.measures.table import audited

FloatArray = NDArray[np.float64]
Distortion = Callable[[FloatArray], FloatArray]

STATISTICS = audited()
NAMES = (*STATISTICS, "H–L", "Spieg.")


def overconfident(slope: float) -> Distortion:
    """The truth is less extreme than predicted: its log odds are the prediction's, times the slope."""
    return lambda p: 1 / (1 + (1 / p - 1) ** slope)


def shifted(by: float) -> Distortion:
    """The truth is lower than predicted."""
    return lambda p: p - by * p * (1 - p)


def wavy(height: float) -> Distortion:
    """Too high and too low in turns: three waves over [0, 1]."""
    return lambda p: p + height * np.sin(6 * np.pi * p) * 4 * p * (1 - p)


def steep(height: float) -> Distortion:
    """Right but around 1/2, where 0.48 and 0.52 mean the wrong side."""
    return lambda p: np.where(np.abs(p - 0.5) < 0.1, p - height * np.sign(p - 0.5), p)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=1, metavar="K", help="repeat K times as often (default 1)")
    repeat = parser.parse_args().repeat
    console = Console(width=130)
    for table, times in ((level, 300), (power, 200), (proved, 200), (bootstrap, 40)):
        console.print(table(times * repeat))


def level(repetitions: int) -> Table:
    table = _table("Rejections of calibrated predictors, nominally 5 %", "predictions", *NAMES, "two st. errors")
    for name, n, ten in (("60 rows on ten values", 60, True), ("300 continuous", 300, False)):
        rng = np.random.default_rng(1)
        rejected = np.zeros(len(NAMES))
        for _ in range(repetitions):
            p = (rng.integers(10, size=n) + 0.5) / 10 if ten else rng.random(n)
            q = tc.Predictor.from_samples(rng.random(n) < p, p)
            ours = [test.p_value for test in calibration_tests(q, STATISTICS, draws=19, rng=rng)]
            rejected += np.array([*ours, hosmer_lemeshow(q), spiegelhalter(q)]) <= 0.05
        table.add_row(
            name, *(f"{100 * x / repetitions:.1f}" for x in rejected), f"± {_two_errors(0.05, repetitions):.1f}"
        )
    return table


def power(repetitions: int) -> Table:
    table = _table("Rejections of miscalibrated predictors of 500 rows, at 5 %", "truth", "smCal", *NAMES)
    rng = np.random.default_rng(2)
    p = np.sort(rng.random(500))
    design = RowSampler.of(tc.Predictor.from_samples(rng.random(500) < p, p))
    null = design.simulated(design.calibrated_draw, STATISTICS, 999, rng)
    for kind, strengths in (
        (overconfident, (0.9, 0.8, 0.7)),
        (shifted, (0.1, 0.2, 0.3)),
        (wavy, (0.05, 0.1, 0.15)),
        (steep, (0.1, 0.2, 0.3)),
    ):
        for strength in strengths:
            truth = np.clip(kind(strength)(p), 0, 1)
            rejected = np.zeros(len(NAMES))
            for _ in range(repetitions):
                q = tc.Predictor.from_samples(rng.random(500) < truth, p)
                shown = np.array(design.values(q, STATISTICS))
                ours = (1 + (null >= shown - 1e-12).sum(axis=0)) / 1000
                rejected += np.array([*ours, hosmer_lemeshow(q), spiegelhalter(q)]) <= 0.05
            there = tc.smcal(tc.Predictor(p, np.full(500, 1 / 500), truth / 500))
            share = (f"{100 * x / repetitions:.0f}" for x in rejected)
            table.add_row(f"{kind.__name__} {strength:g}", f"{there:.4f}", *share)
        table.add_section()
    return table


WORLDS: tuple[tuple[str, Distortion], ...] = (
    ("calibrated", shifted(0.0)),
    ("shifted 0.05", shifted(0.05)),
    ("shifted 0.3", shifted(0.3)),
    ("wavy 0.15", wavy(0.15)),
)


def world(distortion: Distortion) -> tc.Predictor:
    """Uniform predictions on 20,000 values, and what they mean."""
    p = (np.arange(20_000) + 0.5) / 20_000
    return tc.Predictor(p, np.full(len(p), 1 / len(p)), np.clip(distortion(p), 0, 1) / len(p))


def rows_of(law: tc.Predictor, n: int, rng: np.random.Generator) -> tc.Predictor:
    index = rng.integers(len(law), size=n)
    return tc.Predictor.from_samples(rng.random(n) < law.p_hat[index], law.p[index])


def proved(repetitions: int) -> Table:
    headers = (
        "world",
        "rows",
        "smCal",
        "upper, %",
        "mean",
        "Rademacher",
        "lower, %",
        "mean",
        "DTC",
        "upper, %",
        "mean",
    )
    table = _table("Proved 95 % bounds: how often they hold, and where they lie", *headers)
    for n in (500, 10_000):
        for name, distortion in WORLDS:
            law, rng = world(distortion), np.random.default_rng(3)
            smcal, dtc = tc.smcal(law), tc.dtc(law)
            bounds = np.empty((repetitions, 4))
            for i in range(repetitions):
                q = rows_of(law, n, rng)
                bounds[i] = (
                    smcal_upper_bound(q).upper,
                    by_rademacher(q, rng),
                    smcal_lower_bound(q, rng=rng).lower,
                    dtc_upper_bound(q).upper,
                )
            mean = bounds.mean(axis=0)
            hold = 100 * np.column_stack([bounds[:, :2] >= smcal, bounds[:, 2] <= smcal, bounds[:, 3] >= dtc]).mean(
                axis=0
            )
            table.add_row(
                name, f"{n:,}", f"{smcal:.4f}", f"{hold[0]:.1f}", f"{mean[0]:.4f}", f"{mean[1]:.4f}",
                f"{hold[2]:.1f}", f"{mean[2]:.4f}", f"{dtc:.4f}", f"{hold[3]:.1f}", f"{mean[3]:.4f}",
            )  # fmt: skip
        table.add_section()
    return table


def bootstrap(repetitions: int) -> Table:
    table = _table("95 % bootstrap intervals of 500 rows", "world", "statistic", "truth", "covered, %", "mean interval")
    for name, distortion in WORLDS:
        law, rng = world(distortion), np.random.default_rng(4)
        for statistic in ("smcal", "dtc", "ece", "cdl"):
            ends = np.empty((repetitions, 2))
            for i in range(repetitions):
                q = rows_of(law, 500, rng)
                found = bootstrap_interval(q, statistic, draws=79, rng=rng)
                ends[i] = found.lower, found.upper
            (truth,) = RowSampler.of(q).values(law, (statistic,))
            covered = 100 * ((ends[:, 0] <= truth + 1e-12) & (truth <= ends[:, 1])).mean()
            lower, upper = ends.mean(axis=0)
            table.add_row(name, statistic, f"{truth:.4f}", f"{covered:.1f}", f"{lower:.4f} to {upper:.4f}")
        table.add_section()
    return table


def by_rademacher(q: tc.Predictor, rng: np.random.Generator) -> float:
    """The textbook's 95 % bound: smCal + 2·(one draw of the Rademacher average) + 3·√(2·ln(2/0.05)/n)."""
    n = q.rows or 0
    ones = np.rint(q.positive * n).astype(np.int64)
    zeros = np.rint(q.mass * n).astype(np.int64) - ones
    signed_zeros, signed_ones = (2 * rng.binomial(count, 0.5) - count for count in (zeros, ones))
    average = smooth_error.on(len(q))(q.p, (q.p * signed_zeros - (1 - q.p) * signed_ones) / n)[1]
    return min(1.0, tc.smcal(q) + 2 * average + 3 * sqrt(2 * log(2 / 0.05) / n))


def hosmer_lemeshow(q: tc.Predictor) -> float:
    """The p-value of Hosmer and Lemeshow's test on ten groups, for predictions that were not fitted to these rows."""
    groups = q.coarsen(10)
    n = q.rows or 0
    terms = n * groups.bias**2 / (groups.mass * groups.p * (1 - groups.p))
    return float(chi2.sf(terms.sum(), len(groups)))


def spiegelhalter(q: tc.Predictor) -> float:
    """The two-sided p-value of Spiegelhalter's z: the Brier score against what calibration would make it."""
    weight = 1 - 2 * q.p
    z = float(q.bias @ weight) / sqrt(float((q.mass * weight**2 * q.p * (1 - q.p)).sum()) / (q.rows or 0))
    return float(2 * norm.sf(abs(z)))


def _two_errors(share: float, repetitions: int) -> float:
    return 200 * sqrt(share * (1 - share) / repetitions)


def _table(title: str, *headers: str) -> Table:
    table = Table(title=title)
    for header in headers:
        table.add_column(
            header, justify="left" if header in ("predictions", "truth", "world", "statistic") else "right"
        )
    return table


if __name__ == "__main__":
    main()
