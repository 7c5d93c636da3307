"""Files as streams of bytes, packed or not, by their names."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, final

PACKED = (".gz", ".zst")


def packing(file: Path) -> str:
    """.gz, .zst or nothing."""
    suffix = file.suffix.lower()
    return suffix if suffix in PACKED else ""


@final
@dataclass(frozen=True)
class Unpacked:
    """The bytes in a file, unpacked.  What cannot be read is refused in one line."""

    file: Path
    raw: IO[bytes]
    stream: Any

    def read(self, size: int) -> bytes:
        """The next bytes, at most so many; none at the end."""
        with self._refusals():
            return bytes(self.stream.read(size))

    def lines(self, size: int) -> list[bytes]:
        """The next lines with their ends, about so many bytes; none at the end."""
        with self._refusals():
            return list(self.stream.readlines(size))

    def share(self) -> float:
        """How much of the file has been read, of 1."""
        return min(1.0, max(1, self.raw.tell()) / max(1, self.file.stat().st_size))

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{self.file} cannot be read: {error}.") from None


@contextmanager
def unpacked(file: Path) -> Iterator[Unpacked]:
    """The file, open to be read."""
    with ExitStack() as stack:
        try:
            raw = stack.enter_context(file.open("rb"))
        except OSError as error:
            raise ValueError(f"{file} cannot be read: {error.strerror}.") from None
        if packing(file) == ".gz":
            yield Unpacked(file, raw, stack.enter_context(gzip.GzipFile(fileobj=raw)))
        elif packing(file) == ".zst":
            unpacking = stack.enter_context(_arrow().CompressedInputStream(raw, "zstd"))
            yield Unpacked(file, raw, stack.enter_context(BufferedReader(unpacking)))
        else:
            yield Unpacked(file, raw, raw)


@contextmanager
def packed(file: Path) -> Iterator[Any]:
    """A stream to write to, packed as the file's name says; the same bytes give the same file."""
    with ExitStack() as stack:
        raw = stack.enter_context(file.open("wb"))
        if packing(file) == ".gz":
            yield stack.enter_context(gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0))
        elif packing(file) == ".zst":
            yield stack.enter_context(_arrow().CompressedOutputStream(raw, "zstd"))
        else:
            yield raw


def decoded(file: Path, data: bytes) -> str:
    """The bytes as text, or a refusal: what cannot be read back is not copied either."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError(
            f"{file} cannot be read: it is not utf-8 encoded. Convert it, with iconv for instance."
        ) from None


def _arrow() -> Any:
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError:
        raise ValueError("files with .zst need the package pyarrow, which is not installed.") from None
