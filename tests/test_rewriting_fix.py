"""trustcal fix: what is written, what is said, and what is refused."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trustcal as tc
from tests.test_remedies import drawn, grouped
from trustcal.cli import main
from trustcal.remedies import Remedy
from trustcal.rewriting.fix import fix_file

CENSUS = str(files("trustcal") / "examples" / "census_income.csv")


@pytest.fixture
def rain(tmp_path: Path) -> Path:
    """The paper's weather forecaster for 4000 days."""
    file = tmp_path / "rain.csv"
    file.write_text("day,p,y\n" + "".join(f"{2 * d},0.4999,1\n{2 * d + 1},0.5001,0\n" for d in range(2000)))
    return file


def column(file: Path, name: str) -> np.ndarray:
    header, *lines = file.read_text().splitlines()
    return np.array([float(line.split(",")[header.split(",").index(name)]) for line in lines])


def test_the_forecaster_of_the_introduction_becomes_safe(rain: Path, tmp_path: Path) -> None:
    fix = fix_file(rain, tmp_path / "out.csv", prediction="p", outcome="y", seed=1)
    assert fix.eps == pytest.approx(1e-4, abs=1e-12)
    assert fix.eps_measured
    assert fix.choice is not None
    assert fix.eps is not None
    assert fix.choice.noise == tc.guarantees.best_noise(fix.eps, "cdl").noise
    assert fix.before is not None
    assert fix.after is not None
    assert fix.before.cdl == 1.0
    assert fix.expected_cdl is not None
    assert fix.expected_cdl <= fix.choice.guarantee.value == pytest.approx(0.007539, abs=1e-7)
    assert fix.after.cdl < 0.1  # a draw of 4000 rows on 16 bins
    assert fix.before.auc == 0.0
    assert fix.advice.startswith("The guarantee, 0.007539, is below the current loss, 1.")


def test_the_values_are_those_of_perturb_and_the_rest_of_the_file_stays(rain: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    fix = fix_file(rain, out, prediction="p", eps=0.01, seed=7, row_id="day")
    p, day = column(rain, "p"), column(rain, "day").astype(int)
    assert fix.choice is not None
    expected = tc.perturb(p, fix.choice.noise, ids=day, seed=7)
    assert (column(out, "p_noised") == expected).all()
    kept = zip(out.read_text().splitlines()[1:], expected.tolist(), strict=True)
    assert [line.replace(f",{q!r},", ",", 1) for line, q in kept] == rain.read_text().splitlines()[1:]
    assert (fix.before, fix.after, fix.expected_ece) == (None, None, None)


def test_online_is_the_online_smoother(rain: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    fix = fix_file(rain, out, prediction="p", eps=0.01, seed=7, online=True, noise="uniform", into="safe")
    assert fix.cells == 20  # (2·4000)^(1/3)
    assert fix.choice is not None
    smoother = tc.OnlineSmoother(fix.choice.noise, cells=20, end="middle", rng=7)
    assert (column(out, "safe") == smoother.transform_many(column(rain, "p"))).all()
    assert fix.choice.guarantee == tc.guarantees.online_cdl(fix.choice.noise, 0.01, 4000, cells=20, end="middle")
    assert fix.choice.guarantee.value < tc.guarantees.online_cdl(fix.choice.noise, 0.01, 4000).value
    rounding = fix_file(rain, out, prediction="p", eps=0.01, online=True, noise="rounding")
    assert rounding.cells is None
    assert rounding.choice is not None
    assert isinstance(rounding.choice.noise, tc.RandomRounding)


@pytest.mark.parametrize("noise", ["best", "uniform", "laplace", "gaussian", "rounding", "paper"])
@pytest.mark.parametrize("target", ["ece", "cdl", "decision_loss"])
def test_every_noise_and_target(rain: Path, tmp_path: Path, noise: str, target: str) -> None:
    out = tmp_path / "out.parquet"
    assert (
        main(["fix", str(rain), "-o", str(out), "-p", "p", "--eps", "0.001", "--noise", noise, "--target", target]) == 0
    )
    assert len(tc.read(out, "p_noised", "y")) > 1


def test_doing_nothing_is_recommended_where_noise_promises_less(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.csv"
    command = ["fix", CENSUS, "-o", str(out), "-p", "prediction", "-y", "outcome", "--eps", "auto", "--seed", "1"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Noise does not help here: acting on the predictions as they are loses 0.05")
    assert "no more than the 0.223 that noise guarantees. No file is written." in " ".join(printed.split())
    assert "CDL ≤ 0.222969 (Theorem 44, sharpening Theorem 3.1)" in " ".join(printed.split())
    assert not out.exists()


def test_a_fresh_seed_is_reported_and_repeats(rain: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    fix = fix_file(rain, one, prediction="p", eps=0.01)
    fix_file(rain, other, prediction="p", eps=0.01, seed=fix.seed)
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-p", "p", "--eps", "auto"], "without outcomes the distance to calibration cannot be measured"),
        (["-p", "p"], "to write a column, give --remedy FILE (learn one with -y and --save) or --eps for noise"),
        (["--eps", "0.1"], "name the column of predictions: -p COLUMN"),
        (["-p", "p", "--eps", "0.1", "--remedy", "r.json"], "give --remedy or --eps, but not both"),
        (["-p", "p", "--remedy", "r.json"], "r.json cannot be read"),
        (["-p", "p", "--eps", "0.1", "--in-place"], "give -o OUT or --in-place, but not both"),
        (["-p", "p", "--eps", "0.1", "--save", "r.json"], "--save is for learning"),
        (["-p", "p", "--eps", "0"], "eps must be a distance to calibration in (0, 1], not 0.0"),
        (["-p", "p", "--eps", "1.5"], "eps must be a distance to calibration in (0, 1], not 1.5"),
        (["-p", "p", "--eps", "nan"], "eps must be a distance to calibration"),
        (["-p", "p", "--eps", "much"], "--eps must be auto or a number in (0, 1], not 'much'"),
        (["-p", "q", "--eps", "0.1"], "has no column 'q'"),
        (["-p", "p", "-y", "z", "--eps", "auto"], "has no column 'z'"),
        (["-p", "day", "--eps", "0.1"], "column 'day' must hold probabilities in [0, 1]"),
        (["-p", "p", "--eps", "0.1", "--into", "y"], "'y'"),
        (["-p", "p", "--eps", "0.1", "--seed", "-1"], "a seed must be an integer from 0"),
        (["-p", "p", "--eps", "0.1", "--online", "--target", "decision_loss"], "with a horizon the target must be"),
        (["-p", "p", "--eps", "0.1", "--online", "--id", "day"], "draws in the order of rows: leave out row_id (--id)"),
        (["-p", "p", "--eps", "0.1", "--noise", "cauchy"], "invalid choice: 'cauchy'"),
    ],
)
def test_bad_input_leaves_what_was_there(
    rain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    out = tmp_path / "out.csv"
    out.write_text("old")
    assert main(["fix", str(rain), "-o", str(out), *options]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "rain.csv"]


def test_remedies_are_those_that_fix_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "in.csv", tmp_path / "out.csv"
    file.write_text("p,y\n0.5,won\n1.5,lost\n")
    command = ["fix", str(file), "-o", str(out), "-p", "p"]
    assert main([*command, "-y", "y", "--eps", "auto"]) == 2
    refusal = capsys.readouterr().err
    assert "2 of 2 rows do not: 1 with a prediction above 1, 1 with an outcome that is missing or not 0 or 1" in refusal
    assert "Or leave out the outcome and give eps (--eps)" in refusal
    with pytest.raises(SystemExit):
        main(["fix", "--help"])
    possible = re.findall(r"--[a-z-]+", capsys.readouterr().out)
    assert set(re.findall(r"--[a-z-]+", refusal)) <= set(possible)
    file.write_text("p,y\n0.5,won\n0.25,lost\n")
    assert main([*command, "--eps", "0.1"]) == 0


@pytest.mark.parametrize("options", [[], ["-y", "y"], ["--id", "city"]])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("text", ["city,p,y\nZürich,0.5,1\nBern,0.5,1\n", '{"city":"Zürich","p":0.5,"y":1}\n'])
def test_what_an_audit_cannot_read_is_not_copied_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, suffix: str, options: list[str]
) -> None:
    file, out = tmp_path / ("in.csv" if "," in text[:5] else "in.jsonl"), tmp_path / f"out.{suffix}"
    file.write_bytes(text.encode("latin-1"))
    assert main(["audit", str(file), "-p", "p", "-y", "y", "--by", "city", "--draws", "0"]) == 2
    assert main(["fix", str(file), "-o", str(out), "-p", "p", "--eps", "0.1", *options]) == 2
    for refusal in capsys.readouterr().err.splitlines():
        assert refusal.startswith(f"trustcal: {file} cannot be read: ")
        assert "utf-8" in refusal.lower()
    assert not out.exists()


def test_calibrated_rows_need_no_fix(tmp_path: Path) -> None:
    file = tmp_path / "coin.csv"
    file.write_text("p,y\n0.5,1\n0.5,0\n")
    with pytest.raises(ValueError, match="there is nothing to fix"):
        fix_file(file, tmp_path / "out.csv", prediction="p", outcome="y")
    with pytest.raises(ValueError, match="cannot be written"):
        fix_file(file, tmp_path / "out.xlsx", prediction="p", eps=0.1)


# Learn, save, apply


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """An overconfident model."""
    y, p = drawn(3000, 0, distorted=2.0)
    file = tmp_path / "labelled.csv"
    rows = zip(range(3000), p.tolist(), y.astype(int).tolist(), strict=True)
    file.write_text("t,p,y\n" + "".join(f"{t},{a!r},{b}\n" for t, a, b in rows))
    return file


def test_with_outcomes_the_table_is_printed_and_nothing_written(
    labelled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fix", str(labelled), "-p", "p", "-y", "y"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Recalibrate with outcomes, by temperature.")
    assert "above best" in printed
    assert "Nothing was written: --save FILE keeps it." in printed
    assert [path.name for path in tmp_path.iterdir()] == ["labelled.csv"]


def test_a_remedy_is_learned_saved_and_applied(
    labelled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved, out = tmp_path / "remedy.json", tmp_path / "out.parquet"
    assert main(["fix", str(labelled), "-p", "p", "-y", "y", "--method", "beta", "--save", str(saved)]) == 0
    assert "nobody gains more than" in " ".join(capsys.readouterr().out.split())
    remedy = tc.remedies.load(saved)
    assert isinstance(remedy, Remedy)
    assert remedy.method == "beta"
    assert remedy.certificate is not None
    assert main(["fix", str(labelled), "--remedy", str(saved), "-o", str(out)]) == 0
    written = pq.read_table(out)
    assert written.column_names == ["t", "p", "p_recalibrated", "y"]
    assert (written["p_recalibrated"].to_numpy() == remedy.apply(column(labelled, "p"))).all()
    assert main(["fix", str(labelled), "--remedy", str(saved), "-y", "y", "--in-place", "--into", "better"]) == 0
    shown = capsys.readouterr().out
    assert "Brier score" in shown
    assert "another column" not in shown
    assert (column(labelled, "better") == remedy.apply(column(labelled, "p"))).all()
    again = ["fix", str(labelled), "-p", "better", "--remedy", str(saved), "-o", str(tmp_path / "twice.csv")]
    assert main(again) == 0
    assert "It was learned from another column, p." in " ".join(capsys.readouterr().out.split())


def test_the_lower_bound_is_about_the_methods_that_it_bars(rain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", str(rain), "-p", "p", "--eps", "0.0001", "--in-place", "--seed", "1"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "No method that answers each prediction from it and the earlier ones can guarantee less than 0.00" in shown


def test_the_input_is_overwritten_only_in_place(labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = labelled.read_bytes()
    assert main(["fix", str(labelled), "-p", "p", "--eps", "0.01", "-o", str(labelled)]) == 2
    assert "give --in-place to write over it" in capsys.readouterr().err
    assert labelled.read_bytes() == before


@pytest.mark.slow
def test_where_nothing_helps_nothing_is_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    y, p = drawn(2000, 1)
    file, saved = tmp_path / "in.csv", tmp_path / "remedy.json"
    file.write_text("p,y\n" + "".join(f"{a!r},{int(b)}\n" for a, b in zip(p.tolist(), y.tolist(), strict=True)))
    assert main(["fix", str(file), "-p", "p", "-y", "y", "--save", str(saved)]) == 0
    assert capsys.readouterr().out.startswith("No remedy clearly helps here.")
    assert not saved.exists()
    none = tc.remedies.fit("none", y, p)
    fix = fix_file(file, tmp_path / "out.csv", prediction="p", remedy=none)
    assert not fix.written
    assert fix.advice.startswith("Do nothing: that is the remedy")
    assert not (tmp_path / "out.csv").exists()


def test_learning_by_time_group_and_payoff(labelled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    payoff = tmp_path / "payoff.csv"
    payoff.write_text("action,0,1\nwait,0,0\ntreat,-1,3\n")
    assert main(["fix", str(labelled), "-p", "p", "-y", "y", "--order", "t", "--payoff", str(payoff)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "in time order" in printed
    assert main(["fix", str(labelled), "-p", "p", "-y", "y", "-w", "t", "--keep-back", "0"]) == 0
    assert "kept back" not in capsys.readouterr().out
    assert main(["fix", str(labelled), "-p", "p", "-y", "y", "--keep-back", "2"]) == 2
    assert "keep_back must lie in" in capsys.readouterr().err


def test_a_remedy_gives_the_same_bits_in_every_engine(labelled: Path) -> None:
    rows = pd.read_csv(labelled, float_precision="round_trip")  # as DuckDB parses numbers: to the last bit
    relation = duckdb.read_csv(str(labelled))
    parts = dd.from_pandas(rows, npartitions=3)  # type: ignore[no-untyped-call]
    for method in ("beta", "spline", "centred isotonic", "Venn–Abers", "histogram"):
        remedy = tc.remedies.fit(method, rows["y"], rows["p"])
        expected = remedy.apply(rows["p"])
        frames = {
            "pandas": tc.fix_frame(rows, remedy, prediction="p")["p_recalibrated"],
            "polars": tc.fix_frame(pl.from_pandas(rows), remedy, prediction="p")["p_recalibrated"],
            "lazy": tc.fix_frame(pl.from_pandas(rows).lazy(), remedy, prediction="p").collect()["p_recalibrated"],
            "pyarrow": tc.fix_frame(pa.Table.from_pandas(rows), remedy, prediction="p")["p_recalibrated"],
            "duckdb": tc.fix_frame(relation, remedy, prediction="p").order("t").df()["p_recalibrated"],
            "dask": tc.fix_frame(parts, remedy, prediction="p").compute()["p_recalibrated"],
        }
        for engine, found in frames.items():
            assert (np.asarray(found) == expected).all(), (method, engine)


@pytest.mark.slow
def test_what_is_learned_as_json(labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", str(labelled), "--positive", "1", "--resolution", "0.0009765625", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # Temperature is the truth, but in these rows a shift seems to help.
    assert found["recommended"] == found["remedy"]["method"] == "Platt"
    assert {method["name"] for method in found["methods"]} >= {"none", "Platt", "uniform noise"}
    again = tc.remedies.from_json(json.dumps(found["remedy"]))
    assert isinstance(again, Remedy)
    assert again.certificate is not None


def test_options_without_effect_are_refused(labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", str(labelled), "-p", "p", "--eps", "0.01", "--by", "t", "-o", "out.csv"]) == 2
    assert "--by is for learning" in capsys.readouterr().err
    assert main(["fix", str(labelled), "-p", "p", "--eps", "0.01", "--order", "t", "-o", "out.csv"]) == 2
    assert "--order is for learning" in capsys.readouterr().err
    assert main(["fix", str(labelled), "-p", "p", "-y", "y", "--into", "better"]) == 2
    assert "to write a column, give --remedy FILE" in capsys.readouterr().err
    assert main(["fix", str(labelled), str(labelled), "-p", "p", "--eps", "0.01", "-o", "out.csv"]) == 2
    assert "one file is rewritten at a time, but 2 are given" in capsys.readouterr().err


@pytest.mark.slow
def test_groups_have_maps_of_their_own_in_files_and_frames(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    y, p, groups = grouped(6000, 0, {"north": 1.2, "south": -1.2, "7": 0.0})
    rows = pd.DataFrame({"p": p, "y": y.astype(int), "place": groups})
    file, saved, out = tmp_path / "labelled.csv", tmp_path / "remedy.json", tmp_path / "out.parquet"
    rows.to_csv(file, index=False)
    assert main(["fix", str(file), "-p", "p", "-y", "y", "--by", "place", "--save", str(saved)]) == 0
    assert "by group" in capsys.readouterr().out
    remedy = tc.remedies.load(saved)
    assert isinstance(remedy, Remedy)
    assert remedy.by_group
    assert remedy.certificate is not None
    assert remedy.certificate.decision_loss < 0.05
    assert main(["fix", str(file), "--remedy", str(saved), "-o", str(out)]) == 0
    expected = remedy.apply(p, groups=groups)
    assert (pq.read_table(out)["p_recalibrated"].to_numpy() == expected).all()
    relation = duckdb.from_df(rows)
    frames = {
        "pandas": tc.fix_frame(rows, remedy, prediction="p")["p_recalibrated"],
        "polars": tc.fix_frame(pl.from_pandas(rows), remedy, prediction="p")["p_recalibrated"],
        "pyarrow": tc.fix_frame(pa.Table.from_pandas(rows), remedy, prediction="p")["p_recalibrated"],
        "duckdb": tc.fix_frame(relation, remedy, prediction="p").df()["p_recalibrated"],
    }
    for engine, found in frames.items():
        assert (np.asarray(found) == expected).all(), engine
    with pytest.raises(ValueError, match="'place'"):
        tc.fix_frame(rows.drop(columns="place"), remedy, prediction="p")
    with pytest.raises(ValueError, match="which this is not"):
        tc.fix_frame(rows, tc.remedies.fit("Platt", y, p), prediction="p", by="place")
    with pytest.raises(ValueError, match="name the column of groups"):
        tc.fix_frame(rows, tc.remedies.fit("Platt", y, p, by=groups), prediction="p")
    assert main(["watch", str(file), "-y", "y", "--no-follow", "--remedy", str(saved)]) == 2
    assert "learned by group" in capsys.readouterr().err
