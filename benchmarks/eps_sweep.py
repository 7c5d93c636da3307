"""How does the decision loss after noise fall with the distance to calibration?  Like its square root, as proved.

python -m benchmarks.eps_sweep

Uniform noise of the width for decision loss, from eps = 1e-6 to 0.1.  On `instances.batch_hardest`, the predictor that
is hardest for everybody: what is lost to its reference over all scores, exactly, between what nobody can avoid and the
guarantee, √(eps/2).  On `instances.uniform_attained`, the predictor that is hardest for this noise: the guarantee is
attained.  Then the slopes of log(loss) against log(eps).  The theorem says 0.5; on the hardest predictor the loss is
√(eps/2) less a term of order eps, which bends the line at the upper end.
"""

from __future__ import annotations

import argparse
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from trustcal import guarantees, umbrella
from trustcal.noise import UniformNoise
from trustcal.paper import Instance, batch_hardest, uniform_attained
from trustcal.smoothing import smooth

FloatArray = NDArray[np.float64]


def loss_over_all_scores(instance: Instance, noise: UniformNoise) -> float:
    """2·cav D(1/2) for an instance that is its own mirror image: then D(μ) = D(1 − μ), and this is twice the largest D.

    D is concave between its kinks, so that each round finds the maximum among 10^5 points more closely.
    """
    q, b = instance.predictor, instance.reference

    def profile(mu: FloatArray) -> FloatArray:
        stake = np.outer(1 - mu, q.positive) - np.outer(mu, q.mass - q.positive)
        believed = (stake * (1 - noise.cdf(mu[:, None], q.p))).sum(axis=1)
        return np.asarray(np.maximum(b.p - mu[:, None], 0) @ b.mass - believed)

    mu = np.linspace(0.5, 1.0, 100_001)
    for _ in range(2):
        k = int(np.argmax(profile(mu)))
        mu = np.linspace(mu[max(k - 1, 0)], mu[min(k + 1, len(mu) - 1)], len(mu))
    return 2 * float(profile(mu).max())


def loss_at_half(instance: Instance, noise: UniformNoise) -> float:
    """At the threshold 1/2: two cells, each on its side of it, are exact."""
    return umbrella().value(instance.reference) - umbrella().value(smooth(instance.predictor, noise, 2, "middle"))


def slope(eps: FloatArray, losses: list[float]) -> str:
    return f"{np.polyfit(np.log(eps), np.log(losses[: len(eps)]), 1)[0]:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2, metavar="K", help="values of eps per decade (default 2)")
    sweep = np.logspace(-6, -1, 5 * parser.parse_args().steps + 1)
    table = Table(title="Decision loss after uniform noise")
    for header in ("eps", "nobody below", "hardest", "√(eps/2)", "attained", "hardest / √", "attained / √"):
        table.add_column(header, justify="right")
    hardest, attained = [], []
    for eps in map(float, sweep):
        noise, root = UniformNoise.for_distance(eps), sqrt(eps / 2)
        hardest.append(loss_over_all_scores(batch_hardest(eps), noise))
        attained.append(loss_at_half(uniform_attained(eps), noise))
        numbers = (guarantees.lower_batch_decision_loss(eps).value, hardest[-1], root, attained[-1])
        ratios = (hardest[-1] / root, attained[-1] / root)
        table.add_row(f"{eps:.1e}", *(f"{x:.6f}" for x in numbers), *(f"{x:.4f}" for x in ratios))
    small = sweep[sweep <= 1.001e-3]
    console = Console()
    console.print(table)
    console.print(f"slope, attained, all eps:       {slope(sweep, attained)}")
    console.print(f"slope, hardest, eps ≤ 0.001:    {slope(small, hardest)}")
    console.print(f"slope, hardest, all eps:        {slope(sweep, hardest)}")


if __name__ == "__main__":
    main()
