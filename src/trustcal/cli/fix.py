"""trustcal fix: add noise to the predictions in a file."""

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
        help="add noise that makes predictions safe to act on, without outcomes",
        description="Copy a file with a new column: each prediction with noise added. Given the distance to\n"
        "calibration, the noise guarantees how much acting on the new column can lose, in expectation.\n"
        "Other columns keep their values, and rows their order.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    fix.add_argument("file", metavar="IN", help="CSV, TSV, JSON lines or Parquet, one row per prediction")
    fix.add_argument("-o", "--output", metavar="OUT", required=True, help="file to write; may be IN")
    fix.add_argument("-p", "--prediction", metavar="COLUMN", required=True, help="predicted probabilities")
    fix.add_argument(
        "-y", "--outcome", metavar="COLUMN", help="outcomes, to measure eps and the quality of both columns"
    )
    fix.add_argument("--eps", metavar="auto|VALUE", default="auto", help="distance to calibration (auto: measured)")
    fix.add_argument(
        "--noise",
        metavar="KIND",
        choices=_NoiseKinds(),
        default="best",
        help="kind of noise, one of %(choices)s (default: best, the one with the smallest guarantee)",
    )
    fix.add_argument(
        "--target",
        choices=("ece", "cdl", "decision_loss"),
        default="cdl",
        help="error whose guarantee is minimised (default: cdl)",
    )
    fix.add_argument("--online", action="store_true", help="use the online algorithm: rows in order, rounded to a grid")
    fix.add_argument("--id", metavar="COLUMN", dest="row_id", help="row ids: the same row gets the same noise again")
    fix.add_argument("--into", metavar="COLUMN", help="name of the new column (default: the prediction's with _safe)")
    fix.add_argument("--seed", metavar="N", type=int, help="the same seed gives the same file (default: a fresh seed)")
    fix.set_defaults(run=_fix)


class _NoiseKinds:
    """The kinds of noise, read when they are needed: listing them loads numpy."""

    def __iter__(self) -> Iterator[str]:
        from trustcal.guarantees import noise_kinds

        return iter(noise_kinds())


def _fix(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from trustcal.auditing.advice import fix_advice
    from trustcal.report.terminal.console import display
    from trustcal.report.terminal.fix import fix_page
    from trustcal.rewriting import fix_file

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
    display(partial(fix_page, fix, fix_advice(fix)), WIDTH)
    return 0


def _eps(text: str) -> float | None:
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--eps must be auto or a number in (0, 1], not {text!r}.") from None
