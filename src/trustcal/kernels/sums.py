"""Sums whose rounding errors do not grow with their length."""

from __future__ import annotations

import numpy as np

from trustcal.kernels import FloatArray, kernel


@kernel
def plus(total: float, error: float, value: float) -> tuple[float, float]:
    """Kahan's compensated sum: add a value to a total that is too large by `error`."""
    value -= error
    new = total + value
    return new, (new - total) - value


@kernel
def compensated_total(x: FloatArray) -> float:
    """The sum of x by Kahan's method: `plus` inlined, since function calls are slow in plain Python."""
    total = error = 0.0
    for i in range(len(x)):
        value = x[i] - error
        new = total + value
        error = (new - total) - value
        total = new
    return total


@kernel
def compensated_sums(x: FloatArray) -> FloatArray:
    """The running sums of x by Kahan's method."""
    sums = np.empty(len(x))
    total = error = 0.0
    for i in range(len(x)):
        value = x[i] - error
        new = total + value
        error = (new - total) - value
        total = sums[i] = new
    return sums


@kernel
def running_total(values: FloatArray) -> FloatArray:
    """Running sums with Neumaier's correction: each is accurate to about one rounding, however many values."""
    sums = np.empty(len(values))
    total, lost = 0.0, 0.0
    for i in range(len(values)):
        larger = total + values[i]
        if abs(total) >= abs(values[i]):
            lost += (total - larger) + values[i]
        else:
            lost += (values[i] - larger) + total
        total = larger
        sums[i] = total + lost
    return sums
