"""Sums over the values within reach of places, and roots of such sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from trustcal.noise.density import FloatArray, running_sums

_REACH = 9.0
"""In scales; beyond, a bell has 1e-19 of its mass and less than 3e-18 of its peak."""
_FEW = 16
"""With fewer values than this within reach, on average, pairs of a place and a value are cheaper than blocks."""
_MOST_PAIRS = 1 << 20


def mixed(
    f: Callable[..., FloatArray],
    values: FloatArray,
    weights: FloatArray,
    x: FloatArray,
    scale: float,
    far: float = 0.0,
    rest: FloatArray | None = None,
) -> FloatArray:
    """Σ over values of weight·f(x, value), for weights in two rows, f being 0 for x ≪ value and `far` for x ≫ value.

    With a `rest` the sums are at places x + rest that need not be floats, and f(x, value, rest) is asked for.  Pair by
    pair where few values are within reach of each x, else in blocks.
    """
    places = (x,) if rest is None else (x, rest)
    before = np.zeros((2, len(values) + 1)) if far == 0 else far * running_sums(weights)
    near = np.searchsorted(values, x - _REACH * scale)
    stop = np.searchsorted(values, x + _REACH * scale, side="right")  # with a value at x, if the sum is x
    total = np.asarray(before[:, near])
    pairs = np.cumsum(stop - near)
    if len(x) and pairs[-1] < _FEW * len(x):
        cuts = np.searchsorted(pairs, np.arange(0, pairs[-1], _MOST_PAIRS), side="right")
        for run in map(slice, cuts, np.append(cuts[1:], len(x))):
            count = (stop - near)[run]
            which = np.repeat(np.arange(len(count)), count)
            value = np.arange(len(which)) + np.repeat(near[run] - (np.cumsum(count) - count), count)
            found = _at(f, [part[run][which] for part in places], values[value])
            for row, weight in zip(total[:, run], weights[:, value], strict=True):
                row += np.bincount(which, weight * found, minlength=len(count))
        return total
    order = np.argsort(x)
    for block in _blocks(x[order], 16 * scale):
        some = order[block]
        first, last = near[some[0]], stop[some[-1]]
        here = np.repeat(before[:, first, None], len(some), axis=1)
        for start in range(first, last, 1024):
            part = slice(start, min(start + 1024, last))
            here += weights[:, part] @ _at(f, [place[some] for place in places], values[part, None])
        total[:, some] = here
    return total


def _at(f: Callable[..., FloatArray], places: list[FloatArray], value: FloatArray) -> FloatArray:
    x, *rest = places
    return f(x, value, *rest)


def _blocks(x: FloatArray, length: float) -> Iterator[slice]:
    """Sorted points in blocks: 32 each, or up to 512 that lie within a length of each other."""
    first = 0
    while first < len(x):
        stop = min(max(first + 32, int(np.searchsorted(x, x[first] + length))), first + 512, len(x))
        yield slice(first, stop)
        first = stop


def sign_changes(f: Callable[[FloatArray], FloatArray], x: FloatArray, values: FloatArray) -> FloatArray:
    """The roots of f between points of different sign; a zero on the grid lies between its neighbours."""
    x, values = x[values != 0], values[values != 0]
    change = (values[:-1] < 0) != (values[1:] < 0)
    return some_root(f, x[:-1][change], x[1:][change])


def some_root(f: Callable[[FloatArray], FloatArray], left: FloatArray, right: FloatArray) -> FloatArray:
    """A root of f in each interval, by false position (Illinois), to 1e-10 of its length: the areas on either side feel
    the square of the error only."""
    found, at = left.copy(), np.arange(len(left))
    low, high, width, x = left, right, right - left, left
    at_low, at_high = f(low), f(high)
    rising = at_low < at_high
    for _ in range(60):
        if len(at) == 0:
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            new = low + (high - low) * (at_low / (at_low - at_high))
        new = np.where((new > low) & (new < high), new, (low + high) / 2)
        found[at] = new
        rest = np.abs(new - x) > 1e-10 * width
        at, low, high, width, x = at[rest], low[rest], high[rest], width[rest], new[rest]
        at_low, at_high, rising = at_low[rest], at_high[rest], rising[rest]
        value = f(x)
        before = (value < 0) == rising
        at_low, at_high = np.where(before, value, at_low / 2), np.where(before, at_high / 2, value)
        low, high = np.where(before, x, low), np.where(before, high, x)
    return found
