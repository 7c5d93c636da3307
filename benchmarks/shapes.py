"""Six kinds of predictions that calibration measures meet, easy and hard, each with outcomes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def shapes(n: int, rng: np.random.Generator) -> Iterator[tuple[str, FloatArray, NDArray[np.bool_]]]:
    """Name, predictions and outcomes of n rows."""
    p = rng.random(n)
    yield "uniform, calibrated", p, rng.random(n) < p
    yield "uniform, miscalibrated", p, rng.random(n) < p**2
    p = rng.beta(0.3, 0.3, n)
    yield "U-shaped", p, rng.random(n) < 0.1 + 0.8 * p
    p = rng.beta(0.5, 50, n)
    yield "rare events", p, rng.random(n) < 1.5 * p
    p = np.clip(np.where(rng.random(n) < 0.5, 0.3, 0.7) + rng.normal(0, 0.01, n), 0, 1)
    yield "two clusters", p, rng.random(n) < 1 - p
    half = rng.random(n // 2) / 2  # every row has a mirror image, and both are wrong
    p = np.concatenate([half, 1 - half])
    wrong = rng.random(n // 2) < 0.6
    yield "adversarial symmetric", p, np.concatenate([wrong, ~wrong])
