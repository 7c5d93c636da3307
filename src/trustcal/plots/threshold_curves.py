"""Pictures over all thresholds: the Murphy diagram and the decision curve."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from trustcal import diagrams
from trustcal.decisions import DecisionProblem
from trustcal.plots.axes import DASHES, legend, mark, new_axes, palette, plain
from trustcal.plots.pictured import Pictured, by_name, marked
from trustcal.predictor import Predictor

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def murphy(
    shown: Predictor | Mapping[str, Predictor] | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    thresholds: ArrayLike | DecisionProblem | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the Murphy diagram: the mean loss at every threshold, where a false alarm costs θ and a miss 1 − θ.

    A predictor whose curve is nowhere above another's is at least as good for every decision maker.  Of one predictor,
    the diagram also shows the loss with the best threshold for each θ (isotonic); the gap is miscalibration.

    Parameters
    ----------
    shown : a predictor, several in a dict by their names, or the outcomes.
    y_prob, sample_weight : predictions and weights, where `shown` is the outcomes.
    thresholds : the reader's thresholds, or their decision problem, drawn as vertical lines.
    ax : matplotlib axes; new ones by default.

    Returns
    -------
    Axes : with a legend.

    References
    ----------
    Ehm, Gneiting, Jordan and Krüger (2016), Of quantiles and expectiles.

    >>> from matplotlib.figure import Figure
    >>> models = {"a": Predictor([0.5], [1.0], [0.25]), "b": Predictor([0.25], [1.0], [0.25])}
    >>> ax = murphy(models, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b', 'always or never act, whichever is better']

    O(n log n).
    """
    found = {name: diagrams.murphy_diagram(q) for name, q in by_name(shown, y_prob, sample_weight).items()}
    mine, ax = marked(thresholds, shown), new_axes(ax)
    colours = palette(ax)
    styles = zip(cycle(colours.series), cycle(DASHES))
    for (name, one), (colour, dashes) in zip(found.items(), styles, strict=False):
        ax.plot(one.thresholds, one.predictions, color=colour, linewidth=1.8, linestyle=dashes, label=name)
    if len(found) == 1:
        ax.plot(
            one.thresholds, one.isotonic, color=colours.after, linewidth=1.6, linestyle=DASHES[1],
            label="the same with the best threshold (isotonic)",
        )  # fmt: skip
    first, *others = found.values()
    if all(abs(max(one.base_rate) - max(first.base_rate)) <= 1e-9 for one in others):  # the same outcomes
        ax.plot(
            first.thresholds, first.base_rate, color=colours.soft, linewidth=1.2, linestyle=DASHES[2],
            label="always or never act, whichever is better",
        )  # fmt: skip
    mark(ax, mine, colours)
    plain(ax, colours)
    top = max(max(one.predictions) for one in found.values())
    ax.set(ylim=(0, 1.35 * top if top > 0 else 1), xlabel="threshold θ above which one acts")
    ax.set_ylabel("mean loss (false alarm: θ, miss: 1 − θ)")
    legend(ax, colours)
    return ax


def decision_curve(
    shown: Pictured | Predictor | Mapping[str, Predictor] | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    thresholds: ArrayLike | DecisionProblem | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the decision curve: the net benefit of treating above a threshold, of treating everybody and nobody.

    Parameters
    ----------
    shown : an audit, a predictor, several in a dict by their names, or the outcomes.
    y_prob, sample_weight : predictions and weights, where `shown` is the outcomes.
    thresholds : the reader's thresholds, or their decision problem, drawn as vertical lines; by default the audit's.
    ax : matplotlib axes; new ones by default.

    Returns
    -------
    Axes : with a legend; cut off a little below 0, where treating everybody falls without end.

    References
    ----------
    Vickers and Elkin (2006), Decision curve analysis.

    >>> from matplotlib.figure import Figure
    >>> ax = decision_curve([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['predictions', 'treat all', 'treat none']

    O(n log n).
    """
    if isinstance(shown, Pictured):
        found = {"predictions": shown.net_benefit}
    else:
        found = {name: diagrams.decision_curve(q) for name, q in by_name(shown, y_prob, sample_weight).items()}
    mine, ax = marked(thresholds, shown), new_axes(ax)
    colours = palette(ax)
    styles = zip(cycle(colours.series), cycle(DASHES))
    for (name, one), (colour, dashes) in zip(found.items(), styles, strict=False):
        ax.plot(one.thresholds, one.net_benefit, color=colour, linewidth=1.8, linestyle=dashes, zorder=3, label=name)
    populations = {one.treat_all[0]: name for name, one in reversed(found.items())}  # one per base rate
    for name in reversed(populations.values()):
        one, label = found[name], "treat all" if len(populations) == 1 else f"treat all ({name})"
        ax.plot(one.thresholds, one.treat_all, color=colours.soft, linewidth=1.3, linestyle=DASHES[1], label=label)
    ax.axhline(0, color=colours.soft, linewidth=1.3, linestyle=DASHES[2], label="treat none")
    mark(ax, mine, colours)
    plain(ax, colours)
    top = max(0.05, *(max(one.net_benefit) for one in found.values()))
    ax.set(ylim=(-0.2 * top, 1.12 * top), xlabel="threshold above which one treats", ylabel="net benefit per row")
    legend(ax, colours)
    return ax
