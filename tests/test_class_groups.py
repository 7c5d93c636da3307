"""Groups and gates of an audit of K classes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import trustcal as tc
from trustcal.auditing import ClassAudit, Gate, class_audit
from trustcal.cli import main
from trustcal.reading import class_reading

NAMES = ["cat", "dog", "fox"]
PAYOFF = "action,cat,dog,fox\nkeep,1,1,-5\nshoo,0,0,2\nlook,0.4,0.4,0.4\n"


def frame(n: int = 500, seed: int = 0) -> pl.DataFrame:
    """Vectors that are right in the north, too sure in the south, and a tiny west."""
    rng = np.random.default_rng(seed)
    place = np.repeat(["north", "south", "west"], [n // 2 - 8, n // 2, 8])
    truth = rng.dirichlet(np.ones(3), n)
    y = (rng.random((n, 1)) >= np.cumsum(truth, axis=1)[:, :-1]).sum(axis=1)
    said = np.where((place == "south")[:, None], truth**6, truth)
    said /= said.sum(axis=1, keepdims=True)
    columns: dict[str, Any] = {f"p_{name}": said[:, k] for k, name in enumerate(NAMES)}
    return pl.DataFrame({"label": np.array(NAMES)[y], **columns, "place": place, "even": np.arange(n) % 2 == 0})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("groups")
    frame().write_csv(made / "rows.csv")
    (made / "payoff.csv").write_text(PAYOFF)
    return made


@pytest.fixture(scope="module")
def found(folder: Path) -> ClassAudit:
    return tc.audit(folder / "rows.csv", classes="p_*", by="place", payoff=folder / "payoff.csv", draws=20)


def test_groups_are_their_rows(folder: Path, found: ClassAudit) -> None:
    """Each group has the numbers of an audit of its own rows, and the most hurt is first."""
    assert found.groups[0].name == "south"
    rows = frame()
    for group in found.groups:
        own = rows.filter(pl.col("place") == group.name)
        alone = tc.audit(own, classes="p_*", outcome="label", payoff=folder / "payoff.csv", draws=0)
        assert group.rows == alone.rows
        assert group.problem.action_regret == pytest.approx(alone.problem.action_regret, rel=1e-12)
        assert group.top.values == pytest.approx(dict(alone.top.values), rel=1e-12)
    assert sum(group.rows or 0 for group in found.groups) == 500
    south, north = (next(one for one in found.groups if one.name == name) for name in ("south", "north"))
    assert south.p_value is not None
    assert north.p_value is not None
    assert south.p_value < 0.05 < north.p_value
    assert "south" in next(harm.text for harm in found.verdict.hurt if harm.who == "Worst-hurt group")


def test_small_groups_are_one_sentence(found: ClassAudit) -> None:
    west = next(group for group in found.groups if group.name == "west")
    assert west.small
    assert west.upper is not None
    assert west.upper > 0.2
    assert not found.groups[0].small
    sure = class_audit(["cat"] * 7, [[1.0, 0.0, 0.0]] * 7, classes=NAMES, draws=5)
    alone = replace(west, rows=7, problem=sure.problem, top=sure.top)
    assert alone.upper == pytest.approx(1 - 0.025 ** (1 / 7), rel=1e-12)  # seven rows that are right do not prove much
    text = " ".join(str(found).split())
    assert "west has too few rows to say anything" in text
    assert ClassAudit.from_json(found.to_json()) == found


def test_several_columns_frames_and_arrays_make_groups(folder: Path, found: ClassAudit) -> None:
    both = class_reading(folder / "rows.csv", "p_*", by=["place", "even"])
    assert sorted(both.groups) == sorted(f"{a}, {b}" for a in ("north", "south", "west") for b in ("false", "true"))
    assert class_reading(frame(), "p_*", by="place").groups.keys() == {"north", "south", "west"}
    with pytest.raises(ValueError, match="by must name other columns than the outcome, but 'label' is the outcome"):
        class_reading(folder / "rows.csv", "p_*", by=["place", "label"])
    parts = class_reading(folder / "rows.csv", "p_*", by="place")
    again = class_audit(parts.predictor, groups=parts.groups, payoff=folder / "payoff.csv", draws=20)
    assert again.groups == found.groups
    with pytest.raises(ValueError, match="for arrays give groups="):
        class_audit(parts.predictor, by="place")
    with pytest.raises(ValueError, match="a dict of class predictors"):
        class_audit(parts.predictor, groups={"a": tc.Predictor([0.5], [1.0], [0.5])})  # type: ignore[dict-item]


def test_missing_groups_and_weights(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("label,p_a,p_b,w,g\na,1,0,1,x\nb,0,1,0,y\nb,0.5,0.5,2,\n")
    found = class_reading(file, "p_*", weight="w", by="g")
    assert {name: q.rows for name, q in found.groups.items()} == {"x": 1, "None": 1}  # y has no weight


def test_gates_compare_the_numbers_of_the_audit(found: ClassAudit) -> None:
    problem, views = found.problem, found.views
    assert problem.test is not None
    assert problem.bound is not None
    expected = {
        "loss": problem.share,
        "loss.lower": problem.bound.lower / problem.stakes,
        "loss.upper": problem.bound.upper / problem.stakes,
        "loss.floor": problem.test.by_chance / problem.stakes,
        "loss.p": found.verdict.p_value,
        "regret": problem.action_regret,
        "cutoff": max(one.values["cutoff"] for one in views[1:]),
        "top.cutoff": views[0].values["cutoff"],
        "top.atb": views[0].values["atb"],
        "cutoff.lower": max(one.known[1].lower for one in views[1:]),
        "top.monotone_cdl.upper": views[0].known[0].upper,
        "top.cutoff.p": views[0].known[1].p_value,
    }
    for name, value in expected.items():
        assert value is not None
        (failure,) = found.check(f"{name}<=1" if name.endswith(".p") else f"{name}>=0")
        assert failure.value == value, name
    groups = {group.name: group.problem.share for group in found.groups}
    failed = found.check("group.loss>0.02")
    assert {one.group for one in failed} == {name for name, loss in groups.items() if loss > 0.02}
    assert {one.group: one.value for one in found.check("group.regret>=0")} == {
        group.name: group.problem.action_regret for group in found.groups
    }
    (south,) = found.check("group.loss.p<0.05")
    assert south.group == "south"


def test_gates_without_a_value_are_refused(found: ClassAudit) -> None:
    y, p = ["cat", "dog"] * 20, [[0.5, 0.25, 0.25]] * 40
    bare = class_audit(y, p, classes=NAMES, draws=0)
    for audit, gate, rule in (
        (found, "smcal>0", "with classes the measures are monotone_cdl, cutoff, atb"),
        (found, "top.loss>0", "of the top label there are measures"),
        (found, "group.cutoff>0", "a group has group.loss and group.regret"),
        (found, "loss.p<0.001", "enough draws: draws=3003"),
        (found, "top.cutoff.p<0.001", "enough draws"),
        (bare, "regret>0", "needs your payoffs"),
        (bare, "group.loss>0", "needs groups"),
        (bare, "loss.lower>0", "enough draws"),
        (bare, "cutoff.lower>0", "enough draws"),
        (bare, "loss.p<0.5", "enough draws"),
    ):
        with pytest.raises(ValueError, match=rule):
            audit.check(gate)
    with pytest.raises(ValueError, match="needs a top label"):
        tc.audit([0, 1], [0.5, 0.5], draws=0).check("top.cutoff>0")
    assert str(Gate.parse("top.cutoff.lower > 0.5")) == "top.cutoff.lower>0.5"


def test_the_command_line_has_groups_and_gates(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    line = ["audit", str(folder / "rows.csv"), "--classes", "p_*", "--by", "place", "--draws", "5"]
    gates = ["--fail-if", "top.cutoff>0.01", "--fail-if", "group.loss>0.9"]
    assert main([*line, *gates, "--html", str(page)]) == 1
    out, err = capsys.readouterr()
    assert "Group by group" in out
    assert "top.cutoff>0.01: it is 0." in err
    assert "group.loss" not in err
    assert "south" in page.read_text()
    for more, rule in (
        (["--fail-if", "cutoff.p<0.1", "--draws", "12"], "needs rows and enough draws: draws=200"),
        (["--fail-if", "regret>1"], "use --payoff FILE"),
        (["--fail-if", "huh>1"], "a gate is on one of"),
    ):
        assert main([*line, *more]) == 2
        err = capsys.readouterr().err
        assert rule in err
        assert err.count("\n") == 1
    assert main(["audit", str(folder / "rows.csv"), "-p", "p_cat", "-y", "even", "--fail-if", "top.cutoff>0"]) == 2
    assert "use --classes COLUMNS" in capsys.readouterr().err


def test_assert_trustworthy_takes_classes() -> None:
    y, p = ["cat", "dog"] * 30, [[0.5, 0.5, 0.0]] * 60
    tc.assert_trustworthy(y, p, "loss<=0.01", "top.cutoff<=0.01", classes=NAMES, draws=5)
    with pytest.raises(AssertionError, match=r"cutoff<=0.1 does not hold: it is 0.5"):
        tc.assert_trustworthy(["fox"] * 60, [[0.5, 0.0, 0.5]] * 60, "cutoff<=0.1", classes=NAMES, draws=0)
