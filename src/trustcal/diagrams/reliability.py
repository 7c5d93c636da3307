"""The reliability diagram, as numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from trustcal.diagrams.thinning import kept_points, shown_points
from trustcal.inference.consistency import ConsistencyBand, consistency_band
from trustcal.predictor import Predictor
from trustcal.rows import run_starts

DOTS = 128
"""The frequencies of at most this many prediction values are shown one by one, the most common ones first."""
REPEATED = 25
"""A prediction is shown with its own frequency if it occurs in this many rows: a standard error of at most 0.1."""


@final
@dataclass(frozen=True)
class ReliabilityDiagram:
    """Predictions against the frequency of the outcome, as a curve that does not decrease."""

    p: tuple[float, ...]
    """The first and the last prediction of each level of the curve."""
    fitted: tuple[float, ...]
    """The curve there: the isotonic regression of the outcomes on the predictions."""
    repeated: tuple[float, ...]
    """Predictions that occur in at least 25 rows; of a known distribution, all.  At most the 128 most common."""
    frequency: tuple[float, ...]
    """The frequency of outcome 1 at each of these."""
    band: ConsistencyBand | None
    """Where chance alone would put the curve; None for a known distribution, and if none was asked for."""


def reliability_diagram(
    q: Predictor, *, band: bool = True, confidence: float = 0.95, rng: np.random.Generator | int = 0
) -> ReliabilityDiagram:
    """The CORP reliability diagram: the isotonic curve, with its pointwise consistency band.

    Parameters
    ----------
    q : the predictor.
    band : whether to draw samples for the band; a known distribution has none.
    confidence : the share of samples of calibrated predictions inside the band at each prediction.
    rng : a numpy Generator or a seed.

    Returns
    -------
    ReliabilityDiagram : at most 512 points of the curve, and as many of the band.

    >>> reliability_diagram(Predictor([0.2, 0.4, 0.6], [0.25, 0.25, 0.5], [0.25, 0.0, 0.5])).fitted
    (0.5, 0.5, 1.0)

    O(n) for each of 199 samples.
    """
    starts = run_starts(q.fitted)
    ends = np.unique(np.concatenate([starts, np.append(starts[1:], len(q)) - 1]))
    ends = ends[shown_points(q.p[ends])]
    rows = np.full(len(q), np.inf) if q.effective_rows is None else q.mass * q.effective_rows
    often = np.flatnonzero(rows >= REPEATED)
    often = np.sort(often[np.argsort(-q.mass[often], kind="stable")[:DOTS]])
    found = None
    if band and q.rows is not None:
        whole = consistency_band(q, confidence=confidence, rng=rng)
        kept = shown_points(np.array(whole.p))
        p, lower, upper = (kept_points(column, kept) for column in (whole.p, whole.lower, whole.upper))
        found = replace(whole, p=p, lower=lower, upper=upper)
    return ReliabilityDiagram(
        p=kept_points(q.p, ends),
        fitted=kept_points(q.fitted, ends),
        repeated=kept_points(q.p, often),
        frequency=kept_points(q.p_hat, often),
        band=found,
    )
