"""Noise that makes predictions safe to act on: each a random map M of [0, 1] to itself, known in closed form.

    truncated   q + Y conditioned on [0, 1], the paper's sense        TruncatedLaplace, TruncatedGaussian
    clamped     q + Y, with what leaves [0, 1] put on its ends        UniformNoise, ClampedLaplace, ClampedGaussian,
                                                                      ClampedPlateau
    rounded     q rounded up or down at random, on a finite grid      RandomRounding

Two numbers decide what a noise guarantees: how far it moves predictions (`displacement`, `decision_displacement`) and
how fast its law changes with them (`tv_slope`).

>>> noise = UniformNoise.for_distance(0.005)
>>> noise.width, noise.sample([0.2, 0.7], rng=1).round(3)
(0.1, array([0.286, 0.713]))
"""

from trustcal.noise.gaussian import ClampedGaussian, TruncatedGaussian
from trustcal.noise.laplace import ClampedLaplace, TruncatedLaplace
from trustcal.noise.mechanism import Atoms, Displacement, Noise, PerTarget, Target
from trustcal.noise.plateau import ClampedPlateau
from trustcal.noise.rounding import RandomRounding
from trustcal.noise.table import NOISES
from trustcal.noise.uniform import UniformNoise

__all__ = [
    "NOISES",
    "Atoms",
    "ClampedGaussian",
    "ClampedLaplace",
    "ClampedPlateau",
    "Displacement",
    "Noise",
    "PerTarget",
    "RandomRounding",
    "Target",
    "TruncatedGaussian",
    "TruncatedLaplace",
    "UniformNoise",
]
