"""Shooting: near-optimal potentials and law for the distance to calibration, O(n) per shot.

At an optimum g = 0 except on at most one interval, so r0 = −b·s and r1 = (1 − b)·s with one unknown function s.  Write
t = (1 + s)/2, τ = 1 − t.  The curve (b, t) starts in the west of the unit square (b < t < 1 − b), passes through the
north (t above both diagonals) or, mirrored, the south, and ends in the east (1 − b < t < b).  Only one thing moves at
a time, and sideways flows x are forced by calibration at every node, with the bias c = q·w0 − (1 − q)·w1:

    west    zeros stay, ones flow     x + c/(1 − q) leaves a node        (x < 0: ones to the right, x > 0: to the left)
    north   ones or zeros flow, all to the right: x < 0 is a flow of −x ones, with (1 − b)·τ constant ("ones");
            x > 0 is a flow of x zeros, with b·τ constant ("zeros"); leaving a node, (1 − q)·x or q·x grows by c
    east    ones stay, zeros flow: what flows in must be minus the sum of c/q over the nodes to come

From west to north the curve crosses the antidiagonal.  Where ones flow right, it does so at a point x1 = x3.  Where
they flow left, it leaves an interval (x1, x3) empty: its ones go left, its zeros right, with
Σ_{q<x3} w1 = Σ_{q≤x1} w0·q/(1 − q).  So the crossings are one curve, increasing in x1 and x3, and along it the flow
that reaches the east falls short by an amount that decreases.  Its root is found by bisection over nodes: on a piece
where the flow is fixed and the curve moves, the exit to the east has a closed form (`_meet`); on a piece where the
curve is fixed and the flow moves, the flow is bisected, and cut where it changes sign (`_settle`).

Nothing here needs to be right: only the `certificates` decide what is returned.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

from trustcal.kernels import BoolArray, FloatArray, kernel
from trustcal.kernels.nodes import Nodes

POINT, OPEN, PINNED = 0, 1, 2
"""At a point x1 = x3; with an empty interval (x1, x3) that ends in a gap; with one that ends at the node q[first]."""


class Shot(NamedTuple):
    """A curve and its flow: nodes up to `last` are west, nodes from `first` to before `exit` north, the rest east."""

    kind: int  # how it crosses the antidiagonal: POINT, OPEN or PINNED
    last: int
    first: int
    ones: float  # the ones below node `first`, or in it, that go left
    h: float  # the flow that leaves node `first`, where the empty interval ends there
    free: int  # the curve is known from its start up to this node, from its exit beyond it
    exit: int
    b2: float  # where it turns east
    shots: int


@kernel
def _shortfall(v: Nodes, i: int, x: float, zeros: bool, key: float) -> float:
    """The flow missing in the east when flow x enters the north before node i.

    The key is what stays constant along the curve: b·τ while zeros flow, (1 − b)·τ while ones do.
    """
    q, p, c, c0, c1 = v.q, v.p, v.c, v.c0, v.c1
    inside = True
    while inside:
        if zeros:
            inside = False
            while key < q[i] * p[i]:
                y = x + c0[i]
                i += 1
                if y < 0.0:
                    x = (q[i - 1] * x + c[i - 1]) / p[i - 1]
                    key *= p[i - 1] / q[i - 1]
                    zeros, inside = False, True
                    break
                x = y
        else:
            inside = False
            while key < p[i] * p[i]:
                y = x + c1[i]
                i += 1
                if y > 0.0:
                    x = (p[i - 1] * x + c[i - 1]) / q[i - 1]
                    key *= q[i - 1] / p[i - 1]
                    zeros, inside = True, True
                    break
                x = y
    if not zeros:
        root = sqrt(key)  # the curve meets the diagonal at b2 = 1 − root; an atom there takes the ones, for its zeros
        x *= root / (1.0 - root)
    missing: float = x + v.east[i]
    return missing


@kernel
def _leaving(v: Nodes, i: int, h: float, zeros: bool, tau: float) -> float:
    """The shortfall when node i of the north, at height τ, is left by a flow h (q·x for zeros, p·x for ones)."""
    if zeros:
        return _shortfall(v, i + 1, h / v.q[i], True, tau * v.q[i])
    return _shortfall(v, i + 1, h / v.p[i], False, tau * v.p[i])


@kernel
def _first(total: FloatArray, target: float, low: int, high: int) -> int:
    """The first index in [low, high) with total[index] ≥ target; high if there is none."""
    while low < high:
        middle = (low + high) // 2
        if total[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _pinned(v: Nodes, a: int) -> int:
    """The node x3 that x1 = q[a] empties the interval to, when all zeros of a stay."""
    return _first(v.before1, v.need[a], a + 1, len(v.q)) - 1


@kernel
def released(v: Nodes, a: int, b: int, ones: float) -> float:
    """The zeros that flow into node b from the empty interval (q[a], q[b]), when that many ones below b go left."""
    freed = (v.need[a] - ones) * v.p[a] / v.q[a] if v.q[a] > 0.0 else 0.0
    zeros: float = v.before0[b] - v.before0[a + 1] + min(max(freed, 0.0), v.w0[a])
    return zeros


@kernel
def _vertex(v: Nodes, a: int, b: int, ones: float) -> float:
    """The flow h that leaves node b = x3 when x1 = q[a]."""
    h: float = v.q[b] * (released(v, a, b, ones) + v.w0[b]) - v.p[b] * (v.before1[b + 1] - ones)
    return h


@kernel
def _vertex_shortfall(v: Nodes, x1: float, b: int, h: float) -> float:
    """The shortfall when (x1, q[b]) is empty and h leaves b; beyond x1 + x3 = 1 the curve cannot pass the north."""
    if x1 > v.p[b]:
        return -inf
    return _leaving(v, b, h, h >= 0.0, x1)


@kernel
def _crossing(v: Nodes, a: int) -> float:
    """The shortfall when x1 is just right of q[a]."""
    if v.west[a] <= 0.0:
        return -inf if v.q[a] > 0.5 else _shortfall(v, a + 1, v.west[a], False, v.q[a] * v.p[a])
    b = _pinned(v, a)
    return _vertex_shortfall(v, v.q[a], b, _vertex(v, a, b, v.need[a]))


@kernel
def _record(v: Nodes, i: int, stop: int, h: float, out: FloatArray, mode: BoolArray) -> None:
    """The flow h leaves node i: write what leaves the nodes i, …, stop − 1, whose directions are known."""
    for k in range(i, stop):
        out[k] = h / v.q[k] if mode[k] else h / v.p[k]
        if k + 1 < stop:
            h = (v.q[k + 1] if mode[k] else v.p[k + 1]) * out[k] + v.c[k + 1]


@kernel
def _parting(v: Nodes, i: int, high: float, low: float, tau: float, mode: BoolArray) -> tuple[int, float, float, float]:
    """Where flows high > low that leave node i first differ in direction: node, both flows there, τ.

    If they reach the east together, minus the exit stands for the node, and the key there for τ.
    """
    while not low < 0.0 < high:
        mode[i] = high > 0.0
        side = v.q if mode[i] else v.p
        key = tau * side[i]
        high, low = high / side[i], low / side[i]
        i += 1
        if key >= side[i] * v.p[i]:  # at the latest at the last node, where p = 0
            return -i, high, low, key
        high, low = side[i] * high + v.c[i], side[i] * low + v.c[i]
        tau = key / side[i]
    return i, high, low, tau


@kernel
def _meet(v: Nodes, i: int, x: float, zeros: bool, ever: bool, out: FloatArray, mode: BoolArray) -> tuple[int, float]:
    """Follow the flow x that enters the north before node i until it has to turn east, if ever: exit node, and b2.

    Turning at b leaves a shortfall of x + east while zeros flow, and of x·(1 − b)/b + east, which increases with b,
    while ones do.  The curve is not used: it is drawn backward from there later.
    """
    while i < len(v.q) - 1:
        if ever and (x + v.east[i] if zeros else x * v.p[i] + v.east[i] * v.q[i]) >= 0.0:
            break
        h = (v.q[i] if zeros else v.p[i]) * x + v.c[i]
        zeros = h >= 0.0 if zeros else h > 0.0
        x = h / v.q[i] if zeros else h / v.p[i]
        out[i], mode[i] = x, zeros
        i += 1
    if zeros:
        return i, v.q[i]
    b2 = x / (x - v.east[i]) if x < v.east[i] else 1.0  # x·(1 − b2)/b2 + east = 0
    return i, min(max(b2, v.q[i - 1], 0.5), v.q[i])


@kernel
def shot_without_shortfall(v: Nodes, out: FloatArray, mode: BoolArray) -> Shot:
    """Shoot until nothing is missing; `out` is what leaves the nodes of the north, `mode` whether that is zeros."""
    low, a, shots = 0, len(v.q) - 1, 1
    if _crossing(v, 0) <= 0.0:  # the bias has one sign: the curve runs along the edge t = 1, and never turns
        _meet(v, 1, v.west[0], False, False, out, mode)
        return Shot(POINT, 0, 1, 0.0, 0.0, 0, a, 1.0, shots)
    while a - low > 1:
        middle = (low + a) // 2
        shots += 1
        if _crossing(v, middle) > 0.0:
            low = middle
        else:
            a = middle
    # The root lies right of q[low] and not right of q[a].  While x1 moves between them, the flow does not change.
    shots += 1
    if v.west[low] <= 0.0:
        if v.west[a] <= 0.0 or v.q[a] > 0.5 or _shortfall(v, a, v.west[low], False, v.q[a] * v.p[a]) <= 0.0:
            turn, b2 = _meet(v, a, v.west[low], False, True, out, mode)
            return Shot(POINT, low, a, 0.0, 0.0, low, turn, b2, shots)
        return _shot_from(v, low, a, a, shots, out, mode)
    b = max(a, _pinned(v, low))
    h = _vertex(v, low, b, v.need[low])
    if _vertex_shortfall(v, v.q[a], b, h) <= 0.0:
        mode[b] = h >= 0.0
        out[b] = h / v.q[b] if mode[b] else h / v.p[b]
        turn, b2 = _meet(v, min(b + 1, len(v.q) - 1), out[b], mode[b], True, out, mode)
        return Shot(PINNED, low, b, v.need[low], h, b - 1, turn, b2, shots)
    return _shot_from(v, low, a, b, shots, out, mode)


@kernel
def _shot_from(v: Nodes, low: int, a: int, first: int, shots: int, out: FloatArray, mode: BoolArray) -> Shot:
    """The shot without shortfall when x1 = q[a] and x3 is q[first] or more."""
    begin, b = first - 1, _pinned(v, a) if v.west[a] > 0.0 else first
    while b - begin > 1:
        middle = (begin + b) // 2
        shots += 1
        if _vertex_shortfall(v, v.q[a], middle, _vertex(v, a, middle, v.before1[middle + 1])) > 0.0:
            begin = middle
        else:
            b = middle
    if b > first:  # the root may lie in the gap before q[b]: there the flow does not change
        ones = v.before1[b]
        x = released(v, a, b, ones)
        shots += 1
        if v.q[a] > v.p[b] or _shortfall(v, b, x, True, v.q[a] * v.q[b]) <= 0.0:
            turn, b2 = _meet(v, b, x, True, True, out, mode)
            return Shot(OPEN, a, b, ones, 0.0, b - 1, turn, b2, shots)
    # x3 = q[b]: the curve does not change, but ever more ones go left instead of joining zeros at b.
    fewest, most = max(v.before1[b], v.need[low]), min(v.before1[b + 1], v.need[a])
    high = _vertex(v, a, b, fewest)
    h, free, turn, b2, more = _settle(v, b, v.q[a], high, _vertex(v, a, b, most), out, mode)
    slope = v.q[b] * v.p[a] / v.q[a] - v.p[b]
    ones = min(fewest + (high - h) / slope, most) if slope > 0.0 else fewest
    return Shot(PINNED, a, b, ones, h, free, turn, b2, shots + more)


@kernel
def _settle(
    v: Nodes, start: int, x1: float, high: float, low: float, out: FloatArray, mode: BoolArray
) -> tuple[float, int, int, float, int]:
    """The flow h out of node `start` without shortfall, between low and high, when the curve is given there: τ = x1.

    The shortfall jumps where the flow out of some node changes sign, because the curve goes elsewhere from there.  At
    the jump that flow is 0 and the curve is free beyond the node.  Returns h, the free node, exit, b2, and shots.
    """
    i, tau, shots, settled = start, x1, 0, low
    for _ in range(200):
        node, up, down, height = _parting(v, i, high, low, tau, mode)
        if node < 0:  # one curve for all flows in between: the shortfall is linear in the flow
            turn, root = -node, sqrt(height)
            gain = 1.0 if mode[turn - 1] else root / (1.0 - root)
            surplus, deficit = gain * up + v.east[turn], gain * down + v.east[turn]
            share = deficit / (deficit - surplus) if deficit < 0.0 < surplus else 0.0
            h = low + (high - low) * share
            _record(v, i, turn, h, out, mode)
            return (h if i == start else settled), turn, turn, 1.0 - root, shots
        cut = low + (high - low) * (down / (down - up))  # the flow that ends at this node
        shots += 2
        if _leaving(v, node, 0.0, False, height) > 0.0:
            up, high = 0.0, cut
        elif _leaving(v, node, 0.0, True, height) <= 0.0:
            down, low = 0.0, cut
        else:
            _record(v, i, node, cut, out, mode)
            out[node] = 0.0
            turn, b2 = _meet(v, node + 1, 0.0, False, True, out, mode)
            return (cut if i == start else settled), node, turn, b2, shots
        middle = low + 0.5 * (high - low)
        if high - low < 1e-18 or not low < middle < high:  # settled up to the node, within rounding: go on there
            settled = cut if i == start else settled
            _record(v, i, node, cut, out, mode)
            i, tau, high, low = node, height, up, down
            continue
        shots += 1
        if _leaving(v, i, middle, middle >= 0.0, tau) > 0.0:
            high = middle
        else:
            low = middle
    return settled, i, i + 1, v.q[i + 1], shots  # never seen; the certificates would show it
