"""Which columns hold the prediction and the outcome, by their exact names."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from trustcal.formats import listed

PREDICTIONS = ("prediction", "predicted", "probability", "prob", "score", "y_prob", "p")
"""Column names from which the prediction is inferred; capitals matter."""
OUTCOMES = ("outcome", "label", "target", "y_true", "y")
"""Column names from which the outcome is inferred; capitals matter."""


@final
@dataclass(frozen=True)
class Columns:
    """The columns that are read, and the roles that were inferred from their names."""

    prediction: str
    outcome: str
    weight: str | None = None
    by: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()
    cluster: str | None = None

    @property
    def roles(self) -> tuple[tuple[str, str], ...]:
        """Each role with its column."""
        weight = () if self.weight is None else (("weight", self.weight),)
        groups = tuple(("group", name) for name in self.by)
        cluster = () if self.cluster is None else (("cluster", self.cluster),)
        return ("prediction", self.prediction), ("outcome", self.outcome), *weight, *groups, *cluster

    @property
    def names(self) -> tuple[str, ...]:
        """All of them: prediction, outcome, the weight if there is one, what groups are made by, and the cluster."""
        return tuple(name for _, name in self.roles)


def chosen_columns(
    names: Sequence[str],
    title: str,
    folders: Sequence[str] = (),
    *,
    prediction: str | None = None,
    outcome: str | None = None,
    weight: str | None = None,
    by: tuple[str, ...] = (),
    cluster: str | None = None,
) -> Columns:
    """The columns asked for, or those with obvious names; weights and groups, and keys of folders, are never inferred.

    >>> chosen_columns(["id", "prob", "y"], "a.csv")
    Columns(prediction='prob', outcome='y', weight=None, by=(), inferred=('prediction', 'outcome'), cluster=None)
    """
    inferred = tuple(role for role, name in (("prediction", prediction), ("outcome", outcome)) if name is None)
    if prediction is None:
        prediction = _obvious("prediction", PREDICTIONS, names, title)
    if outcome is None:
        outcome = _obvious("outcome", OUTCOMES, names, title)
    columns = Columns(prediction, outcome, weight, by, inferred, cluster)
    for name in columns.names:
        place_of(name, [*names, *folders], title)
    if prediction == outcome:
        raise ValueError(f"prediction and outcome must be different columns, but both are {prediction!r}.")
    if len(set(by)) < len(by):
        raise ValueError(f"by must name each column once, but is {list(by)}.")
    refuse_outcome_groups(by, outcome)
    if cluster in (prediction, outcome):
        role = "prediction" if cluster == prediction else "outcome"
        raise ValueError(
            f"cluster must name another column than the {role}, but {cluster!r} is the {role}. Name the column that "
            "tells which rows belong together, such as the event that they forecast."
        )
    return columns


def refuse_outcome_groups(by: Sequence[str], outcome: str) -> None:
    """Refuse groups made by the outcome: each would have one outcome only, and any predictions would look wrong."""
    if outcome in by:
        raise ValueError(
            f"by must name other columns than the outcome, but {outcome!r} is the outcome: each group would have one "
            "outcome only. Group by what is known when the prediction is made."
        )


def place_of(name: str, names: Sequence[str], title: str) -> int:
    """The place of a name among the columns, capitals included; the error suggests a similar name."""
    found = [index for index, other in enumerate(names) if other == name]
    if len(found) > 1:
        raise ValueError(f"{title} has {len(found)} columns called {name!r}: rename all but one.")
    if not found:
        spaced = [other for other in names if str(other).strip() == str(name).strip()]
        if spaced:
            raise ValueError(
                f"{title} has no column {name!r}, but one with other spaces, {spaced[0]!r}: remove them from the first "
                "line of the file, or name it with them."
            )
        lower = {str(other).lower(): str(other) for other in names}
        close = difflib.get_close_matches(str(name).lower(), list(lower), n=1)
        hint = f" Did you mean {lower[close[0]]!r}?" if close else ""
        raise ValueError(f"{title} has no column {name!r}.{hint} Its columns are: {', '.join(map(str, names))}.")
    return found[0]


def _obvious(role: str, known: Sequence[str], names: Sequence[str], title: str) -> str:
    found = [name for name in names if name in known]
    if len(found) != 1:
        what = f"{' and '.join(map(repr, found))} could both be it" if found else f"none is called {listed(known)}"
        spaced = [name for name in names if name.strip() in known]
        if not found and spaced:
            what = f"{spaced[0]!r} has spaces around its name; remove them from the first line of the file"
        raise ValueError(
            f"{title}: say which column is the {role}, by {role}='…' (--{role}): {what}. "
            f"The columns are: {', '.join(map(str, names))}."
        )
    return found[0]
