"""Bets against calibration: the loop behind the monitor's alarm.

Only + − × ÷, square roots and comparisons, which round alike on every machine: plain Python on one row at a time and
compiled code on a million give the same bits.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from trustcal.kernels import kernel

LARGE = 2.0**256
"""Wealth above this is counted in units of it, so that no product overflows."""


@kernel
def tilted(q: float, happened: bool, odds: float) -> float:
    """Likelihood ratio of the outcome if the odds are `odds` times those of q."""
    return (odds if happened else 1.0) / ((1.0 - q) + q * odds)


@kernel
def sloped(q: float, happened: bool, factors: Any) -> None:
    """Likelihood ratios if the log odds are 1/2, 3/4, 5/4, 3/2, 2 or 3 times those of q, written to `factors`.

    With slope a and u the probability of what happened, v = 1 − u, this is u^(a − 1) / (u^a + v^a).
    """
    u = q if happened else 1.0 - q
    v = 1.0 - q if happened else q
    s, t = sqrt(u), sqrt(v)
    f, g = sqrt(s), sqrt(t)
    factors[0] = (1.0 / s) / (s + t)
    factors[1] = (1.0 / f) / (s * f + t * g)
    factors[2] = f / (u * f + v * g)
    factors[3] = s / (u * s + v * t)
    factors[4] = u / (u * u + v * v)
    factors[5] = u * u / (u * u * u + v * v * v)


@kernel
def grown(count: int, factors: Any, wealth: Any, units: Any, clock: Any) -> float:
    """One round of a table of bets: A ← (A + w_n)·factor for each.  Returns the mean of A + w_{n+1} + w_{n+2} + …

    The rounds n from 2^j to 2^(j+1) − 1 share 1/((j + 1)(j + 2)) of the stake equally.  `clock` holds n, 2^j and j.
    Infinite if some bet is worth 2^256 or more.
    """
    clock[0] += 1
    if clock[0] == 2 * clock[1]:
        clock[1] = clock[0]
        clock[2] += 1
    share = 1.0 / (clock[1] * ((clock[2] + 1.0) * (clock[2] + 2.0)))
    later = (2 * clock[1] - 1 - clock[0]) * share + 1.0 / (clock[2] + 2.0)
    total, huge = 0.0, False
    for b in range(count):
        # Next to a unit of wealth the share is negligible; dropping it only lowers the wealth.
        value = (wealth[b] + share if units[b] == 0 else wealth[b]) * factors[b]
        while value >= LARGE:
            value /= LARGE
            units[b] += 1
        while units[b] > 0 and value < 1.0:
            value *= LARGE
            units[b] -= 1
        wealth[b] = value
        total += value
        huge = huge or units[b] > 0
    return float("inf") if huge else total / count + later


@kernel
def bet(
    q: Any,
    y: Any,
    limit: float,
    odds: Any,
    edges: Any,
    keep: Any,
    prior: Any,
    counts: Any,
    wealth: Any,
    units: Any,
    clocks: Any,
    worth: Any,
    seen: Any,
    factors: Any,
) -> tuple[int, int]:
    """Feed outcomes y of predictions q to every bet; the state (`wealth` … `seen`) changes in place.

    Table 0 bets on every row, 1 on slopes, 2 on what was learned in each bin (`seen`, discounted by `keep`), 3 + b on
    the rows of bin b.  Returns the first index at which Σ prior·worth reached the limit, and the first at which a
    prediction of 0 or 1 failed; −1 for never.  A prediction of 0 or 1 that comes true changes nothing.
    """
    reached, failed = -1, -1
    for i in range(len(q)):
        p, happened = q[i], y[i] > 0
        if p == 0.0 or p == 1.0:
            if failed < 0 and happened != (p == 1.0):
                failed = i
            continue
        cell = 0
        while cell < len(edges) and p >= edges[cell]:
            cell += 1
        for b in range(len(odds)):
            factors[b] = tilted(p, happened, odds[b])
        worth[0] = grown(counts[0], factors, wealth[0], units[0], clocks[0])
        worth[3 + cell] = grown(counts[3 + cell], factors, wealth[3 + cell], units[3 + cell], clocks[3 + cell])
        sloped(p, happened, factors)
        worth[1] = grown(counts[1], factors, wealth[1], units[1], clocks[1])
        for b in range(len(keep)):
            row = seen[b][cell]  # ones, zeros, and the predicted numbers of each; 2 is added to each for shrinkage
            factors[b] = tilted(p, happened, ((row[0] + 2.0) * (row[3] + 2.0)) / ((row[1] + 2.0) * (row[2] + 2.0)))
            row[0] = keep[b] * row[0] + (1.0 if happened else 0.0)
            row[1] = keep[b] * row[1] + (0.0 if happened else 1.0)
            row[2] = keep[b] * row[2] + p
            row[3] = keep[b] * row[3] + (1.0 - p)
        worth[2] = grown(counts[2], factors, wealth[2], units[2], clocks[2])
        if reached < 0:
            total = 0.0
            for table in range(len(worth)):
                total += prior[table] * worth[table]
            if total >= limit:
                reached = i
    return reached, failed
