"""Audits, comparisons, fixes, claims, games and streams for people: text in a terminal, and HTML pages."""
