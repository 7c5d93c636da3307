"""trustcal compare: remedies side by side."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from trustcal.cli.options import add_payoff, add_source, print_notes, source

if TYPE_CHECKING:
    from trustcal.decisions import DecisionProblem
    from trustcal.reading import Reading
    from trustcal.remedies import Comparison

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_EXAMPLES = """\
example:
  trustcal compare scores.csv -p score -y outcome
"""


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    compare = commands.add_parser(
        "compare",
        help="compare noise, rounding and recalibration on held-out rows",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_source(compare)
    add_payoff(compare)
    compare.add_argument("--json", action="store_true", help="print every number as JSON")
    compare.add_argument("--seed", metavar="N", type=int, default=0, help="seed of the folds (default 0)")
    compare.set_defaults(run=_compare)


def _compare(options: argparse.Namespace) -> int:
    from rich.console import Console

    from trustcal.checking import checked_seed
    from trustcal.reading import read_payoff, reading
    from trustcal.report.terminal.comparison import show

    seed = checked_seed(options.seed)
    problem = None if options.payoff is None else read_payoff(options.payoff)
    console = Console(stderr=True)
    with console.status("Reading …") as status:
        found = reading(options.file, **source(options))
        status.update(f"Comparing on {len(found.predictor):,} distinct predictions …")
        comparison = _compared(options, found, seed, problem)
    print_notes(console, found.provenance)
    if options.json:
        print(comparison.to_json())
    else:
        show(comparison)
    return 0


def _compared(options: argparse.Namespace, found: Reading, seed: int, problem: DecisionProblem | None) -> Comparison:
    """Remedies on held-out rows: the counts of equal rows will do, rows with weights are needed one by one."""
    from trustcal.reading import weighted_rows
    from trustcal.remedies import compare

    if options.weight is None:
        return compare(found.predictor, rng=seed, problem=problem)
    return compare(*weighted_rows(options.file, found, options.positive), rng=seed, problem=problem)
