"""The audit of K classes: from files and frames to the verdict, the terminal, the page and the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import trustcal as tc
from tests.schema import DOCUMENT
from trustcal.auditing import ClassAudit, class_audit
from trustcal.cli import main
from trustcal.plots import regret_matrix
from trustcal.reading import outcome_problem, read_classes

NAMES = ["cat", "dog", "fox"]
PAYOFF = "action,cat,dog,fox\nkeep,1,1,-5\nshoo,0,0,2\nlook,0.4,0.4,0.4\n"


def rows(n: int = 200, sure: float = 3.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Vectors, and labels drawn from vectors that are less sure than said, the more the larger `sure`."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(3), n)
    y = (rng.random((n, 1)) >= np.cumsum(truth, axis=1)[:, :-1]).sum(axis=1)
    said = truth**sure
    return np.array(NAMES)[y], said / said.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("classes")
    y, p = rows()
    lines = [f"{label},{','.join(map(repr, map(float, line)))},1" for label, line in zip(y, p, strict=True)]
    (place / "rows.csv").write_text("\n".join(["label,p_cat,p_dog,p_fox,w", *lines]) + "\n")
    (place / "payoff.csv").write_text(PAYOFF)
    return place


def test_the_command_line(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, payoff, page = str(folder / "rows.csv"), str(folder / "payoff.csv"), tmp_path / "page.html"
    line = ["audit", file, "--classes", "p_cat,p_dog,p_fox", "-y", "label", "--payoff", payoff, "--draws", "5"]
    assert main([*line, "--html", str(page)]) == 0
    out, err = capsys.readouterr()
    said = " ".join(out.split())
    assert said.startswith("These probabilities are off, and not by chance: your decision maker loses")
    assert "Wrong most expensively: where the recommendation is 'keep'" in said
    assert re.search(r"The likeliest class is given \d\d\.\d % on average, and is right in \d\d\.\d % ", said)
    assert err == f"The page is in {page}: open it in a browser.\n"
    html = page.read_text()
    assert "Recommendation by recommendation" in html
    assert 'id="matrix"' in html
    assert main([*line[:3], "p_*", *line[4:], "--json"]) == 0  # a pattern
    found = json.loads(capsys.readouterr().out)
    assert found["classes"] == NAMES
    assert found["problem"]["actions"] == ["keep", "shoo", "look"]
    assert found["verdict"]["state"] == "off"
    again = tmp_path / "again.html"
    assert main([*line, "--html", str(again)]) == 0
    assert again.read_bytes() == page.read_bytes()


def test_python_gives_the_same_numbers(folder: Path) -> None:
    y, p = rows()
    problem = outcome_problem(folder / "payoff.csv")
    from_file = tc.audit(folder / "rows.csv", classes="p_*", outcome="label", payoff=folder / "payoff.csv", draws=3)
    from_rows = tc.audit(y, p, classes=NAMES, payoff=problem, draws=3)
    assert isinstance(from_rows, ClassAudit)
    assert from_file.problem == from_rows.problem
    assert from_file.views == from_rows.views
    assert from_file.worst == from_rows.worst
    mixed = tc.audit(y, p[:, [2, 0, 1]], classes=["fox", "cat", "dog"], payoff=problem, draws=0)
    plain = tc.audit(y, p, classes=NAMES, payoff=problem, draws=0)
    assert mixed.problem.action_regret == pytest.approx(plain.problem.action_regret, abs=1e-12)
    assert mixed.problem.payoff[0] == (-5.0, 1.0, 1.0)
    assert str(plain).startswith("On these rows your decision maker loses")
    assert "ClassAudit(3 classes, 200 rows, not tested" in repr(plain)
    q = tc.ClassPredictor.from_samples(y, p, classes=NAMES)
    assert tc.audit(q, draws=0).problem.yours is False  # type: ignore[union-attr]


def test_json_is_read_back() -> None:
    y, p = rows(100)
    for found in (class_audit(y, p, classes=NAMES, draws=5), class_audit(y, p, classes=NAMES, draws=0)):
        assert ClassAudit.from_json(found.to_json()) == found
    zero = class_audit(["cat", "fox"], [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], classes=NAMES, draws=0)
    assert ClassAudit.from_json(zero.to_json()).log_loss.mcb == np.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("groups"), "lacks groups"),
        (lambda data: data.update(version=1), "of version 1"),
        (lambda data: data.update(trustcal="Audit"), "not a saved ClassAudit"),
        (lambda data: data["problem"].update(stakes="high"), "the audit.problem.stakes must be of type float"),
        (lambda data: data["views"][0].pop("values"), r"the audit.views\[0\] lacks values"),
    ],
)
def test_json_that_no_audit_wrote_is_refused(change: Any, message: str) -> None:
    data = json.loads(class_audit(["cat", "fox"], np.eye(3)[:2], classes=NAMES, draws=0).to_json())
    change(data)
    with pytest.raises(ValueError, match=message):
        ClassAudit.from_json(json.dumps(data))


def test_the_fields_of_the_json_are_on_the_schema_page() -> None:
    found = json.loads(class_audit(["cat", "fox"], np.eye(3)[:2], classes=NAMES, draws=5).to_json())
    page = DOCUMENT.read_text().split("\n## ClassAudit\n")[1].split("\n## ")[0]
    assert {"trustcal", "version", *re.findall(r"^\| `(\w+)`", page, flags=re.MULTILINE)} == set(found)


@pytest.mark.slow
def test_verdicts() -> None:
    y, p = rows(1500, sure=1.0)
    found = class_audit(y, p, classes=NAMES, draws=20).verdict
    assert found.state in ("trustworthy", "no evidence")
    assert found.fine
    few = class_audit(*rows(30, sure=1.0), classes=NAMES, draws=20).verdict
    assert few.state == "too few rows to tell"
    known = tc.ClassPredictor([[0.5, 0.25, 0.25]], [[0.5, 0.25, 0.25]])
    assert class_audit(known).verdict.headline == "No decision maker loses anything by believing these probabilities."
    wrong = tc.ClassPredictor([[0.5, 0.25, 0.25]], [[0.25, 0.5, 0.25]])
    assert class_audit(wrong).verdict.state == "off"


def test_every_source_gives_the_same_predictor(folder: Path, tmp_path: Path) -> None:
    import duckdb
    import pandas as pd
    import polars as pl

    frame = pl.read_csv(folder / "rows.csv")
    frame.write_parquet(tmp_path / "rows.parquet")
    frame.write_ndjson(tmp_path / "rows.jsonl")
    expected, read = read_classes(folder / "rows.csv", "p_*", "label")
    assert read.columns == ("p_cat", "p_dog", "p_fox")
    sources: list[Any] = [
        tmp_path / "rows.parquet", tmp_path / "rows.jsonl", frame, frame.lazy(), frame.to_arrow(),
        pd.DataFrame(frame.to_dict(as_series=False)), duckdb.sql(f"FROM '{folder / 'rows.csv'}'"),
    ]  # fmt: skip
    for source in sources:
        q, _ = read_classes(source, ["p_cat", "p_dog", "p_fox"])
        assert q.classes == expected.classes
        assert (q.p == expected.p).all()
        assert (q.joint == expected.joint).all()
    heavy, _ = read_classes(folder / "rows.csv", "p_*", "label", "w")
    assert (heavy.joint == expected.joint).all()


@pytest.mark.parametrize("labels", ["0,1,2", "0.0,1.0,2.0", "p_0,p_1,p_2"])
def test_the_type_of_labels_in_a_file_does_not_matter(labels: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    first, second, third = labels.split(",")
    file.write_text(f"y,p_0,p_1,p_2\n{first},0.5,0.25,0.25\n{third},0,0,1\n{second},0,1,0\n")
    q, _ = read_classes(file, "p_*")
    assert [int(str(name)[-1]) for name in q.classes] == [0, 1, 2]
    assert sorted(q.outcome.tolist()) == [0, 1, 2]


GOOD = "label,p_cat,p_dog,p_fox\ncat,0.5,0.25,0.25\nfox,0.2,0.3,0.5\n"


@pytest.mark.parametrize(
    ("text", "classes", "message"),
    [
        (GOOD.replace("0.2,0.3", "0.2,0.9"), "p_*", "each row of proba must sum to 1, within 0.001: 1 of 2 rows"),
        (GOOD, "p_cat,p_dog,p_wolf", "has no column 'p_wolf'"),
        (GOOD.replace("fox,0.2", "wolf,0.2"), "p_*", "'wolf' in row 1 (from 0)"),
        (GOOD.replace("fox,0.2", ",0.2"), "p_*", "missing in row 1"),
        (GOOD, "p_c*", "classes must name two or more columns of probabilities, but of 'p_c*' only 'p_cat' is one"),
        (GOOD, "q_*", "none of p_cat, p_dog, p_fox is one"),
        (GOOD.replace("0.3,0.5", "x,0.5"), "p_*", "missing or NaN"),
        (GOOD.split("\n")[0] + "\n", "p_*", "at least one row"),
        (
            "label," + ",".join(f"p_{k}" for k in range(10**4)) + "\n0," + ",".join(["0.0001"] * 10**4) + "\n",
            "p_*",
            "there may be at most 1,000 classes, but 'p_*' names 10,000 columns",
        ),
    ],
    ids=["sum", "no column", "label", "no label", "one class", "none", "text", "no rows", "10^4 classes"],
)
def test_bad_input_is_one_line(
    text: str, classes: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = tmp_path / "rows.csv", tmp_path / "page.html"
    file.write_text(text)
    assert main(["audit", str(file), "--classes", classes, "-y", "label", "--html", str(page)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert not page.exists()


def test_bad_options_are_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(folder / "rows.csv")
    for more, message in (
        (["--by", "nobody"], "no column 'nobody'"),
        (["--segments", "w"], "--segments is for two outcomes"),
        (["-p", "p_cat"], "--prediction is for two outcomes"),
        (["--payoff", file], "a payoff file for classes is a CSV with the header action"),
    ):
        assert main(["audit", file, "--classes", "p_*", "-y", "label", "--draws", "0", *more]) == 2
        assert message in capsys.readouterr().err
    (folder / "two.csv").write_text("action,cat,dog\nkeep,1,0\n")
    assert main(["audit", file, "--classes", "p_*", "-y", "label", "--payoff", str(folder / "two.csv")]) == 2
    assert "a column for each class" in capsys.readouterr().err
    with pytest.raises(ValueError, match="OutcomeProblem is for several classes"):
        tc.audit([0, 1], [0.2, 0.8], payoff=tc.OutcomeProblem(np.eye(2)))  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="with classes only"):
        tc.audit([0, 1], np.eye(2), classes=[0, 1], cells=4)  # type: ignore[call-overload]


def test_invalid_rows_are_dropped_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(GOOD + "wolf,0.2,0.3,0.5\ncat,0.2,0.3,0.9\ncat,,0.5,0.5\n")
    q, read = read_classes(file, "p_*", drop_invalid=True)
    assert q.rows == 2
    assert (read.rows, read.dropped) == (5, 3)
    assert main(["audit", str(file), "--classes", "p_*", "--drop-invalid", "--draws", "0"]) == 0
    assert "3 of 5 rows were dropped" in capsys.readouterr().err


def test_names_are_escaped_in_the_page(tmp_path: Path) -> None:
    evil = ["<script>alert(1)</script>", "a&b", "$x$"]
    y, p = rows(60)
    labels = [evil[NAMES.index(one)] for one in y]
    problem = tc.OutcomeProblem(np.eye(3), evil, evil)
    class_audit(labels, p, classes=evil, payoff=problem, draws=5).to_html(tmp_path / "page.html", title="<b>")
    html = (tmp_path / "page.html").read_text()
    assert "<script>alert" not in html
    assert "a&amp;b" in html
    assert "<title>&lt;b&gt;</title>" in html


def test_the_matrix_picture() -> None:
    table = np.array([[0.0, 0.25, -0.5], [-0.1, 0.0, -0.2], [0.0, 0.125, 0.0]])
    ax = regret_matrix(["a", "b", "c"], table, ax=Figure().subplots())
    assert sorted(text.get_text() for text in ax.texts) == ["+0.12", "+0.25", "−0.1", "−0.2", "−0.5"]
    many = regret_matrix([f"action {i}" for i in range(20)], np.eye(20)[::-1], ax=Figure().subplots())
    assert len(many.get_yticklabels()) == 12
    with pytest.raises(ValueError, match="3 rows and columns"):
        regret_matrix(["a", "b", "c"], [[1.0]])
    y, p = rows(60)
    assert class_audit(y, p, classes=NAMES, draws=0).plot(ax=Figure().subplots()).get_ylabel() == "recommended"
