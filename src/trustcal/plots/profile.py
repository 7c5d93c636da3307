"""The loss profile: what those who act above a threshold lose, and which threshold to use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal import diagrams
from trustcal.curves import AfterNoise
from trustcal.decisions import DecisionProblem
from trustcal.diagrams import LossProfile
from trustcal.diagrams.profile import STEPS
from trustcal.formats import percent, whole
from trustcal.plots.axes import DASHES, Palette, legend, new_axes, palette, plain
from trustcal.plots.pictured import Pictured, marked
from trustcal.predictor import Predictor, as_predictor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]

STRIP = 0.32
"""The height of the strip with the better thresholds, as a share of the highest loss shown."""
NOTHING = 1e-9
"""A loss of less than this, in per cent, is rounding."""


def loss_profile(
    shown: Pictured | Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    thresholds: ArrayLike | DecisionProblem | None = None,
    confidence: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what those who act above a threshold lose by not moving it, and where to move it.

    In the strip below 0 a line leads from each threshold to the better one on the axis; the darker, the more it gains.

    Parameters
    ----------
    shown : a predictor, or the outcomes; or an audit, whose losses after noise are drawn too.
    y_prob, sample_weight : predictions and weights, where `shown` is the outcomes.
    thresholds : the reader's thresholds, or their decision problem, drawn as vertical lines; by default the audit's.
    confidence : the confidence level of a band for all thresholds at once (`profile_band`); by default no band.
    ax : matplotlib axes; new ones by default.

    Returns
    -------
    Axes : the loss in per cent of the payoff range against the threshold, with a legend.

    >>> from matplotlib.figure import Figure
    >>> q = Predictor([0.25, 0.5, 0.75], [0.25, 0.5, 0.25], [0.0, 0.125, 0.25])
    >>> for text in loss_profile(q, thresholds=0.4, ax=Figure().subplots()).get_legend().get_texts():
    ...     print(text.get_text())
    loss by not moving the threshold
    largest at 0.5: 25.0 %; act above it, not at it
    yours, 0.4: 12.5 %; act above 0.5 instead
    better threshold

    O(n log n).
    """
    mine, noise = marked(thresholds, shown), None
    if isinstance(shown, Pictured):
        profile, noise = shown.profile, shown.after_noise
    else:
        q = as_predictor(shown, y_prob, sample_weight)
        profile = diagrams.loss_profile(q, thresholds=mine, confidence=confidence)
    ax = new_axes(ax)
    colours = palette(ax)
    top = max(_draw_loss(ax, profile, colours), _draw_noise(ax, noise, colours))
    for threshold in mine:
        label = f"yours, {_said(profile, threshold)}"
        ax.axvline(threshold, color=colours.ink, linewidth=1, linestyle=(0, (1, 1.5)), zorder=6, label=label)
    _draw_better(ax, profile, top if top > NOTHING else 1.0, colours)
    plain(ax, colours)
    ax.set_xlabel("threshold above which one acts")
    ax.set_ylabel("loss, % of payoff range")
    legend(ax, colours)
    return ax


def _draw_loss(ax: Axes, profile: LossProfile, colours: Palette) -> float:
    """The loss now, its band and its largest value; returns the height of all that."""
    mu = np.array(profile.thresholds)
    loss = 100 * profile.loss(mu)
    top = float(loss.max())
    label = "loss by believing every value" if profile.swaps else "loss by not moving the threshold"
    ax.fill_between(mu, 0, loss, color=colours.now, alpha=0.10, linewidth=0, gid="fill-now")
    ax.plot(mu, loss, color=colours.now, linewidth=1.6, label=label, zorder=4, gid="series-now")
    if top > NOTHING:
        label = f"largest at {_said(profile, profile.worst)}"
        ax.plot([profile.worst], [top], "o", color=colours.now, markersize=5, zorder=5, label=label)
    if profile.half_width is not None:
        half = 100 * profile.half_width / np.maximum(mu, 1 - mu)
        lower, upper = np.maximum(loss - half, 0), loss + half
        label = f"population, all thresholds at once ({whole(profile.confidence)} confidence)"
        ax.fill_between(mu, lower, upper, color=colours.soft, alpha=0.22, linewidth=0, label=label)
        top = float(upper.max())
    return top


def _draw_noise(ax: Axes, noise: AfterNoise | None, colours: Palette) -> float:
    """The losses after noise; returns the largest."""
    if noise is None:
        return 0.0
    mu = np.array(noise.thresholds)
    after, total = 100 * noise.loss(mu), 100 * noise.loss(mu, total=True)
    ax.plot(
        mu, after, color=colours.after, linewidth=1.4, linestyle=DASHES[3], label="after the noise", gid="series-after"
    )
    label = "after the noise, with its cost in sharpness"
    ax.plot(mu, total, color=colours.total, linewidth=1.2, linestyle=DASHES[1], label=label, gid="series-total")
    return float(max(after.max(), total.max()))


def _draw_better(ax: Axes, profile: LossProfile, top: float, colours: Palette) -> None:
    """The strip below 0 in which lines lead from thresholds to the better ones on the axis."""
    from matplotlib.ticker import MaxNLocator

    steps = np.arange(1, STEPS) / STEPS
    gains = profile.loss(steps)
    shades = gains / max(float(gains.max()), NOTHING)
    for i, (mu, dark) in enumerate(zip(steps.tolist(), shades.tolist(), strict=True)):
        ax.plot(
            [mu, min(max(profile.better(mu), 0.0), 1.0)],
            [0, -STRIP * top],
            color=colours.ink,
            linewidth=0.6 + 0.8 * dark,
            alpha=0.15 + 0.75 * dark,
            label="better threshold" if i == int(np.argmax(shades)) else None,
            gid="better",
        )
    ax.axhline(0, color=colours.line, linewidth=1)
    ticks = [tick for tick in MaxNLocator(5).tick_values(0, top) if 0 <= tick <= 1.15 * top]
    ax.set_yticks([-STRIP * top, *ticks], ["better", *(f"{tick:g}" for tick in ticks)])
    ax.set_ylim(-STRIP * top, 1.4 * top)  # with room for the legend


def _said(profile: LossProfile, mu: float) -> str:
    """A threshold, its loss and the better threshold, in words."""
    better, loss = profile.better(mu), float(profile.loss(mu))
    if better == mu:
        instead = "act above it, not at it" if loss > 0 else ""
    else:
        instead = "always act" if better < 0 else "never act" if better >= 1 else f"act above {better:.3g} instead"
    return f"{mu:.3g}: {percent(loss)}{'; ' * bool(instead)}{instead}"
