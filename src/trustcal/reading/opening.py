"""Frames of any engine opened through narwhals, what to call them, and what becomes of their engine's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import narwhals as nw

_FORGET_CAPITALS = ("pyspark", "pyspark[connect]", "ibis", "sqlframe", "duckdb")


def opened_frame(source: object) -> nw.LazyFrame[Any]:
    """Any frame that narwhals knows, or a refusal."""
    import narwhals as nw

    pandas = type(source).__module__.startswith("pandas")
    names = [str(name) for name in getattr(source, "columns", ())] if pandas else []
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"the pandas frame has several columns called {', '.join(map(repr, twice))}: rename them.")
    try:
        frame: Any = nw.from_native(_with_plain_categories(source))
    except TypeError:
        raise ValueError(
            "read takes the name of a file, a pattern or a list of these, a frame of pandas, Polars, PySpark, Dask or "
            f"Ibis, a DuckDB relation, or a PyArrow table or dataset, but got a {type(source).__qualname__}."
        ) from None
    lazy: nw.LazyFrame[Any] = frame.lazy()
    if lazy.implementation.value in _FORGET_CAPITALS:
        columns = names_of(lazy)
        if len({name.lower() for name in columns}) < len(columns):
            raise ValueError(f"{titled(lazy)} has columns that differ only in capitals: {', '.join(columns)}. Rename.")
    return lazy


def _with_plain_categories(source: Any) -> Any:
    """The frame with categories that are no texts as what they are: pandas makes '1.0' of 1 beside a missing value."""
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


@contextmanager
def failures(frame: nw.LazyFrame[Any]) -> Iterator[None]:
    """What the engine cannot do becomes one line: engines raise what they like, over a dead cluster for instance."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        lines = [line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()]
        what = ": ".join([type(error).__name__, *lines[:1]])
        remedy = " Is its session still alive, and its master reachable?" if "spark" in titled(frame) else ""
        raise ValueError(f"{titled(frame)} cannot be read: its engine failed with {what}.{remedy}") from error
