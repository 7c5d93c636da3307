"""SQL for the rows of a table: prediction, outcome, weight and groups as numbers, and what is wrong with them."""

from __future__ import annotations

from dataclasses import fields

from trustcal.reading.counting import Request
from trustcal.reading.faults import Faults
from trustcal.reading.files import Table, place, quoted
from trustcal.reading.outcomes import FALSE, TRUE, as_label

KINDS = ("sound", *(fault.name for fault in fields(Faults)))
"""What the number in the column `kind` says of a row."""
_NUMBERS = {"BOOLEAN", "FLOAT", "DOUBLE", "HUGEINT", "UHUGEINT"} | {
    sign + size for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
}


def rows_sql(table: Table, request: Request) -> str:
    """A query with a row for each row of the table, in its order.

    Its columns: p (the prediction, a DOUBLE), y (0, 1 or NULL), label (what the outcome column says), w (the weight, or
    1), kind (an index of KINDS), and g0, g1, … for groups; said_p, said_y and said_w repeat the table as text.
    """
    columns = request.columns
    p = _number(table, columns.prediction)
    w = "1" if columns.weight is None else _number(table, columns.weight)
    label, y = _outcome(table, request)
    said = {"p": columns.prediction, "y": columns.outcome, "w": columns.weight}
    texts = [
        f"{'NULL' if name is None else f'CAST({_raw(table, name)} AS VARCHAR)'} AS said_{letter}"
        for letter, name in said.items()
    ]
    groups = [f"{_group(table, name)} AS g{index}" for index, name in enumerate(columns.by)]
    none = f"{_raw(table, columns.prediction)} IS NULL AS none"
    inner = f"SELECT {', '.join([f'{p} AS p, {label} AS label, {w} AS w', none, *texts, *groups])} FROM {table.sql}"
    tests = {
        "missing": "none",
        "text": "p IS NULL",
        "nan": _nan("p"),
        "below": "p < 0",
        "above": "p > 1",
        "outcome": "y IS NULL",
        "weight": "w IS NULL OR NOT isfinite(w) OR w < 0",
    }
    kinds = " ".join(f"WHEN {test} THEN {KINDS.index(name)}" for name, test in tests.items())
    middle = f"SELECT *, {y} AS y FROM ({inner})"
    return f"SELECT *, CASE {kinds} ELSE 0 END AS kind FROM ({middle})"


def plain_sql(table: Table, request: Request) -> str:
    """A query for p and y alone, whole numbers and truth values as they are: whoever counts them judges them."""
    name = request.columns.outcome
    if request.positive is not None or _type(table, name) not in _NUMBERS - {"FLOAT", "DOUBLE"}:
        return rows_sql(table, request)
    p, y = _number(table, request.columns.prediction), f"TRY_CAST({_raw(table, name)} AS UTINYINT)"
    return f"SELECT {p} AS p, {y} AS y FROM {table.sql}"


def _number(table: Table, name: str) -> str:
    """A column as DOUBLE: text that is no number becomes NULL, decimals go by their digits, rounded once."""
    raw, type_ = _raw(table, name), _type(table, name)
    if type_ == "VARCHAR":
        return f"TRY_CAST({raw} AS DOUBLE)"
    if type_.startswith("DECIMAL"):
        return f"CAST(CAST({raw} AS VARCHAR) AS DOUBLE)"
    if type_ not in _NUMBERS:
        raise ValueError(f"{table.title}: column {name!r} must hold numbers, but holds {type_}. Name another column.")
    return f"CAST({raw} AS DOUBLE)"


def _outcome(table: Table, request: Request) -> tuple[str, str]:
    """The outcome column as text or number, called label, and the outcome as a function of that."""
    name = request.columns.outcome
    textual = _type(table, name) == "VARCHAR"
    label = _raw(table, name) if textual else _number(table, name)
    if request.positive is not None:
        positive = as_label(request.positive, textual, name)
        one = quoted(positive) if isinstance(positive, str) else f"CAST({positive!r} AS DOUBLE)"
        missing = "label IS NULL" if textual else f"label IS NULL OR {_nan('label')}"
        return label, f"CASE WHEN {missing} THEN NULL WHEN label = {one} THEN 1 ELSE 0 END"
    if not textual:
        return label, "CASE label WHEN 1 THEN 1 WHEN 0 THEN 0 END"
    word, number = "lower(trim(label))", "TRY_CAST(label AS DOUBLE)"
    lists = [", ".join(map(quoted, words)) for words in (TRUE, FALSE)]
    one, zero = (f"{word} IN ({words}) OR {number} = {value}" for value, words in zip((1, 0), lists, strict=True))
    return label, f"CASE WHEN {one} THEN 1 WHEN {zero} THEN 0 END"


def _nan(number: str) -> str:
    """Whether a number is NaN.  DuckDB takes isnan from the statistics of Parquet files, and these leave NaN out."""
    return f"NOT (isfinite({number}) OR isinf({number}))"


def _group(table: Table, name: str) -> str:
    """A column by which rows are grouped; NaN is missing here, and -0.0 is 0.0."""
    raw, type_ = _raw(table, name), _type(table, name)
    if type_ in ("FLOAT", "DOUBLE"):
        return f"CASE WHEN {_nan(raw)} THEN NULL ELSE {raw} + 0 END"
    if type_.endswith("WITH TIME ZONE"):
        return f"CAST({raw} AS VARCHAR)"  # DuckDB would need another package to make it Python's
    if type_.endswith("]") or type_.startswith(("STRUCT", "MAP", "UNION")):
        raise ValueError(f"{table.title}: groups are made by simple values, but column {name!r} holds {type_}.")
    return raw


def _raw(table: Table, name: str) -> str:
    expression = table.expressions[place(table, name)]
    return f"CAST({expression} AS VARCHAR)" if _is_enum(table, name) else expression


def _type(table: Table, name: str) -> str:
    return "VARCHAR" if _is_enum(table, name) else table.types[place(table, name)]


def _is_enum(table: Table, name: str) -> bool:
    return table.types[place(table, name)].startswith("ENUM")
