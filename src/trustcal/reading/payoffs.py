"""Payoff tables in CSV files to decision problems."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from trustcal.decisions import DecisionProblem, as_problem


def payoff_problem(payoff: DecisionProblem | str | os.PathLike[str] | None) -> DecisionProblem | None:
    """The decision problem that a caller gave: itself, in a file, or none."""
    if isinstance(payoff, str | os.PathLike):
        return read_payoff(Path(payoff))
    return None if payoff is None else as_problem(payoff)


def read_payoff(path: str | Path) -> DecisionProblem:
    """The decision problem in a CSV file with the header action,0,1: an action's name, its payoff if y = 0, if y = 1.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "payoff.csv"
    ...     _ = file.write_text("action,0,1\\nwait,0,0\\ntreat,-1,3\\n")
    ...     read_payoff(file)
    DecisionProblem(wait | 0.25 | treat)

    O(k log k) for k actions.
    """
    file = Path(path)
    rule = "a payoff file is a CSV with the header action,0,1 and a row per action, such as treat,-1,3"
    try:
        with file.open(newline="", encoding="utf-8-sig") as text:
            reader = csv.reader(text)
            lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"{file}: {rule}, but this is no text in UTF-8.") from None
    header, rows = (lines[0][1], lines[1:]) if lines else ([], [])
    if header != ["action", "0", "1"]:
        raise ValueError(f"{file}: {rule}, but its header is {','.join(header)!r}.")
    for number, row in rows:
        if len(row) != 3 or not all(_is_number(cell) for cell in row[1:]):
            raise ValueError(f"{file}: {rule}, but line {number} is {','.join(row)!r}.")
    if not rows:
        raise ValueError(f"{file}: {rule}, but it has no actions.")
    try:
        return DecisionProblem([[float(row[1]), float(row[2])] for _, row in rows], [row[0] for _, row in rows])
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
