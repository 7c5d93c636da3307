"""Predictor: ties, weights, row order, and refusals."""

from __future__ import annotations

import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trustcal as tc
from tests.oracles import rounding
from tests.strategies import calibrated_predictors, predictors, samples
from trustcal import Predictor
from trustcal.measures.counts import constant_weights

# --- exact values


def test_merges_ties_and_counts() -> None:
    q = Predictor.from_samples([1, 0, 1, 1, 0], [0.3, 0.3, 1.0, 0.3, 0.0])
    assert q.p.tolist() == [0.0, 0.3, 1.0]
    assert q.mass.tolist() == [1 / 5, 3 / 5, 1 / 5]
    assert q.positive.tolist() == [0.0, 2 / 5, 1 / 5]
    assert (q.rows, q.effective_rows, len(q)) == (5, 5.0, 3)


def test_folds_negative_zero() -> None:
    q = Predictor.from_samples([1, 0], [-0.0, 0.0])
    assert q.p.tolist() == [0.0]
    assert not np.signbit(q.p).any()
    assert not np.signbit(Predictor([-0.0, 0.5], [0.5, 0.5], [0, 0]).p).any()
    assert not np.signbit(Predictor([0.5], [1], [0]).map(lambda p: -0.0 * p).p).any()


def test_distinguishes_neighbouring_floats() -> None:
    values = [0.1, np.nextafter(0.1, 1), 5e-324, 1e-310, np.nextafter(1, 0), 1.0]
    q = Predictor.from_samples([0] * 6, values)
    assert q.p.tolist() == sorted(values)


def test_weights_are_summed_exactly_whatever_their_order() -> None:
    weight = [1e16, 1.0, 1.0, 1.0, 1e-3]
    expected = float(sum(Fraction(w) for w in weight[:4]) / sum(Fraction(w) for w in weight))
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [1, 0, 4, 2, 3]):
        q = Predictor.from_samples([1] * 5, np.array([0.5, 0.5, 0.5, 0.5, 0.75])[order], np.array(weight)[order])
        assert q.mass[0] == pytest.approx(expected, rel=2e-16)
        assert q == Predictor.from_samples([1] * 5, [0.5] * 4 + [0.75], weight)


def test_extreme_weights_neither_overflow_nor_vanish() -> None:
    huge = Predictor.from_samples([0, 1, 1], [0.2, 0.4, 0.4], [1.7e308, 1.7e308, 1.7e308])
    assert huge.mass.tolist() == pytest.approx([1 / 3, 2 / 3], rel=4e-16)
    tiny = Predictor.from_samples([0, 1], [0.2, 0.4], [5e-324, 5e-324])
    assert tiny.mass.tolist() == [0.5, 0.5]
    lost = Predictor.from_samples([0, 1], [0.2, 0.4], [1e-300, 1e300])  # beyond the range of probabilities
    assert lost.p.tolist() == [0.4]


def test_zero_weight_rows_are_dropped() -> None:
    q = Predictor.from_samples([0, 1, 1], [0.1, 0.2, 0.2], [0, 1, 3])
    assert q.p.tolist() == [0.2]
    assert q.rows == 2
    assert q.effective_rows == 16 / 10


@pytest.mark.parametrize(
    "column",
    [
        list,
        tuple,
        np.array,
        pd.Series,
        pl.Series,
        pa.array,
        lambda x: pa.chunked_array([x[:2], x[2:]]),
        lambda x: np.array(x, dtype=object),
        lambda x: np.array(x, dtype=np.float32),
        lambda x: [Decimal(str(value)) for value in x],
        lambda x: [Fraction(value) for value in x],
        lambda x: pd.Series(x, index=[7, 5, 3, 1]),
        lambda x: pd.Series(x, dtype="Float64"),
    ],
)
def test_takes_any_column(column: Any) -> None:
    expected = Predictor.from_samples([0, 1, 1, 0], [0.25, 0.5, 0.5, 1.0])
    assert Predictor.from_samples(column([0, 1, 1, 0]), column([0.25, 0.5, 0.5, 1.0])) == expected


@pytest.mark.parametrize(
    "dtype", [bool, np.int8, np.uint8, np.int64, np.float16, np.float32, np.float64, np.longdouble]
)
def test_takes_outcomes_of_any_numeric_type(dtype: Any) -> None:
    q = Predictor.from_samples(np.array([0, 1, 1], dtype=dtype), [0.5, 0.5, 0.75])
    assert q.positive.tolist() == [1 / 3, 1 / 3]


def test_float32_predictions_keep_their_exact_value() -> None:
    assert Predictor.from_samples([1], np.array([0.1], np.float32)).p[0] == float(np.float32(0.1))


def test_a_million_values() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(10**6)
    y = rng.random(10**6) < p
    q = Predictor.from_samples(y, p)
    assert (len(q), q.rows) == (10**6, 10**6)
    assert (np.diff(q.p) > 0).all()
    assert q.positive.sum() == pytest.approx(y.mean(), abs=1e-12)
    assert q == Predictor.from_samples(y[::-1], p[::-1])


def test_known_law_drops_values_of_mass_zero() -> None:
    q = Predictor([0.1, 0.2, 0.3], [0.5, 0.0, 0.5], [0.5, 0.0, 0.0])
    assert q.p.tolist() == [0.1, 0.3]
    assert q.rows is None
    assert q.effective_rows is None
    assert np.isinf(q.rows_at).all()


def test_is_immutable_and_leaves_its_input_alone() -> None:
    p, mass, positive = np.array([0.25, 0.5]), np.array([0.5, 0.5]), np.array([0.5, 0.0])
    q = Predictor(p, mass, positive)
    p[0] = 0.75
    assert q.p[0] == 0.25
    for array in (q.p, q.mass, q.positive, q.p_hat, *q.upper_sums):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        q.p = p  # type: ignore[misc]
    view = mass.view()
    view.flags.writeable = False  # read-only, but its owner is not
    shared = Predictor([0.25, 0.5], view, positive)
    mass[:] = 0
    assert shared.mass.tolist() == [0.5, 0.5]


def test_equality_hash_pickle_and_repr() -> None:
    q = Predictor([0.25, 0.5], [0.5, 0.5], [0.5, 0.0])
    assert q == Predictor.from_samples([1, 0], [0.25, 0.5])
    assert hash(q) == hash(Predictor.from_samples([1, 0], [0.25, 0.5]))
    assert q != Predictor([0.25, 0.5], [0.5, 0.5], [0.0, 0.5])
    assert q != "q"
    again = pickle.loads(pickle.dumps(Predictor.from_samples([1, 0], [0.25, 0.5]).on_grid(3)))
    assert again == Predictor.from_samples([1, 0], [0.25, 0.5]).on_grid(3)
    assert (again.rows, again.moved) == (2, Predictor.from_samples([1, 0], [0.25, 0.5]).on_grid(3).moved)
    assert not again.p.flags.writeable
    assert repr(Predictor.from_samples([1, 0], [0.25, 0.5])) == "Predictor(2 values, 2 rows, base rate 0.5)"


# --- properties


@given(samples(), st.randoms(use_true_random=False))
def test_row_order_changes_no_bit(rows: tuple[list[int], list[float], list[float]], random: Any) -> None:
    y, p, w = rows
    order = list(range(len(y)))
    random.shuffle(order)
    shuffled = [[column[i] for i in order] for column in (y, p, w)]
    assert Predictor.from_samples(y, p) == Predictor.from_samples(shuffled[0], shuffled[1])
    assert Predictor.from_samples(y, p, w) == Predictor.from_samples(*shuffled)


@given(samples(), st.randoms(use_true_random=False))
def test_row_order_changes_no_bit_of_clusters(rows: tuple[list[int], list[float], list[float]], random: Any) -> None:
    order = list(range(len(rows[0])))
    random.shuffle(order)
    label = [i // 2 for i in range(len(order))]
    found = []
    for places in (range(len(order)), order):
        y, p, w, cluster = ([column[i] for i in places] for column in (*rows, label))
        q = Predictor.from_samples(y, p, w, cluster=cluster)
        assert q.clusters is not None
        found.append((q.effective_rows, q.clusters.weight.tobytes(), q.clusters.value.tobytes()))
    assert found[0] == found[1]


@pytest.mark.parametrize("tiny", [1e-300, 5e-324])
@pytest.mark.parametrize("where", range(3))
def test_clusters_of_rows_whose_share_underflows(tiny: float, where: int) -> None:
    """A row of weight 1e-300 beside one of 1e300 counts nothing, with clusters as without."""
    weight = np.insert([0.9, 1e300 if tiny > 5e-324 else 0.9], where, tiny)
    y, p = [1, 0, 1], [0.1, 0.2, 0.3]
    q = Predictor.from_samples(y, p, weight, cluster=["a", "a", "b"])
    assert q == Predictor.from_samples(y, p, weight)
    assert q.clusters is not None
    assert np.bincount(q.clusters.value, q.clusters.weight, len(q)).tolist() == pytest.approx(q.mass.tolist())
    assert tc.inference.sampling_floor(q, "cutoff", draws=9, rng=0).mean >= 0


@pytest.mark.parametrize("tiny", [1e-150, 1e-200, 1e-290])
def test_the_isotonic_fit_of_tiny_masses(tiny: float) -> None:
    """Where products of masses underflow, means are compared all the same."""
    assert Predictor.from_samples([0, 1, 1], [0.1, 0.2, 0.3], [tiny, tiny, 1]).fitted.tolist() == [0, 1, 1]
    assert Predictor.from_samples([1, 0, 1], [0.1, 0.2, 0.3], [tiny, tiny, 1]).fitted.tolist() == [0.5, 0.5, 1]
    assert Predictor.from_samples([0, 1, 0], [0.1, 0.2, 0.3], [1, tiny, tiny]).fitted.tolist() == [0, 0.5, 0.5]


@given(samples())
def test_splitting_a_row_and_scaling_weights_change_nothing(rows: tuple[list[int], list[float], list[float]]) -> None:
    y, p, w = rows
    q = Predictor.from_samples(y, p, w)
    halves = [weight / 2 for weight in w]
    assert Predictor.from_samples(y * 2, p * 2, halves * 2) == q
    assert Predictor.from_samples(y, p, [weight * 2.0**-40 for weight in w]) == q
    thirds = Predictor.from_samples(y, p, [weight * 3.7 for weight in w])
    np.testing.assert_allclose(thirds.mass, q.mass, rtol=1e-15)
    np.testing.assert_allclose(thirds.positive, q.positive, rtol=1e-15)
    repeated = Predictor.from_samples(np.repeat(y, np.array(w, int)), np.repeat(p, np.array(w, int)))
    np.testing.assert_allclose(repeated.mass, q.mass, rtol=1e-15)


@given(samples())
def test_agrees_with_counting_one_by_one(rows: tuple[list[int], list[float], list[float]]) -> None:
    y, p, w = rows
    total = sum(map(Fraction, w))
    mass: dict[float, Fraction] = {}
    positive: dict[float, Fraction] = {}
    for outcome, prediction, weight in zip(y, p, w, strict=True):
        if weight:
            key = prediction + 0.0
            mass[key] = mass.get(key, Fraction(0)) + Fraction(weight)
            positive[key] = positive.get(key, Fraction(0)) + Fraction(weight) * outcome
    q = Predictor.from_samples(y, p, w)
    assert q.p.tolist() == sorted(mass)
    np.testing.assert_allclose(q.mass, [float(mass[v] / total) for v in sorted(mass)], rtol=3e-16)
    np.testing.assert_allclose(q.positive, [float(positive[v] / total) for v in sorted(mass)], rtol=3e-16)


@given(predictors(), st.integers(1, 40), st.sampled_from(["left", "middle"]))
def test_on_grid_moves_down_by_less_than_a_cell(q: Predictor, cells: int, end: Any) -> None:
    grid = q.on_grid(cells, end)
    step = Fraction(1, cells)
    for value in grid.p:
        index = Fraction(float(value)) * cells - (0 if end == "left" else Fraction(1, 2))
        assert abs(index - round(index)) < Fraction(1, 10**9)
        assert 0 <= round(index) <= cells - 1
    for value, mass in zip(q.p, q.mass, strict=True):
        cell = min(int(np.searchsorted(np.arange(cells + 1) / cells, value, side="right")) - 1, cells - 1)
        said = (cell if end == "left" else cell + 0.5) / cells
        assert said in grid.p
        assert abs(Fraction(float(value)) - Fraction(said)) <= step + Fraction(1, 10**15)
        assert grid.mass[grid.p == said] >= mass * (1 - 1e-12)
    assert grid.on_grid(cells, end) == grid


def test_on_grid_keeps_grid_points_in_place() -> None:
    values = np.arange(100) / 100
    q = Predictor(values, np.full(100, 0.01), np.zeros(100))
    assert q.on_grid(100).p.tolist() == values.tolist()
    assert Predictor([1.0], [1], [1]).on_grid(4).p.tolist() == [0.75]
    assert Predictor([1.0], [1], [1]).on_grid(4, "middle").p.tolist() == [0.875]


@given(calibrated_predictors(), st.integers(1, 10))
def test_coarsen_keeps_a_calibrated_predictor_calibrated(q: Predictor, cells: int) -> None:
    coarse = q.coarsen(cells)
    assert len(coarse) <= min(cells, len(q))
    np.testing.assert_allclose(coarse.positive, coarse.p * coarse.mass, rtol=0, atol=rounding(len(q)))


@given(predictors(), st.integers(1, 10))
def test_coarsen_keeps_mass_outcomes_and_mean(q: Predictor, cells: int) -> None:
    coarse = q.coarsen(cells)
    for whole, parts in ((q.mass, coarse.mass), (q.positive, coarse.positive), (q.p * q.mass, coarse.p * coarse.mass)):
        assert parts.sum() == pytest.approx(whole.sum(), abs=1e-14)


def test_coarsen_makes_cells_of_equal_mass() -> None:
    q = Predictor.from_samples(np.zeros(1000), np.linspace(0, 1, 1000))
    coarse = q.coarsen(8)
    assert coarse.mass.tolist() == pytest.approx([0.125] * 8, rel=1e-13)
    assert q.coarsen(1).p.tolist() == [pytest.approx(0.5)]


@given(predictors())
def test_calibrated_says_the_posterior(q: Predictor) -> None:
    c = q.calibrated()
    np.testing.assert_allclose(c.p_hat, c.p, rtol=1e-12, atol=1e-300)
    assert c.base_rate == pytest.approx(q.base_rate, abs=rounding(len(q)))


# --- refusals


@pytest.mark.parametrize(
    ("y", "p", "w", "message"),
    [
        ([0, 1, 1], [0.5, np.nan, np.nan], None, r"NaN: 2 of 3 rows.*row 1 \(from 0\).*Drop or repair"),
        ([0, 1], [0.5, np.inf], None, r"probabilities in \[0, 1\]: 1 of 2 rows.*row 1.*inf"),
        ([0, 1], [-0.1, 1.2], None, r"2 of 2 rows.*row 0.*-0\.1.*divide percentages by 100|Divide percentages by 100"),
        ([0, 2, 1], [0.1, 0.2, 0.3], None, r"outcomes must be 0 or 1.*1 of 3 rows.*row 1.*with 2"),
        ([-1, 1], [0.1, 0.2], None, r"outcomes must be 0 or 1.*with -1.*y_true == 1"),
        ([0, np.nan], [0.1, 0.2], None, r"outcomes must be 0 or 1.*1 of 2 rows.*nan"),
        ([0, None], [0.1, 0.2], None, r"outcomes must be 0 or 1.*1 of 2 rows.*nan"),
        (["no", "yes"], [0.1, 0.2], None, r"numbers or booleans.*'no'.*y_true == "),
        (["0", "1"], [0.1, 0.2], None, r"numbers or booleans.*'0'"),
        ([0, 1], ["0.1", "0.2"], None, r"y_prob must hold numbers.*'0\.1'.*Convert"),
        ([0, 1], [0.1], None, r"same length, but have 2 and 1 rows"),
        ([0, 1], [0.1, 0.2], [1], r"y_true and sample_weight must have the same length, but have 2 and 1"),
        ([], [], None, r"at least one row"),
        ([0, 1], [0.1, 0.2], [1, -1], r"weights must not be negative: 1 of 2 rows.*row 1"),
        ([0, 1], [0.1, 0.2], [1, np.inf], r"weights must be finite.*row 1"),
        ([0, 1], [0.1, 0.2], [np.nan, 1], r"weights must be finite.*row 0"),
        ([0, 1], [0.1, 0.2], [0, 0], r"some weight must be positive, but all 2 are 0"),
        ([0.2, 0.7], [0, 1], None, r"swapped.*Exchange y_true and y_prob"),
        ([0, 1], [[0.4, 0.6], [0.7, 0.3]], None, r"two: shape \(2, 2\).*predict_proba.*y_prob\[:, 1\]"),
        ([0, 1], [[0.4], [0.7]], None, r"one column, but its shape is \(2, 1\)"),
        (0, [0.1], None, r"y_true must be a column, but is a single int"),
        (None, [0.1], None, r"y_true must be a column, but is a single NoneType"),
        ([1, 0], [10**400, 0.3], None, r"y_prob must hold numbers of ordinary size"),
        ([0, 1], [0.1 + 1j, 0.2], None, r"y_prob must hold numbers or booleans, but holds complex"),
        (pd.Series([1, pd.NA], dtype="Int64"), [0.1, 0.2], None, r"outcomes must be 0 or 1.*1 of 2 rows"),
        ([0, 1], np.ma.array([0.5, 0.9], mask=[False, True]), None, r"NaN: 1 of 2 rows"),
    ],
)
def test_bad_rows_are_refused_with_rule_count_first_and_remedy(y: Any, p: Any, w: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Predictor.from_samples(y, p, w)


@pytest.mark.parametrize(
    ("p", "mass", "positive", "message"),
    [
        ([0.5, 0.2], [0.5, 0.5], [0, 0], "strictly increasing.*from_samples"),
        ([0.5, 0.5], [0.5, 0.5], [0, 0], "strictly increasing"),
        ([0.5, 1.5], [0.5, 0.5], [0, 0], r"lie in \[0, 1\]"),
        ([np.nan], [1], [0], r"lie in \[0, 1\]"),
        ([0.5], [0.9], [0], "sum to 1 within 1e-9.*0.9"),
        ([], [], [], "at least one prediction value"),
        ([0.5], [1], [1.1], "between 0 and mass"),
        ([0.5], [1], [-0.1], "between 0 and mass"),
        ([0.5], [1], [np.nan], "between 0 and mass"),
        ([0.5, 0.6], [2.0, -1.0], [0, 0], "masses must be probabilities"),
        ([0.5], [np.inf], [0], "masses must be probabilities"),
        ([0.5, 0.6], [1], [0], "lengths are 2, 1 and 1"),
    ],
)
def test_what_is_no_law_is_refused(p: Any, mass: Any, positive: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Predictor(p, mass, positive)


@pytest.mark.parametrize("cells", [0, -1, 2.5, "3", True, 10**400])
def test_cells_must_be_whole_and_positive(cells: Any) -> None:
    for method in (Predictor([0.5], [1], [0]).on_grid, Predictor([0.5], [1], [0]).coarsen):
        with pytest.raises(ValueError, match=r"cells must be a whole number"):
            method(cells)


def test_other_bad_arguments() -> None:
    q = Predictor([0.5], [1], [0])
    with pytest.raises(ValueError, match="end must be one of 'left', 'middle'"):
        q.on_grid(2, "right")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"into \[0, 1\]"):
        q.map(lambda p: p + 1)
    with pytest.raises(ValueError, match=r"1 predictions to as many, but gave the shape \(2,\)"):
        q.map(lambda p: np.zeros(2))


@given(st.floats(-165, -150))
def test_weights_whose_squares_lose_their_digits_are_allowed(exponent: float) -> None:
    q = Predictor.from_samples([1, 0], [0.2, 0.7], [10.0**exponent, 1.0])
    assert q.mass.tolist() == pytest.approx([10.0**exponent, 1.0], rel=1e-15)


def test_pandas_missing_value_is_no_cluster() -> None:
    with pytest.raises(ValueError, match="every row must have a cluster: 1 of 2 rows"):
        Predictor.from_samples([0, 1], [0.2, 0.3], cluster=pd.Series(["a", None], dtype="string"))


def test_weights_that_differ_within_values_are_not_constant() -> None:
    """Weights 1, 1, 4 have the squares of two equal rows."""
    y, p = [0, 0, 0, 1, 1, 1] * 5, np.repeat(np.linspace(0.1, 0.9, 10), 3)
    assert not constant_weights(Predictor.from_samples(y, p, [1, 1, 4] * 10))
    assert constant_weights(Predictor.from_samples(y, p, np.repeat(np.arange(1, 11), 3)))
