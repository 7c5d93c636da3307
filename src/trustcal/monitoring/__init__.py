"""Monitoring a stream of predictions and outcomes.

`Monitor` measures a window of the stream and tests all of it for calibration; `watch` feeds one from a file or a pipe.
"""

from trustcal.monitoring.betting import Bet
from trustcal.monitoring.loop import WatchReport, watch
from trustcal.monitoring.monitor import Alarm, Monitor, Reading, Snapshot
from trustcal.monitoring.parsing import Fault, Faults

__all__ = ["Alarm", "Bet", "Fault", "Faults", "Monitor", "Reading", "Snapshot", "WatchReport", "watch"]
