"""Pictures as SVG inside the page: small, in the page's colours and fonts, and byte-for-byte reproducible."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from html import escape
from io import StringIO
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Protocol, final

from trustcal.plots.axes import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trustcal.auditing import Audit, ClassAudit


class Picture(Protocol):
    """Draws an audit on the axes given, and returns them."""

    def __call__(self, shown: Any, /, *, ax: Axes) -> Axes:
        """Draw."""


COLOURS: Final = {getattr(LIGHT, field.name): f"var(--{field.name})" for field in fields(LIGHT)}
WIDTH: Final = 5.2
"""In inches: about the width of a phone, so that text need not be scaled down there."""


DRAWING: Final = Lock()
"""Held while matplotlib's settings are ours: they are those of all threads."""


@final
@dataclass(frozen=True)
class AxesBox:
    """The position of the axes in the picture, in its units, for the script that draws on top of it."""

    left: float
    right: float
    top: float
    bottom: float
    """Where the value is 0."""
    floor: float
    """The lower end of the axes."""
    highest: float
    """The value at the top."""


def svg(draw: Picture, audit: Audit | ClassAudit, height: float, name: str, label: str) -> tuple[str, AxesBox]:
    """A picture as an svg element with this id and this label for screen readers, and the position of its axes."""
    from matplotlib.figure import Figure
    from matplotlib.style import context

    # Ignore the user's matplotlibrc, so that the same audit gives the same bytes.
    settings = {"svg.fonttype": "none", "svg.hashsalt": name, "font.size": 10, "axes.labelsize": 10}
    with DRAWING, context(["default", settings]):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        ax = draw(audit, ax=figure.subplots())
        legend = ax.get_legend()
        if legend is not None:
            legend.remove()  # the page has its own
        text = StringIO()
        figure.savefig(
            text, format="svg", transparent=True, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
        )
        box = ax.get_position()
    wide, high = 72 * WIDTH, 72 * height
    least, most = ax.get_ylim()
    zero = box.y0 + (box.y1 - box.y0) * (0 - least) / (most - least)
    ends = (box.x0 * wide, box.x1 * wide, (1 - box.y1) * high, (1 - zero) * high, (1 - box.y0) * high, most)
    frame = AxesBox(*map(float, ends))
    return _inline(text.getvalue(), wide, high, name, label), frame


def _inline(text: str, wide: float, high: float, name: str, label: str) -> str:
    """The drawing without what only a file needs: prolog, namespaces (which look like addresses), fonts, names."""
    body = text[text.index(">", text.index("<svg")) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>", "", body, flags=re.DOTALL)
    used = set(re.findall(r"url\(#([^)]+)\)", body)) | set(re.findall(r'href="#([^"]+)"', body))

    def tag(found: re.Match[str]) -> str:
        """Only tags are changed, never the words between them, which may be the user's."""
        changed = re.sub(
            r' id="([^"]+)"', lambda i: f' id="{name}-{i[1]}"' if i[1] in used or "series" in i[1] else "", found[0]
        )
        changed = re.sub(r"url\(#|xlink:href=\"#", lambda start: f"{start[0].removeprefix('xlink:')}{name}-", changed)
        changed = re.sub(r"font-size: [^;\"]*; |font-family: [^;\"]*; ", "", changed)
        changed = re.sub(r" transform=\"rotate\(-?0 [^\"]*\"", "", changed)
        changed = re.sub(r"(\d\.\d\d)\d+", r"\1", changed)
        return re.sub("|".join(COLOURS), lambda colour: COLOURS[colour[0]], re.sub(r"\s+", " ", changed))

    body = re.sub(r">\s+<", "><", re.sub(r"<[^>]*>", tag, body))
    return (
        f'<svg class="picture" id="{name}" role="img" aria-label="{escape(label)}" viewBox="0 0 {wide:g} {high:g}">'
        f"{body.strip()}"
    )
