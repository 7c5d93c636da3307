"""Long arrays in slices."""

from __future__ import annotations

from collections.abc import Iterator


def blocks(n: int) -> Iterator[slice]:
    """Slices small enough for the cache.

    >>> list(blocks(20_000))
    [slice(0, 16384, None), slice(16384, 20000, None)]
    """
    size = 1 << 14
    return (slice(first, min(first + size, n)) for first in range(0, n, size))
