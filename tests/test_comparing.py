"""`compare`: folds that are those of random rows, recalibrators against slow oracles, and recommendations that hold."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from itertools import combinations
from math import comb, isinf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from tests.strategies import probabilities, samples
from trustcal.decisions import DecisionProblem, umbrella
from trustcal.guarantees import Bound
from trustcal.measures.decision import cdl, decision_loss, ece
from trustcal.measures.scores import brier, log_loss
from trustcal.noise import ClampedGaussian, TruncatedLaplace, UniformNoise
from trustcal.paper import rain
from trustcal.predictor import Predictor
from trustcal.remedies import Comparison, MethodResult, compare
from trustcal.remedies.choosing import Candidate, choose
from trustcal.remedies.folds import Fold, merged, split_law, split_rows
from trustcal.remedies.methods import METHODS
from trustcal.remedies.recalibrators import beta, constant, histogram, isotonic, platt, temperature, venn_abers
from trustcal.report.terminal.comparison import _page
from trustcal.report.terminal.console import plain_text
from trustcal.smoothing import smooth

FloatArray = NDArray[np.float64]
RECALIBRATORS = (temperature, platt, beta, isotonic, histogram, venn_abers, constant)


def drawn(n: int, seed: int, distorted: float = 1.0, shifted: float = 0.0) -> tuple[NDArray[np.bool_], FloatArray]:
    """Outcomes, and predictions whose logits are `distorted` times the true ones, and shifted."""
    rng = np.random.default_rng(seed)
    truth = rng.beta(1.2, 2.0, n)
    return rng.random(n) < truth, expit(distorted * logit(truth) + shifted)


# Folds


@given(samples(), st.integers(2, 4), st.integers(0, 99))
def test_folds_part_the_rows(rows: tuple[list[int], list[float], list[float]], folds: int, seed: int) -> None:
    y, p, _ = rows
    y, p = y * folds, p * folds
    y += [0] * folds + [1] * folds
    p += [0.5] * 2 * folds
    q = Predictor.from_samples(y, p)
    parts = split_law(q, folds, np.random.default_rng(seed))
    together = merged([part.held_out for part in parts], [part.share for part in parts], q.effective_rows)
    assert np.array_equal(together.p, q.p)
    assert together.rows == q.rows == len(y)
    np.testing.assert_allclose([together.mass, together.positive], [q.mass, q.positive], atol=1e-15)
    for part in parts:
        assert part.held_out.rows is not None
        assert part.train.rows is not None
        assert part.held_out.rows + part.train.rows == len(y)
        both = merged([part.held_out, part.train], [part.share, 1 - part.share], None)
        np.testing.assert_allclose([both.mass, both.positive], [q.mass, q.positive], atol=1e-15)
        assert part.held_out.base_rate * part.held_out.rows == pytest.approx(sum(y) / folds, abs=1)


def test_counts_are_split_as_shuffled_rows_would_be() -> None:
    """Three rows at 0.25 and three at 0.75 of each outcome: how many of each are in the first of two folds."""
    q = Predictor.from_samples([0, 1] * 6, [0.25] * 6 + [0.75] * 6)
    rng = np.random.default_rng(0)
    draws = 4000
    seen = Counter(tuple(np.rint(split_law(q, 2, rng)[0].held_out.mass * 6).astype(int).tolist()) for _ in range(draws))
    expected: Counter[int] = Counter()
    for zeros in combinations(range(6), 3):
        for ones in combinations(range(6), 3):
            expected[sum(row < 3 for row in zeros) + sum(row < 3 for row in ones)] += 1
    for low, count in expected.items():
        share = count / comb(6, 3) ** 2
        found = sum(n for masses, n in seen.items() if (masses[0] if len(masses) == 2 else 6 * (low == 6)) == low)
        if 0 < low < 6:
            assert abs(found / draws - share) < 4 * np.sqrt(share / draws)


def test_weighted_rows_are_dealt_out() -> None:
    y, p = drawn(60, 0)
    w = np.random.default_rng(1).integers(0, 4, 60).astype(float)
    q = Predictor.from_samples(y, p, w)
    parts = split_rows(y, p, w, 3, np.random.default_rng(2))
    together = merged([part.held_out for part in parts], [part.share for part in parts], q.effective_rows)
    assert np.array_equal(together.p, q.p)
    np.testing.assert_allclose([together.mass, together.positive], [q.mass, q.positive], atol=1e-15)
    assert sum(part.share for part in parts) == pytest.approx(1)


# Recalibrators


def law(y: list[int], p: list[float], w: list[float] | None = None) -> Predictor:
    return Predictor.from_samples(y, p, w)


@pytest.mark.parametrize("fit", RECALIBRATORS)
@pytest.mark.parametrize(
    ("y", "p"),
    [
        ([0, 1], [0.3, 0.3]),
        ([0, 1, 0, 1], [0.5] * 4),
        ([0, 1, 0, 1], [0.0, 0.0, 1.0, 1.0]),
        ([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0]),
        ([1, 1, 0, 0], [0.0, 5e-324, 1 - 1e-16, 1.0]),
        ([0, 1, 1, 0], [0.5, 0.5 + 1e-15, 0.5 + 2e-15, 0.5 + 3e-15]),
    ],
)
def test_degenerate_data_give_probabilities(fit: type, y: list[int], p: list[float]) -> None:
    said = fit(law(y, p))(np.array([0.0, 1e-300, 0.2, 0.5, 0.9, 1.0]))
    assert ((said >= 0) & (said <= 1)).all()


@pytest.mark.parametrize(
    ("fit", "said"),
    [
        (temperature, [1 / 3, 1 / 2, 2 / 3]),  # Platt's targets: (1 + 4·1/6 … ) = 1/3 and 2/3
        (isotonic, [0.25, 0.5, 0.75]),
        (histogram, [0.25, 0.25, 0.75]),  # two bins, cut at 1/2
        (constant, [0.5, 0.5, 0.5]),
    ],
)
def test_exact_values(fit: type, said: list[float]) -> None:
    q = law([0, 0, 0, 1, 1, 1, 0, 1], [0.1] * 4 + [0.9] * 4)
    np.testing.assert_allclose(fit(q)(np.array([0.1, 0.5, 0.9])), said, atol=1e-9)


@settings(deadline=None)
@given(samples())
def test_isotonic_as_in_scikit_learn(rows: tuple[list[int], list[float], list[float]]) -> None:
    y, p, w = rows
    at = np.linspace(0, 1, 33)
    ours = isotonic(law(y, p, w))(at)
    kept = np.array(w) > 0
    theirs = IsotonicRegression(out_of_bounds="clip").fit(
        np.array(p)[kept], np.array(y, dtype=float)[kept], np.array(w)[kept]
    )
    if np.diff(np.unique(np.array(p)[kept]), append=2).min() > 1e-9:  # scikit-learn merges values closer than that
        np.testing.assert_allclose(ours, theirs.predict(at), atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_logistic_fits_as_in_scikit_learn(seed: int) -> None:
    """Platt's targets are two weighted rows for each; without an intercept Platt is temperature."""
    y, p = drawn(300, seed, distorted=2.0, shifted=0.5)
    w = np.random.default_rng(seed).integers(1, 4, 300).astype(float)
    q = Predictor.from_samples(y, p, w)
    assert q.effective_rows is not None
    came = q.effective_rows * q.base_rate
    target = np.where(y, (came + 1) / (came + 2), 1 / (q.effective_rows - came + 2))
    x = logit(np.clip(p, 0.5 / q.effective_rows, 1 - 0.5 / q.effective_rows))
    at = np.linspace(0.01, 0.99, 21)
    for fit, features, intercept in (
        (platt, x[:, None], True),
        (temperature, x[:, None], False),
        (beta, np.column_stack([np.log(expit(x)), -np.log(expit(-x))]), True),
    ):
        model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000, fit_intercept=intercept)
        model.fit(
            np.vstack([features, features]), np.repeat([1, 0], 300), np.concatenate([w * target, w * (1 - target)])
        )
        assert model.coef_.min() > 0
        grid = np.column_stack([np.log(at), -np.log1p(-at)]) if fit is beta else logit(at)[:, None]
        np.testing.assert_allclose(fit(q)(at), model.predict_proba(grid)[:, 1], atol=1e-5)


def test_reversed_predictions() -> None:
    """Temperature can only give up, Platt turns them round, beta must rise."""
    rng = np.random.default_rng(0)
    p = rng.random(500)
    q = Predictor.from_samples(rng.random(500) > p, p)
    at = np.array([0.1, 0.9])
    assert temperature(q)(at).tolist() == [0.5, 0.5]
    assert np.diff(platt(q)(at)) < -0.6
    assert beta(q)(at) == pytest.approx(q.base_rate, abs=0.01)


def test_beta_is_the_best_with_slopes_of_at_least_0() -> None:
    rng = np.random.default_rng(3)
    p = rng.random(400)
    y = rng.random(400) < 0.2 + 0.5 * (p > 0.7)  # flat below
    q = Predictor.from_samples(y, p)
    said, at = beta(q), np.clip(p, 0.5 / 400, 1 - 0.5 / 400)
    target = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))

    def loss(a: FloatArray) -> float:
        score = a[0] * np.log(at) - a[1] * np.log1p(-at) + a[2]
        return float(np.mean(np.logaddexp(0, score) - target * score))

    best = minimize(loss, [1.0, 1.0, 0.0], bounds=[(0, None), (0, None), (None, None)], tol=1e-12)
    ours = -np.mean(target * np.log(said(p)) + (1 - target) * np.log1p(-said(p)))
    assert ours == pytest.approx(best.fun, abs=1e-8)


@settings(deadline=None)
@given(samples(), probabilities)
def test_venn_abers_by_adding_the_row(rows: tuple[list[int], list[float], list[float]], new: float) -> None:
    y, p, _ = rows

    def refitted(label: int) -> float:
        q = law([*y, label], [*p, new])
        return float(isotonic_regression(q.p_hat, weights=q.mass).x[np.searchsorted(q.p, new)])

    p0, p1 = refitted(0), refitted(1)
    assert venn_abers(law(y, p))(np.array([new]))[0] == pytest.approx(p1 / (1 - p0 + p1), abs=1e-9)


def test_venn_abers_compiled_says_the_same() -> None:
    y, p = drawn(40_000, 0)
    small = Predictor.from_samples(y[:400], p[:400])
    at = np.linspace(0, 1, 101)
    plain = venn_abers(small)(at)
    said = venn_abers(Predictor.from_samples(y, p))(at)
    assert (np.diff(said) >= -1e-12).all()
    assert np.abs(said[10:90] - at[10:90]).max() < 0.1
    assert np.array_equal(venn_abers(small)(at), plain)


# Noise


@pytest.mark.parametrize(
    ("name", "noise"),
    [
        ("uniform", lambda eps: UniformNoise.for_distance(eps, "cdl")),
        ("Laplace (paper)", TruncatedLaplace.paper),
        ("Gaussian", lambda eps: ClampedGaussian.for_distance(eps, "cdl")),
    ],
)
@pytest.mark.parametrize("n", [300, 5000])
def test_noise_is_judged_by_its_exact_law(name: str, noise: type, n: int) -> None:
    y, p = drawn(n, 1, distorted=2.0)
    q = Predictor.from_samples(y, p)
    fold = Fold(q, q, 1.0)
    fitted = next(method for method in METHODS if method.name == name).fit(fold)
    exact, on_grid = smooth(q, noise(fold.eps)), fitted.apply(q)
    assert ece(on_grid) == pytest.approx(ece(exact), abs=2e-3)
    assert cdl(on_grid) == pytest.approx(cdl(exact), abs=2e-3)
    atoms = q.mass @ noise(fold.eps).atoms(q.p).mass
    for end, mass in zip((0.0, 1.0), atoms, strict=False):  # what is clamped is said to be certain
        assert on_grid.mass[on_grid.p == end].sum() == pytest.approx(mass, abs=2e-3)
    assert isinf(log_loss(on_grid)) == (len(atoms) > 0)
    assert on_grid.base_rate == pytest.approx(q.base_rate, abs=1e-12)
    assert fitted.guarantee is not None
    assert cdl(exact) <= fitted.guarantee.value


# The comparison


@pytest.fixture(scope="module")
def overconfident() -> Comparison:
    return compare(*drawn(6000, 0, distorted=2.0), rng=1)


def named(comparison: Comparison, name: str) -> MethodResult:
    return next(row for row in comparison.methods if row.name == name)


def test_rows_are_measured_on_all_data(overconfident: Comparison) -> None:
    q = Predictor.from_samples(*drawn(6000, 0, distorted=2.0))
    none = overconfident.methods[0]
    assert overconfident.cells == round(6000 ** (1 / 3))
    assert none.cdl == pytest.approx(cdl(q.coarsen(18)), abs=1e-12)
    assert none.brier == pytest.approx(brier(q), abs=1e-12)
    assert none.value_lost == pytest.approx(0, abs=1e-12)
    assert none.value is None
    assert [row.name for row in overconfident.methods] == [method.name for method in METHODS]


def test_noise_costs_and_recalibration_helps(overconfident: Comparison) -> None:
    none = overconfident.methods[0]
    for row in overconfident.methods:
        assert (row.guarantee is not None) == (row.name in ("uniform", "Laplace (paper)", "Gaussian"))
        assert row.regret >= -1e-12
        if row.guarantee is not None:
            assert not row.needs_outcomes
            assert row.brier > none.brier
            assert row.cdl <= row.guarantee.value
    for name in ("temperature", "Platt", "beta", "isotonic", "histogram", "Venn–Abers"):
        assert named(overconfident, name).brier < none.brier
        assert named(overconfident, name).cdl < none.cdl / 5
    assert overconfident.recommended == "temperature"
    assert "Use noise when no outcomes will be available" in overconfident.reason


def test_the_constant_is_calibrated_and_useless(overconfident: Comparison) -> None:
    row = overconfident.methods[-1]
    assert (row.name, round(row.auc, 2)) == ("constant", 0.5)
    assert row.cdl < min(other.cdl for other in overconfident.methods[:-1])
    assert row.brier > overconfident.methods[0].brier
    assert row.value_lost > 0.1


def test_a_predictor_of_the_rows_is_the_same_in_any_order(overconfident: Comparison) -> None:
    y, p = drawn(6000, 0, distorted=2.0)
    order = np.random.default_rng(2).permutation(6000)
    assert compare(Predictor.from_samples(y[order], p[order]), rng=1).to_json() == overconfident.to_json()
    assert compare(y, p, np.full(6000, 2.5), rng=1).to_json() == overconfident.to_json()


def test_json_and_text(overconfident: Comparison) -> None:
    data = json.loads(overconfident.to_json(), parse_constant=pytest.fail)
    assert data["recommended"] == overconfident.recommended
    assert data["methods"][1]["guarantee"]["quantity"] == "CDL"
    assert isinf(named(overconfident, "isotonic").log_loss)
    assert data["methods"][8]["log_loss"] is None
    text = str(overconfident)
    assert max(map(len, text.splitlines())) <= 88
    assert text.startswith("Recalibrate with outcomes, by temperature.")
    assert all(text.count(f"| {row.name} ") == 2 for row in overconfident.methods)
    assert "…" not in text


def test_no_number_is_cut_in_80_columns(overconfident: Comparison) -> None:
    assert "…" not in plain_text(partial(_page, overconfident), 80)


def test_with_payoffs() -> None:
    y, p = drawn(3000, 0, distorted=1.0, shifted=1.5)
    problem = DecisionProblem([[0, 0], [-1, 3]])
    found = compare(y, p, rng=0, payoff=problem)
    none = found.methods[0]
    assert none.value == pytest.approx(problem.value(Predictor.from_samples(y, p)))
    for row in found.methods:
        assert row.value is not None
        assert none.value is not None
        assert row.value_lost == pytest.approx((none.value - row.value) / 3, abs=1e-12)
    best = max(row.value for row in found.methods if row.value is not None)
    assert found.recommended == "Platt"
    assert min(row.regret for row in found.methods) == pytest.approx(0, abs=1e-12)
    assert best - (named(found, "Platt").value or 0) < 0.02
    assert "your payoffs" in str(found)
    indifferent = compare(y, p, rng=0, payoff=DecisionProblem([[1, 2]]))
    assert indifferent.recommended == "none"


def test_the_rain_table() -> None:
    """49.99 % and 50.01 %, both wrong: nothing could be worse, and with outcomes nothing easier to mend."""
    q = rain().predictor
    rows = Predictor(q.p, q.mass, q.positive, rows=1000, effective_rows=1000.0)
    found = compare(rows, rng=0, payoff=umbrella())
    assert found.methods[0].value == 0
    assert named(found, "Platt").value == named(found, "histogram").value == 1
    assert found.recommended == "Platt"
    assert found.cells is None
    assert named(found, "uniform").cdl < 0.1


# Recommendations


@pytest.mark.slow
def test_calibrated_predictions_are_left_alone() -> None:
    advice = Counter(compare(*drawn(1500, seed), rng=seed, folds=3).recommended for seed in range(10))
    assert advice["none"] >= 9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("distorted", "shifted", "simplest"),
    [
        (2.0, 0.0, "temperature"),
        (0.4, 0.0, "temperature"),
        (1.0, 1.0, "Platt"),
    ],
)
def test_the_simplest_remedy_that_works(distorted: float, shifted: float, simplest: str) -> None:
    """Anything as good may be a fold's luck, but what is recommended must be eligible and close to the best."""
    names = []
    for seed in range(5):
        found = compare(*drawn(3000, seed, distorted, shifted), rng=seed)
        names.append(found.recommended)
        row = named(found, found.recommended)
        assert row.needs_outcomes
        assert row.name != "constant"
        assert row.regret < found.methods[0].regret / 3
    assert names.count(simplest) >= 4


def row(name: str, cdl: float, guarantee: Bound | None = None, needs_outcomes: bool = True) -> MethodResult:
    return MethodResult(name, 0, cdl, 0, 0, 0.1, 0, 0.5, None, 0, 0, guarantee, needs_outcomes)


def test_choice_is_not_made_by_luck() -> None:
    rows = [
        row("none", 0.1, needs_outcomes=False),
        row("uniform", 0.2, Bound("CDL", 0.3, "Theorem 15", True), needs_outcomes=False),
        row("simple", 0.02),
        row("best", 0.01),
    ]

    def chosen(none: list[float], simple: list[float], floor: float = 0.05) -> str:
        regrets = (none, [0.0] * 3, simple, [0.01, 0.02, 0.03])
        return choose(
            [Candidate(r, r.guarantee is None, np.array(c)) for r, c in zip(rows, regrets, strict=True)],
            floor,
        )

    assert chosen([0.1, 0.1, 0.1], [0.05, 0.06, 0.07]) == "best"  # noise would be better, but is not on offer
    assert chosen([0.1, 0.1, 0.1], [0.02, 0.01, 0.04]) == "simple"
    assert chosen([0.02, 0.02, 0.03], [0.05, 0.06, 0.07]) == "best"  # the floor has judged doing nothing
    assert chosen([0.01, 0.01, 0.01], [0.05, 0.06, 0.07]) == "none"  # unless nothing else is better
    assert chosen([0.1, 0.1, 0.1], [0.05, 0.06, 0.07], floor=0.1) == "none"
    assert chosen([0.1, 0.1, 0.1], [0.0, 0.09, 0.2]) == "best"  # what hardly helps is no remedy, however uncertain


def test_tiny_data() -> None:
    found = compare([0, 1, 0, 1], [0.2, 0.8, 0.8, 0.2], folds=2, rng=0)
    assert found.rows == 4
    assert found.recommended in [row.name for row in found.methods]
    assert compare([0, 1] * 5, [0.5] * 10, rng=0).recommended == "none"
    ends = compare([0, 1, 0, 1, 1, 0], [0, 0, 1, 1, 1, 0], folds=2, rng=0)
    assert isinf(ends.methods[0].log_loss)


def test_weights_count() -> None:
    """Rows of weight 3 and one of weight 0 beside those that count once."""
    y, p = drawn(2000, 0, distorted=2.0)
    w = np.where(p > 0.5, 3.0, 1.0)
    w[0] = 0
    found = compare(y, p, w, rng=0)
    q = Predictor.from_samples(y, p, w)
    assert found.rows == 1999
    assert found.methods[0].brier == pytest.approx(brier(q), abs=1e-12)
    assert decision_loss(q, q) == 0
    assert found.recommended == "temperature"


def test_refusals() -> None:
    with pytest.raises(ValueError, match="2 or more, not 1"):
        compare([0, 1], [0.5, 0.5], folds=1, rng=0)
    with pytest.raises(ValueError, match="known law has none"):
        compare(Predictor([0.5], [1.0], [0.5]), rng=0)
    with pytest.raises(ValueError, match="Pass the rows themselves"):
        compare(Predictor.from_samples([0, 1] * 9, [0.5] * 18, [1, 2, 3] * 6), rng=0)
    with pytest.raises(ValueError, match=r"4 rows of outcome 0 and 6 of outcome 1\. Use fewer folds"):
        compare([0] * 4 + [1] * 6, [0.5] * 10, rng=0)
    with pytest.raises(ValueError, match="0 rows of outcome 0 and 9 of outcome 1"):
        compare([1] * 9, [0.5] * 9, rng=0)
    with pytest.raises(ValueError, match="fewer than 10"):
        compare(Predictor([0.5], [1.0], [0.5], rows=10**9, effective_rows=1e9), rng=0)


def test_many_rows_cost_what_their_values_cost() -> None:
    """10^8 rows on 1,000 values."""
    p = (np.arange(1000) + 0.5) / 1000
    count = np.full(1000, 100_000)
    positive = np.random.default_rng(0).binomial(count, p**1.5)
    q = Predictor(p, count / 10**8, positive / 10**8, rows=10**8, effective_rows=1e8)
    found = compare(q, rng=0)
    assert found.rows == 10**8
    assert found.cells is None
    assert found.recommended != "none"
