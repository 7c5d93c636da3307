"""Do the tests keep their level with weights, ties and clusters?  Calibrated predictors of every kind.

    python -m benchmarks.levels                                 # or: --samples 1000 --design survey

The share of samples that each test rejects at 5 %: the combined test, the tests of single measures
(`inference.calibration_tests`), and the test of monotonicity.  With 19 draws a test rejects where what it sees exceeds
all of them, which has a probability of 5 % if the rows and the draws are alike.  Goals: at most 5.5 % for independent
rows of equal weight, 3.5 to 6.5 % with weights, at most 6 % with clusters.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import sqrt
from typing import Final

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import norm

import trustcal.kernels
from trustcal import Predictor
from trustcal.inference import calibration_tests, combined_test, monotonicity_test
from trustcal.measures.table import MEASURES

Design = Callable[[np.random.Generator], Predictor]


def continuous(rng: np.random.Generator) -> Predictor:
    """200 rows."""
    p = rng.random(200)
    return Predictor.from_samples(rng.random(200) < p, p)


def ten_values(rng: np.random.Generator) -> Predictor:
    """60 rows."""
    p = (rng.integers(10, size=60) + 0.5) / 10
    return Predictor.from_samples(rng.random(60) < p, p)


def two_precisions(rng: np.random.Generator) -> Predictor:
    """Weight 3 where predictions have full precision, weight 1 where they are rounded."""
    p = np.concatenate([rng.random(200), np.round(rng.random(1800), 1)])
    return Predictor.from_samples(rng.random(2000) < p, p, np.repeat([3.0, 1.0], [200, 1800]))


def heavy_few(rng: np.random.Generator) -> Predictor:
    """2,000 rows of weight 1 at 0.02, and 20 of weight 50 at 0.5."""
    p = np.repeat([0.02, 0.5], [2000, 20])
    return Predictor.from_samples(rng.random(2020) < p, p, np.repeat([1.0, 50.0], [2000, 20]))


def heavy_continuous(rng: np.random.Generator) -> Predictor:
    """Weights that grow with the prediction, from 1 to 10."""
    p = rng.random(300)
    return Predictor.from_samples(rng.random(300) < p, p, 1 + 9 * p)


def survey(rng: np.random.Generator) -> Predictor:
    """Log-normal weights that differ among rows with the same prediction."""
    p = np.round(rng.random(1000), 1)
    return Predictor.from_samples(rng.random(1000) < p, p, np.exp(rng.normal(size=1000)))


def post_stratified(rng: np.random.Generator) -> Predictor:
    """1,000 rows of four strata, sampled at other rates than the population has and weighted back to its shares."""
    stratum = rng.choice(4, 1000, p=[0.4, 0.3, 0.2, 0.1])
    weight = np.array([0.1, 0.2, 0.3, 0.4]) / np.bincount(stratum, minlength=4)
    p = np.round(rng.beta(1 + stratum, 4 - stratum), 1)
    return Predictor.from_samples(rng.random(1000) < p, p, weight[stratum])


def one_forecast_repeated(rng: np.random.Generator) -> Predictor:
    """60 events, and the same forecast of each 20 times."""
    p = rng.random(60)
    y = rng.random(60) < p
    return Predictor.from_samples(np.repeat(y, 20), np.repeat(p, 20), cluster=np.repeat(np.arange(60), 20))


def forecasts_that_improve(rng: np.random.Generator) -> Predictor:
    """Twenty forecasts of each event, every one of them calibrated: a Brownian motion, and whether it ends above 0."""
    path = np.cumsum(rng.normal(size=(60, 21)) / np.sqrt(21), axis=1)
    left = 1 - np.arange(1, 21) / 21
    p = norm.cdf(path[:, :20] / np.sqrt(left))
    cluster = np.repeat(np.arange(60), 20)
    return Predictor.from_samples(np.repeat(path[:, -1] > 0, 20), p.ravel(), cluster=cluster)


def common_shock(rng: np.random.Generator) -> Predictor:
    """Twenty rows of each of 60 clusters, with forecasts of their own and correlated outcomes."""
    p = rng.random((60, 20))
    shock = np.sqrt(0.3) * rng.normal(size=(60, 1)) + np.sqrt(0.7) * rng.normal(size=(60, 20))
    cluster = np.repeat(np.arange(60), 20)
    return Predictor.from_samples((norm.cdf(shock) < p).ravel(), p.ravel(), cluster=cluster)


def clusters_ignored(rng: np.random.Generator) -> Predictor:
    """60 events, and the same forecast of each 20 times, as if rows were independent: what clusters are for."""
    q = one_forecast_repeated(rng)
    assert q.clusters is not None
    return Predictor.from_samples(q.clusters.outcome, q.p[q.clusters.value])


DESIGNS: Final[dict[str, Design]] = {
    design.__name__: design
    for design in (
        continuous,
        ten_values,
        two_precisions,
        heavy_few,
        heavy_continuous,
        survey,
        post_stratified,
        one_forecast_repeated,
        forecasts_that_improve,
        common_shock,
        clusters_ignored,
    )
}


def rejections(design: Design, samples: int, measures: list[str]) -> dict[str, float]:
    """The share of samples that each test rejects."""
    rng, found = np.random.default_rng(0), dict.fromkeys(("combined", *measures, "monotonicity"), 0)
    for _ in range(samples):
        q = design(rng)
        found["combined"] += combined_test(q, draws=19, rng=rng).p_value <= 0.05
        found["monotonicity"] += monotonicity_test(q, draws=19, rng=rng).p_value <= 0.05
        for test in calibration_tests(q, measures, draws=19, rng=rng):
            found[test.statistic] += test.p_value <= 0.05
    return {name: count / samples for name, count in found.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--measures", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument("--design", nargs="+", choices=list(DESIGNS), default=list(DESIGNS))
    options = parser.parse_args()
    trustcal.kernels.WORTH_COMPILING = 0  # many small inputs are one large one
    noise = 200 * sqrt(0.05 * 0.95 / options.samples)
    tests = ("combined", *options.measures, "monotonicity")
    table = Table("design", *tests, title=f"Rejected at 5 %, of {options.samples} samples, ± {noise:.1f}")
    for name in options.design:
        share = rejections(DESIGNS[name], options.samples, options.measures)
        table.add_row(name.replace("_", " "), *(f"{100 * share[test]:.1f}" for test in tests))
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
