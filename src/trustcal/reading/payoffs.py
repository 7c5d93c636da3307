"""Payoff tables in CSV files to decision problems."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from trustcal.checking import refuse_other
from trustcal.checking.files import checked_input
from trustcal.decisions import DecisionProblem, OutcomeProblem, as_problem
from trustcal.reading.duckdb import connected
from trustcal.reading.files import open_delimited, refusals
from trustcal.reading.numbers import number

LARGEST = 1 << 20
"""Bytes of the largest payoff table: tens of thousands of actions."""
_RULE = "a payoff file is a CSV with the header action,0,1 and a row per action, such as treat,-1,3"


_CLASS_RULE = (
    "a payoff file for classes is a CSV with the header action and the names of the classes, and a row per action, "
    "such as keep,1,0,-5"
)


def payoff_problem(payoff: DecisionProblem | str | os.PathLike[str] | None) -> DecisionProblem | None:
    """The decision problem that an argument names.

    Parameters
    ----------
    payoff : DecisionProblem, the path of a file for `read_payoff`, or None

    Returns
    -------
    DecisionProblem or None
    """
    if isinstance(payoff, str | os.PathLike):
        return read_payoff(Path(payoff))
    return None if payoff is None else as_problem(payoff)


def read_payoff(path: str | Path) -> DecisionProblem:
    """Read a decision problem from a CSV file with the header action,0,1.

    Parameters
    ----------
    path : str or Path
        The file; a row has the name of an action, its payoff if y = 0 and its payoff if y = 1.

    Returns
    -------
    DecisionProblem

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "payoff.csv"
    ...     _ = file.write_text("action,0,1\\nwait,0,0\\ntreat,-1,3\\n")
    ...     read_payoff(file)
    DecisionProblem(wait | 0.25 | treat)

    O(k log k) for k actions.
    """
    file = checked_input(path, most=LARGEST)
    _, names, payoff = _table(file, _RULE, lambda header: header == ["action", "0", "1"])
    try:
        return DecisionProblem(payoff, names)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def outcome_problem(payoff: OutcomeProblem | str | os.PathLike[str]) -> OutcomeProblem:
    """The decision problem with K outcomes that an argument names.

    Parameters
    ----------
    payoff : OutcomeProblem, or the path of a CSV file with the header action, then the names of the classes

    Returns
    -------
    OutcomeProblem

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "payoff.csv"
    ...     _ = file.write_text("action,cat,dog,fox\\nkeep,1,1,-5\\nshoo,0,0,2\\n")
    ...     outcome_problem(file)
    OutcomeProblem(2 actions, 3 outcomes)

    O(actions·K).
    """
    if not isinstance(payoff, str | os.PathLike):
        refuse_other("payoff", payoff, OutcomeProblem, "an OutcomeProblem, or a CSV file of one")
        return payoff
    file = checked_input(Path(payoff), most=LARGEST)
    header, names, table = _table(file, _CLASS_RULE, lambda header: header[0] == "action" and len(header) > 2)
    try:
        return OutcomeProblem(table, names, header[1:])
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def _table(file: Path, rule: str, fits: Callable[[list[str]], bool]) -> tuple[list[str], list[str], list[list[float]]]:
    """The header, the names of the actions and their payoffs."""
    with connected() as connection, refusals(str(file)):
        table = open_delimited((file,))
        header = [name.strip() for name in table.names]
        if not fits(header):
            raise ValueError(f"{file}: {rule}, but its header is {','.join(header)!r}.")
        found = connection.execute(f"FROM {table.sql}").fetchall()
    rows = [[(cell or "").strip() for cell in row] for row in found]
    for place, row in enumerate(rows):
        if None in map(number, row[1:]):
            raise ValueError(f"{file}: {rule}, but row {place} (from 0) is {','.join(row)!r}.")
    if not rows:
        raise ValueError(f"{file}: {rule}, but it has no actions.")
    return header, [row[0] for row in rows], [[float(cell) for cell in row[1:]] for row in rows]
