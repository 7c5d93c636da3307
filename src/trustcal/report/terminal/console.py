"""Text for people: colours and boxes in a terminal, plain text in a pipe or a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console, RenderableType

Page = Callable[[box.Box], RenderableType]
"""A page, given the box that its tables should be drawn with."""


def display(page: Page, width: int) -> None:
    """Print a page, at most `width` wide."""
    console = Console(highlight=False, markup=False)
    if console.is_terminal:
        console.print(page(box.SIMPLE), width=min(console.width, width))
    else:
        print(plain_text(page, width))


def plain_text(page: Page, width: int) -> str:
    """The page as plain text."""
    console = Console(width=width, color_system=None, highlight=False, markup=False)
    with console.capture() as capture:
        console.print(page(box.ASCII2))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the standard error, if that is a terminal: call what it gives with the number done and the total."""
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(title)
        yield lambda done, total: bar.update(task, completed=done, total=total)
