"""Frames of any engine through narwhals: pandas, Polars, PySpark, Dask and Ibis.

Rows of an engine in this process stream by and are counted here if they have neither weights nor groups.  Otherwise
the engine groups rows by prediction and outcome, and the keys are classified and counted here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from trustcal.reading.causes import likely_cause
from trustcal.reading.faults import Faults, refusal, swapped
from trustcal.reading.outcomes import as_label, decoded, refuse_third_label
from trustcal.reading.request import Counted, Group, Request, by_group
from trustcal.rows import fault_masks, looks_swapped
from trustcal.tally import Tally
from trustcal.tally.tally import DEFAULT, too_many

_HERE = ("polars", "pandas")
"""Engines in this process, whose rows can be fetched at no cost."""
_FORGET_CAPITALS = ("pyspark", "pyspark[connect]", "ibis", "sqlframe", "duckdb")
_CATEGORY = nw.Categorical | nw.Enum
_BLOCK = 1 << 17
_POSITIVE, _ZERO = 0, 1
"""States of a weight, beside invalid."""


def opened_frame(source: object) -> nw.LazyFrame[Any]:
    """Open any frame that narwhals knows."""
    pandas = type(source).__module__.startswith("pandas")
    names = [str(name) for name in getattr(source, "columns", ())] if pandas else []
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"the pandas frame has several columns called {', '.join(map(repr, twice))}: rename them.")
    try:
        frame: Any = nw.from_native(_with_plain_categories(source))
    except TypeError:
        raise ValueError(
            "the source must be the name of a file, a pattern or a list of these, a frame of pandas, Polars, PySpark, "
            f"Dask or Ibis, a DuckDB relation, or a PyArrow table or dataset, not a {type(source).__qualname__}."
        ) from None
    lazy: nw.LazyFrame[Any] = frame.lazy()
    if lazy.implementation.value in _FORGET_CAPITALS:
        columns = names_of(lazy)
        if len({name.lower() for name in columns}) < len(columns):
            raise ValueError(f"{titled(lazy)} has columns that differ only in capitals: {', '.join(columns)}. Rename.")
    return lazy


def _with_plain_categories(source: Any) -> Any:
    """The frame with numeric categories as numbers: as text, pandas makes '1.0' of 1 beside a missing value."""
    if not type(source).__module__.startswith(("pandas", "dask")) or not hasattr(source, "columns"):
        return source
    plain = {
        name: object
        for name, dtype in source.dtypes.items()
        if getattr(getattr(dtype, "categories", None), "dtype", None) is not None
        and dtype.categories.dtype.kind in "iufb"
    }
    return source.astype(plain) if plain else source


def titled(frame: nw.LazyFrame[Any]) -> str:
    """What to call the frame in a message."""
    return f"the {frame.implementation.value} frame"


def names_of(frame: nw.LazyFrame[Any]) -> list[str]:
    """The columns of the frame."""
    with failures(frame):
        return frame.collect_schema().names()


def is_here(frame: nw.LazyFrame[Any]) -> bool:
    """Whether the engine runs in this process, so that looking at columns again costs little."""
    return frame.implementation.value in _HERE


def distinct_values(frame: nw.LazyFrame[Any], names: Sequence[str], places: Sequence[int]) -> list[int]:
    """How many different values the columns at these places have, missing ones left out; 0 for nested ones."""
    with failures(frame):
        rows = frame.select(*(names[place] for place in places)).collect()
        columns = (rows[names[place]] for place in places)
        odd = nw.Object | nw.List | nw.Array | nw.Struct
        return [0 if isinstance(one.dtype, odd) else one.drop_nulls().n_unique() for one in columns]


def rows_here(frame: nw.LazyFrame[Any], request: Request) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The outcomes and predictions of the valid rows of positive weight, in their order, all in memory."""
    rows = rows_of_frame(frame, request)
    with failures(frame):
        found = rows.collect()
    p, missing = _floats(found["p"])
    y = outcomes_of(found["y"], request, titled(frame))
    light = np.asarray(found["state"].to_numpy()) != _POSITIVE if request.columns.weight else np.zeros(len(p), bool)
    valid = ~np.any([light, *fault_masks(p, y, missing=missing).values()], axis=0)
    return y[valid], p[valid]


def in_memory(frame: nw.LazyFrame[Any], names: Sequence[str]) -> Any:
    """Some columns of the frame as an Arrow table, with every row in memory."""
    with failures(frame):
        return frame.select(*dict.fromkeys(names)).collect().to_arrow()


@contextmanager
def failures(frame: nw.LazyFrame[Any]) -> Iterator[None]:
    """Turn whatever an engine raises, over a dead cluster for instance, into a ValueError of one line."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        lines = [line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()]
        what = ": ".join([type(error).__name__, *lines[:1]])
        remedy = " Is its session still alive, and its master reachable?" if "spark" in titled(frame) else ""
        raise ValueError(f"{titled(frame)} cannot be read: its engine failed with {what}.{remedy}") from error


def counted_by_frame(frame: nw.LazyFrame[Any], request: Request) -> Counted:
    """Count the rows of a frame.

    Rows of Polars and pandas without weights and groups are read once, if none is at fault.  Otherwise the engine
    groups them in one pass, after one that counts distinct predictions where there are more than 10^7 rows.
    """
    rows = rows_of_frame(frame, request)
    with failures(frame):
        tally = _streamed(rows, request)
        if tally is not None and tally.rows:
            return Counted(tally.rows, Faults(), tally, {})
        resolution = request.resolution
        if resolution is None:
            resolution = DEFAULT if _has_many(rows, request) else 0.0
        keys = _grouped(rows, request, resolution).collect()
    return _classified(keys, request, titled(frame), resolution)


def rows_of_frame(frame: nw.LazyFrame[Any], request: Request) -> nw.LazyFrame[Any]:
    """The columns of the request as p, y, w (with its square and its state) and g0, g1, …"""
    with failures(frame):
        schema = frame.collect_schema()
    columns, title = request.columns, titled(frame)
    selected = [
        _number(columns.prediction, schema[columns.prediction], title).alias("p"),
        _label(columns.outcome, schema[columns.outcome], title).alias("y"),
    ]
    if columns.weight is not None:
        w = _number(columns.weight, schema[columns.weight], title)
        light = nw.when(w == 0).then(nw.lit(_ZERO)).otherwise(nw.lit(2))
        state = nw.when((w > 0) & w.is_finite()).then(nw.lit(_POSITIVE)).otherwise(light)
        selected += [w.alias("w"), (w * w).alias("squares"), state.alias("state")]
    for index, name in enumerate(columns.by):
        group = nw.col(name)
        if schema[name].is_nested():
            raise ValueError(f"{title}: groups are made by simple values, but column {name!r} holds {schema[name]}.")
        selected.append((group.cast(nw.String) if isinstance(schema[name], _CATEGORY) else group).alias(f"g{index}"))
    with failures(frame):
        return frame.select(*selected)


def _number(name: str, dtype: Any, title: str) -> nw.Expr:
    """A column as float64; decimals go by their digits, because PyArrow's conversion rounds 0.7 wrongly."""
    column = nw.col(name)
    if isinstance(dtype, nw.Decimal):
        return column.cast(nw.String).cast(nw.Float64)
    if not (dtype.is_numeric() or isinstance(dtype, nw.Boolean | nw.Object)):
        raise ValueError(f"{title}: column {name!r} must hold numbers, but holds {dtype}. Convert it, or name another.")
    return column.cast(nw.Float64)


def _label(name: str, dtype: Any, title: str) -> nw.Expr:
    if isinstance(dtype, nw.String | nw.Object):
        return nw.col(name)
    return nw.col(name).cast(nw.String) if isinstance(dtype, _CATEGORY) else _number(name, dtype, title)


def _streamed(rows: nw.LazyFrame[Any], request: Request) -> Tally | None:
    """The rows of an engine in this process, counted here; None if one is at fault, or the engine must group them."""
    plain = request.plain and request.positive is None
    if not plain or not is_here(rows) or not isinstance(rows.collect_schema()["y"], nw.Float64):
        return None
    tally = Tally(request.resolution)
    for p, y in _blocks(rows):
        if p.null_count() or y.null_count():
            return None
        outcome = y.to_numpy()
        one = outcome == 1
        if not (one | (outcome == 0)).all() or not tally.add(p.to_numpy(), one.view(np.uint8)):
            return None
    return tally


def _blocks(rows: nw.LazyFrame[Any]) -> Iterator[tuple[Any, Any]]:
    """Predictions and outcomes as series, block by block and in any order."""
    native = rows.to_native()
    if hasattr(native, "collect_batches"):  # a frame of a Polars that has them
        for batch in native.collect_batches(maintain_order=False):
            yield batch["p"], batch["y"]
    else:
        frame = rows.collect()
        for begin in range(0, len(frame), _BLOCK):
            block = frame[begin : begin + _BLOCK]
            yield block["p"], block["y"]


def _has_many(rows: nw.LazyFrame[Any], request: Request) -> bool:
    if not too_many(int(rows.select(nw.len()).collect().item())):
        return False
    names = ["p", *(f"g{index}" for index in range(len(request.columns.by)))]
    # Not by unique, which numbers the rows of each key on Spark and so sends every row over the network.
    keys = rows.group_by(*names, drop_null_keys=False).agg(nw.len().alias("n"))
    return too_many(int(keys.select(nw.len()).collect().item()))


def _grouped(rows: nw.LazyFrame[Any], request: Request, resolution: float) -> nw.LazyFrame[Any]:
    """Rows grouped and counted by the engine, with predictions rounded to the resolution if there is one."""
    heavy = request.columns.weight is not None
    sums = ["w", "squares"] if heavy else []
    if resolution:
        p, steps = nw.col("p"), 1 / resolution
        inside = (p >= 0) & (p <= 1)
        number = nw.when(inside).then(p).otherwise(nw.lit(0.0))  # floor is an integer in Ibis, and NaN is not
        near = nw.when(inside).then((number * steps + 0.5).floor().cast(nw.Float64) * resolution).otherwise(p)
        way = (near - p).abs()
        rows = rows.with_columns(near.alias("near"), (way * nw.col("w") if heavy else way).alias("moved"))
        rows = rows.drop("p").rename({"near": "p"})
        sums.append("moved")
    keys = ["p", "y", *(["state"] if heavy else []), *(f"g{index}" for index in range(len(request.columns.by)))]
    grouped = rows.group_by(*keys, drop_null_keys=False)
    return grouped.agg(nw.len().alias("n"), *(nw.col(name).sum() for name in sums))


def _classified(keys: nw.DataFrame[Any], request: Request, title: str, resolution: float) -> Counted:
    columns = request.columns
    p, missing = _floats(keys["p"])
    y = outcomes_of(keys["y"], request, title)
    n = np.asarray(keys["n"].to_numpy(), dtype=np.int64)
    state = np.asarray(keys["state"].to_numpy()) if columns.weight else np.full(len(n), _POSITIVE)
    masks = fault_masks(p, y, missing=missing, weight=state > _ZERO)
    faults, valid = Faults.counted(masks, n)
    if faults.outcome and request.positive is None and looks_swapped(p, y):
        raise swapped(title, columns)
    if faults.total and not request.drop_invalid:
        first = [place for mask in masks.values() for place in np.flatnonzero(mask)[:3].tolist()]
        examples = _examples(keys, list(dict.fromkeys(first))[:3], columns.prediction, columns.outcome)
        rows = int(n.sum())
        raise refusal(title, rows, faults, examples, likely_cause(faults, rows, p, y, ()))
    valid &= state == _POSITIVE
    sums = {name: _floats(keys[name])[0] for name in ("w", "squares", "moved") if name in keys.columns}
    weight = sums.pop("w", n.astype(np.float64))
    tallies = {}
    for group, here in _groups(keys, len(columns.by), valid).items():
        tally = tallies[group] = Tally(resolution)
        more = {name: values[here] for name, values in sums.items()}
        tally.add_counts(p[here], weight[here], weight[here] * y[here], int(n[here].sum()), **more)
    return by_group(request, title, int(n[~valid].sum()), faults, tallies)


def _floats(column: nw.Series[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """A column of numbers, NaN where there is none, and where that is."""
    missing = np.asarray(column.is_null().to_numpy(), dtype=bool)
    values = np.array(column.fill_null(0.0).to_numpy(), dtype=np.float64)
    values[missing] = np.nan
    return values, missing


def outcomes_of(column: nw.Series[Any], request: Request, title: str) -> NDArray[np.float64]:
    """Outcomes as numbers: 0 or 1 if valid, NaN if missing, −∞ for other words."""
    if column.dtype.is_numeric():
        values, _ = _floats(column)
        distinct, at = np.unique(values, return_inverse=True)
        labels: list[Any] = [None if value != value else value for value in distinct.tolist()]
    else:
        listed = _values(column)
        labels = list(dict.fromkeys(listed))
        place = {label: index for index, label in enumerate(labels)}
        at = np.array([place[label] for label in listed], dtype=np.intp)
    known = {label for label in labels if label is not None}
    if request.positive is None:
        numbers = {label: _outcome_number(label) for label in known}
    else:
        positive = as_label(request.positive, any(isinstance(label, str) for label in known), request.columns.outcome)
        refuse_third_label(known - {positive}, positive, request.columns.outcome, title)
        numbers = {label: float(label == positive) for label in known}
    return np.array([numbers.get(label, np.nan) for label in labels], dtype=np.float64)[at]


def _outcome_number(label: Any) -> float:
    outcome = decoded(label)
    if outcome is not None:
        return float(outcome)
    try:
        return float(label)
    except (TypeError, ValueError):
        return -inf


def _values(column: nw.Series[Any]) -> list[Any]:
    """A column as a list; what is missing or NaN is None."""
    pairs = zip(column.to_list(), column.is_null().to_list(), strict=True)
    return [None if none or value != value else value for value, none in pairs]


def _groups(keys: nw.DataFrame[Any], count: int, valid: NDArray[np.bool_]) -> dict[Group, NDArray[np.intp]]:
    """Which keys belong to which group; a value that is missing or NaN is None."""
    if not count:
        return {(): np.flatnonzero(valid)} if valid.any() else {}
    values = [_values(keys[f"g{index}"]) for index in range(count)]
    members: dict[Group, list[int]] = {}
    for index in np.flatnonzero(valid).tolist():
        members.setdefault(tuple(value[index] for value in values), []).append(index)
    return {group: np.array(here) for group, here in members.items()}


def _examples(keys: nw.DataFrame[Any], first: list[int], prediction: str, outcome: str) -> list[str]:
    said = [
        ["missing" if none else repr(value) for value, none in zip(column.to_list(), column.is_null(), strict=True)]
        for column in (keys["p"][first], keys["y"][first])
    ]
    return [f"{prediction} {p}, {outcome} {y}" for p, y in zip(*said, strict=True)]
