"""Remedies inside an engine: a frame of any kind with one more column, the same bits in every engine.

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

from trustcal.checking import checked_seed, refuse_other
from trustcal.noise import Noise
from trustcal.noise.mechanism import as_noise
from trustcal.reading.columns import place_of
from trustcal.reading.files import identifier
from trustcal.remedies import Remedy, noise_remedy
from trustcal.rewriting.engine_columns import (
    Treatment,
    arrow_ids,
    arrow_numbers,
    new_column,
    no_ids,
    no_numbers,
    pandas_ids,
    polars_ids,
    polars_numbers,
    sql_type,
)
from trustcal.rows import real_vector

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
    frame, prediction, row_id, into, connection
        As for `fix_frame`; the default name of the new column ends in `_noised`.
    noise : Noise
        The noise M.
    seed : int
        The draw of a row depends on this, its row id and its prediction only.

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
      case    p  p_noised
    0    a  0.2     0.167
    1    b  0.7     0.764

    Notes
    -----
    O(n) time; engines that stream hold one batch at a time.
    """
    remedy = noise_remedy(as_noise(noise), checked_seed(seed))
    return fix_frame(frame, remedy, prediction=prediction, row_id=row_id, into=into, connection=connection)


def fix_frame(
    frame: Frame,
    remedy: Remedy,
    *,
    prediction: str,
    row_id: str | None = None,
    by: str | None = None,
    into: str | None = None,
    connection: Any = None,
) -> Frame:
    """Add the predictions after a remedy as a new column, inside the frame's own engine.

    Lazy frames stay lazy.  The values are those of `remedy.apply`, bit for bit, in every engine.

    Parameters
    ----------
    frame : data frame
        Of pandas, Polars (eager or lazy), PyArrow, DuckDB, PySpark, Dask or Ibis.
    remedy : Remedy
        What to apply.
    prediction : str
        The column of predictions in [0, 1].
    row_id : str, optional
        For noise, a column of integers or text.  Default: the position of the row, from 0; frames of DuckDB, PySpark,
        Dask and Ibis have no order and need a row id.
    by : str, optional
        For a remedy that was learned by group, the column of groups.  Default: that from which it was learned.
    into : str, optional
        The name of the new column.  Default: the prediction's name with `_recalibrated` or `_noised`.
    connection : DuckDBPyConnection, optional
        That of a DuckDB relation that is not of the default connection.

    Returns
    -------
    data frame
        Of the same kind, with the new column last.

    Examples
    --------
    >>> import pandas as pd
    >>> from trustcal.remedies import fit
    >>> remedy = fit("isotonic", [0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9])
    >>> fix_frame(pd.DataFrame({"p": [0.2, 0.7]}), remedy, prediction="p")
         p  p_recalibrated
    0  0.2            0.25
    1  0.7            0.75

    Notes
    -----
    O(n) time; engines that stream hold one batch at a time.
    """
    refuse_other("remedy", remedy, Remedy, "a Remedy, such as remedies.fit makes")
    treatment = Treatment(remedy, prediction, remedy.group_column(by) or row_id)
    column = new_column(prediction, into, remedy.suffix)
    kinds = [(kind.__module__.removeprefix("_"), kind.__name__) for kind in type(frame).__mro__]
    for (module, name), (engine, ordered, fixed) in _ENGINES.items():
        if any(kind.startswith(module) and called == name for kind, called in kinds):
            if row_id is None and not ordered and remedy.random:
                raise ValueError(
                    f"the rows of {engine} have no order, so row_id= must name a column of integers or text that "
                    "identifies them: the noise of a row must be the same in every run."
                )
            if module == "duckdb":
                fixed = partial(_duckdb, connection=connection)
            elif connection is not None:
                raise ValueError(f"connection= belongs to DuckDB relations, not to {engine}.")
            return fixed(frame, treatment, column)  # type: ignore[no-any-return]
    raise ValueError(
        f"frame must be a table of pandas, Polars, PyArrow, DuckDB, PySpark, Dask or Ibis, not {type(frame).__name__}. "
        "For arrays use remedy.apply or perturb, for files fix_file."
    )


def _pandas(frame: Any, treatment: Treatment, into: str) -> Any:
    _places(treatment, into, frame.columns)
    return _pandas_drawn(frame, treatment, into)


def _pandas_drawn(frame: Any, treatment: Treatment, into: str) -> Any:
    prediction = real_vector(frame[treatment.prediction], f"column {treatment.prediction!r}")
    named = treatment.row_id is not None
    ids = pandas_ids(frame[treatment.row_id], str(treatment.row_id)) if named else np.arange(len(frame))
    return frame.assign(**{into: treatment(prediction, ids)})


def _dask(frame: Any, treatment: Treatment, into: str) -> Any:
    _places(treatment, into, frame.columns)
    meta = frame._meta.assign(**{into: np.empty(0)})
    return frame.map_partitions(_pandas_drawn, treatment, into, meta=meta)


def _polars(frame: Any, treatment: Treatment, into: str) -> Any:
    import polars as pl

    p, i = _places(treatment, into, frame.columns)
    prediction = polars_numbers(frame.to_series(p), treatment.prediction)
    ids = np.arange(frame.height) if i is None else polars_ids(frame.to_series(i), str(treatment.row_id))
    return frame.with_columns(pl.Series(into, treatment(prediction, ids)))


def _polars_lazy(frame: Any, treatment: Treatment, into: str) -> Any:
    import polars as pl
    from polars.selectors import by_name

    names = frame.collect_schema().names()
    _places(treatment, into, names)
    row = treatment.row_id
    if row is None:
        row = "row"
        while row in (*names, into):
            row += "_"
        frame = frame.with_row_index(row)

    def drawn(rows: Any) -> Any:
        prediction = polars_numbers(rows.struct.field("prediction"), treatment.prediction)
        return pl.Series(treatment(prediction, polars_ids(rows.struct.field("id"), row)))

    both = pl.struct(by_name(treatment.prediction).alias("prediction"), by_name(row).alias("id"))
    column = both.map_batches(drawn, return_dtype=pl.Float64, is_elementwise=True).alias(into)
    return frame.with_columns(column).select(by_name(*names, into))


def _pyarrow(frame: Any, treatment: Treatment, into: str) -> Any:
    import pyarrow as pa

    p, i = _places(treatment, into, frame.column_names)
    prediction = arrow_numbers(frame.column(p), treatment.prediction)
    ids = np.arange(frame.num_rows) if i is None else arrow_ids(frame.column(i), str(treatment.row_id))
    return frame.append_column(into, pa.array(treatment(prediction, ids)))


def _duckdb(frame: Any, treatment: Treatment, into: str, connection: Any = None) -> Any:
    import duckdb

    p, i = _places(treatment, into, frame.columns, capitals=False)
    sql_type(str(frame.types[p]), treatment.prediction, numbers=True)
    kind = "BIGINT" if i is None else sql_type(str(frame.types[i]), str(treatment.row_id), numbers=False)
    name = _function_name(treatment, kind)
    home: Any = duckdb.connect(":default:").cursor() if connection is None else connection
    with suppress(duckdb.NotImplementedException, duckdb.CatalogException):  # the same function, registered before
        home.create_function(
            name, _arrow_function(treatment), ["DOUBLE", kind], "DOUBLE", type="arrow", null_handling="special"
        )
        if connection is None:  # DuckDB reports a function that is still registered at exit as a leak
            atexit.register(home.close)
    row = "0" if i is None else identifier(frame.columns[i])
    call = f"{name}(CAST({identifier(frame.columns[p])} AS DOUBLE), CAST({row} AS {kind}))"
    try:
        return frame.project(f"*, {call} AS {identifier(into)}")
    except duckdb.CatalogException:
        raise ValueError(
            "the relation does not belong to DuckDB's default connection: pass its own as connection=, where the noise "
            "is to be registered."
        ) from None


def _ibis(frame: Any, treatment: Treatment, into: str) -> Any:
    ibis = import_module("ibis")
    _places(treatment, into, frame.columns, capitals=False)
    p = frame[treatment.prediction]
    i = ibis.literal(0) if treatment.row_id is None else frame[treatment.row_id]
    if not (p.type().is_numeric() or p.type().is_boolean()):
        raise no_numbers(treatment.prediction, p.type())
    if not (i.type().is_integer() or i.type().is_string()):
        raise no_ids(str(treatment.row_id), i.type())
    kind = "string" if i.type().is_string() else "uint64" if i.type().is_unsigned_integer() else "int64"
    draw = _arrow_function(treatment)
    draw.__name__ = _function_name(treatment, kind)
    signature = ((ibis.dtype("float64"), ibis.dtype(kind)), ibis.dtype("float64"))
    function = ibis.udf.scalar.pyarrow(draw, signature=signature, null_handling="special")
    return frame.mutate(**{into: function(p.cast("float64"), i.cast(kind))})


def _pyspark(frame: Any, treatment: Treatment, into: str) -> Any:
    from pyspark.sql import types

    fields = frame.schema.fields
    p, i = _places(treatment, into, [field.name for field in fields], capitals=False)
    if not isinstance(fields[p].dataType, types.NumericType | types.BooleanType):
        raise no_numbers(treatment.prediction, fields[p].dataType.simpleString())
    if i is not None and not isinstance(fields[i].dataType, types.IntegralType | types.StringType):
        raise no_ids(str(treatment.row_id), fields[i].dataType.simpleString())
    schema = types.StructType([*fields, types.StructField(into, types.DoubleType())])
    return frame.mapInArrow(partial(_with_draws, treatment=treatment, into=into, p=p, i=i), schema)


def _with_draws(batches: Iterator[Any], treatment: Treatment, into: str, p: int, i: int | None) -> Iterator[Any]:
    """Record batches with one more column: at module level, so that Spark can send it by name."""
    import pyarrow as pa

    draw = _arrow_function(treatment)
    for batch in batches:
        ids = pa.array(np.zeros(len(batch), dtype=np.int64)) if i is None else batch.column(i)
        yield batch.append_column(into, draw(batch.column(p), ids))


@cache  # DuckDB does not keep a function alive beyond the connection object that registered it
def _arrow_function(treatment: Treatment) -> Callable[[Any, Any], Any]:
    """The draws of pyarrow columns (predictions, ids) as a pyarrow column."""
    import pyarrow as pa

    def drawn(prediction: Any, ids: Any) -> Any:
        return pa.array(
            treatment(arrow_numbers(prediction, treatment.prediction), arrow_ids(ids, str(treatment.row_id))),
            pa.float64(),
        )

    return drawn


def _places(treatment: Treatment, into: str, names: Sequence[Any], capitals: bool = True) -> tuple[int, int | None]:
    """The positions of the prediction and the row id, where no other name differs from theirs only in capitals."""
    texts = [name if isinstance(name, str) else repr(name) for name in names]
    p = place_of(treatment.prediction, texts, "the frame")
    i = None if treatment.row_id is None else place_of(treatment.row_id, texts, "the frame")
    folded = texts if capitals else [name.lower() for name in texts]
    if (into if capitals else into.lower()) in folded:
        raise ValueError(f"the frame already has a column {into!r}: name another with into=.")
    for place in (p, i):
        if place is not None and folded.count(folded[place]) > 1:
            said = f"the frame has columns that differ from {texts[place]!r} only in capitals"
            raise ValueError(f"{said}, which its engine ignores: rename them.")
    return p, i


def _function_name(treatment: Treatment, kind: str) -> str:
    """A name that depends on what is drawn: equal functions have equal names."""
    return f"trustcal_{blake2b(f'{treatment!r} {kind}'.encode(), digest_size=8).hexdigest()}"


_ENGINES: dict[tuple[str, str], tuple[str, bool, Callable[[Any, Treatment, str], Any]]] = {
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
