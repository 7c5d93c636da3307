"""ClassAudit: all the numbers on K classes, with a verdict, as text, JSON and a page."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, final

from trustcal.auditing.class_numbers import OutcomeLoss, PairAudit, WorstOutcomeLoss
from trustcal.auditing.class_verdict import class_verdict_on
from trustcal.auditing.rebuilding import plain, rebuilt
from trustcal.auditing.record import TITLE
from trustcal.auditing.verdict import Verdict
from trustcal.classes import ViewMeasures
from trustcal.measures.corp import Corp
from trustcal.reading import ClassProvenance
from trustcal.states import parsed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VERSION = 1
"""The version of the JSON: raised when a field changes its meaning."""


@final
@dataclass(frozen=True)
class ClassAudit:
    """How far vectors of probabilities are from trustworthy, in numbers.

    `audit.verdict` says what the numbers mean.  `print` shows the tables, `to_html` writes the page, `to_json` the
    data, and `from_json` reads them back.
    """

    classes: tuple[str, ...]
    """The names of the classes, in the order of the columns."""
    rows: int | None
    """The number of rows; None for a known distribution."""
    effective_rows: float | None
    """The effective sample size (Kish): smaller than `rows` if weights differ."""
    values: int
    """The number of distinct vectors."""
    problem: OutcomeLoss
    """The user's decision maker, or whoever picks the likeliest class."""
    views: tuple[ViewMeasures, ...]
    """The top label, then each class against the rest."""
    pairs: tuple[PairAudit, ...]
    """The worst pairs of classes first, at most ten, among the 30 most frequent classes."""
    worst: WorstOutcomeLoss
    """The most that anybody loses."""
    atb: float
    """The truthful class-wise calibration error: the mean of ATB over the classes."""
    brier: Corp
    """The Brier score of K classes, split."""
    log_loss: Corp
    """The log loss, split; infinite where a class of probability 0 occurred."""
    provenance: ClassProvenance | None
    """What was read; None for arrays and known distributions."""

    @property
    def verdict(self) -> Verdict:
        """Whether the probabilities can be believed, what is lost, and who is hurt."""
        return class_verdict_on(self)

    @property
    def top(self) -> ViewMeasures:
        """The top label: how often it is right, and how often it should be."""
        return self.views[0]

    def to_json(self) -> str:
        """All numbers by the names of the fields, with the verdict.

        Returns
        -------
        str : one JSON object, which `from_json` reads back exactly.

        O(size of the audit).
        """
        said = {"verdict": plain(self.verdict)}
        body = {"trustcal": "ClassAudit", "version": VERSION, **said, **plain(self)}
        return json.dumps(body, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> ClassAudit:
        """Read an audit back.

        Parameters
        ----------
        text : what `to_json` returned.

        Returns
        -------
        ClassAudit : equal to the one written.

        O(size of the audit).
        """
        state = parsed(text, "ClassAudit", VERSION, tuple(field.name for field in fields(cls)))
        found: ClassAudit = rebuilt(cls, state, "the audit", {})
        return found

    def to_html(self, path: str | Path, title: str = TITLE) -> None:
        """Write one self-contained page: no network, no other file.  The same audit gives the same bytes.

        Parameters
        ----------
        path : the file to write, whole or not at all.
        title : the title of the page.

        O(size of the audit).
        """
        from trustcal.report.page.classes import class_page
        from trustcal.writing import atomically

        with atomically(path) as fresh:
            fresh.write_text(class_page(self, title), encoding="utf-8")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the matrix of recommended and better actions: `trustcal.plots.regret_matrix`.

        Parameters
        ----------
        ax : matplotlib axes; new ones by default.

        Returns
        -------
        Axes
        """
        from trustcal.plots import regret_matrix

        return regret_matrix(self.problem.actions, self.problem.instead, ax=ax)

    def __repr__(self) -> str:
        """One line: the number of classes and rows, the state of the verdict and the loss."""
        rows = "a known distribution" if self.rows is None else f"{self.rows:,} rows"
        return f"ClassAudit({len(self.classes)} classes, {rows}, {self.verdict.state}, loss {self.problem.share:.4f})"

    def __str__(self) -> str:
        from trustcal.report.terminal.classes import plain_class_audit

        return plain_class_audit(self)
