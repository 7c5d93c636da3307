"""Evidence: a file, a frame, a predictor or arrays, opened in one way for every public function that takes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

from numpy.typing import ArrayLike

from trustcal.predictor import Predictor, as_predictor
from trustcal.reading.copies import as_files
from trustcal.reading.dependence import LARGEST, outcomes_in_runs
from trustcal.reading.provenance import Provenance
from trustcal.reading.replay import replayed_rows, rows_in_order
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
    rows: Callable[[], tuple[Any, ...]] | None
    """Returns y_true, y_prob, sample_weight, times, groups and clusters (None where there are none), if rows have
    weights or clusters; None if the counts in the predictor suffice."""
    hints: tuple[str, ...] = ()
    """Signs that rows belong together although no cluster was named."""


def evidence(
    source: Any,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    cluster: ArrayLike | str | None = None,
    table: str | None = None,
    **options: Any,
) -> Evidence:
    """Open a source: a `Predictor`; y_true with y_prob; or anything that `reading` takes, with its options.

    Parameters
    ----------
    source : Predictor, y_true, or a file or frame as for `read`
    y_prob, sample_weight : array-like, in scikit-learn's order, where `source` is y_true
    cluster : the cluster of each row; for files and frames, the name of a column
    table : the table of a database, or the sheet of an Excel file; needed where there are several
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
        single = y_prob is not None and (sample_weight is not None or cluster is not None)
        rows = (source, y_prob, sample_weight, None, None, cluster) if single else None
        fetched = None if rows is None else lambda: rows
        if cluster is not None and y_prob is None:
            raise ValueError("a Predictor has its clusters already: Predictor.from_samples(…, cluster=…).")
        if cluster is not None and y_prob is not None:
            return Evidence(Predictor.from_samples(source, y_prob, sample_weight, cluster=cluster), {}, None, fetched)
        q = as_predictor(source, y_prob, sample_weight)
        return Evidence(q, {}, None, fetched, () if y_prob is None else outcomes_in_runs(source, y_prob))
    if cluster is not None and not isinstance(cluster, str):
        raise ValueError(f"cluster must be the name of a column of the file or frame, not a {type(cluster).__name__}.")
    with as_files(source, table) as (files, title):
        found = _opened(files, title, cluster, options)
    return replace(found, provenance=_given(found.provenance, source, table, options.get("positive")))


def _given(facts: Provenance | None, source: Any, table: str | None, positive: Any) -> Provenance:
    """The facts, with what it takes to read the same rows again."""
    assert facts is not None
    named = source if isinstance(source, list | tuple) else [source]
    files = tuple(str(path) for path in named if isinstance(path, str | os.PathLike))
    return replace(facts, files=files, table=table, positive=None if positive is None else str(positive))


def _opened(source: Any, copied: str | None, cluster: str | None, options: Mapping[str, Any]) -> Evidence:
    """The evidence of a file or frame; `copied` is the title of what was copied to a file that will not stay."""
    found = reading(source, cluster=cluster, **options)
    files = isinstance(source, str | os.PathLike | list | tuple)
    fetch: Callable[[], tuple[Any, ...]] | None = None
    if files and (cluster is not None or options.get("weight") is not None):
        fetch = partial(replayed_rows, source, found.provenance, options.get("positive"))
        if copied is not None:
            rows = fetch()
            fetch = lambda: rows  # noqa: E731
    facts = found.provenance
    if cluster is None and not facts.hints and facts.rows <= LARGEST and (files or _has_order(source)):
        facts = replace(facts, hints=outcomes_in_runs(*rows_in_order(source, found, options.get("positive"))))
    facts = replace(facts, source=copied or facts.source)
    return Evidence(found.predictor, found.groups, facts, fetch, facts.hints)


def _has_order(frame: Any) -> bool:
    """Whether it is a frame in memory, whose rows have an order; those of an engine have none."""
    module = type(frame).__module__.split(".")[0]
    return module in ("pandas", "polars") or (module == "pyarrow" and hasattr(frame, "num_rows"))
