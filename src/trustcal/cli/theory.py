"""The commands that need no data: bound, hard and claims."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trustcal.noise import Target

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

WIDTH = 120


def add_commands(commands: Commands) -> None:
    """Describe the commands to the parser."""
    bound = commands.add_parser("bound", help="what noise guarantees, and what nobody can")
    bound.add_argument("eps", metavar="EPS", type=float, help="distance to calibration, in (0, 1]")
    bound.add_argument(
        "--target", choices=("ece", "cdl", "decision_loss"), help="the error (decision_loss; online cdl)"
    )
    bound.add_argument("--horizon", metavar="T", type=int, help="for T predictions that come one at a time")
    bound.set_defaults(run=_bound)

    hard = commands.add_parser("hard", help="the predictors that no post-processing can save")
    hard.add_argument("eps", metavar="EPS", type=float, help="their distance to calibration, in (0, 0.25]")
    hard.set_defaults(run=_hard)

    claims = commands.add_parser("claims", help="recompute every claim of the paper")
    claims.add_argument("--seed", metavar="N", type=int, default=0, help="for the random examples (0)")
    claims.set_defaults(run=_claims)


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
    from trustcal.report.bounds import bounds_page
    from trustcal.report.console import display

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


def _hard(options: argparse.Namespace) -> int:
    from rich.console import Console

    from trustcal.paper.hardness import hard_cases
    from trustcal.report.bounds import hard_page
    from trustcal.report.console import display

    with Console(stderr=True).status("Measuring …"):  # shown in terminals only
        cases = hard_cases(options.eps)
    display(partial(hard_page, cases), WIDTH)
    return 0


def _claims(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import track

    from trustcal.paper.claims import COUNT, recompute
    from trustcal.report.claims import claims_page
    from trustcal.report.console import display

    console = Console(stderr=True)
    progress = track(
        recompute(options.seed),
        "Recomputing …",
        total=COUNT,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    found = list(progress)
    display(partial(claims_page, found), WIDTH)
    broken = [claim.item for claim in found if not claim.ours_hold]
    false = sum(not claim.stated_holds for claim in found)
    print(f"{len(found)} claims: {len(found) - false} hold as stated, {false} do not. ", end="")
    print("Ours hold." if not broken else f"OURS FAIL: {', '.join(broken)}.")
    return 1 if broken else 0
