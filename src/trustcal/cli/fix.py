"""The command that changes predictions: fix."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

WIDTH = 100
_EXAMPLES = """\
examples:
  trustcal fix scores.csv -o safe.csv -p score -y outcome
  trustcal fix scores.parquet -o safe.parquet -p score --eps 0.001 --id case --seed 7
"""


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    fix = commands.add_parser(
        "fix",
        help="make predictions safe to act on by noise, without outcomes",
        description="Copies a file with a column of safe predictions beside the original ones.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    fix.add_argument("file", metavar="IN", help="CSV, TSV, JSON lines or Parquet, a row per prediction")
    fix.add_argument("-o", "--output", metavar="OUT", required=True, help="the file to write, whole or not at all")
    fix.add_argument("-p", "--prediction", metavar="COLUMN", required=True, help="predicted probabilities")
    fix.add_argument("-y", "--outcome", metavar="COLUMN", help="what happened: measures eps, before and after")
    fix.add_argument("--eps", metavar="auto|VALUE", default="auto", help="distance to calibration (auto: measured)")
    fix.add_argument(
        "--noise",
        metavar="KIND",
        choices=_NoiseKinds(),
        default="best",
        help="the kind of noise, one of %(choices)s (default: best, the one with the smallest guarantee)",
    )
    fix.add_argument(
        "--target",
        choices=("ece", "cdl", "decision_loss"),
        default="cdl",
        help="the error whose guarantee is to be small (cdl)",
    )
    fix.add_argument("--online", action="store_true", help="the paper's online algorithm: rows in order, on a grid")
    fix.add_argument("--id", metavar="COLUMN", dest="row_id", help="row ids: the same row gets the same noise again")
    fix.add_argument("--into", metavar="COLUMN", help="the name of the new column (the old one with _safe)")
    fix.add_argument("--seed", metavar="N", type=int, help="the same seed gives the same bytes (a fresh one, reported)")
    fix.set_defaults(run=_fix)


class _NoiseKinds:
    """The kinds of noise, read when they are needed: listing them loads numpy."""

    def __iter__(self) -> Iterator[str]:
        from trustcal.guarantees import noise_kinds

        return iter(noise_kinds())


def _fix(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from trustcal.report.terminal.console import display
    from trustcal.report.terminal.fix import fix_page
    from trustcal.rewriting.fixing import fix_file

    if options.online and options.row_id is not None:
        raise ValueError("--online draws by the order of rows: leave out --id.")
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("Fixing"), BarColumn(), TimeRemainingColumn(), console=console, transient=True,
        disable=not console.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task("fix", total=None)
        fix = fix_file(
            options.file,
            options.output,
            prediction=options.prediction,
            outcome=options.outcome,
            eps=_eps(options.eps),
            noise=options.noise,
            target=options.target,
            online=options.online,
            seed=options.seed,
            row_id=options.row_id,
            into=options.into,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    display(partial(fix_page, fix), WIDTH)
    return 0


def _eps(text: str) -> float | None:
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--eps must be auto or a number in (0, 1], not {text!r}.") from None
