"""What a reading tells, which columns it takes, and what it refuses in one line."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import dask.dataframe
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import trustcal as tc
from tests.traps import same
from trustcal.reading import Reading, reading, replayed_rows, request
from trustcal.reading.columns import Columns
from trustcal.reading.faults import Faults

FRAME = pd.DataFrame({"p": [0.25, 0.5, 0.5], "y": [0, 1, 0], "g": [2, 1, 2], "w": [1.0, 2.0, 0.0]})


def test_columns_are_inferred_and_said() -> None:
    found = reading(FRAME.rename(columns={"p": "y_prob", "y": "label"}))
    assert found.provenance.columns.inferred == ("prediction", "outcome")
    assert found.provenance.sentences == (
        "The prediction is column 'y_prob', by its name.",
        "The outcome is column 'label', by its name.",
    )
    assert reading(FRAME, prediction="p", outcome="y").provenance.sentences == ()
    assert reading(FRAME, outcome="y").provenance.columns.inferred == ("prediction",)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            ["a", "y"],
            "say which column is the prediction, by prediction='…' \\(--prediction\\): none is called prediction",
        ),
        (["p", "score", "y"], "'p' and 'score' could both be it. The columns are: p, score, y"),
        (["P", "y"], "say which column is the prediction"),
        (["p", "label", "target"], "say which column is the outcome.*'label' and 'target' could both be it"),
    ],
)
def test_columns_that_are_not_obvious(columns: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tc.read(pd.DataFrame({name: [0] for name in columns}))


def test_a_reading_holds_the_facts() -> None:
    found = reading(FRAME, by="g", weight="w", resolution=2**-4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.provenance.rows = 0  # type: ignore[misc]
    assert found.provenance.columns == Columns("p", "y", "w", ("g",), inferred=("prediction", "outcome"))
    assert (found.provenance.rows, found.provenance.dropped, found.provenance.resolution) == (3, Faults(), 1 / 16)
    assert found.groups[1].rows == 1
    assert list(found.groups) == [1, 2]
    assert list(reading(FRAME, by=["g"]).groups) == [(1,), (2,)]
    assert isinstance(found, Reading)


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_one_reading_gives_the_groups_and_all_rows(tmp_path: Path, name: str, weight: str | None) -> None:
    rng = np.random.default_rng(0)
    p = np.round(rng.random(3_000), 2)
    frame = pl.DataFrame({"p": p, "y": rng.random(3_000) < p, "g": rng.integers(0, 3, 3_000), "w": rng.random(3_000)})
    frame.write_csv(tmp_path / name) if name.endswith("csv") else frame.write_parquet(tmp_path / name)
    found = reading(tmp_path / name, prediction="p", outcome="y", weight=weight, by="g")
    whole = reading(tmp_path / name, prediction="p", outcome="y", weight=weight)
    assert same(found.predictor, whole.predictor)
    assert whole.groups == {}
    assert dict(found.groups) == tc.read(tmp_path / name, "p", "y", weight, by="g")
    assert sum(q.rows or 0 for q in found.groups.values()) == found.predictor.rows == 3_000


def test_the_certified_effect_of_rounding_reaches_the_measures() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    frame = pl.DataFrame({"p": p, "y": rng.random(2000) < p**2})
    exact, rounded = tc.read(frame), tc.read(frame, resolution=2**-6)
    assert len(rounded) <= 2**6 + 1
    effect = tc.rounding_effect(rounded)
    assert 0 < effect.dtc <= 2**-7
    assert abs(tc.dtc(exact) - tc.dtc(rounded)) <= effect.dtc
    assert abs(tc.smcal(exact) - tc.smcal(rounded)) <= effect.smcal


@pytest.mark.parametrize("resolution", [0.1, 1.0, -(2**-3), 2**-53, float("nan"), 3])
def test_resolutions_are_powers_of_two(resolution: float) -> None:
    with pytest.raises(ValueError, match="resolution must be a power of two"):
        tc.read(FRAME, resolution=resolution)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (FRAME, {"prediction": "y", "outcome": "y"}, "must be different columns"),
        (FRAME, {"by": ["g", "g"]}, "by must name each column once"),
        (FRAME, {"by": ["g", "y"]}, "by must name other columns than the outcome, but 'y' is the outcome"),
        (FRAME, {"cluster": "y"}, "cluster must name another column than the outcome, but 'y' is the outcome"),
        (FRAME, {"by": "G"}, r"the pandas frame has no column 'G'\. Did you mean 'g'\?"),
        (FRAME.iloc[:0], {}, "at least one row"),
        (FRAME.assign(p=2.0), {"drop_invalid": True}, "no row of 3 is left: 3 with a prediction above 1"),
        (FRAME.assign(p=[-3.0, 0.5, 4.0]), {}, r"turn log odds x into 1/\(1 \+ exp\(−x\)\)\.$"),
        (FRAME.assign(y=[1, 2, 2]), {}, r"name the positive one, as in positive=2 \(--positive 2\)\.$"),
        (FRAME.assign(y=["won", "1", "lost"]), {}, r"name the positive one: positive='…' \(--positive\)\. To leave"),
        (FRAME.assign(w=0.0), {"weight": "w"}, "some weight must be positive"),
        (FRAME.assign(w=-1.0), {"weight": "w"}, "0 or 1, and a weight, finite and not negative, but 3 of 3 rows do"),
        (
            FRAME.assign(w=[1, -1, 1]),
            {"weight": "w"},
            "1 of 3 rows does not: 1 with a weight that is",
        ),
        (FRAME.assign(w=1e200), {"weight": "w"}, "weights must be of ordinary size"),
        (FRAME.assign(p="x"), {}, "column 'p' must hold numbers, but holds String"),
        (FRAME.assign(p=[0.5, "x", None]), {}, "its engine failed with ValueError: could not convert string"),
        (FRAME.assign(y=pd.Timestamp("2020-01-01")), {}, "column 'y' must hold numbers, but holds Datetime"),
        (FRAME, {"outcome": "g", "positive": "x"}, "positive must be a number, because column 'g' holds numbers"),
        (pd.DataFrame([[0.5, 0.5, 1]], columns=["p", "p", "y"]), {}, "several columns called 'p'"),
        (pa.table({"p": [0.5], "y": [[1]]}), {}, r"column 'y' must hold numbers, but holds BIGINT\[\]"),
        (pa.table({"p": [0.5], "y": [1], "g": [[1]]}), {"by": "g"}, "groups are made by simple values"),
        (pa.table({"p": pa.array([], pa.float64()), "y": pa.array([], pa.int8())}), {}, "at least one row"),
        (pa.table({"p": [2.0], "y": [1]}), {"drop_invalid": True}, "no row of 1 is left"),
        (pa.table({"p": [0.5], "y": [1], "w": [0]}), {"weight": "w"}, "some weight must be positive"),
        ({"p": [0.5], "y": [1]}, {}, "source must be the name of a file.*not a dict"),
        (np.zeros((3, 2)), {}, "source must be the name of a file.*not a ndarray"),
        ([], {}, "at least one file"),
        (pl.LazyFrame({"p": ["0.5"], "y": [1]}).with_columns(pl.col("p").cast(pl.Int8)), {}, "its engine failed with"),
    ],
)
def test_what_is_refused(source: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        tc.read(source, **options)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "source", [FRAME, pl.LazyFrame(FRAME), pa.Table.from_pandas(FRAME)], ids=["pandas", "lazy", "arrow"]
)
def test_columns_that_look_swapped(source: Any) -> None:
    with pytest.raises(ValueError, match=r"look swapped\. Exchange column 'p' and column 'y'"):
        tc.read(source, prediction="y", outcome="p", drop_invalid=True)


def test_missing_values_of_pandas() -> None:
    frame = pd.DataFrame({"p": [0.5, 0.25, None, 0.5], "y": [True, pd.NA, False, False], "g": ["a", None, "a", pd.NA]})
    found = reading(frame, by="g", drop_invalid=True)
    assert found.groups == {
        "a": tc.Predictor.from_samples([1], [0.5]),
        None: tc.Predictor.from_samples([0], [0.5]),
    }
    assert (found.provenance.dropped.missing, found.provenance.dropped.outcome) == (1, 1)


def test_groups_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "GROUPS", 1)
    for source in (FRAME, pa.Table.from_pandas(FRAME)):
        with pytest.raises(ValueError, match="by must name columns with few values, but 'g' makes more than 1 groups"):
            tc.read(source, by="g")


def test_several_files(tmp_path: Path) -> None:
    for index in range(3):
        FRAME.iloc[[index]].to_csv(tmp_path / f"part {index} [x].csv", index=False)
        FRAME.iloc[[index]].to_json(tmp_path / f"part{index}.jsonl", orient="records", lines=True)
        FRAME.iloc[[index]].to_parquet(tmp_path / f"part{index}.parquet")
    want = tc.Predictor.from_samples(FRAME["y"], FRAME["p"])
    for suffix in ("csv", "jsonl", "parquet"):
        found = reading(f"{tmp_path}/part*.{suffix}")
        assert found.predictor == want
        assert tc.read(sorted(tmp_path.glob(f"*.{suffix}"))) == want
        assert found.provenance.source.endswith("and 2 more")
    with pytest.raises(ValueError, match="no file matches the pattern"):
        tc.read(f"{tmp_path}/*.tsv")
    with pytest.raises(ValueError, match=r"must be of one format, but these are \.csv and \.jsonl and \.parquet"):
        tc.read(f"{tmp_path}/*")
    bad = tmp_path / "part9.csv"
    bad.write_text("p,y,g,w\n0.5,1,1,1\n2,1,1,1\n")
    with pytest.raises(ValueError, match=r"part9\.csv line 3 with p '2', y '1'"):
        tc.read([*tmp_path.glob("part [0-9]*.csv"), bad])


def parts(folder: Path, suffix: str, names: list[str], frame: pd.DataFrame = FRAME) -> str:
    """A row of the frame in each of these folders; the pattern that finds them all."""
    for index, name in enumerate(names):
        (folder / name).mkdir(parents=True)
        row, file = frame.iloc[[index]], folder / name / f"part.{suffix}"
        if suffix == "csv":
            row.to_csv(file, index=False)
        elif suffix == "jsonl":
            row.to_json(file, orient="records", lines=True)
        else:
            row.to_parquet(file)
    return f"{folder}/**/*.{suffix}"


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_keys_in_the_names_of_folders_are_columns(tmp_path: Path, suffix: str) -> None:
    years = parts(tmp_path / "a", suffix, ["year=2025/m=x", "year=2026/m=x", "year=2026/m=y"])
    assert tc.read(years) == tc.Predictor.from_samples(FRAME["y"], FRAME["p"])
    assert {group: len(q) for group, q in tc.read(years, by="year").items()} == {2025: 1, 2026: 1}
    assert list(tc.read(years, by=["m", "year"])) == [("x", 2025), ("x", 2026), ("y", 2026)]
    weighted = tc.read(years, weight="year")
    assert weighted.base_rate == pytest.approx(2026 / (2025 + 2026 + 2026))
    labels = parts(tmp_path / "b", suffix, ["a/label=0", "a/label=1", "b/label=1"])
    assert tc.read(labels) == tc.Predictor.from_samples(FRAME["y"], FRAME["p"])
    assert tc.read(labels, outcome="label") == tc.Predictor.from_samples([0, 1, 1], FRAME["p"])
    alone = tmp_path / "a" / "year=2025" / "m=x" / f"part.{suffix}"
    assert list(tc.read(alone, by="year")) == [2025]
    with pytest.raises(ValueError, match=r"no column 'Year'\. Did you mean 'year'"):
        tc.read(years, by="Year")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    "folders",
    [
        ["y=0", "y=0", "y=0"],
        ["P=1", "P=0", "P=0"],
        ["c0=1", "c0=1", "c0=1"],
        ["json=1", "json=1", "json=1"],
        ["a=1", "b=1", "a=1"],
        ["a=1/a=2", "a=1/a=3", "a=1/a=4"],
        ["=1", "=1", "=1"],
        ["a=b=c", "a=b=c", "a=b=c"],
        ["a=", "a=", "a="],
        ["a='\"=1", "a='\"=1", "a='\"=1"],
    ],
)
def test_files_have_the_last_word_on_their_columns(tmp_path: Path, suffix: str, folders: list[str]) -> None:
    names = [f"{index}/{name}" for index, name in enumerate(folders)]
    assert tc.read(parts(tmp_path, suffix, names)) == tc.Predictor.from_samples(FRAME["y"], FRAME["p"])


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (
            lambda f, g: (f("a.csv").write_text("p,y\n0.5,1\n"), g("b.csv").write_text("p,z\n0.5,1\n")),
            "differ in 'y', 'z'",
        ),
        (lambda f, g: (f("a.csv").write_text("p,y\n0.5,1\n"), g("b.csv").write_text("y,p\n1,0.5\n")), "their order"),
        (
            lambda f, g: (
                pl.DataFrame({"p": [0.5], "y": [1]}, schema={"p": pl.Float32, "y": pl.Int8}).write_parquet(
                    f("a.parquet")
                ),
                pl.DataFrame({"p": [0.5], "y": [1]}, schema={"p": pl.Float64, "y": pl.Int8}).write_parquet(
                    g("b.parquet")
                ),
            ),
            "differ in p DOUBLE, p FLOAT",
        ),
    ],
)
def test_files_with_different_columns(tmp_path: Path, write: Any, message: str) -> None:
    write(tmp_path.joinpath, tmp_path.joinpath)
    with pytest.raises(ValueError, match=f"must have the same columns, but .*{message}"):
        tc.read(f"{tmp_path}/*")


@pytest.mark.parametrize("name", ["rows.parquet", "rows.jsonl.gz", "rows.csv.zst", "rows.jsonl"])
def test_files_cut_short(tmp_path: Path, name: str) -> None:
    table, file = pa.table({"p": np.linspace(0, 1, 5000), "y": [0] * 5000}), tmp_path / name
    if name.endswith("parquet"):
        pyarrow.parquet.write_table(table, file)
    else:
        frame = pl.DataFrame(table)
        text = frame.write_csv() if "csv" in name else frame.write_ndjson()
        codec = {"gz": "gzip", "zst": "zstd"}.get(name.rsplit(".")[-1])
        with pa.CompressedOutputStream(str(file), codec) if codec else file.open("wb") as out:
            out.write(text.encode())
    whole = file.read_bytes()
    for length in (0, 3, len(whole) // 2, len(whole) - 7):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=str(file)) as refusal:
            tc.read(file)
        assert "\n" not in str(refusal.value)


def test_json_lines_that_are_not_objects(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    for content in ("[1, 2]\n", '{"p": 0.1, "p": 0.2, "y": 1}\n', '{"p": 0.1, "y": 1}\n3\n'):
        file.write_text(content)
        with pytest.raises(ValueError, match="every line must be a JSON object with each key once"):
            tc.read(file)
    file.write_text('{"p": 0.1, "P": 3, "y": 1}\n\n{"y": "no", "p": "0.25"}\n{"y": 0}\n')
    found = reading(file, drop_invalid=True)
    assert found.predictor == tc.Predictor.from_samples([1, 0], [0.1, 0.25])
    assert found.provenance.dropped.missing == 1


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    pattern = f"{tmp_path}/**/*.parquet"
    (tmp_path / "rows.parquet").mkdir()
    with pytest.raises(ValueError, match=r"rows\.parquet is a folder, not a file"):
        tc.read(pattern)
    FRAME.to_parquet(tmp_path / "rows.parquet" / "part-0.parquet")
    assert tc.read(pattern) == tc.Predictor.from_samples(FRAME["y"], FRAME["p"])
    with pytest.raises(ValueError, match=r"is a folder, not a file: name the files in it, as in .*\*\.parquet"):
        tc.read(tmp_path)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("rows.csv", index=False)
    tc.read("rows.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_nan_is_found_where_the_statistics_of_parquet_leave_it_out(tmp_path: Path) -> None:
    file, nan = tmp_path / "rows.parquet", float("nan")
    columns = {"p": [0.25, 0.5, nan, 0.75], "y": [1.0, 0, 1, nan], "w": [1.0, nan, 1, 1], "g": [2.0, nan, 2, 2]}
    pyarrow.parquet.write_table(pa.table(columns), file)
    found = reading(file, outcome="y", prediction="p", drop_invalid=True)
    assert (found.provenance.dropped.nan, found.provenance.dropped.outcome) == (1, 1)
    assert found.predictor == tc.Predictor.from_samples([1, 0], [0.25, 0.5])
    assert reading(file, weight="w", drop_invalid=True).provenance.dropped.weight == 1
    assert reading(file, positive=1.0, drop_invalid=True).provenance.dropped.outcome == 1
    assert list(tc.read(file, by="g", drop_invalid=True)) == [2.0, None]


@pytest.mark.parametrize("cells", ["10%", '"0,1"', ""])
def test_a_file_without_any_number_is_refused_like_any_other(tmp_path: Path, cells: str) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(f"p,y\n{cells},0\n{cells},1\n")
    with pytest.raises(ValueError, match="but 2 of 2 rows do not"):
        tc.read(file, prediction="p", outcome="y")


def test_rows_with_weights_are_those_of_the_file_in_any_order(tmp_path: Path) -> None:
    lines = ["0.3,no,2", "0.7,yes,1", "0.7,no,0", "0.1,yes,0.5", "2,yes,1"]
    for name, rows in (("one.csv", lines), ("other.csv", lines[::-1])):
        (tmp_path / name).write_text("\n".join(["p,y,w", *rows]))
        found = reading(tmp_path / name, weight="w", resolution=0.25, drop_invalid=True)
        y, p, w, *_ = replayed_rows(tmp_path / name, found.provenance)
        assert (y.tolist(), p.tolist(), w.tolist()) == ([1, 0, 1], [0.0, 0.25, 0.75], [0.5, 2, 1])
        assert np.array_equal(tc.Predictor.from_samples(y, p, w).positive, found.predictor.positive)


def test_rows_with_weights_are_rounded_as_the_engine_rounds_them(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("p,y,w\n0.25,0,1\n0.75,1,2\n0.125,1,4\n")  # half steps, and less
    found = reading(file, weight="w", resolution=2**-1)
    assert tc.Predictor.from_samples(*replayed_rows(file, found.provenance)[:3]) == found.predictor


@pytest.mark.parametrize("by", [5, [5], ["g", None], {"g": 1}, 0.5, True])
def test_groups_are_named_by_columns(by: Any) -> None:
    with pytest.raises(ValueError, match="by must be the name of a column, or a list of names, not"):
        tc.read(FRAME, by=by)


# --- what one engine must not see otherwise than another


@pytest.mark.parametrize("positive", [0, 0.0, False, "0"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_zero_can_be_the_positive_label(make: Any, positive: Any) -> None:
    assert tc.read(make({"p": [0.1, 0.2, 0.3, 0.4], "y": [0, 0, 0, 1]}), positive=positive).base_rate == 0.75


def test_groups_that_python_cannot_tell_apart(tmp_path: Path) -> None:
    nanoseconds = pa.array([0, 1, 2, 3000, None], pa.timestamp("ns"))
    table = pa.table({"p": [0.1, 0.2, 0.3, 0.4, 0.5], "y": [0, 1, 0, 1, 1], "g": nanoseconds})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    for source in (table, tmp_path / "rows.parquet"):
        found = tc.read(source, by="g")
        assert sorted(q.p[0] for q in found.values()) == [0.1, 0.2, 0.3, 0.4, 0.5]
        assert "1970-01-01 00:00:00.000000001" in found


def test_groups_by_times_of_some_zone(tmp_path: Path) -> None:
    times = pa.array([0, 3_600_000_000, 0], pa.timestamp("us", "UTC"))
    pyarrow.parquet.write_table(pa.table({"p": [0.1, 0.2, 0.3], "y": [0, 1, 0], "g": times}), tmp_path / "rows.parquet")
    assert [q.rows for q in tc.read(tmp_path / "rows.parquet", by="g").values()] == [2, 1]


def test_a_folder_called_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "~").mkdir()
    FRAME.to_csv(tmp_path / "~" / "rows.csv", index=False)
    assert tc.read("~/rows.csv") == tc.Predictor.from_samples(FRAME["y"], FRAME["p"])


def _closed_relation() -> Any:
    connection = duckdb.connect()
    relation = connection.sql("SELECT 0.5 AS p, 1 AS y")
    connection.close()
    return relation


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (lambda: [FRAME], {}, "source must be the name of a file"),
        (lambda: [None], {}, "source must be the name of a file"),
        (lambda: pa.array([0.5]), {}, "source must be the name of a file"),
        (duckdb.connect, {}, "source must be the name of a file"),
        (_closed_relation, {}, "the DuckDB relation cannot be read"),
        (lambda: pa.table({"p": np.array([0.5], dtype=np.float16), "y": [1]}), {}, "the PyArrow data cannot be read"),
        (lambda: FRAME, {"positive": [1]}, "positive must be a number"),
        (lambda: pa.table(FRAME), {"positive": np.inf}, "positive must be a number"),
        (lambda: FRAME, {"resolution": np.array([0.5, 0.25])}, "resolution must be a power of two"),
        (
            lambda: pl.DataFrame({"p": [0.5], "y": [1], "g": [[1]]}),
            {"by": "g"},
            "groups are made by simple values, but column 'g' holds List",
        ),
    ],
)
def test_what_is_refused_in_one_line(source: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        tc.read(source(), **options)
    assert "\n" not in str(refusal.value)


def test_first_lines_that_name_no_columns(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    for content, message in (
        ("", "is empty"),
        ("\np,y\n0.5,1\n", "begins with an empty line"),
        (f"p,{'y' * 140_000}\n0.5,1\n", "say which column is the outcome"),
    ):
        file.write_text(content)
        with pytest.raises(ValueError, match=message):
            tc.read(file)


def test_categories_that_are_numbers() -> None:
    frame = pd.DataFrame(
        {"p": [0.1, 0.2, 0.3, 0.4], "y": pd.Categorical([1, 1, None, 0]), "g": pd.Categorical([3, 10, 3, 3])}
    )
    in_parts: Any = dask.dataframe.from_pandas
    for source in (frame, in_parts(frame, npartitions=2)):
        found = tc.read(source, positive=1, drop_invalid=True, by="g")
        assert {group: q.base_rate for group, q in found.items()} == {3: 0.5, 10: 1.0}
