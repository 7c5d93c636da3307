"""The segments that are hurt, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.formats import amount, p_value
from trustcal.report.terminal.console import plain_text

if TYPE_CHECKING:
    from trustcal.segmenting import Segments

WIDTH = 80


def plain_segments(found: Segments) -> str:
    """The segments as plain text."""
    return plain_text(lambda frame: Group(*segment_parts(found, frame)), WIDTH)


def segment_parts(found: Segments, frame: box.Box) -> list[RenderableType]:
    """The table of segments, and what it means."""
    parts: list[RenderableType] = [Text(line) for line in found.sentences]
    if found.found:
        parts.insert(1, _table(found, frame))
    return parts


def _table(found: Segments, frame: box.Box) -> Table:
    table = Table(box=frame)
    table.add_column("segment")
    for header in ("rows", "off by", "harm per\nrow, 95 %", "in all", "p"):
        table.add_column(header, justify="right", no_wrap=True)
    for segment in found.found:
        table.add_row(
            Text(segment.described),
            f"{segment.rows:,}",
            f"{segment.gap:+.3f}",
            f"{amount(segment.harm)}\n±{amount(segment.upper - segment.harm)}",
            amount(segment.total),
            p_value(segment.p_value, found.draws),
        )
    return table
