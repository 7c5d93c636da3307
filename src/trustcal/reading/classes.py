"""Files and frames with a column of probabilities per class, as a class predictor."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
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
from trustcal.reading.columns import OUTCOMES, Columns, place_of, refuse_outcome_groups
from trustcal.reading.duckdb import Run, arrow_reader, as_numpy, connected
from trustcal.reading.expressions import group_sql, quantity
from trustcal.reading.files import Table, open_files, refusals, with_folders
from trustcal.reading.request import refuse_many_groups
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
    by: tuple[str, ...] = ()
    """The columns that make groups."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know."""
        if not self.dropped:
            return ()
        return (f"{self.dropped:,} of {self.rows:,} rows were dropped: no vector of probabilities, or no known label.",)


@final
@dataclass(frozen=True)
class ClassReading:
    """What was read: the predictors of K classes and where they come from."""

    provenance: ClassProvenance
    """Source, columns, rows read and dropped."""
    predictor: ClassPredictor
    """The predictor of all rows."""
    groups: Mapping[str, ClassPredictor]
    """The predictor of each group by its name; empty without `by`."""


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
        have in common up to a separator is left out of the names of the classes: p_cat is the class cat.
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
    found = class_reading(source, classes, outcome, weight, drop_invalid=drop_invalid)
    return found.predictor, found.provenance


def class_reading(
    source: Any,
    classes: str | Sequence[str],
    outcome: str | None = None,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    drop_invalid: bool = False,
) -> ClassReading:
    """Read vectors of probabilities and labels, also group by group.

    Parameters
    ----------
    source, classes, outcome, weight, drop_invalid
        As for `read_classes`.
    by : str or list of str, optional
        The columns that make groups.

    Returns
    -------
    ClassReading

    O(n·K), all rows in memory.
    """
    grouping = [by] if isinstance(by, str) else list(by or ())
    with _opened(source) as (table, run):
        label = _outcome_column(outcome, table)
        grouping = [table.names[place_of(name, table.names, table.title)] for name in grouping]
        refuse_outcome_groups(grouping, label)
        beside = [label, *([] if weight is None else [weight]), *grouping]
        columns = class_columns(classes, [name for name in table.names if name not in beside], table.names, table.title)
        names = class_names(columns)
        if weight is not None:
            place_of(weight, table.names, table.title)
        with refusals(table.title):
            rows = _fetched(table, run, columns, label, weight, grouping)
    given = len(rows.labels)
    if given == 0:
        raise ValueError(f"{table.title}: there must be at least one row, but there is none.")
    by_column = set(rows.labels) <= set(columns)
    kept = columns if by_column else names
    texts = set(kept)
    known = np.array([text in texts for text in rows.labels])
    if drop_invalid:
        rows = _sound(rows, known)
    elif not known.all():
        first = int(np.argmin(known))
        told = "missing" if rows.labels[first] is None else repr(rows.labels[first])
        raise ValueError(
            f"{table.title}: every label in column {label!r} must be one of the classes {_listed(names)}, but "
            f"{int((~known).sum()):,} of {given:,} are not; the first is {told} in row {first} (from 0). Name the "
            "column of that class too, or leave such rows out: drop_invalid=True (--drop-invalid)."
        )
    refuse_many_groups(len(set(rows.groups)), Columns("", label, by=tuple(grouping)), table.title)
    try:
        q = rows.predictor(kept, slice(None))
        parts = {name: rows.predictor(kept, here) for name, here in rows.parts() if grouping}
    except ValueError as error:
        raise ValueError(f"{table.title}: {error}") from None
    dropped = given - len(rows.labels)
    provenance = ClassProvenance(table.title, tuple(columns), label, given, dropped, tuple(grouping))
    return ClassReading(provenance, q, parts)


@final
@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows as they were read."""

    p: FloatArray
    """Vectors, with NaN where there is no number."""
    labels: list[str | None]
    """Labels as text."""
    groups: list[str]
    """The names of the groups."""
    weight: FloatArray | None

    def predictor(self, classes: Sequence[str], here: Any) -> ClassPredictor:
        """The predictor of some of them."""
        weight = None if self.weight is None else self.weight[here]
        return ClassPredictor.from_samples(
            np.array(self.labels, dtype=object)[here], self.p[here], weight, classes=classes
        )

    def parts(self) -> Iterator[tuple[str, NDArray[np.intp]]]:
        """The rows of each group, but for groups without weight."""
        names, number, counts = np.unique(np.array(self.groups, dtype=str), return_inverse=True, return_counts=True)
        places = np.split(np.argsort(number, kind="stable"), np.cumsum(counts)[:-1])
        for name, here in zip(names.tolist(), places, strict=True):
            if self.weight is None or self.weight[here].any():
                yield name, here


def _sound(rows: _Rows, known: NDArray[np.bool_]) -> _Rows:
    """The rows with a vector of probabilities, a known label and a valid weight."""
    with np.errstate(invalid="ignore"):
        sound = known & (np.abs(rows.p.sum(axis=1) - 1) <= SUM) & (rows.p >= 0).all(axis=1) & (rows.p <= 1).all(axis=1)
        if rows.weight is not None:
            sound &= np.isfinite(rows.weight) & (rows.weight >= 0)
    labels = [one for one, kept in zip(rows.labels, sound, strict=True) if kept]
    groups = [one for one, kept in zip(rows.groups, sound, strict=True) if kept]
    return _Rows(rows.p[sound], labels, groups, None if rows.weight is None else rows.weight[sound])


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


def class_columns(classes: str | Sequence[str], names: Sequence[str], every: Sequence[str], title: str) -> list[str]:
    """The columns that were named, or that a pattern matches among `names`, in the order of the file."""
    asked = [part.strip() for part in classes.split(",")] if isinstance(classes, str) else list(classes)
    columns: list[str] = []
    for part in asked:
        if has_magic(part) and part not in names:
            columns += [name for name in names if fnmatchcase(name, part) and name not in columns]
        else:
            columns.append(every[place_of(part, every, title)])
    if len(columns) < 2:
        told = f"only {columns[0]!r} is one" if columns else f"none of {', '.join(names)} is one"
        raise ValueError(
            f"{title}: classes must name two or more columns of probabilities, but of {', '.join(asked)!r} "
            f"{told}. For one column of probabilities use prediction='…' (--prediction)."
        )
    if len(columns) > MOST:
        raise ValueError(
            f"{title}: there may be at most {MOST:,} classes, but {', '.join(asked)!r} names {len(columns):,} "
            "columns. Add up the columns of rare classes into one."
        )
    return columns


def class_names(columns: Sequence[str]) -> list[str]:
    """The names of the columns without what they have in common before the first separator and after the last.

    >>> class_names(["p_cat", "p_car"]), class_names(["cat", "car"]), class_names(["p_cat_new", "p_dog_new"])
    (['cat', 'car'], ['cat', 'car'], ['cat', 'dog'])
    """
    start = len(_common(columns))
    rest = [name[start:] for name in columns]
    end = len(_common([name[::-1] for name in rest]))
    return [name[: len(name) - end] for name in rest]


def _common(names: Sequence[str]) -> str:
    """What the names have in common at their start, up to a separator, if it is not all of one."""
    low, high = min(names), max(names)
    common = next((low[:i] for i, letter in enumerate(low) if letter != high[i : i + 1]), low)
    while common and (common[-1].isalnum() or any(len(name) == len(common) for name in names)):
        common = common[:-1]
    return common


def _fetched(
    table: Table, run: Run, columns: Sequence[str], label: str, weight: str | None, by: Sequence[str]
) -> _Rows:
    """Vectors with NaN where there is no number, labels and groups as text, and weights."""
    numbers = [
        f"coalesce({quantity(table, name)}, CAST('nan' AS DOUBLE)) AS n{index}"
        for index, name in enumerate([*columns, *([] if weight is None else [weight])])
    ]
    raw = table.expressions[place_of(label, table.names, table.title)]
    texts = [f"CAST({raw} AS VARCHAR) AS label"]
    texts += [f"coalesce(CAST({group_sql(table, name)} AS VARCHAR), 'None') AS g{i}" for i, name in enumerate(by)]
    parts: list[FloatArray] = []
    labels: list[str | None] = []
    groups: list[str] = []
    known: dict[str | None, str | None] = {None: None}
    for batch in arrow_reader(run, f"SELECT {', '.join([*numbers, *texts])} FROM {table.sql}"):
        parts.append(np.stack([as_numpy(batch.column(f"n{index}")) for index in range(len(numbers))], axis=1))
        for text in batch.column("label").to_pylist():
            if text not in known:
                known[text] = label_text(text)
            labels.append(known[text])
        groups += map(", ".join, zip(*(batch.column(f"g{index}").to_pylist() for index in range(len(by))), strict=True))
    found = np.concatenate(parts) if parts else np.zeros((0, len(numbers)))
    width = len(columns)
    return _Rows(found[:, :width], labels, groups or [""] * len(labels), None if weight is None else found[:, width])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (f", … ({len(names):,} in all)" if len(names) > 10 else "")
