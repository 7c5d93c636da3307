"""The command line: parse and print.  Commands import the rest of the package when they run, so --help is fast."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from trustcal.cli import arena, audit, bound, claims, compare, demo, fix, hard, watch


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.  Returns its exit status; 2, with one line on standard error, where the input is invalid."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a legacy code page without ≤ prints ?
    try:
        parser = _parser()
        if "_ARGCOMPLETE" in os.environ:  # set by argcomplete
            import_module("argcomplete").autocomplete(parser)
        options = parser.parse_args(arguments)
        status: int = options.run(options)
        if sys.stdout is not None:  # None where it was closed from the start
            sys.stdout.flush()
        return status
    except ValueError as error:
        print(f"trustcal: {_line(str(error))}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as head, stopped reading
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk, say
        place = "" if error.filename is None else f"{_line(str(error.filename))}: "
        print(f"trustcal: {place}{error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _line(message: str) -> str:
    """The message on one line, without control characters: it may quote the user's file."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in " ".join(message.split())
    )


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
