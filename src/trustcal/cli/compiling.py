"""Says on the terminal that kernels are being compiled, which happens once after an install and takes a while."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def compiling_announced() -> Iterator[None]:
    """Print the first message of the kernels on the standard error, if that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    import logging

    class Once(logging.Handler):
        """Prints one message; `sys.stderr` is looked up then, since a progress display may have replaced it."""

        def emit(self, record: logging.LogRecord) -> None:
            """Print it, and listen no longer."""
            log.removeHandler(self)
            print(record.getMessage(), file=sys.stderr)

    log, listener = logging.getLogger("trustcal.kernels"), Once()
    level = log.level
    log.addHandler(listener)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(listener)
        log.setLevel(level)
