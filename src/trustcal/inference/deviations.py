"""How far the mean of one fixed function over rows can be from its expectation (Bennett, Chernoff; Theorem 27)."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, log1p, sqrt
from typing import final

_FOR_MOMENT = 0.1
"""The share of the error probability that is spent on the second moment."""
ROUNDING = 1e-12
"""More than rounding can add up to."""
_TANGENTS = 16
ONE_FUNCTION = "one fixed function, by Bennett's inequality with its second moment"
WEIGHTED = (
    "one fixed function, by Hoeffding's inequality with the effective sample size: for weights, or the sizes of "
    "clusters, fixed in advance"
)


def deviation(moment: float, rows: float, error: float) -> float:
    """How far the mean of f can be from its expectation on one side, if f ≤ 1 and f² has this mean over the rows."""
    most = largest_mean(moment, log(1 / (_FOR_MOMENT * error)) / rows)
    return bennett(most, log(1 / ((1 - _FOR_MOMENT) * error)) / rows)


def largest_mean(mean: float, rate: float) -> float:
    """The largest expectation in [mean, 1] whose relative entropy from the mean is at most the rate (Chernoff)."""
    low, high = min(max(mean, 0.0), 1.0), 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if relative_entropy(mean, middle) <= rate:
            low = middle
        else:
            high = middle
    return high


def relative_entropy(a: float, b: float) -> float:
    """a·ln(a/b) + (1 − a)·ln((1 − a)/(1 − b)): between coins."""
    if b >= 1:
        return 0.0 if a >= 1 else inf
    return (a * log(a / b) if a > 0 else 0.0) + ((1 - a) * log((1 - a) / (1 - b)) if a < 1 else 0.0)


def bennett(moment: float, rate: float) -> float:
    """The t with moment·h(t/moment) = rate, h(u) = (1 + u)·ln(1 + u) − u; rounded up."""
    low, high = 0.0, sqrt(2 * moment * rate) + rate  # Bernstein's inequality is weaker
    for _ in range(100):
        middle = 0.5 * (low + high)
        u = middle / moment
        if moment * ((1 + u) * log1p(u) - u) < rate:
            low = middle
        else:
            high = middle
    return high


@final
@dataclass(frozen=True)
class Tangent:
    """A line height + slope·x that lies above `deviation` at every second moment x in [0, 1]."""

    height: float
    slope: float


def tangent(moment: float, rows: float, error: float) -> Tangent:
    """The line that touches the concave function x ↦ deviation(x, rows, error) at x = moment (Theorem 39).

    With v the bound on the second moment and t = v·u the deviation, dt/dv = u − h(u)/h'(u) from v·h(t/v) = const, and
    dv/dx follows from kl(x, v) = const.
    """
    v = largest_mean(moment, log(1 / (_FOR_MOMENT * error)) / rows)
    t = bennett(v, log(1 / ((1 - _FOR_MOMENT) * error)) / rows)
    if v >= 1:
        return Tangent(t + ROUNDING, 0.0)
    u = t / v
    slope = u - ((1 + u) * log1p(u) - u) / log1p(u)
    if 0 < moment < v:
        slope *= log(v * (1 - moment) / (moment * (1 - v))) * v * (1 - v) / (v - moment)
    return Tangent(t - slope * moment + ROUNDING, slope)


def second_moment(mean: float, rows: float, error: float) -> float:
    """An upper confidence bound on the mean of a function with values in [0, 1], at a tenth of the error (Chernoff)."""
    return largest_mean(mean, log(1 / (_FOR_MOMENT * error)) / rows)


def tangents(rows: float, error: float) -> list[Tangent]:
    """Lines above `deviation`, one of them constant; each of them gives a valid bound."""
    touched = [min(0.5, 4 / rows) * (0.99 / min(0.5, 4 / rows)) ** (k / (_TANGENTS - 1)) for k in range(_TANGENTS)]
    return [Tangent(deviation(1.0, rows, error), 0.0), *(tangent(x, rows, error) for x in touched)]


def hoeffding(rows: float, error: float) -> float:
    """The deviation of a function with values in [−1, 1], by Hoeffding's inequality."""
    return sqrt(2 * log(1 / error) / rows)
