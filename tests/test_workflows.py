"""The workflows: actions are pinned by hash, tokens may do little, and dependencies are audited before a release."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

WORKFLOWS = sorted((Path(__file__).parents[1] / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_actions_are_pinned_and_tokens_may_only_read(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    used = re.findall(r"uses:\s*(\S+)", text)
    assert used
    for action in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), f"{action} is not pinned by hash"
    assert re.search(r"^permissions: \{contents: read\}$", text, re.MULTILINE)


def test_a_release_audits_its_dependencies() -> None:
    text = next(file for file in WORKFLOWS if file.name == "release.yml").read_text(encoding="utf-8")
    assert text.index("make audit-dependencies") < text.index("make package")
    makefile = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
    assert "pip-audit" in makefile
