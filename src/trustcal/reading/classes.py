"""Files and frames with a column of probabilities per class, as a class predictor."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from trustcal.class_predictor import ClassPredictor
from trustcal.reading.columns import OUTCOMES, place_of
from trustcal.reading.duckdb import Run, arrow_reader, as_numpy, connected
from trustcal.reading.expressions import quantity
from trustcal.reading.files import Table, open_files, refusals, with_folders
from trustcal.rows.classes import MOST, SUM, label_text

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True)
class ClassProvenance:
    """What was read."""

    source: str
    """The file or frame."""
    columns: tuple[str, ...]
    """The columns of probabilities."""
    outcome: str
    """The column of labels."""
    rows: int
    """The number of rows, valid or not."""
    dropped: int
    """The rows that were left out because they are at fault."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know."""
        if not self.dropped:
            return ()
        return (f"{self.dropped:,} of {self.rows:,} rows were dropped: no vector of probabilities, or no known label.",)


def read_classes(
    source: Any,
    classes: str | Sequence[str],
    outcome: str | None = None,
    weight: str | None = None,
    drop_invalid: bool = False,
) -> tuple[ClassPredictor, ClassProvenance]:
    """Read vectors of probabilities and labels from a file, a frame or a relation.

    Parameters
    ----------
    source : path, pattern, list of paths, frame or relation
        As for `read`.
    classes : str or list of str
        The columns of probabilities, as a list, separated by commas, or as a pattern such as p_*.  What their names
        have in common before the last separator is left out of the names of the classes: p_cat is the class cat.
    outcome, weight : str, optional
        The columns of labels, by default one with an obvious name, and of weights.
    drop_invalid : bool
        Leave out rows without a vector of probabilities, a known label or a valid weight, instead of raising an error.

    Returns
    -------
    tuple of ClassPredictor and ClassProvenance

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "rows.csv"
    ...     _ = file.write_text("label,p_cat,p_dog,p_fox\\ncat,0.5,0.25,0.25\\nfox,0,0,1\\n")
    ...     q, found = read_classes(file, "p_*", "label")
    >>> q.classes, found.columns
    (('cat', 'dog', 'fox'), ('p_cat', 'p_dog', 'p_fox'))

    O(n·K), all rows in memory.
    """
    with _opened(source) as (table, run):
        label = _outcome_column(outcome, table)
        beside = [label, *([] if weight is None else [weight])]
        columns = _class_columns(classes, [name for name in table.names if name not in beside], table)
        names = _class_names(columns)
        places = [place_of(name, table.names, table.title) for name in (*columns, *beside)]
        with refusals(table.title):
            p, labels, w = _fetched(table, run, places, len(columns), weight is not None)
    rows = len(labels)
    if rows == 0:
        raise ValueError(f"{table.title}: there must be at least one row, but there is none.")
    texts = {str(name) for name in columns} if set(labels) <= set(columns) else set(names)
    known = np.array([text in texts for text in labels])
    if drop_invalid:
        with np.errstate(invalid="ignore"):
            sound = known & (np.abs(p.sum(axis=1) - 1) <= SUM) & (p >= 0).all(axis=1) & (p <= 1).all(axis=1)
            sound &= True if w is None else np.isfinite(w) & (w >= 0)
        p, labels, w = (
            p[sound],
            [text for text, kept in zip(labels, sound, strict=True) if kept],
            None if w is None else w[sound],
        )
    elif not known.all():
        first = int(np.argmin(known))
        told = "missing" if labels[first] is None else repr(labels[first])
        raise ValueError(
            f"{table.title}: every label in column {label!r} must be one of the classes {_listed(names)}, but "
            f"{int((~known).sum()):,} of {rows:,} are not; the first is {told} in row {first} (from 0). Name the "
            "column of that class too, or leave such rows out: drop_invalid=True (--drop-invalid)."
        )
    try:
        kept = columns if set(labels) <= set(columns) else names
        q = ClassPredictor.from_samples(np.array(labels, dtype=object), p, w, classes=kept)
    except ValueError as error:
        raise ValueError(f"{table.title}: {error}") from None
    return q, ClassProvenance(table.title, tuple(columns), label, rows, rows - len(labels))


@contextmanager
def _opened(source: Any) -> Iterator[tuple[Table, Run]]:
    """The source as a table of DuckDB, and what runs a query on it."""
    named = source if isinstance(source, list | tuple) else [source]
    with connected() as connection:
        if all(isinstance(path, str | os.PathLike) for path in named):
            yield with_folders(connection, open_files(connection, [Path(path) for path in named])), connection.sql
            return
        module = type(source).__module__.split(".")[0]
        if module == "pyarrow" and hasattr(source, "schema"):
            relation, title = connection.from_arrow(source), "the PyArrow data"
        elif module in ("duckdb", "_duckdb") and hasattr(type(source), "columns"):
            relation, title = source, "the DuckDB relation"
        else:
            from trustcal.reading.narwhals import in_memory, names_of, opened_frame, titled  # loads narwhals

            frame = opened_frame(source)
            relation, title = connection.from_arrow(in_memory(frame, names_of(frame))), titled(frame)
        names = tuple(relation.columns)
        called = tuple(f"c{index}" for index in range(len(names)))  # by place: DuckDB ignores capitals
        rows = f"trustcal_source AS source({', '.join(called)})"
        table = Table(title, (), rows, names, called, tuple(map(str, relation.types)))
        yield table, partial(relation.query, "trustcal_source")


def _outcome_column(outcome: str | None, table: Table) -> str:
    if outcome is not None:
        return table.names[place_of(outcome, table.names, table.title)]
    found = [name for name in table.names if name in OUTCOMES]
    if len(found) != 1:
        raise ValueError(
            f"{table.title}: say which column holds the labels, by outcome='…' (--outcome). "
            f"The columns are: {', '.join(table.names)}."
        )
    return found[0]


def _class_columns(classes: str | Sequence[str], names: Sequence[str], table: Table) -> list[str]:
    """The columns that were named, or that a pattern matches, in the order of the file."""
    asked = [part.strip() for part in classes.split(",")] if isinstance(classes, str) else list(classes)
    columns: list[str] = []
    for part in asked:
        if has_magic(part) and part not in names:
            columns += [name for name in names if fnmatchcase(name, part) and name not in columns]
        else:
            columns.append(table.names[place_of(part, table.names, table.title)])
    if len(columns) < 2:
        told = f"only {columns[0]!r} is one" if columns else f"none of {', '.join(names)} is one"
        raise ValueError(
            f"{table.title}: classes must name two or more columns of probabilities, but of {', '.join(asked)!r} "
            f"{told}. For one column of probabilities use prediction='…' (--prediction)."
        )
    if len(columns) > MOST:
        raise ValueError(
            f"{table.title}: there may be at most {MOST:,} classes, but {', '.join(asked)!r} names {len(columns):,} "
            "columns. Add up the columns of rare classes into one."
        )
    return columns


def _class_names(columns: Sequence[str]) -> list[str]:
    """The names of the columns without what they have in common before a separator.

    >>> _class_names(["p_cat", "p_car"]), _class_names(["cat", "car"])
    (['cat', 'car'], ['cat', 'car'])
    """
    low, high = min(columns), max(columns)
    common = next((low[:i] for i, letter in enumerate(low) if letter != high[i : i + 1]), low)
    while common and (common[-1].isalnum() or any(len(name) == len(common) for name in columns)):
        common = common[:-1]
    return [name[len(common) :] for name in columns]


def _fetched(
    table: Table, run: Run, places: Sequence[int], width: int, heavy: bool
) -> tuple[FloatArray, list[str | None], FloatArray | None]:
    """Vectors with NaN where there is no number, labels as text, and weights."""
    names = [table.names[place] for place in places]
    numbers = [
        f"coalesce({quantity(table, name)}, CAST('nan' AS DOUBLE)) AS n{index}"
        for index, name in enumerate([*names[:width], *names[width + 1 :]])
    ]
    label = table.expressions[places[width]]
    sql = f"SELECT {', '.join(numbers)}, CAST({label} AS VARCHAR) AS label FROM {table.sql}"
    parts: list[FloatArray] = []
    labels: list[str | None] = []
    texts: dict[str | None, str | None] = {None: None}
    for batch in arrow_reader(run, sql):
        parts.append(np.stack([as_numpy(batch.column(f"n{index}")) for index in range(len(numbers))], axis=1))
        for text in batch.column("label").to_pylist():
            if text not in texts:
                texts[text] = label_text(text)
            labels.append(texts[text])
    found = np.concatenate(parts) if parts else np.zeros((0, len(numbers)))
    return found[:, :width], labels, found[:, width] if heavy else None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (f", … ({len(names):,} in all)" if len(names) > 10 else "")
