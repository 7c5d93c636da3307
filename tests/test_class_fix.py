"""trustcal fix --classes: remedies for K classes learned from files, saved, and applied to files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import trustcal as tc
from tests.tampering import resealed
from tests.test_class_remedies import overconfident
from trustcal.class_predictor import ClassPredictor
from trustcal.classes import class_brier
from trustcal.cli import main
from trustcal.remedies import ClassRemedy, choose, fit, load
from trustcal.rewriting import fix_classes_file

NAMES = ["cat", "dog", "fox"]
OLD = ["p_cat", "p_dog", "p_fox"]
NEW = [f"{name}_recalibrated" for name in OLD]


def frame(n: int = 400, seed: int = 0) -> pl.DataFrame:
    y, said, _ = overconfident(n, seed=seed)
    columns: dict[str, Any] = {name: said[:, k] for k, name in enumerate(OLD)}
    return pl.DataFrame({"id": [f"00{k}" for k in range(n)], **columns, "label": np.array(NAMES)[y]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("fix")
    frame().write_parquet(made / "labelled.parquet")
    frame(100, seed=1).write_parquet(made / "new.parquet")
    rows = frame()
    fit("temperature", rows["label"], rows.select(OLD).to_numpy(), classes=NAMES).save(made / "remedy.json")
    return made


def test_a_remedy_is_learned_saved_and_applied(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved, out, line = tmp_path / "remedy.json", tmp_path / "out.parquet", ["--classes", "p_*"]
    assert main(["fix", str(folder / "labelled.parquet"), *line, "-y", "label", "--save", str(saved)]) == 0
    text = capsys.readouterr().out
    rows = frame()
    p = rows.select(OLD).to_numpy()
    choice = choose(rows["label"], p, classes=NAMES)
    assert f"Recommended: {choice.recommended}" in text
    assert "Saved in" in text
    assert load(saved) == choice.fitted
    assert [path.name for path in tmp_path.iterdir()] == ["remedy.json"]  # nothing else is written
    new = str(folder / "new.parquet")
    assert main(["fix", new, *line, "--remedy", str(saved), "-o", str(out), "-y", "label"]) == 0
    assert "100 rows, new columns p_cat_recalibrated, p_dog_recalibrated" in " ".join(capsys.readouterr().out.split())
    written, before = pl.read_parquet(out), frame(100, seed=1)
    assert written.columns == ["id", *OLD, *NEW, "label"]
    assert written.select(before.columns).equals(before)
    expected = choice.fitted.apply(before.select(OLD).to_numpy())
    np.testing.assert_array_equal(written.select(NEW).to_numpy(), expected)
    again = tc.audit(out, classes="p_*_recalibrated", outcome="label", draws=0)
    assert again.classes == tuple(NAMES)
    assert main(["fix", str(folder / "labelled.parquet"), *line, "-y", "label", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recommended"] == choice.recommended


def test_an_infinite_log_loss_has_one_sign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("p_a,p_b,p_c,label\n" + "0.5,0.5,0,a\n0.2,0.7,0.1,b\n0.6,0.4,0,c\n" * 30)
    assert main(["fix", str(file), "--classes", "p_*", "-y", "label"]) == 0
    said = capsys.readouterr().out
    assert "∞" in said
    assert "inf" not in said


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_every_format_keeps_its_values(kind: str, folder: Path, tmp_path: Path) -> None:
    """Text files get the same vectors, ids stay text, and columns in another order find their classes."""
    remedy = load(folder / "remedy.json")
    assert isinstance(remedy, ClassRemedy)
    rows = frame(50, seed=2).select(["id", "p_fox", "p_cat", "label", "p_dog"])
    source, out = tmp_path / f"new.{kind}", tmp_path / "out.parquet"
    if kind == "parquet":
        rows.write_parquet(source)
    elif kind == "jsonl":
        rows.write_ndjson(source)
    else:
        rows.write_csv(source, separator="," if kind == "csv" else "\t")
    done = fix_classes_file(source, out, classes="p_*", remedy=remedy, outcome="label")
    written = pl.read_parquet(out)
    assert done.rows == 50
    assert written["id"].to_list() == rows["id"].to_list()
    expected = remedy.apply(rows.select(OLD).to_numpy())
    np.testing.assert_allclose(written.select(NEW).to_numpy(), expected, rtol=0, atol=1e-15)
    fix_classes_file(source, source, classes="p_*", remedy=remedy)  # over itself, in its own format
    back = tmp_path / "back.parquet"
    with pytest.raises(ValueError, match=r"already has a column .*: rename or remove it"):
        fix_classes_file(source, back, classes="p_*", remedy=remedy)
    assert not back.exists()
    q = ClassPredictor.from_samples(rows["label"], rows.select(OLD).to_numpy(), classes=NAMES)
    assert done.before is not None
    assert done.after is not None
    assert done.before.brier == pytest.approx(class_brier(q), abs=1e-12)
    assert done.after.brier == pytest.approx(class_brier(remedy.predictor(q)), abs=1e-12)


def test_doing_nothing_writes_nothing(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, out = tmp_path / "remedy.json", tmp_path / "out.csv"
    line = ["fix", str(folder / "labelled.parquet"), "--classes", "p_*"]
    assert main([*line, "-y", "label", "--method", "none", "--save", str(saved)]) == 0
    assert "best left as they are" in capsys.readouterr().out
    assert not saved.exists()
    rows = frame()
    fit("none", rows["label"], rows.select(OLD).to_numpy(), classes=NAMES).save(saved)
    assert main([*line, "--remedy", str(saved), "-o", str(out)]) == 0
    assert not out.exists()


def refused(line: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(line) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_refusals_are_one_line(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new, saved, out = str(folder / "new.parquet"), folder / "remedy.json", tmp_path / "out.parquet"
    line = ["fix", new, "--classes", "p_*", "-o", str(out), "--remedy"]
    text = saved.read_text()
    state = json.loads(text)
    bad: dict[str, tuple[str, str]] = {
        "tampered": (text.replace("temperature", "temperaturE"), "changed after it was saved"),
        "newer": (json.dumps({**state, "version": 99}), "version 99, but this trustcal reads"),
        "cut": (text[: len(text) // 2], "not JSON"),
        "kind": (json.dumps({**state, "trustcal": "Monitor"}), "this is not a saved Remedy"),
        "map": (resealed({**state, "classes": ["a", "b"]}), "does not fit its classes"),
        "method": (resealed({**state, "method": 3}), "method must be text"),
        "rows": (resealed({**state, "rows": -3}), "rows must be"),
    }
    for name, (content, rule) in bad.items():
        file = tmp_path / f"{name}.json"
        file.write_text(content)
        assert rule in refused([*line, str(file)], capsys), name
    binary = tmp_path / "binary.json"
    fit("Platt", [0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8]).save(binary)
    assert "remedy for two outcomes: use -p" in refused([*line, str(binary)], capsys)
    assert "name their columns" in refused(["fix", new, "-p", "p_cat", "-o", str(out), "--remedy", str(saved)], capsys)
    assert "--by is for two outcomes" in refused([*line, str(saved), "--by", "id"], capsys)
    assert "two or more columns" in refused(["fix", new, "--classes", "q_*", "-y", "label"], capsys)
    other = tmp_path / "other.csv"
    other.write_text("p_cat,p_dog,p_owl\n0.5,0.25,0.25\n")
    two = ["fix", str(other), "--classes", "p_*", "-o", str(out), "--remedy", str(saved)]
    assert "learned for the classes cat, dog, fox, but the columns are of the classes cat, dog, owl" in refused(
        two, capsys
    )
    other.write_text("p_cat,p_dog,p_fox\n0.5,0.25,0.25\n0.5,0.5,0.5\n,0.5,0.5\n")
    err = refused(two, capsys)
    assert "2 of 3 rows break this, the first is row 1 (from 0), which is 0.5, 0.5, 0.5" in err
    assert not out.exists()
    watched = ["watch", str(other), "-p", "p_cat", "-y", "label", "--remedy", str(saved), "--no-follow"]
    assert "holds a remedy for classes" in refused(watched, capsys)
