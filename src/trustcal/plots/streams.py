"""Streams: how predictions must move to become calibrated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trustcal import curves
from trustcal.measures.transport import dtc_witness
from trustcal.plots.axes import legend, new_axes, palette, plain
from trustcal.plots.pictured import Pictured
from trustcal.predictor import Predictor, as_predictor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHADES = 6
"""The number of shades of the streams."""


def movement(
    shown: Pictured | Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw how predictions (above) must move (below) to become calibrated; heavier streams are darker.

    Parameters
    ----------
    shown : an audit, a predictor, or the outcomes.
    y_prob, sample_weight : predictions and weights, where `shown` is the outcomes.
    ax : matplotlib axes; new ones by default.

    Returns
    -------
    Axes : streams coloured by outcome, with the histograms now and in the nearest calibrated predictor.

    >>> from matplotlib.figure import Figure
    >>> movement(Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25]), ax=Figure().subplots()).has_data()
    True

    O(n log n) for a predictor: its `dtc_witness`.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if isinstance(shown, Pictured):
        way = shown.movement
    else:
        way = curves.movement(dtc_witness(as_predictor(shown, y_prob, sample_weight)))
    ax = new_axes(ax)
    colours = palette(ax)
    p, b, y, mass = (np.array(column) for column in (way.p, way.b, way.y, way.mass))
    edges = np.linspace(0, 1, curves.BINS + 1)
    now, then = (np.histogram(place, edges, weights=mass)[0] for place in (p, b))
    scale = 0.24 / max(now.max(), then.max())
    ax.bar(edges[:-1], scale * now, np.diff(edges), bottom=1.015, align="edge", color=colours.fill, linewidth=0)
    ax.bar(edges[:-1], -scale * then, np.diff(edges), bottom=-0.015, align="edge", color=colours.fill, linewidth=0)
    heavy = np.minimum(1, np.sqrt(mass / np.quantile(mass, 0.9)))
    shades = np.ceil(SHADES * heavy).astype(int)
    for shade in range(1, SHADES + 1):
        for outcome, colour in ((0, colours.now), (1, colours.after)):
            drawn = np.flatnonzero((shades == shade) & (y == outcome))
            if len(drawn):
                bends = [[(p[i], 1), (p[i], 0.5), (b[i], 0.5), (b[i], 0)] for i in drawn]
                steps = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4] * len(drawn)
                dark = shade / SHADES
                streams = Path(np.concatenate(bends), steps)
                ax.add_patch(
                    PathPatch(streams, fill=False, color=colour, alpha=0.1 + 0.5 * dark, linewidth=0.4 + 0.9 * dark)
                )
    plain(ax, colours)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.27, 1.27), xlabel="prediction")
    ax.set_yticks([-0.13, 1.13], ["calibrated", "now"])
    ax.grid(visible=False)
    ax.tick_params(axis="y", length=0)
    for outcome, colour in ((1, colours.after), (0, colours.now)):
        ax.plot([], [], color=colour, linewidth=1.2, label=f"outcome {outcome}")
    legend(ax, colours, "center right")
    return ax
