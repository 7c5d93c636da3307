"""trustcal fix: learn a remedy, save it, and apply it to files; or add noise, which needs no outcomes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trustcal.cli.fix_classes import apply_to_classes, learn_classes
from trustcal.cli.options import Commands, add_payoff, add_source, print_notes, progress_bar, source

if TYPE_CHECKING:
    from trustcal.remedies import Remedy

_EXAMPLES = """\
examples:
  trustcal fix labelled.csv -p score -y outcome                             which remedy? (writes nothing)
  trustcal fix labelled.csv -p score -y outcome --save remedy.json          learn it and keep it
  trustcal fix labelled.csv -p score -y outcome --cluster event             rows that share events
  trustcal fix new.parquet -p score --remedy remedy.json -o out.parquet     apply it
  trustcal fix labelled.csv --classes 'p_*' -y label --save remedy.json     more than two outcomes
  trustcal fix new.csv --classes 'p_*' --remedy remedy.json -o out.csv      one new column per class
  trustcal fix new.csv -p score --eps 0.001 -o out.csv                      noise, without outcomes
"""


def add_command(commands: Commands) -> None:
    """Describe the command to the parser."""
    fix = commands.add_parser(
        "fix",
        help="learn a remedy from outcomes, apply it to files, or add noise",
        description="With outcomes, compare recalibrators and noise on held-out rows, recommend one, and save it.\n"
        "With --remedy or --eps, copy a file with a new column of predictions. Other columns keep their\n"
        "values, and rows their order.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_source(fix)
    fix.add_argument("--classes", metavar="COLUMNS", help="columns of probabilities, one per class: a,b,c or p_*")
    learn = fix.add_argument_group("learn from outcomes")
    learn.add_argument("--save", metavar="FILE", help="write the remedy to this JSON file, unless it is to do nothing")
    learn.add_argument("--method", metavar="NAME", help="insist on a method, such as beta")
    learn.add_argument("--by", metavar="COLUMN", help="groups: no method may harm one; each gets a map if that helps")
    learn.add_argument("--cluster", metavar="COLUMN", help="rows that belong together, e.g. forecasts of one event")
    learn.add_argument("--order", metavar="COLUMN", help="time: each row is judged by what came before it")
    learn.add_argument(
        "--keep-back",
        metavar="SHARE",
        type=float,
        help="share of rows to certify the remedy by (default 0.25; 0: learn from all)",
    )
    learn.add_argument("--table", metavar="NAME", help="the table of a database, or the sheet of an Excel file")
    add_payoff(learn)
    learn.add_argument("--json", action="store_true", help="print every number as JSON")
    write = fix.add_argument_group("write a new column")
    write.add_argument("-o", "--output", metavar="OUT", help="file to write")
    write.add_argument("--in-place", action="store_true", help="write over FILE")
    write.add_argument("--remedy", metavar="FILE", help="apply the remedy saved in this file")
    write.add_argument("--id", metavar="COLUMN", dest="row_id", help="row ids: the same row gets the same noise again")
    write.add_argument(
        "--into", metavar="COLUMN", help="name of the new column (default: with _recalibrated or _noised at its end)"
    )
    noise = fix.add_argument_group("noise")
    noise.add_argument("--eps", metavar="auto|VALUE", help="distance to calibration (auto: measured, with outcomes)")
    noise.add_argument(
        "--noise",
        metavar="KIND",
        choices=_NoiseKinds(),
        default="best",
        help="kind of noise, one of %(choices)s (default: best, the one with the smallest guarantee)",
    )
    noise.add_argument(
        "--target",
        choices=("ece", "cdl", "decision_loss"),
        default="cdl",
        help="error whose guarantee is minimised (default: cdl)",
    )
    noise.add_argument(
        "--online", action="store_true", help="use the online algorithm: rows in order, rounded to a grid"
    )
    fix.add_argument("--seed", metavar="N", type=int, help="the same seed gives the same result (noise: a fresh seed)")
    fix.set_defaults(run=_fix)


class _NoiseKinds:
    """The kinds of noise, read when they are needed: listing them loads numpy."""

    def __iter__(self) -> Iterator[str]:
        from trustcal.guarantees import noise_kinds

        return iter(noise_kinds())


def _fix(options: argparse.Namespace) -> int:
    if options.classes is not None and (other := _given(options, _TWO_OUTCOMES)):
        raise ValueError(f"{other[0]} is for two outcomes: it cannot be used with --classes.")
    if options.remedy is not None and options.eps is not None:
        raise ValueError("give --remedy or --eps, but not both.")
    if options.by is not None and options.eps is not None:
        raise ValueError("--by is for learning, or for a remedy that was learned by group: leave it out.")
    if options.remedy is None and options.eps is None:
        if _given(options, _WRITING):
            raise ValueError("to write a column, give --remedy FILE (learn one with -y and --save) or --eps for noise.")
        return _learn(options) if options.classes is None else learn_classes(options)
    if learning := _given(options, _LEARNING):
        raise ValueError(f"{learning[0]} is for learning: leave it out, or leave out --remedy and --eps.")
    if len(options.file) > 1:
        raise ValueError(f"one file is rewritten at a time, but {len(options.file)} are given.")
    file, target = options.file[0], _target(options, options.file[0])
    return _write(options, file, target) if options.classes is None else apply_to_classes(options, file, target)


_TWO_OUTCOMES = {
    "-p": "prediction", "--positive": "positive", "--resolution": "resolution", "--by": "by", "--order": "order",
    "--cluster": "cluster", "--keep-back": "keep_back", "--id": "row_id", "--into": "into", "--eps": "eps",
    "--online": "online",
}  # fmt: skip
_LEARNING = {
    "--save": "save", "--method": "method", "-w": "weight", "--order": "order", "--cluster": "cluster",
    "--payoff": "payoff",
    "--table": "table", "--keep-back": "keep_back", "--positive": "positive", "--resolution": "resolution",
    "--drop-invalid": "drop_invalid", "--json": "json",
}  # fmt: skip
_WRITING = {"-o": "output", "--in-place": "in_place", "--into": "into", "--id": "row_id", "--online": "online"}


def _given(options: argparse.Namespace, names: dict[str, str]) -> list[str]:
    """Which of these options were given."""
    return [flag for flag, name in names.items() if getattr(options, name) not in (None, False)]


def _target(options: argparse.Namespace, file: str) -> Path:
    """The file to write, which is the input only if that was asked for."""
    if options.in_place and options.output is not None:
        raise ValueError("give -o OUT or --in-place, but not both.")
    from trustcal.checking.files import checked_output

    if options.in_place:
        return checked_output(file)
    if options.output is None:
        raise ValueError("give the file to write (-o OUT), or --in-place to write over the input.")
    target = Path(options.output)
    if target.exists() and Path(file).exists() and target.samefile(file):
        raise ValueError(f"{target} is the input: give --in-place to write over it, or another -o.")
    return checked_output(target, *([] if options.remedy is None else [options.remedy]))


def _learn(options: argparse.Namespace) -> int:
    from trustcal.checking import checked_seed
    from trustcal.checking.files import checked_output
    from trustcal.reading import evidence, payoff_problem
    from trustcal.reading.files import found_files
    from trustcal.remedies import chosen, single_rows
    from trustcal.report.terminal.comparison import choice_page
    from trustcal.report.terminal.console import SafeConsole, display

    console, seed = SafeConsole(stderr=True), checked_seed(0 if options.seed is None else options.seed)
    if options.save is not None:
        checked_output(options.save, *found_files(options.file), *([] if options.payoff is None else [options.payoff]))
    problem, keep_back = payoff_problem(options.payoff), 0.25 if options.keep_back is None else options.keep_back
    with console.status("Comparing …"):  # shown in terminals only
        found = evidence(options.file, **source(options), by=options.by, cluster=options.cluster, table=options.table)
        single = single_rows(options.file, found, options.order, positive=options.positive)
        choice = chosen(found, problem, options.method or "auto", keep_back, rng=seed, single=single)
    print_notes(console, found.provenance)
    saved = options.save is not None and choice.fitted.method != "none"
    if saved:
        choice.fitted.save(options.save)
    if options.json:
        print(choice.to_json())
    else:
        display(partial(choice_page, choice, options.save if saved else None), width=88)
    return 0


def _write(options: argparse.Namespace, file: str, target: Path) -> int:
    from trustcal.remedies import ClassRemedy, load
    from trustcal.report.terminal.console import SafeConsole, display
    from trustcal.report.terminal.fix import fix_page
    from trustcal.rewriting import fix_file

    bar = progress_bar(SafeConsole(stderr=True))
    remedy = None if options.remedy is None else load(options.remedy)
    if isinstance(remedy, ClassRemedy):
        held = f"{options.remedy} holds a remedy for {len(remedy.classes):,} classes"
        raise ValueError(f"{held}: name their columns, --classes COLUMNS.")
    with bar:
        task = bar.add_task("fix", total=None)
        fix = fix_file(
            file,
            target,
            prediction=_prediction(options, remedy),
            remedy=remedy,
            outcome=options.outcome,
            eps=None if options.eps is None else _eps(options.eps),
            noise=options.noise,
            target=options.target,
            online=options.online,
            seed=options.seed,
            row_id=options.row_id,
            by=options.by,
            into=options.into,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    display(partial(fix_page, fix), width=100)
    return 0


def _prediction(options: argparse.Namespace, remedy: Remedy | None) -> str:
    """The column of predictions: as given, or that which the remedy was learned from."""
    learned = None if remedy is None or remedy.learned is None else remedy.learned.prediction
    name: str | None = options.prediction or learned
    if name is None:
        raise ValueError("name the column of predictions: -p COLUMN.")
    return name


def _eps(text: str) -> float | None:
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--eps must be auto or a number in (0, 1], not {text!r}.") from None
