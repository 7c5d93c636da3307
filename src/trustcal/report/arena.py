"""The arena: a table of worst errors and slopes, and a picture with the known rates as lines."""

from __future__ import annotations

import io
from html import escape
from typing import IO, TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.report.page.policy import PLACE, sealed
from trustcal.report.page.svg import DRAWING
from trustcal.report.terminal.console import number_table, plain_text
from trustcal.writing import atomically

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from rich.box import Box

    from trustcal.forecasters.rates import ArenaResult, Rate


def arena_page(result: ArenaResult, frame: Box) -> RenderableType:
    """For each measure the worst error of every contestant at every horizon, its slope, and the proved bound."""
    parts: list[RenderableType] = []
    for measure, rates in result.rates.items():
        horizons = [f"T = {horizon:,}" for horizon in sorted(result.plan.horizons)]
        table = number_table(frame, f"{rates[0].symbol}, worst adversary", *horizons, "slope (95 %)")
        table.add_column("proved at the last T", justify="right", style="dim")
        table.add_column("against", style="dim")
        for rate in rates:
            bound = result.proved(rate)
            proved = "" if bound is None else _short(bound)
            table.add_row(rate.contestant, *map(_short, rate.worst), _slope(rate), proved, rate.against[-1])
        parts += [table, Text(_known(result, measure), style="dim"), ""]
        if len(result.plan.horizons) > 1:
            parts += [*_slopes(result, measure, frame), ""]
    return Group(*parts, Text(_comparison(result)))


def _slopes(result: ArenaResult, measure: str, frame: Box) -> list[Table]:
    """The slope of every contestant against every adversary, a few adversaries to a table, so that 80 columns do."""
    tables, everyone = [], list(result.plan.adversaries)
    for first in range(0, len(everyone), 5):
        adversaries = everyone[first : first + 5]
        table = number_table(frame, f"{result.rates[measure][0].symbol}, slope against", *adversaries)
        for rate in result.rates[measure]:
            slopes = [rate.slopes[adversary] for adversary in adversaries]
            table.add_row(rate.contestant, *("–" if slope != slope else f"{slope:.2f}" for slope in slopes))
        tables.append(table)
    return tables


def plot_rates(result: ArenaResult, measure: str, ax: Axes | None = None) -> Axes:
    """Worst errors against the horizon, both on logarithmic scales, with the known rates as grey lines.

    Solid lines are attained rates, dashed lines lower bounds.  Where no constant is known it is drawn as 1, and only
    the slope is meaningful.

    Parameters
    ----------
    result : ArenaResult
        What `tc.forecasters.arena` returns.
    measure : str
        One of the measures in `result.rates`.
    ax : matplotlib Axes, optional
        Where to draw.  Default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(9, 5), layout="constrained").add_subplot()
    rates = result.rates[measure]
    for rate, marker in zip(rates, "osD^vPX*hd<>p" * len(rates), strict=False):
        ax.plot(rate.horizons, rate.worst, marker=marker, label=f"{rate.contestant} {_slope(rate)}".strip())
    ends = [min(rates[0].horizons), max(rates[0].horizons)]
    for line in result.plan.known:
        if line.measure == measure:
            style = "-" if line.side == "≤" else "--"
            ax.plot(ends, [line.constant * T**line.exponent for T in ends], style, color="0.7", linewidth=1, zorder=0)
            text = f"T^{line.exponent:.3g} {line.side}"
            end = (ends[1], line.constant * ends[1] ** line.exponent)
            ax.annotate(text, end, (4, 0), textcoords="offset points", fontsize="x-small", color="0.4", va="center")
    ax.set(xscale="log", yscale="log", xlabel="rounds T", ylabel=f"{rates[0].symbol}, worst adversary")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1.08, 1), frameon=False)
    return ax


def save_picture(result: ArenaResult, path: str | Path) -> None:
    """One panel per measure, in the format of the path's suffix: png, svg, pdf."""
    with atomically(path) as fresh:
        _draw(result, fresh, fresh.suffix.removeprefix("."))


def arena_html(result: ArenaResult) -> str:
    """Table and picture as one self-contained page."""
    text = plain_text(lambda frame: arena_page(result, frame), 160)
    picture = io.StringIO()
    _draw(result, picture, "svg")
    svg = picture.getvalue()
    return sealed(
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n{PLACE}\n<title>Arena</title>\n'
        "<style>body { font: 16px system-ui, sans-serif; margin: 2em } pre { font-size: 12px; overflow-x: auto } "
        "svg { max-width: 100%; height: auto }</style>\n<h1>Arena</h1>\n"
        f"<p>Worst errors over {len(result.plan.adversaries)} adversaries, means of {result.plan.seeds} seeds.</p>\n"
        f"{svg[svg.index('<svg') :]}<pre>{escape(text)}</pre>\n</html>\n"
    )


def _draw(result: ArenaResult, target: Path | IO[str], kind: str) -> None:
    """All panels, to a file or a buffer: the same games give the same bytes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with DRAWING, rc_context({"svg.hashsalt": "trustcal"}):
        figure = Figure(figsize=(9, 4.5 * len(result.rates)), layout="constrained")
        for measure, ax in zip(result.rates, figure.subplots(len(result.rates), squeeze=False)[:, 0], strict=True):
            plot_rates(result, measure, ax)
        figure.savefig(target, format=kind, metadata=undated)


def _short(error: float) -> str:
    """Four decimals, or two digits if it is small: seven characters at most, so that 80 columns do.

    >>> _short(0.25), _short(0.0000624)
    ('0.2500', '6.2e-05')
    """
    return f"{error:.4f}" if error == 0 or error >= 0.001 else f"{error:.1e}"


def _slope(rate: Rate) -> str:
    if rate.slope != rate.slope:
        return ""
    return f"{rate.slope:.2f}" + (f" ({rate.low:.2f}, {rate.high:.2f})" if rate.low == rate.low else "")


def _comparison(result: ArenaResult) -> str:
    """Whether any game exceeded a proved bound."""
    if not result.compared:
        return "Nothing is proved about these games."
    game, bound, error = result.nearest
    return (
        f"{len(result.compared):,} proved bounds were compared with single games; {result.exceeded or 'none'} "
        f"exceeded. The nearest: {bound.quantity} ≤ {_short(bound.value)} of {game.contestant} at T = "
        f"{game.horizon:,}, of which {game.adversary} reached {error / bound.value:.0%}."
    )


def _known(result: ArenaResult, measure: str) -> str:
    lines = [str(line) for line in result.plan.known if line.measure == measure]
    return f"Known rates of {result.rates[measure][0].symbol}: {'; '.join(lines) or 'none'}."
