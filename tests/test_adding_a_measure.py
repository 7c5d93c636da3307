"""A measure is one function and one entry of the table: with these it appears everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import trustcal as tc
from trustcal.auditing import Gate
from trustcal.cli import main
from trustcal.forecasters.games import measured
from trustcal.inference import bootstrap_interval, calibration_tests, sampling_floor, uncertainties
from trustcal.measures.table import MEASURES, Measure
from trustcal.predictor import Predictor
from trustcal.report.terminal.console import plain_text
from trustcal.report.terminal.watch import _measures

DEFINITIONS = Path(__file__).parents[1] / "docs" / "reference" / "definitions.md"


def worst_gap(q: Predictor) -> float:
    """The toy: the largest gap between a prediction and its frequency."""
    return float(np.abs(q.p - q.p_hat).max())


TOY = Measure(
    key="worst_gap",
    symbol="gap",
    title="Worst gap",
    question="How far is the worst prediction from the frequency given it?",
    module=__name__,
    conditional=True,
)


@pytest.fixture
def toy() -> Iterator[Measure]:
    table = cast("dict[str, Measure]", MEASURES)
    table[TOY.key] = TOY
    yield TOY
    del table[TOY.key]


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    p = rng.random(300)
    return (rng.random(300) < p**2).astype(int), p


def listed() -> str:
    """The table of definitions.md."""
    head = "| key | measure | question | audit | monitor | arena |\n| --- | --- | --- | --- | --- | --- |\n"
    lines = [
        (
            f"`{one.key}`",
            one.title,
            one.question,
            *(("", "yes")[flag] for flag in (one.audited, one.monitored, one.played)),
        )
        for one in MEASURES.values()
    ]
    return head + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def test_the_docs_list_every_measure() -> None:
    assert listed() in DEFINITIONS.read_text(encoding="utf-8")
    for key in MEASURES:
        assert callable(getattr(tc, key)), "a measure is public under its key"


def test_a_new_measure_is_in_the_audit_and_its_faces(toy: Measure, rows: tuple[Any, Any], tmp_path: Path) -> None:
    q = Predictor.from_samples(*rows)
    for draws in (0, 19):
        audit = tc.audit(*rows, cells=7, draws=draws)
        assert audit.measures["worst_gap"] == worst_gap(q.coarsen(7))
        assert "| Worst gap " in str(audit)
        audit.to_html(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert f"{toy.title}<small>{toy.question}</small>" in page
        assert json.loads(audit.to_json())["measures"]["worst_gap"] == audit.measures["worst_gap"]
        assert tc.Audit.from_json(audit.to_json()) == audit
    assert audit.inference is not None
    known = audit.inference.of("worst_gap")
    assert 0 <= known.lower <= known.value <= known.upper


def test_a_new_measure_is_in_gates(toy: Measure, rows: tuple[Any, Any], tmp_path: Path) -> None:
    audit = tc.audit(*rows, cells=7, draws=19)
    assert [str(failure.gate) for failure in audit.check("worst_gap>0", "worst_gap.p<0.06", "worst_gap>1")] == [
        "worst_gap>0",
        "worst_gap.p<0.06",
    ]
    file = tmp_path / "rows.csv"
    np.savetxt(file, np.column_stack(rows), delimiter=",", header="outcome,prediction", comments="")
    assert main(["audit", str(file), "--cells", "7", "--draws", "0", "--fail-if", f"{toy.key}>0"]) == 1


def test_a_new_measure_is_in_inference(toy: Measure, rows: tuple[Any, Any]) -> None:
    q = Predictor.from_samples(*rows)
    (test,) = calibration_tests(q, [toy.key], draws=19, rng=0)
    (both,) = uncertainties(q, [toy.key], draws=19, rng=0)
    assert both.test == test
    assert test.floor == sampling_floor(q, toy.key, draws=19, rng=0)
    assert test.floor.cells == q.suggested_cells
    assert bootstrap_interval(q, toy.key, draws=19, rng=0).estimate == test.value


def test_a_new_measure_is_in_the_monitor(toy: Measure, rows: tuple[Any, Any]) -> None:
    monitor = tc.Monitor(window=300)
    monitor.learn_many(rows[1].round(1), rows[0])
    snapshot = monitor.current(draws=5)
    q = monitor.predictor()
    assert snapshot.measures["worst_gap"].value == worst_gap(q)
    assert json.loads(snapshot.to_json())["worst_gap"]["value"] == snapshot.measures["worst_gap"].value
    assert "worst_gap 0." in str(snapshot)
    assert "| Worst gap " in plain_text(partial(_measures, snapshot), 88)


def test_a_new_measure_is_in_the_arena(toy: Measure) -> None:
    assert measured(np.array([0.5, 0.5, 1.0]), np.array([0, 1, 0])).errors[toy.key] == 1.0


def test_a_new_measure_is_in_the_docs(toy: Measure) -> None:
    assert f"| `{toy.key}` | {toy.title} | {toy.question} | yes | yes | yes |\n" in listed()


def test_names_that_are_not_measures_are_refused(rows: tuple[Any, Any]) -> None:
    known = "monotone_cdl, cutoff, dtc, smcal, smece, atb, ece, cdl"
    with pytest.raises(ValueError, match=f"on one of loss, {known}, regret, not on 'worst_gap'"):
        Gate.parse("worst_gap>0")
    more = "ucal, two_action_regret, stepcal, atb_l1"
    with pytest.raises(ValueError, match=f"statistics must be among {known}, {more}, but got 'worst_gap'"):
        sampling_floor(Predictor.from_samples(*rows), "worst_gap", rng=0)
