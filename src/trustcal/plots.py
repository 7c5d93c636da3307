"""The pictures of the page, by matplotlib: `trustcal.plots`.

    reliability(audit)      predictions against the frequency of the outcome, with the histogram of predictions
    loss_profile(audit)     the loss of those who act above a threshold, for every threshold, before and after noise
    movement(audit)         how predictions must move to become calibrated

Each takes an audit or a predictor, draws on `ax` (or on new axes) and returns the axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from trustcal import curves
from trustcal.measures.pooling import pooled
from trustcal.measures.transport import dtc_witness
from trustcal.predictor import Predictor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trustcal.auditing import Audit

Picture = Callable[["Audit | Predictor", "Axes | None"], "Axes"]
"""Draws an audit or a predictor, on the axes given or on new ones, and returns the axes."""

INK: Final = "#24292f"
SOFT: Final = "#6b7280"
LINE: Final = "#d8dce2"
NOW: Final = "#b4472b"
AFTER: Final = "#1f7a8c"
TOTAL: Final = "#8a6bb1"
FILL: Final = "#c9ced6"
"""The colours of the pictures.  The page replaces them by its own, for light and dark screens."""

SHADES: Final = 6
"""The number of shades of the streams in `movement`."""


def reliability(shown: Audit | Predictor, ax: Axes | None = None) -> Axes:
    """Draw the reliability diagram: predictions on the diagonal mean what they say.

    Parameters
    ----------
    shown : an audit or a predictor; values too rare to have a frequency are pooled into bins of equal mass.
    ax : matplotlib axes; new ones by default.

    Returns
    -------
    Axes : with the curve, Wilson's 95 % interval of each frequency as a band, and the histogram of predictions below.

    >>> from matplotlib.figure import Figure
    >>> reliability(Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25]), Figure().subplots()).get_xlabel()
    'prediction'

    O(n) for a predictor.
    """
    ax = _axes(ax)
    curve, spread = _curve(shown), np.array(_histogram(shown).mass)
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
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="prediction", ylabel="frequency of the outcome", aspect="equal")
    ax.set_yticks(np.linspace(0, 1, 6))
    return ax


def loss_profile(shown: Audit | Predictor, ax: Axes | None = None) -> Axes:
    """Draw the loss at every threshold: now, after the noise, and after it including the sharpness that it costs.

    Parameters
    ----------
    shown : an audit; or a predictor, whose loss is drawn without noise.
    ax : matplotlib axes; new ones by default.

    Returns
    -------
    Axes : the loss in per cent of the payoff range against the threshold.

    >>> from matplotlib.figure import Figure
    >>> ax = loss_profile(Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25]), Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['now']

    O(n) for each of about 3n + 400 thresholds, n ≤ 1024 after pooling.
    """
    ax = _axes(ax)
    curve, noise = _curve(shown), None if isinstance(shown, Predictor) else shown.after_noise
    breaks = curve.breaks
    mu = np.clip(np.concatenate([breaks - 1e-9, breaks, breaks + 1e-9, np.linspace(0, 1, 401)]), 0, 1)
    mu.sort()
    now = 100 * curve.loss(mu)
    ax.fill_between(mu, 0, now, color=NOW, alpha=0.10, linewidth=0, gid="fill-now")
    ax.plot(mu, now, color=NOW, linewidth=1.4, label="now", gid="series-now")
    top = float(now.max())
    if noise is not None:
        steps = np.array(noise.thresholds)
        after, total = 100 * noise.loss(steps), 100 * noise.loss(steps, total=True)
        ax.plot(steps, after, color=AFTER, linewidth=1.4, label="after the noise", gid="series-after")
        ax.plot(
            steps,
            total,
            color=TOTAL,
            linewidth=1.2,
            dashes=(5, 2),
            label="after the noise, with its cost in sharpness",
            gid="series-total",
        )
        top = max(top, float(after.max()), float(total.max()))
    _unit(ax)
    ax.set(xlim=(0, 1), ylim=(0, 1.12 * top if top > 1e-9 else 1), xlabel="threshold above which one acts")
    ax.set_ylabel("loss, % of payoff range")
    return ax


def movement(shown: Audit | Predictor, ax: Axes | None = None) -> Axes:
    """Draw how predictions (above) must move (below) to become calibrated; heavier streams are darker.

    Parameters
    ----------
    shown : an audit or a predictor.
    ax : matplotlib axes; new ones by default.

    Returns
    -------
    Axes : streams coloured by outcome, with the histograms now and in the nearest calibrated predictor.

    >>> from matplotlib.figure import Figure
    >>> movement(Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25]), Figure().subplots()).has_data()
    True

    O(n log n) for a predictor: its `dtc_witness`.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    ax = _axes(ax)
    way = curves.movement(dtc_witness(shown)) if isinstance(shown, Predictor) else shown.movement
    p, b, y, mass = (np.array(column) for column in (way.p, way.b, way.y, way.mass))
    edges = np.linspace(0, 1, curves.BINS + 1)
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


def _curve(shown: Audit | Predictor) -> curves.Curve:
    return curves.reliability_curve(pooled(shown)[0]) if isinstance(shown, Predictor) else shown.curve


def _histogram(shown: Audit | Predictor) -> curves.Histogram:
    return curves.histogram(shown) if isinstance(shown, Predictor) else shown.histogram


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
