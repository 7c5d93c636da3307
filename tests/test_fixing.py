"""trustcal fix: what is written, what is said, and what is refused."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import trustcal as tc
from trustcal.auditing.advice import fix_advice
from trustcal.cli import main
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
    assert fix.choice.noise == tc.guarantees.best_noise(fix.eps, "cdl").noise
    assert fix.before is not None
    assert fix.after is not None
    assert fix.before.cdl == 1.0
    assert fix.expected_cdl is not None
    assert fix.expected_cdl <= fix.choice.guarantee.value == pytest.approx(0.01)
    assert fix.after.cdl < 0.1  # a draw of 4000 rows on 16 bins
    assert fix.before.auc == 0.0
    assert fix_advice(fix).startswith("The guarantee, 0.01, is below the current loss, 1.")


def test_the_values_are_those_of_perturb_and_the_rest_of_the_file_stays(rain: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    fix = fix_file(rain, out, prediction="p", eps=0.01, seed=7, row_id="day")
    p, day = column(rain, "p"), column(rain, "day").astype(int)
    expected = tc.perturb(p, fix.choice.noise, ids=day, seed=7)
    assert (column(out, "p_safe") == expected).all()
    kept = zip(out.read_text().splitlines()[1:], expected.tolist(), strict=True)
    assert [line.replace(f",{q!r},", ",", 1) for line, q in kept] == rain.read_text().splitlines()[1:]
    assert (fix.before, fix.after, fix.expected_ece) == (None, None, None)


def test_online_is_the_online_smoother(rain: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    fix = fix_file(rain, out, prediction="p", eps=0.01, seed=7, online=True, noise="uniform", into="safe")
    assert fix.cells == 16  # ⌈4000^(1/3)⌉
    smoother = tc.OnlineSmoother(fix.choice.noise, horizon=4000, rng=7)
    assert (column(out, "safe") == smoother.transform_many(column(rain, "p"))).all()
    assert fix.choice.guarantee == tc.guarantees.online_cdl(fix.choice.noise, 0.01, 4000)
    rounding = fix_file(rain, out, prediction="p", eps=0.01, online=True, noise="rounding")
    assert rounding.cells is None
    assert isinstance(rounding.choice.noise, tc.RandomRounding)


@pytest.mark.parametrize("noise", ["best", "uniform", "laplace", "gaussian", "rounding", "paper"])
@pytest.mark.parametrize("target", ["ece", "cdl", "decision_loss"])
def test_every_noise_and_target(rain: Path, tmp_path: Path, noise: str, target: str) -> None:
    out = tmp_path / "out.parquet"
    assert (
        main(["fix", str(rain), "-o", str(out), "-p", "p", "--eps", "0.001", "--noise", noise, "--target", target]) == 0
    )
    assert len(tc.read(out, "p_safe", "y")) > 1


def test_doing_nothing_is_recommended_where_noise_promises_less(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["fix", CENSUS, "-o", str(tmp_path / "out.csv"), "-p", "prediction", "-y", "outcome", "--seed", "1"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Do nothing: acting on the predictions as they are loses 0.05121, less than the 0.2821")
    assert "CDL ≤ 0.282077 (Theorem 15, sharpening Theorem 3.1)" in printed
    assert "AUC                        |            0.8797 |" in printed
    first = (tmp_path / "out.csv").read_bytes()
    assert main(command) == 0
    assert (tmp_path / "out.csv").read_bytes() == first


def test_a_fresh_seed_is_reported_and_repeats(rain: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    fix = fix_file(rain, one, prediction="p", eps=0.01)
    fix_file(rain, other, prediction="p", eps=0.01, seed=fix.seed)
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-p", "p"], "without outcomes the distance to calibration cannot be measured"),
        (["-p", "p", "--eps", "0"], "eps must be a distance to calibration in (0, 1], not 0.0"),
        (["-p", "p", "--eps", "1.5"], "eps must be a distance to calibration in (0, 1], not 1.5"),
        (["-p", "p", "--eps", "nan"], "eps must be a distance to calibration"),
        (["-p", "p", "--eps", "much"], "--eps must be auto or a number in (0, 1], not 'much'"),
        (["-p", "q", "--eps", "0.1"], "has no column 'q'"),
        (["-p", "p", "-y", "z"], "has no column 'z'"),
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
    assert main([*command, "-y", "y"]) == 2
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
@pytest.mark.parametrize("text", ["city,p,y\nZürich,0.5,1\nBern,0.5,0\n", '{"city":"Zürich","p":0.5,"y":1}\n'])
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
