"""fix_classes_file: a remedy for K classes applied to the vectors of probabilities in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from trustcal.class_predictor import ClassPredictor
from trustcal.classes import class_brier, class_log_loss
from trustcal.reading import read_classes
from trustcal.reading.classes import class_columns, class_names
from trustcal.reading.duckdb import connected
from trustcal.reading.expressions import quantity
from trustcal.reading.files import Table, kind, open_files
from trustcal.remedies import ClassRemedy
from trustcal.rewriting.arrow import Roles, RowStream, open_rows, prediction, write_rows
from trustcal.rewriting.files import Progress, target_kind
from trustcal.rows import FloatArray
from trustcal.rows.classes import SUM
from trustcal.writing import atomically

SUFFIX: Final = "_recalibrated"
"""What a new column has at the end of its name."""


@final
@dataclass(frozen=True)
class ClassQuality:
    """How good vectors of probabilities are; lower is better."""

    brier: float
    """The Brier score of K classes."""
    log_loss: float
    """The log loss; infinite where a class of probability 0 occurred."""


@final
@dataclass(frozen=True)
class ClassFileFix:
    """What `fix_classes_file` did to a file, and what was reached."""

    rows: int
    """The number of rows written."""
    columns: tuple[str, ...]
    """The new columns, one per class."""
    written: bool
    """Whether a file was written; not if the remedy is to do nothing."""
    remedy: ClassRemedy
    """What was applied."""
    before: ClassQuality | None = None
    """The quality of the vectors in the file; None without labels."""
    after: ClassQuality | None = None
    """That of the vectors that were written."""


def fix_classes_file(
    source: str | Path,
    target_file: str | Path,
    *,
    classes: str | Sequence[str],
    remedy: ClassRemedy,
    outcome: str | None = None,
    progress: Progress | None = None,
) -> ClassFileFix:
    """Copy a file with a new column of probabilities for each class.

    The other columns keep their values and rows their order, as `rewrite` says.  The new columns follow the last of the
    old ones and are called like them, with `_recalibrated`.  The target is written whole or not at all, and not if the
    remedy is to do nothing.

    Parameters
    ----------
    source, target_file : str or Path
        The file to read and the file to write: CSV, TSV, JSON lines or Parquet.  They may be the same.
    classes : str or list of str
        The columns of probabilities, as for `reading.read_classes`.  They are matched with the classes of the remedy by
        name, in any order.
    remedy : ClassRemedy
        What to apply.
    outcome : str, optional
        The column of labels, to measure both vectors.
    progress : callable, optional
        Called with the number of rows done and the (estimated) number of all rows.

    Returns
    -------
    ClassFileFix

    Examples
    --------
    >>> import tempfile
    >>> from trustcal.remedies import fit
    >>> remedy = fit("none", ["a", "b"], [[0.75, 0.25], [0.5, 0.5]], classes=["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "rows.csv"
    ...     _ = file.write_text("p_b,p_a\\n0.25,0.75\\n")
    ...     fix_classes_file(file, file, classes="p_*", remedy=remedy).columns
    ('p_b_recalibrated', 'p_a_recalibrated')

    O(n·K), or O(n·K²) for a matrix, in one pass; with labels the rows are read once more, all in memory.
    """
    old, new = Path(source), Path(target_file)
    kinds = kind(old), target_kind(new)
    with connected() as connection:
        table = open_files(connection, old)
        others = [name for name in table.names if name != outcome and not name.endswith(SUFFIX)]
        columns = class_columns(classes, others, table.names, table.title)
    order = _order(columns, remedy, str(old))
    into = tuple(f"{name}{SUFFIX}" for name in columns)
    if taken := [name for name in into if name in table.names]:
        raise ValueError(f"{old} already has a column {taken[0]!r}: rename or remove it.")
    before = after = None
    if outcome is not None:
        q = read_classes(old, columns, outcome)[0].ordered(order)
        before, after = _quality(q), _quality(remedy.predictor(q))
    if remedy.method == "none":
        return ClassFileFix(0, into, False, remedy, before, before)
    roles = Roles(tuple(columns), None, None, into)
    with atomically(new) as fresh, connected() as connection, ExitStack() as stack:
        rows = open_rows(connection, stack, old, kinds, roles)
        copying = _CopyingVectors(old, roles, rows, remedy, order, progress, connection.cursor())
        try:
            write_rows(fresh, kinds[1], rows, roles.into, copying.columns())
        except OSError as error:  # errors of reading are ValueErrors by now
            raise ValueError(f"{new} cannot be written: {error.strerror or error}.") from None
    return ClassFileFix(copying.rows, into, True, remedy, before, after)


def _order(columns: Sequence[str], remedy: ClassRemedy, title: str) -> list[int]:
    """The place of each class of the remedy among the columns, which are called like the classes, or p_cat for cat."""
    for names in (class_names(columns), list(columns)):
        if sorted(names) == sorted(remedy.classes):
            return [names.index(name) for name in remedy.classes]
    found, known = (
        ", ".join(names[:10]) + ", …" * (len(names) > 10) for names in (class_names(columns), remedy.classes)
    )
    raise ValueError(
        f"{title}: the remedy was learned for the classes {known}, but the columns are of the classes {found}. "
        "Name the columns of the same classes."
    )


def _quality(q: ClassPredictor) -> ClassQuality:
    return ClassQuality(class_brier(q), class_log_loss(q))


@final
class _CopyingVectors:
    """Rows on their way from one file to another.  After the first bad vector, bad rows are only counted."""

    def __init__(
        self,
        file: Path,
        roles: Roles,
        rows: RowStream,
        remedy: ClassRemedy,
        order: Sequence[int],
        progress: Progress | None,
        cursor: Any,
    ) -> None:
        self.file, self.roles, self.stream, self.remedy = file, roles, rows, remedy
        self.order, self.progress, self.cursor = list(order), progress, cursor
        self.back = np.argsort(order)
        self.rows = 0

    def columns(self) -> Iterator[list[Any]]:
        """The columns to write, batch by batch.  O(n·K)."""
        import pyarrow as pa

        bad, first_bad, copied = 0, "", len(self.stream.schema)
        for batch in self.stream.batches:
            p = self._vectors(batch)
            wrong = _wrong(p)
            if wrong.any():
                row = int(np.argmax(wrong))
                told = ", ".join("missing" if np.isnan(x) else f"{x:.6g}" for x in p[row, :10])
                first_bad = first_bad or f"row {self.rows + row} (from 0), which is {told}{', …' * (p.shape[1] > 10)}"
                bad += int(wrong.sum())
            if not bad:
                said = self.remedy.apply(p[:, self.order])[:, self.back] if len(p) else p
                columns = batch.columns[:copied]
                fresh = [pa.array(np.ascontiguousarray(line)) for line in said.T]
                yield [*columns[: self.stream.new_place], *fresh, *columns[self.stream.new_place :]]
            self.rows += len(p)
            self._report(self.stream.total(self.rows))
        if bad:
            raise ValueError(
                f"{self.file}: the columns of classes must hold probabilities that sum to 1 within {SUM:g}: {bad} of "
                f"{self.rows} rows break this, the first is {first_bad}. Drop or repair these rows; divide each by its "
                "sum."
            )
        self._report(self.rows)

    def _vectors(self, batch: Any) -> FloatArray:
        """Vectors with NaN where there is no number, by the SQL that reads files."""
        import pyarrow as pa

        places = [self.stream.places[prediction(index)] for index in range(len(self.roles.predictions))]
        called = tuple(f"c{index}" for index in range(len(places)))
        held = self.cursor.from_arrow(pa.table([batch.column(place) for place in places], names=called))
        rows = f"held AS source({', '.join(called)})"
        table = Table(str(self.file), (), rows, self.roles.predictions, called, tuple(map(str, held.types)))
        numbers = [f"{quantity(table, name)} AS n{index}" for index, name in enumerate(self.roles.predictions)]
        found = held.query("held", f"SELECT {', '.join(numbers)} FROM {rows}").fetchnumpy()
        lines = [np.ma.filled(found[f"n{index}"].astype(np.float64), np.nan) for index in range(len(places))]
        return np.stack(lines, axis=1)

    def _report(self, total: int) -> None:
        if self.progress is not None:
            self.progress(self.rows, max(total, self.rows))


def _wrong(p: FloatArray) -> NDArray[np.bool_]:
    """The vectors that are no probabilities."""
    inside = ((p >= 0) & (p <= 1)).all(axis=1)  # NaN compares false
    return np.asarray(~(inside & (np.abs(p.sum(axis=1) - 1) <= SUM)))
