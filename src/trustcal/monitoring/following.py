"""Follow a growing file or a pipe, and split its bytes into whole lines."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any, Self, final

from trustcal.checking import checked_count, refuse_other

CHUNK = 1 << 16
HEAD = 1 << 16
"""Number of first bytes by which a stream is recognised."""
LONGEST = 1 << 20
"""A longer line is not a row of a table."""


@final
@dataclass(frozen=True)
class Position:
    """The part of a stream that has been counted."""

    offset: int
    """Bytes, from the start of the stream."""
    lines: int
    open: bool
    """Whether the last of these lines, at the end of the stream, had no line break."""
    head: str
    """SHA-256 of the first min(offset, 64 KiB) bytes, by which the stream is recognised."""

    @classmethod
    def restored(cls, fields: dict[str, Any]) -> Self:
        """The position with these fields, as they were saved, if it is possible."""
        found = cls(**fields)
        checked_count("lines", found.lines, least=0, most=checked_count("offset", found.offset, least=0))
        refuse_other("open", found.open, bool, "true or false")
        refuse_other("head", found.head, str, "text")
        return found


class Chunks(ABC):
    """A source of bytes."""

    @abstractmethod
    def read(self, patience: float) -> bytes | None:
        """The next bytes; b"" at the end of the stream; None if none arrived within `patience` seconds."""

    @abstractmethod
    def skip(self, offset: int) -> bytes:
        """Skip `offset` bytes and return the first 64 KiB of them; b"" if there are fewer."""

    @abstractmethod
    def close(self) -> None:
        """Release the source."""


@final
class FileChunks(Chunks):
    """A file that grows at its end, if `follow`; else a finished one."""

    def __init__(self, path: Path, follow: bool) -> None:
        if path.exists() and not path.is_file():
            what = "is a folder" if path.is_dir() else 'is not a regular file: pipe it into the standard input, "-"'
            raise ValueError(f"{path} cannot be followed: it {what}.")
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
        self._path = path
        self._follow = follow
        self._head = b""

    def read(self, patience: float) -> bytes | None:
        """Raise a `ValueError` if the file was truncated, replaced or rewritten."""
        chunk = self._file.read(CHUNK)
        if self._follow:
            self._raise_if_replaced(bool(chunk))
        if chunk:
            self._head = (self._head + chunk)[:HEAD]
            return chunk
        if not self._follow:
            return b""
        time.sleep(patience)
        return None

    def skip(self, offset: int) -> bytes:
        """Seeks.  O(1)."""
        self._head = self._file.read(min(offset, HEAD))
        self._file.seek(min(offset, os.fstat(self._file.fileno()).st_size))
        return self._head if self._file.tell() == offset else b""

    def _raise_if_replaced(self, more: bool) -> None:
        """The bytes read so far must still be there; with no new ones, the name must still mean this file."""
        remedy = "The rows before that are counted. Watch the new file with another state file."
        here, read = os.fstat(self._file.fileno()), self._file.tell()
        if here.st_size < read:
            raise ValueError(f"{self._path} was truncated to {here.st_size} bytes after {read} had been read. {remedy}")
        self._file.seek(0)
        head = self._file.read(len(self._head))
        self._file.seek(read)
        if head != self._head:
            raise ValueError(f"{self._path} was rewritten while it was watched. {remedy}")
        if more:
            return
        try:
            there = os.stat(self._path)
        except OSError:
            raise ValueError(f"{self._path} was removed or renamed while it was watched. {remedy}") from None
        if (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino):
            raise ValueError(f"{self._path} was replaced by another file while it was watched. {remedy}")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@final
class PipeChunks(Chunks):
    """A pipe, such as the standard input: it ends when its writer closes it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._ahead = b""
        self._arrived: Queue[bytes | OSError] = Queue(maxsize=1)
        self._reader: Thread | None = None

    def read(self, patience: float) -> bytes | None:
        """Wait for a thread that reads, so that a signal is noticed while the pipe is idle, on every system."""
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        return self._next(patience)

    def _next(self, patience: float | None) -> bytes | None:
        if self._reader is None:
            self._reader = Thread(target=self._fill, daemon=True)
            self._reader.start()
        try:
            chunk = self._arrived.get(timeout=patience)
        except Empty:
            return None
        if isinstance(chunk, OSError):
            raise ValueError(f"the standard input cannot be read: {chunk.strerror}.")
        return chunk

    def _fill(self) -> None:
        while True:
            try:
                chunk = os.read(self._descriptor, CHUNK)
            except OSError as error:
                self._arrived.put(error)
                return
            self._arrived.put(chunk)
            if not chunk:
                return

    def skip(self, offset: int) -> bytes:
        """Read and discard.  O(offset)."""
        head, passed = b"", 0
        while passed < offset:
            chunk = self._next(None)
            if not chunk:
                return b""
            head = (head + chunk)[: min(offset, HEAD)]
            passed += len(chunk)
            self._ahead = chunk[len(chunk) - max(0, passed - offset) :]
        return head

    def close(self) -> None:
        """Leave the pipe open: it belongs to the caller."""


@final
class Lines:
    """Splits bytes into lines.  An incomplete last line waits for the rest, or for the end of the stream."""

    def __init__(self) -> None:
        self._rest = b""
        self._head = b""
        self._offset = 0
        self._open = False
        self.count = 0
        """Number of complete lines so far."""

    def resume(self, chunks: Chunks, position: Position, name: str) -> None:
        """Skip what was counted before; raise a `ValueError` if the stream does not begin with it."""
        self._head = chunks.skip(position.offset)
        self._offset, self._open, self.count = position.offset, position.open, position.lines
        if self.position != position:
            raise ValueError(
                f"{name} does not begin with the {position.offset} bytes ({position.lines} lines) that were counted "
                "before: it was truncated or rewritten, or is another stream. Use another state file for it."
            )

    def cut(self, chunk: bytes) -> list[bytes]:
        """The lines that the chunk completes."""
        data = self._rest + chunk
        if self._open and data:
            if not data.startswith((b"\n", b"\r")):
                raise ValueError(
                    f"line {self.count}, the last one counted, was incomplete and has grown since. "
                    "Use another state file, and follow the file while it grows."
                )
            if b"\n" not in data:
                self._rest = data
                return []
            end = data.index(b"\n") + 1
            self._counted(data[:end])
            self._open, data = False, data[end:]
        *whole, self._rest = data.split(b"\n")
        if len(self._rest) > LONGEST:
            raise ValueError(
                f"line {self.count + len(whole) + 1} is longer than {LONGEST} bytes: neither CSV nor JSON lines."
            )
        self._counted(data[: len(data) - len(self._rest)])
        self.count += len(whole)
        return whole

    def last(self) -> list[bytes]:
        """At the end of the stream: the last line, if it has no line break."""
        rest, self._rest = self._rest, b""
        self._counted(rest)
        if rest and not self._open:
            self._open = True
            self.count += 1
            return [rest]
        return []

    def _counted(self, data: bytes) -> None:
        self._offset += len(data)
        if len(self._head) < HEAD:
            self._head = (self._head + data)[:HEAD]

    @property
    def position(self) -> Position:
        """The part of the stream in complete lines."""
        return Position(self._offset, self.count, self._open, sha256(self._head).hexdigest())
