"""Audit: all the numbers, with its verdict and advice, as text, JSON and a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from trustcal.auditing.advice import Advice, advice_on
from trustcal.auditing.document import Document
from trustcal.auditing.gates import Failure, Gate, missing
from trustcal.auditing.numbers import (
    DecisionLoss,
    Fall,
    GroupAudit,
    Inference,
    ProblemLoss,
    Promise,
    Scores,
    ThresholdLoss,
    WorstCase,
    WorstRange,
)
from trustcal.auditing.verdict import Verdict, verdict_on
from trustcal.curves import AfterNoise, Histogram, Movement
from trustcal.diagrams import DecisionCurve, LossProfile, ReliabilityDiagram
from trustcal.inference import ClinicalCalibration
from trustcal.measures.table import audited
from trustcal.reading import Provenance
from trustcal.segmenting import Segments

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trustcal.remedies import Comparison, HeldOutGain

VERSION = 4
"""The version of the JSON, whose fields audit-schema.md lists: raised when a field changes its meaning."""


@final
@dataclass(frozen=True)
class Audit(Document):
    """How far predictions are from trustworthy, in numbers.

    `audit.verdict` and `audit.advice` say what the numbers mean; `audit.check` compares them with limits.  `print`
    shows the table, `to_html` writes the page, `to_json` the data, and `from_json` reads them back.  Every measure is
    also an attribute: `audit.cdl` is `audit.measures["cdl"]`.
    """

    rows: int | None
    """The number of rows; None for a known distribution."""
    effective_rows: float | None
    """The effective sample size (Kish): smaller than `rows` if weights differ; with clusters, of these."""
    values: int
    """The number of distinct predictions."""
    base_rate: float
    """The frequency of outcome 1."""
    mean_prediction: float
    """The mean prediction."""
    cells: int | None
    """ECE and CDL were taken on this many bins, because that was asked for; None: on the values as they are."""
    measures: Mapping[str, float]
    """The measures by their keys, in the order of the table of measures; for dtc, the certified upper end.  ECE and CDL
    are left out if values are too rare to have a frequency, unless bins were asked for."""
    dtc_lower: float
    """The distance to calibration lies in [dtc_lower, measures["dtc"]]: certified, see `dtc_witness`."""
    inference: Inference | None
    """Tests, floors and intervals; None if none were asked for, and for a known distribution."""
    loss: DecisionLoss
    """The most that anyone loses by believing the predictions."""
    worst: WorstCase
    """Of all decision makers, the one who loses most."""
    worst_threshold: ThresholdLoss
    """Of all who act above one threshold, the one who loses most."""
    worst_range: WorstRange | None
    """The range of predictions with the largest bias; None if there is none."""
    fall: Fall | None
    """Where predictions are in the wrong order; None if nowhere, without inference, and where CDL measures the loss."""
    losses: tuple[ThresholdLoss, ...]
    """Those who act above common thresholds."""
    problem: ProblemLoss | None
    """The user's own decision maker."""
    diagram: ReliabilityDiagram
    """The reliability diagram without bins, with its consistency band."""
    profile: LossProfile
    """What those who act above a threshold lose, for every threshold, and which threshold to use instead."""
    net_benefit: DecisionCurve
    """The net benefit at every threshold, and that of treating everybody."""
    scores: Scores
    """Brier score and log loss, each split into miscalibration, discrimination and uncertainty; and the AUC."""
    clinical: ClinicalCalibration | None
    """Calibration in the large, slope and intercept, ICI and two tests; None for a known distribution."""
    histogram: Histogram
    """How the predictions are spread."""
    movement: Movement
    """The way to the nearest calibrated predictor."""
    guarantee: Promise | None
    """What noise guarantees; None if the predictions are calibrated."""
    after_noise: AfterNoise | None
    """The predictor after the noise given; otherwise after that noise, if it guarantees less than what is lost now, or
    without inference; None if the predictions are calibrated."""
    remedy: HeldOutGain | None
    """The recommended remedy and what it gains on held-out rows; None unless the predictions are off, where rows are
    too few, and for a known distribution."""
    comparison: Comparison | None
    """Remedies compared on held-out rows; None if no comparison was asked for."""
    groups: tuple[GroupAudit, ...]
    """Groups of rows side by side, those that lose most first; at most 100, those that show most beyond chance."""
    more_groups: int
    """The number of groups beside these, which were not measured."""
    segments: Segments | None
    """The segments that are hurt; None if they were not searched."""
    provenance: Provenance | None
    """What was read and what was left out; None for arrays and known distributions."""
    hints: tuple[str, ...]
    """Signs that rows belong together although no cluster was named."""
    clusters: int | None
    """The number of clusters of rows that belong together; None if all rows are independent."""
    weights_differ: bool
    """Whether rows have different weights."""

    def __getattr__(self, name: str) -> float:
        measures: Mapping[str, float] = self.__dict__.get("measures", {})
        if name not in measures:
            raise AttributeError(missing(name) if name in audited() else f"an Audit has no attribute {name!r}")
        return measures[name]

    @property
    def weighted(self) -> bool:
        """Whether weights or clusters make the effective sample size differ from the number of rows."""
        return self.rows is not None and self.effective_rows is not None and round(self.effective_rows) != self.rows

    @property
    def verdict(self) -> Verdict:
        """Whether the predictions can be believed: state, headline and the numbers that decide."""
        return verdict_on(self)

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What the numbers mean for those who decide, and what they can do."""
        return advice_on(self)

    def check(self, *gates: str | Gate) -> tuple[Failure, ...]:
        """The gates that fail, such as "cdl>0.02" or "cdl.lower>0.02", with the values that fail them.

        Parameters
        ----------
        *gates : conditions under which a build should fail; `trustcal.auditing.Gate` describes the syntax.

        Returns
        -------
        tuple of Failure : empty if none of the conditions holds.

        >>> from trustcal import Predictor, audit
        >>> for failure in audit(Predictor([0.5], [1.0], [0.75])).check("cdl>0.02", "ece>0.5"):
        ...     print(failure)
        cdl>0.02: it is 0.5

        O(number of gates).
        """
        parsed = [gate if isinstance(gate, Gate) else Gate.parse(gate) for gate in gates]
        return tuple(failure for gate in parsed for failure in gate.failures(self))

    def _said(self) -> Mapping[str, object]:
        return {"verdict": self.verdict, "advice": self.advice}

    def _page(self, title: str) -> str:
        from trustcal.report.page import page

        return page(self, title)

    @classmethod
    def _version(cls) -> int:
        return VERSION

    @classmethod
    def _lazily_imported(cls) -> Mapping[str, type]:
        from trustcal.remedies import Comparison, HeldOutGain

        return {"Comparison": Comparison, "HeldOutGain": HeldOutGain}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the reliability diagram, with the thresholds of the user's payoffs.

        Parameters
        ----------
        ax : matplotlib axes; new ones by default.

        Returns
        -------
        Axes : those of `trustcal.plots.reliability`.

        >>> from matplotlib.figure import Figure
        >>> from trustcal import Predictor, audit
        >>> audit(Predictor([0.5], [1.0], [0.75])).plot(ax=Figure().subplots()).get_xlabel()
        'prediction'

        O(size of the diagram).
        """
        from trustcal.plots import reliability

        return reliability(self, ax=ax)

    def __repr__(self) -> str:
        """One line: the number of rows, the state of the verdict and the loss."""
        rows = "a known distribution" if self.rows is None else f"{self.rows:,} rows"
        return f"Audit({rows}, {self.verdict.state}, {self.loss.measure} {self.loss.estimate:.4f})"

    def _repr_html_(self) -> str:
        """The first screen of the page, for notebooks."""
        from trustcal.report.page import first_screen

        return first_screen(self)

    def __str__(self) -> str:
        from trustcal.report.terminal.audit import plain_audit

        return plain_audit(self)
