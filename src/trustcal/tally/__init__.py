"""The one counter of rows."""

from trustcal.tally.tally import Tally

__all__ = ["Tally"]
