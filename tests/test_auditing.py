"""The audit: its numbers, its words, and the commands that show them."""

from __future__ import annotations

import argparse
import dataclasses
import json
import operator
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trustcal as tc
from tests.schema import DOCUMENT, document
from tests.strategies import costly, predictors
from trustcal.auditing import Gate
from trustcal.cli import main
from trustcal.curves import histogram, movement
from trustcal.diagrams import loss_profile, swap_profile
from trustcal.measures.table import MEASURES, audited

RAIN = tc.Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])
_P = np.random.default_rng(0).random(300)
ROWS = np.random.default_rng(1).random(300) < _P**2, _P
FRAME = pl.DataFrame({"p": _P, "y": ROWS[0], "half": np.arange(300) % 2})


@cache
def full() -> tc.Audit:
    """An audit with everything in it."""
    return tc.audit(
        FRAME,
        by="half",
        payoff=tc.DecisionProblem([[0, 0], [-1, 3]], ["wait", "treat"]),
        groups={"all": tc.Predictor.from_samples(*ROWS)},
        noise=tc.UniformNoise(0.2),
        compare=True,
        draws=19,
    )


def test_numbers_are_those_of_the_measures() -> None:
    audit = tc.audit(RAIN, payoff=tc.DecisionProblem([[0, 0], [-100, 100]], ["stay", "go"]))
    assert (audit.ece, audit.cdl, audit.cells, audit.rows) == (tc.ece(RAIN), 1.0, None, None)
    assert audit.worst.thresholds == (0.5,)
    assert audit.worst_threshold == next(loss for loss in audit.losses if loss.threshold == 0.5)
    assert audit.worst_threshold.reversed == 0.5  # never to act gains half of the loss
    for loss in audit.losses:
        assert loss.loss == tc.threshold(loss.threshold).swap_regret(RAIN)
    assert audit.problem is not None
    assert (audit.problem.action_regret, audit.problem.moving, audit.problem.regret) == (100, 50, 100)
    assert [(one.action, one.better) for one in audit.problem.recommendations] == [("stay", "go"), ("go", "stay")]
    assert audit.problem.stakes == 100
    assert audit.mean_prediction == pytest.approx(0.5)


def test_continuous_predictions_need_no_bins_and_repeated_ones_are_measured_as_they_are() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(8000)
    y = rng.random(8000) < p
    audit = tc.audit(y, p, draws=0)
    q = tc.Predictor.from_samples(y, p)
    assert (audit.cells, audit.values) == (None, 8000)
    assert audit.loss.measure == "monotone_cdl"
    assert audit.loss.shown == audit.monotone_cdl == tc.monotone_cdl(q)
    with pytest.raises(AttributeError, match=r"cdl needs predictions that repeat.*cells=20"):
        _ = audit.cdl
    with pytest.raises(ValueError, match=r"the gate ece>0.1 has no value: ece needs predictions that repeat"):
        audit.check("ece>0.1")
    binned = tc.audit(y, p, cells=20, draws=0)
    assert binned.cells == 20
    assert (binned.ece, binned.cdl) == (tc.ece(q.coarsen(20)), tc.cdl(q.coarsen(20)))
    assert binned.loss == audit.loss  # the headline needs no bins
    assert binned.losses == audit.losses
    rounded = tc.audit(y, p.round(1), draws=0)
    assert rounded.cells is None
    assert rounded.loss.measure == "cdl"
    assert rounded.ece == tc.ece(y, p.round(1))
    assert tc.audit(y, p.round(1), cells=3, draws=0).cells == 3


@pytest.mark.slow
def test_worst_threshold_is_the_worst_of_all() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        p = np.sort(rng.random(6))
        mass = rng.dirichlet(np.ones(6))
        q = tc.Predictor(p, mass, mass * rng.random(6))
        audit = tc.audit(q)
        others = max(tc.threshold(mu).swap_regret(q) for mu in [*np.linspace(0, 1, 201), *q.p, *q.p_hat])
        assert audit.worst_threshold.loss == pytest.approx(others, abs=1e-12)
        assert audit.worst_threshold.loss <= audit.cdl + 1e-12


def test_the_verdict_names_who_is_hurt() -> None:
    one = tc.audit(tc.Predictor([0.32], [1], [0.25])).verdict
    assert one.headline == "These predictions are off: believing them loses up to 10.3 % of the payoff range."
    assert [(harm.who, harm.text) for harm in one.hurt] == [
        (
            "Worst hit",
            "whoever acts at or above 0.32 should never act. On these rows that gains 10.3 % of the payoff range and "
            "reverses 100.0 % of the decisions.",
        )
    ]
    assert one.where == "Predictions of 0.32 (100.0 % of the rows) are too high, by 0.07 on average."
    two = tc.audit(tc.Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25]))
    assert two.worst.thresholds == (0.25, 0.75)
    who = two.verdict
    assert (who.state, who.fine, who.loss, who.p_value) == ("off", False, 0.25, None)
    calm = tc.audit(tc.Predictor([0.5], [1], [0.5])).verdict
    assert str(calm).startswith("No decision maker loses anything")
    assert (calm.state, calm.fine) == ("trustworthy", True)


def test_printing_shows_every_measure() -> None:
    rows = [0, 1] * 10, [0.25, 0.75] * 10, [1.0, 2.0] * 10
    audit = tc.audit(*rows, draws=0)
    text = str(audit)
    assert re.search(r"Rows\s+\|\s+20 \| effective sample size 18", text)
    for name, value in (
        ("Distance to calibration", tc.dtc(*rows)),
        ("Smooth calibration error", tc.smcal(*rows)),
        ("SmoothECE", tc.smece(*rows)),
        ("Expected calibration error", tc.ece(*rows)),
        ("Calibration decision loss", tc.cdl(*rows)),
    ):
        assert re.search(rf"{name}\s+\|\s+{value:.4f}", text), name
    assert audit.dtc_lower <= tc.dtc(*rows) == audit.dtc


def test_nothing_is_reversed_for_the_sake_of_rounding() -> None:
    p = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
    y = np.concatenate([np.arange(100) < round(100 * value) for value in p])
    audit = tc.audit(y, np.repeat(p, 100), draws=0)  # exactly calibrated, on the thresholds
    assert {loss.reversed for loss in audit.losses} == {0.0}
    assert {loss.loss for loss in audit.losses} == {0.0}


def test_the_verdict_at_the_ends_and_for_small_losses() -> None:
    def worst(*rows: Any) -> str:
        return tc.audit(*rows).verdict.hurt[0].text

    assert "whoever acts only if the prediction is 1 should never act" in worst([0] * 5 + [1] * 45, [1.0] * 50)
    assert "whoever acts unless the prediction is 0 should always act" in worst([1] * 5 + [0] * 45, [0.0] * 50)
    small = tc.audit(tc.Predictor([0.5], [1], [0.5001])).verdict
    assert "loses up to 0.02 % of the payoff range" in str(small)


def test_json_holds_every_number() -> None:
    audit = tc.audit(RAIN)
    data = json.loads(audit.to_json())
    assert (data["trustcal"], data["version"]) == ("Audit", 4)
    assert data["measures"]["cdl"] == 1.0
    assert data["verdict"]["headline"] == audit.verdict.headline
    assert [one["text"] for one in data["advice"]] == [one.text for one in audit.advice]
    assert data["worst"]["thresholds"] == [0.5]
    assert data["worst"]["payoff"] == [[1, 0], [0, 1]]
    assert data["losses"][5] == {
        "threshold": 0.5, "acts_on": False, "loss": 1.0, "by_chance": None, "instead": None, "instead_on": False,
        "gain": 0.5, "reversed": 0.5,
    }  # fmt: skip
    assert data["problem"] is None


# --- anything that can be read


@pytest.mark.slow
def test_a_file_a_frame_a_predictor_and_arrays_give_the_same_audit(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    FRAME.write_csv(file)
    rows = tc.audit(*ROWS, draws=9)
    for source in (file, str(file), FRAME, FRAME.to_arrow(), tc.Predictor.from_samples(*ROWS)):
        same = tc.audit(source, draws=9)
        assert dataclasses.replace(same, provenance=None) == rows
    by = tc.audit(file, by="half", draws=9)
    assert {group.name for group in by.groups} == {"0", "1"}
    assert by.measures == rows.measures
    assert by.provenance is not None
    assert by.provenance.columns.by == ("half",)


@pytest.mark.slow
def test_the_library_has_the_defaults_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, payoff = tmp_path / "rows.csv", tmp_path / "payoff.csv"
    FRAME.write_csv(file)
    payoff.write_text("action,0,1\nwait,0,0\ntreat,-1,3\n")
    assert main(["audit", str(file), "--by", "half", "--payoff", str(payoff), "--compare", "--json"]) == 0
    assert capsys.readouterr().out == tc.audit(file, by="half", payoff=payoff, compare=True).to_json() + "\n"


def test_options_for_files_are_refused_for_arrays() -> None:
    with pytest.raises(ValueError, match="by is an option for files and frames"):
        tc.audit(*ROWS, by="half")
    with pytest.raises(ValueError, match="prediction is an option for files and frames"):
        tc.remedies.choose(RAIN, prediction="p")
    weighted = FRAME.with_columns(w=pl.col("half") + 1.0)
    with pytest.raises(ValueError, match="Pass the rows themselves"):
        tc.audit(weighted, weight="w", compare=True, draws=0)


# --- JSON and back


@costly(25)
@given(predictors(max_values=6))
def test_an_audit_comes_back_from_json(q: tc.Predictor) -> None:
    audit = tc.audit(q, payoff=tc.umbrella(), groups={"a": q})
    assert tc.Audit.from_json(audit.to_json()) == audit


def test_an_audit_with_everything_comes_back_from_json() -> None:
    assert tc.Audit.from_json(full().to_json()) == full()
    assert full().inference is not None
    assert full().comparison is not None
    assert full().provenance is not None
    assert full().guarantee is not None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("diagram"), "lacks diagram"),
        (lambda data: data["diagram"].pop("p"), "the audit.diagram lacks p"),
        (lambda data: data.update(version=1), "of version 1"),
        (lambda data: data.update(trustcal="Monitor"), "not a saved Audit"),
        (
            lambda data: data["measures"].update(cdl="large"),
            "the audit.measures.cdl must be of type float, not",
        ),
        (lambda data: data.update(values=True), "the audit.values must be of type int"),
        (lambda data: data.update(losses={}), "the audit.losses must be of type tuple"),
        (lambda data: data["worst"].update(payoff=[[1, 2, 3]]), r"the audit.worst.payoff\[0\] must be"),
        (lambda data: data["provenance"]["columns"].update(outcome=None), "must be of type str, not None"),
        (lambda data: data["after_noise"]["noise"].update(kind="Loud"), "the audit.after_noise.noise must be of type"),
        (lambda data: data["guarantee"]["choice"]["lower"].update(side="<"), "must be of type Literal"),
    ],
)
def test_json_that_no_audit_wrote_is_refused(change: Callable[[Any], object], message: str) -> None:
    data = json.loads(full().to_json())
    change(data)
    with pytest.raises(ValueError, match=message):
        tc.Audit.from_json(json.dumps(data))


def test_the_schema_document_is_that_of_the_code() -> None:
    assert DOCUMENT.read_text() == document(), "run python -m tests.schema"


# --- the numbers behind the pictures


@given(predictors(max_values=8), st.lists(st.floats(0, 1), max_size=5))
def test_the_profile_of_values_knows_every_threshold_loss(q: tc.Predictor, thresholds: list[float]) -> None:
    mu = np.array([*thresholds, *q.p, *q.p_hat, 0.0, 0.5, 1.0])
    found = swap_profile(q, thresholds=mu)
    regrets = [tc.threshold(t).swap_regret(q) for t in mu]
    assert found.loss(mu) == pytest.approx(regrets, abs=1e-12)
    assert found.regret_at(mu) == pytest.approx(tc.cdl_witness(q).profile(mu), abs=1e-12)
    for t in mu[found.regret_at(mu) > 1e-9]:
        assert found.changed(t) == pytest.approx(q.mass[tc.threshold(t).swaps(q).gain > 0].sum(), abs=1e-9)


@given(predictors(max_values=8), st.lists(st.floats(0, 1), max_size=5))
def test_the_profile_knows_what_moving_thresholds_gains(q: tc.Predictor, thresholds: list[float]) -> None:
    mu = np.array([*thresholds, *q.p, *q.fitted, 0.0, 0.5, 1.0])
    found, witness = loss_profile(q, thresholds=mu), tc.monotone_cdl_witness(q)
    assert found.regret_at(mu) == pytest.approx(witness.profile(mu), abs=1e-12)
    assert found.loss(mu).max() <= witness.value + 1e-12


@given(predictors(max_values=8))
def test_movement_costs_the_distance_to_calibration_and_ends_calibrated(q: tc.Predictor) -> None:
    witness = tc.dtc_witness(q)
    p, b, y, mass = (np.array(column) for column in dataclasses.asdict(movement(witness)).values())
    cost = float((np.abs(p - b) * mass).sum())
    assert cost <= witness.upper + 1e-9  # streams that are pooled can only seem to move less
    assert float((mass * p).sum()) == pytest.approx(float(q.p @ q.mass))
    assert float(mass[y == 1].sum()) == pytest.approx(q.base_rate)
    assert float((mass * b).sum()) == pytest.approx(q.base_rate, abs=1e-9)  # calibrated: E b = E y
    assert len(p) <= 4 * 100


@given(predictors(max_values=5))
def test_the_histogram_holds_all_mass(q: tc.Predictor) -> None:
    spread = histogram(q)
    assert sum(spread.mass) == pytest.approx(1)
    assert sum(spread.positive) == pytest.approx(q.base_rate)


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise", [tc.UniformNoise(0.1), tc.ClampedLaplace(0.05), tc.TruncatedGaussian(0.1), tc.RandomRounding(8)]
)
def test_after_the_noise(noise: tc.UniformNoise) -> None:
    rng = np.random.default_rng(1)
    p = rng.random(400)
    q = tc.Predictor.from_samples(rng.random(400) < p**2, p)
    fix = tc.audit(q, noise=noise, draws=0).after_noise
    assert fix is not None
    after = tc.smooth(q, noise)
    assert (fix.ece, fix.cdl) == (tc.ece(after), tc.cdl(after))
    for i in (0, 37, 200, 399, 400):
        mu = fix.thresholds[i]
        assert fix.loss(mu) == pytest.approx(tc.threshold(mu).swap_regret(after), abs=1e-12)
        # The slow way: a grid so fine that rounding to it can be neglected.
        fine = tc.smooth(q, noise, cells=20_000, end="middle")
        best = q.isotonic()
        slow = tc.decision_loss_witness(fine, best, tc.threshold(min(max(mu, 1e-4), 1 - 1e-4))).value
        if not isinstance(noise, tc.RandomRounding):
            assert fix.loss(mu, total=True) == pytest.approx(slow, abs=1e-3)
        assert fix.loss(mu, total=True) >= fix.loss(mu) - 0.01  # knowing what cells mean beats knowing the noised


@costly(40)
@given(predictors(max_values=6))
def test_the_promise_of_the_guarantee_is_kept(q: tc.Predictor) -> None:
    audit = tc.audit(q)
    assert (audit.guarantee is None) == (audit.dtc < 1e-12) == (audit.after_noise is None)
    if audit.guarantee is not None and audit.after_noise is not None:
        choice = audit.guarantee.choice
        assert choice.noise == audit.after_noise.noise
        assert audit.after_noise.cdl <= choice.guarantee.value + 1e-9
        assert choice.lower.value <= choice.guarantee.value


# --- chance and groups


@pytest.mark.slow
def test_chance_explains_what_a_perfect_model_shows_and_not_what_a_bad_one_does() -> None:
    rng = np.random.default_rng(7)
    p = rng.random(250)
    perfect, bad = (tc.audit(rng.random(250) < truth, p, draws=39, rng=0) for truth in (p, p**4))
    assert perfect.verdict.state in ("no evidence", "too few rows to tell")
    assert bad.verdict.state == "off"
    assert bad.loss.by_chance is not None
    assert bad.verdict.loss == bad.loss.estimate == bad.loss.shown - bad.loss.by_chance > 0
    assert perfect.inference is not None
    assert bad.inference is not None
    shown = ["monotone_cdl", "cutoff", "dtc", "smcal", "smece", "atb"]
    assert [entry.measure for entry in bad.inference.measures] == shown
    for entry in bad.inference.measures:
        assert entry.p_value == 1 / 40
        assert 0 < entry.floor < entry.floor_upper < entry.value <= entry.upper
        assert 0 < entry.lower <= entry.value
        assert entry.excess == entry.value - entry.floor
        assert re.search(rf"\|\s+{entry.value:.4f} \| {entry.lower:.4f} to {entry.upper:.4f}", str(bad))
    assert bad.guarantee is not None
    assert bad.guarantee.eps == bad.inference.dtc.upper > bad.dtc
    assert bad.guarantee.level == 0.95


@pytest.mark.slow
def test_the_same_seed_gives_the_same_audit_and_a_known_law_has_no_chance() -> None:
    assert tc.audit(*ROWS, draws=19, rng=4) == tc.audit(*ROWS, draws=19, rng=4)
    assert tc.audit(*ROWS, draws=19, rng=4) != tc.audit(*ROWS, draws=19, rng=5)
    assert tc.audit(RAIN, draws=19).inference is None
    assert tc.audit(*ROWS, draws=0).inference is None


def test_groups_are_measured_as_the_whole_is() -> None:
    q = tc.Predictor.from_samples(*ROWS)
    audit = tc.audit(q, groups={"all": q, "rain": RAIN}, draws=0)
    rain, same = audit.groups  # the worst first
    assert (same.name, same.rows, same.measures, same.loss, same.worst_threshold) == (
        "all", audit.rows, audit.measures, audit.loss, audit.worst_threshold,
    )  # fmt: skip
    assert (rain.rows, rain.measures["cdl"], rain.p_value) == (None, 1.0, None)
    assert rain.loss.measure == "monotone_cdl"  # as for the whole
    assert re.search(r"rain\s+\|\s+\| 0.500", str(audit))


def test_no_name_of_a_measure_is_broken_on_80_columns() -> None:
    """The width of most terminals, where the table is as wide as in plain text."""
    shown = str(tc.audit(FRAME, by="half", cells=7, draws=19)).splitlines()
    for name in (MEASURES[key].title for key in audited()):
        assert sum(line.startswith(f"| {name} ") for line in shown) == 1
    assert max(map(len, shown)) <= 80
    assert max(map(len, str(full()).splitlines())) <= 80


# --- gates


def test_gates() -> None:
    known = full().inference
    assert known is not None
    assert known.monotone_cdl is not None
    problem = full().problem
    assert problem is not None
    cutoff, proved, regret = known.of("cutoff"), known.monotone_cdl, problem.regret
    for text, value, fails in (
        ("loss>0.02", full().loss.estimate, True),
        ("loss > 0.9", full().loss.estimate, False),
        ("loss.upper<0.9", proved.upper, True),
        ("monotone_cdl.upper<0.9", proved.upper, True),
        ("monotone_cdl.lower>=0", proved.lower, True),
        ("monotone_cdl>0.02", full().monotone_cdl, True),
        ("loss.p<=0.05", known.test.p_value, True),
        ("dtc>=0.001", full().dtc, True),
        ("cutoff.lower>0.001", cutoff.lower, cutoff.lower > 0.001),
        ("cutoff.excess>0.001", cutoff.excess, True),
        ("cutoff.upper<1", cutoff.upper, True),
        ("smcal.p<=0.05", known.of("smcal").p_value, True),
        ("regret>=0", regret, True),
        ("regret>1e9", regret, False),
    ):
        gate = Gate.parse(text)
        assert gate.fails(full()) == fails, text
        assert Gate.parse(str(gate)) == gate
        assert full().check(text) == full().check(gate)
        assert [(one.gate, one.value, one.rows) for one in full().check(gate)] == [(gate, value, 300)] * fails
    assert [str(failure) for failure in tc.audit(RAIN).check("cdl>0.02", "ece<0.1")] == ["cdl>0.02: it is 1"]
    assert not Gate.parse("cdl>1").fails(tc.audit(RAIN))
    assert Gate.parse("cdl>=1").fails(tc.audit(RAIN))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cdl", "a name, a sign and a number"),
        ("auc>0.5", "one of loss, monotone_cdl, cutoff, dtc, smcal, smece, atb, ece, cdl, regret, not on 'auc'"),
        ("cdl.median>0.5", "has the parts lower, upper, excess, floor, p"),
        ("regret.lower>0.5", "regret has no parts"),
        ("cdl>much", "ends in a finite number"),
        ("cdl>nan", "ends in a finite number"),
        ("cdl==0.5", "a name, a sign and a number"),
        ("cdl.p<0", "a p-value lies between 0 and 1"),
        ("cdl.p<5", "a p-value lies between 0 and 1"),
    ],
)
def test_what_is_no_gate_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Gate.parse(text)


def test_a_gate_on_what_the_audit_does_not_hold_is_refused() -> None:
    with pytest.raises(ValueError, match=r"cdl.lower>0.1 needs rows and enough draws: draws=200, for example"):
        Gate.parse("cdl.lower>0.1").fails(tc.audit(RAIN))
    with pytest.raises(ValueError, match="needs a decision problem"):
        Gate.parse("regret>0").fails(tc.audit(RAIN))


@pytest.mark.parametrize(
    ("text", "draws"),
    [("cdl>1", 0), ("cdl.floor>1", 1), ("cdl.p>0.5", 1), ("cdl.p<1", 1), ("cdl.p<0.05", 20), ("cdl.p<=0.05", 19),
     ("cdl.p<0.1", 10), ("cdl.p<=0.1", 9), ("cdl.p<0.001", 1000), ("cdl.p<=0.001", 999), ("cdl.p<0.3", 3)],
)  # fmt: skip
def test_a_gate_on_a_p_value_needs_draws_enough_to_close(text: str, draws: int) -> None:
    gate = Gate.parse(text)
    assert gate.draws == draws
    if "p<" in text:  # the least p-value that n draws can show is 1/(n + 1)
        closed_by = operator.le if "=" in text else operator.lt
        assert closed_by(1 / (draws + 1), gate.bound)
        assert draws == 1 or not closed_by(1 / draws, gate.bound)


def test_a_gate_that_cannot_close_is_refused() -> None:
    """It would wave through the worst predictions there are."""
    known = full().inference
    assert known is not None
    with pytest.raises(ValueError, match=r"smcal.p<1e-06 needs rows and enough draws: draws=1000000, for example"):
        Gate.parse("smcal.p<0.000001").fails(full())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fail-if", "cdl.lower>0.1", "--draws", "0"], "the gate cdl.lower>0.1 cannot fail with 0 draws"),
        (["--fail-if", "cdl.lower>0.1", "--draws", "0"], "--draws 200."),
        (["--fail-if", "smcal.p<0.001"], "smcal.p<0.001 cannot fail with 40 draws: use --draws 1000."),
        (["--fail-if", "smcal.p<0.001", "--html", "a.html"], "cannot fail with 200 draws"),
        (["--fail-if", "regret>5"], "--payoff FILE"),
    ],
)
def test_the_command_names_its_own_remedy(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before it looks for the file."""
    assert main(["audit", "nowhere.csv", *options]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "draws=" not in said


# --- the command line


@pytest.fixture
def rain(tmp_path: Path) -> Path:
    file = tmp_path / "rain.csv"
    file.write_text("forecast,rained\n" + "0.4999,1\n0.5001,0\n" * 50)
    return file


def test_audit_command(rain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    payoff = tmp_path / "payoff.csv"
    payoff.write_text("action,0,1\nleave,10,0\ntake,0,10\n")
    assert main(["audit", str(rain), "-p", "forecast", "-y", "rained", "--payoff", str(payoff)]) == 0
    out, err = capsys.readouterr()
    said = " ".join(out.split())
    assert said.startswith(
        "These predictions are off, and not by chance. With your payoffs, believing them costs about"
    )
    assert "Taking “take” for “leave” and “leave” for “take” would have earned 10 more" in said
    assert re.search(r"More, with other actions\s+\|\s+10 \|", out)
    assert "leave | 0.5 | take" in out
    assert err == ""
    assert main(["audit", str(rain), "-p", "forecast", "-y", "rained", "-w", "forecast", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 100


def test_a_small_file_is_audited_before_compiled_code_would_be_loaded(tmp_path: Path) -> None:
    outcomes, predictions = np.random.default_rng(1).random((2, 500))
    rows = [f"{p},{int(u < p)}" for u, p in zip(outcomes, predictions, strict=True)]
    (tmp_path / "small.csv").write_text("\n".join(["prediction,outcome", *rows]))
    script = (
        f"import sys, trustcal.cli\ntrustcal.cli.main({['audit', str(tmp_path / 'small.csv')]})\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "SmoothECE" in done.stdout
    assert not {"numba", "scipy.special", "scipy.optimize"} & set(done.stdout.splitlines()[-1].split())


@pytest.mark.slow
def test_demo_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--html", str(tmp_path / "demo.html")]) == 0
    assert (tmp_path / "demo.html").read_text().startswith("<!doctype html>")
    out = capsys.readouterr().out
    assert "16,281" in out
    assert "Worst hit: whoever acts above 0." in " ".join(out.split())
    assert max(len(line) for line in out.splitlines() if "census_income.csv" not in line) <= 80
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    verdict = out[out.index("These predictions are off") : out.index("Predictions from")]
    assert "".join(f"    {line}\n" for line in verdict.splitlines()) in readme


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "no.csv", "-p", "p", "-y", "y"], "no.csv does not exist"),
        (["audit", "RAIN", "-p", "forecasts", "-y", "rained"], "Did you mean 'forecast'?"),
        (["audit", "RAIN", "-p", "rained", "-y", "forecast"], "Exchange column 'forecast' and column 'rained'"),
        (["audit", "RAIN", "-p", "rained", "-y", "rained"], "must be different columns"),
        (["audit", "RAIN", "-p", "forecast", "-y", "rained", "--payoff", "RAIN"], "action,0,1"),
        (["audit", "RAIN", "-p", "forecast"], "say which column is the outcome"),
        (["audit"], "required"),
        (["audits"], "invalid choice"),
        ([], "required: COMMAND"),
        (["audit", "RAIN", "-p", "forecast", "-y", "rained", "--nonsense"], "unrecognized arguments: --nonsense"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, rain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(rain) if word == "RAIN" else word for word in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("trustcal: ")
    assert message in err


def test_the_page_is_not_written_over_the_data(rain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = rain.read_bytes()
    for page, message in ((str(rain), "is being read"), (str(rain.parent / "no" / "a.html"), "does not exist")):
        assert main(["audit", str(rain), "-p", "forecast", "-y", "rained", "--html", page]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert message in err
    assert rain.read_bytes() == before
    assert [file.name for file in rain.parent.iterdir()] == ["rain.csv"]
    assert main(["arena", "--replay", str(rain), "--html", str(rain), "--horizons", "10"]) == 2
    assert "is being read" in capsys.readouterr().err


def test_the_shell_completes_commands_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the package argcomplete, which need not be there: it is handed the parser, says what fits, and exits."""

    def autocomplete(parser: argparse.ArgumentParser) -> None:
        assert "audit" in parser.format_help()
        raise SystemExit(0)

    monkeypatch.setitem(sys.modules, "argcomplete", SimpleNamespace(autocomplete=autocomplete))
    assert main(["hard", "0.3"]) == 2  # nobody asks
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    with pytest.raises(SystemExit):
        main(["audit"])


@pytest.mark.slow
def test_a_pipe_that_closes_early_is_no_error(rain: Path) -> None:
    command = f"{sys.executable} -m trustcal audit {rain} -p forecast -y rained --json | head -n 1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "{\n")
    rain.write_text("p,y\n" + "0.5,1\n" * 5000)
    command = f"{sys.executable} -m trustcal watch {rain} -p p -y y --no-follow --every 1 | head -n 1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout[:6]) == (141, "", "row 1 ")  # as if ended by SIGPIPE


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full, a disk that is always full, here")
def test_a_full_disk_is_one_line_too(rain: Path) -> None:
    command = f"{sys.executable} -m trustcal audit {rain} -p forecast -y rained --json > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "trustcal: No space left on device\n")


@pytest.mark.slow
def test_a_terminal_gets_colours_and_a_pipe_none(rain: Path) -> None:
    command = [sys.executable, "-m", "trustcal", "audit", str(rain), "-p", "forecast", "-y", "rained"]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "\x1b" not in piped.stdout
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"}) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:
                break
            if not chunk:
                break
            shown += chunk
        assert process.wait() == 0
    os.close(ours)
    assert b"\x1b[1m" in shown


def test_what_a_file_says_is_no_command_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("\x1b[31mred,y\n0.5,1\n")
    assert main(["audit", str(file), "-p", "p", "-y", "y"]) == 2
    assert "Its columns are: \N{REPLACEMENT CHARACTER}[31mred, y." in capsys.readouterr().err


def test_an_old_code_page_gets_the_page_too() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-m", "trustcal", "bound", "0.01"]
    ran = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert b"decision loss ?" in ran.stdout
    assert ran.stderr == b""


def test_unequal_weights_are_said_where_chance_is_told() -> None:
    rng = np.random.default_rng(0)
    p = rng.integers(1, 5, 300) / 5
    weighted = tc.audit(rng.random(300) < p, p, rng.random(300) + 0.1, draws=10, rng=0)
    assert weighted.inference is not None
    assert "weights differ" in weighted.inference.note
    shown = " ".join(str(weighted).split())
    assert "Note: weights differ" in shown
    assert "effective sample size" in shown
    equal = tc.audit(rng.random(300) < p, p, draws=10, rng=0)
    assert equal.inference is not None
    assert equal.inference.note == ""
    assert "Note:" not in str(equal)
