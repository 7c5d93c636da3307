"""Pages of the site that are made from the code: the API, by rooms, and the command line, from its own parser."""

from __future__ import annotations

import argparse
import ast
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from trustcal.cli import _parser

STUB = Path(__file__).parents[2] / "src" / "trustcal" / "__init__.pyi"


def on_config(config: Any) -> Any:
    """Add the generated pages to the navigation."""
    reference = next(part["Reference"] for part in config.nav if "Reference" in part)
    reference.append({"Command line": "reference/command-line.md"})
    reference.append({"API": [{room: f"reference/api/{room}.md"} for room in rooms()]})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Write the pages."""
    for room, names in rooms().items():
        files.append(File.generated(config, f"reference/api/{room}.md", content=api_page(room, names)))
    files.append(File.generated(config, "reference/command-line.md", content=command_line()))
    return files


def rooms() -> dict[str, list[str]]:
    """The public names by the rooms that define them, as `__init__.pyi` lists them."""
    found: dict[str, list[str]] = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module is None:
            for alias in node.names:
                names = import_module(f"trustcal.{alias.name}").__all__
                found.setdefault(alias.name, []).extend(f"trustcal.{alias.name}.{name}" for name in names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            room = node.module.split(".")[0]
            found.setdefault(room, []).extend(f"trustcal.{alias.name}" for alias in node.names)
    return {room: list(dict.fromkeys(found[room])) for room in sorted(found)}


def api_page(room: str, names: list[str]) -> str:
    """One page: what the room is for, then every public name of it."""
    about = re.split(r"\n\s*\n", import_module(f"trustcal.{room}").__doc__ or "")[0]
    return "\n\n".join([f"# {room}", about, *(f"::: {name}" for name in names)])


def command_line() -> str:
    """Every command with its arguments."""
    parser = _parser()
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    helps = {choice.dest: choice.help for choice in commands._choices_actions}
    parts = ["# Command line", parser.description or ""]
    for name, command in commands.choices.items():
        parts += [f"## trustcal {name}", command.description or f"{(helps[name] or '')[:1].upper()}{helps[name][1:]}."]
        rows = [row for row in map(_row, command._actions) if row]
        if rows:
            parts.append("\n".join(["| argument | meaning |", "| --- | --- |", *rows]))
        if command.epilog:
            parts.append("```text\n" + command.epilog.strip() + "\n```")
    parts.append("Input that is not valid ends a command with one line on the standard error and exit status 2.")
    return "\n\n".join(parts)


def _row(action: argparse.Action) -> str:
    if isinstance(action, argparse._HelpAction):
        return ""
    value = action.metavar or ("" if action.nargs == 0 else action.dest.upper())
    names = ", ".join(action.option_strings) or str(value)
    given = f" {value}" if action.option_strings and value else ""
    required = " (required)" * bool(action.option_strings and action.required)
    return f"| `{names}{given}`{required} | {(action.help or '').replace('%%', '%').replace('|', chr(92) + '|')} |"
