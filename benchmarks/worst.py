"""How wide are the intervals of `worst_reference` for continuous noises, on random predictors of a few values?

python -m benchmarks.worst                                  # some two minutes; --cases 20 for a look
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console

import trustcal as tc
from trustcal.noise import TruncatedGaussian, TruncatedLaplace, UniformNoise
from trustcal.smoothing import worst_reference

NOISES = (UniformNoise(0.2), TruncatedLaplace(0.1), TruncatedGaussian(0.1))


def width(random: np.random.Generator) -> float:
    """One random case: (upper − value)/value."""
    values = int(random.integers(1, 4))
    p, mass = np.sort(random.random(values)), random.dirichlet(np.ones(values))
    far = random.random() < 0.5
    p_hat = random.random(values) if far else np.clip(p + 0.1 * random.normal(size=values), 0, 1)
    q = tc.Predictor(p, mass, mass * p_hat)
    stretch, more = random.choice([1.0, 1.05, 1.5, 3.0]), random.choice([1e-9, 1e-4, 0.01])
    found = worst_reference(q, NOISES[int(random.integers(3))], min(float(tc.dtc(q) * stretch + more), 1.0))
    return (found.upper - found.value) / max(found.value, 1e-12)


def main() -> None:
    """Print the largest and the median relative width."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=95)
    cases = parser.parse_args().cases
    random = np.random.default_rng(5)
    widths = [width(random) for _ in range(cases)]
    Console().print(f"{cases} cases: relative width at most {max(widths):.1%}, median {np.median(widths):.2%}")


if __name__ == "__main__":
    main()
