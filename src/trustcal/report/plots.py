"""The pictures of an audit, by matplotlib.  Each takes an `ax`, draws on it and returns it; none computes a number.

reliability(audit)      what predictions say against what they turn out to mean, with the spread of predictions
loss_profile(audit)     what those who act above a threshold lose, for every threshold, before and after the fix
movement(audit)         where predictions must move to become calibrated
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trustcal.auditing import Audit

Picture = Callable[["Audit", "Axes | None"], "Axes"]
"""Draws an audit, on the axes given or on new ones, and returns the axes."""

INK: Final = "#24292f"
SOFT: Final = "#6b7280"
LINE: Final = "#d8dce2"
NOW: Final = "#b4472b"
AFTER: Final = "#1f7a8c"
TOTAL: Final = "#8a6bb1"
FILL: Final = "#c9ced6"
"""The colours of the pictures.  The page puts its own in their places, for light and dark screens."""

SHADES: Final = 6
"""Of the streams in `movement`."""


def reliability(audit: Audit, ax: Axes | None = None) -> Axes:
    """The reliability diagram: points on the diagonal mean what they say.

    The band is Wilson's 95 % interval of each frequency; below, how predictions are spread.
    """
    ax = _axes(ax)
    curve, spread = audit.curve, np.array(audit.histogram.mass)
    edges = np.linspace(0, 1, len(spread) + 1)
    ax.bar(edges[:-1], 0.18 * spread / spread.max(), np.diff(edges), align="edge", color=FILL, linewidth=0, zorder=1)
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=1, dashes=(4, 3), zorder=2)
    p, p_hat = np.array(curve.p), np.array(curve.p_hat)
    many = len(p) > 1
    if curve.lower is not None and curve.upper is not None:
        if many:
            ax.fill_between(p, curve.lower, curve.upper, color=NOW, alpha=0.16, linewidth=0, zorder=3)
        else:
            ax.vlines(p, curve.lower, curve.upper, color=NOW, alpha=0.4, linewidth=2, zorder=3)
    ax.plot(p, p_hat, color=NOW, linewidth=1.4, zorder=4)
    if len(p) <= 60:
        ax.scatter(p, p_hat, s=14, color=NOW, linewidth=0, zorder=5)
    _unit(ax)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="prediction", ylabel="how often it came true", aspect="equal")
    ax.set_yticks(np.linspace(0, 1, 6))
    return ax


def loss_profile(audit: Audit, ax: Axes | None = None) -> Axes:
    """The loss at every threshold: now; after the noise; and after it counting the sharpness that the noise costs."""
    ax = _axes(ax)
    breaks = audit.curve.breaks
    mu = np.clip(np.concatenate([breaks - 1e-9, breaks, breaks + 1e-9, np.linspace(0, 1, 401)]), 0, 1)
    mu.sort()
    now = 100 * audit.curve.loss(mu)
    ax.fill_between(mu, 0, now, color=NOW, alpha=0.10, linewidth=0, gid="fill-now")
    ax.plot(mu, now, color=NOW, linewidth=1.4, label="now", gid="series-now")
    top = float(now.max())
    if audit.fix is not None:
        steps = np.array(audit.fix.thresholds)
        after, total = 100 * audit.fix.loss(steps), 100 * audit.fix.loss(steps, total=True)
        ax.plot(steps, after, color=AFTER, linewidth=1.4, label="after the noise", gid="series-after")
        ax.plot(
            steps,
            total,
            color=TOTAL,
            linewidth=1.2,
            dashes=(5, 2),
            label="and its cost in sharpness",
            gid="series-total",
        )
        top = max(top, float(after.max()), float(total.max()))
    _unit(ax)
    ax.set(xlim=(0, 1), ylim=(0, 1.12 * top if top > 1e-9 else 1), xlabel="threshold above which one acts")
    ax.set_ylabel("loss, % of payoff range")
    return ax


def movement(audit: Audit, ax: Axes | None = None) -> Axes:
    """Where predictions (above) must move (below) to become calibrated, in streams that are darker the heavier.

    The grey spreads are those of the predictions now and in the nearest calibrated predictor.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    ax = _axes(ax)
    way = audit.movement
    p, b, y, mass = (np.array(column) for column in (way.p, way.b, way.y, way.mass))
    edges = np.linspace(0, 1, len(audit.histogram.mass) + 1)
    now, then = (np.histogram(place, edges, weights=mass)[0] for place in (p, b))
    scale = 0.24 / max(now.max(), then.max())
    ax.bar(edges[:-1], scale * now, np.diff(edges), bottom=1.015, align="edge", color=FILL, linewidth=0)
    ax.bar(edges[:-1], -scale * then, np.diff(edges), bottom=-0.015, align="edge", color=FILL, linewidth=0)
    heavy = np.minimum(1, np.sqrt(mass / np.quantile(mass, 0.9)))
    shades = np.ceil(SHADES * heavy).astype(int)
    for shade in range(1, SHADES + 1):
        for outcome, colour in ((0, NOW), (1, AFTER)):
            drawn = np.flatnonzero((shades == shade) & (y == outcome))
            if len(drawn):
                bends = [[(p[i], 1), (p[i], 0.5), (b[i], 0.5), (b[i], 0)] for i in drawn]
                steps = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4] * len(drawn)
                dark = shade / SHADES
                streams = Path(np.concatenate(bends), steps)
                ax.add_patch(
                    PathPatch(streams, fill=False, color=colour, alpha=0.1 + 0.5 * dark, linewidth=0.4 + 0.9 * dark)
                )
    _unit(ax)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.27, 1.27), xlabel="prediction")
    ax.set_yticks([-0.13, 1.13], ["calibrated", "now"])
    ax.grid(visible=False)
    ax.tick_params(axis="y", length=0)
    return ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _plain(ax: Axes) -> None:
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(LINE)
    ax.grid(color=LINE, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(colors=SOFT, length=3, color=LINE)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_color(SOFT)


def _unit(ax: Axes) -> None:
    _plain(ax)
    ax.set_xticks(np.linspace(0, 1, 6))
