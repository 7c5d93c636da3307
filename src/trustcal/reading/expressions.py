"""SQL for the rows of a table: prediction, outcome, weight and groups as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from trustcal.reading.columns import place_of
from trustcal.reading.files import Table, quoted
from trustcal.reading.numbers import number_sql
from trustcal.reading.outcomes import FALSE, TRUE, as_label
from trustcal.reading.request import Request

_NUMBERS = {"BOOLEAN", "FLOAT", "DOUBLE", "HUGEINT", "UHUGEINT"} | {
    sign + size for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
}


@final
@dataclass(frozen=True)
class Rows:
    """Queries for the rows of a table, in its order.

    Columns are p (the prediction, a DOUBLE), y (0, 1 or NULL), label (what the outcome column says), w (the weight, or
    1) and g0, g1, … (what groups are made by).
    """

    every: str
    """All rows."""
    sound: str
    """A condition: whether a row of `every` has no fault."""
    plain: str
    """p and y of all rows, to be judged by whoever counts them."""
    valid: str
    """A subquery of the rows without fault and of positive weight."""
    aside: str
    """All other rows: p and the outcome as numbers, NaN where there is none and −∞ for words; what is wrong with the
    prediction (1: missing, 2: text) and with the weight (1), otherwise 0."""
    said: str
    """All rows, with the texts of the table as said_p, said_y and said_w."""


def rows_of(table: Table, request: Request) -> Rows:
    """The queries for a request."""
    columns = request.columns
    p, (raw, _) = quantity(table, columns.prediction), _column(table, columns.prediction)
    w = "1" if columns.weight is None else quantity(table, columns.weight)
    label, y = _outcome(table, request)
    groups = [f"{group_sql(table, name)} AS g{index}" for index, name in enumerate(columns.by)]
    said = {"p": columns.prediction, "y": columns.outcome, "w": columns.weight}
    texts = [
        f"{'NULL' if name is None else f'CAST({_column(table, name)[0]} AS VARCHAR)'} AS said_{letter}"
        for letter, name in said.items()
    ]

    def query(*more: str) -> str:
        inner = f"SELECT {', '.join([f'{p} AS p, {label} AS label, {w} AS w', *more])} FROM {table.sql}"
        return f"SELECT *, {y} AS y FROM ({inner})"

    # isfinite first: DuckDB decides comparisons by the statistics of Parquet files, and these leave NaN out.
    sound = "isfinite(p) AND p >= 0 AND p <= 1 AND y IS NOT NULL"
    weightless = "false"
    if columns.weight is not None:
        sound, weightless = f"{sound} AND isfinite(w) AND w >= 0", "w = 0"
    numeric = "y" if request.positive is not None else "label"
    if _column(table, columns.outcome)[1] == "VARCHAR" and request.positive is None:
        numeric = (
            "CASE WHEN label IS NOT NULL THEN coalesce(y, " + number_sql("label") + ", CAST('-inf' AS DOUBLE)) END"
        )
    lack = "CASE WHEN none THEN 1 WHEN p IS NULL THEN 2 ELSE 0 END"
    light = "0" if columns.weight is None else "CASE WHEN isfinite(w) AND w >= 0 THEN 0 ELSE 1 END"
    numbers = [f"coalesce(CAST({value} AS DOUBLE), CAST('NaN' AS DOUBLE))" for value in ("p", numeric)]
    flags = [f"CAST({flag} AS UTINYINT)" for flag in (lack, light)]
    chosen = f"({sound}) IS NOT TRUE OR {weightless}"
    return Rows(
        query(*groups),
        sound,
        _plain(table, request) or f"SELECT p, y FROM ({query()})",
        f"(SELECT * FROM ({query(*groups)}) WHERE {sound} AND NOT ({weightless}))",
        f"SELECT {', '.join(numbers + flags)} FROM ({query(f'{raw} IS NULL AS none')}) WHERE {chosen}",
        query(*texts),
    )


def _plain(table: Table, request: Request) -> str:
    """A faster query for p and y where outcomes are whole numbers or truth values."""
    y, type_ = _column(table, request.columns.outcome)
    if request.positive is not None or type_ not in _NUMBERS - {"FLOAT", "DOUBLE"}:
        return ""
    return f"SELECT {quantity(table, request.columns.prediction)} AS p, TRY_CAST({y} AS UTINYINT) AS y FROM {table.sql}"


def group_sql(table: Table, name: str) -> str:
    """A column by which rows are grouped; NaN is missing here, and -0.0 is 0.0."""
    raw, type_ = _column(table, name)
    if type_ in ("FLOAT", "DOUBLE"):
        return f"CASE WHEN {_nan(raw)} THEN NULL ELSE {raw} + 0 END"
    if type_.endswith("WITH TIME ZONE"):
        return f"CAST({raw} AS VARCHAR)"  # DuckDB needs another package to convert it to Python's
    if type_.endswith("]") or type_.startswith(("STRUCT", "MAP", "UNION")):
        raise ValueError(f"{table.title}: groups are made by simple values, but column {name!r} holds {type_}.")
    return raw


def group_type(table: Table, name: str) -> str:
    """The type of `group_sql`."""
    _, type_ = _column(table, name)
    return "VARCHAR" if type_.endswith("WITH TIME ZONE") else type_


def quantity(table: Table, name: str) -> str:
    """A prediction or a weight as DOUBLE: a number, and not a truth value."""
    if _column(table, name)[1] == "BOOLEAN":
        raise ValueError(
            f"{table.title}: column {name!r} must hold numbers, but holds truth values. Name another column."
        )
    return _number(table, name)


def _number(table: Table, name: str) -> str:
    """A column as DOUBLE: text that is not a number becomes NULL; decimals go by their digits, rounded once."""
    raw, type_ = _column(table, name)
    if type_ == "VARCHAR":
        return number_sql(raw)
    if type_.startswith("DECIMAL"):
        return f"CAST(CAST({raw} AS VARCHAR) AS DOUBLE)"
    if type_ not in _NUMBERS:
        raise ValueError(f"{table.title}: column {name!r} must hold numbers, but holds {type_}. Name another column.")
    return f"CAST({raw} AS DOUBLE)"


def _outcome(table: Table, request: Request) -> tuple[str, str]:
    """The outcome column as text or number, called label, and the outcome as a function of that."""
    name = request.columns.outcome
    raw, type_ = _column(table, name)
    textual = type_ == "VARCHAR"
    label = raw if textual else _number(table, name)
    if request.positive is not None:
        positive = as_label(request.positive, textual, name)
        one = quoted(positive) if isinstance(positive, str) else f"CAST({positive!r} AS DOUBLE)"
        missing = "label IS NULL" if textual else f"label IS NULL OR {_nan('label')}"
        return label, f"CASE WHEN {missing} THEN NULL WHEN label = {one} THEN 1 ELSE 0 END"
    if not textual:
        return label, "CASE label WHEN 1 THEN 1 WHEN 0 THEN 0 END"
    word, number = "lower(trim(label))", number_sql("label")
    lists = [", ".join(map(quoted, words)) for words in (TRUE, FALSE)]
    one, zero = (f"{word} IN ({words}) OR {number} = {value}" for value, words in zip((1, 0), lists, strict=True))
    return label, f"CASE WHEN {one} THEN 1 WHEN {zero} THEN 0 END"


def _nan(number: str) -> str:
    """Whether a number is NaN.  DuckDB takes isnan from the statistics of Parquet files, and these leave NaN out."""
    return f"NOT (isfinite({number}) OR isinf({number}))"


def _column(table: Table, name: str) -> tuple[str, str]:
    """A column and its type; an ENUM is text."""
    place = place_of(name, table.names, table.title)
    raw, type_ = table.expressions[place], table.types[place]
    return (f"CAST({raw} AS VARCHAR)", "VARCHAR") if type_.startswith("ENUM") else (raw, type_)
