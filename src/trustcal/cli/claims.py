"""trustcal claims: every claim of the paper, recomputed."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict
from functools import partial

from trustcal.cli.options import Commands


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    claims = commands.add_parser("claims", help="recompute every claim of the paper")
    claims.add_argument("--seed", metavar="N", type=int, default=0, help="seed of the random examples (default 0)")
    form = claims.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the claims as JSON")
    form.add_argument("--latex", action="store_true", help="print a longtable for XeLaTeX or LuaLaTeX")
    claims.set_defaults(run=_claims)


def _claims(options: argparse.Namespace) -> int:
    from trustcal.paper import claims
    from trustcal.report.terminal.claims import claims_latex, claims_page
    from trustcal.report.terminal.console import display, progress_bar

    with progress_bar("Recomputing …") as progress:
        found = claims(options.seed, progress)
    broken = [claim.item for claim in found if not claim.ours_hold]
    if options.json or options.latex:
        rows = [{**asdict(claim), "status": claim.status} for claim in found]
        print(json.dumps(rows, ensure_ascii=False, indent=2) if options.json else claims_latex(found))
        return 1 if broken else 0
    display(partial(claims_page, found))
    count = Counter(claim.status for claim in found)
    print(f"{len(found)} claims: {', '.join(f'{many} {status}' for status, many in sorted(count.items()))}. ", end="")
    print("Ours hold." if not broken else f"OURS FAIL: {', '.join(broken)}.")
    return 1 if broken else 0
