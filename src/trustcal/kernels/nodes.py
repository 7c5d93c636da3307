"""A law on nodes, with the running sums that the distance to calibration needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trustcal.kernels import FloatArray
from trustcal.kernels.blocks import blocks
from trustcal.kernels.sums import compensated_sums


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


def _ratio(x: FloatArray, y: FloatArray) -> FloatArray:
    """x/y, bounded where the value does not matter: at nodes so close to 0 or 1 that no such flow gets there."""
    bounded = np.where(np.abs(x) >= 1e30 * y, np.where(x > 0.0, 1e30, -1e30), x / y)
    return np.where(x == 0.0, 0.0, bounded)


@np.errstate(all="ignore")  # both sides of every choice are computed
def nodes_of(q: FloatArray, p: FloatArray, w0: FloatArray, w1: FloatArray) -> Nodes:
    """The law with its running sums, compensated.  Only the sums are compiled.  O(n)."""
    c, c0, c1, needed = np.empty((4, len(q)))
    for part in blocks(len(q)):
        zeros, ones = q[part] * w0[part], p[part] * w1[part]
        bias = zeros - ones
        bias[np.abs(bias) <= 4e-16 * (zeros + ones)] = 0.0  # rounding errors must not set a direction
        c[part], c0[part], c1[part] = bias, _ratio(bias, q[part]), _ratio(bias, p[part])
        needed[part] = _ratio(zeros, p[part])
    sums = compensated_sums.on(len(q))
    before0, before1, east = np.zeros((3, len(q) + 1))
    before0[1:], before1[1:], east[-2::-1] = sums(w0), sums(w1), sums(np.ascontiguousarray(c0[::-1]))
    need, west = sums(needed), sums(c1)
    return Nodes(q, p, w0, w1, c, c0, c1, before0, before1, need, west, east)
