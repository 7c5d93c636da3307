"""The command line: parses and prints.  Every room is imported when a command needs it, so that --help is quick."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from trustcal.cli import fixing, measuring, playing, streams, theory


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.  Returns 0, or 2 with one line on the standard error where the input is at fault."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an old code page has no ≤: rather a ? than nothing at all
    try:
        parser = _parser()
        if "_ARGCOMPLETE" in os.environ:  # set by a shell that the package argcomplete has taught to ask what may come
            import_module("argcomplete").autocomplete(parser)
        options = parser.parse_args(arguments)
        status: int = options.run(options)
        if sys.stdout is not None:  # it was not closed before we came
            sys.stdout.flush()
        return status
    except ValueError as error:
        print(f"trustcal: {_line(str(error))}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, head for instance, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk, say
        place = "" if error.filename is None else f"{_line(str(error.filename))}: "
        print(f"trustcal: {place}{error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _line(message: str) -> str:
    """A message on one line, without what could be a command to the terminal: it may quote the user's file."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in " ".join(message.split())
    )


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as every other refusal does."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    from trustcal import __version__

    parser = _Parser(prog="trustcal", description="What does it cost to believe these probabilities?")
    parser.add_argument("--version", action="version", version=f"trustcal {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    for room in (measuring, fixing, theory, playing, streams):
        room.add_commands(commands)
    return parser
