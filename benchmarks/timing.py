"""How benchmarks measure: the best of several runs, and the peak of memory over what was there before."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable


def seconds(work: Callable[[], object], repeat: int = 5, patience: float = 10.0) -> float:
    """The shortest of `repeat` runs, or of as many as fit into `patience` seconds."""
    best, start = float("inf"), time.perf_counter()
    for _ in range(repeat):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
        if time.perf_counter() - start > patience:
            break
    return best


def peak_megabytes(work: Callable[[], object]) -> float:
    """The most memory that the work held at once, beyond its input (numpy reports its arrays)."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
