"""The faces of audits, comparisons, fixes, claims, games and watched streams: words, tables and pictures of numbers."""
