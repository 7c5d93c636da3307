"""One rule for "is it chance?": the smallest of four p-values, its level with weights, ties and clusters, its power."""

from __future__ import annotations

from itertools import product
from math import log, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trustcal as tc
from benchmarks.levels import DESIGNS
from trustcal.inference import CombinedTest, combined_test
from trustcal.inference.combined import STATISTICS, _shares, _statistics
from trustcal.predictor import Predictor


def test_the_statistics_are_what_they_are_called() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(40)
    y = rng.random(40) < p
    q = Predictor.from_samples(y, p)
    cutoff, smcal, score, spiegelhalter = _statistics(q, q.bias[None, :])[0]
    assert cutoff == pytest.approx(tc.cutoff(q), abs=1e-15)
    assert smcal == pytest.approx(tc.smcal(q), abs=1e-15)
    assert spiegelhalter == pytest.approx(abs(np.mean((p - y) * (1 - 2 * p))), abs=1e-15)
    design = np.stack([np.ones(40), np.log(p / (1 - p))], axis=1)
    u = design.T @ (y - p)
    assert score == pytest.approx(u @ np.linalg.solve(design.T @ ((p * (1 - p))[:, None] * design), u), rel=1e-9)


@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_shares_against_a_slow_oracle(draws: int, seed: int) -> None:
    table = np.random.default_rng(seed).integers(0, 4, (draws + 1, 4)).astype(float)
    lines = table.tolist()
    shares = [[sum(other[j] >= line[j] for other in lines) / len(lines) for j in range(4)] for line in lines]
    keys = [(min(line), sum(map(log, line))) for line in shares]
    below = sum(key[0] < keys[0][0] or (key[0] == keys[0][0] and key[1] <= keys[0][1] + 1e-12) for key in keys)
    p_value, alone = _shares(table)
    assert p_value == pytest.approx(below / len(lines))
    assert alone == pytest.approx(shares[0])


def test_the_level_is_exact_by_enumeration_of_all_outcomes() -> None:
    """Two draws, one value, two rows: Pr[p-value ≤ 1/3] ≤ 1/3 over all outcomes observed and drawn."""
    p, rows, draws = 0.3, 2, 2
    q = Predictor.from_samples([0] * rows, [p] * rows)
    table = {ones: _statistics(q, np.array([[p - ones / rows]]))[0] for ones in range(rows + 1)}
    chance = {ones: [0.49, 0.42, 0.09][ones] for ones in table}
    for level in (1 / 3, 2 / 3):
        total = sum(
            prod(chance[ones] for ones in drawn)
            for drawn in product(table, repeat=draws + 1)
            if _shares(np.array([table[ones] for ones in drawn]))[0] <= level + 1e-12
        )
        assert total <= level + 1e-12


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_certain_predictions(p: float) -> None:
    assert combined_test(Predictor.from_samples([int(p)] * 5, [p] * 5), draws=19, rng=0).p_value == 1
    assert combined_test(Predictor.from_samples([1 - int(p)] * 5, [p] * 5), draws=19, rng=0).p_value == 1 / 20


def test_one_row_tells_nothing_and_seeds_repeat() -> None:
    q = Predictor.from_samples([1], [0.5])
    assert combined_test(q, draws=19, rng=0).p_value == 1
    rng = np.random.default_rng(1)
    p = rng.random(300)
    q = Predictor.from_samples(rng.random(300) < p**2, p)
    found = combined_test(q, draws=99, rng=3)
    assert found == combined_test(q, draws=99, rng=3)
    assert isinstance(found, CombinedTest)
    assert set(found.single) == set(STATISTICS)
    assert found.p_value == 0.01
    assert found.note == ""


def test_the_order_of_rows_and_the_names_of_clusters_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    p, w, cluster = rng.integers(0, 9, 60) / 8, rng.random(60), rng.integers(0, 20, 60)
    y, order = rng.random(60) < p, rng.permutation(60)
    name = np.array([f"event {number:03d}" for number in cluster])
    one = Predictor.from_samples(y, p, w, cluster=cluster)
    two = Predictor.from_samples(y[order], p[order], w[order], cluster=name[order])
    assert combined_test(one, draws=49, rng=0) == combined_test(two, draws=49, rng=0)


# --- Levels: calibrated predictors of every kind are rejected at 5 % in at most 8.3 % of samples (5 % plus 2.6 standard
# deviations of 300 samples).  tests/test_weighted_levels.py has ECE and CDL alone, and the lower side.


@pytest.mark.slow
@pytest.mark.parametrize("design", sorted(set(DESIGNS) - {"clusters_ignored"}))
def test_level(design: str) -> None:
    many = np.random.default_rng(6).random((2, 30_000))
    tc.smcal(many[0] < many[1], many[1])  # compiled loops are quicker, and serve small samples too once they are loaded
    rng = np.random.default_rng(7)
    rejected = [combined_test(DESIGNS[design](rng), draws=59, rng=rng).p_value <= 0.05 for _ in range(300)]
    assert np.mean(rejected) <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.slow
def test_clusters_are_needed() -> None:
    """Without them, nearly every calibrated set of repeated forecasts is rejected."""
    rng = np.random.default_rng(8)
    rejected = [combined_test(DESIGNS["clusters_ignored"](rng), draws=59, rng=rng).p_value <= 0.05 for _ in range(40)]
    assert sum(rejected) >= 36


@pytest.mark.slow
@pytest.mark.parametrize("curve", ["overconfident", "shifted"])
def test_power_is_close_to_that_of_the_best_statistic(curve: str) -> None:
    rng = np.random.default_rng(9)
    found = []
    for _ in range(200):
        p = rng.random(400)
        odds = np.log(p / (1 - p))
        truth = 1 / (1 + np.exp(-(0.7 * odds if curve == "overconfident" else odds - 0.3)))
        found.append(combined_test(Predictor.from_samples(rng.random(400) < truth, p), draws=99, rng=rng))
    best = max(np.mean([test.single[name] <= 0.05 for test in found]) for name in STATISTICS)
    assert 0.3 < best < 0.99
    assert np.mean([test.p_value <= 0.05 for test in found]) >= 0.85 * best


@pytest.mark.parametrize("tiny", [1e-307, 1e-310, 5e-324])
def test_predictions_next_to_0(tiny: float) -> None:
    """Outcome 1 was all but impossible."""
    assert combined_test(Predictor.from_samples([0, 1, 0], [0.0, tiny, 1e-3]), draws=99, rng=0).p_value <= 0.02
