"""The command, or the call, that learns a remedy from the rows of an audit: made to be pasted and run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trustcal.auditing.record import Audit
    from trustcal.reading import Provenance


def learning(audit: Audit, by: bool = False, method: str | None = None) -> str:
    """What learns the remedy, or the one by a method: a command where files were read, otherwise a call in Python.

    Payoffs that were not read from a file have a placeholder in the command: FILE.  In a call, y_true, y_prob, frame,
    groups, cluster and problem stand for what was given to the audit.  Of rows in clusters no map for each group is
    learned.
    """
    facts = audit.provenance
    if facts is None or not facts.files:
        return _call(audit, facts, by, method)
    columns, words = facts.columns, ["trustcal", "fix", *map(_file, facts.files)]
    words += _option("--table", facts.table)
    words += ["-p", columns.prediction, "-y", columns.outcome]
    words += _option("-w", columns.weight)
    words += _option("--by", columns.by[0] if by and columns.by and columns.cluster is None else None)
    words += _option("--cluster", columns.cluster)
    words += _option("--method", method)
    words += _option("--positive", facts.positive)
    words += _option("--resolution", f"{facts.resolution:.17g}" if facts.resolution_asked else None)
    words += ["--drop-invalid"] if facts.dropped.total else []
    words += [] if audit.problem is None else ["--payoff", "FILE" if facts.payoff is None else _file(facts.payoff)]
    return shlex.join([*words, "--save", "remedy.json"])


def _option(flag: str, value: str | None) -> list[str]:
    return [] if value is None else [flag, value]


def _file(name: str) -> str:
    """A file name that cannot be taken for an option."""
    return f"./{name}" if name.startswith("-") and name != "-" else name


def _call(audit: Audit, facts: Provenance | None, by: bool, method: str | None) -> str:
    """The call for arrays and frames."""
    if facts is None:
        given = ["y_true", "y_prob", *(["sample_weight"] if audit.weights_differ else [])]
        given += ["cluster=cluster"] if audit.clusters is not None else ["by=groups"] if by else []
    else:
        columns = facts.columns
        named = {"prediction": columns.prediction, "outcome": columns.outcome, "weight": columns.weight}
        named |= {"by": columns.by[0] if by and columns.by and columns.cluster is None else None}
        named |= {"cluster": columns.cluster, "positive": facts.positive}
        given = ["frame", *(f"{name}={value!r}" for name, value in named.items() if value is not None)]
        given += ["drop_invalid=True"] if facts.dropped.total else []
    given += [] if audit.problem is None else ["payoff=problem"]
    given += [] if method is None else [f"method={method!r}"]
    return f"trustcal.remedies.choose({', '.join(given)})"
