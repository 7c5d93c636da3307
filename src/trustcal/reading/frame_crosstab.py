"""Cross-tabulation by frames: pandas, Polars, PySpark, Dask and Ibis group the rows where they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import narwhals as nw
import numpy as np

from trustcal.reading.crosstab import STEPS, Crosstab, IntArray
from trustcal.reading.features import (
    FEW,
    FIRST,
    MISSING,
    QUANTILES,
    Condition,
    Feature,
    category_feature,
    number_feature,
)
from trustcal.reading.fine_counts import CELLS, CodedPart
from trustcal.reading.memberships import BoolArray, Conjunction
from trustcal.reading.narwhals import failures, outcomes_of, rows_of_frame, titled
from trustcal.reading.request import Request
from trustcal.rows import FloatArray


def crosstab_of_frame(frame: nw.LazyFrame[Any], request: Request, edges: FloatArray, least: int) -> Crosstab:
    """Cross-tabulate the valid rows of a frame: a pass for each feature, and one for the table."""
    rows = rows_of_frame(frame, request)
    rows = rows.filter((nw.col("p") >= 0) & (nw.col("p") <= 1))
    names = [f"g{index}" for index in range(len(request.columns.by))]
    with failures(frame):
        schema = rows.collect_schema()
        features = tuple(
            _feature(rows, column, name, schema[column], least)
            for column, name in zip(names, request.columns.by, strict=True)
        )
        codes = [
            code_of(column, feature, schema[column]).alias(f"f{column}")
            for column, feature in zip(names, features, strict=True)
        ]
        told = (nw.col("p") * float(STEPS)).round().cast(nw.Int64)
        coded = rows.select("y", *codes, place_in(nw.col("p"), edges.tolist()).alias("b"), told.alias("s"))
        keys = ["y", "b", *(f"f{column}" for column in names)]
        found = coded.group_by(*keys, drop_null_keys=False).agg(nw.len().alias("n"), nw.col("s").sum()).collect()
    y = outcomes_of(found["y"], request, titled(frame))
    valid = (y == 0) | (y == 1)
    counted = {name: found[name].to_numpy()[valid] for name in ("n", "s", "b")}
    code = np.array([found[f"f{column}"].to_numpy()[valid] for column in names], dtype=np.int16)
    sums = np.array([counted["n"], counted["s"], counted["n"] * (y[valid] == 1)]).astype(np.int64)
    return Crosstab.from_counts(features, edges, code.reshape(len(names), -1), counted["b"].astype(np.int16), sums)


def fine_counts_of_frame(
    frame: nw.LazyFrame[Any], request: Request, table: Crosstab, parts: Sequence[CodedPart], used: Sequence[int]
) -> IntArray:
    """The rows of parts by range and cell: parts (bits), ranges, cells, rows, predictions in 1/STEPS, outcomes 1."""
    rows = rows_of_frame(frame, request)
    rows = rows.filter((nw.col("p") >= 0) & (nw.col("p") <= 1))
    with failures(frame):
        schema = rows.collect_schema()
        codes = {
            place: code_of(f"g{index}", table.features[place], schema[f"g{index}"]) for index, place in enumerate(used)
        }
        p = nw.col("p")
        coded = rows.select(
            "y",
            *(code.alias(f"f{place}") for place, code in codes.items()),
            place_in(p, table.edges.tolist()).alias("b"),
            (p * float(CELLS)).floor().cast(nw.Int64).alias("c"),
            (p * float(STEPS)).round().cast(nw.Int64).alias("s"),
        )
        coded = coded.select("y", "b", "c", "s", _member(parts).alias("m")).filter(nw.col("m") > 0)
        found = coded.group_by("y", "m", "b", "c", drop_null_keys=False).agg(nw.len().alias("n"), nw.col("s").sum())
        counted = found.collect()
    y = outcomes_of(counted["y"], request, titled(frame))
    valid = (y == 0) | (y == 1)
    lines = [counted[name].to_numpy()[valid] for name in ("m", "b", "c", "n", "s")]
    return np.array([*lines, lines[3] * (y[valid] == 1)]).astype(np.int64)


def _member(parts: Sequence[CodedPart]) -> nw.Expr:
    """The parts to which a row belongs, one bit for each."""
    member = nw.lit(0)
    for index, part in enumerate(parts):
        met = nw.lit(True)
        for place, first, last in zip(part.features, part.first, part.last, strict=True):
            met = met & (nw.col(f"f{place}") >= first) & (nw.col(f"f{place}") <= last)
        member = member + nw.when(met).then(nw.lit(1 << index)).otherwise(nw.lit(0))
    return member


def memberships_of_frame(frame: nw.LazyFrame[Any], segments: Sequence[Conjunction], used: Sequence[str]) -> BoolArray:
    """Which rows of a frame meet which conditions."""
    with failures(frame):
        schema = frame.collect_schema()
        met = []
        for index, segment in enumerate(segments):
            every = [_met(nw.col(one.feature), one, schema[one.feature]) for one in segment]
            whole = nw.lit(True)
            met.append(reduce(lambda a, b: a & b, every, whole).alias(f"m{index}"))
        counted = frame.select(*used[:1] or frame.collect_schema().names()[:1]).collect()
        if not segments:
            return np.zeros((len(counted), 0), dtype=bool)
        found = frame.with_columns(*met).select(*(f"m{index}" for index in range(len(segments)))).collect()
    return np.array([found[name].to_numpy() for name in found.columns], dtype=bool).T


def _feature(rows: nw.LazyFrame[Any], column: str, name: str, dtype: Any, least: int) -> Feature:
    """A feature of a frame: a number cut at quantiles, or a category with the levels that occur often enough."""
    if dtype.is_numeric():
        known = rows.select(_number(nw.col(column)).alias(column)).filter(~nw.col(column).is_null())
        distinct = known.group_by(column).agg(nw.len().alias("n")).head(FEW + 1).collect()
        if len(distinct) > FEW:
            return number_feature(name, _quantiles(known, column))
    grouped = rows.select(_text(nw.col(column), dtype).alias("level")).group_by("level", drop_null_keys=True)
    frequent = grouped.agg(nw.len().alias("n")).filter(nw.col("n") >= least).collect()
    counts = dict(zip(frequent["level"].to_list(), frequent["n"].to_list(), strict=True))
    return category_feature(name, counts)


def _quantiles(known: nw.LazyFrame[Any], column: str) -> list[float]:
    """The quantiles of a column without missing values."""
    if known.implementation.is_dask():  # it has quantiles of one partition only
        return np.quantile(known.collect()[column].to_numpy(), QUANTILES).tolist()  # type: ignore[no-any-return]
    number = nw.col(column)
    asked = [number.quantile(q, interpolation="linear").alias(f"q{place}") for place, q in enumerate(QUANTILES)]
    found = known.select(*asked).collect()
    return [found[name].to_list()[0] for name in found.columns]


def _number(value: nw.Expr) -> nw.Expr:
    """A number, missing where it is NaN."""
    number = value.cast(nw.Float64)
    return nw.when(~number.is_nan()).then(number)


def _text(value: nw.Expr, dtype: Any) -> nw.Expr:
    """A value as text, missing where it is NaN; engines differ in how they write true and false."""
    if isinstance(dtype, nw.String):
        return value
    text = value.cast(nw.String)
    if isinstance(dtype, nw.Boolean):
        return text.str.to_lowercase()
    return nw.when(~_number(value).is_null()).then(text) if dtype.is_numeric() else text


def code_of(column: str, feature: Feature, dtype: Any) -> nw.Expr:
    """The code of a feature's value."""
    if feature.numeric:
        number = _number(nw.col(column))
        return nw.when(number.is_null()).then(nw.lit(MISSING)).otherwise(place_in(number, feature.cuts) + FIRST)
    text = _text(nw.col(column), dtype)
    code = nw.lit(0)
    for place, level in enumerate(feature.levels):
        code = code + nw.when(text == level).then(nw.lit(place + FIRST)).otherwise(nw.lit(0))
    return nw.when(text.is_null()).then(nw.lit(MISSING)).otherwise(code)


def place_in(value: nw.Expr, cuts: Sequence[float]) -> nw.Expr:
    """How many cuts a value exceeds."""
    place = nw.lit(0)
    for cut in cuts:
        place = place + nw.when(value > cut).then(nw.lit(1)).otherwise(nw.lit(0))
    return place


def _met(value: nw.Expr, condition: Condition, dtype: Any) -> nw.Expr:
    """A condition as an expression, never missing."""
    if dtype.is_numeric() and condition.level is None:
        value = _number(value)
    if condition.missing:
        return value.is_null()
    if condition.level is not None:
        met = _text(value, dtype) == condition.level
    else:
        met = nw.lit(True)
        if condition.above is not None:
            met = met & (value > condition.above)
        if condition.most is not None:
            met = met & (value <= condition.most)
    return nw.when(met).then(nw.lit(True)).otherwise(nw.lit(False))
