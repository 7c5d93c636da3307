"""Where nothing can be cached: a read-only installation, a user without a home, a full or damaged cache."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from trustcal.kernels.cache import cache_of
from trustcal.kernels.sums import plus

PROGRAM = """
import numpy as np, trustcal as tc
p = np.random.default_rng(0).random(30_000)
print(repr(tc.monotone_cdl(np.random.default_rng(1).random(30_000) < p**2, p)))
"""


def measured(folder: Path, **environment: str) -> str:
    """What a process prints that compiles a kernel, with this folder for numba's cache."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder), **environment},
    )
    assert done.stderr == ""
    return done.stdout


def cached(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.nb[ci]"))


@pytest.mark.slow
def test_a_cache_that_is_damaged_changes_nothing(tmp_path: Path) -> None:
    """numba itself runs the machine code of a damaged entry, and fails on a damaged index."""
    want = measured(tmp_path)
    assert float(want) > 0
    files = cached(tmp_path)
    assert len(files) >= 2
    rng = random.Random(0)
    for damage in range(3):
        for file in files:
            data = bytearray(file.read_bytes())
            for _ in range(8):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            file.write_bytes((bytes(data), b"", data[: len(data) // 2])[damage])
        assert measured(tmp_path) == want
        assert cached(tmp_path) == files


@pytest.mark.slow
def test_no_home_and_no_cache(tmp_path: Path) -> None:
    want = measured(tmp_path)
    assert measured(Path("/proc/none"), HOME="/nonexistent", XDG_CACHE_HOME="/proc/none") == want


def test_without_a_place_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What numba does with a read-only installation and no home: no locator is available."""
    from numba.core.caching import FunctionCache, NullCache

    with monkeypatch.context() as patch:
        patch.setattr(FunctionCache._impl_class, "_locator_classes", [])
        assert isinstance(cache_of(plus.source), NullCache)
    assert not isinstance(cache_of(plus.source), NullCache)


def test_a_cache_that_cannot_be_used_is_not_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    cache = cache_of(plus.source)
    cache._cache_file._index_path = str(tmp_path)  # a folder: neither read nor written
    assert cache.load_overload(None, None) is None
    assert cache.save_overload(None, None) is None
