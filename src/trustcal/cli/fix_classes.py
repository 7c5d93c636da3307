"""trustcal fix --classes: remedies for K classes, learned, saved and applied to files."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from trustcal.cli.options import print_notes, progress_bar


def learn_classes(options: argparse.Namespace) -> int:
    """Compare remedies for K classes on held-out rows, recommend one, and save it if asked to."""
    from trustcal.checking import checked_seed
    from trustcal.checking.files import checked_output
    from trustcal.reading import class_reading, outcome_problem
    from trustcal.reading.files import found_files
    from trustcal.remedies import choose
    from trustcal.report.terminal.classes import class_choice_page
    from trustcal.report.terminal.console import SafeConsole, display

    console, seed = SafeConsole(stderr=True), checked_seed(0 if options.seed is None else options.seed)
    if options.save is not None:
        checked_output(options.save, *found_files(options.file), *([] if options.payoff is None else [options.payoff]))
    problem = None if options.payoff is None else outcome_problem(options.payoff)
    with console.status("Comparing …"):  # shown in terminals only
        found = class_reading(
            options.file, options.classes, options.outcome, options.weight, drop_invalid=options.drop_invalid
        )
        choice = choose(found.predictor, payoff=problem, method=options.method or "auto", rng=seed)
    print_notes(console, found.provenance)
    saved = options.save is not None and choice.fitted.method != "none"
    if saved:
        choice.fitted.save(options.save)
    if options.json:
        print(choice.to_json())
    else:
        display(partial(class_choice_page, choice, options.save if saved else None), width=88)
    return 0


def apply_to_classes(options: argparse.Namespace, file: str, target: Path) -> int:
    """Copy a file with one new column of probabilities per class."""
    from trustcal.remedies import ClassRemedy, load
    from trustcal.report.terminal.classes import class_fix_page
    from trustcal.report.terminal.console import SafeConsole, display
    from trustcal.rewriting import fix_classes_file

    remedy = load(options.remedy)
    if not isinstance(remedy, ClassRemedy):
        raise ValueError(f"{options.remedy} holds a remedy for two outcomes: use -p COLUMN instead of --classes.")
    with progress_bar(SafeConsole(stderr=True)) as bar:
        task = bar.add_task("fix", total=None)
        fix = fix_classes_file(
            file,
            target,
            classes=options.classes,
            remedy=remedy,
            outcome=options.outcome,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    display(partial(class_fix_page, fix), width=100)
    return 0
