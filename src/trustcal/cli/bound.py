"""trustcal bound: what noise guarantees at a distance to calibration."""

from __future__ import annotations

import argparse
from functools import partial

from trustcal.cli.options import Commands


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    bound = commands.add_parser("bound", help="what noise guarantees, and what cannot be beaten")
    bound.add_argument("eps", metavar="EPS", type=float, help="distance to calibration, from 1e-31 to 1")
    bound.add_argument(
        "--target",
        choices=("ece", "cdl", "decision_loss"),
        help="the error to bound (default decision_loss; online cdl)",
    )
    bound.add_argument("--horizon", metavar="T", type=int, help="online: T predictions, answered one at a time")
    bound.set_defaults(run=_bound)


def _bound(options: argparse.Namespace) -> int:
    from trustcal.guarantees import bounds
    from trustcal.report.terminal.bounds import bounds_page
    from trustcal.report.terminal.console import display

    display(partial(bounds_page, bounds(options.eps, options.target, options.horizon)))
    return 0
