"""trustcal hard: predictors that no post-processing can repair."""

from __future__ import annotations

import argparse
from functools import partial

from trustcal.cli.options import Commands


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    hard = commands.add_parser("hard", help="predictors that no post-processing can repair")
    hard.add_argument("eps", metavar="EPS", type=float, help="distance to calibration, in (0, 0.25]")
    hard.set_defaults(run=_hard)


def _hard(options: argparse.Namespace) -> int:
    from trustcal.paper import hard_cases
    from trustcal.report.terminal.bounds import hard_page
    from trustcal.report.terminal.console import SafeConsole, display

    with SafeConsole(stderr=True).status("Measuring …"):  # shown in terminals only
        cases = hard_cases(options.eps)
    display(partial(hard_page, cases))
    return 0
