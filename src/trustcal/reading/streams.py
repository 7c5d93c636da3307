"""Compressed files, recognised by their names."""

from __future__ import annotations

import gzip
import json
import zlib
from io import BufferedReader
from pathlib import Path
from typing import Any

PACKED = (".gz", ".zst")
_LONGEST = 1 << 24
"""Bytes of a first line that are looked at."""


def packing(file: Path) -> str:
    """.gz, .zst or nothing."""
    suffix = file.suffix.lower()
    return suffix if suffix in PACKED else ""


def refuse_damaged(file: Path) -> None:
    """Raise a ValueError if the checksum of a gzip file does not fit: DuckDB does not look at it.  O(n)."""
    if packing(file) != ".gz":
        return
    try:
        with gzip.open(file) as stream:
            while stream.read(1 << 20):
                pass
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{file} cannot be read: {error}.") from None


def first_line(file: Path) -> str:
    """The first line of a text file, compressed or not, without its end and a byte order mark."""
    try:
        with file.open("rb") as raw:
            stream: Any = raw
            if packing(file) == ".gz":
                stream = gzip.GzipFile(fileobj=raw)
            elif packing(file) == ".zst":
                import pyarrow as pa

                stream = BufferedReader(pa.CompressedInputStream(raw, "zstd"))
            # A line may end with a carriage return alone.
            lines = stream.readline(_LONGEST).splitlines()
            return str(lines[0].decode("utf-8-sig")) if lines else ""
    except UnicodeDecodeError:
        raise ValueError(
            f"{file} cannot be read: it is not utf-8 encoded. Convert it, with iconv for instance."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{file} cannot be read: {error}.") from None


def not_json(file: Path) -> str:
    """Where the first line of a file is that is not JSON, in words; nothing if that is not known.  O(n)."""
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    json.loads(line if line.strip() else "0")
                except ValueError:
                    return "" if packing(file) else f" in line {number:,}"
    except (OSError, RecursionError):
        pass
    return ""
