"""How often does each test of calibration reject?  Level on calibrated rows, power on faulty ones.

    python -m benchmarks.power                       # or: --rows 200 1000 5000 --samples 400 --draws 199 --law wiggle

The combined test (`inference.combined_test`) beside its four statistics alone, each exact by simulation, and three
classical tests by their limit laws: Spiegelhalter's (normal), Cox's likelihood ratio of slope 1 and intercept 0
(chi-square with 2 degrees of freedom), and Hosmer and Lemeshow's on ten bins of equal size (chi-square with 10, since
predictions are given).  Predictions are uniform on [0, 1].  Goals: level at most 5.5 %, power at least 90 % of the
best single test; the last column is that ratio.

A shift and a slope are nearly orthogonal, and each needs a share of the 5 %.  The second table has the most that any
test can reach of the best test for each: see `limit`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.integrate import quad
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit
from scipy.stats import chi2, norm

import trustcal.kernels
from trustcal import Predictor
from trustcal.inference import combined_test
from trustcal.inference.combined import STATISTICS

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

LAWS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "calibrated": lambda p: p,
    "overconfident": lambda p: expit(0.5 * logit(p)),
    "slope": lambda p: expit((1 - local(0.45, p)) * logit(p)),
    "shift": lambda p: expit(logit(p) - local(0.5, p)),
    "power": lambda p: p ** (1 + local(0.5, p)),
    "weak slope": lambda p: expit((1 - local(0.2, p)) * logit(p)),
    "weak shift": lambda p: expit(logit(p) - local(0.2, p)),
    "wiggle": lambda p: np.clip(p + local(0.15, p) * np.sin(6 * np.pi * p), 0, 1),
}
"""Pr[y = 1 | p].  Faults but the first get smaller with the number of rows, so that the power stays about the same."""


def local(strength: float, p: FloatArray) -> float:
    """The strength of a fault that has this strength with 200 rows."""
    return strength * float(np.sqrt(200 / len(p)))


LEVEL = 0.05


def spiegelhalter(y: BoolArray, p: FloatArray) -> float:
    """The p-value of Spiegelhalter's Z."""
    z = np.sum((y - p) * (1 - 2 * p)) / np.sqrt(np.sum((1 - 2 * p) ** 2 * p * (1 - p)))
    return float(2 * norm.sf(abs(z)))


def cox(y: BoolArray, p: FloatArray) -> float:
    """The p-value of the likelihood ratio test of a logistic recalibration."""
    odds = logit(p)

    def loss(weights: FloatArray) -> float:
        return float(np.sum(np.logaddexp(0, np.where(y, -1, 1) * (weights[0] + weights[1] * odds))))

    start = np.array([0.0, 1.0])
    return float(chi2.sf(2 * (loss(start) - minimize(loss, start, method="BFGS").fun), 2))


def hosmer_lemeshow(y: BoolArray, p: FloatArray) -> float:
    """The p-value of Hosmer and Lemeshow's statistic."""
    parts = np.array_split(np.argsort(p), 10)
    found = sum((y[part].sum() - p[part].sum()) ** 2 / np.sum(p[part] * (1 - p[part])) for part in parts)
    return float(chi2.sf(found, 10))


CLASSICAL = {"Spiegelhalter, normal": spiegelhalter, "Cox, chi-square": cox, "Hosmer–Lemeshow": hosmer_lemeshow}


def rejections(law: str, rows: int, samples: int, draws: int) -> dict[str, float]:
    """The share of samples that each test rejects."""
    rng = np.random.default_rng([rows, list(LAWS).index(law)])
    found: dict[str, list[bool]] = {name: [] for name in ("combined", *STATISTICS, *CLASSICAL)}
    for _ in range(samples):
        p = rng.random(rows)
        y = rng.random(rows) < LAWS[law](p)
        test = combined_test(Predictor.from_samples(y, p), draws=draws, rng=rng)
        p_values = {"combined": test.p_value, **test.single, **{name: f(y, p) for name, f in CLASSICAL.items()}}
        for name, p_value in p_values.items():
            found[name].append(p_value <= LEVEL)
    return {name: float(np.mean(values)) for name, values in found.items()}


def limit(best: float) -> float:
    """The largest share of the power `best` that one test can have against each of two orthogonal faults.

    With many rows the score statistics of the two faults are independent normal variables x and z of variance 1, with
    means 0 if nothing is wrong and one mean ±d if a fault is there.  The best test for one fault, |x| ≥ 1.96, has power
    `best`.  The smallest power of a test over the four faults is at most its mean power, and by Neyman and Pearson's
    lemma no test has a larger mean than the one that rejects where cosh(d·x) + cosh(d·z) is large.
    """
    edge = norm.isf(LEVEL / 2)
    strength = brentq(lambda d: norm.sf(edge - d) + norm.cdf(-edge - d) - best, 1e-3, 10)

    def rejected(cut: float, mean: float) -> float:
        def given(x: float) -> float:
            left = cut - np.cosh(strength * x)
            chance = 1.0 if left < 1 else 2 * norm.sf(np.arccosh(left) / strength)
            return float(norm.pdf(x - mean) * chance)

        edges = np.arccosh(cut - 1) / strength
        return float(quad(given, -12, 12, points=[-edges, edges], limit=200)[0])

    cut = brentq(lambda c: rejected(c, 0.0) - LEVEL, 2 + 1e-9, 2 * np.cosh(10 * strength))
    return rejected(cut, strength) / best


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 1000, 5000])
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--draws", type=int, default=199)
    parser.add_argument("--law", nargs="+", choices=list(LAWS), default=list(LAWS))
    options = parser.parse_args()
    trustcal.kernels.WORTH_COMPILING = 0  # many small inputs are one large one
    names = ["combined", *STATISTICS, *CLASSICAL]
    table = Table(
        "law", "n", *names, "of the best", title=f"rejected at 5 %, of {options.samples} samples, {options.draws} draws"
    )
    for law in options.law:
        for rows in options.rows:
            share = rejections(law, rows, options.samples, options.draws)
            best = "" if law == "calibrated" else f"{100 * share['combined'] / max(share.values()):.0f}"
            table.add_row(law, f"{rows:,}", *(f"{100 * share[name]:.1f}" for name in names), best)
    Console(width=160).print(table)
    bests = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    most = Table("best test for one fault rejects", *(f"{100 * best:.0f} %" for best in bests))
    most.add_row("one test for both, at most, of that", *(f"{100 * limit(best):.0f} %" for best in bests))
    Console(width=160).print(most)


if __name__ == "__main__":
    main()
