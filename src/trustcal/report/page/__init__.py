"""The audit as one HTML page."""

from trustcal.report.page.page import page

__all__ = ["page"]
