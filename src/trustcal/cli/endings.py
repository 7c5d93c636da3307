"""How a command ends from outside: by a signal, or because nobody takes what it prints."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO, final


@contextmanager
def ended_by_signals(received: list[int]) -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an interrupt too, so that files are cleaned up; they are appended to the list.

    The interrupt may come while this begins or ends, so it must be caught outside.  A signal that is ignored, as with
    nohup, stays ignored.
    """

    def interrupt(number: int, _: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():  # only the main thread may handle signals
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def forgiving_errors() -> Iterator[None]:
    """Lose messages to a standard error that is full or closed, and nothing else: the exit status stays the same."""
    real = sys.stderr
    if real is None:  # closed from the start
        yield
        return
    sys.stderr = _Forgiving(real)
    try:
        yield
    finally:
        sys.stderr = real


@final
class _Forgiving:
    """A stream without errors of writing."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, if that is possible."""
        try:
            return self._stream.write(text)
        except OSError:
            discard(self._stream)
            return len(text)

    def flush(self) -> None:
        """Flush, if that is possible."""
        try:
            self._stream.flush()
        except OSError:
            discard(self._stream)


def leave(status: int) -> NoReturn:
    """End the process: do what is to be done at exit, but do not take apart what the system frees at once.

    Where numba is loaded, Python's own way takes a quarter of a second, a sixth of a small audit.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # a reader that has gone, or a stream that is closed
            stream.flush()
    os._exit(status)


def discard(stream: TextIO | None) -> None:
    """Send the rest of a stream nowhere: Python would fail to flush it at the end."""
    with suppress(OSError, ValueError, AttributeError):  # a stream without a file, in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[union-attr]
