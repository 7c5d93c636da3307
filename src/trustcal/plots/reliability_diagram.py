"""The reliability diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trustcal.curves import Histogram, histogram
from trustcal.decisions import DecisionProblem
from trustcal.diagrams import ReliabilityDiagram, reliability_diagram
from trustcal.formats import whole
from trustcal.plots.axes import Palette, legend, mark, new_axes, palette, plain
from trustcal.plots.pictured import Pictured, marked
from trustcal.predictor import Predictor, as_predictor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENDS = (0.1, 0.2, 0.5, 1.0)
"""The axes end at the first of these that no prediction and no threshold exceeds."""


def reliability(
    shown: Pictured | Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    thresholds: ArrayLike | DecisionProblem | None = None,
    rng: np.random.Generator | int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the reliability diagram: on the dashed line predictions mean what they say.

    The curve is the isotonic regression of the outcomes on the predictions (CORP): no bins.  The grey band shows where
    the curve of calibrated predictions lies, at each prediction in 95 % of all samples of these rows; it is pointwise.
    Dots are the frequencies of predictions that occur in 25 or more rows.  The bars at the bottom show how predictions
    are spread.  Where all predictions are small, the axes end at 0.5, 0.2 or 0.1.

    Parameters
    ----------
    shown : an audit, a predictor, or the outcomes.
    y_prob, sample_weight : predictions and weights, where `shown` is the outcomes.
    thresholds : the reader's thresholds, or their decision problem, drawn as vertical lines; by default the audit's.
    rng : a numpy Generator or a seed, for the band; an audit has its own.
    ax : matplotlib axes; new ones by default.

    Returns
    -------
    Axes : with a legend.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic classifiers.

    >>> from matplotlib.figure import Figure
    >>> ax = reliability([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8], thresholds=0.25, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()][:2]
    ['what predictions mean (isotonic)', 'by chance: 95 % of samples, at each prediction']

    O(n) for each of 199 samples.
    """
    mine = marked(thresholds, shown)
    if isinstance(shown, Pictured):
        diagram, spread = shown.diagram, shown.histogram
    else:
        q = as_predictor(shown, y_prob, sample_weight)
        diagram, spread = reliability_diagram(q, rng=rng), histogram(q)
    ax = new_axes(ax)
    colours = palette(ax)
    top = next(end for end in ENDS if max([diagram.p[-1], *mine]) <= end)
    _draw_bars(ax, spread, top, colours)
    ax.plot([0, 1], [0, 1], color=colours.soft, linewidth=1, linestyle=(0, (4, 3)), zorder=3)
    _draw_curve(ax, diagram, colours)
    _draw_band(ax, diagram, colours)
    mark(ax, mine, colours)
    plain(ax, colours)
    ax.set(xlim=(0, top), ylim=(0, top), xlabel="prediction", ylabel="frequency of the outcome", aspect="equal")
    ax.set_xticks(np.linspace(0, top, 6))
    ax.set_yticks(np.linspace(0, top, 6))
    legend(ax, colours, "upper left")
    return ax


def _draw_bars(ax: Axes, spread: Histogram, top: float, colours: Palette) -> None:
    mass = np.array(spread.mass)
    edges = np.linspace(0, 1, len(mass) + 1)
    heights = 0.16 * top * mass / mass.max()
    ax.bar(edges[:-1], heights, np.diff(edges), align="edge", color=colours.fill, linewidth=0, zorder=1, gid="spread")


def _draw_band(ax: Axes, diagram: ReliabilityDiagram, colours: Palette) -> None:
    band = diagram.band
    if band is None:
        return
    words = f"by chance: {whole(band.confidence)} of samples, at each prediction"
    if len(band.p) > 1:
        ax.fill_between(
            band.p, band.lower, band.upper, color=colours.soft, alpha=0.25, linewidth=0, zorder=2, label=words
        )
    else:
        ax.vlines(band.p, band.lower, band.upper, color=colours.soft, alpha=0.5, linewidth=5, zorder=2, label=words)


def _draw_curve(ax: Axes, diagram: ReliabilityDiagram, colours: Palette) -> None:
    few = len(diagram.p) == 1
    ax.plot(
        diagram.p,
        diagram.fitted,
        color=colours.now,
        linewidth=1.8,
        marker="o" if few else None,
        zorder=4,
        label="what predictions mean (isotonic)",
    )
    if diagram.repeated and not few:
        ax.scatter(
            diagram.repeated, diagram.frequency, s=16, facecolor="none", edgecolor=colours.now, linewidth=1, zorder=5,
            label="frequency of a repeated prediction",
        )  # fmt: skip
