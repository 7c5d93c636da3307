"""The noises again, in thirty digits and from their definitions: slow, and independent of the package's formulas."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from mpmath import erfc, exp, floor, mp, mpf, quad, sqrt, workdps

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
from trustcal.predictor import Predictor

mp.dps = 30  # fifty digits give the same to 4e-29
Real = Callable[[mpf], mpf]


def line(noise: Noise) -> tuple[Real, Real]:
    """The density and the distribution function of the noise on the whole line."""
    if isinstance(noise, UniformNoise):
        w = mpf(noise.width)
        return lambda y: mpf(abs(y) <= w) / (2 * w), lambda y: min(mpf(1), max(mpf(0), (y + w) / (2 * w)))
    assert isinstance(noise, TruncatedLaplace | ClampedLaplace | TruncatedGaussian | ClampedGaussian | ClampedPlateau)
    s = mpf(noise.scale)
    if isinstance(noise, ClampedPlateau):
        return lambda y: tail(y / s) / s, lambda y: below(y / s)
    if isinstance(noise, TruncatedLaplace | ClampedLaplace):
        return lambda y: exp(-abs(y) / s) / (2 * s), lambda y: exp(y / s) / 2 if y < 0 else 1 - exp(-y / s) / 2
    return (
        lambda y: exp(-((y / s) ** 2) / 2) / (s * sqrt(2 * mp.pi)),
        lambda y: erfc(-y / (s * sqrt(2))) / 2,
    )


def tail(z: mpf) -> mpf:
    """The density of plateau noise of scale 1; also what is beyond z, if |z| ≥ 1."""
    return exp(-max(abs(z) - 1, mpf(0))) / 4


def below(z: mpf) -> mpf:
    if abs(z) <= 1:
        return mpf(1) / 2 + z / 4
    return tail(z) if z < 0 else 1 - tail(z)


def truncated(noise: Noise) -> bool:
    return isinstance(noise, TruncatedLaplace | TruncatedGaussian)


def density(noise: Noise, x: float, q: float) -> mpf:
    f, cumulative = line(noise)
    inside = cumulative(1 - mpf(q)) - cumulative(-mpf(q)) if truncated(noise) else 1
    return f(mpf(x) - mpf(q)) / inside


def cdf(noise: Noise, x: float, q: float) -> mpf:
    """Pr[M(q) ≤ x] for 0 ≤ x < 1."""
    place, prediction = mpf(x), mpf(q)
    if isinstance(noise, RandomRounding):
        cell = floor(prediction * mpf(noise.cells))
        up = prediction * mpf(noise.cells) - cell
        points = [
            float(np.minimum(float(cell + step) / noise.cells, 1.0)) for step in (0, 1)
        ]  # as the doubles they are
        return (1 - up) * (x >= points[0]) + up * (x >= points[1])
    _, cumulative = line(noise)
    if truncated(noise):
        start, end = cumulative(-prediction), cumulative(1 - prediction)
        return (cumulative(place - prediction) - start) / (end - start)
    return cumulative(place - prediction)


def mean_displacement(noise: Noise, q: float) -> mpf:
    """E|M(q) − q|: the integral of Pr[M(q) ≤ x] below q, and of Pr[M(q) > x] above."""
    scale = getattr(noise, "scale", None) or getattr(noise, "width")  # noqa: B009 - whichever it has
    steps = [mpf(10) ** k * scale for k in range(-2, 3)] + [mpf(scale)]

    def pieces(length: mpf) -> list[mpf]:
        return sorted({mpf(0), length, *(step for step in steps if step < length)})

    below = quad(lambda d: cdf(noise, mpf(q) - d, q), pieces(mpf(q)))
    above = quad(lambda d: 1 - cdf(noise, mpf(q) + d, q), pieces(1 - mpf(q)))
    return below + above


def tv(noise: Noise, b: float, q: float) -> mpf:
    """The largest Pr[M(b) ≤ t] − Pr[M(q) ≤ t] over t (b < q; the densities cross once)."""
    if isinstance(noise, UniformNoise):  # flat densities do not cross; by symmetry t is in the middle
        return cdf(noise, (mpf(b) + mpf(q)) / 2, b) - cdf(noise, (mpf(b) + mpf(q)) / 2, q)
    low, high = mpf(0), mpf(1)
    for _ in range(100):  # the difference rises until the densities cross
        middle = (low + high) / 2
        low, high = (middle, high) if density(noise, middle, b) > density(noise, middle, q) else (low, middle)
    return cdf(noise, low, b) - cdf(noise, low, q)


def ece_after(noise: ClampedGaussian | TruncatedGaussian, q: Predictor) -> float:
    """ECE after Gaussian noise: ∫ |p·W − V| over [0, 1] and the atoms, in enough digits for any scale."""
    with workdps(130):
        f, cumulative = line(noise)
        s, zero, rows = mpf(noise.scale), mpf(0), bells(noise, q)

        def bias(x: mpf) -> mpf:
            return sum(((x * w - v) * f(x - p) for p, w, v in rows), zero)

        def integral(x: mpf) -> mpf:
            """Of the bias up to x."""
            return sum(((p * w - v) * cumulative(x - p) - w * s * s * f(x - p) for p, w, v in rows), zero)

        total = sum((abs(integral(b) - integral(a)) for a, b in pairwise(cut_at_roots(bias, s, rows))), zero)
        if not truncated(noise):
            total += abs(sum((v * cumulative(-p) for p, _, v in rows), zero))
            total += abs(sum(((w - v) * cumulative(p - 1) for p, w, v in rows), zero))
        return float(total)


def regret_after(noise: ClampedGaussian | TruncatedGaussian, q: Predictor, mu: float) -> float:
    """R(μ) after Gaussian noise: ∫ (V − μW)⁺ − ∫_{p > μ} (V − μW), and the atoms, in enough digits for any scale."""
    with workdps(130):
        f, cumulative = line(noise)
        threshold, zero, one, rows = mpf(mu), mpf(0), mpf(1), bells(noise, q)

        def gain(x: mpf) -> mpf:
            return sum(((v - threshold * w) * f(x - p) for p, w, v in rows), zero)

        def integral(x: mpf) -> mpf:
            """Of the gain up to x."""
            return sum(((v - threshold * w) * cumulative(x - p) for p, w, v in rows), zero)

        cuts = cut_at_roots(gain, mpf(noise.scale), rows)
        total = sum((max(integral(b) - integral(a), zero) for a, b in pairwise(cuts)), zero)
        total -= integral(one) - integral(threshold)
        if not truncated(noise):
            total += max(sum(((v - threshold * w) * cumulative(-p) for p, w, v in rows), zero), zero)
            total += max(sum(((threshold * w - v) * cumulative(p - 1) for p, w, v in rows), zero), zero)
        return float(total)


def bells(noise: ClampedGaussian | TruncatedGaussian, q: Predictor) -> list[tuple[mpf, mpf, mpf]]:
    """Each value, its mass and the positive part of it; of a truncated bell, over what of it is in [0, 1]."""
    _, cumulative = line(noise)
    rows = []
    for p, mass, positive in zip(*(map(mpf, x.tolist()) for x in (q.p, q.mass, q.positive)), strict=True):
        inside = cumulative(1 - p) - cumulative(-p) if truncated(noise) else mpf(1)
        rows.append((p, mass / inside, positive / inside))
    return rows


def cut_at_roots(f: Real, scale: mpf, rows: list[tuple[mpf, mpf, mpf]]) -> list[mpf]:
    """0, 1 and between them the roots of f, found on a grid of at most a quarter of the scale around each value."""
    zero, one = mpf(0), mpf(1)
    grid: list[mpf] = []
    for p, _, _ in rows:  # in order: each value adds what is beyond the one before it
        start = -88 if not grid else max(-88, int((grid[-1] - p) / scale * 8) + 1)
        grid += [p + scale * k / 8 for k in range(start, 89)]
    x = sorted({zero, one, *(place for place in grid if 0 < place < 1)})
    cuts = [zero]
    for left, right in pairwise(x):
        rising = f(left) < 0
        if rising != (f(right) < 0):
            for _ in range(40):  # an error in a root counts with its square
                middle = (left + right) / 2
                left, right = (middle, right) if (f(middle) < 0) == rising else (left, middle)
            cuts.append(left)
    return [*cuts, one]
