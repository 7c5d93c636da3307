"""Where compiled kernels are kept: numba's cache on disk, which may be missing, full, read-only or damaged.

A kernel is compiled anew whenever the cache is of no use.  Every entry has a checksum: numba runs the machine code of a
damaged one.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

import logging
import pickle
from hashlib import sha256
from typing import Any, final

from numba.core import types
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

_LOG = logging.getLogger(__name__)
_ANNOUNCED = "Compiling loops for large inputs, once after an install; this takes some 10 seconds."
_DIGEST = sha256().digest_size


def cache_of(function: Any) -> Any:
    """The cache of a function; one that keeps nothing where no folder can be written to."""
    try:
        return _Cache(function)
    except (OSError, RuntimeError):  # numba: cannot cache function, no locator available
        return NullCache()


def compile_once(compiled: Any) -> None:
    """Let kernels that call this one with a constant use the version for any number.

    numba would compile it again for each literal: a fifth of the time that the first audit takes to compile.
    """
    found = compiled.get_call_template
    vars(compiled)["get_call_template"] = lambda args, kws: found(tuple(map(types.unliteral, args)), kws)


@final
class _Cache(FunctionCache):
    """numba's cache, except that no error of it ends the program."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFiles(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function; None where it cannot be loaded."""
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # whatever unpickling damaged bytes may raise
            found = None
        if found is None:
            _LOG.info(_ANNOUNCED)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled function, if that is possible."""
        try:
            super().save_overload(sig, data)
        except Exception:  # a full disk
            return


@final
class _CheckedFiles(IndexDataCacheFile):
    """numba's files, with a digest at the end of each pickle, where unpickling does not look."""

    def _dump(self, obj: Any) -> bytes:
        data: bytes = super()._dump(obj)
        return data + sha256(data).digest()

    def _load_index(self) -> dict[Any, str]:
        head = pickle.dumps(self._version, protocol=-1)
        try:
            with open(self._index_path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return {}
        found: dict[Any, str] = super()._load_index() if data.startswith(head) and _whole(data[len(head) :]) else {}
        return found

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            if not _whole(file.read()):
                return None
        return super()._load_data(name)


def _whole(data: bytes) -> bool:
    return sha256(data[:-_DIGEST]).digest() == data[-_DIGEST:]
