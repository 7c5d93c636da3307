"""The commands that measure: audit, compare and demo."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trustcal.auditing.gates import Gate
    from trustcal.decisions import DecisionProblem
    from trustcal.reading import Reading
    from trustcal.remedies import Comparison

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DRAWS, PAGE_DRAWS = 40, 200
"""Random data sets behind intervals, floors and p-values, unless asked otherwise: for a quick look, and for a page."""

TITLE = "How far can these probabilities be trusted?"

_AUDIT_EXAMPLES = """\
examples:
  trustcal audit scores.parquet -p score -y outcome --html audit.html
  trustcal audit scores.csv -p score -y outcome --by region --payoff payoff.csv
  trustcal audit scores.csv -p score -y outcome --fail-if 'cdl.lower>0.02'
  trustcal audit scores.csv -p score -y outcome --fail-if 'smcal.p<0.001' --draws 1000
"""
_COMPARE_EXAMPLES = """\
example:
  trustcal compare scores.csv -p score -y outcome
"""


def add_commands(commands: Commands) -> None:
    """Describe the commands to the parser."""
    audit = commands.add_parser(
        "audit",
        help="measure predictions and outcomes: how wrong, who is hurt, is it chance",
        epilog=_AUDIT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_source(audit)
    audit.add_argument("--by", metavar="COLUMN", help="also measure each group")
    audit.add_argument("--payoff", metavar="FILE", help="your decision problem: a CSV with the header action,0,1")
    audit.add_argument("--compare", action="store_true", help="also compare remedies, on held-out rows")
    audit.add_argument("--html", metavar="FILE", help="write the page: one file that needs nothing else")
    audit.add_argument("--title", default=TITLE, help="the title of the page")
    audit.add_argument("--json", action="store_true", help="print every number as JSON")
    audit.add_argument(
        "--draws",
        metavar="N",
        type=int,
        help=f"random data sets that tell chance ({DRAWS}; for a page {PAGE_DRAWS}; 0: none)",
    )
    audit.add_argument("--seed", metavar="N", type=int, default=0, help="of the random data sets (0)")
    audit.add_argument(
        "--fail-if", metavar="GATE", action="append", default=[], help="exit with 1 if so, e.g. 'cdl>0.02'"
    )
    audit.set_defaults(run=_audit)

    compare = commands.add_parser(
        "compare",
        help="noise, rounding and recalibration side by side, on held-out rows",
        epilog=_COMPARE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_source(compare)
    compare.add_argument("--payoff", metavar="FILE", help="your decision problem: a CSV with the header action,0,1")
    compare.add_argument("--json", action="store_true", help="print every number as JSON")
    compare.add_argument("--seed", metavar="N", type=int, default=0, help="of the folds (0)")
    compare.set_defaults(run=_compare)

    demo = commands.add_parser("demo", help="audit a naive Bayes model of census incomes")
    demo.set_defaults(run=_demo)


def _add_source(command: argparse.ArgumentParser) -> None:
    """The arguments of everything that reads predictions with outcomes."""
    command.add_argument(
        "file", metavar="FILE", nargs="+", help="CSV, TSV, JSON lines or Parquet, a row per prediction; or a pattern"
    )
    command.add_argument("-p", "--prediction", metavar="COLUMN", help="predicted probabilities (where not obvious)")
    command.add_argument("-y", "--outcome", metavar="COLUMN", help="what happened (where not obvious)")
    command.add_argument("-w", "--weight", metavar="COLUMN", help="weights of the rows")
    command.add_argument("--positive", metavar="LABEL", help="the outcome that counts as 1, if not 0/1 or true/false")
    command.add_argument("--resolution", metavar="R", type=float, help="round predictions to multiples; 0: never")
    command.add_argument("--drop-invalid", action="store_true", help="leave out bad rows, and say how many")


def _read(options: argparse.Namespace, **more: Any) -> Reading:
    from trustcal.reading import reading

    return reading(
        options.file,
        prediction=options.prediction,
        outcome=options.outcome,
        weight=options.weight,
        resolution=options.resolution,
        positive=options.positive,
        drop_invalid=options.drop_invalid,
        **more,
    )


def _compared(options: argparse.Namespace, found: Reading, seed: int, problem: DecisionProblem | None) -> Comparison:
    """Remedies on held-out rows: the counts of equal rows will do, rows with weights are needed one by one."""
    from trustcal.reading import weighted_rows
    from trustcal.remedies import compare

    if options.weight is None:
        return compare(found.predictor, rng=seed, problem=problem)
    return compare(*weighted_rows(options.file, found, options.positive), rng=seed, problem=problem)


def _audit(options: argparse.Namespace) -> int:
    from rich.console import Console

    from trustcal.auditing import audit
    from trustcal.auditing.gates import Gate, failures
    from trustcal.reading import read_payoff
    from trustcal.reading.files import found_files
    from trustcal.report.terminal import show
    from trustcal.smoothing.draws import checked_seed
    from trustcal.writing import checked_place

    if options.html is not None:
        checked_place(options.html, *found_files(options.file), *([options.payoff] if options.payoff else []))
    gates = [Gate.parse(text) for text in options.fail_if]
    draws = options.draws if options.draws is not None else DRAWS if options.html is None else PAGE_DRAWS
    _refuse_unanswerable(gates, draws, options.payoff)
    seed = checked_seed(options.seed)
    problem = None if options.payoff is None else read_payoff(options.payoff)
    console = Console(stderr=True)
    with console.status("Reading …") as status:  # shown in terminals only
        found = _read(options)
        groups = None if options.by is None else _read(options, by=options.by).groups
        q = found.predictor
        status.update(f"Measuring {len(q):,} distinct predictions …")
        result = audit(
            q,
            problem=problem,
            groups=groups,
            comparison=_compared(options, found, seed, problem) if options.compare else None,
            draws=draws,
            rng=seed,
            reading=found,
        )
        closed = failures(result, gates)
        if options.html is not None:
            result.to_html(options.html, title=options.title)
    for sentence in found.sentences:
        console.print(sentence, style="dim", highlight=False, markup=False, soft_wrap=True)
    if options.json:
        print(result.to_json())
    else:
        show(result)
    for failure in closed:
        console.print(str(failure), style="bold red", highlight=False, markup=False, soft_wrap=True)
    return 1 if closed else 0


def _refuse_unanswerable(gates: Sequence[Gate], draws: int, payoff: str | None) -> None:
    """A gate that this command can never answer, or never close, is refused before anything is read."""
    for gate in gates:
        if draws < gate.draws:
            raise ValueError(
                f"the gate {gate} cannot close with {draws} draws: ask for more, --draws {max(PAGE_DRAWS, gate.draws)}."
            )
        if gate.name == "regret" and payoff is None:
            raise ValueError(f"the gate {gate} is about your own decisions: give the payoffs, --payoff FILE.")


def _compare(options: argparse.Namespace) -> int:
    from rich.console import Console

    from trustcal.reading import read_payoff
    from trustcal.report.comparison import show
    from trustcal.smoothing.draws import checked_seed

    seed = checked_seed(options.seed)
    problem = None if options.payoff is None else read_payoff(options.payoff)
    console = Console(stderr=True)
    with console.status("Reading …") as status:
        found = _read(options)
        status.update(f"Comparing on {len(found.predictor):,} distinct predictions …")
        comparison = _compared(options, found, seed, problem)
    for sentence in found.sentences:
        console.print(sentence, style="dim", highlight=False, markup=False, soft_wrap=True)
    if options.json:
        print(comparison.to_json())
    else:
        show(comparison)
    return 0


def _demo(_: argparse.Namespace) -> int:
    from importlib.resources import as_file, files

    with as_file(files("trustcal") / "examples" / "census_income.csv") as file:
        print("Naive Bayes on who earns more than $50,000 a year: 16,281 people of the 1994 US census.")
        command = ["audit", str(file), "--prediction", "prediction", "--outcome", "outcome"]
        print(f"$ trustcal {' '.join(command)}")
        from trustcal.cli import main

        return main(command)
