"""What the pictures share: colours for light and dark backgrounds, plain axes, marked thresholds, legends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

import numpy as np
from numpy.typing import NDArray

from trustcal.formats import probability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]

DARK_BELOW: Final = 0.4
"""Backgrounds of less than this luminance are dark."""
DASHES: Final = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)))
"""The line styles of several series: they differ without their colours too."""


@final
@dataclass(frozen=True)
class Palette:
    """The colours of the pictures, told apart with each kind of colour blindness.  The page has its own instead."""

    ink: str
    soft: str
    line: str
    fill: str
    now: str
    after: str
    total: str

    @property
    def series(self) -> tuple[str, ...]:
        """The colours of several predictors."""
        return self.now, self.after, self.total, self.ink


LIGHT: Final = Palette(
    ink="#24292f", soft="#6b7280", line="#d8dce2", fill="#c9ced6", now="#b4472b", after="#1f7a8c", total="#8a6bb1"
)
DARK: Final = Palette(
    ink="#e9e8e4", soft="#a2a8b2", line="#343940", fill="#454b54", now="#ef8a6c", after="#5fc0d3", total="#a07be8"
)


def palette(ax: Axes) -> Palette:
    """The colours for the background of the axes, or of the figure if the axes have none."""
    from matplotlib.colors import to_rgba

    for colour in (ax.get_facecolor(), ax.figure.get_facecolor()):
        *rgb, alpha = to_rgba(colour)
        if alpha > 0.5:
            return DARK if float(np.dot((0.2126, 0.7152, 0.0722), rgb)) < DARK_BELOW else LIGHT
    return LIGHT


def new_axes(ax: Axes | None) -> Axes:
    """The axes given, or new ones."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(layout="constrained")[1]


def plain(ax: Axes, colours: Palette) -> None:
    """A horizontal axis from 0 to 1, a light grid, and no frame."""
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(colours.line)
    ax.grid(color=colours.line, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(colors=colours.soft, length=3, color=colours.line)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_color(colours.soft)
    ax.set_xlim(0, 1)
    ax.set_xticks(np.linspace(0, 1, 6))


def mark(ax: Axes, thresholds: FloatArray, colours: Palette) -> None:
    """Vertical lines at the thresholds of the reader, with one entry in the legend."""
    words = ", ".join(probability(mu) for mu in thresholds[:3]) + ", …" * (len(thresholds) > 3)
    for i, mu in enumerate(thresholds):
        label = f"your threshold{'s' * (len(thresholds) > 1)}: {words}" if i == 0 else None
        ax.axvline(mu, color=colours.ink, linewidth=1, linestyle=(0, (1, 1.5)), zorder=6, label=label, gid="yours")


def legend(
    ax: Axes, colours: Palette, place: Literal["upper left", "upper right", "center right"] = "upper right"
) -> None:
    """The legend, readable on top of lines."""
    box = ax.legend(loc=place, fontsize="small", frameon=True, framealpha=0.85, edgecolor="none", facecolor="inherit")
    for text in box.get_texts():
        text.set_color(colours.ink)
