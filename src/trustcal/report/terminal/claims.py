"""The paper's claims as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.box import Box

    from trustcal.paper import Claim


def claims_page(claims: Sequence[Claim], frame: Box) -> RenderableType:
    """Each claim: the statement, whether it holds as stated, the corrected statement, and the evidence."""
    table = Table(box=frame, show_lines=True)
    table.add_column("statement", ratio=4)
    table.add_column("as stated")
    table.add_column("ours", ratio=4)
    table.add_column("evidence", ratio=5, style="dim")
    for claim in claims:
        table.add_row(
            Text.assemble((claim.item, "bold"), "\n", claim.stated),
            Text(claim.verdict, style="" if claim.stated_holds else "bold red"),
            Text(claim.ours) if claim.ours_hold else Text(f"FAILS: {claim.ours}", style="bold red"),
            Text(claim.evidence),
        )
    return table
