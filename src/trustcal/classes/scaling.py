"""Maps of log probabilities that are fitted by maximum likelihood: p' = softmax(W·ln p + b).

    temperature    W = a·I, a ≥ 0, b = 0                      1 number        (Guo et al. 2017, T = 1/a)
    vector         W diagonal                                 2K numbers      (Guo et al. 2017)
    matrix         any W, shrunk towards I                    K² + K          (Guo et al. 2017)
    Dirichlet      any W, only what is off its diagonal shrunk, and b         (Kull et al. 2019)

All four are concave problems.  Shrinkage is that of a normal prior, of variance 1 and, off the diagonal, of variance
1/K, so that few rows give nearly the identity.  Without it the family of vector scaling has both the identity and all
constants in it.  Probabilities below 1e-12 count as 1e-12: an exact 0 has no logarithm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trustcal.class_predictor import ClassPredictor

FloatArray = NDArray[np.float64]

LEAST: Final = 1e-12
"""Smaller probabilities count as this one."""


class Scaling(NamedTuple):
    """p' = softmax(W·ln p + b)."""

    weights: FloatArray
    """W: a vector for a diagonal matrix, else the matrix."""
    shift: FloatArray
    """b."""

    def __call__(self, p: FloatArray) -> FloatArray:
        """The new vectors.  O(K), or O(K²), each."""
        score = self.scores(logs(p))
        return np.asarray(np.exp(score - _whole(score)[:, None]))

    def scores(self, x: FloatArray) -> FloatArray:
        """W·x + b for each row x."""
        return np.asarray((x * self.weights if self.weights.ndim == 1 else x @ self.weights.T) + self.shift)


def logs(p: FloatArray) -> FloatArray:
    """The logarithms of probabilities."""
    return np.asarray(np.log(np.maximum(p, LEAST)))


def temperature(q: ClassPredictor) -> Scaling:
    """One factor on the log probabilities.

    >>> q = ClassPredictor.from_samples([0, 0, 1, 1, 2, 0], [[0.9, 0.05, 0.05]] * 4 + [[0.05, 0.05, 0.9]] * 2)
    >>> temperature(q)(np.array([[0.9, 0.05, 0.05]])).round(2)
    array([[0.44, 0.28, 0.28]])

    O(n·K) per step, of which there are a few.
    """
    width = len(q.classes)
    (factor,) = _fitted(q, np.ones(1), lambda found: (np.full(width, found[0]), np.zeros(width)), bounds=[(0, None)])
    return Scaling(np.full(width, float(factor)), np.zeros(width))


def vector(q: ClassPredictor, smoothed: bool = True) -> Scaling:
    """A factor and a shift for each class; `smoothed` as in `matrix`.  O(n·K) per step."""
    width = len(q.classes)
    start = np.append(np.ones(width), np.zeros(width))
    found = _fitted(q, start, lambda found: (found[:width], found[width:]), smoothed=smoothed)
    return Scaling(found[:width], found[width:])


def matrix(q: ClassPredictor) -> Scaling:
    """Any matrix, shrunk towards the identity.

    Targets are smoothed as in Platt's scaling: a class of N rows counts (N + 1)/(N + 2) of itself, so that the
    coefficients are finite even if vectors separate the classes.  O(n·K²) per step.
    """
    width = len(q.classes)
    return _square(q, np.ones((width, width)))


def dirichlet(q: ClassPredictor) -> Scaling:
    """Any matrix, of which only what is off the diagonal is shrunk, towards 0.  O(n·K²) per step."""
    width = len(q.classes)
    return _square(q, width * (1.0 - np.eye(width)))


def _square(q: ClassPredictor, precision: FloatArray) -> Scaling:
    """The matrix and the shift with a normal prior of these precisions around the identity."""
    width = len(q.classes)
    start = np.append(np.eye(width).ravel(), np.zeros(width))
    prior = np.append(precision.ravel(), np.ones(width))

    def parts(found: FloatArray) -> tuple[FloatArray, FloatArray]:
        return found[: width * width].reshape(width, width), found[width * width :]

    return Scaling(*parts(_fitted(q, start, parts, prior)))


def _fitted(
    q: ClassPredictor,
    start: FloatArray,
    parts: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    prior: FloatArray | None = None,
    smoothed: bool = True,
    bounds: list[tuple[float, float | None]] | None = None,
) -> FloatArray:
    """The parameters of the largest penalised likelihood, by L-BFGS from `start`, the identity."""
    from scipy.optimize import minimize  # slow to import, and not needed to audit two outcomes

    x, target, mass = logs(q.p), _targets(q, smoothed), q.mass
    penalty = np.zeros(len(start)) if prior is None else prior / (q.effective_rows or np.inf)

    def loss(found: FloatArray) -> tuple[float, FloatArray]:
        weights, shift = parts(found)
        score = Scaling(weights, shift).scores(x)
        whole = _whole(score)
        value = float(mass @ whole - (target * score).sum())
        error = mass[:, None] * np.exp(score - whole[:, None]) - target
        slope = (error * x).sum(axis=0) if weights.ndim == 1 else (error.T @ x).ravel()
        gradient = np.array([slope.sum()]) if len(start) == 1 else np.append(slope, error.sum(axis=0))
        away = found - start
        return value + float(penalty @ away**2) / 2, gradient + penalty * away

    options = {"maxiter": 500, "ftol": 1e-13, "gtol": 1e-9}
    done = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(done.x if done.fun <= loss(start)[0] else start)


def _whole(score: FloatArray) -> FloatArray:
    """ln Σ_k exp(score_k) of each row."""
    most = score.max(axis=1)
    return np.asarray(most + np.log(np.exp(score - most[:, None]).sum(axis=1)))


def _targets(q: ClassPredictor, smoothed: bool) -> FloatArray:
    """The mean target of each vector, times its mass."""
    if not smoothed:
        return q.joint
    rows = q.effective_rows or np.inf
    give = 1 / (rows * q.frequencies + 2)  # what a row gives away to the other classes
    given = q.joint * give
    others = (given.sum(axis=1, keepdims=True) - given) / (len(q.classes) - 1)
    return np.asarray(q.joint - given + others)
