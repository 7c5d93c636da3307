"""Predictors that break algorithms: a generator for fuzzing, with every family we have been hurt by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trustcal import Predictor


def degenerate_predictor(rng: np.random.Generator, values: int) -> Predictor:
    """A random predictor with about this many values: clustered, at the ends, symmetric, calibrated, heavy-tailed, …"""
    p = _values(rng, values)
    mass = _masses(rng, len(p))
    if rng.random() < 0.25:  # exact symmetry about 1/2
        p = np.unique(np.concatenate([p[p < 0.5], 1 - p[p < 0.5], [0.5][: int(rng.integers(2))]]))
        p = p if len(p) else np.array([0.5])
        half = _masses(rng, len(p))
        mass = (half + half[::-1]) / (half + half[::-1]).sum()
        share = _posteriors(rng, p)
        return Predictor(p, mass, mass * (share + 1 - share[::-1]) / 2)
    return Predictor(p, mass, mass * _posteriors(rng, p))


def _values(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    family = rng.integers(9)
    p: NDArray[np.float64]
    if family == 0:
        p = rng.random(n)
    elif family == 1:
        p = rng.integers(0, 2 * n + 1, n).astype(float) / (2 * n)  # a grid, with 0 and 1 on it
    elif family == 2:
        p = rng.random() + 1e-15 * rng.integers(-n, n + 1, n).astype(float)  # gaps of 1e-15
    elif family == 3:
        p = np.where(rng.random(n) < 0.5, 1e-12 * rng.random(n), 1 - 1e-12 * rng.random(n))  # within 1e-12 of the ends
    elif family == 4:
        p = rng.beta(0.05, 0.05, n)
    elif family == 5:
        p = rng.choice([0.25, 0.5, 0.75], n) + rng.normal(0, 10.0 ** -rng.integers(1, 14), n)  # clusters
    elif family == 6:
        p = 10.0 ** rng.uniform(-15, 0, n)  # rare events
    elif family == 7:
        p = (np.arange(n) + rng.integers(2) / 2) / n  # equally spaced
    else:
        p = rng.choice([0.0, 1e-300, 5e-324, 0.5, np.nextafter(0.5, 1), np.nextafter(1, 0), 1.0], n)
    return np.unique(np.clip(p, 0, 1).astype(np.float64))


def _masses(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    family = rng.integers(4)
    if family == 0:
        mass = np.ones(n)
    elif family == 1:
        mass = rng.integers(1, 5, n).astype(float)
    elif family == 2:
        mass = rng.integers(0, 3, n).astype(float)  # zero masses
        mass[rng.integers(n)] = 1.0
    else:
        mass = 10.0 ** rng.uniform(-12, 0, n)  # a heavy tail
    return np.asarray(mass / mass.sum())


def _posteriors(rng: np.random.Generator, p: NDArray[np.float64]) -> NDArray[np.float64]:
    family = rng.integers(8)
    if family == 0:
        return p  # calibrated
    if family == 1:
        return (rng.random(len(p)) < p).astype(float)  # single rows of a calibrated model
    if family == 2:
        return rng.integers(0, 2, len(p)).astype(float)
    if family == 3:
        return np.asarray(np.clip(p + rng.choice([-0.1, 0.1, 1e-9]), 0, 1))  # bias of one sign
    if family == 4:
        return np.where(p < 0.5, 1.0, 0.0)  # the wrong way round
    if family == 5:
        return np.where(rng.random(len(p)) < 0.8, p, rng.random(len(p)))  # calibrated but for a few
    if family == 6:
        return np.full(len(p), rng.choice([0.0, 0.5, 1.0, rng.random()]))
    return rng.random(len(p))
