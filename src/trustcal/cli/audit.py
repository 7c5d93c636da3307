"""trustcal audit: measure a file, show the answer, fail if a gate says so."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trustcal.cli.options import add_payoff, add_source, print_notes, source

if TYPE_CHECKING:
    from trustcal.auditing.gates import Gate

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

PAGE_DRAWS = 200
"""Simulations for a page, unless asked otherwise."""

_EXAMPLES = """\
examples:
  trustcal audit scores.parquet -p score -y outcome --html audit.html
  trustcal audit scores.csv -p score -y outcome --by region --payoff payoff.csv
  trustcal audit scores.csv -p score -y outcome --fail-if 'cdl.lower>0.02'
  trustcal audit scores.csv -p score -y outcome --fail-if 'smcal.p<0.001' --draws 1000
"""


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    audit = commands.add_parser(
        "audit",
        help="measure predictions against outcomes: how wrong, who is hurt, is it chance",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_source(audit)
    audit.add_argument("--by", metavar="COLUMN", help="also measure each group")
    add_payoff(audit)
    audit.add_argument("--compare", action="store_true", help="also compare remedies on held-out rows")
    audit.add_argument("--html", metavar="FILE", help="write a self-contained HTML page")
    audit.add_argument("--title", help="title of the page")
    audit.add_argument("--json", action="store_true", help="print every number as JSON")
    audit.add_argument(
        "--draws",
        metavar="N",
        type=int,
        help=f"simulations for p-values and intervals (default 40; with --html {PAGE_DRAWS}; 0: none)",
    )
    audit.add_argument("--seed", metavar="N", type=int, default=0, help="seed of the simulations (default 0)")
    audit.add_argument(
        "--fail-if", metavar="GATE", action="append", default=[], help="exit with status 1 if true, e.g. 'cdl>0.02'"
    )
    audit.set_defaults(run=_audit)


def _audit(options: argparse.Namespace) -> int:
    from rich.console import Console

    from trustcal.auditing import DRAWS, TITLE, Gate, audit
    from trustcal.checking import checked_output, checked_seed
    from trustcal.reading.files import found_files
    from trustcal.report.terminal.audit import show

    if options.html is not None:
        checked_output(options.html, *found_files(options.file), *([options.payoff] if options.payoff else []))
    gates = [Gate.parse(text) for text in options.fail_if]
    draws = options.draws if options.draws is not None else DRAWS if options.html is None else PAGE_DRAWS
    _check_gates(gates, draws, options.payoff)
    console = Console(stderr=True)
    with console.status("Measuring …"):  # shown in terminals only
        result = audit(
            options.file,
            **source(options),
            by=options.by,
            payoff=options.payoff,
            compare=options.compare,
            draws=draws,
            rng=checked_seed(options.seed),
        )
        failures = result.check(*gates)
        if options.html is not None:
            result.to_html(options.html, title=options.title or TITLE)
    print_notes(console, result.provenance)
    if options.json:
        print(result.to_json())
    else:
        show(result)
    for failure in failures:
        console.print(str(failure), style="bold red", highlight=False, markup=False, soft_wrap=True)
    return 1 if failures else 0


def _check_gates(gates: Sequence[Gate], draws: int, payoff: str | None) -> None:
    """Raise an error, before anything is read, for a gate that this command cannot evaluate."""
    for gate in gates:
        if draws < gate.draws:
            raise ValueError(
                f"the gate {gate} cannot fail with {draws} draws: use --draws {max(PAGE_DRAWS, gate.draws)}."
            )
        if gate.name == "regret" and payoff is None:
            raise ValueError(f"the gate {gate} needs your payoffs: use --payoff FILE.")
