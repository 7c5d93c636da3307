"""Every row of the table of guarantees names code that imports and a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trustcal import guarantees

ROOT = Path(__file__).parent.parent
TABLE = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in (ROOT / "docs" / "theory.md").read_text().splitlines()
    if line.startswith("|") and "`guarantees." in line
]
PLACES = "\n".join(path.read_text() for path in sorted(Path(__file__).parent.glob("test_*.py")))
STATUSES = ("as stated", "corrected", "sharpened", "definition completed", "ours")


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0])
def test_a_row_names_code_and_a_test(row: list[str]) -> None:
    _, _, code, test, status = row
    for name in re.findall(r"`guarantees\.(\w+)`", code):
        assert name in guarantees.__all__
    for name in re.findall(r"`(\w+)`", test):
        assert f"def {name}(" in PLACES
    assert status.startswith(STATUSES)


def test_every_function_is_in_the_table() -> None:
    named = {name for row in TABLE for name in re.findall(r"`guarantees\.(\w+)`", row[2])}
    assert named == {name for name in guarantees.__all__ if name[0].islower()}
