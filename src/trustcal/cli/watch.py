"""trustcal watch: a stream of predictions and outcomes, followed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from trustcal.cli.options import TWO_LABELS, Commands

if TYPE_CHECKING:
    from trustcal.remedies import Remedy

_EXAMPLES = """\
examples:
  trustcal watch served.csv -p score -y outcome --state watch.json
  tail -f served.jsonl | trustcal watch - -p score -y outcome --id case
  trustcal watch served.csv -y outcome --remedy remedy.json --on-alarm ./page-me.sh
  trustcal watch today.csv -p score -y outcome --no-follow --json               exits with 3 after an alarm
  trustcal watch served.csv -p score -y outcome --metrics 9464
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
    watch.add_argument(
        "-p", "--prediction", metavar="COLUMN", help="predicted probabilities (default: that of the remedy)"
    )
    watch.add_argument("-y", "--outcome", metavar="COLUMN", required=True, help=f"outcomes: {TWO_LABELS}")
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
    watch.add_argument("--remedy", metavar="FILE", help="monitor the predictions after the remedy saved in this file")
    watch.add_argument(
        "--no-follow",
        action="store_true",
        help="stop at the end of the file; the exit status is 3 after an alarm, and 2 if most rows were skipped",
    )
    watch.add_argument(
        "--on-alarm", metavar="COMMAND", help="run this once at the alarm, with the measures as JSON on its input"
    )
    watch.add_argument("--json", action="store_true", help="print lines of JSON: rows, faults, alarm, report")
    watch.add_argument(
        "--every",
        metavar="N",
        type=int,
        default=1000,
        help="outside a terminal, print a line every N rows; after an alarm, look for a better remedy (default 1000)",
    )
    watch.add_argument("--metrics", metavar="PORT", type=int, help="serve the numbers for Prometheus on this port")
    watch.set_defaults(run=_watch, closed=128 + 13)  # as if SIGPIPE had ended it: somebody must notice


def _watch(options: argparse.Namespace) -> int:
    from trustcal.cli.alarms import AlarmView
    from trustcal.monitoring import MetricsView, Monitor, WatchView, watch
    from trustcal.report.terminal.watch import TerminalView
    from trustcal.report.terminal.watch_lines import JsonLinesView

    remedy = _remedy(options.remedy)
    learned = None if remedy is None or remedy.learned is None else remedy.learned.prediction
    if (prediction := options.prediction or learned) is None:
        raise ValueError("name the column of predictions: -p COLUMN.")
    shown = JsonLinesView(options.every) if options.json else TerminalView(options.every)
    view: WatchView = AlarmView(shown, options.on_alarm, options.every)
    if options.metrics is not None:
        view = MetricsView(view, options.metrics)
    report = watch(
        options.source,
        prediction=prediction,
        outcome=options.outcome,
        row_id=options.id,
        pending=options.pending,
        remedy=remedy,
        monitor=Monitor(window=options.window, decay=options.decay, alarm_rate=options.alarm_rate),
        state=options.state,
        follow=not options.no_follow,
        replay=options.replay,
        view=view,
    )
    if not options.no_follow:
        return 0
    if report.snapshot is not None and report.snapshot.alarm.alarmed_at is not None:
        return 3
    if report.skipped > report.rounds:
        raise ValueError(
            f"{report.source}: {report.skipped:,} rows were skipped, more than the {report.rounds:,} that were "
            "watched. trustcal audit says what is wrong with them."
        )
    return 0


def _remedy(file: str | None) -> Remedy | None:
    """The remedy in a file, which must give the same for the same score."""
    if file is None:
        return None
    from trustcal.remedies import ClassRemedy, load

    remedy = load(file)
    if isinstance(remedy, ClassRemedy):
        raise ValueError(f"{file} holds a remedy for classes, but a score of two outcomes is watched.")
    if remedy.random or remedy.by_group:
        what = "noise" if remedy.random else "a remedy learned by group"
        raise ValueError(f"{file} holds {what}, which depends on more than the score: watch the column it has written.")
    return remedy
