"""Which text is a number: one rule, in SQL for files and in Python for streams.

A number is what DuckDB casts to DOUBLE, without underscores: 0_1 is a typing error, and not 1.  Python's float takes
these too, and spaces and digits of other scripts.
"""

from __future__ import annotations

_SPACE = " \t\n\v\f\r"


def number(text: str) -> float | None:
    """The number that a text is; None if it is none.

    >>> number(" 0.5 "), number("1e-3"), number("0_1"), number("1,5"), number("٠.٥"), number("")
    (0.5, 0.001, None, None, None, None)
    """
    digits = text.strip(_SPACE)
    if not digits.isascii() or "_" in digits or digits != digits.strip():
        return None
    try:
        return float(digits)
    except ValueError:
        return None


def number_sql(text: str) -> str:
    """The number that an SQL text is; NULL if it is none.

    The cast is not bare: DuckDB moves a bare one into its reader of CSV files, which fails on text.
    """
    return f"(CASE WHEN contains({text}, '_') THEN NULL ELSE TRY_CAST({text} AS DOUBLE) END + 0)"
