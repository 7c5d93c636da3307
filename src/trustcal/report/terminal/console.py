"""Text for people: colours and boxes in a terminal, plain text in a pipe or a file.

Every console is made here: what it prints may quote the user's data, and has no characters that a terminal would obey.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, final

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from trustcal.formats import on_one_line, printable

KEPT = "\ue000"
"""A space at which lines are not broken: rich breaks them at every kind of space."""
Page = Callable[[box.Box], RenderableType]
"""A page, given the box that its tables should be drawn with."""


@final
class SafeConsole(Console):
    """A console of rich that prints words as they are, without markup, and nothing that a terminal would obey."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Everything that is printed passes here, also in tables and live pages; rich's own controls are kept."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(printable(text.replace(KEPT, " "), kept="\n\t"), style)


def display(page: Page, width: int = 120) -> None:
    """Print a page, at most `width` wide."""
    console = SafeConsole()
    width = min(console.width, width)  # of the terminal, or COLUMNS; 80 in a pipe
    if console.is_terminal:
        console.print(page(box.SIMPLE), width=width, crop=False)  # a long path is not cut off
    else:
        print(plain_text(page, width))


def plain_text(page: Page, width: int) -> str:
    """The page as plain text."""
    console = SafeConsole(width=width, color_system=None)
    with console.capture() as capture:
        console.print(page(box.ASCII2), crop=False)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def sentences(text: str, style: str = "", lead: str = "") -> Text:
    """Sentences, after a lead in bold; a number and its unit stay on one line."""
    kept = [part.replace(" %", f"{KEPT}%") for part in map(on_one_line, (lead, text))]
    return Text.assemble((kept[0], "bold"), kept[1], style=style)


@final
class Command:
    """A command on lines of its own, to be pasted: where it does not fit on a line, a backslash says that it goes on.

    A call in Python may go on anyway, within its brackets.
    """

    def __init__(self, text: str) -> None:
        self._shell = text.startswith("trustcal ")
        self._words = [shlex.quote(word) for word in shlex.split(text)] if self._shell else text.split(" ")

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        """Lines that break between words only."""
        end = " \\" if self._shell else ""
        line = self._words[0]
        for word in self._words[1:]:
            if len(line) + 1 + len(word) + len(end) > options.max_width:
                yield _unbroken(line + end)
                line = f"    {word}"
            else:
                line = f"{line} {word}"
        yield _unbroken(line)


def _unbroken(line: str) -> Text:
    return Text(line, no_wrap=True, overflow="ignore")


def number_table(frame: box.Box, first: str, *headers: str) -> Table:
    """An empty table: a column of text, then columns of numbers."""
    table = Table(first, box=frame)
    for header in headers:
        table.add_column(header, justify="right")
    return table


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the standard error, if that is a terminal: call what it gives with the number done and the total."""
    from rich.progress import Progress

    console = SafeConsole(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(title)
        yield lambda done, total: bar.update(task, completed=done, total=total)
