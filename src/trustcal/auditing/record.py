"""Audit: all the numbers, with its verdict and advice, as text, JSON and a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, final

from trustcal.auditing.advice import Advice, advice_on
from trustcal.auditing.gates import Failure, Gate
from trustcal.auditing.numbers import GroupAudit, Inference, ProblemLoss, Promise, ThresholdLoss, WorstCase
from trustcal.auditing.rebuilding import plain, rebuilt
from trustcal.auditing.verdict import Verdict, verdict_on
from trustcal.curves import AfterNoise, Curve, Histogram, Movement
from trustcal.reading import Provenance
from trustcal.states import loaded

if TYPE_CHECKING:
    from trustcal.remedies import Comparison

VERSION = 2
"""The version of the JSON, whose fields docs/audit-schema.md lists: raised when a field changes its meaning."""
TITLE = "How far can these probabilities be trusted?"
"""The title of the page, unless another is given."""


@final
@dataclass(frozen=True)
class Audit:
    """How far predictions are from trustworthy, in numbers.

    `audit.verdict` and `audit.advice` say what the numbers mean; `audit.check` compares them with limits.  `print`
    shows the table, `to_html` writes the page, `to_json` the data, and `from_json` reads them back.  Every measure is
    also an attribute: `audit.cdl` is `audit.measures["cdl"]`.
    """

    rows: int | None
    """The number of rows; None for a known distribution."""
    effective_rows: float | None
    """The effective sample size (Kish): smaller than `rows` if weights differ."""
    values: int
    """The number of distinct predictions."""
    base_rate: float
    """The frequency of outcome 1."""
    mean_prediction: float
    """The mean prediction."""
    cells: int | None
    """ECE, CDL and all losses were taken on this many bins of equal mass; None: on the values as they are."""
    measures: Mapping[str, float]
    """Every measure by its key, in the order of the table of measures; for dtc, the certified upper end."""
    dtc_lower: float
    """The distance to calibration lies in [dtc_lower, measures["dtc"]]: certified, see `dtc_witness`."""
    inference: Inference | None
    """Tests, floors and intervals; None if none were asked for, and for a known distribution."""
    worst: WorstCase
    """Of all decision makers, the one who loses most."""
    worst_threshold: ThresholdLoss
    """Of all who act above one threshold, the one who loses most."""
    losses: tuple[ThresholdLoss, ...]
    """Those who act above common thresholds."""
    problem: ProblemLoss | None
    """The user's own decision maker."""
    curve: Curve
    """The reliability curve."""
    histogram: Histogram
    """How the predictions are spread."""
    movement: Movement
    """The way to the nearest calibrated predictor."""
    guarantee: Promise | None
    """What noise guarantees; None if the predictions are calibrated."""
    after_noise: AfterNoise | None
    """The predictor after that noise, or the one given; None if the predictions are calibrated."""
    comparison: Comparison | None
    """Remedies compared on held-out rows; None if no comparison was asked for."""
    groups: tuple[GroupAudit, ...]
    """Groups of rows side by side."""
    provenance: Provenance | None
    """What was read and what was left out; None for arrays and known distributions."""

    def __getattr__(self, name: str) -> float:
        measures: Mapping[str, float] = self.__dict__.get("measures", {})
        if name not in measures:
            raise AttributeError(f"an Audit has no attribute {name!r}")
        return measures[name]

    @property
    def weighted(self) -> bool:
        """Whether weights make the effective sample size differ from the number of rows."""
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
        return tuple(Failure(gate, gate.value(self)) for gate in parsed if gate.fails(self))

    def to_json(self) -> str:
        """All numbers by the names of the fields, with the verdict and the advice: see docs/audit-schema.md.

        Returns
        -------
        str : one JSON object, which `from_json` reads back exactly.

        O(size of the audit).
        """
        said = {"verdict": plain(self.verdict), "advice": plain(self.advice)}
        return json.dumps({"trustcal": "Audit", "version": VERSION, **said, **plain(self)}, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Audit:
        """Read an audit back.

        Parameters
        ----------
        text : what `to_json` returned.

        Returns
        -------
        Audit : equal to the one written.

        >>> from trustcal import Predictor, audit
        >>> found = audit(Predictor([0.5], [1.0], [0.75]))
        >>> Audit.from_json(found.to_json()) == found
        True

        O(size of the audit).
        """
        from trustcal.remedies import Comparison

        state = loaded(text, "Audit", VERSION, tuple(field.name for field in fields(cls)))
        found: Audit = rebuilt(cls, state, "the audit", {"Comparison": Comparison})
        return found

    def to_html(self, path: str | Path, title: str = TITLE) -> None:
        """Write one self-contained page: no network, no other file.  The same audit gives the same bytes.

        Parameters
        ----------
        path : the file to write, whole or not at all.
        title : the title of the page.

        O(size of the audit).
        """
        from trustcal.report.page import page
        from trustcal.writing import atomically

        with atomically(path) as fresh:
            fresh.write_text(page(self, title), encoding="utf-8")

    def __str__(self) -> str:
        from trustcal.report.terminal.audit import plain_audit

        return plain_audit(self)
