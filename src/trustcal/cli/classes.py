"""trustcal audit --classes: an audit of K classes."""

from __future__ import annotations

import argparse

OTHER = ("prediction", "positive", "resolution", "by", "cluster", "cells", "compare", "segments", "table", "fail_if")
"""Options for predictions of two outcomes."""


def audit_classes(options: argparse.Namespace, draws: int) -> int:
    """Audit a file with a column of probabilities per class."""
    from trustcal.auditing import TITLE, class_audit
    from trustcal.checking import checked_seed
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
            drop_invalid=options.drop_invalid,
            payoff=options.payoff,
            draws=draws,
            rng=checked_seed(options.seed),
        )
        if options.html is not None:
            result.to_html(options.html, title=options.title or TITLE)
    for sentence in () if result.provenance is None else result.provenance.sentences:
        console.print(sentence, style="dim", soft_wrap=True)
    if options.json:
        print(result.to_json())
    else:
        show_classes(result)
    return 0
