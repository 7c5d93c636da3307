"""Five stories from a file to the sentence that its reader acts on, and the parts of the verdict."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import trustcal as tc
from tests.strategies import predictors
from trustcal.auditing import Gate
from trustcal.auditing.chance import group_p_values, settled_test
from trustcal.auditing.losses import loss_measure, losses_at, problem_regret, threshold_loss, worst_threshold
from trustcal.cli import main
from trustcal.formats import acts
from trustcal.predictor import Predictor
from trustcal.remedies import choose

FloatArray = NDArray[np.float64]


def file_of(tmp_path: Path, **columns: Any) -> Path:
    file = tmp_path / "rows.csv"
    pl.DataFrame(columns).write_csv(file)
    return file


# --- stories


@pytest.mark.slow
def test_a_ward_that_is_hurt_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All wards together look nearly fine; in one, twice as many fall ill as predicted."""
    rng = np.random.default_rng(0)
    ward, p = rng.choice(["north", "east", "south", "west"], 2000), rng.beta(1, 3, 2000)
    ill = rng.random(2000) < np.where(ward == "west", np.minimum(1, 2 * p), 0.97 * p)
    file = file_of(tmp_path, risk=p, ill=ill.astype(int), ward=ward)
    payoff = tmp_path / "payoff.csv"
    payoff.write_text("action,0,1\nwait,0,0\ntreat,-1,3\n")
    audit = tc.audit(file, prediction="risk", outcome="ill", by="ward", payoff=payoff)
    yours, group, _ = audit.verdict.hurt
    assert audit.verdict.state == "off"
    assert yours.who == "With your payoffs"
    assert (group.who, group.text[:12]) == ("Worst-hurt group", "ward = west,")
    assert "Its predictions are too low: 0.24 on average, where the outcome has a frequency of 0.4" in group.text
    assert re.search(r"choosing “treat” above 0\.1\d* instead of above 0\.25 there gains 0\.\d+ per row", group.text)
    assert audit.groups[0].name == "west"
    assert "In ward = west the outcome has a frequency of 43" in audit.verdict.headline
    remedy = next(one for one in audit.advice if one.topic == "remedy")
    assert remedy.lead.startswith("Recalibrate ward = west by itself, by ")
    assert remedy.command == f"trustcal fix {file} -p risk -y ill --by ward --payoff {payoff} --save remedy.json"
    assert [one.name for one in audit.groups if (one.p_value or 1) <= 0.05] == ["west"]
    monkeypatch.chdir(tmp_path)  # a command that is printed may be as long as its paths
    assert main(["audit", file.name, "-p", "risk", "-y", "ill", "--by", "ward", "--payoff", payoff.name]) == 0
    out = capsys.readouterr().out
    assert out.index("Worst-hurt group: ward = west") < out.index("Worst hit") < out.index("Distinct predictions")
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.slow
def test_groups_that_cancel_each_other_say_nothing_about_thresholds_for_all() -> None:
    """All rows together are calibrated: the worst threshold and the worst range of all rows may be chance."""
    rng = np.random.default_rng(0)
    p, low = rng.uniform(0.2, 0.8, 4000), rng.random(4000) < 0.5
    frame = pd.DataFrame({"p": p, "y": (rng.random(4000) < np.where(low, p - 0.15, p + 0.15)).astype(int), "low": low})
    audit = tc.audit(frame, by="low")
    assert audit.inference is not None
    assert audit.inference.test.p_value > 0.05
    assert audit.verdict.state == "off"
    assert [harm.who for harm in audit.verdict.hurt] == ["Worst-hurt group"]
    assert audit.verdict.where is None
    assert audit.verdict.hurt[0].text.startswith("low = ")
    nothing = [replace(one, loss=replace(one.loss, estimate=0.0)) for one in audit.groups]
    harm = replace(audit, groups=tuple(nothing)).verdict.hurt[0]
    assert harm.who == "Group that is off"
    assert "where nothing shows that this costs anybody anything, but a loss of up to " in harm.text


@pytest.mark.slow
def test_what_you_lose_does_not_depend_on_the_seed() -> None:
    """The interval for the loss ends next to 0: more draws are taken until it is clear on which side."""
    rng = np.random.default_rng(1)
    p = rng.random(3000)
    y, payoff = rng.random(3000) < p**1.4, tc.DecisionProblem([[0, 0], [-100, 300]])
    losses = [tc.audit(y, p, payoff=payoff, rng=seed).problem for seed in (4, 5, 6, 7)]
    assert len({bool(loss.lower) for loss in losses if loss is not None}) == 1


def test_another_rule_and_recalibration_are_alternatives() -> None:
    rng = np.random.default_rng(3)
    p = rng.random(3000)
    audit = tc.audit(rng.random(3000) < p**2, p, payoff=tc.DecisionProblem([[0, 0], [-1, 1]]))
    rule, remedy = (one for one in audit.advice if one.topic == "remedy")
    assert rule.lead == "Use another rule."
    assert "Do this instead of the above, not as well" in remedy.text


@pytest.mark.slow
def test_a_mean_that_may_be_chance_is_not_called_too_high() -> None:
    """Too extreme in every region: there the mean is off by chance only, and a lower threshold is better."""
    rng = np.random.default_rng(0)
    t = rng.random(4000)
    p, region = t**2 / (t**2 + (1 - t) ** 2), rng.choice(["n", "s", "w"], 4000)
    frame = pl.DataFrame({"p": p, "y": rng.random(4000) < t, "region": region})
    payoff = tc.DecisionProblem([[0, 0], [-100, 300]])
    audit = tc.audit(frame, prediction="p", outcome="y", by="region", payoff=payoff)
    assert any(harm.who == "Worst-hurt group" for harm in audit.verdict.hurt)
    for text in (audit.verdict.headline, *(harm.text for harm in audit.verdict.hurt)):
        assert "too high:" not in text
        assert "too low:" not in text
        assert "was predicted" not in text


def test_what_fix_recommends_is_advised_beside_another_rule() -> None:
    """Its gain may be chance, as payoffs are noisy; but it helps everybody, and is an alternative."""
    rng = np.random.default_rng(2)
    t = rng.random(2000)
    p = t**2 / (t**2 + (1 - t) ** 2)
    audit = tc.audit(rng.random(2000) < t, p, payoff=tc.DecisionProblem([[0, 0], [-100, 300]]))
    leads = [one.lead for one in audit.advice if one.topic == "remedy"]
    assert audit.remedy is not None
    assert audit.remedy.method != "none"
    assert leads[-1] == f"Recalibrate, by {audit.remedy.method}."


def test_predictions_of_the_other_outcome_are_recognised() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(500)
    audit = tc.audit(rng.random(500) < 1 - p, p)
    assert next(one for one in audit.advice if one.topic == "remedy").lead == "Check which outcome is predicted."


@pytest.mark.parametrize("outcome", [0, 1])
def test_nothing_is_learned_from_one_outcome(outcome: int) -> None:
    p = np.linspace(0.3, 0.7, 100)
    audit = tc.audit(np.full(100, outcome), p)
    (remedy,) = (one for one in audit.advice if one.topic == "remedy")
    assert remedy.lead == "Collect rows of both outcomes."
    assert remedy.text.startswith(f"No outcome is {1 - outcome}")
    with pytest.raises(ValueError, match=f"rows of both outcomes, but all are {outcome}"):
        choose(np.full(100, outcome), p)


def test_a_model_that_is_fine_is_called_trustworthy(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    p = rng.random(10_000)
    audit = tc.audit(file_of(tmp_path, prediction=p, outcome=(rng.random(10_000) < p).astype(int)))
    verdict = audit.verdict
    assert (verdict.state, verdict.fine, verdict.hurt, verdict.where) == ("trustworthy", True, (), None)
    assert verdict.headline.startswith("You can act on these predictions. Nobody loses more than ")
    assert verdict.upper is not None
    assert verdict.upper < 0.02
    assert next(one for one in audit.advice if one.topic == "remedy").lead == "Nothing to fix."


def test_eighty_rows_are_too_few(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(80)
    verdict = tc.audit(file_of(tmp_path, prediction=p, outcome=(rng.random(80) < p).astype(int))).verdict
    assert (verdict.state, verdict.fine) == ("too few rows to tell", False)
    assert verdict.headline.startswith(
        "Too few rows to tell. There is no evidence against these predictions, but with 80"
    )
    assert "% of the payoff range cannot be ruled out. Collect more rows" in verdict.headline


@pytest.mark.parametrize("rows", [([0, 0, 0], [0.0, 0.0, 0.0]), ([1], [0.5]), ([1] * 20, [1.0] * 20)])
def test_few_rows_are_never_called_fine(rows: tuple[list[int], list[float]]) -> None:
    """Even if all of them agree: resampling shows no spread then."""
    verdict = tc.audit(*rows).verdict
    assert verdict.state == "too few rows to tell"
    assert verdict.upper is not None
    assert verdict.upper >= 1 - 0.025 ** (1 / len(rows[0])) - 1e-12


def test_confidences_with_ties_are_said_at_or_above(tmp_path: Path) -> None:
    """A language model says 0.9 much too often; acting at 0.9 is the mistake, acting above it is not."""
    rng = np.random.default_rng(0)
    said = rng.choice([0.5, 0.7, 0.9, 0.95], 3000, p=[0.2, 0.2, 0.4, 0.2])
    right = rng.random(3000) < np.where(said == 0.9, 0.6, said)
    audit = tc.audit(file_of(tmp_path, prediction=said, outcome=right.astype(int)))
    assert audit.loss.measure == "cdl"
    worst = audit.verdict.hurt[0].text
    assert worst.startswith("whoever acts at or above 0.9 should act at or above 0.95.")
    assert audit.verdict.where is not None
    assert audit.verdict.where.startswith("Predictions of 0.90 (")
    assert "too high, by 0.3" in audit.verdict.where


def test_an_overconfident_model_needs_another_threshold(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    truth = rng.random(5000)
    p = truth**2 / (truth**2 + (1 - truth) ** 2)
    file = file_of(tmp_path, prediction=p, outcome=(rng.random(5000) < truth).astype(int))
    audit = tc.audit(file, payoff=tc.DecisionProblem([[0, 0], [-4, 1]], ["wait", "act"]))
    assert audit.verdict.state == "off"
    assert audit.problem is not None
    (instead,) = audit.problem.instead
    assert 0.87 < instead < 0.97  # what is truly 0.8 is predicted as 0.94
    assert f"Choosing “act” above {instead:g} instead of above 0.8 would have earned" in audit.verdict.hurt[0].text
    assert audit.problem.lower is not None
    assert audit.problem.lower > 0
    assert audit.verdict.headline.startswith(
        "These predictions are off, and not by chance. With your payoffs, believing them costs about 0.0"
    )
    rule, remedy = (one for one in audit.advice if one.topic == "remedy")
    assert rule.lead == "Use another rule."
    assert re.search(rf"above {instead:g} instead of above 0\.8 gains about \d\.\d+ per 100 decisions", rule.text)
    assert remedy.lead.startswith("Recalibrate, by ")
    assert audit.remedy is not None
    assert audit.remedy.lower > 0


@pytest.mark.slow
def test_the_readme_example_holds_the_truth() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(10_000)
    loss = tc.audit(rng.random(10_000) < p**2, p).loss
    assert loss.lower is not None
    assert loss.upper is not None
    assert loss.lower < 0.0547379 < loss.upper
    assert loss.estimate == pytest.approx(0.0547379, abs=0.005)
    assert loss.held_out == pytest.approx(0.0547379, abs=0.008)


# --- the parts


def test_without_simulations_nothing_is_claimed() -> None:
    verdict = tc.audit([0, 1] * 50, np.linspace(0, 1, 100), draws=0).verdict
    assert verdict.state == "not tested"
    assert not verdict.fine


@given(predictors(max_values=8), st.floats(0, 1))
def test_a_threshold_is_charged_its_profile(q: Predictor, mu: float) -> None:
    for measure, witness in (("cdl", tc.cdl_witness(q)), ("monotone_cdl", tc.monotone_cdl_witness(q))):
        found = threshold_loss(q, measure, mu)
        expected = float(witness.profile(mu)) / max(mu, 1 - mu)
        assert found.loss == pytest.approx(expected, abs=1e-12)
        assert 0 <= found.gain <= found.loss
        assert losses_at(q, measure, np.array([mu]))[0] == pytest.approx(expected, abs=1e-12)
    # The rule that is recommended gains what is said, in the worse way to treat ties.
    acted, should = (
        (q.p >= mu if found.acts_on else q.p > mu),
        (q.p >= found.instead if found.instead_on else q.p > found.instead),
    )
    gain = float(((q.positive - mu * q.mass) * (should.astype(float) - acted)).sum()) / max(mu, 1 - mu)
    assert found.gain == pytest.approx(max(0.0, gain), abs=1e-9)
    assert found.reversed == pytest.approx(float(q.mass[should != acted].sum()), abs=1e-9)


def test_thresholds_have_few_digits() -> None:
    rng = np.random.default_rng(2)
    p = rng.random(3000)
    q = Predictor.from_samples(rng.random(3000) < p**2, p)
    mu = worst_threshold(q, "monotone_cdl")
    assert mu == round(mu, 2)
    instead = threshold_loss(q, "monotone_cdl", mu).instead
    assert instead == round(instead, 2) > mu
    assert acts(instead) == f"above {instead:g}"


def test_the_users_regret_is_the_larger_of_two() -> None:
    rain = Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])
    assert problem_regret(rain, tc.umbrella()) == (0.5, 1.0)
    square = Predictor([0.25, 0.5, 0.75], [0.25, 0.5, 0.25], [0.0, 0.125, 0.25])
    moving, swapping = problem_regret(square, tc.threshold(0.4))
    assert moving > swapping == 0


def test_groups_are_measured_by_what_their_values_allow() -> None:
    repeated, rare = Predictor([0.5], [1.0], [0.5]), Predictor.from_samples([0, 1], [0.2, 0.7])
    assert [loss_measure(*parts) for parts in ((repeated,), (repeated, rare), (rare, repeated))] == [
        "cdl", "monotone_cdl", "monotone_cdl",
    ]  # fmt: skip


def test_the_test_draws_until_it_is_clear() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(300)
    off, fine = (Predictor.from_samples(rng.random(300) < truth, p) for truth in (p**3, p))
    assert settled_test(off, 0, np.random.default_rng(0)).draws == 200
    assert settled_test(off, 500, np.random.default_rng(0)).draws == 500
    assert settled_test(fine, 0, np.random.default_rng(0)).p_value > 0.05
    borderline = settled_test(fine, 0, np.random.default_rng(0), level=settled_test(fine, 0, rng).p_value)
    assert borderline.draws > 200


def test_p_values_of_groups_are_adjusted() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(400)
    fine = [Predictor.from_samples(rng.random(400) < p, p) for _ in range(3)]
    off = Predictor.from_samples(rng.random(400) < p**3, p)
    found = group_p_values([*fine, off, Predictor([0.5], [1.0], [0.5])], 40, np.random.default_rng(1))
    assert found[3] == pytest.approx(4 / 201)
    assert found[4] is None
    assert all(value is not None and value > 0.05 for value in found[:3])
    assert group_p_values([off], 0, rng) == [None]


def test_without_evidence_the_interval_goes_down_to_0() -> None:
    """The p-value of the loss alone is below 5 % here, by chance; that of the combined test, which decides, is not."""
    rng = np.random.default_rng(7)
    p = rng.random(120)
    y = rng.random(120) < p
    (alone,) = tc.inference.uncertainties(Predictor.from_samples(y, p), ["monotone_cdl"], draws=40, rng=0)
    assert alone.p_value <= 0.05
    assert alone.lower > 0
    audit = tc.audit(y, p)
    assert audit.inference is not None
    assert audit.inference.test.p_value > 0.5
    assert audit.inference.of("monotone_cdl").lower == alone.lower
    assert audit.loss.lower == audit.verdict.lower == 0 < audit.loss.estimate < (audit.loss.upper or 0.0)
    assert not audit.check("loss.lower>0")


def test_the_gate_has_the_lower_end_that_is_shown_where_values_repeat() -> None:
    """By CDL alone 0 would be excluded here, by chance; the combined test finds no evidence."""
    found = None
    for seed in range(200):
        rng = np.random.default_rng(seed)
        p = rng.choice([0.2, 0.4, 0.6, 0.8], 200)
        audit = tc.audit(rng.random(200) < p, p)
        assert audit.inference is not None
        assert audit.loss.measure == "cdl"
        assert Gate.parse("loss.lower>0").value(audit) == audit.loss.lower
        if audit.loss.lower == 0 < audit.inference.of("cdl").lower:
            found = seed
            break
    assert found is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "population"),
    [(lambda p: p**2, 0.0547379), (lambda p: p, 0.0), (lambda p: p**0.5 / (p**0.5 + (1 - p) ** 0.5), 0.0211603)],
)
def test_the_estimate_is_nearly_unbiased_and_its_interval_covers(truth: Any, population: float) -> None:
    """theory.md: the bias is below a tenth of the truth plus 0.003, the nominal 95 % interval covers."""
    rng = np.random.default_rng(5)
    estimates, covered = [], 0
    for _ in range(60):
        p = rng.random(1000)
        q = Predictor.from_samples(rng.random(1000) < truth(p), p)
        (known,) = tc.inference.uncertainties(q, ["monotone_cdl"], draws=60, rng=rng)
        estimates.append(known.excess)
        covered += known.lower <= population <= known.upper
    assert abs(np.mean(estimates) - population) <= 0.1 * population + 0.003
    assert covered >= 54  # 57 expected; fewer than 54 has probability 0.03 at 95 %


@pytest.mark.slow
def test_gates_on_groups_name_the_group_that_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    ward, p = np.repeat(["east", "west"], 500), rng.random(1000)
    y = (rng.random(1000) < np.where(ward == "west", p**3, p)).astype(int)
    file = file_of(tmp_path, prediction=p, outcome=y, ward=ward)
    audit = tc.audit(file, by="ward", payoff=tc.threshold(0.5))
    (failure,) = audit.check("group.loss.lower>0.02", "loss>0.5")
    assert (failure.group, str(failure.gate)) == ("west", "group.loss.lower>0.02")
    assert re.search(r"in group west \(loss 0\.1\d*, 95 % interval 0\.\d+ to 0\.\d+; 500 rows\)$", str(failure))
    assert audit.check("group.monotone_cdl.lower>0.02")[0].group == "west"
    assert [one.group for one in audit.check("group.loss.p<0.05", "group.cutoff>0.1", "group.regret>0.05")] == [
        "west"
    ] * 3
    with pytest.raises(ValueError, match="of a group only the loss has parts, lower, upper, p"):
        audit.check("group.cutoff.lower>0.1")
    with pytest.raises(ValueError, match=r"needs groups: audit with by="):
        tc.audit(y, p, draws=0).check("group.loss>0.1")
    with pytest.raises(ValueError, match=r"no value in group (east|west): it needs payoffs, draws or bins"):
        audit.check("group.cdl>0.1")
    command = ["audit", str(file), "--fail-if", "group.loss>0.02"]
    assert main(command) == 2
    assert "use --by COLUMN" in capsys.readouterr().err
    assert main([*command, "--by", "ward"]) == 1
    assert "in group west" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_predictions_in_the_wrong_order_are_reported() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    audit = tc.audit(rng.random(3000) < p + 0.15 * np.sin(6 * np.pi * p), p)
    assert audit.fall is not None
    assert audit.fall.before > audit.fall.after
    assert any(one.lead == "Not in order." for one in audit.advice)
    assert "Not in order. From 0." in " ".join(str(audit).split())
    rising = tc.audit(rng.random(3000) < p**2, p)
    assert all(one.lead != "Not in order." for one in rising.advice)
    assert tc.audit(np.tile([0, 1], 50), np.full(100, 0.5)).fall is None  # CDL measures the loss
    assert tc.Audit.from_json(audit.to_json()) == audit


# --- what to do


def advised(audit: tc.Audit) -> str:
    return " ".join(one.lead for one in audit.advice if one.topic == "remedy")


@pytest.mark.slow
def test_the_advice_never_contradicts_the_verdict() -> None:
    """Fine predictions are not recalibrated, whatever a comparison says; and what is off is never left as it is."""
    rng = np.random.default_rng(4)
    p = rng.random(400)
    for power in (1.0, 1.15, 1.5, 2.0):
        y = rng.random(400) < p**power
        audit = tc.audit(y, p, compare=True)
        words = advised(audit)
        assert words.startswith("Nothing") == audit.verdict.fine, (power, words)
        if audit.verdict.state == "off":
            assert words.startswith(("Recalibrate", "Collect more rows"))
            assert audit.remedy is not None
            assert audit.comparison is not None
            assert audit.remedy.method == audit.comparison.recommended


def test_a_promise_that_is_worse_than_what_is_measured_is_no_advice() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    audit = tc.audit(rng.random(2000) < p**1.5, p)
    assert audit.guarantee is not None
    assert audit.guarantee.choice.guarantee.value > audit.loss.estimate
    assert not [one for one in audit.advice if one.topic == "guarantee"]
    assert "Guarantee." not in str(audit)


def test_a_group_of_three_rows_does_not_shout() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(1500)
    y = rng.random(1500) < p
    y[:3], p[:3] = 1, 0.5  # they show a loss of 50 %
    parts = {"few": slice(0, 3), "many": slice(3, 1500)}
    audit = tc.audit(y, p, groups={name: Predictor.from_samples(y[of], p[of]) for name, of in parts.items()})
    few = next(group for group in audit.groups if group.name == "few")
    assert few.small
    assert "few has too few rows to say anything (3)" in " ".join(str(audit).split())
    assert "few" not in audit.verdict.headline


@pytest.mark.slow
def test_the_verdict_does_not_depend_on_the_seed() -> None:
    rng = np.random.default_rng(9)
    p = rng.random(500)
    for power in (1.0, 1.6):
        y = rng.random(500) < p**power
        assert len({tc.audit(y, p, rng=seed).verdict.state for seed in range(4)}) == 1


def _in_two_cells(rows: int) -> pl.DataFrame:
    """Calibrated but for two cells of eight, where predictions are 0.15 too high and too low: the whole hides it."""
    rng = np.random.default_rng(0)
    p, cell = rng.uniform(0.2, 0.8, rows), rng.choice(list("abcdefgh"), rows)
    truth = p + 0.15 * (cell == "a") - 0.15 * (cell == "b")
    return pl.DataFrame({"p": p, "y": rng.random(rows) < truth, "cell": cell})


@pytest.mark.slow
def test_a_hurt_group_is_not_hidden_by_the_whole() -> None:
    """All rows together lose next to nothing, whatever their p-value."""
    audit = tc.audit(_in_two_cells(16_000), prediction="p", outcome="y", by="cell")
    assert audit.verdict.state == "off"
    assert audit.verdict.headline.startswith("These predictions are off in part of the rows, and not by chance. In ")
    assert not audit.verdict.fine
    assert "Nothing to fix" not in str(audit)


def test_a_hurt_segment_reaches_the_verdict_and_the_advice() -> None:
    audit = tc.audit(_in_two_cells(16_000), prediction="p", outcome="y", segments="all")
    assert audit.segments is not None
    assert audit.verdict.state == "off"
    assert "Where cell = " in audit.verdict.headline
    assert any(harm.who == "Worst-hurt segment" for harm in audit.verdict.hurt)
    assert any(one.lead == "Recalibrate the segments that are hurt." for one in audit.advice)


def test_chance_is_not_a_loss_where_values_repeat() -> None:
    """20 rows for each of 1,000 values: CDL shows 1 to 2 % of calibrated predictions."""
    rng = np.random.default_rng(0)
    p = np.round(rng.random(20_000), 3)
    audit = tc.audit(rng.random(20_000) < p, p)
    assert audit.loss.measure == "cdl"
    assert audit.loss.shown > 0.01
    assert audit.loss.estimate < 0.003
    off = tc.audit(rng.random(20_000) < np.round(p, 1) ** 2, np.round(p, 1))
    assert off.loss.estimate == off.loss.shown


def test_what_is_earned_and_gained_on_a_threshold_adds_up() -> None:
    """Predictions on the threshold count the worse way in both: here not to treat, where 30 % are ones."""
    q = Predictor.from_samples([0] * 70 + [1] * 30 + [0] * 95 + [1] * 5, [0.25] * 100 + [0.05] * 100)
    problem = tc.DecisionProblem([[0, 0], [-100, 300]])
    found = tc.audit(q, payoff=problem).problem
    assert found is not None
    assert found.thresholds == (0.25,)
    assert (found.value, found.moving) == pytest.approx((0.0, 10.0))
    assert problem.value(q.isotonic()) == pytest.approx(10.0)


def test_certain_predictions_that_were_wrong_are_named() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = rng.random(300) < p
    assert not tc.audit(y, p).verdict.caveats
    (caveat,) = tc.audit([*y, 0], [*p, 1.0]).verdict.caveats
    assert caveat.startswith("Some predictions of exactly 0 or 1 were wrong")


def test_the_command_learns_the_method_that_was_judged(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    y = rng.random(2000) < p**2
    file = tmp_path / "rows.csv"
    file.write_text("p,y\n" + "".join(f"{a!r},{int(b)}\n" for a, b in zip(p.tolist(), y.tolist(), strict=True)))
    audit = tc.audit(file, prediction="p", outcome="y")
    assert audit.remedy is not None
    (command,) = (one.command for one in audit.advice if one.command)
    assert f"--method {shlex.quote(audit.remedy.method)} " in command


@pytest.mark.slow
def test_a_map_for_each_group_is_learned_by_a_command_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The method of such a remedy is no method of the command."""
    rng = np.random.default_rng(1)
    group, p = rng.choice(["a", "b"], 2000), rng.random(2000)
    y = rng.random(2000) < np.where(group == "a", p**2, p**0.5)
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"p": p, "y": y.astype(int), "g": group}).write_csv("rows.csv")
    audit = tc.audit("rows.csv", prediction="p", outcome="y", by="g", compare=True, draws=20)
    assert audit.remedy is not None
    assert audit.remedy.method.endswith(" by group")
    commands = [one.command for one in audit.advice if one.command]
    assert commands
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().err == ""
    error = (audit.remedy.upper - audit.remedy.lower) / 4
    assert error > 0.001  # that of row by row differences is 0.0036


@pytest.mark.slow
def test_a_segment_that_loses_next_to_nothing_is_no_verdict() -> None:
    audit = tc.audit(_in_two_cells(16_000), prediction="p", outcome="y", segments="all")
    assert audit.segments is not None
    slight = [replace(one, harm=0.002, lower=0.001, upper=0.004) for one in audit.segments.found]
    assert replace(audit, segments=replace(audit.segments, found=tuple(slight))).verdict.state != "off"


@pytest.mark.slow
def test_calls_with_weights_and_clusters() -> None:
    rng = np.random.default_rng(1)
    cluster = np.repeat(np.arange(100), 10)
    truth = rng.random(100)[cluster]
    p = np.clip(truth + 0.05 * rng.standard_normal(1000), 0.01, 0.99)
    y = rng.random(1000) < truth**3
    for weight, words in (
        (None, "y_true, y_prob, cluster"),
        (rng.random(1000), "y_true, y_prob, sample_weight, cluster"),
    ):
        audit = tc.audit(y, p, weight, cluster=cluster, draws=20)
        assert any(one.command and f"choose({words}=cluster" in one.command for one in audit.advice)


def test_rows_in_clusters_are_counted_in_a_sentence() -> None:
    rng = np.random.default_rng(0)
    p = np.repeat(rng.random(50), 10)
    audit = tc.audit(np.repeat(rng.random(50) < p[::10], 10), p, cluster=np.repeat(np.arange(50), 10))
    assert "with 500 rows (as good as 50 independent ones of equal weight)" in audit.verdict.headline
