"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from trustcal.reading import ClassProvenance, Provenance

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""To which every command adds its parser."""
TWO_LABELS = "0/1, true/false, yes/no, t/f or y/n"
"""Outcomes that every command reads, whatever their capitals."""


def add_source(command: argparse.ArgumentParser) -> None:
    """Add the arguments of every command that reads predictions with outcomes."""
    command.add_argument(
        "file",
        metavar="FILE",
        nargs="+",
        help="CSV, TSV, JSON, Parquet, Excel or a database, a row per prediction",
    )
    command.add_argument("-p", "--prediction", metavar="COLUMN", help="predicted probabilities (default: by name)")
    command.add_argument("-y", "--outcome", metavar="COLUMN", help="outcomes (default: by name)")
    command.add_argument("-w", "--weight", metavar="COLUMN", help="row weights")
    command.add_argument("--positive", metavar="LABEL", help=f"the label that counts as 1, if not {TWO_LABELS}")
    command.add_argument("--resolution", metavar="R", type=float, help="round predictions to multiples of R (0: never)")
    command.add_argument("--drop-invalid", action="store_true", help="drop invalid rows and report how many")


def add_payoff(command: argparse._ActionsContainer) -> None:
    """Add the user's decision problem."""
    command.add_argument("--payoff", metavar="FILE", help="your decision problem: a CSV with the header action,0,1")


def source(options: argparse.Namespace) -> dict[str, Any]:
    """The parsed arguments of `add_source`, by the names that `trustcal.read` and `trustcal.audit` use."""
    names = ("prediction", "outcome", "weight", "positive", "resolution", "drop_invalid")
    return {name: getattr(options, name) for name in names}


def progress_bar(console: Console) -> Progress:
    """The bar of a file that is rewritten; shown in terminals only."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    parts = TextColumn("Fixing"), BarColumn(), TimeRemainingColumn()
    return Progress(*parts, console=console, transient=True, disable=not console.is_terminal)


def print_notes(console: Console, provenance: Provenance | ClassProvenance | None, said: tuple[str, ...] = ()) -> None:
    """Print what the reader should know about the data and is not said elsewhere: columns inferred, rows dropped, …"""
    for sentence in () if provenance is None else provenance.sentences:
        if sentence in said:
            continue
        console.print(sentence, style="dim", highlight=False, markup=False, soft_wrap=True)
