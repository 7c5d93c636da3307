"""Sampling floors and tests of calibration: exact values, enumeration of all outcomes, and what is drawn."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, floor, prod, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trustcal as tc
from tests.strategies import costly, samples
from trustcal import Predictor
from trustcal.inference import (
    bootstrap_interval,
    calibration_tests,
    dtc_upper_bound,
    sampler,
    sampling_floor,
    uncertainties,
)
from trustcal.inference.floor import ece_floor, floor_of
from trustcal.inference.sampler import FINEST, RowSampler
from trustcal.measures import transport

ALL: tuple[str, ...] = ("smcal", "dtc", "ece", "cdl", "smece")


def equal_rows(p: list[float], counts: list[int], ones: list[int]) -> Predictor:
    """A predictor with this many rows at each value."""
    y = [int(i < one) for count, one in zip(counts, ones, strict=True) for i in range(count)]
    return Predictor.from_samples(y, np.repeat(p, counts))


@pytest.mark.parametrize("eighths", range(9))
@pytest.mark.parametrize("k", [1, 2, 3, 7, 8, 20])
def test_mean_ece_of_one_value_is_the_binomial_mean_deviation(eighths: int, k: int) -> None:
    p = Fraction(eighths, 8)
    deviation = sum(
        (comb(k, j) * p**j * (1 - p) ** (k - j) * abs(Fraction(j, k) - p) for j in range(k + 1)), Fraction(0)
    )
    found = ece_floor(RowSampler.of(equal_rows([float(p)], [k], [0])))
    assert found == pytest.approx(float(deviation), rel=1e-13, abs=1e-300)


def test_mean_ece_by_enumeration_of_all_outcomes() -> None:
    p = np.repeat([0.3, 0.5], [6, 5])
    mean = 0.0
    for y in product((0, 1), repeat=11):
        chance = prod(x if one else 1 - x for x, one in zip(p.tolist(), y, strict=True))
        mean += chance * float(np.abs(np.bincount([0] * 6 + [1] * 5, p - np.array(y)) / 11).sum())
    found = sampling_floor(equal_rows([0.3, 0.5], [6, 5], [2, 2]), "ece", draws=400, rng=0)
    assert found.mean == pytest.approx(mean, rel=1e-12)
    assert (found.cells, found.note, found.draws) == (None, "", 400)


@pytest.mark.parametrize("draws", [1, 2, 18, 19, 20, 38, 39, 50, 199, 200, 999])
def test_one_more_draw_exceeds_the_quantile_once_in_twenty(draws: int) -> None:
    """By rank: each of draws + 1 different numbers is equally likely to be the one that comes last."""
    design = RowSampler.of(Predictor.from_samples([0, 1], [0.2, 0.7]))
    numbers = np.random.default_rng(0).permutation(draws + 1).astype(float)
    exceeds = sum(
        last > floor_of(design, "smcal", np.delete(numbers, index)).quantile_95 for index, last in enumerate(numbers)
    )
    assert exceeds == max((draws + 1) // 20, 1)  # as often as can be, but no more


@pytest.mark.parametrize("statistic", ["smcal", "dtc", "ece", "cdl"])
def test_floor_by_enumeration_of_all_outcomes(statistic: str) -> None:
    """Seven single rows: ECE and CDL are taken on two bins."""
    p = [0.05, 0.2, 0.35, 0.5, 0.6, 0.8, 0.9]
    q = Predictor.from_samples([0, 0, 1, 0, 1, 1, 1], p)
    design = RowSampler.of(q)
    shown, chance = [], []
    for y in product((0, 1), repeat=7):
        shown += design.values(Predictor.from_samples(y, p), [statistic])
        chance.append(prod(x if one else 1 - x for x, one in zip(p, y, strict=True)))
    mean = float(np.average(shown, weights=chance))
    spread = sqrt(float(np.average((np.array(shown) - mean) ** 2, weights=chance)))
    found = sampling_floor(q, statistic, draws=400, rng=0)
    assert abs(found.mean - mean) <= 5 * spread / sqrt(400)
    above = float(np.array(chance)[np.array(shown) > found.quantile_95 + 1e-12].sum())
    assert abs(above - 0.05) <= 0.05  # a law of atoms: the quantile cannot be met exactly
    assert found.cells == (2 if statistic in ("ece", "cdl") else None)


@pytest.mark.parametrize("statistic", ["smcal", "dtc", "ece", "cdl"])
@pytest.mark.parametrize(("counts", "ones"), [([4, 4], [3, 0]), ([4, 4], [1, 3]), ([5, 3], [0, 3]), ([1, 8], [1, 5])])
def test_p_value_by_enumeration_of_all_outcomes(statistic: str, counts: list[int], ones: list[int]) -> None:
    p = [0.3, 0.6]
    q = equal_rows(p, counts, ones)
    design = RowSampler.of(q)
    (value,) = design.values(q, [statistic])
    exact = 0.0
    for j, k in product(range(counts[0] + 1), range(counts[1] + 1)):
        chance = prod(comb(n, i) * x**i * (1 - x) ** (n - i) for n, i, x in zip(counts, (j, k), p, strict=True))
        (shown,) = design.values(equal_rows(p, counts, [j, k]), [statistic])
        exact += chance * (shown >= value - 1e-12)
    exact = min(exact, 1.0)
    (found,) = calibration_tests(q, [statistic], draws=500, rng=1)
    assert found.value == value
    assert abs(found.p_value - exact) <= 5 * sqrt(exact * (1 - exact) / 500) + 1 / 501


@pytest.mark.parametrize("statistic", ["smcal", "ece"])
def test_level_of_calibrated_predictors(statistic: str) -> None:
    """Of 200 calibrated predictors about one in five has a p-value of at most 0.2, and no more."""
    rng = np.random.default_rng(5)
    small = 0
    for _ in range(200):
        p = rng.random(12)
        q = Predictor.from_samples(rng.random(12) < p, p)
        (test,) = calibration_tests(q, [statistic], draws=9, rng=rng)
        small += test.p_value <= 0.2
    assert abs(small / 200 - 0.2) <= 3 * sqrt(0.2 * 0.8 / 200)


def test_one_simulation_serves_all_statistics() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(200)
    q = Predictor.from_samples(rng.random(200) < p, p)
    together = calibration_tests(q, ALL, draws=19, rng=3)
    assert together == tuple(calibration_tests(q, [name], draws=19, rng=3)[0] for name in ALL)
    assert [test.floor.draws for test in together] == [19] * 5
    assert [test.value for test in together[:2]] == [tc.smcal(q), tc.dtc(q)]
    assert together[2].value == tc.ece(q.coarsen(q.suggested_cells))
    assert together[2].floor == sampling_floor(q, "ece", draws=19, rng=3)


def test_cells_can_be_given_as_to_an_audit() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(200)
    q = Predictor.from_samples(rng.random(200) < p, p)
    ece, smcal = calibration_tests(q, ["ece", "smcal"], draws=9, cells=3, rng=3)
    assert (ece.floor.cells, ece.value) == (3, tc.audit(q, cells=3, draws=0).ece)
    assert (smcal.floor.cells, smcal.value) == (None, tc.smcal(q))


@given(samples(), st.sampled_from(ALL[:4]), st.integers(1, 6), st.integers(0, 2**32))
@costly(40)
def test_p_values_are_never_0_and_repeat(
    drawn: tuple[list[int], list[float], list[float]], statistic: str, draws: int, seed: int
) -> None:
    q = Predictor.from_samples(*drawn)
    (test,) = calibration_tests(q, [statistic], draws=draws, rng=seed)
    assert 1 / (1 + draws) <= test.p_value <= 1
    assert 0 <= test.floor.quantile_95 <= 1
    assert calibration_tests(q, [statistic], draws=draws, rng=seed) == (test,)


@pytest.mark.parametrize("statistic", ALL)
def test_impossible_outcomes_and_certain_ones(statistic: str) -> None:
    never = Predictor.from_samples([0, 0, 1], [0.0, 0.0, 1.0])
    (certain,) = calibration_tests(never, [statistic], draws=9, rng=0)
    assert (certain.value, certain.p_value, certain.floor.mean, certain.floor.quantile_95) == (0, 1, 0, 0)
    (impossible,) = calibration_tests(Predictor.from_samples([0, 1], [0.0, 0.0]), [statistic], draws=9, rng=0)
    assert impossible.p_value == 0.1
    (single,) = calibration_tests(Predictor.from_samples([1], [0.5]), [statistic], draws=9, rng=0)
    assert single.value == pytest.approx(1.0 if statistic == "cdl" else 0.5)
    assert single.p_value == 1


def test_pooled_rows_are_drawn_by_their_own_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a grid of four bins the number of ones in each is a sum of unequal coins: against its exact law."""
    monkeypatch.setattr(sampler, "FINEST", 4)
    p = [0.0, 0.1, 0.2, 0.26, 0.3, 0.49, 0.5, 0.9, 1.0]
    counts = [1, 2, 1, 3, 1, 2, 1, 2, 1]
    q = equal_rows(p, counts, [0] * 9)
    design = RowSampler.of(q)
    assert design.fine is q
    assert design.note.startswith("9 values pooled on a grid of 4 bins")
    assert design.counts.tolist() == [4, 6, 1, 3]
    assert design.observed.p == pytest.approx([0.4 / 4, (3 * 0.26 + 0.3 + 0.98) / 6, 0.5, 2.8 / 3])
    draws, rng = 5000, np.random.default_rng(0)
    ones = np.array([np.rint(design.calibrated_draw(rng).positive * 14) for _ in range(draws)], dtype=int)
    for cell in range(4):
        law = np.ones(1)
        for x, count in zip(p, counts, strict=True):
            for _ in range(count if min(3, floor(4 * x)) == cell else 0):
                law = np.convolve(law, [1 - x, x])
        seen = np.bincount(ones[:, cell], minlength=len(law)) / draws
        assert np.all(np.abs(seen - law) <= 5 * np.sqrt(law * (1 - law) / draws))
    together = np.cov(ones.T)[np.triu_indices(4, 1)]
    assert np.abs(together).max() <= 5 * ones.std(axis=0).max() ** 2 / sqrt(draws)  # bins are independent


@pytest.mark.slow
def test_many_values_are_pooled_and_the_note_says_so() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    q = Predictor.from_samples(rng.random(20_000) < p, p)
    smcal, ece = calibration_tests(q, ["smcal", "ece"], draws=3, rng=0)
    assert "pooled on a grid of 16384 bins" in smcal.note
    assert ece.note == ece.floor.note == smcal.note
    moved = RowSampler.of(q).observed.moved
    assert 0 < moved <= 2.0**-14
    assert abs(smcal.value - tc.smcal(q)) <= 2 * moved
    assert ece.floor.cells == 27


def test_predictions_that_were_moved_are_noted() -> None:
    """Four rows that were told apart before: the sum of their outcomes is no binomial."""
    q = Predictor.from_samples([0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0])
    coarse = q.coarsen(1)
    assert calibration_tests(q, ["smcal"], draws=3, rng=0)[0].note == ""
    (test,) = calibration_tests(coarse, ["smcal"], draws=99, rng=0)
    assert "predictions had been moved, by 5.0e-01 on average" in test.note
    assert test.floor.mean > 0 == sampling_floor(q, "smcal", rng=0).mean
    assert test.floor.note == test.note


def test_rows_of_unequal_weights() -> None:
    equal = Predictor.from_samples([0, 1, 1], [0.2, 0.2, 0.7], [2.0, 2.0, 2.0])
    assert (RowSampler.of(equal).counts.tolist(), RowSampler.of(equal).note) == ([2, 1], "")
    singles = Predictor.from_samples([0, 1, 1], [0.2, 0.3, 0.7], [1.0, 5.0, 2.0])
    assert (RowSampler.of(singles).counts.tolist(), RowSampler.of(singles).note) == ([1, 1, 1], "")
    constant = Predictor.from_samples([0, 1, 1, 0], [0.2, 0.2, 0.7, 0.7], [1.0, 1.0, 5.0, 5.0])
    assert (RowSampler.of(constant).counts.tolist(), RowSampler.of(constant).note) == ([2, 2], "")
    rng = np.random.default_rng(0)
    p, w = rng.integers(1, 5, 4000) / 5, rng.random(4000)
    mixed = Predictor.from_samples(rng.random(4000) < p, p, w)
    design = RowSampler.of(mixed)
    assert "weights differ" in design.note
    assert mixed.effective_rows is not None
    assert design.counts.sum() == pytest.approx(mixed.effective_rows, rel=0.01)
    assert mixed.squares is not None
    assert mixed.squares.sum() == pytest.approx(1 / mixed.effective_rows)
    drawn = np.array([np.abs(design.calibrated_draw(rng).bias).sum() for _ in range(300)])
    truth = [
        np.abs(np.bincount((5 * p).round().astype(int), w * (p - (rng.random(4000) < p)))).sum() / w.sum()
        for _ in range(300)
    ]
    assert drawn.mean() == pytest.approx(np.mean(truth), abs=5 * float(np.std(truth)) / sqrt(150))


def test_refusals() -> None:
    law, q = Predictor([0.5], [1.0], [0.5]), Predictor.from_samples([0, 1], [0.2, 0.7])
    with pytest.raises(ValueError, match="known law"):
        sampling_floor(law, "ece", rng=0)
    with pytest.raises(ValueError, match="known law"):
        calibration_tests(law, rng=0)
    with pytest.raises(ValueError, match=r"statistics must be among monotone_cdl, cutoff, .*, but got 'brier'"):
        calibration_tests(q, ["brier"], rng=0)
    with pytest.raises(ValueError, match="but got none"):
        calibration_tests(q, [], rng=0)
    for draws in (0, -1, 2.5):
        with pytest.raises(ValueError, match="draws must be a whole number"):
            calibration_tests(q, draws=draws, rng=0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cells"):
        sampling_floor(q, "ece", cells=0, rng=0)


@pytest.mark.slow
def test_pooled_values_widen_the_intervals_of_smooth_measures() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(3 * FINEST)
    q = Predictor.from_samples(rng.random(len(p)) < p**1.1, p)
    design = RowSampler.of(q)
    assert design.pooled
    for name, measure in (("smcal", tc.smcal), ("dtc", tc.dtc), ("smece", tc.smece)):
        assert abs(measure(q) - measure(design.observed)) <= design.pooling_effect(name)
        assert 0 < design.pooling_effect(name) < 1e-2
    assert design.pooling_effect("ece") == design.pooling_effect("cdl") == 0
    assert RowSampler.of(q.coarsen(20)).pooling_effect("dtc") == 0  # few values: nothing is pooled here


def test_tests_and_intervals_share_their_draws() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(300)
    q = Predictor.from_samples(rng.random(300) < p, p)
    names: tuple[str, ...] = ("ece", "smcal")
    both = uncertainties(q, names, draws=50, rng=3)
    tests = calibration_tests(q, names, draws=50, rng=3)
    assert [one.test for one in both] == list(tests)
    for one in both:
        assert one.interval.statistic == one.test.statistic == one.measure
        assert one.interval.lower <= one.test.value == one.value <= one.interval.upper


def test_what_is_known_is_not_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit knows the distance to calibration; only the draws are measured."""
    q = Predictor.from_samples([0, 1, 1, 0], [0.2, 0.2, 0.7, 0.7])
    witness = tc.dtc_witness(q)
    fresh = uncertainties(q, ["dtc", "ece"], draws=5, rng=3), dtc_upper_bound(q)
    taken: list[Predictor] = []

    def counted(law: Predictor) -> float:
        taken.append(law)
        return tc.dtc_witness(law).upper

    monkeypatch.setattr(transport, "dtc", counted)
    known = uncertainties(q, ["dtc", "ece"], draws=5, known={"dtc": witness.upper}, rng=3)
    assert (known, dtc_upper_bound(witness)) == fresh
    assert len(taken) == 10
    assert all(law is not q for law in taken)


@pytest.mark.parametrize("light", [1e-3, 1e-50, 1e-66, 1e-80, 1e-300])
def test_rows_of_hardly_any_weight_change_nothing(light: float) -> None:
    y, p, weight = [0, 1] * 50, [0.3, 0.6] * 50, [1.0, 2.0] * 50
    without = RowSampler.of(Predictor.from_samples(y, p, weight))
    q = Predictor.from_samples([*y, 1, 0], [*p, 0.2, 0.7], [*weight, light, light])
    assert RowSampler.of(q).counts.tolist() == [1, *without.counts.tolist(), 1]
    assert sampling_floor(q, "smcal", draws=20, rng=0).mean == pytest.approx(
        sampling_floor(Predictor.from_samples(y, p, weight), "smcal", draws=20, rng=0).mean, rel=0.5
    )


@given(st.lists(st.tuples(st.integers(1, 3), st.floats(1e-3, 1e3)), min_size=1, max_size=30))
def test_effective_rows_of_values(rows: list[tuple[int, float]]) -> None:
    """Whatever the weights are, the variance of a value's bias over draws is p(1 − p)·Σw²."""
    p = np.array([place / 4 for place, _ in rows])
    weight = np.array([w for _, w in rows])
    q = Predictor.from_samples(np.arange(len(p)) % 2, p, weight)
    assert q.squares is not None
    low, more = sampler.whole_rows(q)
    mean_inverse = (1 - more) / low + more / (low + 1)
    share = weight / weight.sum()
    truth = [np.sum(share[p == x] ** 2) for x in q.p]
    assert q.mass**2 * mean_inverse == pytest.approx(truth, rel=1e-5)


@pytest.mark.parametrize("statistic", ["two_action_regret", "stepcal", "atb_l1", "ucal"])
def test_every_measure_has_a_test_a_floor_and_an_interval(statistic: str) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(300)
    honest, wrong = (Predictor.from_samples(rng.random(300) < chance, p) for chance in (p, 1 - p))
    value = getattr(tc, statistic)
    (test,) = calibration_tests(wrong, [statistic], draws=39, rng=0)
    assert test.value == value(wrong)
    assert test.p_value == 1 / 40
    assert test.floor == sampling_floor(wrong, statistic, draws=39, rng=0)
    assert test.floor.mean < value(wrong) / 2
    (chance,) = calibration_tests(honest, [statistic], draws=39, rng=0)
    assert chance.p_value > 0.1
    interval = bootstrap_interval(wrong, statistic, draws=39, rng=0)
    assert 0 < interval.lower < value(wrong) < interval.upper
