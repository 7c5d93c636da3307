"""trustcal compare: remedies side by side."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from trustcal.cli.options import add_payoff, add_source, print_notes, source

if TYPE_CHECKING:
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
    from trustcal.reading import evidence, payoff_problem
    from trustcal.remedies import compared
    from trustcal.report.terminal.comparison import show

    console, seed, problem = Console(stderr=True), checked_seed(options.seed), payoff_problem(options.payoff)
    with console.status("Comparing …"):  # shown in terminals only
        found = evidence(options.file, **source(options))
        comparison = compared(found, problem, rng=seed)
    print_notes(console, found.provenance)
    if options.json:
        print(comparison.to_json())
    else:
        show(comparison)
    return 0
