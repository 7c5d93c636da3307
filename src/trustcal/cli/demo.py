"""trustcal demo: an audit of the example that comes with the package."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    demo = commands.add_parser("demo", help="audit a naive Bayes model of census incomes")
    demo.set_defaults(run=_demo)


def _demo(_: argparse.Namespace) -> int:
    from importlib.resources import as_file, files

    from trustcal.cli import main

    with as_file(files("trustcal") / "examples" / "census_income.csv") as file:
        print("Naive Bayes on who earns more than $50,000 a year: 16,281 people of the 1994 US census.")
        command = ["audit", str(file), "--prediction", "prediction", "--outcome", "outcome"]
        print(f"$ trustcal {' '.join(command)}")
        return main(command)
