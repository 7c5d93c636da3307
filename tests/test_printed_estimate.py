"""The estimate that an audit prints for continuous predictions, (M_n − mean floor)⁺, has little bias."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.bin_free import LAWS, estimates


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_bias_at_a_thousand_rows(name: str) -> None:
    prediction, chance, truth = LAWS[name]
    rng = np.random.default_rng(0)
    found = np.array([estimates(1000, prediction, chance, rng) for _ in range(60)])
    printed, held_out, same = found[:, -1].mean(), found[:, 3].mean(), found[:, 1].mean()
    assert abs(printed - truth) <= 0.1 * truth + 0.003
    assert held_out < truth + 0.003  # Theorem 37: between the two, on average
    assert same > truth
