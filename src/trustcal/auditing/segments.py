"""The segments of an audit: the source is read once more, by its features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trustcal.decisions import DecisionProblem
from trustcal.reading import Evidence
from trustcal.reading.copies import STANDARD_INPUT, as_files
from trustcal.segmenting import Segments, segments_of
from trustcal.segmenting.finding import DRAWS


def audited_segments(
    source: Any,
    found: Evidence,
    features: str | Sequence[str],
    problem: DecisionProblem | None,
    table: str | None,
    positive: Any,
    draws: int,
    rng: np.random.Generator | int,
) -> Segments:
    """The segments of a source that was read before; as many draws as `segments` makes, or more.

    The cost is that of `segments`.
    """
    if found.provenance is None:
        raise ValueError("segments need the columns of a file or frame, but the source is a predictor or arrays.")
    if STANDARD_INPUT in (source if isinstance(source, list | tuple) else [source] if isinstance(source, str) else []):
        raise ValueError("segments need a file that can be read twice, but the source is standard input.")
    columns, q = found.provenance.columns, found.predictor
    with as_files(source, table) as (files, _):
        return segments_of(files, columns, q, features, problem, positive=positive, draws=max(draws, DRAWS), rng=rng)
