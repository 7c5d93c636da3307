"""trustcal claims: every claim of the paper, recomputed."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

WIDTH = 120


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    claims = commands.add_parser("claims", help="recompute every claim of the paper")
    claims.add_argument("--seed", metavar="N", type=int, default=0, help="seed of the random examples (default 0)")
    claims.set_defaults(run=_claims)


def _claims(options: argparse.Namespace) -> int:
    from trustcal.paper import claims
    from trustcal.report.terminal.claims import claims_page
    from trustcal.report.terminal.console import display, progress_bar

    with progress_bar("Recomputing …") as progress:
        found = claims(options.seed, progress)
    display(partial(claims_page, found), WIDTH)
    broken = [claim.item for claim in found if not claim.ours_hold]
    false = sum(not claim.stated_holds for claim in found)
    print(f"{len(found)} claims: {len(found) - false} hold as stated, {false} do not. ", end="")
    print("Ours hold." if not broken else f"OURS FAIL: {', '.join(broken)}.")
    return 1 if broken else 0
