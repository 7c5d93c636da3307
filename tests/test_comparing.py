"""Models side by side: exact values, the definition at every threshold, and simulated coverage."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import trustcal as tc
from trustcal import remedies
from trustcal.cli import main
from trustcal.comparing.numbers import ModelPair, PairedDifference
from trustcal.report.terminal.comparison import choice_page
from trustcal.report.terminal.console import plain_text
from trustcal.report.terminal.models import models_page

CERTAIN = {"sure": [0.0, 0.0, 1.0, 1.0], "even": [0.5, 0.5, 0.5, 0.5]}


def test_exact_values() -> None:
    """Perfect predictions against always one half, on two rows of each outcome."""
    found = tc.compare(CERTAIN, [0, 0, 1, 1], draws=50)
    sure, even = found.models
    assert (found.rows, found.base_rate, found.best) == (4, 0.5, "sure")
    assert (sure.brier, even.brier, sure.auc, even.auc) == (0.0, 0.25, 1.0, 0.5)
    assert sure.split == tc.Corp(mcb=0.0, dsc=0.25, unc=0.25)
    (pair,) = found.pairs
    assert (pair.first, pair.second, pair.dominates) == ("sure", "even", "sure")
    assert (pair.brier.value, pair.loss_first.value, pair.loss_second.value) == (-0.25, 0.0, 0.5)
    assert pair.value is None


@pytest.mark.slow
def test_a_number_and_its_percent_sign_stay_on_one_line() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = rng.random(300) < p
    found, choice = tc.compare({"a": p, "b": p**3}, y, draws=20), remedies.choose(y, p**3)
    for page in (partial(models_page, found), partial(choice_page, choice, None)):
        for width in range(60, 100):
            assert not re.search(r"\d\n *%", plain_text(page, width))


def test_equal_models_are_said_to_be_the_same() -> None:
    found = tc.compare({"one": [0.2, 0.7], "other": [0.2, 0.7]}, [0, 1], draws=20)
    assert found.headline == "By the Brier score one and other are the same on these rows."


@pytest.mark.parametrize("weighted", [False, True])
def test_the_order_of_rows_does_not_matter(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    p, order = rng.random((2, 300)), rng.permutation(300)
    y, w = rng.random(300) < p[0], rng.lognormal(size=300) if weighted else None
    found = tc.compare({"a": p[0], "b": p[1]}, y, w, draws=20)
    again = tc.compare({"a": p[0, order], "b": p[1, order]}, y[order], None if w is None else w[order], draws=20)
    assert found.to_json() == again.to_json()


def test_swapped_arguments_are_named() -> None:
    rows: Any = np.zeros(600)
    models: Any = {"a": rows, "b": rows}
    with pytest.raises(ValueError, match=r"^models must be a dict of predictions .* y_true after it, not .{,80}\.$"):
        tc.compare(rows, models)


def test_payoffs_choose_the_best_model() -> None:
    """At a threshold of 0.9 nobody acts by either; at 0.3 the model that always says one half acts on all rows."""
    high = tc.compare(CERTAIN, [0, 0, 1, 1], payoff=tc.threshold(0.3), draws=50)
    assert high.pairs[0].value is not None
    problem = tc.threshold(0.3)
    paid = [problem.value(tc.Predictor.from_samples([0, 0, 1, 1], p)) for p in CERTAIN.values()]
    assert [model.value for model in high.models] == paid
    assert high.pairs[0].value.value == pytest.approx(paid[0] - paid[1])
    assert high.headline.startswith("With your payoffs ")


@st.composite
def two_models(draw: st.DrawFn) -> tuple[list[int], list[float], list[float]]:
    n = draw(st.integers(2, 9))
    grid = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.6, 0.9, 1.0])
    a, b = (draw(st.lists(grid, min_size=n, max_size=n)) for _ in "ab")
    return draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), a, b


@given(two_models())
def test_it_agrees_with_the_definition_at_every_threshold(rows: tuple[list[int], list[float], list[float]]) -> None:
    y, a, b = rows
    found = tc.compare({"a": a, "b": b}, y, draws=2)
    (pair,) = found.pairs
    one, two = (np.array(a), np.array(b)) if pair.first == "a" else (np.array(b), np.array(a))
    outcomes = np.array(y)

    def loss(p: Any, theta: float, on: bool) -> float:
        acted = p >= theta if on else p > theta
        return float(np.mean(np.where(acted, theta * (1 - outcomes), (1 - theta) * outcomes)))

    places = [(theta, on) for theta in np.union1d(one, two) for on in (False, True)]
    gaps = np.array([loss(one, theta, on) - loss(two, theta, on) for theta, on in places])
    better, worse = bool((gaps < -1e-12).any()), bool((gaps > 1e-12).any())
    assert pair.dominates == (None if better == worse else pair.first if better else pair.second)
    first, second = (tc.Predictor.from_samples(outcomes, p) for p in (one, two))
    assert pair.loss_first.value == tc.decision_loss(first, second)
    assert pair.loss_second.value == tc.decision_loss(second, first)
    assert pair.loss_first.value >= max(0.0, *gaps) - 1e-9  # D(θ) is the loss of one who has the payoff range 1
    assert pair.brier.value == pytest.approx(np.mean((one - outcomes) ** 2) - np.mean((two - outcomes) ** 2), abs=1e-12)


def rows(n: int, rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    truth = rng.random(n)
    over = truth**2 / (truth**2 + (1 - truth) ** 2)
    dull = 0.5 + 0.3 * (truth - 0.5)
    return rng.random(n) < truth, {"over": over, "dull": dull}


def test_who_is_better_for_whom() -> None:
    """An overconfident model with the right middle, and a timid one: extremes favour neither by itself."""
    y, models = rows(5000, np.random.default_rng(0))
    (pair,) = tc.compare(models, y).pairs
    assert pair.first == "over"
    assert pair.first_better
    low, high = pair.first_better[0][0], pair.first_better[-1][1]
    assert 0.05 < low < 0.36
    assert 0.64 < high < 0.95
    assert pair.answer.startswith(("over is better for thresholds from 0.", "It depends on the threshold: over"))
    same = tc.compare({"a": models["over"], "b": models["over"]}, y, draws=50)
    assert same.pairs[0].answer.startswith("No evidence that a or b is better for anyone. A loss of up to 0.0 %")
    assert same.pairs[0].dominates is None


def test_weights_count_like_repeated_rows() -> None:
    y, models = rows(200, np.random.default_rng(1))
    w = 1 + np.arange(200) % 3
    weighted = tc.compare(models, y, w, draws=2)
    repeated = tc.compare({name: np.repeat(p, w) for name, p in models.items()}, np.repeat(y, w), draws=2)
    for one, two in zip(weighted.models, repeated.models, strict=True):
        assert one.brier == pytest.approx(two.brier, abs=1e-12)
        assert one.decision_loss == pytest.approx(two.decision_loss, abs=1e-12)
    assert weighted.pairs[0].loss_second.value == pytest.approx(repeated.pairs[0].loss_second.value, abs=1e-12)


def test_the_command_reads_compares_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    y, models = rows(400, np.random.default_rng(2))
    file, plot = tmp_path / "rows.csv", tmp_path / "murphy.svg"
    pl.DataFrame({**models, "y": y.astype(int)}).write_csv(file)
    command = ["compare", str(file), "-p", "over", "-p", "dull"]
    assert main([*command, "--plot", str(plot)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("By the Brier score over is best: it is better than dull by 0.0")
    assert max(map(len, out.splitlines())) <= 80
    assert plot.read_text().startswith("<?xml")
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"][0]["loss_second"]["value"] == pytest.approx(tc.compare(models, y).pairs[0].loss_second.value)
    assert main([*command[:4]]) == 2
    assert "at least two models" in capsys.readouterr().err
    assert tc.compare(models, y, draws=2).plot(ax=Figure().subplots()).get_legend() is not None


def test_rows_that_are_invalid_for_one_model_are_left_out_for_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("a,b,y\n0.1,0.2,0\n,0.3,1\n0.8,0.9,1\n0.4,nan,0\n0.7,0.2,1\n")
    command = ["compare", str(file), "-p", "a", "-p", "b", "-y", "y", "--json"]
    assert main(command) == 2
    capsys.readouterr()
    assert main([*command, "--drop-invalid"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["rows"] == 3
    assert "2 rows were left out" in said.err


def test_what_it_refuses() -> None:
    with pytest.raises(ValueError, match="at least two models, but there are 1"):
        tc.compare({"a": [0.1]}, [0])
    with pytest.raises(ValueError, match="must be a dict of predictions by the name of the model"):
        tc.compare([0.1], [0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"y_true and models\['b'\] must have the same length"):
        tc.compare({"a": [0.1, 0.2], "b": [0.1]}, [0, 1])


def events(seed: int, count: int = 100, each: int = 20) -> tuple[dict[str, Any], Any, Any]:
    """Two models that are equally good: each event has one outcome and many rows."""
    rng = np.random.default_rng(seed)
    truth = 0.2 + 0.6 * rng.random(count)
    off = 0.1 * np.sign(rng.random(count) - 0.5)
    y = np.repeat(rng.random(count) < truth, each).astype(int)
    models = {"a": np.repeat(truth + off, each), "b": np.repeat(truth - off, each)}
    return models, y, np.repeat(np.arange(count), each)


def told_apart(found: tc.ModelComparison) -> bool:
    return found.pairs[0].brier.clear


@pytest.mark.slow
def test_equally_good_models_are_rarely_told_apart_by_clusters() -> None:
    """At 5 %, more than 25 of 300 have probability 0.005; by rows, two of three are told apart."""
    samples = [events(seed) for seed in range(300)]
    assert sum(told_apart(tc.compare(m, y, draws=100)) for m, y, _ in samples[:50]) >= 25
    assert sum(told_apart(tc.compare(m, y, cluster=c, draws=100)) for m, y, c in samples) <= 25


def test_intervals_of_clusters_are_wider() -> None:
    models, y, event = events(0)
    rows, clusters = tc.compare(models, y), tc.compare(models, y, cluster=event)
    assert (rows.clusters, clusters.clusters) == (None, 100)
    assert rows.models == clusters.models
    assert clusters.pairs[0].half_width > 3 * rows.pairs[0].half_width
    assert json.loads(clusters.to_json())["clusters"] == 100
    assert "2,000 rows in 100 clusters, base rate" in str(clusters)
    assert "from clusters drawn again 400 times" in " ".join(str(clusters).split())


@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_do_not_depend_on_the_order_of_rows(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    p, event, order = rng.integers(0, 5, (2, 300)) / 4, rng.choice(list("abcdefgh"), 300), rng.permutation(300)
    y, w = rng.random(300) < p[0], rng.integers(0, 3, 300) if weighted else None
    found = tc.compare({"a": p[0], "b": p[1]}, y, w, cluster=event, draws=20)
    shuffled = {"a": p[0, order], "b": p[1, order]}
    again = tc.compare(shuffled, y[order], None if w is None else w[order], cluster=event[order], draws=20)
    assert found.to_json() == again.to_json()


def test_a_cluster_for_each_row_is_no_cluster() -> None:
    y, models = rows(500, np.random.default_rng(4))
    plain, single = tc.compare(models, y), tc.compare(models, y, cluster=np.arange(500))
    assert single.models == plain.models
    assert single.pairs[0].half_width == pytest.approx(plain.pairs[0].half_width, rel=0.1)
    assert single.pairs[0].brier.lower == pytest.approx(plain.pairs[0].brier.lower, abs=0.003)


def test_clusters_that_are_refused() -> None:
    models = {"a": [0.1, 0.2], "b": [0.3, 0.4]}
    with pytest.raises(ValueError, match="cluster must have one label per row, but there are 3 for 2 rows"):
        tc.compare(models, [0, 1], cluster=[1, 2, 3])
    with pytest.raises(ValueError, match="every row must have a cluster: 1 of 2 rows break this, the first is row 1"):
        tc.compare(models, [0, 1], cluster=np.array(["x", None]))
    with pytest.raises(ValueError, match="needs at least two clusters, but all 2 rows are of one"):
        tc.compare(models, [0, 1], cluster=["x", "x"])


def test_the_command_draws_clusters_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models, y, event = events(0)
    file = tmp_path / "rows.csv"
    frame = pl.DataFrame({**models, "y": y, "game": [f"g{number:03d}" for number in event]})
    frame.write_csv(file)
    command = ["compare", str(file), "-p", "a", "-p", "b", "--draws", "50", "--json"]
    assert main([*command, "--cluster", "game"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["clusters"] == 100
    assert found == json.loads(tc.compare(models, y, cluster=event, draws=50).to_json())
    assert "Column 'game'" not in said.err
    assert main([*command, "--cluster", "gam"]) == 2
    assert "no column 'gam'. Did you mean 'game'?" in capsys.readouterr().err
    frame.with_columns(game=pl.when(pl.col("game") == "g003").then(None).otherwise("game")).write_csv(file)
    assert main([*command, "--cluster", "game"]) == 2
    assert "every row must have a cluster, but column 'game' is missing in 20 of 2,000 rows" in capsys.readouterr().err


@pytest.mark.slow
def test_intervals_cover_the_population() -> None:
    """The Brier difference at its nominal level; the decision losses, whose band is for everything at once, above."""
    rng = np.random.default_rng(3)
    y, models = rows(400_000, rng)
    truth = tc.compare(models, y, draws=1).pairs[0]
    brier, loss = 0, 0
    for _ in range(100):
        y, models = rows(500, rng)
        (pair,) = tc.compare(models, y, draws=200, rng=rng).pairs
        if pair.first != truth.first:
            continue
        brier += pair.brier.lower <= truth.brier.value <= pair.brier.upper
        loss += (
            pair.loss_first.lower <= truth.loss_first.value <= pair.loss_first.upper
            and pair.loss_second.lower <= truth.loss_second.value <= pair.loss_second.upper
        )
    assert brier >= 89  # fewer has probability 0.004 at 95 %
    assert loss >= 95


def test_a_bad_third_model_hides_nothing() -> None:
    """Its losses stray far; the band of the two good ones is as wide as theirs do, and a bit for holding together."""
    rng = np.random.default_rng(0)
    truth = rng.random(2000)
    y = rng.random(2000) < truth
    models = {"good": truth, "fair": np.clip(truth + rng.normal(0, 0.05, 2000), 0, 1)}
    alone = tc.compare(models, y, draws=100).pairs[0]
    among = tc.compare({**models, "bad": 1 - truth}, y, draws=100)
    beside = next(pair for pair in among.pairs if pair.second == "fair")
    bad = next(pair for pair in among.pairs if pair.second == "bad")
    assert beside.half_width < 1.5 * alone.half_width < bad.half_width


def test_a_clear_brier_score_is_not_called_no_evidence() -> None:
    clear = ModelPair(
        "a", "b", PairedDifference(-0.01, -0.02, -0.001), None, PairedDifference(0.0, 0.0, 0.05),
        PairedDifference(0.01, 0.0, 0.06), None, (), (), 0.02,
    )  # fmt: skip
    assert clear.answer.startswith("On average over thresholds, by the Brier score, a is better than b;")
