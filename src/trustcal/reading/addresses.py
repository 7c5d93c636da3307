"""Addresses of files elsewhere, which are refused: only local files are read."""

from __future__ import annotations

import re

_COPY = {"s3": "aws s3 cp", "s3a": "aws s3 cp", "gs": "gsutil cp", "gcs": "gsutil cp"}


def refuse_remote(path: str) -> None:
    """Raise a ValueError for an address, and say how to read it; a `Path` has lost one of its slashes.

    >>> refuse_remote("scores.csv")
    """
    found = re.match(r"(s3a?|gs|gcs|az|abfss?|wasbs?|hdfs|https?|ftp):/+(.*)", path, re.IGNORECASE)
    if found is None:
        return
    address = f"{found[1]}://{found[2]}"
    raise ValueError(
        f"{address} is not a local file. Copy it first ({_COPY.get(found[1].lower(), 'curl -O')} {address} …), or in "
        "Python pass trustcal.audit a DuckDB relation, or a frame of another engine, that reads it."
    )
