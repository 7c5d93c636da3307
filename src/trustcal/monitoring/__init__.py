"""Monitoring a stream of predictions and outcomes.

`Monitor` measures a window of the stream and tests the whole stream for calibration.  `watch` feeds a monitor from a
growing file or a pipe.
"""

from trustcal.monitoring.betting import Bet
from trustcal.monitoring.line_parser import FaultLog, LineFault
from trustcal.monitoring.metrics import MetricsView, metrics_text
from trustcal.monitoring.monitor import Alarm, Monitor, Snapshot, WindowMeasure
from trustcal.monitoring.view import WatchReport, WatchView
from trustcal.monitoring.watching import watch

__all__ = [
    "Alarm",
    "Bet",
    "FaultLog",
    "LineFault",
    "MetricsView",
    "Monitor",
    "Snapshot",
    "WatchReport",
    "WatchView",
    "WindowMeasure",
    "metrics_text",
    "watch",
]
