"""The kernel decorator: one source, two ways to run it, the same bits."""

import numpy as np

from trustcal.kernels import WORTH_COMPILING, kernel


@kernel
def square(x: float) -> float:
    return x * x


@kernel
def weighted(values: np.ndarray, by: float = 1.0) -> float:
    total = 0.0
    for i in range(len(values)):
        total += square(values[i]) / by
    return total


def test_a_kernel_gives_the_same_bits_compiled() -> None:
    x = np.random.default_rng(0).random(1000)
    assert weighted.on(WORTH_COMPILING - 1) is weighted.function
    assert weighted.on(WORTH_COMPILING) is weighted.compiled
    assert weighted.on(1) is weighted.compiled  # it is there, so it is used
    assert weighted(x) == weighted.compiled(x)
    assert weighted(x, 3.0) == weighted.compiled(x, 3.0)
