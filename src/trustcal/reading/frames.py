"""Counting by the engine of a frame: pandas, Polars, PySpark, Dask and Ibis, all through narwhals.

The engine groups rows by prediction and outcome and counts them; what the keys mean is decided here, in numpy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trustcal.reading.counter import Counter
from trustcal.reading.counting import DEFAULT, Counted, Group, Request, refuse_many_groups, too_many
from trustcal.reading.faults import Faults, refusal, swapped
from trustcal.reading.opening import failures, titled
from trustcal.reading.outcomes import as_label, decoded, refuse_third_label
from trustcal.reading.tallies import Pile, tallied

if TYPE_CHECKING:
    import narwhals as nw

_HERE = ("polars", "pandas")
"""Engines in this process, from which rows are fetched at no cost."""
_BLOCK = 1 << 17
_POSITIVE, _ZERO = 0, 1
"""What a weight can be, beside wrong."""


def counted_by_frame(frame: nw.LazyFrame[Any], request: Request) -> Counted:
    """The rows of a frame, counted by its engine in one pass (and one before, where there are more than 10^7).

    Rows of Polars and pandas that count alike stream by once, if none is at fault.
    """
    rows = _rows(frame, request)
    with failures(frame):
        counter = _streamed(rows, request)
        if counter is not None and counter.rows:
            return counter.counted(counter.rows, Faults())
        resolution = request.resolution
        if resolution is None:
            resolution = DEFAULT if _has_many(rows, request) else 0.0
        keys = _grouped(rows, request, resolution).collect()
    return _classified(keys, request, titled(frame), resolution)


def _rows(frame: nw.LazyFrame[Any], request: Request) -> nw.LazyFrame[Any]:
    """The columns of the request as p, y, w (with its square, and whether it is sound) and g0, g1, …"""
    import narwhals as nw

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
        selected.append((group.cast(nw.String) if _is_category(schema[name]) else group).alias(f"g{index}"))
    with failures(frame):
        return frame.select(*selected)


def _number(name: str, dtype: Any, title: str) -> nw.Expr:
    """A column as float64; decimals go by their digits, because PyArrow's own conversion makes 0.7 of them wrongly."""
    import narwhals as nw

    column = nw.col(name)
    if isinstance(dtype, nw.Decimal):
        return column.cast(nw.String).cast(nw.Float64)
    if not (dtype.is_numeric() or isinstance(dtype, nw.Boolean | nw.Object)):
        raise ValueError(f"{title}: column {name!r} must hold numbers, but holds {dtype}. Convert it, or name another.")
    return column.cast(nw.Float64)


def _label(name: str, dtype: Any, title: str) -> nw.Expr:
    import narwhals as nw

    if isinstance(dtype, nw.String | nw.Object):
        return nw.col(name)
    return nw.col(name).cast(nw.String) if _is_category(dtype) else _number(name, dtype, title)


def _is_category(dtype: Any) -> bool:
    import narwhals as nw

    return isinstance(dtype, nw.Categorical | nw.Enum)


def _streamed(rows: nw.LazyFrame[Any], request: Request) -> Counter | None:
    """Rows of an engine in this process, counted here as they come; None where one is at fault or needs more care."""
    import narwhals as nw

    plain = not (request.columns.weight or request.columns.by) and request.positive is None
    if not plain or rows.implementation.value not in _HERE or not isinstance(rows.collect_schema()["y"], nw.Float64):
        return None
    counter = Counter(request.resolution)
    for p, y in _blocks(rows):
        if p.null_count() or y.null_count():
            return None
        outcome = y.to_numpy()
        one = outcome == 1
        if not (one | (outcome == 0)).all() or not counter.add(p.to_numpy(), one.view(np.uint8)):
            return None
    return counter


def _blocks(rows: nw.LazyFrame[Any]) -> Iterator[tuple[Any, Any]]:
    """Predictions and outcomes, some at a time and in any order, as series."""
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
    import narwhals as nw

    if not too_many(int(rows.select(nw.len()).collect().item())):
        return False
    names = ["p", *(f"g{index}" for index in range(len(request.columns.by)))]
    # Not by unique, which numbers the rows of each key on Spark, and so sends every row over the network.
    keys = rows.group_by(*names, drop_null_keys=False).agg(nw.len().alias("n"))
    return too_many(int(keys.select(nw.len()).collect().item()))


def _grouped(rows: nw.LazyFrame[Any], request: Request, resolution: float) -> nw.LazyFrame[Any]:
    """Rows counted by the engine, on predictions rounded to the grid if there is one."""
    import narwhals as nw

    heavy = request.columns.weight is not None
    sums = ["w", "squares"] if heavy else []
    if resolution:
        p, steps = nw.col("p"), 1 / resolution
        inside = (p >= 0) & (p <= 1)
        sound = nw.when(inside).then(p).otherwise(nw.lit(0.0))  # Ibis makes floor an integer, and NaN has none
        near = nw.when(inside).then((sound * steps + 0.5).floor().cast(nw.Float64) * resolution).otherwise(p)
        way = (near - p).abs()
        rows = rows.with_columns(near.alias("near"), (way * nw.col("w") if heavy else way).alias("moved"))
        rows = rows.drop("p").rename({"near": "p"})
        sums.append("moved")
    keys = ["p", "y", *(["state"] if heavy else []), *(f"g{index}" for index in range(len(request.columns.by)))]
    grouped = rows.group_by(*keys, drop_null_keys=False)
    return grouped.agg(nw.len().alias("n"), *(nw.col(name).sum() for name in sums))


def _classified(keys: nw.DataFrame[Any], request: Request, title: str, resolution: float) -> Counted:
    """Keys and their counts as tallies by group, once those at fault are counted."""
    columns = request.columns
    p, missing = _floats(keys["p"])
    n = np.asarray(keys["n"].to_numpy(), dtype=np.int64)
    y = _outcomes(keys["y"], request, title)
    state = np.asarray(keys["state"].to_numpy()) if columns.weight else np.full(len(n), _POSITIVE)
    bad = {
        "missing": missing,
        "nan": np.isnan(p),
        "below": p < 0,
        "above": p > 1,
        "outcome": y < 0,
        "weight": state > _ZERO,
    }
    sound = np.ones(len(n), dtype=bool)
    faults, first = {}, []
    for name, at_fault in bad.items():
        faults[name] = int(n[sound & at_fault].sum())
        first += np.flatnonzero(sound & at_fault)[:3].tolist()
        sound &= ~at_fault
    counted = Faults(**faults)
    total = int(n.sum())
    if total == 0:
        raise ValueError(f"{title}: there must be at least one row, but there is none.")
    if counted.outcome and request.positive is None and _swapped(p[~missing], keys["y"]):
        raise swapped(title, columns)
    if counted.total and not request.drop_invalid:
        raise refusal(title, total, counted, _examples(keys, first[:3], columns.prediction, columns.outcome))
    if not sound.any():
        raise ValueError(f"{title}: no row of {total:,} is left: {counted}.")
    sound &= state == _POSITIVE
    if not sound.any():
        raise ValueError(f"{title}: some weight must be positive, but all are 0.")
    sums = {name: _floats(keys[name])[0] for name in ("w", "squares", "moved") if name in keys.columns}
    weight = sums.get("w", n.astype(np.float64))
    groups = _groups(keys, len(columns.by), sound)
    refuse_many_groups(len(groups), columns, title)
    piles = {}
    for group, here in groups.items():
        part = tallied(p[here], weight[here], weight[here] * y[here])
        more = {name: [float(sums[name][here].sum())] for name in ("squares", "moved") if name in sums}
        piles[group] = Pile([part], [int(n[here].sum())], **more)
    return Counted(total, counted, {group: pile.predictor(resolution) for group, pile in piles.items()}, resolution)


def _floats(column: nw.Series[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """A column of numbers, and where it has none."""
    missing = np.asarray(column.is_null().to_numpy(), dtype=bool)
    return np.asarray(column.fill_null(0.0).to_numpy(), dtype=np.float64), missing


def _outcomes(column: nw.Series[Any], request: Request, title: str) -> NDArray[np.int8]:
    """0, 1, or -1 for what is neither."""
    if column.dtype.is_numeric():
        values, missing = _floats(column)
        distinct, at = np.unique(np.where(missing, np.nan, values), return_inverse=True)
        labels: list[Any] = distinct.tolist()
    else:
        listed = _values(column)
        labels = list(dict.fromkeys(listed))
        place = {label: index for index, label in enumerate(labels)}
        at = np.array([place[label] for label in listed], dtype=np.intp)
    known = {label for label in labels if label is not None and label == label}  # not NaN
    if request.positive is None:
        meaning = {label: decoded(label) for label in known}
    else:
        positive = as_label(request.positive, any(isinstance(label, str) for label in known), request.columns.outcome)
        refuse_third_label(known - {positive}, positive, request.columns.outcome, title)
        meaning = {label: int(label == positive) for label in known}
    codes = [-1 if meaning.get(label) is None else meaning[label] for label in labels]
    return np.array(codes, dtype=np.int8)[at]


def _swapped(p: NDArray[np.float64], column: nw.Series[Any]) -> bool:
    """Whether, where there is something, predictions are 0 or 1 and outcomes numbers from 0 to 1, some between."""
    try:
        x = np.array([value for value in _values(column) if value is not None], dtype=np.float64)
    except (TypeError, ValueError):
        return False
    said = p[~np.isnan(p)]
    certain = len(said) > 0 and bool(np.isin(said, (0, 1)).all())
    return certain and bool(((x >= 0) & (x <= 1)).all() and ((x > 0) & (x < 1)).any())


def _values(column: nw.Series[Any]) -> list[Any]:
    """A column as a list; what is missing or NaN is None."""
    pairs = zip(column.to_list(), column.is_null().to_list(), strict=True)
    return [None if none or value != value else value for value, none in pairs]


def _groups(keys: nw.DataFrame[Any], count: int, sound: NDArray[np.bool_]) -> dict[Group, NDArray[np.intp]]:
    """Which keys belong to which group; a value that is missing or NaN is None."""
    if not count:
        return {(): np.flatnonzero(sound)}
    values = [_values(keys[f"g{index}"]) for index in range(count)]
    members: dict[Group, list[int]] = {}
    for index in np.flatnonzero(sound).tolist():
        members.setdefault(tuple(value[index] for value in values), []).append(index)
    return {group: np.array(here) for group, here in members.items()}


def _examples(keys: nw.DataFrame[Any], first: list[int], prediction: str, outcome: str) -> list[str]:
    said = [
        ["missing" if none else repr(value) for value, none in zip(column.to_list(), column.is_null(), strict=True)]
        for column in (keys["p"][first], keys["y"][first])
    ]
    return [f"{prediction} {p}, {outcome} {y}" for p, y in zip(*said, strict=True)]
