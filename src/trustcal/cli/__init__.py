"""The command line: parse and print.  Commands import the rest of the package when they run, so --help is fast."""

from __future__ import annotations

import argparse
import gc
import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from trustcal.cli import arena, audit, bound, claims, compare, demo, fix, hard, watch
from trustcal.cli.compiling import compiling_announced
from trustcal.cli.endings import discard, ended_by_signals, forgiving_errors, leave
from trustcal.formats import one_line

UNEXPECTED = 70
"""The exit status for an error that is trustcal's own: sysexits.h calls it an internal software error."""
SELDOM = 100_000
"""New objects between two runs of the garbage collector: imports make many objects, and hardly any garbage."""


def run() -> NoReturn:
    """The program: `main`, in a process of its own, which ends with it."""
    gc.set_threshold(SELDOM)
    leave(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.  Returns its exit status.

    0    done
    1    a gate of --fail-if fails
    2    the input is invalid, or a file cannot be read or written: one line on the standard error says why
    70   an unexpected error, to be reported; with TRUSTCAL_DEBUG=1 with its traceback
    130  interrupted; 128 + n by signal n
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a legacy code page without ≤ prints ?
    options, ended = argparse.Namespace(closed=0), list[int]()
    try:
        with forgiving_errors(), compiling_announced(), ended_by_signals(ended):
            return _status(arguments, options, ended)
    except KeyboardInterrupt:
        return 128 + (ended or [signal.SIGINT])[0]


def _status(arguments: Sequence[str] | None, options: argparse.Namespace, ended: list[int]) -> int:
    """Run the command; its exit status."""
    try:
        _command(arguments, options)
        status: int = options.run(options)
        if sys.stdout is not None:  # None where it was closed from the start
            sys.stdout.flush()
        return status
    except Exception as error:  # also what a library makes of an interrupt
        return 128 + ended[0] if ended else _failed(error, options)


def _failed(error: Exception, options: argparse.Namespace) -> int:
    """Say what went wrong, in one line; the exit status."""
    if isinstance(error, BrokenPipeError):  # the reader, such as head, stopped reading
        discard(sys.stdout)
        return int(options.closed)
    if isinstance(error, ValueError | ImportError):
        return _invalid(str(error))
    if isinstance(error, OSError):  # a full disk, say
        discard(sys.stdout)
        place = "" if error.filename is None else f"{error.filename}: "
        return _invalid(f"{place}{error.strerror or error}")
    if isinstance(error, MemoryError):
        return _invalid("there is not enough memory for this.")
    if os.environ.get("TRUSTCAL_DEBUG", "0") != "0":
        raise error
    said = one_line(f"{type(error).__name__}: {error}", 300).rstrip(".: ")
    print(
        f"trustcal: unexpected error, {said}. This is a bug: please report it, with the command and what it prints if "
        "TRUSTCAL_DEBUG=1 is set.",
        file=sys.stderr,
    )
    return UNEXPECTED


def _command(arguments: Sequence[str] | None, options: argparse.Namespace) -> None:
    """Parse the arguments into the options."""
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:  # set by argcomplete
        with suppress(ImportError):
            import_module("argcomplete").autocomplete(parser)
    given = sys.argv[1:] if arguments is None else arguments
    for argument in given:
        if not argument.isascii() and argument.encode(errors="replace") != argument.encode(errors="surrogatepass"):
            raise ValueError(f"arguments must be UTF-8 text, but {argument!r} is not. Rename the file or the column.")
    parser.parse_args(given, options)


def _invalid(message: str) -> int:
    print(one_line(f"trustcal: {message}"), file=sys.stderr)
    return 2


class _Parser(argparse.ArgumentParser):
    """Reports an error as one line, like every other invalid input."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    from trustcal import __version__

    parser = _Parser(prog="trustcal", description="What does it cost to believe these probabilities?")
    parser.add_argument("--version", action="version", version=f"trustcal {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    for command in (demo, audit, compare, fix, watch, bound, hard, claims, arena):
        command.add_command(commands)
    return parser
