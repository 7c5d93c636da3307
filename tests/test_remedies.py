"""Remedies: every fit against a slow oracle or another package, ranks, weights, saved files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.metrics import roc_auc_score

from tests.strategies import probabilities, samples
from trustcal.decisions import DecisionProblem
from trustcal.guarantees import batch_cdl
from trustcal.measures.scores import auc, log_loss
from trustcal.noise import NOISES
from trustcal.predictor import Predictor
from trustcal.remedies import certify, fit, from_json, load, noise_remedy
from trustcal.remedies.grouping import _shrunk
from trustcal.remedies.maps import LogisticMap, Map, PiecewiseLinear
from trustcal.remedies.methods import METHODS
from trustcal.remedies.recalibrators import (
    beta,
    centred_isotonic,
    histogram,
    isotonic,
    moved_thresholds,
    platt,
    spline,
    temperature,
    venn_abers,
)
from trustcal.smoothing import SmoothedPredictor, perturb

FloatArray = NDArray[np.float64]
Rows = tuple[list[int], list[float], list[float]]
Fitting = Callable[[Predictor], Map]
RECALIBRATORS: tuple[Fitting, ...] = (
    temperature, platt, beta, spline, isotonic, centred_isotonic, histogram, venn_abers,
)  # fmt: skip
RISING: tuple[Fitting, ...] = (temperature, beta, spline, isotonic, centred_isotonic, venn_abers)
TREAT = DecisionProblem([[0, 0], [-1, 3]], ["wait", "treat"])


def drawn(n: int, seed: int, distorted: float = 1.0, shifted: float = 0.0) -> tuple[NDArray[np.bool_], FloatArray]:
    """Outcomes, and predictions whose logits are `distorted` times the true ones, and shifted."""
    rng = np.random.default_rng(seed)
    truth = rng.beta(1.2, 2.0, n)
    return rng.random(n) < truth, np.asarray(expit(distorted * logit(truth) + shifted))


def law(y: list[int], p: list[float], w: list[float] | None = None) -> Predictor:
    return Predictor.from_samples(y, p, w)


# Degenerate data and exact values


@pytest.mark.parametrize("fitting", RECALIBRATORS)
@pytest.mark.parametrize(
    ("y", "p"),
    [
        ([0, 1], [0.3, 0.3]),
        ([0, 0], [0.3, 0.4]),
        ([0, 1, 0, 1], [0.5] * 4),
        ([0, 1, 0, 1], [0.0, 0.0, 1.0, 1.0]),
        ([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0]),
        ([1, 1, 0, 0], [0.0, 5e-324, 1 - 1e-16, 1.0]),
        ([0, 1, 1, 0], [0.5, 0.5 + 1e-15, 0.5 + 2e-15, 0.5 + 3e-15]),
        ([0, 1, 1, 0, 1], [0.0, 1e-300, 0.2, 0.4, 1.0]),
    ],
)
def test_degenerate_data_give_probabilities(fitting: Fitting, y: list[int], p: list[float]) -> None:
    said = fitting(law(y, p))(np.array([0.0, 1e-300, 0.2, 0.5, 0.9, 1.0]))
    assert ((said >= 0) & (said <= 1)).all()


@pytest.mark.parametrize(
    ("fitting", "said"),
    [
        (temperature, [1 / 3, 1 / 2, 2 / 3]),  # Platt's targets: (1 + 4·1/6 … ) = 1/3 and 2/3
        (platt, [1 / 3, 1 / 2, 2 / 3]),
        (isotonic, [0.25, 0.5, 0.75]),
        (centred_isotonic, [0.25, 0.5, 0.75]),
        (histogram, [0.25, 0.25, 0.75]),  # two bins, cut at 1/2
    ],
)
def test_exact_values(fitting: Fitting, said: list[float]) -> None:
    q = law([0, 0, 0, 1, 1, 1, 0, 1], [0.1] * 4 + [0.9] * 4)
    np.testing.assert_allclose(fitting(q)(np.array([0.1, 0.5, 0.9])), said, atol=1e-9)


def test_exact_0_and_1_mean_what_their_own_rows_show() -> None:
    """A hundred rows at 0 with no one, a hundred at 1 with one zero: Platt's targets, and the order is kept."""
    y, p = drawn(400, 0)
    p = 0.1 + 0.8 * p
    q = Predictor.from_samples([0] * 100 + [1] * 99 + [0] + y.tolist(), [0.0] * 100 + [1.0] * 100 + p.tolist())
    ones = 99 + int(y.sum())
    zeros = 600 - ones
    for fitting in (temperature, platt, beta, spline):
        said = fitting(q)(np.array([0.0, 1.0]))
        assert said[0] == pytest.approx(1 / (zeros + 2))
        assert said[1] == pytest.approx((99 * (ones + 1) / (ones + 2) + 1 / (zeros + 2)) / 100)


def test_nothing_is_clipped_away() -> None:
    """Probabilities of a naive model, far beyond one row in n: ranking and log loss as in scikit-learn's scaling."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000) * 3
    y, p = rng.random(2000) < expit(x), np.asarray(expit(8 * x))
    p[p < 1e-12] = 10.0 ** rng.uniform(-80, -12, int((p < 1e-12).sum()))
    q = Predictor.from_samples(y, p)
    inside = (p > 0) & (p < 1)
    for method in ("temperature", "Platt", "beta"):
        said = fit(method, q).apply(p)
        assert len(np.unique(said[inside])) == len(np.unique(p[inside]))
        assert roc_auc_score(y, said) == pytest.approx(roc_auc_score(y, p), abs=1e-4)
    model = LogisticRegression(C=np.inf, tol=1e-10, fit_intercept=False).fit(logit(p[inside])[:, None], y[inside])
    theirs = model.predict_proba(logit(p[inside])[:, None])[:, 1]
    ours = fit("temperature", y[inside], p[inside]).apply(p[inside])
    assert sklearn_log_loss(y[inside], ours) == pytest.approx(sklearn_log_loss(y[inside], theirs), abs=1e-3)


# Independent references


@settings(deadline=None)
@given(samples())
def test_isotonic_as_in_scikit_learn(rows: Rows) -> None:
    y, p, w = rows
    at = np.linspace(0, 1, 33)
    ours = isotonic(law(y, p, w))(at)
    kept = np.array(w) > 0
    theirs = IsotonicRegression(out_of_bounds="clip").fit(
        np.array(p)[kept], np.array(y, dtype=float)[kept], np.array(w)[kept]
    )
    if np.diff(np.unique(np.array(p)[kept]), append=2).min() > 1e-9:  # scikit-learn merges values closer than that
        np.testing.assert_allclose(ours, theirs.predict(at), atol=1e-9)


@settings(deadline=None)
@given(samples())
def test_centred_isotonic_by_its_definition(rows: Rows) -> None:
    q = law(*rows)
    steps = isotonic_regression(q.p_hat, weights=q.mass).x
    levels = np.unique(steps.round(12))
    centres = [float(np.average(q.p[at], weights=q.mass[at])) for at in (steps.round(12) == level for level in levels)]
    at = np.linspace(0, 1, 33)
    if len(centres) == 1 or np.diff(centres).min() > 1e-9:
        np.testing.assert_allclose(centred_isotonic(q)(at), np.interp(at, centres, levels), atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_logistic_fits_as_in_scikit_learn(seed: int) -> None:
    """Platt's targets are two weighted rows for each; without an intercept Platt is temperature."""
    y, p = drawn(300, seed, distorted=2.0, shifted=0.5)
    w = np.random.default_rng(seed).integers(1, 4, 300).astype(float)
    q = Predictor.from_samples(y, p, w)
    assert q.effective_rows is not None
    came = q.effective_rows * q.base_rate
    target = np.where(y, (came + 1) / (came + 2), 1 / (q.effective_rows - came + 2))
    x = logit(p)
    at = np.linspace(0.01, 0.99, 21)
    for fitting, features, intercept in (
        (platt, x[:, None], True),
        (temperature, x[:, None], False),
        (beta, np.column_stack([np.log(expit(x)), -np.log(expit(-x))]), True),
    ):
        model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000, fit_intercept=intercept)
        model.fit(
            np.vstack([features, features]), np.repeat([1, 0], 300), np.concatenate([w * target, w * (1 - target)])
        )
        assert model.coef_.min() > 0
        grid = np.column_stack([np.log(at), -np.log1p(-at)]) if fitting is beta else logit(at)[:, None]
        np.testing.assert_allclose(fitting(q)(at), model.predict_proba(grid)[:, 1], atol=1e-5)


def test_many_values_start_from_bins_and_end_at_the_same_place() -> None:
    y, p = drawn(30_000, 0, distorted=2.0, shifted=0.5)
    fitted = platt(Predictor.from_samples(y, p))
    model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(logit(p)[:, None], y)
    assert [fitted.a, fitted.c] == pytest.approx([model.coef_[0, 0], model.intercept_[0]], abs=1e-3)


def test_reversed_predictions() -> None:
    """Temperature can only give up, Platt turns them round, beta must rise."""
    rng = np.random.default_rng(0)
    p = rng.random(500)
    q = Predictor.from_samples(rng.random(500) > p, p)
    at = np.array([0.1, 0.9])
    assert temperature(q)(at).tolist() == [0.5, 0.5]
    assert np.diff(platt(q)(at)) < -0.6
    assert beta(q)(at) == pytest.approx(q.base_rate, abs=0.01)
    assert spline(q)(at) == pytest.approx(q.base_rate, abs=0.05)


def test_beta_is_the_best_with_slopes_of_at_least_0() -> None:
    rng = np.random.default_rng(3)
    p = rng.random(400)
    y = rng.random(400) < 0.2 + 0.5 * (p > 0.7)  # flat below
    q = Predictor.from_samples(y, p)
    said, target = beta(q), np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))

    def loss(a: FloatArray) -> float:
        score = a[0] * np.log(p) - a[1] * np.log1p(-p) + a[2]
        return float(np.mean(np.logaddexp(0, score) - target * score))

    best = minimize(loss, [1.0, 1.0, 0.0], bounds=[(0, None), (0, None), (None, None)], tol=1e-12)
    ours = -np.mean(target * np.log(said(p)) + (1 - target) * np.log1p(-said(p)))
    assert ours == pytest.approx(best.fun, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_spline_maximises_the_penalised_likelihood(seed: int) -> None:
    """No small nondecreasing change of the coefficients does better."""
    y, p = drawn(900, seed, distorted=0.5)
    p = p**1.5
    q = Predictor.from_samples(y, p)
    fitted = spline(q)
    coefficients, knots = np.array(fitted.coefficients), np.array(fitted.knots)  # type: ignore[attr-defined]
    places = (knots[1:-2] + knots[2:-1]) / 2
    target = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))

    def loss(c: FloatArray) -> float:
        from scipy.interpolate import BSpline

        score = BSpline(knots, c, 2)(np.clip(logit(p), knots[2], knots[-3]))
        bend = np.diff(np.diff(c) / np.diff(places))
        return float(np.sum(np.logaddexp(0, score) - target * score) + bend @ bend / 2)

    rng, least = np.random.default_rng(seed), loss(coefficients)
    for _ in range(200):
        other = np.maximum.accumulate(coefficients + rng.normal(size=len(coefficients)) * 0.02)
        assert loss(other) >= least - 1e-4


@settings(deadline=None)
@given(samples(), probabilities)
def test_venn_abers_by_adding_the_row(rows: Rows, new: float) -> None:
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


@settings(deadline=None)
@given(samples(), st.lists(st.floats(-5, 5), min_size=4, max_size=8))
def test_moved_thresholds_earn_what_the_best_thresholds_earn(rows: Rows, payoffs: list[float]) -> None:
    """On the rows that they were learned from: acting on the isotonic regression, the best that keeps the order."""
    q = law(*rows)
    problem = DecisionProblem(np.array(payoffs[: len(payoffs) // 2 * 2]).reshape(-1, 2))
    moved = moved_thresholds(q, problem)
    said = moved(q.p)
    assert (np.diff(said) >= 0).all()
    clear = np.abs(q.fitted[:, None] - problem.thresholds[None, :]).min(axis=1, initial=1.0) > 1e-9
    gaps = np.diff(q.p, append=2.0) > 1e-6
    if gaps.all() and clear.all():
        assert problem.value(q.map(moved)) == pytest.approx(problem.value(q.isotonic()), abs=1e-9)


# Properties


@settings(deadline=None)
@given(samples(), st.lists(probabilities, min_size=2, max_size=20))
def test_ranks_are_kept(rows: Rows, new: list[float]) -> None:
    at = np.sort(np.array([0.0, *new, 1.0]))
    for fitting in RISING:
        said = fitting(law(*rows))(at)
        assert ((said >= 0) & (said <= 1)).all()
        assert (np.diff(said) >= -1e-12).all(), fitting
    assert (np.diff(np.sign(platt(law(*rows)).a) * platt(law(*rows))(at)) >= -1e-12).all()


@settings(deadline=None)
@given(samples())
def test_weights_count_as_repetitions(rows: Rows) -> None:
    """A row of weight 3 is three rows of the law; the sample size stays the effective one."""
    y, p, _ = rows
    w = [1 + (i % 3) for i in range(len(y))]
    weighted = law(y, p, [float(x) for x in w])
    repeated = law([a for a, x in zip(y, w, strict=True) for _ in range(x)], [
        a for a, x in zip(p, w, strict=True) for _ in range(x)
    ])  # fmt: skip
    alike = Predictor(
        repeated.p, repeated.mass, repeated.positive, rows=weighted.rows, effective_rows=weighted.effective_rows
    )
    for method in METHODS.values():
        assert method.learn(weighted, TREAT) == method.learn(alike, TREAT)


@pytest.mark.parametrize("method", list(METHODS))
def test_apply_to_arrays_and_to_a_predictor_is_the_same(method: str) -> None:
    y, p = drawn(500, 1, distorted=2.0)
    remedy = fit(method, y, p, payoff=TREAT)
    said = remedy.apply(Predictor.from_samples(y, p))
    assert isinstance(said, Predictor)
    rows = Predictor.from_samples(y, remedy.apply(p))
    assert np.array_equal(said.p, rows.p)
    np.testing.assert_allclose([said.mass, said.positive], [rows.mass, rows.positive], atol=1e-15)
    assert remedy.apply(0.3).shape == (1,)
    assert remedy.needs_outcomes == (method != "none")
    assert remedy.describe().startswith(METHODS[method].title)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        remedy.apply([0.5, 1.5])


def test_recalibration_of_a_known_law() -> None:
    """Without rows the limit of many."""
    q = Predictor([0.2, 0.6], [0.5, 0.5], [0.2, 0.4])
    np.testing.assert_allclose(fit("Platt", q).apply([0.2, 0.6]), [0.4, 0.8], atol=1e-6)


def test_names_of_methods() -> None:
    y, p = drawn(100, 0)
    assert fit("venn-abers", y, p) == fit("Venn–Abers", y, p)
    assert fit("platt", y, p).method == "Platt"
    with pytest.raises(ValueError, match="method must be one of"):
        fit("magic", y, p)
    with pytest.raises(ValueError, match="give them"):
        fit("threshold", y, p)


# Noise


@pytest.mark.parametrize("name", list(NOISES))
def test_noise_is_a_remedy_that_needs_no_outcomes(name: str) -> None:
    noise = NOISES[name].for_distance(0.01, "cdl")
    remedy = noise_remedy(noise, 7, batch_cdl(noise, 0.01), 0.01)
    ids = ["a", "b", "a"]
    said = remedy.apply([0.2, 0.5, 0.2], ids=ids)
    assert (said == perturb([0.2, 0.5, 0.2], noise, ids=ids, seed=7)).all()
    assert not remedy.needs_outcomes
    assert from_json(remedy.to_json()) == remedy
    assert "0.01" in remedy.describe()
    after = remedy.apply(Predictor([0.25], [1.0], [0.5]))
    assert isinstance(after, SmoothedPredictor | Predictor)


# Files


@pytest.mark.parametrize("method", list(METHODS))
def test_a_saved_remedy_gives_the_same_bits(method: str, tmp_path: Path) -> None:
    y, p = drawn(2000, 2, distorted=2.0)
    p[:3], p[3:5] = 0.0, 1.0
    remedy = fit(method, y, p, payoff=TREAT)
    remedy.save(tmp_path / "remedy.json")
    again = load(tmp_path / "remedy.json")
    at = np.concatenate([p, np.linspace(0, 1, 1001)])
    assert again == remedy
    assert (again.apply(at) == remedy.apply(at)).all()
    assert again.to_json() == remedy.to_json()
    assert json.loads(remedy.to_json())["version"] == 1


def test_the_fingerprint_depends_on_the_rows_not_on_their_order() -> None:
    y, p = drawn(50, 0)
    one, other = fit("Platt", y, p), fit("Platt", y[::-1], p[::-1])
    assert one == other
    y[0] = not y[0]
    changed = fit("Platt", y, p)
    assert changed.learned is not None
    assert one.learned is not None
    assert changed.learned.fingerprint != one.learned.fingerprint


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state["map"].update(a=2.0), "was changed after it was saved"),
        (lambda state: state["learned"].update(rows=10**6), "was changed after it was saved"),
        (lambda state: state.update(version=2), "of version 2, but this trustcal reads 1"),
        (lambda state: state.update(trustcal="Monitor"), "not a saved Remedy"),
        (lambda state: state.pop("map"), "lacks map"),
        (lambda state: state.clear(), "not a saved Remedy"),
    ],
)
def test_tampered_and_newer_files_are_refused(
    change: Callable[[dict[str, object]], object], message: str, tmp_path: Path
) -> None:
    state = json.loads(fit("beta", *drawn(50, 0)).to_json())
    change(state)
    file = tmp_path / "remedy.json"
    file.write_text(json.dumps(state))
    with pytest.raises(ValueError, match=message) as refused:
        load(file)
    assert "\n" not in str(refused.value)
    assert "remedy.json" in str(refused.value)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read: it does not exist"):
        load(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="cannot be read"):
        load(tmp_path / "binary.json")
    (tmp_path / "text.json").write_text("not JSON")
    with pytest.raises(ValueError, match="not JSON"):
        load(tmp_path / "text.json")


def test_maps_hold_finite_numbers() -> None:
    with pytest.raises(ValueError, match="finite"):
        LogisticMap.from_fields({"a": float("nan"), "b": 1.0, "c": 0.0, "low": 0.0, "high": 1.0})
    with pytest.raises(ValueError, match="must have the numbers"):
        LogisticMap.from_fields({"a": 1.0})
    assert PiecewiseLinear.from_fields({"x": [0, 1], "y": [0.5, 1]}).y == (0.5, 1.0)


# Certificates


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 2000, 20_000])
@pytest.mark.parametrize("population", ["calibrated", "overconfident", "shifted", "few values"])
def test_certificates_cover(n: int, population: str) -> None:
    """At most 5 % of certificates may be below what a million new rows show."""
    kinds = {"calibrated": (1.0, 0.0), "overconfident": (2.0, 0.0), "shifted": (1.0, 0.7), "few values": (1.5, 0.3)}

    def rows(size: int, seed: int) -> tuple[NDArray[np.bool_], FloatArray]:
        y, p = drawn(size, seed, *kinds[population])
        return y, np.round(p, 1) if population == "few values" else p

    from trustcal.measures.monotone import monotone_cdl

    fresh = Predictor.from_samples(*rows(200_000, 10**6))
    missed = 0
    for seed in range(40):
        y, p = rows(n, seed)
        remedy = fit("Platt", y[: n // 2], p[: n // 2])
        said = remedy.apply(p[n // 2 :])
        found = certify(Predictor.from_samples(y[n // 2 :], said), TREAT)
        after = remedy.apply(fresh)
        assert isinstance(after, Predictor)
        assert found.action_regret is not None
        missed += monotone_cdl(after) > found.decision_loss + 0.003  # the error of the fresh rows
        missed += TREAT.action_regret(after, "lower") > found.action_regret + 0.01
    assert missed <= 6  # of 80; the chance of more at 5 % each is below 10 %


def test_certificates_say_what_they_assume() -> None:
    y, p = drawn(2000, 0)
    remedy = fit("Platt", y, p).certified(certify(Predictor.from_samples(y, p), TREAT))
    assert "same population" in remedy.describe()
    assert "you gain at most" in remedy.describe()
    assert from_json(remedy.to_json()) == remedy
    weighted = certify(Predictor.from_samples(y, p, np.linspace(1, 2, 2000)), TREAT)
    assert not weighted.proved
    assert "With about 95 % confidence" in weighted.sentence


def test_scores_after_recalibration() -> None:
    y, p = drawn(3000, 4, distorted=2.0)
    q = Predictor.from_samples(y, p)
    for method in ("temperature", "Platt", "beta", "spline"):
        after = fit(method, q).apply(q)
        assert isinstance(after, Predictor)
        assert log_loss(after) < log_loss(q) - 0.05
        assert auc(after) == pytest.approx(auc(q), abs=1e-3)


# Groups


def grouped(n: int, seed: int, shifts: dict[str, float]) -> tuple[NDArray[np.bool_], FloatArray, NDArray[np.str_]]:
    """Overconfident predictions, shifted by another amount in each group."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(list(shifts), n)
    truth = rng.beta(1.2, 2.0, n)
    moved = np.array([shifts[name] for name in groups.tolist()])
    return rng.random(n) < truth, np.asarray(expit(1.5 * logit(truth) + moved)), groups


def test_groups_that_differ_get_maps_of_their_own() -> None:
    shifts = {"a": 1.0, "b": -1.0, "c": 0.0}
    y, p, groups = grouped(6000, 0, shifts)
    remedy, common = fit("Platt", y, p, by=groups), fit("Platt", y, p)
    new_y, new_p, new_groups = grouped(6000, 1, shifts)
    said = remedy.apply(new_p, groups=new_groups)
    assert np.mean((said - new_y) ** 2) < np.mean((common.apply(new_p) - new_y) ** 2) - 0.005
    unknown = remedy.apply(new_p, groups=np.full(6000, "z"))
    np.testing.assert_allclose(unknown, common.apply(new_p), atol=1e-12)
    assert (np.diff(remedy.apply(np.linspace(0, 1, 101), groups=np.full(101, "a"))) >= 0).all()
    again = from_json(remedy.to_json())
    assert again == remedy
    assert (again.apply(new_p, groups=new_groups) == said).all()
    assert "3 groups" in remedy.describe()
    with pytest.raises(ValueError, match="learned by group"):
        remedy.apply(new_p)
    with pytest.raises(ValueError, match="of each of 6000 rows"):
        remedy.apply(new_p, groups=["a"])
    with pytest.raises(ValueError, match="without weights"):
        fit("Platt", y, p, np.ones(6000), by=groups)


def test_groups_that_do_not_differ_share_a_map_and_small_ones_do_not_overfit() -> None:
    many = {f"g{i}": 0.3 for i in range(30)}
    y, p, groups = grouped(600, 0, many)
    remedy, common = fit("Platt", y, p, by=groups), fit("Platt", y, p)
    new_y, new_p, new_groups = grouped(20_000, 1, many)
    said = remedy.apply(new_p, groups=new_groups)
    assert np.mean((said - new_y) ** 2) < np.mean((common.apply(new_p) - new_y) ** 2) + 0.001


@pytest.mark.parametrize("spread", [0.1, 0.8])
def test_shrunk_maps_maximise_the_penalised_likelihood(spread: float) -> None:
    y, p = drawn(60, 0, shifted=1.0)
    q, common = Predictor.from_samples(y, p), LogisticMap(1.0, 1.0, 0.0, 1e-12, 1 - 1e-12)
    slope, shift = _shrunk(q, common, spread)

    def loss(at: FloatArray) -> float:
        score = at[0] * logit(p) + at[1]
        return float(np.sum(np.logaddexp(0, score) - y * score) + ((at[0] - 1) ** 2 + at[1] ** 2) / (2 * spread**2))

    best = minimize(loss, [1.0, 0.0], tol=1e-12)
    np.testing.assert_allclose([slope, shift], best.x, atol=1e-4)
    assert _shrunk(q, common, 1e-6) == pytest.approx((1.0, 0.0), abs=1e-4)
