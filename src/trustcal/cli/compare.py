"""trustcal compare: models side by side."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from trustcal.cli.options import TWO_LABELS, Commands, add_payoff, print_notes

if TYPE_CHECKING:
    from trustcal.comparing import ModelComparison

_EXAMPLES = """\
examples:
  trustcal compare scores.csv -p old_model -p new_model -y outcome
  trustcal compare scores.csv -p old_model -p new_model -y outcome --payoff payoff.csv --plot murphy.svg
  trustcal compare forecasts.csv -p old_model -p new_model -y outcome --cluster event

Remedies for one model are compared by trustcal fix.
"""


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    compare = commands.add_parser(
        "compare",
        help="compare models on the same rows: who is better for whom, is it chance",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    compare.add_argument("file", metavar="FILE", nargs="+", help="a file with a column of predictions for each model")
    compare.add_argument(
        "-p", "--prediction", metavar="COLUMN", action="append", default=[], help="a model; give it twice or more"
    )
    compare.add_argument("-y", "--outcome", metavar="COLUMN", help="outcomes (default: by name)")
    compare.add_argument("-w", "--weight", metavar="COLUMN", help="row weights")
    compare.add_argument("--cluster", metavar="COLUMN", help="rows that belong together, e.g. forecasts of one event")
    compare.add_argument("--positive", metavar="LABEL", help=f"the label that counts as 1, if not {TWO_LABELS}")
    compare.add_argument("--drop-invalid", action="store_true", help="drop rows that are invalid for some model")
    compare.add_argument("--table", metavar="NAME", help="the table of a database, or the sheet of an Excel file")
    add_payoff(compare)
    compare.add_argument("--plot", metavar="FILE", help="draw the Murphy diagram into a PNG, SVG or PDF file")
    compare.add_argument("--json", action="store_true", help="print every number as JSON")
    compare.add_argument("--draws", metavar="N", type=int, default=400, help="how often rows are drawn again (400)")
    compare.add_argument("--seed", metavar="N", type=int, default=0, help="seed of the draws (default 0)")
    compare.set_defaults(run=_compare)


def _compare(options: argparse.Namespace) -> int:
    from trustcal.checking import checked_seed
    from trustcal.checking.files import checked_output
    from trustcal.comparing import compare
    from trustcal.reading.files import found_files
    from trustcal.reading.models import model_rows
    from trustcal.report.terminal.console import SafeConsole
    from trustcal.report.terminal.models import show

    if len(options.prediction) < 2:
        raise ValueError(
            "compare needs the columns of at least two models: -p old_model -p new_model. To compare remedies for one "
            "model, use trustcal fix."
        )
    if options.plot is not None:
        checked_output(options.plot, *found_files(options.file), *([options.payoff] if options.payoff else []))
    console = SafeConsole(stderr=True)
    with console.status("Comparing …"):  # shown in terminals only
        found = model_rows(
            options.file, options.prediction, options.outcome, options.weight, options.positive, options.drop_invalid,
            options.table, options.cluster,
        )  # fmt: skip
        result = compare(
            found.models, found.y_true, found.sample_weight, cluster=found.cluster, payoff=options.payoff,
            draws=options.draws, rng=checked_seed(options.seed),
        )  # fmt: skip
        if options.plot is not None:
            _draw(result, options.plot)
    print_notes(console, found.provenance)
    if found.dropped:
        console.print(f"{found.dropped:,} rows were left out: they are not valid for every model.", soft_wrap=True)
    if options.json:
        print(result.to_json())
    else:
        show(result)
    if options.plot is not None:
        console.print(f"The Murphy diagram is in {options.plot}.", soft_wrap=True)
    return 0


def _draw(result: ModelComparison, path: str) -> None:
    from pathlib import Path

    from matplotlib.figure import Figure

    from trustcal.writing import atomically

    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in ("png", "svg", "pdf"):
        raise ValueError(f"--plot needs a name that ends in .png, .svg or .pdf, not {path}.")
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    result.plot(ax=figure.subplots())
    with atomically(path) as fresh:
        figure.savefig(fresh, format=kind, dpi=150)
