"""trustcal arena: online forecasters against adversaries."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trustcal.cli.options import Commands

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    arena = commands.add_parser("arena", help="online forecasters against adversaries, and the rates of their errors")
    arena.add_argument(
        "--preset", choices=("paper", "post-processing"), default="paper", help="the game (default paper)"
    )
    arena.add_argument(
        "--horizons", metavar="T", type=int, nargs="+", help="numbers of rounds (default 100 1000 10000 100000)"
    )
    arena.add_argument("--seeds", metavar="N", type=int, help="games of each kind (default 3)")
    arena.add_argument("--replay", metavar="FILE", help="also play against the outcomes of a file, in row order")
    arena.add_argument("-p", "--prediction", metavar="COLUMN", help="predictions in that file (default: by name)")
    arena.add_argument("-y", "--outcome", metavar="COLUMN", help="outcomes in that file (default: by name)")
    arena.add_argument("--out", metavar="DIR", help="folder of finished games, to resume from (default arena-PRESET)")
    arena.add_argument("--workers", metavar="N", type=int, help="processes (default one per core)")
    arena.add_argument("--png", metavar="FILE", help="also draw the errors and the known rates")
    arena.add_argument("--html", metavar="FILE", help="also write a page with table and picture")
    arena.set_defaults(run=_arena)


def _arena(options: argparse.Namespace) -> int:
    from trustcal.checking.files import checked_output
    from trustcal.forecasters import arena
    from trustcal.reading.files import found_files
    from trustcal.report.arena import arena_html, arena_page, save_picture
    from trustcal.report.terminal.console import display, progress_bar
    from trustcal.writing import atomically

    read = () if options.replay is None else found_files(options.replay)
    places = [checked_output(file, *read) for file in (options.png, options.html) if file is not None]
    if len({place.resolve() for place in places}) < len(places):
        raise ValueError(f"{options.html} cannot be both the page and the picture: name two files.")
    if options.png is not None and Path(options.png).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ValueError(f"{options.png} must be a picture, by its name: .png, .svg or .pdf.")
    with progress_bar("games") as progress:
        result = arena(
            options.preset,
            horizons=None if options.horizons is None else tuple(options.horizons),
            seeds=options.seeds,
            replay=_replayed(options),
            folder=options.out,
            workers=options.workers,
            progress=progress,
        )
    display(partial(arena_page, result), width=150)
    if options.png is not None:
        save_picture(result, options.png)
    if options.html is not None:
        with atomically(options.html) as fresh:
            fresh.write_text(arena_html(result), encoding="utf-8")
    return 0


def _replayed(options: argparse.Namespace) -> dict[str, NDArray[np.float64]] | None:
    """The outcomes of the file, by its name."""
    if options.replay is None:
        return None
    from trustcal.reading import reading, rows_in_order
    from trustcal.reading.faults import FaultError

    try:
        found = reading(options.replay, prediction=options.prediction, outcome=options.outcome)
    except FaultError as error:
        mended = error.with_remedies("Correct or remove them in the file.", "Write outcomes as 0 and 1.")
        raise ValueError(mended) from None
    outcomes, _ = rows_in_order(options.replay, found)
    return {Path(options.replay).stem: outcomes}
