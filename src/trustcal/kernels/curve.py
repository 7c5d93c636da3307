"""From a shot to the input of the certificates: the potentials along its curve and the law that its flow leaves."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from trustcal.kernels import BoolArray, FloatArray, kernel
from trustcal.kernels.nodes import Nodes, nodes_of
from trustcal.kernels.sums import plus
from trustcal.kernels.transport import PINNED, POINT, Shot, released, shot_without_shortfall


@np.errstate(all="ignore")  # compiled code would not warn either, and the certificates judge the result
def law_left(v: Nodes, s: Shot, out: FloatArray) -> tuple[FloatArray, float]:
    """The law of b at the nodes, and the atom at b2.  Not compiled: nothing here depends on the node before."""
    law, west, east = np.zeros(len(v.q)), slice(s.last + 1), slice(s.exit, None)
    law[west] = v.w0[west] / v.p[west]  # zeros stay
    x = v.west[s.last]
    if s.kind != POINT:
        x = released(v, s.last, s.first, s.ones)
        law[s.last] = (v.w0[s.last] - (x - (v.before0[s.first] - v.before0[s.last + 1]))) / v.p[s.last]
    start = s.first
    if s.kind == PINNED:
        b = s.first
        law[b] += (v.before1[b + 1] - s.ones) / v.q[b] if s.h >= 0.0 else (v.w0[b] + x) / v.p[b]
        x, start = out[b], start + 1
    if start < s.exit:
        north, into = slice(start, s.exit), np.append(x, out[start : s.exit - 1])
        with_zeros = (v.w1[north] + np.maximum(-into, 0.0)) / v.q[north]
        with_ones = (v.w0[north] + np.maximum(into, 0.0)) / v.p[north]
        law[north], x = np.where(out[north] >= 0.0, with_zeros, with_ones), out[s.exit - 1]
    law[east] = v.w1[east] / v.q[east]  # ones stay
    return law, float(max(-x, 0.0) / s.b2)


@kernel
def potentials_along(v: Nodes, s: Shot, out: FloatArray, mode: BoolArray) -> tuple[FloatArray, FloatArray]:
    """r0 and r1 at the nodes, on the curve of a shot."""
    q, p, n = v.q, v.p, len(v.q)
    r0, r1, tau = np.empty(n), np.empty(n), np.empty(n)
    b, turn = s.first, s.exit
    pinned, empty = s.kind == PINNED, s.kind != POINT
    # North, forward from the start, where the curve is known there, and backward from the exit.
    zeros = mode[turn - 1] if turn > b else empty
    key = q[turn] * p[turn] if zeros else (1.0 - s.b2) * (1.0 - s.b2)
    if s.free >= b:
        tau[b] = q[s.last]
        for i in range(b + 1, min(s.free + 1, turn)):
            tau[i] = tau[i - 1] * (q[i - 1] / q[i] if mode[i - 1] else p[i - 1] / p[i])
        if s.free >= turn:
            key = tau[turn - 1] * (q[turn - 1] if zeros else p[turn - 1])
    after = key
    for i in range(turn - 1, max(s.free, b - 1), -1):
        tau[i] = key / (q[i] if mode[i] else p[i])
        if i > b:
            key = tau[i] * (q[i] if mode[i - 1] else p[i])
    i = s.free + 1
    while b < i < turn and out[i - 1] == 0.0:  # no flow yet: as low as the start allows, until the exit is in reach
        tau[i] = max(tau[i], tau[i - 1] * q[i - 1] / q[i])
        i += 1
    for i in range(b, turn):
        r0[i] = -q[i] * (1.0 - 2.0 * tau[i])
        r1[i] = p[i] * (1.0 - 2.0 * tau[i])
    # The crossing, and the west from there.
    if empty:
        x1 = tau[b] if pinned and s.free < b and turn > b else q[s.last]
        x3 = q[b] if pinned else (tau[b] * q[b] if turn > b else after) / x1
        line0, line1 = 2.0 * x1 * x3, 2.0 * (1.0 - x1) * (1.0 - x3)
        for i in range(s.last + 1, b):
            r0[i], r1[i] = line0 - q[i], line1 - p[i]
        r = line1 - p[s.last]
    else:
        key = min(0.25, tau[b] * p[b] if turn > b else after)
        b1 = 2.0 * key / (1.0 + sqrt(1.0 - 4.0 * key))
        r = (1.0 - b1) * (1.0 - 2.0 * b1) + (b1 - q[s.last] if v.west[s.last] < 0.0 else 0.0)
    error = 0.0
    for i in range(s.last, -1, -1):
        r0[i], r1[i] = -q[i] * r / p[i], r
        if i > 0 and v.west[i - 1] != 0.0:
            r, error = plus(r, error, q[i] - q[i - 1] if v.west[i - 1] < 0.0 else q[i - 1] - q[i])
    # East from the exit.
    r = 2.0 * after - q[turn]
    if not zeros:
        r = s.b2 * (1.0 - 2.0 * s.b2)
        if v.east[turn] != 0.0:
            r += q[turn] - s.b2 if v.east[turn] > 0.0 else s.b2 - q[turn]
    error = 0.0
    for i in range(turn, n):
        r0[i], r1[i] = r, -p[i] * r / q[i]
        if i + 1 < n and v.east[i + 1] != 0.0:
            r, error = plus(r, error, q[i + 1] - q[i] if v.east[i + 1] > 0.0 else q[i] - q[i + 1])
    return r0, r1


class Guess(NamedTuple):
    """The input of the certificates: potentials, and a law with one more atom, perhaps between the nodes."""

    r0: FloatArray
    r1: FloatArray
    law: FloatArray
    b2: float
    atom: float
    shots: int

    def on_nodes(self, z: FloatArray, w0: FloatArray, w1: FloatArray) -> tuple[FloatArray, ...]:
        """Nodes, masses, potentials and law, with b2 among the nodes if it carries mass."""
        columns = (z, w0, w1, self.r0, self.r1, self.law)
        if not self.atom > 0.0:
            return columns
        at = int(np.searchsorted(z, self.b2))
        if z[at] == self.b2:
            self.law[at] += self.atom
            return columns
        s = 2.0 * self.b2 - 1.0  # the curve is on the diagonal there, t = b
        new = (self.b2, 0.0, 0.0, -self.b2 * s, (1.0 - self.b2) * s, self.atom)
        return tuple(np.insert(column, at, value) for column, value in zip(columns, new, strict=True))


def guess(q: FloatArray, w0: FloatArray, w1: FloatArray, north: bool) -> Guess:
    """Potentials and law of the best curve through the north or the south; q begins with 0 and ends with 1.

    The south is the north with 1 − q for q and the outcomes swapped.  O(n) per shot.
    """
    n, p = len(q), 1.0 - q
    sides = (q, p, w0, w1) if north else (p[::-1], q[::-1], w1[::-1], w0[::-1])
    v = nodes_of(*(np.ascontiguousarray(side) for side in sides))
    out, mode = np.zeros(n), np.zeros(n, dtype=np.bool_)
    shot = shot_without_shortfall.on(n)(v, out, mode)
    law, atom = law_left(v, shot, out)
    r0, r1 = potentials_along.on(n)(v, shot, out, mode)
    if north:
        return Guess(r0, r1, law, shot.b2, atom, shot.shots)
    r0, r1, law = (np.ascontiguousarray(x[::-1]) for x in (r1, r0, law))
    return Guess(r0, r1, law, 1.0 - shot.b2, atom, shot.shots)
