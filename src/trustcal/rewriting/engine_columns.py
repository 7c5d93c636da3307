"""The columns of every engine as numpy arrays, and the remedy that all engines run on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from trustcal.remedies import Remedy
from trustcal.rows import FloatArray

IdArray = NDArray[Any]


@final
@dataclass(frozen=True)
class Treatment:
    """A remedy for batches of rows, with the names of the columns for messages.

    >>> from trustcal.noise import UniformNoise
    >>> from trustcal.remedies import noise_remedy
    >>> treatment = Treatment(noise_remedy(UniformNoise(0.1), 1), "p", "id")
    >>> treatment(np.array([0.2, 0.7]), np.array([17, 4])).round(3)
    array([0.2  , 0.748])
    """

    remedy: Remedy
    prediction: str
    row_id: str | None
    """The column of row ids; for a remedy that was learned by group, the column of groups."""

    def __call__(self, prediction: FloatArray, ids: IdArray) -> FloatArray:
        """One new prediction per row.  O(n)."""
        bad = ~((prediction >= 0) & (prediction <= 1))
        if bad.any():
            first = int(np.argmax(bad))
            value, row = prediction[first].item(), ids[first]
            where = f"row {row} (from 0)" if self.row_id is None else f"the row whose {self.row_id!r} is {row!s}"
            found = "is missing or NaN" if np.isnan(value) else f"is {value!r}"
            raise ValueError(
                f"column {self.prediction!r} must hold probabilities in [0, 1]: {int(bad.sum())} of the {len(bad)} "
                f"rows looked at break this, the first is {where}, which {found}. {REMEDY}"
            )
        return self.remedy.apply_to_rows(prediction, ids)


def new_column(prediction: str, into: object, suffix: str = "_noised") -> str:
    """The name of the new column: `into`, or the prediction's name with a suffix.

    >>> new_column("p", None), new_column("p", "q")
    ('p_noised', 'q')
    """
    name = f"{prediction}{suffix}" if into is None else into
    if not isinstance(name, str) or not name:
        raise ValueError(f"into must be the name of a new column, not {into!r}.")
    return name


REMEDY = "Drop or repair missing rows; divide percentages by 100; turn scores or logits into probabilities first."
"""What to do about values that are not predictions."""


def no_numbers(name: str, kind: object) -> ValueError:
    """The error for a column of predictions that are not numbers."""
    return ValueError(f"column {name!r} must hold numbers, but its type is {kind}. Convert it, or name another column.")


def no_ids(name: str, kind: object) -> ValueError:
    """The error for a column of row ids that are neither integers nor text."""
    return ValueError(f"column {name!r} must hold row ids, integers or text, but its type is {kind}. Convert it.")


def sql_type(kind: str, name: str, numbers: bool) -> str:
    """The type that a DuckDB column is cast to."""
    if numbers:
        if kind in ("DOUBLE", "FLOAT", "BOOLEAN", *_INTEGERS) or kind.startswith("DECIMAL"):
            return "DOUBLE"
        raise no_numbers(name, kind)
    if kind in _INTEGERS:
        return "UBIGINT" if kind == "UBIGINT" else "BIGINT"
    if kind == "VARCHAR" or kind.startswith("ENUM"):
        return "VARCHAR"
    raise no_ids(name, kind)


_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")


def pandas_ids(column: Any, name: str) -> IdArray:
    """A pandas column of row ids as integers or strings."""
    if column.hasnans:
        raise _missing(name, int(column.isna().sum()))
    values = column.to_numpy()
    return _integers_or_text(values if values.dtype.kind in "iu" else np.asarray(column.astype(object)), name)


def polars_numbers(column: Any, name: str) -> FloatArray:
    """A Polars column as float64, with NaN for missing values."""
    import polars as pl

    if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise no_numbers(name, column.dtype)
    return np.asarray(column.cast(pl.Float64).to_numpy(), dtype=np.float64)


def polars_ids(column: Any, name: str) -> IdArray:
    """A Polars column of row ids as integers or strings."""
    if column.null_count():
        raise _missing(name, column.null_count())
    if column.dtype.is_integer() and "128" not in str(column.dtype):  # numpy has 64 bits
        return np.asarray(column.to_numpy())
    return _integers_or_text(np.array(column.to_list(), dtype=object), name)


def arrow_numbers(column: Any, name: str) -> FloatArray:
    """A pyarrow column as float64, with NaN for missing values."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_decimal(kind):
        column = column.cast(pa.string())  # pyarrow's own cast of decimals is wrong in the last bit
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise no_numbers(name, column.type)
    return np.asarray(_plain(column.cast(pa.float64(), safe=False)), dtype=np.float64)


def arrow_ids(column: Any, name: str) -> IdArray:
    """A pyarrow column of row ids as integers or strings."""
    import pyarrow as pa

    if column.null_count:
        raise _missing(name, column.null_count)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_integer(column.type):
        return _plain(column)
    return _integers_or_text(np.array(column.to_pylist(), dtype=object), name)


def _integers_or_text(ids: IdArray, name: str) -> IdArray:
    if ids.dtype.kind in "iu":
        return ids
    for value in ids.tolist():
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise no_ids(name, f"{type(value).__name__}, as in {value!s}")
    return ids


def _missing(name: str, count: int) -> ValueError:
    return ValueError(
        f"column {name!r} must hold a row id for every row, but {count} are missing. Fill them in, or drop these rows."
    )


def _plain(column: Any) -> NDArray[Any]:
    """A pyarrow column, in one piece or in chunks, as a numpy array."""
    return np.asarray(column if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False))
