"""trustcal watch: a stream of predictions and outcomes, followed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_EXAMPLES = """\
examples:
  trustcal watch served.csv -p score -y outcome --state watch.json
  tail -f served.jsonl | trustcal watch - -p score -y outcome --id case
"""


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    watch = commands.add_parser(
        "watch",
        help="follow a stream of predictions and outcomes, and raise an alarm",
        description="Measure a window of a growing file or a pipe; false alarms are bounded over the whole stream.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    watch.add_argument("source", metavar="FILE", help="a growing CSV or JSON-lines file, or - for the standard input")
    watch.add_argument("-p", "--prediction", metavar="COLUMN", required=True, help="predicted probabilities")
    watch.add_argument("-y", "--outcome", metavar="COLUMN", required=True, help="outcomes, 0/1 or true/false")
    watch.add_argument("--id", metavar="COLUMN", help="ids, if outcomes are on later lines than predictions")
    watch.add_argument(
        "--pending", metavar="N", type=int, default=1000, help="maximum pending predictions (default 1000)"
    )
    measured = watch.add_mutually_exclusive_group()
    measured.add_argument("--window", metavar="N", type=int, help="measure the last N rows (default 1000)")
    measured.add_argument("--decay", metavar="D", type=float, help="measure all rows, with weights D^age")
    watch.add_argument(
        "--alarm-rate",
        metavar="P",
        type=float,
        default=0.01,
        help="false-alarm probability over the whole stream (default 0.01)",
    )
    watch.add_argument("--state", metavar="FILE", help="save the state here, and resume from it if it exists")
    watch.add_argument("--replay", action="store_true", help="the pipe starts again: skip what the state has counted")
    watch.add_argument("--no-follow", action="store_true", help="stop at the end of the file")
    watch.add_argument(
        "--every",
        metavar="N",
        type=int,
        default=1000,
        help="outside a terminal, print a line every N rows (default 1000)",
    )
    watch.set_defaults(run=_watch)


def _watch(options: argparse.Namespace) -> int:
    from trustcal.monitoring import Monitor, watch
    from trustcal.report.terminal.watch import TerminalView

    watch(
        options.source,
        prediction=options.prediction,
        outcome=options.outcome,
        row_id=options.id,
        pending=options.pending,
        monitor=Monitor(window=options.window, decay=options.decay, alarm_rate=options.alarm_rate),
        state=options.state,
        follow=not options.no_follow,
        replay=options.replay,
        view=TerminalView(options.every),
    )
    return 0
