"""trustcal demo: an audit of the example that comes with the package."""

from __future__ import annotations

import argparse

from trustcal.cli.options import Commands

PAGE = "trustcal-demo.html"
_STORY = """\
A model predicts who earns over $50,000 a year, for 16,281 people of the 1994
census. Somebody will act on these probabilities. Can they be trusted?
"""


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    demo = commands.add_parser("demo", help="audit an example: a model of census incomes")
    demo.add_argument("--html", metavar="FILE", default=PAGE, help=f"where to write the page (default {PAGE})")
    demo.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> int:
    from importlib.resources import as_file, files

    from trustcal.cli import main

    with as_file(files("trustcal") / "examples" / "census_income.csv") as file:
        print(_STORY)
        print(f"$ trustcal audit census_income.csv -p prediction -y outcome --html {options.html}\n", flush=True)
        return main(["audit", str(file), "-p", "prediction", "-y", "outcome", "--html", options.html])
