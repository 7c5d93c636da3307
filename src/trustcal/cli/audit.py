"""trustcal audit: measure a file, show the answer, fail if a gate says so."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trustcal.cli.classes import audit_classes
from trustcal.cli.options import Commands, add_payoff, add_source, print_notes, source

if TYPE_CHECKING:
    from trustcal.auditing.gates import Gate

PAGE_DRAWS = 200
"""Simulations for a page, unless asked otherwise."""

_EXAMPLES = """\
examples:
  trustcal audit scores.parquet -p score -y outcome --html audit.html
  trustcal audit scores.csv -p score -y outcome --by region --payoff payoff.csv
  trustcal audit scores.csv -p score -y outcome --segments age,region,device
  trustcal audit scores.csv -p score -y outcome --fail-if 'loss.lower>0.02'
  trustcal audit scores.csv --classes 'p_*' -y label --payoff payoff.csv --by region --fail-if 'loss.lower>0.02'
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
    audit.add_argument("--classes", metavar="COLUMNS", help="columns of probabilities, one per class: a,b,c or p_*")
    audit.add_argument("--by", metavar="COLUMN", help="also measure each group")
    audit.add_argument(
        "--segments", metavar="COLUMNS", type=_columns, help="also find who is hurt, e.g. by age,region,device; or all"
    )
    audit.add_argument("--cluster", metavar="COLUMN", help="rows that belong together, e.g. forecasts of one event")
    audit.add_argument("--table", metavar="NAME", help="the table of a database, or the sheet of an Excel file")
    add_payoff(audit)
    audit.add_argument("--compare", action="store_true", help="also compare remedies on held-out rows")
    audit.add_argument("--cells", metavar="N", type=int, help="also take ECE and CDL on this many bins of rare values")
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
        "--fail-if", metavar="GATE", action="append", default=[], help="exit with status 1 if true, e.g. 'loss>0.02'"
    )
    audit.set_defaults(run=_audit)


def _columns(text: str) -> list[str]:
    """Names separated by commas; a name with a comma is quoted."""
    return next(csv.reader([text]), [])


def _audit(options: argparse.Namespace) -> int:
    from trustcal.auditing import DRAWS, TITLE, Gate, audit
    from trustcal.checking import checked_seed
    from trustcal.checking.files import checked_output
    from trustcal.formats import on_one_line
    from trustcal.reading.files import found_files
    from trustcal.report.terminal.audit import show
    from trustcal.report.terminal.console import SafeConsole

    if options.html is not None:
        checked_output(options.html, *found_files(options.file), *([options.payoff] if options.payoff else []))
    draws = options.draws if options.draws is not None else DRAWS if options.html is None else PAGE_DRAWS
    gates = [Gate.parse(text) for text in options.fail_if]
    _check_gates(gates, draws, options.payoff, options.by, options.classes)
    if options.classes is not None:
        return audit_classes(options, draws, gates)
    console = SafeConsole(stderr=True)
    with console.status("Measuring …"):  # shown in terminals only
        result = audit(
            options.file,
            **source(options),
            by=options.by,
            segments=options.segments,
            cluster=options.cluster,
            table=options.table,
            payoff=options.payoff,
            compare=options.compare,
            cells=options.cells,
            draws=draws,
            rng=checked_seed(options.seed),
        )
        failures = result.check(*gates)
        if options.html is not None:
            result.to_html(options.html, title=options.title or TITLE)
    print_notes(console, result.provenance, said=result.verdict.caveats)
    options.closed = 1 if failures else 0  # also if nobody reads to the end
    if options.json:
        print(result.to_json())
    else:
        show(result)
    if options.html is not None:
        console.print(f"The page is in {options.html}: open it in a browser.", soft_wrap=True)
    for failure in failures:
        console.print(on_one_line(str(failure)), style="bold red", highlight=False, markup=False, soft_wrap=True)
    return 1 if failures else 0


def _check_gates(gates: Sequence[Gate], draws: int, payoff: str | None, by: str | None, classes: str | None) -> None:
    """Raise an error, before anything is read, for a gate that this command cannot evaluate."""
    for gate in gates:
        if draws < gate.draws:
            raise ValueError(
                f"the gate {gate} cannot fail with {draws} draws: use --draws {max(PAGE_DRAWS, gate.draws)}."
            )
        if gate.name == "regret" and payoff is None:
            raise ValueError(f"the gate {gate} needs your payoffs: use --payoff FILE.")
        if gate.top and classes is None:
            raise ValueError(f"the gate {gate} needs a top label: use --classes COLUMNS.")
        if gate.each and by is None:
            raise ValueError(f"the gate {gate} needs groups: use --by COLUMN.")
