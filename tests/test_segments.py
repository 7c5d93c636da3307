"""Segments: counted right, judged right, found where they are planted and nowhere else."""

from __future__ import annotations

import csv
from dataclasses import replace
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any

import dask.dataframe
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trustcal as tc
from tests.strategies import examples
from trustcal.cli import main
from trustcal.reading import reading
from trustcal.reading.crosstab import Crosstab, crosstab
from trustcal.reading.features import MISSING, RARE, Condition
from trustcal.reading.fine_counts import CELLS, CodedPart, fine_counts
from trustcal.reading.memberships import memberships
from trustcal.segmenting.conjunctions import families
from trustcal.segmenting.harm import Beliefs, BiasCriterion, Criterion, Half, PayoffCriterion, criterion, smallest_gap
from trustcal.segmenting.judging import JudgedHarm, decision_loss_harm, split_fine
from trustcal.segmenting.merging import HurtPart
from trustcal.segmenting.search import initial, largest_by_chance, p_value, split, steps

ACT = tc.DecisionProblem([[0, 0], [-1, 3]], ["wait", "act"])
THREE = tc.DecisionProblem([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], ["no", "maybe", "yes"])


def planted(rows: int = 8000, wrong: float = -0.15, seed: int = 0) -> pa.Table:
    """Two categories, a number with missing values and a constant; wrong where region is north and device is old."""
    rng = np.random.default_rng(seed)
    region, device = rng.choice(["north", "south", "west"], rows), rng.choice(["new", "old"], rows)
    age = np.where(rng.random(rows) < 0.1, np.nan, rng.normal(40, 10, rows))
    p = 0.15 + 0.7 * rng.random(rows)
    y = rng.random(rows) < p + wrong * ((region == "north") & (device == "old"))
    return pa.table({"p": p, "y": y, "region": region, "device": device, "age": age, "same": ["x"] * rows})


def frames(table: pa.Table) -> dict[str, Any]:
    polars = pl.DataFrame(pl.from_arrow(table))
    return {
        "arrow": table,
        "duckdb": duckdb.connect().from_arrow(table),
        "pandas": table.to_pandas(),
        "polars": polars,
        "lazy": polars.lazy(),
    }


# Harm and surprise, by hand.


def test_harm_by_hand() -> None:
    """Four rows told 0.5, of which all are positive: R = 2, V = 1."""
    half, beliefs = Half(np.array([4.0]), np.array([4.0])), Beliefs(np.array([0.5]), np.array([0]))
    bias = BiasCriterion(np.array([]))
    (harm,), (surprise,) = bias.judged(bias.columns(half, beliefs))
    assert harm == (2**2 - 1) / 4
    assert surprise == pytest.approx(4 / (1 + 2 / 3), rel=1e-15)
    assert bias.reread(half, beliefs, np.array([True])).told == [1.0]
    # Told 0.5, ACT acts above 1/4: acting earned 3 on each of the four; waiting would have cost 12.
    acting = PayoffCriterion(np.array([0.25]), ACT)
    assert acting.actions.tolist() == [0, 1]
    assert acting.stretches == ((0, 1), (1, 2))
    waiting = Beliefs(np.array([0.5]), np.array([0]))
    (harm,), (surprise,) = acting.judged(acting.columns(half, waiting))
    # In units of 4, the gain is 12/4 = 3; if acting were just as good, its variance would be 4·(1/4)(3/4) = 3/4.
    assert harm == 12
    assert surprise == pytest.approx(9 / (0.75 + 1), rel=1e-15)
    (harm,), (surprise,) = acting.judged(acting.columns(half, Beliefs(np.array([0.5]), np.array([1]))))
    assert harm == surprise == 0


def test_decision_loss_by_hand() -> None:
    """Told 0.4, 3 of 4 rows have outcome 1: who acts only above 0.4 should act on it.  Other rows judge that."""
    choosing = tc.Predictor([0.4], [1.0], [0.75], rows=4)
    judging = tc.Predictor([0.4, 0.6], [0.5, 0.5], [0.25, 0.5], rows=16)
    found = decision_loss_harm(choosing, judging)
    # Acting pays (y − 0.4)/0.6, so that payoffs lie in [0, 1]: 1 if y = 1, and −2/3 if y = 0.
    assert found.chosen == tc.monotone_cdl(choosing) == pytest.approx((0.75 - 0.4) / 0.6)
    assert found.harm == pytest.approx(0.25 * 1 - 0.25 * 2 / 3)
    variance = 0.25 * 1 + 0.25 * 4 / 9 - found.harm**2
    assert found.upper - found.harm == pytest.approx(1.96 * np.sqrt(variance / 16), rel=1e-4)
    assert found.harm - found.lower == pytest.approx(found.upper - found.harm)
    assert decision_loss_harm(choosing, None) == JudgedHarm(0.0, 0.0, 1.0, 0.0)


def test_rows_are_split_and_read_as_earlier_steps_left_them() -> None:
    """Rows that judge and rows that choose are all rows; where a segment was corrected, its predictions are shifted."""
    table = planted(6000, wrong=-0.12)
    columns = reading(table).provenance.columns
    harm = criterion(tc.read(table), None)
    counted = crosstab(table, columns, ["region", "device"], harm.edges, 100)
    choosing, judging = split(counted, np.random.default_rng(0))
    (first,), _ = steps(counted, choosing, families(counted, 2, 100), harm, np.full(99, 30.0), 1)
    family = next(one for one in families(counted, 1, 100) if one.features == (0,))
    place = next(k for k in range(3) if (first.here & (family.segment(counted) == k)).any())
    here = family.segment(counted) == place
    again = replace(first, family=family, place=place, here=here)
    fine = fine_counts(table, columns, counted, [first.coded, again.coded])
    parts = [HurtPart.of(step) for step in (first, again)]
    for part in parts:
        chose, judged = split_fine(counted, [first, again], part, fine, judging, np.random.default_rng(1))
        for half, q in ((choosing, chose), (judging, judged)):
            assert q is not None
            assert q.rows == half.rows[part.here].sum()
            assert q.base_rate == pytest.approx(half.positive[part.here].sum() / q.rows, rel=1e-12)
    told = [q.p @ q.mass * (q.rows or 0) for q in (chose, judged) if q is not None]
    moved = counted.rows[first.moved].sum() * first.gap
    assert sum(told) == pytest.approx(counted.told[here].sum() + moved, rel=1e-6)


def test_smallest_gap_by_hand() -> None:
    """The surprise of the smallest gap is (√critical + 0.84)²."""
    for rows, variance, critical in [(100, 0.25, 20.0), (1e6, 0.01, 30.0), (50, 0.0, 10.0)]:
        bias = rows * smallest_gap(rows, variance, critical)
        if bias < rows:
            assert bias**2 / (rows * variance + bias / 3) == pytest.approx((np.sqrt(critical) + 0.84162) ** 2, rel=1e-4)


def test_all_rows_with_payoffs_have_the_action_regret() -> None:
    """On a whole range of one action, the gain is what DecisionProblem.recommendations says."""
    rng = np.random.default_rng(1)
    p = rng.random(500)
    y = rng.random(500) < p**2
    table = pa.table({"p": p, "y": y, "same": ["x"] * 500})
    q = tc.read(table)
    for problem in (ACT, THREE):
        harm = PayoffCriterion(problem.thresholds, problem)
        found = crosstab(table, reading(table).provenance.columns, ["same"], harm.edges, 1)
        half = Half(found.rows.astype(float), found.positive.astype(float))
        sums = families(found, 1, 1)[0].sums(found, harm.columns(half, initial(found, harm)))
        gains = [float(harm.judged(sums[:, k : k + 1].sum(axis=1))[0][0]) / 500 for k in range(len(harm.edges) + 1)]
        assert sum(gains) == pytest.approx(problem.action_regret(q, ties="lower"), rel=1e-12)


# Counting: against Python loops, and in every engine.

VALUES = st.sampled_from(["a", "b", "it's", 'q"', "ü, é", "", None])


@given(
    st.lists(st.tuples(VALUES, VALUES, st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.booleans()), min_size=1, max_size=40)
)
@examples(24)
def test_counts_and_families_against_loops(rows: list[tuple[Any, ...]]) -> None:
    first, second, p, y = map(list, zip(*rows, strict=True))
    table = pa.table({"p": p, "y": y, "a b": pa.array(first, pa.string()), "c'\"": pa.array(second, pa.string())})
    edges = np.array([0.25, 0.5])
    found = crosstab(table, reading(table).provenance.columns, ["a b", "c'\""], edges, 2)
    columns = np.column_stack([found.rows, found.told, found.positive]).astype(float)
    said: dict[frozenset[str], Any] = {}
    for family in families(found, 2, 2):
        for codes, sums in zip(family.codes.tolist(), family.sums(found, columns), strict=True):
            pairs = zip(family.features, codes, strict=True)
            said[frozenset(str(found.features[place].condition(code)) for place, code in pairs)] = sums
    names = ("a b", "c'\"")
    slow: dict[frozenset[str], Any] = {}
    members: dict[frozenset[str], frozenset[int]] = {}
    for size in range(3):
        for chosen in combinations(range(2), size):
            for values in {tuple((first, second)[k][i] for k in chosen) for i in range(len(rows))}:
                here = [i for i in range(len(rows)) if tuple((first, second)[k][i] for k in chosen) == values]
                pairs = zip(chosen, values, strict=True)
                name = frozenset(f"{names[k]} " + ("is missing" if one is None else f"= {one}") for k, one in pairs)
                slow[name] = np.zeros((3, 3))
                for i in here:
                    slow[name][sum(p[i] > edge for edge in edges)] += [1, p[i], y[i]]
                if len(here) >= 2 or not size:
                    members[name] = frozenset(here)
    for name, sums in said.items():
        np.testing.assert_allclose(sums, slow[name], atol=1e-8)  # predictions are added up in units of 2^-30
    assert {members[name] for name in said} == set(members.values())  # every set of rows, if not every name of it


def test_fine_counts_against_loops() -> None:
    """Rows by membership in two overlapping parts, range and cell, in every engine."""
    table = planted(600)
    features, edges = ["region", "device", "age"], np.array([0.3, 0.5])
    columns = reading(table).provenance.columns
    coded = crosstab(table, columns, features, edges, 20)
    parts = [CodedPart((0, 1), (2, 3), (2, 3)), CodedPart((2,), (3,), (4,))]  # north and old; two intervals of age
    found = fine_counts(table, columns, coded, parts)
    p, y, age = (table[name].to_numpy(zero_copy_only=False) for name in ("p", "y", "age"))
    north, old = (table[name].to_numpy(zero_copy_only=False) for name in ("region", "device"))
    cuts = coded.features[2].cuts
    member = ((north == "north") & (old == "old")) + 2 * ((age > cuts[0]) & (age <= cuts[2]))
    slow: dict[tuple[int, int, int], list[float]] = {}
    for bits, told, outcome in zip(member.tolist(), p.tolist(), y.tolist(), strict=True):
        if bits:
            sums = slow.setdefault((bits, sum(told > edge for edge in edges), int(told * CELLS)), [0, 0.0, 0])
            sums[:] = sums[0] + 1, sums[1] + told, sums[2] + outcome
    keys = sorted(slow)
    assert [key[:2] for key in keys] == list(zip(found.member.tolist(), found.ranges.tolist(), strict=True))
    assert [slow[key][0] for key in keys] == found.rows.tolist()
    assert [slow[key][2] for key in keys] == found.positive.tolist()
    np.testing.assert_allclose(found.p, [slow[key][1] / slow[key][0] for key in keys], atol=1e-9)
    for name, frame in frames(table).items():
        other = fine_counts(frame, columns, coded, parts)
        for field in ("member", "ranges", "p", "rows", "positive"):
            np.testing.assert_array_equal(getattr(other, field), getattr(found, field), err_msg=name)


def test_every_engine_finds_the_same() -> None:
    table = planted()
    every = {name: tc.segments(frame) for name, frame in frames(table).items()}
    assert every["arrow"].found
    for name, found in every.items():
        assert found == every["arrow"], name
    conditions = [segment.conditions for segment in every["arrow"].found]
    conditions += [(Condition("age"),), (Condition("age", above=30.0, most=40.0),), ()]
    said = {name: memberships(frame, conditions) for name, frame in frames(table).items()}
    age = table["age"].to_numpy()
    expected = [np.isnan(age), (age > 30) & (age <= 40), np.ones(len(age), dtype=bool)]
    np.testing.assert_array_equal(said["arrow"][:, -3:].T, expected)
    for name, member in said.items():
        np.testing.assert_array_equal(member, said["arrow"], err_msg=name)


def test_numbers_and_truth_values_have_the_same_codes_in_every_engine() -> None:
    """Few numbers are a category, NaN and null are missing, and the largest interval has infinity."""
    rng = np.random.default_rng(6)
    n = 600
    table = pa.table(
        {
            "p": rng.random(n),
            "y": rng.random(n) < 0.5,
            "kids": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 3, n)),
            "rooms": rng.integers(1, 4, n),
            "active": rng.random(n) < 0.5,
            "age": np.where(rng.random(n) < 0.1, np.inf, rng.normal(size=n)),
        }
    )
    names = ["kids", "rooms", "active", "age"]
    found = {
        name: crosstab(frame, reading(frame).provenance.columns, names, np.array([0.5]), 20)
        for name, frame in frames(table).items()
    }
    first = found["arrow"]
    assert [one.levels for one in first.features] == [("0.0", "1.0", "2.0"), ("1", "2", "3"), ("false", "true"), ()]
    for name, one in found.items():
        assert one.features == first.features, name
        np.testing.assert_array_equal(one.codes, first.codes)
        np.testing.assert_array_equal(one.told, first.told)
    segments = [[feature.condition(code)] for feature in first.features for code in range(1, feature.codes)]
    member = memberships(table, segments)
    assert member.any(axis=0).sum() == 4 + 3 + 2 + 5
    for name, frame in frames(table).items():
        np.testing.assert_array_equal(memberships(frame, segments), member, err_msg=name)


@pytest.mark.slow
def test_dask_and_ibis_find_the_same() -> None:
    table = planted(6000)
    found = tc.segments(table)
    assert found.found
    in_parts: Any = dask.dataframe.from_pandas
    for frame in (in_parts(table.to_pandas(), npartitions=3), import_module("ibis").memtable(table.to_pandas())):
        assert tc.segments(frame) == found
        np.testing.assert_array_equal(found.members(frame), found.members(table))


def test_files_hold_text_and_give_the_same(tmp_path: Path) -> None:
    """In a CSV file all is text: numbers are recognised, and empty fields are missing."""
    table = planted(5000)
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows(["" if value != value else value for value in row.values()] for row in table.to_pylist())
    assert tc.segments(path) == tc.segments(table)


# The search, against loops.


def slow_first(table: Crosstab, half: Half, harm: Criterion, depth: int, least: int, critical: float) -> Any:
    """The segment with the largest harm, entry by entry of the table."""
    beliefs = initial(table, harm)
    columns = harm.columns(half, beliefs)
    best: tuple[float, Any] = (0.0, None)
    for size in range(depth + 1):
        for chosen in combinations(range(len(table.features)), size):
            for codes in {tuple(table.codes[list(chosen), i].tolist()) for i in range(len(table.rows))}:
                here = np.all([table.codes[k] == code for k, code in zip(chosen, codes, strict=True)], axis=0)
                here = np.broadcast_to(here, len(table.rows))
                if RARE in codes or table.rows[here].sum() < least:
                    continue
                for first, last in harm.stretches:
                    on = here & (table.ranges >= first) & (table.ranges < last)
                    (loss,), (surprise,) = harm.judged(columns[on].sum(axis=0, keepdims=True))
                    if surprise > critical and loss > best[0] * (1 + 1e-12):
                        best = float(loss), (chosen, codes, (first, last))
    return best[1]


@pytest.mark.parametrize("problem", [None, ACT, THREE])
def test_the_first_segment_against_loops(problem: tc.DecisionProblem | None) -> None:
    found = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        n = 200
        p = rng.random(n)
        features = {name: rng.integers(0, 3, n).astype(str) for name in "abc"}
        wrong = np.where((features["a"] == "1") & (features["b"] == "2"), p**3, p)
        table = pa.table({"p": p, "y": rng.random(n) < wrong, **features})
        harm = criterion(tc.read(table), problem)
        counted = crosstab(table, reading(table).provenance.columns, list("abc"), harm.edges, 10)
        half, _ = split(counted, rng)
        by_chance = np.full(99, 0.5)
        searched = families(counted, 3, 10)
        first, _ = steps(counted, half, searched, harm, by_chance, 1)
        slow = slow_first(counted, half, harm, 3, 10, 0.5)
        fast = [(step.family.features, tuple(step.family.codes[step.place].tolist()), step.stretch) for step in first]
        assert fast == ([] if slow is None else [slow])
        found += len(fast)
    assert found


def test_draws_against_loops() -> None:
    """The largest surprise of drawn outcomes is that of the same outcomes taken for the data."""
    table = planted(3000)
    for problem in (None, ACT, THREE):
        harm = criterion(tc.read(table), problem)
        counted = crosstab(table, reading(table).provenance.columns, ["region", "device"], harm.edges, 100)
        half, _ = split(counted, np.random.default_rng(0))
        searched = families(counted, 2, 100)
        drawn = largest_by_chance(counted, half, searched, harm, 5, np.random.default_rng(7))
        told = initial(counted, harm).told
        outcomes = np.random.default_rng(7).binomial(half.rows.astype(int)[:, None], told[:, None], (len(told), 5))
        for k in range(5):
            columns = harm.columns(Half(half.rows, outcomes[:, k].astype(float)), initial(counted, harm))
            sums = [family.sums(counted, columns) for family in searched]
            slow = max(
                harm.judged(part[:, first:last].sum(axis=1))[1].max() for part in sums for first, last in harm.stretches
            )
            assert drawn[k] == pytest.approx(slow, rel=1e-3)  # the draws are in single precision


def test_p_values_count_the_data() -> None:
    assert p_value(3.0, np.array([1.0, 2.0, 3.0, 4.0])) == 3 / 5


# What is found.


def test_planted_harm_is_found_and_judged_on_other_rows() -> None:
    found = tc.segments(planted(20_000))
    first, *others = found.found
    assert str(first) == "region = north and device = old"
    assert not others
    assert first.p_value == found.p_value == 0.01
    assert first.gap == pytest.approx(-0.15, abs=0.02)
    assert first.lower < 0.15**2 / 0.7 < first.upper
    assert first.total == first.harm * first.rows
    assert 0.16 < first.share < 0.18
    assert found.unused == ("same",)
    assert found.by_row == found.found
    assert "region = north and device" in str(found)


@pytest.mark.slow
def test_the_estimate_has_no_winners_curse() -> None:
    """Over populations, the mean harm on the rows that judge is at most the truth, and not far below it."""
    truth, harms = 0.08**2 / 0.7, []
    for seed in range(40):
        table = planted(6000, wrong=-0.08, seed=100 + seed)
        found = tc.segments(table, features=["region", "device"], depth=2, draws=49, rng=seed)
        hurt = [one for one in found.found if str(one) == "region = north and device = old"]
        harms += [(one.harm, one.chosen_harm) for one in hurt]
    (mean, chosen), error = np.mean(harms, axis=0), np.std(harms, axis=0)[0] / np.sqrt(len(harms))
    assert len(harms) > 20
    assert truth / 2 - 3 * error < mean < truth + 3 * error
    assert chosen > 2 * truth


def test_payoffs_find_who_should_act_otherwise() -> None:
    """Predictions near the threshold, too high in one segment: there waiting is better."""
    rng = np.random.default_rng(3)
    n = 30_000
    group, other = rng.choice(list("abcd"), n), rng.choice(list("xyz"), n)
    p = rng.uniform(0.1, 0.5, n)
    table = pa.table({"p": p, "y": rng.random(n) < p - 0.1 * (group == "b"), "group": group, "other": other})
    found = tc.segments(table, problem=ACT)
    first = found.found[0]
    assert str(first) == "group = b"
    assert (first.taken, first.better, found.criterion) == ("act", "wait", "payoff")
    assert first.low >= 0.25
    assert first.lower > 0
    assert found.detectable[0].gap is None


@pytest.mark.slow
def test_nothing_is_found_where_nothing_is_wrong() -> None:
    """At most 2 % of searches of calibrated populations find anything: 6 of 80 have probability below 1 %."""
    number = sum(
        bool(tc.segments(planted(2000, 0.0, seed), problem=problem, draws=49, rng=seed).found)
        for seed in range(40)
        for problem in (None, ACT)
    )
    assert number <= 5


def test_the_same_seed_gives_the_same_segments() -> None:
    table = planted()
    order = np.random.default_rng(5).permutation(table.num_rows)
    assert tc.segments(table, rng=3) == tc.segments(table.take(order), rng=3)


# Degenerate cases.


def test_one_feature_constant_feature_and_everything_wrong() -> None:
    table = planted(5000, wrong=0.0)
    only = tc.segments(table, features=["same"])
    assert (only.found, only.unused, only.searched) == ((), ("same",), 1)
    p = table["p"].to_numpy()
    wrong = table.set_column(1, "y", pa.array(np.random.default_rng(0).random(5000) < p**2))
    found = tc.segments(wrong, features=["region"])
    assert str(found.found[0]) == "all rows"


def test_neighbouring_intervals_are_one_segment() -> None:
    """Old and very old with the same fault are one segment; the young with the opposite fault another."""
    rng = np.random.default_rng(8)
    n = 30_000
    age, p = rng.normal(40, 10, n), rng.uniform(0.3, 0.7, n)
    cuts = np.quantile(age, [0.2, 0.6])
    y = rng.random(n) < p - 0.2 * (age > cuts[1]) + 0.2 * (age <= cuts[0])
    table = pa.table({"p": p, "y": y, "age": age})
    old, young = tc.segments(table).found
    assert [str(old), str(young)] == [f"age > {cuts[1]:.6g}", f"age ≤ {cuts[0]:.6g}"]
    assert old.rows == tc.segments(table).members(table)[:, 0].sum()
    # Acting above 1/2 is wrong for predictions from 0.5 to 0.7: 2·∫(p − 0.2 − 0.5)/0.4 over them is 0.1.
    assert old.lower < 0.1 < old.upper


def test_missing_values_are_a_condition() -> None:
    rng = np.random.default_rng(2)
    n = 20_000
    missing = rng.random(n) < 0.2
    group = [None if none else name for none, name in zip(missing, rng.choice(list("ab"), n), strict=True)]
    p = rng.uniform(0.2, 0.8, n)
    table = pa.table({"p": p, "y": rng.random(n) < p + 0.15 * missing, "group": pa.array(group, pa.string())})
    for frame in frames(table).values():
        assert str(tc.segments(frame).found[0]) == "group is missing"


def test_many_levels_are_pooled() -> None:
    rng = np.random.default_rng(4)
    n = 20_000
    level = np.where(rng.random(n) < 0.1, 0, rng.integers(1, 10_001, n))
    p = rng.uniform(0.2, 0.8, n)
    names = np.array([f"customer '{k}'; DROP" for k in range(10_001)])[level]
    table = pa.table(
        {"p": p, "y": rng.random(n) < p - 0.15 * (level == 0), "who": names, "id": np.arange(n).astype(str)}
    )
    found = tc.segments(table, features=["who"])
    assert [str(one) for one in found.found] == ["who = customer '0'; DROP"]
    assert found.searched == 2
    np.testing.assert_array_equal(found.members(table)[:, 0], level == 0)


def test_predictions_at_the_ends() -> None:
    """Predictions of exactly 0 and 1 have no variance; a single contradiction is not a segment, many are."""
    n = 4000
    p = np.tile([0.0, 1.0], n // 2)
    y = p.copy()
    group = np.where(np.arange(n) < 1000, "a", "b")
    assert not tc.segments(pa.table({"p": p, "y": y, "group": group})).found
    y[:200] = 1 - y[:200]
    assert str(tc.segments(pa.table({"p": p, "y": y, "group": group})).found[0]) == "group = a"


def test_codes_of_missing_and_rare() -> None:
    table = pa.table({"p": [0.5] * 5, "y": [1, 0, 1, 0, 1], "g": ["a", "a", "b", None, None]})
    found = crosstab(table, reading(table).provenance.columns, ["g"], np.array([]), 2)
    assert found.features[0].levels == ("a",)
    assert dict(zip(found.codes[0].tolist(), found.rows.tolist(), strict=True)) == {RARE: 1, MISSING: 2, 2: 2}


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"features": []}, "features must be a list of columns"),
        ({"features": ["region", "region"]}, "each once"),
        ({"features": ["regoin"]}, "Did you mean 'region'"),
        ({"features": ["p"]}, "other columns than the prediction"),
        ({"depth": 4}, "depth must be a whole number from 1 to 3"),
        ({"draws": 10}, "draws must be a whole number, 49 or more"),
        ({"least": 0}, "least must be a whole number"),
    ],
)
def test_refusals(options: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        tc.segments(planted(200), **options)


def test_refuses_no_features_and_too_many() -> None:
    table = planted(200)
    with pytest.raises(ValueError, match="no column is left beside"):
        tc.segments(table.select(["p", "y"]))
    wide = pd.DataFrame({"p": [0.5] * 200, "y": [0, 1] * 100, **{f"f{k}": ["a", "b"] * 100 for k in range(40)}})
    with pytest.raises(ValueError, match="Name fewer features, or take a smaller depth"):
        tc.segments(wide)


# In an audit.


def test_an_audit_shows_the_segments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In Python, in the terminal, as JSON and on the page, whose text is escaped."""
    table = planted(1500, wrong=-0.15, seed=1).rename_columns(["p", "y", "region", "<b>device", "age", "same"])
    audit = tc.audit(table, segments=["region", "<b>device"], draws=0)
    assert audit.segments == tc.segments(table, features=["region", "<b>device"])
    assert tc.Audit.from_json(audit.to_json()) == audit
    assert "region = north" in str(audit)
    audit.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "region = north and &lt;b&gt;device = old" in page
    assert "<b>device" not in page
    path = tmp_path / "rows.parquet"
    pl.DataFrame(pl.from_arrow(table)).write_parquet(path)
    assert main(["audit", str(path), "--segments", "region,<b>device", "--draws", "0"]) == 0
    assert "region = north" in capsys.readouterr().out


def test_an_audit_refuses_segments_of_arrays_and_weights() -> None:
    with pytest.raises(ValueError, match="segments need the columns of a file or frame"):
        tc.audit([0, 1], [0.5, 0.5], segments="all", draws=0)
    table = planted(500).append_column("w", pa.array([1.0, 2.0] * 250))
    with pytest.raises(ValueError, match="leave out weights and clusters"):
        tc.audit(table, weight="w", segments=["region"], draws=0)
