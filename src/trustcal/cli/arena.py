"""The command that plays: arena."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

WIDTH = 150


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    arena = commands.add_parser("arena", help="online forecasters against adversaries, with the rates of their errors")
    arena.add_argument(
        "--preset", choices=("paper", "post-processing"), default="paper", help="which game (default paper)"
    )
    arena.add_argument("--horizons", metavar="T", type=int, nargs="+", help="numbers of rounds (100 1000 10000 100000)")
    arena.add_argument("--seeds", metavar="N", type=int, help="games of each kind (3)")
    arena.add_argument("--replay", metavar="FILE", help="also against the outcomes of a file, in the order of its rows")
    arena.add_argument("-p", "--prediction", metavar="COLUMN", help="of that file (where not obvious)")
    arena.add_argument("-y", "--outcome", metavar="COLUMN", help="of that file (where not obvious)")
    arena.add_argument("--out", metavar="DIR", help="where finished games are kept (arena-PRESET); run again to go on")
    arena.add_argument("--workers", metavar="N", type=int, help="processes (one for each core)")
    arena.add_argument("--png", metavar="FILE", help="also draw the errors and the known rates")
    arena.add_argument("--html", metavar="FILE", help="also write a page with table and picture")
    arena.set_defaults(run=_arena)


def _arena(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import Progress

    from trustcal.checking import checked_output
    from trustcal.forecasters.arena import run
    from trustcal.forecasters.presets import preset
    from trustcal.reading.files import found_files
    from trustcal.report.arena import arena_html, arena_page, save_picture
    from trustcal.report.terminal.console import display
    from trustcal.writing import atomically

    read = () if options.replay is None else found_files(options.replay)
    places = [checked_output(file, *read) for file in (options.png, options.html) if file is not None]
    if len({place.resolve() for place in places}) < len(places):
        raise ValueError(f"{options.html} cannot be both the page and the picture: name two files.")
    horizons = None if options.horizons is None else tuple(options.horizons)
    plan = preset(options.preset, horizons, options.seeds, _replayed(options))
    folder = Path(options.out or f"arena-{options.preset}")
    with Progress(console=Console(file=sys.stderr), disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task("games")
        played = run(
            plan, folder, lambda done, total: bar.update(task, completed=done, total=total), workers=options.workers
        )
    measures = ("ece", "cdl", "dtc") if options.preset == "paper" else ("ece", "cdl")
    display(partial(arena_page, plan, played, measures), WIDTH)
    if options.png is not None:
        save_picture(plan, played, measures, options.png)
    if options.html is not None:
        with atomically(options.html) as fresh:
            fresh.write_text(arena_html(plan, played, measures), encoding="utf-8")
    return 0


def _replayed(options: argparse.Namespace) -> dict[str, NDArray[np.float64]] | None:
    """The outcomes of the file, by a name that tells other outcomes apart: finished games are found by it."""
    if options.replay is None:
        return None
    from hashlib import blake2b

    from trustcal.reading import reading, rows_in_order
    from trustcal.reading.faults import FaultError

    try:
        found = reading(options.replay, prediction=options.prediction, outcome=options.outcome)
    except FaultError as error:
        mended = error.with_remedies("Mend them in the file, or take them out.", "Write outcomes as 0 and 1.")
        raise ValueError(mended) from None
    outcomes, _ = rows_in_order(options.replay, found)
    return {f"{Path(options.replay).stem} {blake2b(outcomes.tobytes(), digest_size=3).hexdigest()}": outcomes}
