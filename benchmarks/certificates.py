"""How often does the certificate of a remedy hold?  Four populations with known answers.

    python -m benchmarks.certificates                    # or: --rows 200 2000 --samples 50 --population wiggle

A remedy is learned from three quarters of the rows and certified on the others, with payoffs: that of `Recalibrated`.
Then it is applied to the population itself, and its decision loss and action regret are compared with the bounds.  Each
bound must hold in at least 95 % of the samples.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.coverage import FINE, POPULATIONS, PROBLEM, Population
from trustcal.measures.monotone import monotone_cdl
from trustcal.predictor import Predictor
from trustcal.reading import evidence
from trustcal.remedies import certify, recalibration

NAMES = ("calibrated", "overconfident", "wiggle", "grid")


def held(population: Population, n: int, samples: int) -> tuple[list[bool], list[bool], list[float]]:
    """Whether each bound holds, decision loss and action regret, and what is certified of the first."""
    rounding = 2e-5 if len(population.exact) == FINE else 1e-12
    losses, regrets, bounds = [], [], []
    for sample in range(samples):
        rng = np.random.default_rng([n, sample])
        p = population.predictions(rng, n)
        y = rng.random(n) < population.frequency(p)
        learn, others = evidence(y[n // 4 :], p[n // 4 :]), Predictor.from_samples(y[: n // 4], p[: n // 4])
        fitted = recalibration(learn, PROBLEM).fit(learn.predictor, PROBLEM).map
        after, certificate = population.exact.map(fitted), certify(others.map(fitted), PROBLEM)
        assert certificate.action_regret is not None
        losses.append(monotone_cdl(after) <= certificate.decision_loss + rounding)
        regrets.append(PROBLEM.action_regret(after, "lower") <= certificate.action_regret + rounding)
        bounds.append(certificate.decision_loss)
    return losses, regrets, bounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 2000, 20_000], metavar="N")
    parser.add_argument("--samples", type=int, default=100, metavar="N", help="samples of each size (default 100)")
    parser.add_argument("--population", nargs="+", choices=list(POPULATIONS), default=list(NAMES))
    options = parser.parse_args()
    table = Table(title=f"Certificates that hold, %; {options.samples} samples each")
    for header in ("population", "rows", "decision loss", "action regret", "median bound on the decision loss, %"):
        table.add_column(header, justify="left" if header == "population" else "right")
    for name in options.population:
        for n in options.rows:
            losses, regrets, bounds = held(POPULATIONS[name], n, options.samples)
            shares = (f"{100 * np.mean(one):.0f}" for one in (losses, regrets))
            table.add_row(name, f"{n:,}", *shares, f"{100 * np.median(bounds):.2f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
