"""Guarantees and hard instances as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.report.terminal.console import number_table

if TYPE_CHECKING:
    from rich.box import Box

    from trustcal.guarantees import Bound, BoundTable
    from trustcal.noise import Noise
    from trustcal.paper import HardCase


def bounds_page(found: BoundTable, frame: Box) -> RenderableType:
    """What each noise guarantees, the paper's guarantee, and the lower bound."""
    quantity, lower, barred = found.choices[0].guarantee.quantity, found.choices[0].lower, found.choices[0].barred
    table = Table("noise", box=frame)
    table.add_column(f"{quantity} ≤", justify="right", style="bold")
    table.add_column("by", style="dim")
    for choice in found.choices:
        cells = "" if choice.cells is None else f", {choice.cells} cells"
        table.add_row(noise_text(choice.noise) + cells, _value(choice.guarantee), _source(choice.guarantee))
    table.add_row("the paper's Laplace noise, as stated", _value(found.paper), _source(found.paper))
    return Group(
        Text(f"Predictions within {found.eps:g} of calibration, after noise scaled for this distance", style="bold"),
        table,
        Text(f"{barred.capitalize()} can guarantee less than {lower.value:.6g} ({_source(lower)})."),
    )


def hard_page(cases: Sequence[HardCase], frame: Box) -> RenderableType:
    """The hard instances, and what each post-processing achieves on them."""
    parts: list[RenderableType] = []
    for case in cases:
        table = number_table(frame, "post-processing", "decision loss", "ECE", "CDL")
        table.add_column("guarantee", justify="right", style="dim")
        for row in case.rows:
            guarantee = "" if row.guarantee is None else _number(row.guarantee)
            table.add_row(row.name, *map(_number, (row.decision_loss, row.ece, row.cdl)), guarantee)
        parts += [Text(case.title, style="bold"), Text(case.description), table, Text(case.verdict), ""]
    return Group(*parts[:-1])


def noise_text(noise: Noise) -> str:
    """The noise with its parameters to six digits."""
    described: Any = noise
    parameters = ", ".join(f"{f.name} {v:.6g}" for f, v in zip(fields(described), astuple(described), strict=True))
    return f"{type(noise).__name__}, {parameters}"


def _number(value: float) -> str:
    """Six decimals, or four significant digits for small numbers."""
    return f"{value:.6f}" if value >= 1e-3 or value < 1e-12 else f"{value:.3e}"


def _value(bound: Bound) -> str:
    return _number(bound.value) + (" (vacuous)" if bound.vacuous else "")


def _source(bound: Bound) -> str:
    return bound.source if bound.proved else f"{bound.source}; not proved"
