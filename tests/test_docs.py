"""The documents: commands run, links lead somewhere, pages are in the navigation, there is one address."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest

import trustcal
from trustcal.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
SHELL = re.compile(r"```shell\n(.*?)```", re.DOTALL)
LINK = re.compile(r"(?<!`)\[[^\]\n]+\]\(([^)\s]+)\)")
MADE = "reference/command-line"
"""A page that the site makes."""
OTHERS = {"cd", "eval", "git", "make", "pip", "python", "docker", "promtool", "open"}
"""Commands of other programs, which the tests do not run."""


def commands(page: Path) -> list[list[str]]:
    """The commands in the shell blocks of a page."""
    lines = "\n".join(SHELL.findall(page.read_text())).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.strip() and not line.startswith("#")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages name."""
    rng = np.random.default_rng(0)
    p = rng.random(400).round(4)
    y, weight, region = rng.random(400) < p, rng.integers(1, 4, 400), rng.choice(["north", "south"], 400)
    rows = [f"{i},{q},{int(o)},{w},{r}" for i, (q, o, w, r) in enumerate(zip(p, y, weight, region, strict=True))]
    (tmp_path / "predictions.csv").write_text("\n".join(["patient,prediction,outcome,weight,region", *rows]) + "\n")
    (tmp_path / "payoff.csv").write_text("action,0,1\nwait,0,0\ntreat,-100,300\n")
    (tmp_path / "served.csv").write_text("\n".join(["score,outcome", *(",".join(r.split(",")[1:3]) for r in rows)]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_the_commands_of_a_page_run(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands(page):
        if command[0] == "trustcal":
            assert main(command[1:]) == 0, (command, capsys.readouterr())
        else:
            assert command[0] in OTHERS, f"{page.name}: {command}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_to_files(page: Path) -> None:
    for link in LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)):
        target = link.split("#")[0]
        if re.match(r"\w+:", link) or not target:
            continue
        if MADE not in target and "/api/" not in target:
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {link}"


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        assert f"{page.relative_to(ROOT / 'docs')}\n" in navigation, page


def test_a_document_that_the_code_names_exists() -> None:
    names = {page.name for page in PAGES}
    for file in [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        for path in re.findall(r"(?<![\w/{}*.])(?:[\w-]+/)*[A-Za-z-]+\.md\b", file.read_text()):
            assert (ROOT / path).exists() if "/" in path else path in names, f"{file}: {path}"


def test_there_is_one_version() -> None:
    cited = re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    released = re.findall(r"^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited == [trustcal.__version__] == released[:1]


def test_the_address_of_the_repository_is_the_same_everywhere() -> None:
    url = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
    for name in ("README.md", "CITATION.cff"):
        assert url in (ROOT / name).read_text(), name
