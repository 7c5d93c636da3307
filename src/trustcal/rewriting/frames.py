"""Noise inside an engine: a frame of any kind with one more column, the same bits in every engine.

The draw of a row is a function of the seed, its row id and its prediction, computed batch by batch (engine_columns.py).
It does not depend on partitions, their order, the number of workers or retries.  The last bits of Laplace noise depend
on the processor, because numpy computes exponentials and logarithms differently with AVX-512.  Uniform noise and random
rounding, which only add, multiply and divide, are the same everywhere.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from hashlib import blake2b
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from trustcal.checking import checked_seed
from trustcal.noise import Noise
from trustcal.noise.mechanism import as_noise
from trustcal.reading.columns import place_of
from trustcal.reading.files import identifier
from trustcal.rewriting.engine_columns import (
    Drawing,
    arrow_ids,
    arrow_numbers,
    new_column,
    no_ids,
    no_numbers,
    pandas_ids,
    pandas_numbers,
    polars_ids,
    polars_numbers,
)

Frame = TypeVar("Frame")


def perturb_frame(
    frame: Frame,
    *,
    prediction: str,
    noise: Noise,
    seed: int,
    row_id: str | None = None,
    into: str | None = None,
    connection: Any = None,
) -> Frame:
    """Add one draw of M(q) per row as a new column, inside the frame's own engine (the algorithm of Section 3).

    Lazy frames stay lazy.  The values are those of `perturb(…, ids=…, seed=seed)`, bit for bit.

    Parameters
    ----------
    frame : data frame
        Of pandas, Polars (eager or lazy), PyArrow, DuckDB, PySpark, Dask or Ibis.
    prediction : str
        The column of predictions in [0, 1].
    noise : Noise
        The noise M.
    seed : int
        The draw of a row depends on this, its row id and its prediction only.
    row_id : str, optional
        A column of integers or text.  Default: the position of the row, from 0; frames of DuckDB, PySpark, Dask and
        Ibis have no order and need a row id.
    into : str, optional
        The name of the new column.  Default: the prediction's name with `_safe`.
    connection : DuckDBPyConnection, optional
        The connection of a DuckDB relation that is not of the default connection.

    Returns
    -------
    data frame
        Of the same kind, with the new column last.

    Examples
    --------
    >>> import pandas as pd
    >>> from trustcal.noise import UniformNoise
    >>> frame = pd.DataFrame({"case": ["a", "b"], "p": [0.2, 0.7]})
    >>> perturb_frame(frame, prediction="p", noise=UniformNoise(0.1), seed=1, row_id="case").round(3)
      case    p  p_safe
    0    a  0.2   0.285
    1    b  0.7   0.649

    Notes
    -----
    O(n) time; engines that stream hold one batch at a time.
    """
    drawing = Drawing(as_noise(noise), checked_seed(seed), prediction, row_id)
    column = new_column(prediction, into)
    kinds = [(kind.__module__.removeprefix("_"), kind.__name__) for kind in type(frame).__mro__]
    for (module, name), (engine, ordered, perturbed) in _ENGINES.items():
        if any(kind.startswith(module) and called == name for kind, called in kinds):
            if row_id is None and not ordered:
                raise ValueError(
                    f"the rows of {engine} have no order, so row_id= must name a column of integers or text that "
                    "identifies them: the noise of a row must be the same in every run."
                )
            if module == "duckdb":
                perturbed = partial(_duckdb, connection=connection)
            elif connection is not None:
                raise ValueError(f"connection= belongs to DuckDB relations, not to {engine}.")
            return perturbed(frame, drawing, column)  # type: ignore[no-any-return]
    raise ValueError(
        f"frame must be a table of pandas, Polars, PyArrow, DuckDB, PySpark, Dask or Ibis, not {type(frame).__name__}. "
        "For arrays use perturb, for files fix_file."
    )


def _pandas(frame: Any, drawing: Drawing, into: str) -> Any:
    _places(drawing, into, frame.columns)
    return _pandas_drawn(frame, drawing, into)


def _pandas_drawn(frame: Any, drawing: Drawing, into: str) -> Any:
    prediction = pandas_numbers(frame[drawing.prediction], drawing.prediction)
    named = drawing.row_id is not None
    ids = pandas_ids(frame[drawing.row_id], str(drawing.row_id)) if named else np.arange(len(frame))
    return frame.assign(**{into: drawing(prediction, ids)})


def _dask(frame: Any, drawing: Drawing, into: str) -> Any:
    _places(drawing, into, frame.columns)
    meta = frame._meta.assign(**{into: np.empty(0)})
    return frame.map_partitions(_pandas_drawn, drawing, into, meta=meta)


def _polars(frame: Any, drawing: Drawing, into: str) -> Any:
    import polars as pl

    p, i = _places(drawing, into, frame.columns)
    prediction = polars_numbers(frame.to_series(p), drawing.prediction)
    ids = np.arange(frame.height) if i is None else polars_ids(frame.to_series(i), str(drawing.row_id))
    return frame.with_columns(pl.Series(into, drawing(prediction, ids)))


def _polars_lazy(frame: Any, drawing: Drawing, into: str) -> Any:
    import polars as pl
    from polars.selectors import by_name

    names = frame.collect_schema().names()
    _places(drawing, into, names)
    row = drawing.row_id
    if row is None:
        row = _fresh("row", [*names, into])
        frame = frame.with_row_index(row)

    def drawn(rows: Any) -> Any:
        prediction = polars_numbers(rows.struct.field("prediction"), drawing.prediction)
        return pl.Series(drawing(prediction, polars_ids(rows.struct.field("id"), row)))

    both = pl.struct(by_name(drawing.prediction).alias("prediction"), by_name(row).alias("id"))
    column = both.map_batches(drawn, return_dtype=pl.Float64, is_elementwise=True).alias(into)
    return frame.with_columns(column).select(by_name(*names, into))


def _pyarrow(frame: Any, drawing: Drawing, into: str) -> Any:
    import pyarrow as pa

    p, i = _places(drawing, into, frame.column_names)
    prediction = arrow_numbers(frame.column(p), drawing.prediction)
    ids = np.arange(frame.num_rows) if i is None else arrow_ids(frame.column(i), str(drawing.row_id))
    return frame.append_column(into, pa.array(drawing(prediction, ids)))


def _duckdb(frame: Any, drawing: Drawing, into: str, connection: Any = None) -> Any:
    import duckdb

    p, i = _places(drawing, into, frame.columns, capitals=False)
    assert i is not None
    _check_sql_type(str(frame.types[p]), drawing.prediction, numbers=True)
    kind = _check_sql_type(str(frame.types[i]), str(drawing.row_id), numbers=False)
    name = _function_name(drawing, kind)
    home: Any = duckdb.connect(":default:").cursor() if connection is None else connection
    with suppress(duckdb.NotImplementedException, duckdb.CatalogException):  # the same function, registered before
        home.create_function(
            name, _arrow_function(drawing), ["DOUBLE", kind], "DOUBLE", type="arrow", null_handling="special"
        )
        if connection is None:  # DuckDB reports a function that is still registered at exit as a leak
            atexit.register(home.close)
    call = f"{name}(CAST({identifier(frame.columns[p])} AS DOUBLE), CAST({identifier(frame.columns[i])} AS {kind}))"
    try:
        return frame.project(f"*, {call} AS {identifier(into)}")
    except duckdb.CatalogException:
        raise ValueError(
            "the relation does not belong to DuckDB's default connection: pass its own as connection=, where the noise "
            "is to be registered."
        ) from None


def _ibis(frame: Any, drawing: Drawing, into: str) -> Any:
    ibis = import_module("ibis")
    _places(drawing, into, frame.columns, capitals=False)
    p, i = frame[drawing.prediction], frame[drawing.row_id]
    if not (p.type().is_numeric() or p.type().is_boolean()):
        raise no_numbers(drawing.prediction, p.type())
    if not (i.type().is_integer() or i.type().is_string()):
        raise no_ids(str(drawing.row_id), i.type())
    kind = "string" if i.type().is_string() else "uint64" if i.type().is_unsigned_integer() else "int64"
    draw = _arrow_function(drawing)
    draw.__name__ = _function_name(drawing, kind)
    signature = ((ibis.dtype("float64"), ibis.dtype(kind)), ibis.dtype("float64"))
    function = ibis.udf.scalar.pyarrow(draw, signature=signature, null_handling="special")
    return frame.mutate(**{into: function(p.cast("float64"), i.cast(kind))})


def _pyspark(frame: Any, drawing: Drawing, into: str) -> Any:
    from pyspark.sql.types import (
        BooleanType,
        DoubleType,
        IntegralType,
        NumericType,
        StringType,
        StructField,
        StructType,
    )

    fields = frame.schema.fields
    p, i = _places(drawing, into, [field.name for field in fields], capitals=False)
    assert i is not None
    if not isinstance(fields[p].dataType, NumericType | BooleanType):
        raise no_numbers(drawing.prediction, fields[p].dataType.simpleString())
    if not isinstance(fields[i].dataType, IntegralType | StringType):
        raise no_ids(str(drawing.row_id), fields[i].dataType.simpleString())
    schema = StructType([*fields, StructField(into, DoubleType())])
    return frame.mapInArrow(partial(_with_draws, drawing=drawing, into=into, p=p, i=i), schema)


def _with_draws(batches: Iterator[Any], drawing: Drawing, into: str, p: int, i: int) -> Iterator[Any]:
    """Record batches with one more column: at module level, so that Spark can send it by name."""
    draw = _arrow_function(drawing)
    for batch in batches:
        yield batch.append_column(into, draw(batch.column(p), batch.column(i)))


@cache  # DuckDB does not keep a function alive beyond the connection object that registered it
def _arrow_function(drawing: Drawing) -> Callable[[Any, Any], Any]:
    """The draws of pyarrow columns (predictions, ids) as a pyarrow column."""
    import pyarrow as pa

    def drawn(prediction: Any, ids: Any) -> Any:
        return pa.array(
            drawing(arrow_numbers(prediction, drawing.prediction), arrow_ids(ids, str(drawing.row_id))), pa.float64()
        )

    return drawn


def _places(drawing: Drawing, into: str, names: Sequence[Any], capitals: bool = True) -> tuple[int, int | None]:
    """The positions of the prediction and the row id, where no other name differs from theirs only in capitals."""
    texts = [name if isinstance(name, str) else repr(name) for name in names]
    p = place_of(drawing.prediction, texts, "the frame")
    i = None if drawing.row_id is None else place_of(drawing.row_id, texts, "the frame")
    folded = texts if capitals else [name.lower() for name in texts]
    if (into if capitals else into.lower()) in folded:
        raise ValueError(f"the frame already has a column {into!r}: name another with into=.")
    for place in (p, i):
        if place is not None and folded.count(folded[place]) > 1:
            raise ValueError(
                f"the frame has columns that differ from {texts[place]!r} only in capitals, which its engine ignores: "
                "rename them."
            )
    return p, i


def _check_sql_type(kind: str, name: str, numbers: bool) -> str:
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


def _function_name(drawing: Drawing, kind: str) -> str:
    """A name that depends on what is drawn: equal functions have equal names."""
    return f"trustcal_{blake2b(f'{drawing!r} {kind}'.encode(), digest_size=8).hexdigest()}"


def _fresh(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


_ENGINES: dict[tuple[str, str], tuple[str, bool, Callable[[Any, Drawing, str], Any]]] = {
    ("pandas", "DataFrame"): ("pandas", True, _pandas),
    ("polars", "DataFrame"): ("Polars", True, _polars),
    ("polars", "LazyFrame"): ("Polars", True, _polars_lazy),
    ("pyarrow", "Table"): ("PyArrow", True, _pyarrow),
    ("duckdb", "DuckDBPyRelation"): ("a DuckDB relation", False, _duckdb),
    ("pyspark.sql", "DataFrame"): ("PySpark", False, _pyspark),
    ("dask", "DataFrame"): ("Dask", False, _dask),
    ("ibis", "Table"): ("Ibis", False, _ibis),
}
"""Module and name of a frame's class: what to call the engine, whether its rows have an order, and how it draws."""
