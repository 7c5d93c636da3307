"""Payoff tables in CSV files to decision problems."""

from __future__ import annotations

import os
from pathlib import Path

from trustcal.decisions import DecisionProblem, as_problem
from trustcal.reading.duckdb import connected
from trustcal.reading.files import open_delimited, refusals

_RULE = "a payoff file is a CSV with the header action,0,1 and a row per action, such as treat,-1,3"


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
    file = Path(path)
    with connected() as connection, refusals(str(file)):
        table = open_delimited((file,))
        header = [name.strip() for name in table.names]
        if header != ["action", "0", "1"]:
            raise ValueError(f"{file}: {_RULE}, but its header is {','.join(header)!r}.")
        found = connection.execute(f"FROM {table.sql}").fetchall()
    rows = [[(cell or "").strip() for cell in row] for row in found]
    for number, row in enumerate(rows):
        if not all(map(_is_number, row[1:])):
            raise ValueError(f"{file}: {_RULE}, but row {number} (from 0) is {','.join(row)!r}.")
    if not rows:
        raise ValueError(f"{file}: {_RULE}, but it has no actions.")
    try:
        return DecisionProblem([[float(row[1]), float(row[2])] for row in rows], [row[0] for row in rows])
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
