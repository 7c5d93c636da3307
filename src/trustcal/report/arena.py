"""The arena's faces: a table of worst errors and slopes, and a picture with the proved rates as lines."""

from __future__ import annotations

import io
from html import escape
from typing import IO, TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.forecasters.rates import Rate, contestants, proved_and_played, rate
from trustcal.measures.table import MEASURES
from trustcal.report.terminal.console import plain_text
from trustcal.writing import atomically

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from rich.box import Box

    from trustcal.forecasters.arena import Plan, Played


def arena_page(plan: Plan, played: Sequence[Played], measures: Sequence[str], frame: Box) -> RenderableType:
    """For each measure the worst error of every contestant at every horizon, its slope, and what is proved."""
    parts: list[RenderableType] = []
    for measure in measures:
        table = Table(box=frame)
        table.add_column(f"{MEASURES[measure].symbol}, worst adversary")
        for horizon in sorted(plan.horizons):
            table.add_column(f"T = {horizon:,}", justify="right")
        table.add_column("slope (95 %)", justify="right")
        table.add_column("proved at the last T", justify="right", style="dim")
        table.add_column("against", style="dim")
        for name in contestants(played):
            one = rate(played, name, measure)
            row = [f"{error:.4f}" for error in one.worst]
            table.add_row(name, *row, _slope(one), _proved(plan, one), one.against[-1])
        parts += [table, Text(_known(plan, measure), style="dim"), ""]
        if len(plan.horizons) > 1:
            parts += [_slopes(played, measure, frame), ""]
    return Group(*parts, Text(_kept(plan, played)))


def _slopes(played: Sequence[Played], measure: str, frame: Box) -> Table:
    """The slope of every contestant against every adversary."""
    adversaries = list(dict.fromkeys(one.game.adversary for one in played))
    table = Table(box=frame)
    table.add_column(f"{MEASURES[measure].symbol}, slope against")
    for adversary in adversaries:
        table.add_column(adversary, justify="right")
    for name in contestants(played):
        rates = [rate([one for one in played if one.game.adversary == other], name, measure) for other in adversaries]
        table.add_row(name, *("–" if one.slope != one.slope else f"{one.slope:.2f}" for one in rates))
    return table


def plot_rates(plan: Plan, played: Sequence[Played], measure: str, ax: Axes | None = None) -> Axes:
    """Worst errors against the horizon, both on logarithmic scales, and what is known as grey lines.

    Solid lines are rates that somebody reaches, dashed ones rates that nobody can beat; where no constant is known it
    is drawn as 1, so that only the slope means something.  Returns the matplotlib axes.
    """
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(9, 5), layout="constrained").add_subplot()
    rates = [rate(played, name, measure) for name in contestants(played)]
    for one, marker in zip(rates, "osD^vPX*hd<>p" * len(rates), strict=False):
        ax.plot(one.horizons, one.worst, marker=marker, label=f"{one.contestant} {_slope(one)}".strip())
    ends = [min(rates[0].horizons), max(rates[0].horizons)]
    for line in plan.known:
        if line.measure == measure:
            style = "-" if line.side == "≤" else "--"
            ax.plot(ends, [line.constant * T**line.exponent for T in ends], style, color="0.7", linewidth=1, zorder=0)
            text = f"T^{line.exponent:.3g} {line.side}"
            end = (ends[1], line.constant * ends[1] ** line.exponent)
            ax.annotate(text, end, (4, 0), textcoords="offset points", fontsize="x-small", color="0.4", va="center")
    ax.set(xscale="log", yscale="log", xlabel="rounds T", ylabel=f"{MEASURES[measure].symbol}, worst adversary")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1.08, 1), frameon=False)
    return ax


def save_picture(plan: Plan, played: Sequence[Played], measures: Sequence[str], path: str | Path) -> None:
    """One panel for each measure, in the format of the path's suffix: png, svg, pdf."""
    with atomically(path) as fresh:
        _draw(plan, played, measures, fresh, fresh.suffix.removeprefix("."))


def arena_html(plan: Plan, played: Sequence[Played], measures: Sequence[str]) -> str:
    """Table and picture as one page that needs no other file."""
    text = plain_text(lambda frame: arena_page(plan, played, measures, frame), 160)
    picture = io.StringIO()
    _draw(plan, played, measures, picture, "svg")
    svg = picture.getvalue()
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Arena</title>\n'
        "<style>body { font: 16px system-ui, sans-serif; margin: 2em } pre { font-size: 12px; overflow-x: auto } "
        "svg { max-width: 100%; height: auto }</style>\n<h1>Arena</h1>\n"
        f"<p>Worst errors over {len(plan.adversaries)} adversaries, means of {plan.seeds} seeds.</p>\n"
        f"{svg[svg.index('<svg') :]}<pre>{escape(text)}</pre>\n</html>\n"
    )


def _draw(plan: Plan, played: Sequence[Played], measures: Sequence[str], target: Path | IO[str], kind: str) -> None:
    """All panels, to a file or a buffer: of the same games the same bytes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with rc_context({"svg.hashsalt": "trustcal"}):
        figure = Figure(figsize=(9, 4.5 * len(measures)), layout="constrained")
        for measure, ax in zip(measures, figure.subplots(len(measures), squeeze=False)[:, 0], strict=True):
            plot_rates(plan, played, measure, ax)
        figure.savefig(target, format=kind, metadata=undated)


def _slope(one: Rate) -> str:
    if one.slope != one.slope:
        return ""
    if one.low != one.low:
        return f"{one.slope:.2f}"
    return f"{one.slope:.2f} ({one.low:.2f}, {one.high:.2f})"


def _proved(plan: Plan, one: Rate) -> str:
    bounds = plan.guarantees(one.contestant, one.horizons[-1])
    values = [bound.value for bound in bounds if bound.quantity == MEASURES[one.measure].symbol and not bound.vacuous]
    return f"{min(values):.4f}" if values else ""


def _kept(plan: Plan, played: Sequence[Played]) -> str:
    """Whether any game exceeded what is proved of it."""
    compared = list(proved_and_played(plan, played))
    if not compared:
        return "Nothing is proved of these games."
    exceeded = sum(error > bound.value for _, bound, error in compared)
    game, bound, error = max(compared, key=lambda one: one[2] / one[1].value)
    return (
        f"{len(compared):,} proved bounds were compared with single games, and {exceeded or 'none'} exceeded. The "
        f"nearest: {bound.quantity} ≤ {bound.value:.4f} of {game.contestant} at T = {game.horizon:,}, of which "
        f"{game.adversary} reached {error / bound.value:.0%}."
    )


def _known(plan: Plan, measure: str) -> str:
    lines = [str(line) for line in plan.known if line.measure == measure]
    return f"Known of {MEASURES[measure].symbol}: {'; '.join(lines) or 'nothing'}."
