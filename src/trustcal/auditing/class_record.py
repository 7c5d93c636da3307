"""ClassAudit: all the numbers on K classes, with a verdict, as text, JSON and a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from trustcal.auditing.class_gates import class_failures
from trustcal.auditing.class_numbers import ClassGroupAudit, OutcomeLoss, PairAudit, WorstOutcomeLoss
from trustcal.auditing.class_verdict import class_verdict_on
from trustcal.auditing.document import Document
from trustcal.auditing.gates import Failure, Gate
from trustcal.auditing.verdict import Verdict
from trustcal.classes import ViewMeasures
from trustcal.measures.corp import Corp
from trustcal.reading import ClassProvenance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VERSION = 2
"""The version of the JSON: raised when a field changes its meaning."""


@final
@dataclass(frozen=True)
class ClassAudit(Document):
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
    groups: tuple[ClassGroupAudit, ...]
    """Groups of rows, those that are hurt most first."""
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

    def check(self, *gates: str | Gate) -> tuple[Failure, ...]:
        """The gates that fail, such as "loss>0.02" or "top.cutoff.lower>0.05", with the values that fail them.

        Parameters
        ----------
        *gates : conditions under which a build should fail; `trustcal.auditing.Gate` describes the syntax.

        Returns
        -------
        tuple of Failure : empty if none of the conditions holds.

        O(number of gates · K).
        """
        parsed_gates = [gate if isinstance(gate, Gate) else Gate.parse(gate) for gate in gates]
        return tuple(failure for gate in parsed_gates for failure in class_failures(gate, self))

    def _said(self) -> Mapping[str, object]:
        return {"verdict": self.verdict}

    def _page(self, title: str) -> str:
        from trustcal.report.page.classes import class_page

        return class_page(self, title)

    @classmethod
    def _version(cls) -> int:
        return VERSION

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
