"""Examples in docstrings without a section of their own get one: otherwise Markdown would show >>> as quotations."""

from __future__ import annotations

import re
from typing import Any

import griffe

FIRST = re.compile(r"(?:\A|\n)[ \t]*\n?(?=[ \t]*>>> )")


class ExamplesSection(griffe.Extension):
    """Puts the heading `Examples` in front of the first example of a docstring that has none."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every object that is loaded."""
        if obj.docstring is None or re.search(r"^Examples\n-+$", obj.docstring.value, re.MULTILINE):
            return
        obj.docstring.value = FIRST.sub("\n\nExamples\n--------\n", obj.docstring.value, count=1)
