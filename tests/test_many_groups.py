"""More groups than are measured: which ones are, and what their p-values still say about all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trustcal as tc
from tests.strategies import examples
from trustcal.auditing import Audit
from trustcal.auditing.chance import group_p_values
from trustcal.auditing.groups import MEASURED
from trustcal.inference.mean_bias import mean_bias_p_value
from trustcal.report.page import page

OFF = ("g3", "g70", "g149")


def groups_of(count: int, rows: int = 60) -> dict[str, tc.Predictor]:
    """Groups of which three are off."""
    rng = np.random.default_rng(0)
    parts = {}
    for name in (f"g{i}" for i in range(count)):
        p = rng.random(rows)
        parts[name] = tc.Predictor.from_samples(rng.random(rows) < (p**5 if name in OFF else p), p)
    return parts


def exact_tail(p: list[float], events: int) -> float:
    """The probability of so many events or more, or of so few or fewer, whichever side of their mean it is."""
    law = np.array([1.0])
    for one in p:
        law = np.convolve(law, [1 - one, one])
    return float(law[events:].sum() if events >= sum(p) else law[: events + 1].sum())


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=12))
@examples(60)
def test_the_closed_form_is_never_below_the_exact_p_value(rows: list[tuple[float, int]]) -> None:
    p, y = map(list, zip(*rows, strict=True))
    found = mean_bias_p_value(tc.Predictor.from_samples(y, p))
    assert found >= min(1.0, 2 * exact_tail(p, sum(y))) - 1e-12


@pytest.mark.parametrize(("outcome", "p", "rows"), [(1, 0.5, 20), (0, 0.5, 20), (1, 0.25, 7), (0, 0.9, 3)])
def test_the_closed_form_is_exact_where_all_outcomes_agree(outcome: int, p: float, rows: int) -> None:
    chance = p if outcome else 1 - p
    found = mean_bias_p_value(tc.Predictor.from_samples([outcome] * rows, [p] * rows))
    assert found == pytest.approx(min(1.0, 2 * chance**rows), rel=1e-9)


def test_rows_that_do_not_count_alike_are_not_tested_in_closed_form() -> None:
    assert mean_bias_p_value(tc.Predictor.from_samples([1, 1], [0.01, 0.02], [1, 3])) == 1.0
    assert mean_bias_p_value(tc.Predictor.from_samples([1] * 4, [0.01] * 4, cluster=[0, 0, 1, 1])) == 1.0


def test_groups_that_are_not_tested_count_in_the_p_values() -> None:
    parts = list(groups_of(5).values())
    found = group_p_values(parts, 40, np.random.default_rng(0), others=10**4)
    alone = [2 * mean_bias_p_value(part) for part in parts]
    smallest = int(np.argmin(alone))
    assert smallest == 3
    assert (10**4 + 5) * alone[smallest] <= 0.05
    assert found[smallest] == pytest.approx((10**4 + 5) * alone[smallest])
    assert [p for i, p in enumerate(found) if i != smallest] == [1.0] * 4


@pytest.mark.slow
def test_only_groups_that_show_most_are_measured_and_the_others_are_mentioned() -> None:
    parts = groups_of(150)
    whole = tc.Predictor([0.5], [1.0], [0.5])
    audit = tc.audit(whole, groups=parts, draws=0)
    assert len(audit.groups) == MEASURED == 100
    assert audit.more_groups == 50
    assert {group.name for group in audit.groups[:3]} == set(OFF)
    said = "50 more groups, which show less beyond chance, were not measured."
    assert said in page(audit, "title")
    assert said in " ".join(str(audit).split())
    assert Audit.from_json(audit.to_json()) == audit
    few = tc.audit(whole, groups={name: parts[name] for name in list(parts)[:MEASURED]}, draws=0)
    assert (len(few.groups), few.more_groups) == (100, 0)
