"""The shape of the package: imports point one way, the public names are true, nothing global, no forbidden rooms."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections import Counter
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import trustcal

PACKAGE = Path(trustcal.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

ROOMS = [
    "kernels",
    "checking",
    "formats",
    "writing",
    "states",
    "cells",
    "laws",
    "clusters",
    "rows",
    "tally",
    "predictor",
    "class_predictor",
    "decisions",
    "measures",
    "noise",
    "smoothing",
    "guarantees",
    "inference",
    "classes",
    "paper",
    "forecasters",
    "reading",
    "evaluations",
    "monitoring",
    "curves",
    "diagrams",
    "plots",
    "report",
    "remedies",
    "segmenting",
    "rewriting",
    "estimators",
    "auditing",
    "comparing",
    "testing",
    "mlflow_evaluator",
    "cli",
]
"""In this order: a room imports only from rooms before it, and from itself."""

FORBIDDEN = {
    "utils", "helpers", "common", "base", "types", "constants", "config", "exceptions", "validation", "backend",
    "registry", "manager",
}  # fmt: skip


def room(module: Path) -> str:
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(module: Path) -> set[str]:
    """The rooms a module imports when it runs: imports for type checkers only do not count."""
    tree = ast.parse(module.read_text())
    typing_only = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    names = []
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            names.append(node.module or "")
    return {name.split(".")[1] for name in names if name.startswith("trustcal.")}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_imports_point_one_way(module: Path) -> None:
    if room(module) in ("__init__", "__main__", "examples"):
        return
    assert room(module) in ROOMS, f"{module} is in no room: give it a place in ROOMS"
    allowed = set(ROOMS[: ROOMS.index(room(module)) + 1])
    assert imported_rooms(module) <= allowed


def test_no_forbidden_rooms() -> None:
    assert not FORBIDDEN & {path.stem for path in PACKAGE.rglob("*")}


def test_public_names_are_true() -> None:
    for name in trustcal.__all__:
        assert getattr(trustcal, name).__name__.removeprefix("trustcal.") == name
    assert sorted(trustcal.__all__) == trustcal.__all__ == dir(trustcal)
    with pytest.raises(AttributeError, match="nothing"):
        _ = getattr(trustcal, "nothing")  # noqa: B009 - the type checker knows it better


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_nothing_global(module: Path) -> None:
    calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Call)]
    for call in calls:
        streams = call in ("np.random.default_rng", "np.random.SeedSequence") and room(module) == "checking"
        assert not call.startswith("np.random.") or streams, f"{module}: {call}. Use checking.generator with a role"
        assert call not in ("warnings.simplefilter", "warnings.filterwarnings", "np.seterr"), f"{module}: {call}"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_a_module_is_one_idea(module: Path) -> None:
    assert len(module.read_text().splitlines()) <= 330


VALIDATING = {"checking", "rows", "tally", "reading", "rewriting"}
"""Arguments are validated in the first of these rooms, rows of data in the others."""


def defined(kind: type[ast.AST]) -> list[tuple[str, Path]]:
    """The names of all classes or functions, at any depth, with their modules."""
    return [
        (node.name, module)
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, kind) and isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]


def test_no_merge_is_left_unfinished() -> None:
    marks = ("<" * 7 + " ", "=" * 7 + "\n", ">" * 7 + " ")
    folders = (PACKAGE, PACKAGE.parents[1] / "tests", PACKAGE.parents[1] / "docs", PACKAGE.parents[1] / "benchmarks")
    files = [*PACKAGE.parents[1].glob("*.md"), *(file for folder in folders for file in folder.rglob("*"))]
    texts = [file for file in files if file.suffix in (".py", ".pyi", ".md", ".html", ".js", ".css", ".yml", ".json")]
    assert len(texts) > 300
    for file in texts:
        for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
            assert not line.startswith(marks), f"{file}: {line}"


def test_no_two_classes_share_a_name() -> None:
    count = Counter(name for name, _ in defined(ast.ClassDef))
    assert not {name for name, times in count.items() if times > 1}


def test_arguments_are_validated_in_one_room() -> None:
    validators = [(name, module) for name, module in defined(ast.FunctionDef) if re.match("_?(checked|refuse)", name)]
    assert not [(name, str(module)) for name, module in validators if room(module) not in VALIDATING]


def public() -> dict[str, Any]:
    """The functions and classes that the package and its rooms export, by qualified name."""
    rooms = [import_module(f"trustcal.{name}") for name in ROOMS]
    things = [getattr(home, name) for home in (trustcal, *rooms) for name in getattr(home, "__all__", ())]
    kept = [thing for thing in things if inspect.isfunction(thing) or inspect.isclass(thing)]
    return {f"{thing.__module__}.{thing.__qualname__}": thing for thing in kept}


@pytest.mark.parametrize("thing", public().values(), ids=public().keys())
def test_public_names_have_numpydoc_sections(thing: Any) -> None:
    """Fields of dataclasses are documented one by one, below the field."""
    text = inspect.getdoc(thing) or ""
    assert text
    if inspect.isfunction(thing):
        signature = inspect.signature(thing)
        assert not signature.parameters or "Parameters\n----------\n" in text
        assert signature.return_annotation in ("None", None) or "Returns\n-------\n" in text
    elif "__init__" in vars(thing) and not is_dataclass(thing):
        assert len(inspect.signature(thing).parameters) == 0 or "Parameters\n----------\n" in text


KINDS = {"noise", "measure", "engine", "recalibrator", "forecaster", "theorem", "picture", "command-line option"}


def test_what_to_touch_is_true() -> None:
    """The newcomer's table in ARCHITECTURE.md: every kind of addition, at most three files, all of which exist."""
    text = (PACKAGE.parents[1] / "ARCHITECTURE.md").read_text().split("## To add something")[1]
    rows = re.findall(r"^\| an? ([^|]+) \| ([^|]+) \|", text, flags=re.MULTILINE)
    assert {kind for kind, _ in rows} == KINDS
    for kind, files in rows:
        named = re.findall(r"`([^`]+)`", files)
        assert 1 <= len(named) <= 3, kind
        for file in named:
            assert (PACKAGE / file).exists() or (PACKAGE.parents[1] / file).exists(), f"{kind}: {file}"


def loaded_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_importing_the_package_and_asking_for_help_loads_nothing_heavy() -> None:
    heavy = {"numpy", "scipy", "numba", "duckdb", "matplotlib", "rich", "pandas", "polars"}
    assert not heavy & loaded_after("import trustcal")
    assert not heavy & loaded_after(
        "import contextlib, trustcal.cli\nwith contextlib.suppress(SystemExit): trustcal.cli.main(['--help'])"
    )


def test_small_work_does_not_load_numba() -> None:
    work = "import trustcal as tc\nq = tc.Predictor([0.2, 0.7], [0.5, 0.5], [0.1, 0.2])\nprint(tc.audit(q))"
    assert "numba" not in loaded_after(work)


def test_what_is_printed_passes_one_place() -> None:
    """A console made elsewhere would print the user's escape sequences as they are."""
    for module in MODULES:
        if module != PACKAGE / "report" / "terminal" / "console.py":
            called = [
                ast.unparse(node.func) for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Call)
            ]
            assert not {"Console", "rich.print", "rich.console.Console"} & set(called), module
