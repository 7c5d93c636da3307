"""The audit as one HTML page."""

from trustcal.report.page.page import first_screen, page

__all__ = ["first_screen", "page"]
