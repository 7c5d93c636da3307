"""Maximum likelihood for maps on the logit scale: by Newton's method, on values with masses and mean targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from trustcal.rows import run_starts

FloatArray = NDArray[np.float64]

BINS: Final = 1024
"""Values are merged into at most this many bins of equal mass where a curve has too few coefficients to notice."""


def binned(mass: FloatArray, columns: Sequence[FloatArray]) -> tuple[FloatArray, list[FloatArray]]:
    """Neighbouring values merged into bins of equal mass: the masses, and the mean of each column."""
    middle = np.cumsum(mass) - mass / 2
    starts = run_starts(np.floor(middle / mass.sum() * BINS))
    total = np.add.reduceat(mass, starts)
    return total, [np.add.reduceat(column * mass, starts) / total for column in columns]


def increasing_coefficients(table: FloatArray, target: FloatArray, weight: FloatArray, start: FloatArray) -> FloatArray:
    """The nondecreasing coefficients with the largest penalised likelihood, by Newton's method on their increments."""
    from scipy.optimize import lsq_linear  # slow to import, and needed for splines only

    size = table.shape[1]
    sums = np.tril(np.ones((size, size)))
    bend = np.diff(np.diff(np.eye(size), axis=0) / np.diff(start)[:, None], axis=0) @ sums
    features = np.einsum("ni,ij->nj", table, sums)
    bounds = (np.append(-np.inf, np.zeros(size - 1)), np.full(size, np.inf))

    def loss(steps: FloatArray) -> float:
        score, curved = np.einsum("ni,i->n", features, steps), bend @ steps
        return float((weight * (np.logaddexp(0, score) - target * score)).sum() + curved @ curved / 2)

    found = np.append(start[0], np.diff(start))
    least = loss(found)
    for _ in range(100):
        p = expit(np.einsum("ni,i->n", features, found))
        slope = np.einsum("ni,n->i", features, weight * (p - target)) + bend.T @ (bend @ found)
        curvature = np.einsum("ni,nj,n->ij", features, features, weight * p * (1 - p)) + bend.T @ bend
        curvature += 1e-10 * np.trace(curvature) / size * np.eye(size)
        root = np.linalg.cholesky(curvature).T
        best = lsq_linear(root, np.linalg.solve(root.T, curvature @ found - slope), bounds, method="bvls").x
        step = found - best
        while slope @ step > 1e-13 * weight.sum():
            new = loss(found - step)
            if new < least:
                break
            step = step / 2
        else:
            break
        found, least = found - step, new
    return np.asarray(np.maximum.accumulate(sums @ np.maximum(found, bounds[0])))


def logistic_coefficients(columns: Sequence[FloatArray], target: FloatArray, mass: FloatArray) -> FloatArray:
    """The maximum-likelihood coefficients, by Newton's method with step halving.

    It starts at 0, where no score is so large that the curvature vanishes; many values start from their bins.
    """
    start = np.zeros(len(columns))
    if len(mass) > 8 * BINS:
        total, (mean, *means) = binned(mass, [target, *columns])
        start = logistic_coefficients(means, mean, total)

    def scored(found: FloatArray) -> FloatArray:
        return np.asarray(sum(x * column for x, column in zip(found.tolist(), columns, strict=True)))

    def loss(score: FloatArray) -> float:
        return float((mass * (np.logaddexp(0, score) - target * score)).sum())

    found, score = start, scored(start)
    least = loss(score)
    for _ in range(100):
        p = expit(score)
        error, spread = mass * (p - target), mass * p * (1 - p)
        slope = np.array([(error * column).sum() for column in columns])
        curvature = np.array([[(spread * one * other).sum() for one in columns] for other in columns])
        step = np.linalg.lstsq(curvature, slope, rcond=1e-12)[0]
        while slope @ step > 1e-16:  # twice the gain that the step predicts; below this it is rounding
            score = scored(found - step)
            new = loss(score)
            if new < least:
                break
            step = step / 2
        else:
            break
        found, least = found - step, new
    return found
