"""A law on nodes, with the running sums that the distance to calibration needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trustcal.kernels import FloatArray, kernel
from trustcal.kernels.sums import plus


class Nodes(NamedTuple):
    """A law on nodes that begin with 0 and end with 1.  A flow is written x: zeros if x > 0, −x ones if x < 0."""

    q: FloatArray
    p: FloatArray  # 1 − q
    w0: FloatArray  # zeros at each node
    w1: FloatArray  # ones
    c: FloatArray  # the bias q·w0 − p·w1
    c0: FloatArray  # c/q: the bias as a flow of zeros
    c1: FloatArray  # c/p: the bias as a flow of ones
    before0: FloatArray  # zeros at the nodes before i
    before1: FloatArray  # ones
    need: FloatArray  # the ones that the zeros of nodes 0, …, i need to stay where they are: the sum of w0·q/p
    west: FloatArray  # the flow that leaves node i in the west: the sum of c1 up to i
    east: FloatArray  # minus the flow that reaches node i in the east: the sum of c0 from i on


@kernel
def _ratio(x: float, y: float) -> float:
    """x/y, bounded where the value does not matter: at nodes so close to 0 or 1 that no such flow gets there."""
    if x == 0.0:
        return 0.0
    if abs(x) >= 1e30 * y:
        return 1e30 if x > 0.0 else -1e30
    return x / y


@kernel
def nodes_of(q: FloatArray, p: FloatArray, w0: FloatArray, w1: FloatArray) -> Nodes:
    """The law with its running sums, compensated.  O(n)."""
    n = len(q)
    c, c0, c1 = np.empty(n), np.empty(n), np.empty(n)
    before0, before1, need, west, east = np.zeros(n + 1), np.zeros(n + 1), np.empty(n), np.empty(n), np.zeros(n + 1)
    s0 = s1 = sn = sw = se = e0 = e1 = en = ew = ee = 0.0
    for i in range(n):
        zeros, ones = q[i] * w0[i], p[i] * w1[i]
        bias = zeros - ones
        c[i] = bias if abs(bias) > 4e-16 * (zeros + ones) else 0.0  # rounding errors must not set a direction
        c0[i], c1[i] = _ratio(c[i], q[i]), _ratio(c[i], p[i])
        s0, e0 = plus(s0, e0, w0[i])
        s1, e1 = plus(s1, e1, w1[i])
        sn, en = plus(sn, en, _ratio(zeros, p[i]))
        sw, ew = plus(sw, ew, c1[i])
        before0[i + 1], before1[i + 1], need[i], west[i] = s0, s1, sn, sw
    for i in range(n - 1, -1, -1):
        se, ee = plus(se, ee, c0[i])
        east[i] = se
    return Nodes(q, p, w0, w1, c, c0, c1, before0, before1, need, west, east)
