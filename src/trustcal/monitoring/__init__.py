"""Watching a stream of predictions and outcomes: `Monitor` measures a window of it and bets against all of it."""

from trustcal.monitoring.betting import Bet
from trustcal.monitoring.monitor import Alarm, Monitor, Reading, Snapshot

__all__ = ["Alarm", "Bet", "Monitor", "Reading", "Snapshot"]
