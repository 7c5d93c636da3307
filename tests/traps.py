"""Rows with every trap that an engine can fall into, and what numpy makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import trustcal as tc

THIRD32 = float(np.float32(1 / 3))
NAN = float("nan")

# One row per trap: signed zeros, a float32, neighbours, the ends, and every fault.
P = [-0.0, 0.0, 0.7, 0.7, THIRD32, 1 / 3, 0.1, 0.1, 1.0, None, NAN, -0.25, 1.5, 0.5, 0.5, float("inf"), 5e-324]
Y = [0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, None, 2, 1, 0]
W = [1.0, 2.0, 0.5, 1.0, 1.0, 0.0, 4.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]
G = ["a", "b", "a", None, "b", "a", "a", "b", "a", "a", "b", "a", "b", "a", "b", "a", "b"]
SOUND = [index for index in range(len(P)) if index not in range(9, 16)]


def trap_table() -> pa.Table:
    """The rows as Arrow holds them; the NaN has a payload and a sign that are not numpy's."""
    payload = np.array([0xFFF8_0000_0000_0123], dtype=np.uint64).view(np.float64)[0]
    p = [payload if value is not None and np.isnan(value) else value for value in P]
    return pa.table({
        "P": [0.9] * len(P),
        "p": pa.array(p, pa.float64()),
        "y": pa.array(Y, pa.int8()),
        "w": pa.array(W, pa.float64()),
        "g": pa.array(G, pa.string()),
    })  # fmt: skip


def same(a: tc.Predictor, b: tc.Predictor) -> bool:
    return a == b and a.rows == b.rows and a.effective_rows == b.effective_rows and a.moved == b.moved


def from_rows(indices: list[int], weight: list[float] | None = None) -> tc.Predictor:
    y: list[Any] = [Y[index] for index in indices]
    p: list[Any] = [P[index] for index in indices]
    return tc.Predictor.from_samples(y, p, None if weight is None else [weight[index] for index in indices])
