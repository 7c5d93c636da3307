"""Remedies for rows that share events: clusters are held out whole, and standard errors are those of clusters."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import trustcal as tc
from trustcal import remedies
from trustcal.checking import Role, generator
from trustcal.cli import main
from trustcal.reading import evidence
from trustcal.remedies.folds import SingleRows, split_in_order, split_rows
from trustcal.remedies.kept_back import kept_back
from trustcal.remedies.trials import difference


def events(seed: int = 0, count: int = 60, each: int = 10, power: float = 1.0) -> pd.DataFrame:
    """Forecasts of events, each with one outcome; calibrated where the power is 1."""
    rng = np.random.default_rng(seed)
    truth = 0.1 + 0.8 * rng.random(count)
    p = np.clip(np.repeat(truth, each) + 0.02 * rng.normal(size=count * each), 0, 1)
    y = np.repeat(rng.random(count) < truth**power, each).astype(int)
    game = np.repeat([f"g{number:03d}" for number in range(count)], each)
    return pd.DataFrame({"p": p, "y": y, "game": game, "ward": np.tile(["north", "south"], count * each // 2)})


def single(rows: pd.DataFrame, times: Any = None) -> SingleRows:
    """Rows whose predictions tell the cluster: its number is the prediction, in hundredths, rounded down."""
    number = np.unique(rows.game, return_inverse=True)[1]
    return SingleRows.from_columns(rows.y, (number + rows.p / 2) / 100, None, times, None, rows.game)


def clusters_of(q: tc.Predictor) -> set[int]:
    return set(np.floor(q.p * 100).astype(int).tolist())


def test_folds_keep_clusters_whole_and_have_both_outcomes() -> None:
    for seed in range(20):
        held_out = []
        for fold in split_rows(single(events(seed)), 5, generator(seed, Role.SPLITS)):
            assert not clusters_of(fold.train) & clusters_of(fold.held_out)
            assert 0 < fold.held_out.base_rate < 1
            assert fold.held_out.clusters is not None
            held_out += sorted(clusters_of(fold.held_out))
        assert sorted(held_out) == list(range(60))


def test_blocks_in_time_and_rows_kept_back_keep_clusters_whole() -> None:
    rows = events()
    times = np.random.default_rng(1).permutation(600)
    for fold in split_in_order(single(rows, times), 5):
        assert not clusters_of(fold.train) & clusters_of(fold.held_out)
    for when in (None, times):
        found = evidence(rows.y, rows.p, cluster=rows.game)
        kept = kept_back(found, single(rows, when), 0.25, np.random.default_rng(0))
        assert not clusters_of(kept.found.predictor) & clusters_of(kept.law)
        assert kept.law.clusters is not None
        assert 10 <= kept.law.clusters.count <= 20


def test_standard_errors_are_those_of_the_sums_of_clusters() -> None:
    rng = np.random.default_rng(0)
    p, y, w, cluster = rng.random(300), rng.random(300) < 0.5, rng.random(300), rng.integers(0, 20, 300)
    q = tc.Predictor.from_samples(y, p, w, cluster=cluster)
    zero, one = rng.random((2, len(q)))
    lost = np.where(y, one[np.searchsorted(q.p, p)], zero[np.searchsorted(q.p, p)])
    mean = np.average(lost, weights=w)
    sums = np.bincount(cluster, w / w.sum() * (lost - mean))
    found = difference([(q, 1.0)], [(zero, one)], 1.0)
    assert found.mean == pytest.approx(mean)
    assert found.error == pytest.approx(np.sqrt((sums**2).sum()))
    alone, plain = (tc.Predictor.from_samples(y, p, cluster=names) for names in (np.arange(300), None))
    assert difference([(alone, 1.0)], [(zero, one)], 300).error == pytest.approx(
        difference([(plain, 1.0)], [(zero, one)], 300).error
    )
    copied = tc.Predictor.from_samples(np.tile(y, 9), np.tile(p, 9), cluster=np.tile(np.arange(300), 9))
    assert difference([(copied, 1.0)], [(zero, one)], 300).error == pytest.approx(
        difference([(plain, 1.0)], [(zero, one)], 300).error
    )


@pytest.mark.slow
def test_shared_events_alone_are_no_reason_for_a_remedy() -> None:
    """Of calibrated predictions most samples need none; by rows, nearly all seem to need one."""
    advised = np.zeros(2, dtype=int)
    for seed in range(20):
        rows = events(seed, count=100, each=20)
        found = [remedies.choose(rows.y, rows.p, keep_back=0, rng=seed, cluster=name) for name in (None, rows.game)]
        advised += [choice.recommended != "none" for choice in found]
    assert advised[0] >= 18
    assert advised[1] <= 7


@pytest.mark.slow
def test_the_number_of_clusters_is_said() -> None:
    rows = events(3)
    plain = remedies.choose(rows.y, rows.p, keep_back=0)
    known = remedies.choose(rows.y, rows.p, keep_back=0, cluster=rows.game)
    assert (plain.table.clusters, known.table.clusters) == (None, 60)
    assert "600 rows in 60 clusters, cross-fitted" in str(known)


@pytest.mark.slow
def test_every_source_and_any_order_of_rows_give_the_same_choice(tmp_path: Path) -> None:
    rows = events(1, power=3.0)
    rows.to_parquet(tmp_path / "rows.parquet")
    found = remedies.choose(rows.y, rows.p, cluster=rows.game)
    assert found.recommended != "none"
    shuffled = rows.sample(frac=1, random_state=0)
    for source in (tmp_path / "rows.parquet", shuffled, pl.from_pandas(rows)):
        assert remedies.choose(source, cluster="game").table == found.table
    certificate = found.fitted.certificate
    assert certificate is not None
    assert (certificate.rows, certificate.clusters, certificate.proved) == (150, 15, False)
    assert "(150 rows in 15 clusters kept back)" in certificate.sentence
    assert remedies.from_json(found.fitted.to_json()) == found.fitted


@pytest.mark.slow
def test_groups_and_times_of_clusters(tmp_path: Path) -> None:
    rows = events(1, power=3.0).assign(day=range(600))
    rows.to_csv(tmp_path / "rows.csv", index=False)
    by = remedies.choose(rows.y, rows.p, by=rows.ward, cluster=rows.game)
    assert remedies.choose(tmp_path / "rows.csv", by="ward", cluster="game").table == by.table
    assert not any("by group" in method.name for method in by.table.methods)
    late = remedies.choose(rows.y, rows.p, order=rows.day, cluster=rows.game)
    assert late.table.ordered
    assert remedies.choose(tmp_path / "rows.csv", order="day", cluster="game").table == late.table
    with pytest.raises(ValueError, match="by and cluster together need single rows"):
        remedies.choose(rows, by="ward", cluster="game")


def test_what_is_refused() -> None:
    rows = events(count=12)
    with pytest.raises(ValueError, match=r"5 folds of whole clusters need at least 10 clusters with each outcome, but"):
        remedies.choose(rows.y, rows.p, cluster=rows.game, keep_back=0)
    with pytest.raises(ValueError, match="cluster must have one label per row, but there are 3 for 120 rows"):
        remedies.choose(rows.y, rows.p, cluster=[1, 2, 3])


@pytest.mark.slow
def test_the_advice_of_an_audit_by_cluster_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = events(2, count=200, power=4.0).rename(columns={"game": "the game"})
    monkeypatch.chdir(tmp_path)
    rows.to_csv("rows.csv", index=False)
    audit = tc.audit("rows.csv", by="ward", cluster="the game", draws=40)
    (command,) = (one.command for one in audit.advice if one.command is not None)
    assert command == "trustcal fix rows.csv -p p -y y --cluster 'the game' --save remedy.json"
    assert main([*shlex.split(command)[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["clusters"] == 150
    assert remedies.load("remedy.json").certificate.clusters == 50  # type: ignore[union-attr]
    assert main(["fix", "rows.csv", "-p", "p", "--remedy", "remedy.json", "--cluster", "the game", "-o", "o.csv"]) == 2
    assert "--cluster is for learning" in capsys.readouterr().err
    frame = tc.audit(rows, cluster="the game", draws=40)
    assert "cluster='the game'" in str([one.command for one in frame.advice])
    arrays = tc.audit(rows.y, rows.p, cluster=rows["the game"], draws=40)
    assert arrays.clusters == 200
    assert "trustcal.remedies.choose(y_true, y_prob, cluster=cluster)" in [one.command for one in arrays.advice]


@pytest.mark.slow
def test_an_audit_compares_remedies_by_cluster() -> None:
    rows = events(1, power=3.0)
    audit = tc.audit(rows, cluster="game", compare=True, draws=0)
    assert audit.comparison is not None
    assert audit.comparison.clusters == 60
    assert tc.Audit.from_json(audit.to_json()).comparison == audit.comparison
