"""Clusters from files and frames: the same predictors as from arrays, by every engine, with weights and groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import trustcal as tc
from trustcal.predictor import Predictor
from trustcal.reading import reading
from trustcal.reading.columns import Columns
from trustcal.reading.dependence import repeated_ids

ENGINES = ["csv", "parquet", "pandas", "polars", "lazy", "arrow", "duckdb"]


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    p = rng.integers(0, 17, 400) / 16
    return pd.DataFrame(
        {
            "p": p,
            "y": (rng.random(400) < p).astype(int),
            "w": rng.integers(1, 4, 400).astype(float),
            "ward": rng.choice(["north", "south"], 400),
            "event": [f"e{number:03d}" for number in rng.integers(0, 50, 400)],
        }
    )


def opened(frame: pd.DataFrame, engine: str, folder: Path) -> Any:
    match engine:
        case "csv":
            frame.to_csv(folder / "rows.csv", index=False)
            return folder / "rows.csv"
        case "parquet":
            frame.to_parquet(folder / "rows.parquet")
            return folder / "rows.parquet"
        case "polars":
            return pl.from_pandas(frame)
        case "lazy":
            return pl.from_pandas(frame).lazy()
        case "arrow":
            return pl.from_pandas(frame).to_arrow()
        case "duckdb":
            return duckdb.connect().from_df(frame)
    return frame


def same(one: Predictor, two: Predictor) -> bool:
    rows, others = one.clusters, two.clusters
    assert rows is not None
    assert others is not None
    return one == two and all(
        np.array_equal(getattr(rows, name), getattr(others, name)) for name in ("value", "cluster", "outcome", "weight")
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_clusters_of_the_arrays(frame: pd.DataFrame, engine: str, tmp_path: Path) -> None:
    source = opened(frame, engine, tmp_path)
    found = reading(source, weight="w", by="ward", cluster="event")
    assert same(found.predictor, Predictor.from_samples(frame.y, frame.p, frame.w, cluster=frame.event))
    assert list(found.groups) == ["north", "south"]
    for ward, part in frame.groupby("ward"):
        assert same(found.groups[ward], Predictor.from_samples(part.y, part.p, part.w, cluster=part.event))
    assert found.provenance.columns.cluster == "event"
    assert found.predictor.effective_rows == pytest.approx(found.predictor.clusters.effective)  # type: ignore[union-attr]


def test_rounded_predictions_keep_what_they_moved(frame: pd.DataFrame, tmp_path: Path) -> None:
    plain, known = (reading(frame, resolution=2**-2, cluster=name).predictor for name in (None, "event"))
    assert known == plain
    assert known.moved == pytest.approx(plain.moved)


def test_what_is_refused(frame: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"no column 'evnt'. Did you mean 'event'"):
        tc.read(frame, cluster="evnt")
    gap = frame.assign(event=frame.event.where(frame.index != 3))
    with pytest.raises(ValueError, match=r"every row must have a cluster, but column 'event' is missing in 1 of 400"):
        tc.read(gap, cluster="event")
    with pytest.raises(ValueError, match="must be the name of a column"):
        tc.audit(frame, cluster=[1, 2])
    with pytest.raises(ValueError, match="has its clusters already"):
        tc.audit(Predictor([0.5], [1.0], [0.5]), cluster=[1])


@pytest.mark.slow
def test_an_audit_treats_clusters_as_independent(frame: pd.DataFrame) -> None:
    many = pd.concat([frame.head(50)] * 20).assign(event=list(range(50)) * 20)
    alone, together = (tc.audit(many, cluster=name, draws=40) for name in (None, "event"))
    assert together.effective_rows == pytest.approx(50)
    assert alone.effective_rows == 1000
    assert together.inference is not None
    assert "50 clusters" in together.inference.note
    arrays = tc.audit(many.y, many.p, cluster=many.event.astype(str), draws=40)
    assert arrays.inference == together.inference


def test_ids_that_repeat_are_a_hint(frame: pd.DataFrame, tmp_path: Path) -> None:
    many = frame.rename(columns={"event": "match_id"}).assign(row_id=range(400), age_group="old")
    many.to_csv(tmp_path / "rows.csv", index=False)
    found = reading(tmp_path / "rows.csv")
    (hint,) = found.provenance.hints
    assert hint.startswith("Column 'match_id' has 50 different values in 400 rows.")
    assert hint in found.provenance.sentences
    assert reading(tmp_path / "rows.csv", cluster="match_id").provenance.hints == ()
    assert reading(frame.rename(columns={"event": "place"})).provenance.hints == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_ids_that_repeat_are_the_same_hint_from_every_engine(frame: pd.DataFrame, engine: str, tmp_path: Path) -> None:
    many = frame.rename(columns={"event": "match id"}).assign(row_id=range(400))
    many.loc[:9, "match id"] = None
    audit = tc.audit(opened(many, engine, tmp_path), draws=0)
    assert audit.hints == (
        "Column 'match id' has 50 different values in 400 rows. If rows with the same value share an event, name it as "
        "the cluster (cluster='match id', --cluster 'match id'): without it p-values and intervals are too optimistic.",
    )
    assert audit.hints == audit.verdict.caveats
    assert "Column 'match id' has 50 different values" in str(audit)
    assert tc.Audit.from_json(audit.to_json()).hints == audit.hints


def test_odd_columns_of_ids_are_no_hint(frame: pd.DataFrame) -> None:
    odd = frame.drop(columns="event").assign(user_id=[[number % 50] for number in range(400)])
    assert reading(odd).provenance.hints == reading(pl.from_pandas(odd)).provenance.hints == ()
    numbered = frame.drop(columns="event").rename(columns={"ward": 7})
    assert reading(numbered).provenance.hints == ()


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "duckdb"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_runs_are_the_same_hint_from_every_engine(engine: str, weight: str | None, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    p = np.repeat(rng.random(200), 10)
    rows = pd.DataFrame({"p": p, "y": np.repeat(rng.random(200) < p[::10], 10).astype(int), "w": 1.0 + (p > 0.5)})
    arrays = tc.audit(rows.y, rows.p, draws=0)
    assert arrays.hints[0].startswith("Neighbouring rows have similar outcomes")
    assert arrays.hints == tc.audit(opened(rows, engine, tmp_path), weight=weight, draws=0).hints
    assert tc.audit(rows.y, rows.p, cluster=np.arange(2000) // 10, draws=0).hints == ()
    rows.loc[3, "p"] = np.nan
    assert arrays.hints == tc.audit(opened(rows, engine, tmp_path), weight=weight, drop_invalid=True, draws=0).hints
    words = rows.dropna().assign(y=rows.y.map({0: "no", 1: "won"}))
    assert arrays.hints == tc.audit(opened(words, engine, tmp_path), positive="won", draws=0).hints


def test_outcomes_in_runs_are_a_hint(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    p = np.repeat(rng.random(200), 10) + 0.001 * rng.random(2000)
    y = np.repeat(rng.random(200) < p[::10], 10).astype(int)

    def hints(order: np.ndarray) -> tuple[str, ...]:
        pd.DataFrame({"p": p[order].clip(0, 1), "y": y[order]}).to_csv(tmp_path / "rows.csv", index=False)
        known = tc.audit(tmp_path / "rows.csv", draws=0).provenance
        assert known is not None
        return known.hints

    assert "Neighbouring rows" in hints(np.arange(2000))[0]
    assert hints(rng.permutation(2000)) == ()
    assert hints(np.argsort(y, kind="stable")) == ()
    assert hints(np.lexsort((y, p))) == ()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("id", True),
        ("user", True),
        ("game_id", True),
        ("eventId", True),
        ("Match ID", True),
        ("paid", False),
        ("humid", False),
    ],
)
def test_names_of_columns_of_ids(name: str, hint: bool) -> None:
    found = repeated_ids(["p", "y", name], Columns("p", "y"), 2000, lambda places: [100 for _ in places])
    assert bool(found) == hint
