"""How wide are the intervals of `worst_reference`, and what does it cost?

python -m benchmarks.worst                                  # some two minutes; --cases 20 for a look

First random predictors of one to three values after continuous noise: the relative width (upper − value)/value.  Then
random predictors of eight values after every kind of noise: the CPU time.  The goal is 1 s for each.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np
from rich.console import Console

import trustcal as tc
from trustcal.noise import (
    ClampedGaussian,
    ClampedLaplace,
    ClampedPlateau,
    Noise,
    RandomRounding,
    TruncatedGaussian,
    TruncatedLaplace,
    UniformNoise,
)
from trustcal.smoothing import worst_reference

CONTINUOUS = (UniformNoise(0.2), TruncatedLaplace(0.1), TruncatedGaussian(0.1))
NARROW = (
    UniformNoise(0.05),
    ClampedLaplace(0.05),
    ClampedGaussian(0.03),
    ClampedPlateau(0.03),
    RandomRounding(3),
    RandomRounding(10),
)


def case(random: np.random.Generator, values: int, noises: tuple[Noise, ...]) -> tuple[tc.Predictor, Noise, float]:
    """A random predictor, a noise and a distance."""
    p, mass = np.sort(random.random(values)), random.dirichlet(np.ones(values))
    far = random.random() < 0.5
    p_hat = random.random(values) if far else np.clip(p + 0.1 * random.normal(size=values), 0, 1)
    q = tc.Predictor(p, mass, mass * p_hat)
    stretch, more = random.choice([1.0, 1.05, 1.5, 3.0]), random.choice([1e-9, 1e-4, 0.01])
    return q, noises[int(random.integers(len(noises)))], min(float(tc.dtc(q) * stretch + more), 1.0)


def width(random: np.random.Generator) -> float:
    """One random case of a few values: (upper − value)/value."""
    found = worst_reference(*case(random, int(random.integers(1, 4)), CONTINUOUS))
    return (found.upper - found.value) / max(found.value, 1e-12)


def cpu_seconds(random: np.random.Generator) -> float:
    """One random case of eight values."""
    q, noise, eps = case(random, 8, CONTINUOUS + NARROW)
    start = process_time()
    worst_reference(q, noise, eps)
    return process_time() - start


def main() -> None:
    """Print the largest and the median relative width, and the longest and the median time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=95, help="for the widths; four times as many for the times")
    cases = parser.parse_args().cases
    random = np.random.default_rng(5)
    widths = [width(random) for _ in range(cases)]
    Console().print(f"{cases} cases: relative width at most {max(widths):.1%}, median {np.median(widths):.2%}")
    spent = [cpu_seconds(random) for _ in range(4 * cases)]
    Console().print(
        f"{4 * cases} cases of eight values: at most {max(spent):.2f} s of CPU, median {np.median(spent):.2f}"
    )


if __name__ == "__main__":
    main()
