"""trustcal audit --classes: an audit of K classes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trustcal.auditing.gates import Gate

OTHER = ("prediction", "positive", "resolution", "cluster", "cells", "compare", "segments", "table")
"""Options for predictions of two outcomes."""


def audit_classes(options: argparse.Namespace, draws: int, gates: Sequence[Gate]) -> int:
    """Audit a file with a column of probabilities per class."""
    from trustcal.auditing import TITLE, class_audit
    from trustcal.checking import checked_seed
    from trustcal.formats import on_one_line
    from trustcal.report.terminal.classes import show_classes
    from trustcal.report.terminal.console import SafeConsole

    given = [name for name in OTHER if getattr(options, name, None)]
    if given:
        raise ValueError(f"--{given[0].replace('_', '-')} is for two outcomes: it cannot be used with --classes.")
    console = SafeConsole(stderr=True)
    with console.status("Measuring …"):  # shown in terminals only
        result = class_audit(
            options.file,
            classes=options.classes,
            outcome=options.outcome,
            weight=options.weight,
            by=options.by,
            drop_invalid=options.drop_invalid,
            payoff=options.payoff,
            draws=draws,
            rng=checked_seed(options.seed),
        )
        failures = result.check(*gates)
        if options.html is not None:
            result.to_html(options.html, title=options.title or TITLE)
    for sentence in () if result.provenance is None else result.provenance.sentences:
        console.print(sentence, style="dim", soft_wrap=True)
    options.closed = 1 if failures else 0  # also if nobody reads to the end
    if options.json:
        print(result.to_json())
    else:
        show_classes(result)
    if options.html is not None:
        console.print(f"The page is in {options.html}: open it in a browser.", soft_wrap=True)
    for failure in failures:
        console.print(on_one_line(str(failure)), style="bold red", highlight=False, markup=False, soft_wrap=True)
    return 1 if failures else 0
