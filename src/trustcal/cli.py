"""The command line: parses and prints.  Every room is imported when a command needs it, so that --help is quick."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.resources import as_file, files
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.  Returns 0, or 2 with one line on the standard error where the input is at fault."""
    try:
        options = _parser().parse_args(arguments)
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except ValueError as error:
        print(f"trustcal: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, head for instance, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk, say
        print(f"trustcal: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as every other refusal does."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    from trustcal import __version__

    parser = _Parser(prog="trustcal", description="What does it cost to believe these probabilities?")
    parser.add_argument("--version", action="version", version=f"trustcal {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    audit = commands.add_parser("audit", help="measure a file of predictions and outcomes")
    audit.add_argument("file", metavar="FILE", help="CSV, TSV or Parquet, a row per prediction")
    audit.add_argument("-p", "--prediction", metavar="COLUMN", required=True, help="predicted probabilities")
    audit.add_argument("-y", "--outcome", metavar="COLUMN", required=True, help="what happened, 0/1 or true/false")
    audit.add_argument("-w", "--weight", metavar="COLUMN", help="weights of the rows")
    audit.add_argument("--payoff", metavar="FILE", help="your decision problem: a CSV with the header action,0,1")
    audit.add_argument("--json", action="store_true", help="print every number as JSON")
    audit.set_defaults(run=_audit)

    demo = commands.add_parser("demo", help="audit a naive Bayes model of census incomes")
    demo.set_defaults(run=_demo)
    return parser


def _audit(options: argparse.Namespace) -> int:
    from rich.console import Console

    from trustcal.auditing import audit
    from trustcal.report.terminal import show
    from trustcal.sources import read, read_payoff

    problem = None if options.payoff is None else read_payoff(options.payoff)
    with Console(stderr=True).status(f"Reading {options.file} …") as status:  # shown in terminals only
        q = read(options.file, prediction=options.prediction, outcome=options.outcome, weight=options.weight)
        status.update(f"Measuring {len(q):,} distinct predictions …")
        result = audit(q, problem=problem)
    if options.json:
        print(result.to_json())
    else:
        show(result)
    return 0


def _demo(_: argparse.Namespace) -> int:
    with as_file(files("trustcal") / "examples" / "census_income.csv") as file:
        print("Naive Bayes on who earns more than $50,000 a year: 16,281 people of the 1994 US census.")
        command = ["audit", str(file), "--prediction", "prediction", "--outcome", "outcome"]
        print(f"$ trustcal {' '.join(command)}")
        return main(command)
