"""The paper's claims as a table, in the terminal and in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

_SPECIAL = {character: "\\" + character for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}

if TYPE_CHECKING:
    from rich.box import Box

    from trustcal.paper import Claim


def claims_page(claims: Sequence[Claim], frame: Box) -> RenderableType:
    """Each claim: the statement, what became of it, the corrected statement, and the evidence."""
    table = Table(box=frame, show_lines=True)
    table.add_column("statement", ratio=4)
    table.add_column("status")
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


def claims_latex(claims: Sequence[Claim]) -> str:
    """A longtable with a row for each claim, in Unicode: statement, verdict, ours, evidence.

    >>> from trustcal.paper import Claim
    >>> print(claims_latex([Claim("Lemma 2.13", "CDL ≤ ECE", False, "CDL ≤ 2·ECE", True, "100 % of 3")]))
    \\begin{longtable}{p{0.3\\textwidth}lp{0.3\\textwidth}p{0.25\\textwidth}}
    statement & status & ours & evidence \\\\
    \\hline
    \\textbf{Lemma 2.13}: CDL ≤ ECE & corrected: false & CDL ≤ 2·ECE & 100 \\% of 3 \\\\
    \\end{longtable}
    """
    escape = str.maketrans(_SPECIAL)
    lines = [
        r"\begin{longtable}{p{0.3\textwidth}lp{0.3\textwidth}p{0.25\textwidth}}",
        r"statement & status & ours & evidence \\",
        r"\hline",
    ]
    for claim in claims:
        item, stated, ours, evidence = (
            text.translate(escape) for text in (claim.item, claim.stated, claim.ours, claim.evidence)
        )
        lines.append(rf"\textbf{{{item}}}: {stated} & {claim.verdict.translate(escape)} & {ours} & {evidence} \\")
    return "\n".join([*lines, r"\end{longtable}"])
