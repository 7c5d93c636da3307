"""Audit: all the numbers, with its faces: text, JSON and a page."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import final

from trustcal.auditing.curves import Curve, Fix, Histogram, Movement
from trustcal.auditing.numbers import Group, Guarantee, Inference, Methods, ProblemLoss, Read, ThresholdLoss, WorstCase
from trustcal.auditing.rebuilding import rebuilt
from trustcal.states import loaded

VERSION = 1
"""Of the JSON, whose fields docs/audit-schema.md lists: a field that changes its meaning raises it."""


@final
@dataclass(frozen=True)
class Audit:
    """How far predictions are from trustworthy, in numbers.

    `print` shows the table, `to_html` writes the page, `to_json` the same as data, and `from_json` reads it back.
    """

    rows: int | None
    """How many rows the law was counted from; None for a known law."""
    effective_rows: float | None
    """What the rows are worth once weights differ: Kish's effective number."""
    values: int
    """Distinct predictions."""
    base_rate: float
    """How often the outcome is 1."""
    mean_prediction: float
    """What is predicted on average."""
    cells: int | None
    """ECE, CDL and all losses were taken on this many cells of equal mass; None: on the values as they are."""
    dtc_lower: float
    """The distance to calibration lies in [dtc_lower, dtc_upper]: certified, see `dtc_witness`."""
    dtc_upper: float
    """The upper end."""
    smcal: float
    """Smooth calibration error."""
    smece: float
    """SmoothECE."""
    ece: float
    """Expected calibration error."""
    cdl: float
    """Calibration decision loss."""
    inference: Inference | None
    """Intervals, floors and p-values; None where none were asked for."""
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
    guarantee: Guarantee | None
    """What noise promises; None where the predictions are calibrated already."""
    fix: Fix | None
    """The predictor after that noise, or the one given; None where the predictions are calibrated already."""
    methods: Methods | None
    """Ways to fix the predictions, compared; None where no comparison was given."""
    groups: tuple[Group, ...]
    """Groups of rows side by side."""
    read: Read | None
    """What was read and what was left out; None for arrays and known laws."""

    def to_json(self) -> str:
        """All numbers, by the names of the fields: see docs/audit-schema.md."""
        return json.dumps({"trustcal": "Audit", "version": VERSION, **asdict(self)}, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Audit:
        """The audit that `to_json` wrote, or a refusal."""
        found: Audit = rebuilt(cls, loaded(text, "Audit", VERSION, tuple(f.name for f in fields(cls))), "the audit")
        return found

    def to_html(self, path: str | Path, title: str = "How far can these probabilities be trusted?") -> None:
        """Write one page that needs nothing else: no network, no other file.  The same audit gives the same bytes."""
        from trustcal.report.page import page
        from trustcal.writing import atomically

        with atomically(path) as fresh:
            fresh.write_text(page(self, title), encoding="utf-8")

    def __str__(self) -> str:
        from trustcal.report.terminal.audit import plain

        return plain(self)
