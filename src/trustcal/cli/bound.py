"""trustcal bound: what noise guarantees at a distance to calibration."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trustcal.noise import Target

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

WIDTH = 120


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    bound = commands.add_parser("bound", help="what noise guarantees, and the lower bound for any method")
    bound.add_argument("eps", metavar="EPS", type=float, help="distance to calibration, in (0, 1]")
    bound.add_argument(
        "--target",
        choices=("ece", "cdl", "decision_loss"),
        help="the error to bound (default decision_loss; online cdl)",
    )
    bound.add_argument("--horizon", metavar="T", type=int, help="online: T predictions, answered one at a time")
    bound.set_defaults(run=_bound)


def _bound(options: argparse.Namespace) -> int:
    from trustcal.guarantees import (
        batch_cdl_paper,
        batch_decision_loss_paper,
        batch_ece_paper,
        choices,
        online_cdl_paper,
        online_ece_paper,
    )
    from trustcal.noise import TruncatedLaplace
    from trustcal.report.terminal.bounds import bounds_page
    from trustcal.report.terminal.console import display

    target: Target = options.target or ("decision_loss" if options.horizon is None else "cdl")
    found = choices(options.eps, target, options.horizon)
    laplace = TruncatedLaplace.paper(options.eps)
    if options.horizon is None:
        stated = {"ece": batch_ece_paper, "cdl": batch_cdl_paper, "decision_loss": batch_decision_loss_paper}
        paper = stated[target](laplace, options.eps)
    else:
        online = {"ece": online_ece_paper, "cdl": online_cdl_paper}
        paper = online[target](laplace, options.eps, options.horizon)
    display(partial(bounds_page, options.eps, found, paper), WIDTH)
    return 0
