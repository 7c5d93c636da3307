"""The commands that measure: audit and demo."""

from __future__ import annotations

import argparse
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_commands(commands: Commands) -> None:
    """Describe the commands to the parser."""
    audit = commands.add_parser("audit", help="measure a file of predictions and outcomes")
    audit.add_argument("file", metavar="FILE", help="CSV, TSV or Parquet, a row per prediction")
    audit.add_argument("-p", "--prediction", metavar="COLUMN", required=True, help="predicted probabilities")
    audit.add_argument("-y", "--outcome", metavar="COLUMN", required=True, help="what happened, 0/1 or true/false")
    audit.add_argument("-w", "--weight", metavar="COLUMN", help="weights of the rows")
    audit.add_argument("--payoff", metavar="FILE", help="your decision problem: a CSV with the header action,0,1")
    audit.add_argument("--json", action="store_true", help="print every number as JSON")
    audit.set_defaults(run=_audit)

    demo = commands.add_parser("demo", help="audit a naive Bayes model of census incomes")
    demo.set_defaults(run=_demo)


def _audit(options: argparse.Namespace) -> int:
    from rich.console import Console

    from trustcal.auditing import audit
    from trustcal.report.terminal import show
    from trustcal.sources import read, read_payoff

    problem = None if options.payoff is None else read_payoff(options.payoff)
    with Console(stderr=True).status(f"Reading {options.file} …") as status:  # shown in terminals only
        q = read(options.file, prediction=options.prediction, outcome=options.outcome, weight=options.weight)
        status.update(f"Measuring {len(q):,} distinct predictions …")
        result = audit(q, problem=problem)
    if options.json:
        print(result.to_json())
    else:
        show(result)
    return 0


def _demo(_: argparse.Namespace) -> int:
    with as_file(files("trustcal") / "examples" / "census_income.csv") as file:
        print("Naive Bayes on who earns more than $50,000 a year: 16,281 people of the 1994 US census.")
        command = ["audit", str(file), "--prediction", "prediction", "--outcome", "outcome"]
        print(f"$ trustcal {' '.join(command)}")
        from trustcal.cli import main

        return main(command)
