"""The gallery: every block of code that makes axes called `ax` is followed by the picture that it drew."""

from __future__ import annotations

import doctest
import io
import re
from contextlib import redirect_stdout
from typing import Any

import matplotlib as mpl

PAGE = "gallery.md"
BLOCK = re.compile(r"```python\n(.*?)```\n", re.DOTALL)
STYLE = {"svg.hashsalt": "trustcal", "svg.fonttype": "none", "font.family": "sans-serif"}


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Run the blocks of the gallery in order, and insert the pictures."""
    if page.file.src_uri != PAGE:
        return markdown
    names: dict[str, Any] = {}

    def pictured(block: re.Match[str]) -> str:
        names.pop("ax", None)
        with redirect_stdout(io.StringIO()):
            for example in doctest.DocTestParser().get_examples(block[1]):
                exec(compile(example.source, PAGE, "exec"), names)
        return block[0] + (f"\n{_svg(names['ax'])}\n" if "ax" in names else "")

    with mpl.rc_context(STYLE):
        return BLOCK.sub(pictured, markdown)


def _svg(ax: Any) -> str:
    file = io.StringIO()
    ax.figure.savefig(file, format="svg", metadata={"Date": None}, bbox_inches="tight")
    svg = file.getvalue()
    return "<figure>" + "".join(svg[svg.index("<svg") :].splitlines()) + "</figure>"
