"""The table of the paper's items: it has all of them, and every row names code that exists and tests that exist."""

from __future__ import annotations

import re
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

import trustcal
from trustcal import guarantees, paper

ROOT = Path(__file__).parent.parent
SECTION = (ROOT / "docs" / "explanation" / "theory.md").read_text().split("## 8. ")[1].split("\n## ")[0]
TABLE = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in SECTION.splitlines()
    if line.startswith("| ") and not line.startswith(("| item", "| ---"))
]
PLACES = "\n".join(path.read_text() for path in sorted(Path(__file__).parent.glob("test_*.py")))
STATUSES = ("as stated", "corrected", "sharpened", "ours", "open")
ROWS = {
    "Table 1": "Introduction, the rain table",
    "Lemmas 3.3, A.1": "Lemmas 3.3 and A.1",
    "Theorem 3.5, proof": "Theorem 3.5, its certificate",
    "Section 3, remark": "Section 3, why the benchmark is decision loss",
    "Corollary 4.2, additive noise": "Corollary 4.2",
    "After Lemma 4.3": "after Lemma 4.3",
    "Theorem 4.4, ECE": "Theorem 4.4",
    "Theorem 4.4, CDL": "Theorem B.3",
    "Discussion": "Discussion, Lipschitz bias",
    "Discussion, question": "Discussion, a property that makes post-processing optimal",
    "Introduction, omniprediction": "Introduction, decision loss is omniprediction",
    "Introduction, SmoothECE": "Introduction, SmoothECE is O(√ε)",
    "Introduction, Θ(√ε)": "Introduction, SmoothECE is Θ(√ε)",
    "Introduction, Ω(T^(−1/3))": "Introduction, any post-processing is Ω(T^(−1/3))",
}
"""The rows of claims whose names in `trustcal claims` are others."""
ITEMS = {
    **dict.fromkeys((1, 2, 3, 5, 6, 7, 8, 9, 12, 14, 15, 16), "Definition"),
    4: "Claim",
    **dict.fromkeys((10, 11), "Proposition"),
    **dict.fromkeys((13, 17), "Lemma"),
}
OTHERS = """
Theorem 3.1, Lemma 3.2, Lemma 3.3, Lemma 3.4, Theorem 3.5, Corollary 3.6, Theorem 4.1, Corollary 4.2, Lemma 4.3,
Theorem 4.4, Corollary 4.5, Lemma A.1, Lemma A.2, Lemma A.3, Lemma A.4, Theorem B.1, Lemma B.2, Theorem B.3
"""
PAPER = [f"{kind} 2.{number}" for number, kind in ITEMS.items()] + [item.strip() for item in OTHERS.split(",")]
LABELS = [
    "def: differential privacy",
    "claim: proper score equal payoff",
    "def: omniprediction",
    "prop: swap regret equals cfdl",
    "prop: no swap regret equals calibration",
    "lem: cdl bounded by ece",
    "def: distance between predictors",
    "def: dtc",
    "thm: batch main",
    "lem:R",
    "lem: DP",
    "lem: choice of noise",
    "prop: decision loss tight",
    "corollary: batch ece cdl bound",
    "thm: online main",
    "lem: noise online ece",
    "thm: online lower bound",
    "lem: dtv",
    "lem:exp dtv dp",
    "lem:general bound for dtv",
    "appdx: improved for gaussian",
    "thm: online lower bound ece",
    "ECE lower bound q1",
    "thm: online lower bound cdl",
]
"""The labels of the paper's definitions, claims, propositions, lemmas, theorems and corollaries, in its order."""


def test_every_correction_names_tests_that_exist() -> None:
    section = (ROOT / "docs" / "explanation" / "theory.md").read_text().split("## 23. ")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    assert len(rows) >= 22
    for row in rows:
        names = re.findall(r"`(test_\w+)`", row[3])
        assert names, row
        for name in names:
            assert f"def {name}(" in PLACES, name


def test_every_theorem_is_in_the_index_under_its_section() -> None:
    text = (ROOT / "docs" / "explanation" / "theory.md").read_text()
    index = {
        number: int(section)
        for theorems, section in re.findall(r"\| ([\d, to]+) \| \[(\d+)\]\(#", text)
        for part in theorems.split(", ")
        for number in range(int(part.split(" to ")[0]), int(part.split(" to ")[-1]) + 1)
    }
    sections = re.split(r"\n## (\d+)\. ", text)
    stated = {
        int(number): int(section)
        for section, body in zip(sections[1::2], sections[2::2], strict=True)
        for number in re.findall(r"\n\*\*Theorem (\d+)", body)
    }
    assert index == stated
    for number in stated:
        assert any(number in _numbers(row[4]) for row in TABLE), number


def _numbers(status: str) -> set[int]:
    """The theorems that a status names, such as Theorems 5 to 11, or Theorems 42 and 43."""
    found = set()
    for first, last in re.findall(r"(?:Theorems? |, |and )(\d+)(?: to (\d+))?", status):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def resolved(name: str) -> object:
    """What a dotted name means in the package: its first part is a public name or a room."""
    first, *rest = name.split(".")
    start = getattr(trustcal, first) if first in trustcal.__all__ else import_module(f"trustcal.{first}")
    return reduce(getattr, rest, start)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0])
def test_a_row_names_code_and_tests(row: list[str]) -> None:
    _, _, code, tests, status = row
    names, proofs = re.findall(r"`([\w.]+)`", code), re.findall(r"`(\w+)`", tests)
    assert names
    for name in names:
        assert callable(resolved(name)), name
    assert proofs
    for name in proofs:
        assert f"def {name}(" in PLACES, name
    assert status.startswith(STATUSES)


@pytest.mark.parametrize("item", PAPER)
def test_every_item_of_the_paper_has_a_row(item: str) -> None:
    kind, number = item.split()
    exact = re.compile(rf"{kind}s? (\S+ and )?{re.escape(number)}\b")
    assert any(exact.match(row[0]) for row in TABLE)


@pytest.mark.parametrize("label", LABELS)
def test_every_label_of_the_paper_has_a_row(label: str) -> None:
    assert any(f"`{label}`" in row[1] for row in TABLE)


@pytest.mark.slow
def test_the_statuses_are_those_of_the_command() -> None:
    for claim in paper.claims(0):
        name = ROWS.get(claim.item, claim.item)
        found = [row[4] for row in TABLE if row[0] == name] or [
            row[4] for row in TABLE if row[0].startswith(f"{name},")
        ]
        assert found, claim.item
        for status in found:
            assert status.startswith(claim.status), claim.item
            left_out = "incomplete" in status or "does not follow" in status
            assert left_out == (claim.flaw == "incomplete"), claim.item


def test_no_other_labels_are_named() -> None:
    assert {label for row in TABLE for label in re.findall(r"`([^`]+)`", row[1])} == set(LABELS)


def test_every_guarantee_and_every_instance_is_in_the_table() -> None:
    for room, others in ((guarantees, set()), (paper, {"claims", "hard_cases"})):
        prefix = room.__name__.removeprefix("trustcal.")
        named = {name for row in TABLE for name in re.findall(rf"`{prefix}\.(\w+)`", row[2])}
        assert named == {name for name in room.__all__ if name[0].islower()} - others
