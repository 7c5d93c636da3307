"""Evidence: a file, a frame, a predictor or arrays, opened in one way for every public function that takes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, final

from numpy.typing import ArrayLike

from trustcal.predictor import Predictor, as_predictor
from trustcal.reading.provenance import Provenance
from trustcal.reading.replay import weighted_rows
from trustcal.reading.sources import reading


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """Predictions and outcomes, and where they come from."""

    predictor: Predictor
    """The predictor of all rows."""
    groups: Mapping[Any, Predictor]
    """The predictor of each group; empty without `by`."""
    provenance: Provenance | None
    """What was read; None for a predictor and for arrays."""
    rows: Callable[[], tuple[ArrayLike, ArrayLike, ArrayLike]] | None
    """Returns y_true, y_prob and sample_weight, if rows have weights; None if the counts in the predictor suffice."""


def evidence(
    source: Any, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None, **options: Any
) -> Evidence:
    """Open a source: a `Predictor`; y_true with y_prob; or anything that `reading` takes, with its options.

    Parameters
    ----------
    source : Predictor, y_true, or a file or frame as for `read`
    y_prob, sample_weight : array-like, in scikit-learn's order, where `source` is y_true
    prediction, outcome, weight, by, positive, resolution, drop_invalid : options of `read`, for files and frames

    Returns
    -------
    Evidence

    >>> from importlib.resources import files
    >>> evidence([0, 1], [0.25, 0.75]).predictor
    Predictor(2 values, 2 rows, base rate 0.5)
    >>> evidence(files("trustcal") / "examples" / "census_income.csv").provenance.rows
    16281

    O(n), and O(d log d) for d distinct predictions.
    """
    if y_prob is not None or isinstance(source, Predictor):
        given = [name for name, value in options.items() if value is not None and value is not False]
        if given:
            raise ValueError(f"{given[0]} is an option for files and frames, but the source is a predictor or arrays.")
        rows = None if sample_weight is None or y_prob is None else (source, y_prob, sample_weight)
        fetched = None if rows is None else lambda: rows
        return Evidence(as_predictor(source, y_prob, sample_weight), {}, None, fetched)
    found = reading(source, **options)
    weighted = isinstance(source, str | os.PathLike | list | tuple) and options.get("weight") is not None
    fetch = partial(weighted_rows, source, found, options.get("positive")) if weighted else None
    return Evidence(found.predictor, found.groups, found.provenance, fetch)
