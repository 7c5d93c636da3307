"""The pictures of the page, with their captions and legends."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from trustcal import plots
from trustcal.formats import percent, small, whole
from trustcal.report.page.svg import AxesBox, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trustcal.auditing import Audit

ROOM = 0.8
"""The share of the height of the loss profile that is needed where the legend is outside."""


def reliability_figure(audit: Audit) -> str:
    """The reliability diagram of the first screen, with its caption and its legend."""
    picture, _ = svg(plots.reliability, audit, 4.6, "reliability", "What predictions mean, against what they say")
    key = [("now", "what predictions mean")]
    if audit.diagram.repeated:
        key.append(("dot", "frequency of a repeated prediction"))
    if audit.diagram.band is not None:
        key.append(("block chance", "band: chance alone"))
    key.append(("block fill", "bars: how predictions are spread"))
    if audit.problem is not None and audit.problem.thresholds:
        key.append(("yours", "your threshold" + "s" * (len(audit.problem.thresholds) > 1)))
    legend = "".join(f'<span><i class="swatch {kind}"></i>{escape(words)}</span>' for kind, words in key)
    return (
        f'<figure class="card">{picture}<div class="legend">{legend}</div>'
        f"<figcaption>{escape(_caption(audit))}</figcaption></figure>"
    )


def profile_figure(audit: Audit) -> tuple[str, AxesBox]:
    """The loss profile, and the position of its axes for the script."""

    def draw(shown: Audit, *, ax: Axes) -> Axes:
        low, high = plots.loss_profile(shown, ax=ax).get_ylim()
        ax.set_ylim(low, ROOM * high)
        return ax

    label = "The loss at every threshold, now and after noise, and the better threshold"
    return svg(draw, audit, 3.3, "profile", label)


def net_benefit_section(audit: Audit) -> str:
    """The decision curve."""
    label = "The net benefit at every threshold, of the predictions, of treating all and of treating none"
    picture, _ = svg(plots.decision_curve, audit, 4.4, "benefit", label)
    return _filled("benefit.html", benefit=picture)


def movement_section(audit: Audit) -> str:
    """The way to the nearest calibrated predictor."""
    picture, _ = svg(plots.movement, audit, 4.4, "movement", "How predictions must move to become calibrated")
    return _filled("movement.html", movement=picture, distance=small(audit.measures["dtc"]))


def _filled(name: str, **parts: str) -> str:
    text = (files("trustcal.report.page") / name).read_text(encoding="utf-8").strip()
    return Template(text).substitute(parts)


def _caption(audit: Audit) -> str:
    said = "On the dashed line a prediction of 0.7 comes true 7 times in 10; below it, predictions are too high."
    band = audit.diagram.band
    if band is None:
        return said
    return (
        f"{said} By chance alone the curve would be in the grey band, at each prediction in "
        f"{whole(band.confidence)} of all samples. It is outside for {percent(band.outside)} of the rows; that of "
        f"calibrated predictions would be for {whole(1 - band.confidence)} on average."
    )
