"""Following bytes as they come, from a growing file or a pipe, and cutting them into whole lines."""

from __future__ import annotations

import os
import select
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import final

CHUNK = 1 << 16
HEAD = 1 << 16
"""A stream is known again by so many of its first bytes."""
LONGEST = 1 << 20
"""A line longer than this is no row of a table."""


@final
@dataclass(frozen=True)
class Position:
    """How much of a stream has been counted."""

    offset: int
    """Bytes, from the start of the stream."""
    lines: int
    open: bool
    """Whether the last of these lines had no end: then the stream ended with it."""
    head: str
    """SHA-256 of the first min(offset, 64 KiB) bytes, by which the stream is known again."""


class Chunks(ABC):
    """Where bytes come from."""

    @abstractmethod
    def read(self, patience: float) -> bytes | None:
        """The next bytes; b"" at the end of the stream; None if none came within `patience` seconds."""

    @abstractmethod
    def skip(self, offset: int) -> bytes:
        """Pass over so many bytes: the first 64 KiB of them.  Fewer, where there are fewer."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what was opened."""


@final
class FileChunks(Chunks):
    """A file that grows at its end, if `follow`; else it is taken as finished."""

    def __init__(self, path: Path, follow: bool) -> None:
        if path.exists() and not path.is_file():
            what = "is a folder" if path.is_dir() else 'is no regular file: lead it into the standard input, "-"'
            raise ValueError(f"{path} cannot be followed: it {what}.")
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
        self._path = path
        self._follow = follow
        self._head = b""

    def read(self, patience: float) -> bytes | None:
        """Raises a `ValueError` where the file was cut, replaced or written anew."""
        chunk = self._file.read(CHUNK)
        if self._follow:
            self._refuse_another_file(bool(chunk))
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

    def _refuse_another_file(self, more: bool) -> None:
        """What was read before must still be there; and where nothing more comes, the name must mean this file."""
        remedy = "What came before is counted. Watch the new file with a state of its own."
        here, read = os.fstat(self._file.fileno()), self._file.tell()
        if here.st_size < read:
            raise ValueError(f"{self._path} was cut to {here.st_size} bytes after {read} had been read. {remedy}")
        if os.pread(self._file.fileno(), len(self._head), 0) != self._head:
            raise ValueError(f"{self._path} was written anew while it was watched. {remedy}")
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

    def read(self, patience: float) -> bytes | None:
        """Waits with `select`, so that a signal is noticed though nothing comes."""
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        ready, _, _ = select.select([self._descriptor], [], [], patience)
        return os.read(self._descriptor, CHUNK) if ready else None

    def skip(self, offset: int) -> bytes:
        """Reads and drops.  O(offset)."""
        head, passed = b"", 0
        while passed < offset:
            chunk = os.read(self._descriptor, CHUNK)
            if not chunk:
                return b""
            head = (head + chunk)[: min(offset, HEAD)]
            passed += len(chunk)
            self._ahead = chunk[len(chunk) - max(0, passed - offset) :]
        return head

    def close(self) -> None:
        """The pipe is its owner's."""


@final
class Lines:
    """Bytes cut into lines.  A last line without its end waits for the rest of it, or for the end of the stream."""

    def __init__(self) -> None:
        self._rest = b""
        self._head = b""
        self._offset = 0
        self._open = False
        self.count = 0
        """How many lines have been cut off."""

    def resume(self, chunks: Chunks, position: Position, name: str) -> None:
        """Pass over what was counted before, if that is what the stream begins with; else a `ValueError`."""
        self._head = chunks.skip(position.offset)
        self._offset, self._open, self.count = position.offset, position.open, position.lines
        if self.position != position:
            raise ValueError(
                f"{name} does not begin with the {position.offset} bytes ({position.lines} lines) that were counted "
                "before: it was cut, written anew, or is another stream. Use another state for it."
            )

    def cut(self, chunk: bytes) -> list[bytes]:
        """The lines that the chunk completes."""
        data = self._rest + chunk
        if self._open and data:
            if not data.startswith((b"\n", b"\r")):
                raise ValueError(
                    f"line {self.count}, the last one counted, had no end then and has grown since: "
                    "it was counted too early. Use another state, and follow the file while it grows."
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
                f"line {self.count + len(whole) + 1} is longer than {LONGEST} bytes: this is no CSV and no JSON lines."
            )
        self._counted(data[: len(data) - len(self._rest)])
        self.count += len(whole)
        return whole

    def last(self) -> list[bytes]:
        """At the end of the stream: the line without an end, if there is one."""
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
        """How much has been cut off."""
        return Position(self._offset, self.count, self._open, sha256(self._head).hexdigest())
