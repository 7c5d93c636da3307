"""Watching a stream as it grows: `watch` follows a file or a pipe, feeds a monitor, and survives being stopped."""

from trustcal.watching.loop import WatchReport, watch
from trustcal.watching.parsing import Fault, Faults

__all__ = ["Fault", "Faults", "WatchReport", "watch"]
