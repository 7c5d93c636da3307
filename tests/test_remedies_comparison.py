"""`compare` and `choose`: folds, paired uncertainty, exact noise, and recommendations that hold."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from itertools import combinations
from math import comb, isinf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.strategies import samples
from tests.test_remedies import TREAT, drawn
from trustcal.decisions import DecisionProblem, umbrella
from trustcal.guarantees import noise_of_kind
from trustcal.measures.decision import cdl
from trustcal.measures.monotone import monotone_cdl
from trustcal.measures.scores import auc, brier
from trustcal.measures.transport import dtc_witness
from trustcal.noise import Noise
from trustcal.paper import rain
from trustcal.predictor import Predictor
from trustcal.remedies import Comparison, MethodResult, choose
from trustcal.remedies.averaging import averaged
from trustcal.remedies.folds import SingleRows, merged, split_in_order, split_laws, split_rows
from trustcal.remedies.methods import METHODS
from trustcal.remedies.trials import Difference, ranked, tried
from trustcal.report.terminal.comparison import comparison_page
from trustcal.report.terminal.console import plain_text
from trustcal.smoothing import smooth

FloatArray = NDArray[np.float64]


def compare(*rows: Any, **options: Any) -> Comparison:
    """The table of a choice by all rows."""
    return choose(*rows, keep_back=0, **options).table


# Folds


@given(samples(), st.integers(2, 4), st.integers(0, 99))
def test_folds_part_the_rows(rows: tuple[list[int], list[float], list[float]], folds: int, seed: int) -> None:
    y, p, _ = rows
    y, p = y * folds, p * folds
    y += [0] * folds + [1] * folds
    p += [0.5] * 2 * folds
    q = Predictor.from_samples(y, p)
    parts = split_laws({"all": q}, folds, np.random.default_rng(seed))
    together = merged([part.held_out for part in parts], [part.share for part in parts], q.effective_rows)
    assert np.array_equal(together.p, q.p)
    assert together.rows == q.rows == len(y)
    np.testing.assert_allclose([together.mass, together.positive], [q.mass, q.positive], atol=1e-15)
    for part in parts:
        assert part.held_out.rows is not None
        assert part.train.rows is not None
        assert part.held_out.rows + part.train.rows == len(y)
        both = merged([part.held_out, part.train], [part.share, 1 - part.share], None)
        np.testing.assert_allclose([both.mass, both.positive], [q.mass, q.positive], atol=1e-15)
        assert part.held_out.base_rate * part.held_out.rows == pytest.approx(sum(y) / folds, abs=1)


def test_counts_are_split_as_shuffled_rows_would_be() -> None:
    """Three rows at 0.25 and three at 0.75 of each outcome: how many of each are in the first of two folds."""
    q = Predictor.from_samples([0, 1] * 6, [0.25] * 6 + [0.75] * 6)
    rng = np.random.default_rng(0)
    draws = 1500
    seen: Counter[int] = Counter()
    for _ in range(draws):
        held = split_laws({"all": q}, 2, rng)[0].held_out
        seen[round(float(held.mass[held.p == 0.25].sum()) * 6)] += 1
    expected: Counter[int] = Counter()
    for zeros in combinations(range(6), 3):
        for ones in combinations(range(6), 3):
            expected[sum(row < 3 for row in zeros) + sum(row < 3 for row in ones)] += 1
    for low, count in expected.items():
        share = count / comb(6, 3) ** 2
        assert abs(seen[low] / draws - share) < 4 * np.sqrt(share / draws)


def test_groups_are_parts_of_the_folds() -> None:
    laws = {name: Predictor.from_samples(*drawn(40 + seed, seed)) for seed, name in enumerate("abc")}
    laws["one row"] = Predictor.from_samples([1], [0.5])
    parts = split_laws(laws, 5, np.random.default_rng(0))
    for part in parts:
        sizes = [q.rows or 0 for q, _ in part.groups.values()]
        assert sum(sizes) == part.held_out.rows
        ones = sum(q.base_rate * (q.rows or 0) for q, _ in part.groups.values())
        assert part.held_out.base_rate * sum(sizes) == pytest.approx(ones)
    assert sum("one row" in part.groups for part in parts) == 1
    assert sum(part.groups["a"][1] for part in parts) == pytest.approx(1)


def test_weighted_rows_are_dealt_out() -> None:
    y, p = drawn(60, 0)
    w = np.random.default_rng(1).integers(0, 4, 60).astype(float)
    q = Predictor.from_samples(y, p, w)
    parts = split_rows(SingleRows.from_columns(y, p, w), 3, np.random.default_rng(2))
    together = merged([part.held_out for part in parts], [part.share for part in parts], q.effective_rows)
    assert np.array_equal(together.p, q.p)
    np.testing.assert_allclose([together.mass, together.positive], [q.mass, q.positive], atol=1e-15)
    assert sum(part.share for part in parts) == pytest.approx(1)


def test_in_time_order_the_past_judges() -> None:
    y, p = drawn(60, 0)
    times = np.random.default_rng(1).permutation(60)
    parts = split_in_order(SingleRows.from_columns(y, p, None, times), 5)
    assert [part.train.rows for part in parts] == [10, 20, 30, 40, 50]
    assert [part.held_out.rows for part in parts] == [10] * 5
    first = times < 10
    assert parts[0].train == Predictor.from_samples(y[first], p[first])
    with pytest.raises(ValueError, match="one entry for each of the 60 rows"):
        SingleRows.from_columns(y, p, None, times[1:])
    with pytest.raises(ValueError, match="fewer than 2 of them follow"):
        split_in_order(SingleRows.from_columns(np.zeros(60), p, None, times), 5)


# The criterion


def test_paired_differences_are_those_of_rows() -> None:
    """Mean and standard error of the difference in Brier score, row by row."""
    y, p = drawn(500, 0, distorted=2.0)
    splits = [split_laws({"all": Predictor.from_samples(y, p)}, 5, np.random.default_rng(0))]
    trials = {trial.method.name: trial for trial in tried(splits, None)}
    gaps = []
    for fold, fitted in zip(splits[0], trials["Platt"].maps[0], strict=True):
        held = fold.held_out
        for y_value, mass in ((0, held.mass - held.positive), (1, held.positive)):
            gap = (fitted(held.p) - y_value) ** 2 - (held.p - y_value) ** 2
            gaps += np.repeat(gap, np.rint(mass * (held.rows or 0)).astype(int)).tolist()
    found = trials["Platt"].against(trials["none"], None)
    assert len(gaps) == 500
    assert found.mean == pytest.approx(np.mean(gaps), abs=1e-12)
    assert found.error == pytest.approx(np.std(gaps) / np.sqrt(500), abs=1e-12)


def test_log_losses_are_paired_and_finite() -> None:
    """Row by row, with 0 and 1 a quarter of a row away from the ends: isotonic regression predicts both."""
    y, p = drawn(300, 0, distorted=2.0)
    splits = [split_laws({"all": Predictor.from_samples(y, p)}, 3, np.random.default_rng(0))]
    isotonic, none = (next(trial for trial in tried(splits, None, [name])) for name in ("isotonic", "none"))
    gaps = []
    for fold, fitted in zip(splits[0], isotonic.maps[0], strict=True):
        held = fold.held_out
        new, old = (np.clip(said, 1 / 1200, 1 - 1 / 1200) for said in (fitted(held.p), held.p))
        for mass, gap in (
            (held.mass - held.positive, np.log((1 - old) / (1 - new))),
            (held.positive, np.log(old / new)),
        ):
            gaps += np.repeat(gap, np.rint(mass * (held.rows or 0)).astype(int)).tolist()
    assert {0.0, 1.0} & {float(said) for new in isotonic.said[0] for said in new}
    found = isotonic.log_loss_against(none)
    assert len(gaps) == 300
    assert found.mean == pytest.approx(np.mean(gaps), abs=1e-12)
    assert found.error == pytest.approx(np.std(gaps) / np.sqrt(300), abs=1e-12)
    assert none.log_loss_against(none) == Difference(0.0, 0.0)


@pytest.mark.parametrize("problem", [None, TREAT])
def test_the_rule(problem: DecisionProblem | None) -> None:
    """What is recommended, from paired differences alone."""
    for seed in range(4):
        q = Predictor.from_samples(*drawn(400, seed, distorted=1.0 + 0.4 * seed))
        trials = tried([split_laws({"all": q}, 4, np.random.default_rng(seed))], problem)
        found, none = ranked(trials), trials[0]
        shown = False
        for trial in trials[1:]:
            lost, score = trial.against(none, problem), trial.against(none, None)
            clear = lost.mean <= -2 * lost.error or score.mean <= -2 * score.error
            shown |= lost.mean < 0 and lost.mean <= -lost.error and clear
        for trial, good in zip(trials[1:], found.eligible[1:], strict=True):
            lost, score = trial.against(none, problem), trial.against(none, None)
            if good:
                assert lost.mean < 0
            if problem is not None:
                assert good == (shown and lost.mean < 0)
                helps = lost.mean < 0 or (lost.mean <= 2 * lost.error and score.mean <= -2 * score.error)
                assert averaged([none, trial]) is (trial if helps else none).method
        near = [
            trial
            for trial, good in zip(trials, found.eligible, strict=True)
            if good and trial.against(found.best, problem).mean <= 2 * trial.against(found.best, problem).error
        ]
        least = min(near, key=lambda trial: trial.log_loss_against(none).mean)
        level = [
            trial for trial in near if trial.log_loss_against(least).mean <= 0.6 * trial.log_loss_against(least).error
        ]
        assert found.recommended is level[0]


@pytest.fixture(scope="module")
def overconfident() -> Comparison:
    return compare(*drawn(6000, 0, distorted=2.0), rng=1)


def named(comparison: Comparison, name: str) -> MethodResult:
    return next(row for row in comparison.methods if row.name == name)


def test_rows_are_measured_on_all_data(overconfident: Comparison) -> None:
    q = Predictor.from_samples(*drawn(6000, 0, distorted=2.0))
    none = overconfident.methods[0]
    assert none.decision_loss == pytest.approx(monotone_cdl(q), abs=1e-12)
    assert none.brier == pytest.approx(brier(q), abs=1e-12)
    assert none.auc == pytest.approx(auc(q), abs=1e-12)
    assert none.value is None
    recalibrators = [name for name, method in METHODS.items() if not method.needs_payoffs]
    assert [row.name for row in overconfident.methods if row.guarantee is None] == recalibrators
    assert (overconfident.rows, overconfident.folds, overconfident.repeats) == (6000, 5, 3)


def test_noise_costs_and_recalibration_helps(overconfident: Comparison) -> None:
    none = overconfident.methods[0]
    for row in overconfident.methods:
        assert (row.guarantee is not None) == ("noise" in row.name or row.name == "random rounding")
        if row.guarantee is not None:
            assert not row.needs_outcomes
            assert not row.eligible
            assert row.brier > none.brier
            assert row.decision_loss <= row.guarantee.value
            assert row.standard_error is None
    for name in ("temperature", "Platt", "beta", "spline", "isotonic", "centred isotonic", "histogram", "Venn–Abers"):
        assert named(overconfident, name).brier < none.brier
        assert named(overconfident, name).decision_loss < none.decision_loss / 3
        assert named(overconfident, name).eligible
    assert overconfident.recommended == "temperature"
    assert "Use noise when no outcomes will be available" in overconfident.reason


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["uniform", "laplace", "gaussian", "rounding"])
def test_noise_is_measured_exactly(kind: str) -> None:
    """The exact law, never above its guarantee, and the payoff as many draws earn."""
    y, p = drawn(1500, 1, distorted=1.2)
    q = Predictor.from_samples(y, p)
    found = compare(q, payoff=TREAT)
    choice = noise_of_kind(kind, dtc_witness(q).upper, "cdl")
    row = next(row for row in found.methods if row.guarantee == choice.guarantee)
    assert row.decision_loss == cdl(smooth(q, choice.noise))
    assert row.guarantee is not None
    assert row.decision_loss <= row.guarantee.value
    draws = [_after(choice.noise, y, p, seed) for seed in range(60)]
    assert row.value == pytest.approx(np.mean([TREAT.value(after) for after in draws]), abs=0.01)
    assert row.brier == pytest.approx(np.mean([brier(after) for after in draws]), abs=0.005)
    assert row.auc == pytest.approx(np.mean([auc(after) for after in draws]), abs=0.005)


def _after(noise: Noise, y: NDArray[np.bool_], p: FloatArray, seed: int) -> Predictor:
    return Predictor.from_samples(y, noise.sample(p, seed))


def test_a_predictor_of_the_rows_is_the_same_in_any_order(overconfident: Comparison) -> None:
    y, p = drawn(6000, 0, distorted=2.0)
    order = np.random.default_rng(2).permutation(6000)
    assert compare(Predictor.from_samples(y[order], p[order]), rng=1).to_json() == overconfident.to_json()
    assert compare(y, p, np.full(6000, 2.5), rng=1).to_json() == overconfident.to_json()


@pytest.mark.parametrize("grouped", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_weighted_rows_are_the_same_in_any_order(grouped: bool) -> None:
    (y, p), rng = drawn(400, 0, distorted=2.0), np.random.default_rng(0)
    w, groups, order = rng.lognormal(size=400), np.array(list("abca") * 100), rng.permutation(400)
    found = compare(y, p, w, by=groups if grouped else None, rng=1)
    again = compare(y[order], p[order], w[order], by=groups[order] if grouped else None, rng=1)
    assert found.to_json() == again.to_json()


def test_json_and_text(overconfident: Comparison) -> None:
    data = json.loads(overconfident.to_json(), parse_constant=pytest.fail)
    assert data["recommended"] == overconfident.recommended
    assert isinf(named(overconfident, "isotonic").log_loss)
    place = [row["name"] for row in data["methods"]].index("isotonic")
    assert data["methods"][place]["log_loss"] is None
    text = str(overconfident)
    assert max(map(len, text.splitlines())) <= 88
    assert text.startswith("Recalibrate with outcomes, by temperature.")
    assert all(text.count(f"| {row.name} ") == 1 for row in overconfident.methods)
    assert "above best" in text
    assert "…" not in text


def test_no_number_is_cut_in_88_columns() -> None:
    found = compare(*drawn(400, 0, distorted=2.0), payoff=TREAT)
    assert "…" not in plain_text(partial(comparison_page, found), 88)


def test_with_payoffs() -> None:
    y, p = drawn(3000, 0, distorted=1.0, shifted=1.5)
    found = compare(y, p, rng=0, payoff=TREAT)
    none = found.methods[0]
    assert none.value == pytest.approx(TREAT.value(Predictor.from_samples(y, p)))
    best = min(found.methods, key=lambda row: row.excess)
    assert best.value is not None
    for row in found.methods:
        assert row.value is not None
        assert row.excess == pytest.approx((best.value - row.value) / 3, abs=1e-12)
    assert found.recommended == "Platt"
    assert found.criterion == "payoff"
    assert "The payoff goes from" in str(found).replace("the payoff", "The payoff").replace("\n", " ")
    indifferent = compare(y, p, rng=0, payoff=DecisionProblem([[1, 2]]))
    assert indifferent.recommended == "none"


def test_the_rain_table() -> None:
    """49.99 % and 50.01 %, both wrong: nothing could be worse, and with outcomes nothing easier to mend."""
    q = rain().predictor
    rows = Predictor(q.p, q.mass, q.positive, rows=1000, effective_rows=1000.0)
    found = compare(rows, rng=0, payoff=umbrella())
    assert found.methods[0].value == 0
    assert named(found, "Platt").value == named(found, "histogram").value == 1
    assert found.recommended == "histogram"  # both earn everything; of the two, its Brier score is 0
    assert named(found, "histogram").brier == 0 < named(found, "Platt").brier
    assert named(found, "uniform noise").decision_loss < 0.1


# Recommendations


@pytest.mark.slow
def test_calibrated_predictions_are_left_alone() -> None:
    advice = Counter(compare(*drawn(1500, seed), rng=seed, folds=3).recommended for seed in range(10))
    assert advice["none"] >= 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("distorted", "shifted", "simplest"),
    [
        (2.0, 0.0, "temperature"),
        (0.4, 0.0, "temperature"),
        (1.0, 1.0, "Platt"),
    ],
)
def test_the_simplest_remedy_that_works(distorted: float, shifted: float, simplest: str) -> None:
    """Anything as good may be a fold's luck, but what is recommended must be close to the best."""
    names = []
    for seed in range(5):
        found = compare(*drawn(3000, seed, distorted, shifted), rng=seed)
        names.append(found.recommended)
        row = named(found, found.recommended)
        assert row.needs_outcomes
        assert row.excess < found.methods[0].excess / 3
    assert names.count(simplest) >= 4


@pytest.mark.slow
def test_close_choices_are_split_more_often() -> None:
    """Calibrated predictions with a slight shift: single splits disagree; with a strong one they do not."""
    close, clear = (compare(*drawn(1500, 3, shifted=shift), folds=2) for shift in (0.12, 1.5))
    assert (close.repeats, clear.repeats) == (40, 7)
    assert compare(*drawn(300, 3, shifted=0.12), order=np.arange(300)).repeats == 1


@pytest.mark.slow
def test_seeds_agree() -> None:
    for data in range(2):
        y, p = drawn(1000, data, distorted=1.4, shifted=0.2)
        advice = Counter(compare(y, p, rng=seed).recommended for seed in range(6))
        assert advice.most_common(1)[0][1] >= 5, advice


def test_drift_is_seen_in_time_order() -> None:
    """Half-way the model becomes right: what was learned before harms, and random folds cannot know."""
    y, p = drawn(3000, 0)
    early = np.arange(3000) < 1500
    p = np.where(early, p**0.5, p)
    assert compare(y, p).recommended != "none"
    found = compare(y[early | (np.arange(3000) >= 1500)], p, order=np.arange(3000))
    assert found.ordered
    assert named(found, "Platt").excess > named(compare(y, p), "Platt").excess - 1e-3
    assert "time order" in str(found)


@pytest.mark.slow
def test_a_group_that_is_harmed_vetoes() -> None:
    """A small group is calibrated, the others are shifted: what helps on the whole harms it."""
    (y, p), (y0, p0) = drawn(6000, 0, shifted=1.0), drawn(1500, 1)
    frame = pd.DataFrame(
        {
            "p": np.concatenate([p, p0]),
            "y": np.concatenate([y, y0]).astype(int),
            "group": ["many"] * 6000 + ["few"] * 1500,
        }
    )
    whole = compare(frame, prediction="p", outcome="y")
    assert whole.recommended == "Platt"
    found = compare(frame, prediction="p", outcome="y", by="group")
    assert named(found, "Platt").harmed == ("few",)
    assert not named(found, "Platt").eligible
    assert found.recommended == "Platt by group"
    assert named(found, "Platt by group").harmed == ()
    assert "harm a group" in found.reason
    group = frame["group"].to_numpy()
    arrays = compare(frame["y"], frame["p"], by=group)
    assert arrays.recommended == "Platt by group"
    weighted = compare(frame["y"], frame["p"], np.linspace(1, 1.5, 7500), by=group)
    assert named(weighted, "Platt").harmed == ("few",)
    assert weighted.recommended == "none"  # a map for each group is learned from rows of equal weight
    timed = compare(frame["y"], frame["p"], by=group, order=np.random.default_rng(0).random(7500))
    assert named(timed, "Platt").harmed == ("few",)
    assert timed.recommended == "Platt by group"
    with pytest.raises(ValueError, match="by must have one entry for each of the 7500 rows"):
        compare(frame["y"], frame["p"], by=group[1:])


@pytest.mark.slow
def test_groups_alike_share_one_map() -> None:
    """At most one of eight samples may give groups that do not differ maps of their own."""
    apart = 0
    for seed in range(8):
        y, p = drawn(2000, seed, distorted=2.0)
        apart += compare(y, p, by=np.random.default_rng(seed).choice(["a", "b", "c"], 2000)).recommended.endswith(
            "group"
        )
    assert apart <= 1


def test_files_know_groups_weights_and_times_together(tmp_path: Path) -> None:
    (y, p), (y0, p0) = drawn(3000, 0, shifted=1.0), drawn(800, 1)
    rows = pd.DataFrame({"p": [*p, *p0], "y": [*y, *y0], "w": np.linspace(1, 1.5, 3800)})
    rows["y"] = rows["y"].astype(int)
    rows["g"] = [True] * 3000 + [False] * 800
    rows["t"] = np.random.default_rng(0).permutation(3800)
    file = tmp_path / "rows.csv"
    rows.to_csv(file, index=False)
    options = {"prediction": "p", "outcome": "y", "by": "g"}
    assert named(compare(file, **options, weight="w"), "Platt").harmed == ("False",)
    timed = compare(file, **options, order="t")
    assert [method.name for method in timed.methods if method.name.endswith("group")]
    assert timed.ordered


def test_tiny_data() -> None:
    found = compare([0, 1, 0, 1], [0.2, 0.8, 0.8, 0.2], folds=2, rng=0)
    assert found.rows == 4
    assert found.recommended in [row.name for row in found.methods]
    assert compare([0, 1] * 5, [0.5] * 10, rng=0).recommended == "none"
    ends = compare([0, 1, 0, 1, 1, 0], [0, 0, 1, 1, 1, 0], folds=2, rng=0)
    assert isinf(ends.methods[0].log_loss)


def test_weights_count() -> None:
    """Rows of weight 3 and one of weight 0 beside those that count once."""
    y, p = drawn(2000, 0, distorted=2.0)
    w = np.where(p > 0.5, 3.0, 1.0)
    w[0] = 0
    found = compare(y, p, w, rng=0)
    q = Predictor.from_samples(y, p, w)
    assert found.rows == 1999
    assert found.methods[0].brier == pytest.approx(brier(q), abs=1e-12)
    assert found.recommended == "temperature"


def test_weights_that_are_nearly_equal_count_too() -> None:
    y, p = drawn(2000, 0, distorted=2.0)
    w = np.where(y, 1.15, 0.85)
    assert compare(y, p, w).methods[0].brier == pytest.approx(brier(y, p, w), abs=1e-12)


# The choice


@pytest.mark.slow
def test_choose_fits_what_is_recommended() -> None:
    y, p = drawn(4000, 0, distorted=2.0)
    choice = choose(y, p, keep_back=0)
    assert choice.recommended == choice.fitted.method == "temperature"
    assert choice.fitted.learned is not None
    assert choice.fitted.learned.rows == 4000
    assert choice.fitted.certificate is None
    insisted = choose(y, p, method="beta", keep_back=0.25, payoff=TREAT)
    assert insisted.fitted.method == "beta"
    assert insisted.fitted.learned is not None
    assert insisted.fitted.learned.rows is not None
    certificate = insisted.fitted.certificate
    assert certificate is not None
    assert certificate.rows + insisted.fitted.learned.rows == 4000
    assert 900 < certificate.rows < 1100
    assert certificate.action_regret is not None
    assert str(insisted).count("kept back") == 1


def test_files_in_time_order(tmp_path: Path) -> None:
    y, p = drawn(500, 0, distorted=2.0)
    times = np.random.default_rng(1).permutation(500)
    file = tmp_path / "rows.csv"
    lines = [f"{a!r},{int(b)},{t}" for a, b, t in zip(p.tolist(), y.tolist(), times.tolist(), strict=True)]
    file.write_text("p,y,t\n" + "\n".join(lines) + "\n")
    assert compare(file, order="t").to_json() == compare(y, p, order=times).to_json()
    with pytest.raises(ValueError, match="has no column 'z'"):
        compare(file, order="z")


def test_refusals() -> None:
    with pytest.raises(ValueError, match="2 or more, not 1"):
        compare([0, 1], [0.5, 0.5], folds=1, rng=0)
    with pytest.raises(ValueError, match="known law has none"):
        compare(Predictor([0.5], [1.0], [0.5]), rng=0)
    with pytest.raises(ValueError, match="Pass the rows themselves"):
        compare(Predictor.from_samples([0, 1] * 9, [0.5] * 18, [1, 2, 3] * 6), rng=0)
    with pytest.raises(ValueError, match=r"4 rows of outcome 0 and 6 of outcome 1, without those kept back\. Use more"):
        compare([0] * 4 + [1] * 6, [0.5] * 10, rng=0)
    with pytest.raises(ValueError, match="but all are 1"):
        compare([1] * 9, [0.5] * 9, rng=0)
    with pytest.raises(ValueError, match="fewer than 10"):
        compare(Predictor([0.5], [1.0], [0.5], rows=10**9, effective_rows=1e9), rng=0)
    with pytest.raises(ValueError, match="keep_back"):
        choose([0, 1] * 9, [0.5] * 18, keep_back=1.5)


def test_many_rows_cost_what_their_values_cost() -> None:
    """10^8 rows on 1,000 values."""
    p = (np.arange(1000) + 0.5) / 1000
    count = np.full(1000, 100_000)
    positive = np.random.default_rng(0).binomial(count, p**1.5)
    q = Predictor(p, count / 10**8, positive / 10**8, rows=10**8, effective_rows=1e8)
    found = compare(q, rng=0)
    assert found.rows == 10**8
    assert found.recommended != "none"


@pytest.mark.slow
def test_rows_are_kept_back_from_weights_groups_and_time() -> None:
    y, p = drawn(1000, 0, distorted=2.0)
    weighted = choose(y, p, np.linspace(1, 2, 1000))
    assert weighted.fitted.certificate is not None
    assert weighted.fitted.certificate.rows == 250
    assert not weighted.fitted.certificate.proved
    timed = choose(y, p, order=np.arange(1000)[::-1])
    assert timed.fitted.certificate is not None
    assert timed.fitted.certificate.rows == 250
    assert timed.fitted.learned is not None
    learned = Predictor.from_samples(y[250:], p[250:])
    assert timed.fitted.map == METHODS[timed.fitted.method].learn(learned, None)
    frame = pd.DataFrame({"p": p, "y": y.astype(int), "g": ["a", "b"] * 500})
    grouped = choose(frame, prediction="p", outcome="y", by="g")
    assert grouped.fitted.certificate is not None
    assert grouped.fitted.learned is not None
    assert grouped.fitted.learned.prediction == "p"
    assert grouped.fitted.certificate.rows + (grouped.fitted.learned.rows or 0) == 1000
